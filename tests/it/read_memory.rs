//! `read_memory`: whole files, pages of them, and single sections.

use crate::support::{Server, Workspace, both_doors};
use serde_json::json;

#[test]
fn each_name_reads_its_file() {
    let files = [
        ("events", "memory/events.md"),
        ("mood", "memory/mood_state.md"),
        ("unresolved", "memory/unresolved.md"),
        ("persona", "memory/persona.md"),
        ("profile", "memory/user_profile.md"),
        ("index", "memory/MEMORY.md"),
        ("life_log", "memory/life_log.md"),
        ("history", "memory/RECENT_HISTORY.md"),
        ("summary", "memory/session_summary.md"),
    ];
    let workspace =
        files.iter().fold(Workspace::new(), |w, (name, path)| w.file(path, format!("# 标题\n\n正文 {name}\n")));
    let before = workspace.tree();
    let mut server = Server::start(&workspace);
    for (name, _) in files {
        let result = server.call("read_memory", json!({"file": name})).unwrap();
        assert_eq!(result["text"], format!("# 标题\n\n正文 {name}\n"));
        assert!(result.get("next_offset").is_none(), "{result}");
    }
    assert_eq!(workspace.tree(), before);
}

#[test]
fn the_pages_of_a_long_file_join_to_the_file() {
    let text: String = (1..=2500).map(|n| format!("第{n}行，{}\n", "字".repeat(n % 40))).collect();
    let workspace = Workspace::new().file("memory/RECENT_HISTORY.md", &text);
    let mut server = Server::start(&workspace);
    let mut joined = String::new();
    let mut offset = json!(null);
    for _ in 0..100 {
        let page = server.call("read_memory", json!({"file": "history", "offset": offset})).unwrap();
        let part = page["text"].as_str().unwrap();
        assert!(part.len() <= 16 * 1024, "{} bytes", part.len());
        assert!(part.ends_with('\n'), "pages are whole lines");
        joined.push_str(part);
        let Some(next) = page.get("next_offset") else { break };
        offset = next.clone();
    }
    assert_eq!(joined, text);
}

#[test]
fn a_section_is_read_alone() {
    let mood = "valence: 0.20\nenergy: 0.55\n\n---\n\n## 快照历史\n\n### 2026-04-13T21:05 · source=conversation\nvalence: 0.20\nenergy: 0.55\nnote: 好\n\n## 备注\n\n别的\n";
    let (answer, _) = both_doors(
        || Workspace::new().file("memory/mood_state.md", mood),
        "read_memory",
        json!({"file": "mood", "section": "快照历史"}),
    );
    let text = answer.unwrap()["text"].as_str().unwrap().to_owned();
    assert!(text.contains("note: 好\n"), "{text}");
    assert!(!text.contains("---") && !text.contains("别的"), "{text}");

    let workspace = Workspace::new().file("memory/mood_state.md", mood);
    let refusal = workspace.refused("read_memory", json!({"file": "mood", "section": "快照"}));
    assert_eq!(refusal.code, "not_found");
    let said = format!("{} {}", refusal.message, refusal.hint);
    assert!(said.contains("快照历史") && said.contains("备注"), "the sections are named: {said}");
}

#[test]
fn a_file_that_is_not_there_is_said_to_be_missing_or_empty() {
    let workspace = Workspace::new();
    let outcome = workspace.call("read_memory", json!({"file": "persona"}));
    match outcome.answer() {
        Ok(result) => assert_eq!(result["text"], ""),
        Err(refusal) => assert_eq!(refusal.code, "not_found"),
    }
    assert!(workspace.memory_names().is_empty(), "a reading call makes no file");
}

#[test]
fn a_line_longer_than_a_page_hangs_nobody() {
    let workspace = Workspace::new().file("memory/RECENT_HISTORY.md", format!("短\n{}\n末\n", "长".repeat(20_000)));
    let mut server = Server::start(&workspace);
    let mut offset = json!(null);
    let mut seen = String::new();
    for _ in 0..50 {
        let page = server.call("read_memory", json!({"file": "history", "offset": offset})).unwrap();
        seen.push_str(page["text"].as_str().unwrap());
        assert!(page.to_string().len() <= 40 * 1024, "no result is larger than 40 kB");
        let Some(next) = page.get("next_offset") else {
            assert!(seen.starts_with("短\n") && seen.contains("末"), "the last line is never reached");
            return;
        };
        assert_ne!(*next, offset, "no progress");
        offset = next.clone();
    }
    panic!("the pages never end");
}
