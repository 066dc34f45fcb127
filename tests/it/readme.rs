//! What the README says is what the program says.

use std::{fs, path::Path, process::Command};

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
