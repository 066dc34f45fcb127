//! `call`: one call of a tool, for scripts.

use std::{
    io::{self, Read as _, Write as _},
    time::Duration,
};

use serde_json::Value;

use super::Failure;
use crate::{
    error::Error,
    ops::{self, Context, Toolset, schema::JsonObject},
    workspace::{Cancel, Wait},
};

/// How long a call waits for the lock (`memory_write`, step 1).
const LOCK_WAIT: Duration = Duration::from_secs(10);

pub(super) fn run(name: &str, arguments: Option<&str>, toolset: Toolset, context: &Context) -> Result<(), Failure> {
    let tool = ops::find(name).filter(|tool| toolset.has(tool.name)).ok_or_else(|| {
        let names: Vec<_> = toolset.tools().map(|tool| tool.name).collect();
        Failure::Usage(format!("there is no tool `{name}`, expected one of `{}`", names.join("`, `")))
    })?;
    let arguments = match arguments {
        None => JsonObject::new(),
        Some("-") => {
            let mut text = String::new();
            io::stdin().read_to_string(&mut text)?;
            parse(&text)?
        }
        Some(text) => parse(text)?,
    };
    let answer = tool.call(context, &Wait { limit: LOCK_WAIT, cancel: Cancel::default() }, arguments)?;
    let result =
        serde_json::to_string_pretty(&answer.result).map_err(|error| Error::Internal { detail: error.to_string() })?;
    writeln!(io::stdout(), "{result}")?;
    if let Some(settling) = answer.settling {
        settling.settle_answered();
    }
    Ok(())
}

fn parse(text: &str) -> Result<JsonObject, Failure> {
    match serde_json::from_str(text) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(Failure::Usage("the arguments are no JSON object".to_owned())),
        Err(error) => Err(Failure::Usage(format!("the arguments are no JSON object: {error}"))),
    }
}
