//! The arrows between the rooms, as `ARCHITECTURE.md` draws them, and the fences around some crates.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::string_slice,
    clippy::disallowed_methods,
    reason = "a test stops at the first surprise and may read files"
)]

use std::{
    fs,
    path::{Path, PathBuf},
};

/// Each room with the rooms that it may use.
const ARROWS: [(&str, &[&str]); 9] = [
    ("format", &[]),
    ("error", &["format"]),
    ("clock", &["error"]),
    ("messages", &["clock"]),
    ("workspace", &["format", "error", "clock"]),
    ("ops", &["format", "error", "clock", "messages", "workspace"]),
    ("mcp", &["error", "workspace", "ops"]),
    ("cli", &["format", "error", "clock", "messages", "workspace", "ops"]),
    ("main", &["cli", "mcp", "ops"]),
];

/// Each fenced crate with the rooms that may use it.
const FENCES: [(&str, &[&str]); 7] = [
    ("rmcp", &["mcp"]),
    ("tokio", &["mcp"]),
    ("tokio_util", &["mcp"]),
    ("clap", &["cli"]),
    ("similar", &["cli"]),
    ("rusqlite", &["messages"]),
    ("fs2", &["workspace"]),
];

fn sources(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let sources = entries.flat_map(|path| if path.is_dir() { sources(&path) } else { vec![path] });
    sources.filter(|path| path.extension().is_some_and(|extension| extension == "rs")).collect()
}

/// Every source file with the name of its room.
fn rooms() -> Vec<(String, PathBuf, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    sources(&root)
        .into_iter()
        .map(|path| {
            let first = path.strip_prefix(&root).unwrap().components().next().unwrap().as_os_str();
            let room = first.to_string_lossy().trim_end_matches(".rs").to_owned();
            let text = fs::read_to_string(&path).unwrap();
            (room, path, text)
        })
        .filter(|(room, ..)| room != "lib")
        .collect()
}

/// The rooms that a file names: in `crate::room`, `companion_memory::room` and the lists of both.
fn used(text: &str) -> Vec<String> {
    let text: String = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    let mut used = Vec::new();
    for root in ["crate::", "companion_memory::"] {
        for (at, _) in text.match_indices(root) {
            let rest = &text[at + root.len()..];
            if let Some(list) = rest.strip_prefix('{') {
                let mut depth = 1;
                let mut name = String::new();
                for c in list.chars() {
                    match c {
                        '{' => depth += 1,
                        '}' => depth -= 1,
                        _ if depth == 1 && (c.is_alphanumeric() || c == '_') => name.push(c),
                        _ if depth == 1 && !name.is_empty() && (c == ':' || c == ',') => {
                            used.push(std::mem::take(&mut name));
                        }
                        _ if depth == 1 => name.clear(),
                        _ => {}
                    }
                    if depth == 0 {
                        break;
                    }
                }
            } else {
                used.push(rest.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect());
            }
        }
    }
    used
}

#[test]
fn arrows_point_one_way() {
    let known: Vec<_> = ARROWS.iter().map(|(room, _)| *room).collect();
    let mut wrong = Vec::new();
    for (room, path, text) in rooms() {
        let (_, allowed) = ARROWS
            .iter()
            .find(|(name, _)| *name == room)
            .unwrap_or_else(|| panic!("{room} is no room of ARCHITECTURE.md"));
        for target in used(&text) {
            if target != room && known.contains(&target.as_str()) && !allowed.contains(&target.as_str()) {
                wrong.push(format!("{} uses {target}", path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn every_room_is_seen_to_use_what_it_uses() {
    // The scan itself must not go blind: each allowed arrow is one that is really there.
    for (room, allowed) in ARROWS {
        let used: Vec<_> =
            rooms().into_iter().filter(|(name, ..)| name == room).flat_map(|(_, _, text)| used(&text)).collect();
        for target in allowed {
            assert!(used.iter().any(|name| name == target), "{room} does not use {target}: draw no arrow");
        }
    }
}

#[test]
fn fenced_crates_stay_in_their_rooms() {
    let mut wrong = Vec::new();
    for (room, path, text) in rooms() {
        for (fenced, allowed) in FENCES {
            let is_used = text.contains(&format!("{fenced}::"));
            if is_used && !allowed.contains(&room.as_str()) {
                wrong.push(format!("{} uses {fenced}", path.display()));
            }
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
}

#[test]
fn nothing_is_left_for_later() {
    for (_, path, text) in rooms() {
        for mark in ["TODO", "FIXME", "todo!", "unimplemented!", "#[ignore"] {
            assert!(!text.contains(mark), "{} has {mark}", path.display());
        }
    }
}
