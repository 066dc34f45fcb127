//! What the README says is what the program says.

use crate::support::{Server, Workspace};
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

const BINARY: &str = env!("CARGO_BIN_EXE_companion-memory");

fn repository(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join(name)).unwrap()
}

#[test]
fn the_tables_of_tools_are_written_by_the_binary() {
    let printed = Command::new(BINARY).arg("tools").output().unwrap();
    let table = String::from_utf8(printed.stdout).unwrap();
    for name in ["README.md", "README.zh-CN.md"] {
        let readme = repository(name);
        let (_, rest) = readme.split_once("<!-- tools: the output of `companion-memory tools` -->\n").unwrap();
        let (block, _) = rest.split_once("<!-- /tools -->").unwrap();
        assert_eq!(block.trim(), table.trim(), "{name}: run `companion-memory tools`");
    }
}

#[test]
fn every_error_code_stands_in_both_readmes_with_its_exit_code() {
    let source = repository("src/error.rs");
    let (_, codes) = source.split_once("pub fn code(&self)").unwrap();
    let (codes, _) = codes.split_once("\n    }\n").unwrap();
    let codes: Vec<_> = codes.split('"').skip(1).step_by(2).collect();
    assert!(codes.len() >= 15, "{codes:?}");
    for name in ["README.md", "README.zh-CN.md"] {
        let readme = repository(name);
        for code in &codes {
            let rows = readme.lines().filter(|line| line.starts_with("| `") && line.contains(&format!("`{code}`")));
            assert_eq!(rows.count(), 1, "{name}: {code}");
        }
    }
}

#[test]
fn every_command_stands_in_both_readmes() {
    let help = Command::new(BINARY).arg("--help").output().unwrap();
    let help = String::from_utf8(help.stdout).unwrap();
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1).take_while(|line| !line.is_empty());
    let commands: Vec<_> =
        commands.filter_map(|line| line.split_whitespace().next()).filter(|name| *name != "help").collect();
    assert!(commands.contains(&"doctor"), "{help}");
    for name in ["README.md", "README.zh-CN.md"] {
        for command in &commands {
            assert!(repository(name).contains(command), "{name}: {command}");
        }
    }
}

#[test]
fn what_mcp_json_says_starts_a_server() {
    let registration: serde_json::Value = serde_json::from_str(&repository("mcp.json")).unwrap();
    let entry = &registration["mcpServers"]["companion-memory"];
    let arguments = entry["args"].as_array().unwrap().iter().map(|argument| argument.as_str().unwrap());
    let workspace = Workspace::new();
    let mut command = Command::new(entry["command"].as_str().unwrap());
    let programs = Path::new(BINARY).parent().unwrap().to_owned();
    command.args(arguments).current_dir(workspace.root()).env("PATH", programs).env_remove("WORKSPACE_DIR");
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut server = Server::on_streams(child, stdin, stdout);
    server.initialize("2025-06-18");
    let recorded = server.call("append_event", serde_json::json!({"type": "重要事件", "content": "登记成功"}));
    assert_eq!(recorded.unwrap()["id"], "E001");
    assert!(workspace.events().contains("登记成功"));
}
