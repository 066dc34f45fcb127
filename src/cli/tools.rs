//! `tools`: the table of tools for people, their schemas for programs.

#![expect(clippy::disallowed_methods, reason = "the schemas are written where the user wants them")]

use std::{
    fmt::Write as _,
    fs,
    io::{self, Write as _},
    path::Path,
};

use serde_json::{Value, json};

use super::Failure;
use crate::{
    error::Error,
    ops::{TOOLS, Tool},
};

pub(super) fn run(write: Option<&Path>) -> Result<(), Failure> {
    match write {
        Some(dir) => write_schemas(dir),
        None => Ok(io::stdout().write_all(table().as_bytes())?),
    }
}

fn write_schemas(dir: &Path) -> Result<(), Failure> {
    fs::create_dir_all(dir).map_err(|error| named(dir, &error))?;
    for tool in TOOLS {
        let json = serde_json::to_string_pretty(&published(tool))
            .map_err(|error| Error::Internal { detail: error.to_string() })?;
        let path = dir.join(format!("{}.json", tool.name));
        fs::write(&path, json + "\n").map_err(|error| named(&path, &error))?;
    }
    Ok(())
}

/// An error that says where it happened.
fn named(path: &Path, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("`{}`: {error}", path.display()))
}

/// What `tools/list` publishes for a tool.
fn published(tool: &Tool) -> Value {
    json!({
        "name": tool.name,
        "title": tool.title,
        "description": tool.description(),
        "inputSchema": tool.input_schema(),
        "outputSchema": tool.output_schema(),
        "annotations": {
            "readOnlyHint": tool.is_read_only(),
            "destructiveHint": tool.is_destructive(),
            "idempotentHint": tool.is_idempotent(),
            "openWorldHint": false,
        },
    })
}

/// The Markdown table of the README.
fn table() -> String {
    let mut table =
        String::from("| tool | what it does | arguments (* required) | result |\n| --- | --- | --- | --- |\n");
    for tool in TOOLS {
        let result = names(tool.output_schema(), false);
        let arguments = names(tool.input_schema(), true);
        let _ = writeln!(table, "| `{}` | {} | {arguments} | {result} |", tool.name, tool.title);
    }
    table
}

fn names(schema: &serde_json::Map<String, Value>, mark_required: bool) -> String {
    let required = schema.get("required").and_then(Value::as_array);
    let names =
        schema.get("properties").and_then(Value::as_object).into_iter().flat_map(|properties| properties.keys());
    let names: Vec<_> = names
        .map(|name| {
            let is_required = mark_required && required.is_some_and(|required| required.contains(&json!(name)));
            format!("`{name}`{}", if is_required { "*" } else { "" })
        })
        .collect();
    if names.is_empty() { "–".to_owned() } else { names.join(", ") }
}
