//! Files as people, editors and other programs leave them: what a call does not concern stays byte for byte, and what
//! cannot be read is said, never guessed.

use crate::support::{ANSWER_DEADLINE, Server, Workspace, event_numbers, index_with, missing};
use serde_json::{Value, json};
use std::{
    fs,
    os::unix::fs::{MetadataExt, PermissionsExt, symlink},
    process::Command,
};

fn todo(content: &str) -> Value {
    json!({"type": "用户Todo", "content": content, "date": "2026-04-13"})
}

fn entry(id: &str) -> String {
    format!("### [{id}] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n")
}

fn with_events(events: impl AsRef<[u8]>) -> Workspace {
    Workspace::new().file("memory/events.md", events).file("memory/MEMORY.md", index_with("（暂无）"))
}

fn warnings(result: &Value) -> String {
    result["warnings"].to_string()
}

// Appending keeps every old byte

#[test]
fn an_append_keeps_every_old_byte_and_follows_the_files_line_ends() {
    let old_entry = "### [E001] 2026-04-12 · 用户Todo\n**类型**：用户Todo\n**内容**：还书\n**状态**：已关闭\n";
    // old bytes, what must stand between them and the entry, line end of the entry
    let unix = format!("# 事件\n\n{old_entry}");
    let dos = unix.replace('\n', "\r\n");
    let bare = unix.strip_suffix('\n').unwrap();
    let cases = [
        ("LF", unix.clone(), "\n", "\n"),
        ("CRLF", dos.clone(), "\r\n", "\r\n"),
        ("BOM", format!("\u{feff}{unix}"), "\n", "\n"),
        ("BOM and CRLF", format!("\u{feff}{dos}"), "\r\n", "\r\n"),
        ("mostly CRLF", dos.replacen("\r\n", "\n", 2), "\r\n", "\r\n"),
        ("mostly LF", unix.replacen('\n', "\r\n", 2), "\n", "\n"),
        ("no last newline", bare.to_owned(), "\n\n", "\n"),
        ("no last newline, CRLF", bare.replace('\n', "\r\n"), "\r\n\r\n", "\r\n"),
        ("spaces at line ends", unix.replace('\n', "  \n"), "\n", "\n"),
        ("hand-written fields", unix.replace("**状态**", "**心情**：说不清\n*手写* 一行\n**状态**"), "\n", "\n"),
        ("a comment with a sample", unix.replacen("\n\n", "\n\n<!--\n### [E900] 示例\n-->\n\n", 1), "\n", "\n"),
        ("tabs and NULs", unix.replace("还书", "还\t书\0"), "\n", "\n"),
        ("a lone carriage return", unix.replace("还书", "还\r书"), "\n", "\n"),
    ];
    for (name, old, gap, end) in cases {
        let workspace = with_events(&old);
        assert_eq!(workspace.ok("append_event", todo("买伞"))["id"], "E002", "{name}");
        assert_eq!(workspace.events(), format!("{old}{gap}{}", entry("E002").replace('\n', end)), "{name}");
    }
}

#[test]
fn six_thousand_sentinels_stay_and_count_for_nothing() {
    let sentinels: String = (0..6000)
        .map(|n| format!("\n### [E000] 2026-04-12T{:02}:{:02} · last_active\n", n / 60 % 24, n % 60))
        .collect();
    let old = format!("{}{sentinels}", entry("E001"));
    let workspace = with_events(&old);
    assert_eq!(workspace.ok("append_event", todo("买伞"))["id"], "E002");
    assert_eq!(workspace.events(), format!("{old}\n{}", entry("E002")));
    assert_eq!(workspace.ok("list_events", json!({}))["events"].as_array().unwrap().len(), 2);
}

#[test]
fn only_real_headings_count() {
    let cases = [
        ("an HTML comment", "<!--\n### [E900] 示例\n-->\n", "E001"),
        ("a comment on one line", "<!-- ### [E900] 示例 -->\n", "E001"),
        ("a fence", "```\n### [E900] 示例\n```\n", "E001"),
        ("a fence of tildes", "~~~md\n### [E900] 示例\n~~~\n", "E001"),
        ("a longer fence", "````\n```\n### [E900] 示例\n```\n````\n", "E001"),
        ("a fence of the other kind does not close", "```\n~~~\n### [E900] 示例\n```\n", "E001"),
        ("a mark with a word behind it does not close", "```\n```md\n### [E900] 示例\n```\n", "E001"),
        ("marks on one line open no fence", "``` 甲 ``` 乙\n\n### [E002] 2026-04-01 · 用户Todo\n\n```\n", "E003"),
        ("indented code is no fence", "    ```\n\n### [E002] 2026-04-01 · 用户Todo\n\n    ```\n", "E003"),
        ("a fence that begins in a comment", "<!--\n```\n-->\n\n### [E002] 2026-04-01 · 用户Todo\n\n```\n", "E003"),
        ("a comment that begins in a fence", "```\n<!--\n```\n\n### [E002] 2026-04-01 · 用户Todo\n\n-->\n", "E003"),
        ("a heading of another level", "## [E900] 示例\n\n#### [E901] 示例\n", "E001"),
        ("a quote", "> ### [E900] 示例\n", "E001"),
        ("text before the heading", "见 ### [E900] 示例\n", "E001"),
        ("two ids on a heading", "### [E002] 2026-04-01 · 见[E900]\n", "E003"),
        ("after a closed fence", "```\n```\n\n### [E002] 2026-04-01 · 用户Todo\n", "E003"),
        ("after a closed comment", "<!-- 示例 -->\n\n### [E002] 2026-04-01 · 用户Todo\n", "E003"),
        ("after a fence that is never closed", "```\n\n### [E002] 2026-04-01 · 用户Todo\n", "E003"),
        ("after a comment that is never closed", "<!-- 没写完\n\n### [E002] 2026-04-01 · 用户Todo\n", "E003"),
        ("between two comment openings", "<!-- 没写完\n\n### [E002] 2026-04-01 · 用户Todo\n\n<!-- 注 -->\n", "E003"),
        ("BOM before the first heading", "\u{feff}### [E002] 2026-04-01 · 用户Todo\n", "E003"),
        ("CRLF", "### [E002] 2026-04-01 · 用户Todo\r\n", "E003"),
        ("no number", "### [E] 2026-04-01 · 用户Todo\n", "E001"),
        ("full-width digits", "### [E０９９] 2026-04-01 · 用户Todo\n", "E001"),
        ("Arabic digits", "### [E٠٩٩] 2026-04-01 · 用户Todo\n", "E001"),
        (
            "more digits than any number",
            "### [E99999999999999999999999999] 2026-04-01 · 用户Todo\n\n### [E004] 2026-04-01 · 用户Todo\n",
            "E005",
        ),
    ];
    for (name, old, expected) in cases {
        let workspace = with_events(old);
        let result = workspace.ok("append_event", todo("买伞"));
        assert_eq!(result["id"], expected, "{name}");
        assert!(workspace.events().starts_with(old), "{name}");
    }
}

#[test]
fn broken_entries_are_named_in_warnings_and_never_renumbered() {
    let old = "### [E] 2026-04-01 · 用户Todo\n**内容**：没有号\n\n\
        ### [E０２] 2026-04-02 · 用户Todo\n**内容**：全角\n\n\
        ### [E003] 2026-04-03 · 用户Todo\n**类型**：用户Todo\n**内容**：一\n**状态**：待跟进\n\n\
        ### [E003] 2026-04-04 · 用户Todo\n**类型**：用户Todo\n**内容**：二\n**状态**：待跟进\n";
    let workspace = with_events(old);
    let listed = workspace.ok("list_events", json!({}));
    for named in ["[E]", "E０２", "E003"] {
        assert!(warnings(&listed).contains(named), "{named}: {listed}");
    }
    let contents: Vec<_> =
        listed["events"].as_array().unwrap().iter().map(|e| e["content"].as_str().unwrap()).collect();
    assert!(contents.contains(&"一") && contents.contains(&"二"), "{listed}");
    assert_eq!(workspace.ok("append_event", todo("买伞"))["id"], "E004");
    assert_eq!(workspace.events(), format!("{old}\n{}", entry("E004")));
}

#[test]
fn both_colons_end_a_field_name() {
    let old = "### [E001] 2026-04-01 · 约定\n**类型**: 约定\n**内容**:  看展  \n**用户状态**:期待\n**状态**:待跟进（周末）\n**到期日**: 2026/4/7 晚上\n";
    let workspace = with_events(old);
    let listed = workspace.ok("list_events", json!({"due_on_or_before": "2026-04-07"}));
    let event = &listed["events"][0];
    for (field, value) in [("type", "约定"), ("content", "看展"), ("user_state", "期待")] {
        assert_eq!(event[field], value, "{listed}");
    }
    assert!(event["status"].as_str().unwrap().contains("待跟进"), "{listed}");
    // What is open stands in the block, with the day as a day.
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "完", "status": "已关闭"}));
    assert_eq!(workspace.index(), index_with("- [E001] 2026-04-07 · 约定 · 看展"));
}

// Updating changes one line

#[test]
fn the_name_of_a_field_may_end_with_its_colon_and_its_type_may_stand_in_the_heading_alone() {
    let workspace = with_events(
        "### [E001] 2026-04-12 · 约定\n**内容：** ：一起去看展\n**状态:** 待跟进\n**到期日：**2026-04-17\n",
    );
    let listed = workspace.ok("list_events", json!({"type": "约定", "status": "待跟进"}));
    assert_eq!(
        listed["events"],
        json!([{"id": "E001", "date": "2026-04-12", "type": "约定", "content": "：一起去看展", "status": "待跟进", "due_date": "2026-04-17", "line": 1}])
    );
}

#[test]
fn an_update_leaves_every_other_line_as_it_was() {
    let block = "### [E002] 2026-04-02 · 用户Todo\r\n**类型**：用户Todo\n**心情**：手写\r\n**内容**:  还书  \r\n<!-- 注 -->\n**状态**:  待跟进\r\n自己写的一行\n";
    let around =
        "\u{feff}# 事件\r\n\r\n```\r\n### [E002] 示例\r\n**状态**：待跟进\r\n```\n\n### [E] 坏的\n**状态**：待跟进\n\n";
    let after = "\r\n### [E003] 2026-04-03 · 用户Todo\r\n**类型**：用户Todo\r\n**内容**：买伞\r\n**状态**：待跟进";
    let old = format!("{around}{block}{after}");
    let workspace = with_events(&old);
    workspace.ok("update_event", json!({"id": "E002", "status": "已关闭"}));
    let new = workspace.events();
    let (old_lines, new_lines): (Vec<_>, Vec<_>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    assert_eq!(old_lines.len(), new_lines.len(), "{new:?}");
    let changed: Vec<_> = old_lines.iter().zip(&new_lines).filter(|(o, n)| o != n).collect();
    assert_eq!(changed.len(), 1, "{changed:?}");
    assert_eq!(*changed[0].0, "**状态**:  待跟进\r\n");
    assert!(changed[0].1.contains("已关闭") && changed[0].1.ends_with("\r\n"), "{changed:?}");
    assert_eq!(workspace.ok("list_events", json!({"status": "已关闭"}))["events"][0]["id"], "E002");
}

#[test]
fn a_worry_is_added_to_a_file_of_any_kind_without_touching_the_rest() {
    let plain = "# 挂念\n\n<!-- - [U009] 示例 -->\n\n- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 甲\n  手写的续行\n\n## 已淡忘\n\n- [U002] 乙\n\n## 备注\n\n- [Ｕ００３] 丙\n";
    let cases = [
        ("LF", plain.to_owned()),
        ("CRLF", plain.replace('\n', "\r\n")),
        ("BOM", format!("\u{feff}{plain}")),
        ("no last newline", plain.trim_end().to_owned()),
    ];
    for (name, old) in cases {
        let workspace = Workspace::new().file("memory/unresolved.md", &old);
        assert_eq!(workspace.ok("add_unresolved", json!({"text": "丁"}))["id"], "U003", "{name}");
        let new = workspace.read("memory/unresolved.md");
        let end = if name == "CRLF" { "\r\n" } else { "\n" };
        let line = format!(
            "- [U003] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 丁{end}"
        );
        assert_eq!(new.matches(&line).count(), 1, "{name}: {new:?}");
        // A blank line may set it off from a line that is no entry.
        let without = [new.replacen(&line, "", 1), new.replacen(&format!("{end}{line}"), "", 1)];
        assert!(without.contains(&old), "{name}: {new:?}");
        assert!(new.find("手写的续行").unwrap() < new.find(&line).unwrap(), "{name}");
        assert!(new.find(&line).unwrap() < new.find("## 已淡忘").unwrap(), "{name}");
    }
}

#[test]
fn the_rest_of_the_index_keeps_its_form() {
    let plain = index_with("（暂无）");
    for old in [plain.replace('\n', "\r\n"), format!("\u{feff}{plain}"), plain.trim_end().to_owned()] {
        let workspace = Workspace::new().file("memory/MEMORY.md", &old);
        workspace.ok("append_event", todo("买伞"));
        assert_eq!(workspace.index(), old.replace("（暂无）", "- [E001] 用户Todo · 买伞"));
    }
}

#[test]
fn a_sample_of_the_block_in_a_fence_or_comment_is_not_the_block() {
    let sample = "## 最近未解决事项（Top 3）\n\n- [E077] 示例\n";
    let index = format!("# 索引\n\n```\n{sample}```\n\n<!--\n{sample}-->\n\n{}", index_with("（暂无）"));
    let workspace = Workspace::new().file("memory/MEMORY.md", &index).file("memory/events.md", "# 事件\n");
    assert_eq!(workspace.ok("append_event", todo("买伞")), json!({"id": "E001"}));
    assert_eq!(workspace.index(), index.replace("（暂无）", "- [E001] 用户Todo · 买伞"));
}

// What cannot be read

#[test]
fn an_empty_events_file_is_a_new_one_unless_the_index_cites_events() {
    let workspace = with_events("");
    assert_eq!(workspace.ok("append_event", todo("买伞"))["id"], "E001");

    for prepare in [
        || Workspace::new().file("memory/MEMORY.md", index_with("- [E012] 用户Todo · 买伞")),
        || {
            Workspace::new()
                .file("memory/MEMORY.md", index_with("- [E012] 用户Todo · 买伞"))
                .file("memory/events.md", "")
        },
        || {
            Workspace::new()
                .file("memory/MEMORY.md", index_with("- [E012] 用户Todo · 买伞"))
                .file("memory/events.md", "\u{feff} \n\n")
        },
    ] {
        let workspace = prepare();
        let refusal = workspace.refused("append_event", todo("还书"));
        assert_eq!(refusal.code, "damaged", "{refusal:?}");
        assert!(refusal.message.contains("events.md"), "{refusal:?}");
        assert_eq!(workspace.refused("touch_last_active", json!({})).code, "damaged");
    }
}

#[test]
fn a_folder_in_place_of_a_file_is_unreadable() {
    for (path, tool, arguments) in [
        ("memory/events.md", "append_event", todo("买伞")),
        ("memory/MEMORY.md", "append_event", todo("买伞")),
        ("memory/events.md", "touch_last_active", json!({})),
        ("memory/mood_state.md", "update_mood", json!({"note": "一轮"})),
        (".mood_state_aux", "update_mood", json!({"note": "一轮"})),
        ("memory/unresolved.md", "add_unresolved", json!({"text": "甲"})),
        ("memory/events.md", "list_events", json!({})),
        (".memory.lock", "append_event", todo("买伞")),
        (".memory_journal", "append_event", todo("买伞")),
    ] {
        let workspace = Workspace::new();
        fs::create_dir(workspace.path(path)).unwrap();
        let refusal = workspace.refused(tool, arguments);
        assert_eq!(refusal.code, "unreadable", "{path}: {refusal:?}");
        assert!(refusal.message.contains(path.rsplit('/').next().unwrap()), "{refusal:?}");
    }
}

#[test]
fn a_file_without_permission_is_unreadable() {
    let workspace = with_events(entry("E001"));
    let path = workspace.path("memory/events.md");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    if fs::read(&path).is_ok() {
        eprintln!("skipped: this user may read everything");
        return;
    }
    let outcome = workspace.call("append_event", todo("买伞"));
    assert_eq!(outcome.status, Some(4), "{outcome:?}");
    assert_eq!(outcome.answer().unwrap_err().code, "unreadable");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o644)).unwrap();
    assert_eq!(workspace.events(), entry("E001"));
}

#[test]
fn a_fifo_in_place_of_a_file_hangs_nobody() {
    if missing(&["mkfifo"]) {
        return;
    }
    for (path, tool, arguments) in [
        ("memory/events.md", "append_event", todo("买伞")),
        ("memory/MEMORY.md", "append_event", todo("买伞")),
        ("memory/events.md", "list_events", json!({})),
        ("memory/unresolved.md", "add_unresolved", json!({"text": "甲"})),
        ("memory/mood_state.md", "update_mood", json!({"note": "一轮"})),
        (".mood_state_aux", "update_mood", json!({"note": "一轮"})),
        (".memory.lock", "append_event", todo("买伞")),
        (".memory_journal", "append_event", todo("买伞")),
    ] {
        let workspace = Workspace::new();
        assert!(Command::new("mkfifo").arg(workspace.path(path)).status().unwrap().success());
        // Over stdio: a hanging call is killed with its server.
        let mut server = Server::start(&workspace);
        let id = server.start_call(tool, arguments);
        let answer = server.answer_within(id, ANSWER_DEADLINE).unwrap_or_else(|| panic!("{tool} hangs on {path}"));
        let refusal = crate::support::Refusal::or_result(&answer).unwrap_err();
        assert_eq!(refusal.code, "unreadable", "{path}: {refusal:?}");
    }
}

#[test]
fn bytes_that_are_no_text_are_kept_or_refused() {
    let mut old = entry("E001").into_bytes();
    old.extend(b"\n### [E002] 2026-04-12 \xc2\xb7 x\n**\xff\xfe**\n");
    let workspace = with_events(&old);
    let outcome = workspace.call("append_event", todo("买伞"));
    let new = workspace.bytes("memory/events.md");
    match outcome.answer() {
        Ok(result) => {
            assert_eq!(result["id"], "E003");
            assert_eq!(new, [old.as_slice(), b"\n", entry("E003").as_bytes()].concat());
        }
        Err(refusal) => {
            assert_eq!(refusal.code, "unreadable");
            assert!(refusal.message.contains("events.md"), "{refusal:?}");
            assert_eq!(new, old);
        }
    }
    // A change beside them, and one of the very line.
    let before = workspace.bytes("memory/events.md");
    let outcome = workspace.call("update_event", json!({"id": "E001", "status": "已关闭"}));
    let after = workspace.bytes("memory/events.md");
    if outcome.status == Some(0) {
        let tail = &before[entry("E001").len()..];
        assert_eq!(after, [entry("E001").replace("待跟进", "已关闭").as_bytes(), tail].concat());
    } else {
        assert_eq!(after, before);
    }
}

#[test]
fn an_index_with_bytes_that_are_no_text_is_kept_or_refused() {
    let old = [index_with("（暂无）").as_bytes(), b"\xff\xfe \xe4\xb8\n"].concat();
    let workspace = Workspace::new().file("memory/MEMORY.md", &old).file("memory/events.md", "# 事件\n");
    let outcome = workspace.call("append_event", todo("买伞"));
    if outcome.status == Some(0) {
        let items = index_with("- [E001] 用户Todo · 买伞");
        assert_eq!(workspace.bytes("memory/MEMORY.md"), [items.as_bytes(), b"\xff\xfe \xe4\xb8\n"].concat());
    } else {
        assert_eq!(outcome.answer().unwrap_err().code, "unreadable");
        assert_eq!(workspace.bytes("memory/MEMORY.md"), old);
        assert_eq!(workspace.events(), "# 事件\n", "half a change");
    }
}

#[test]
fn a_line_that_is_no_text_is_never_changed() {
    let old = b"### [E001] 2026-04-12 \xc2\xb7 x\n**\xe5\x86\x85\xe5\xae\xb9**\xef\xbc\x9a\xff\xfe\n";
    let workspace = with_events(old);
    let refusal = workspace.refused("update_event", json!({"id": "E001", "content": "新"}));
    assert!(["unreadable", "not_found"].contains(&refusal.code.as_str()), "{refusal:?}");
    assert_eq!(workspace.bytes("memory/events.md"), old);
}

// Links and modes

#[test]
fn a_link_inside_the_workspace_stays_a_link() {
    let workspace =
        Workspace::new().file("real/events.md", "# 事件\n").file("memory/MEMORY.md", index_with("（暂无）"));
    symlink("../real/events.md", workspace.path("memory/events.md")).unwrap();
    workspace.ok("append_event", todo("买伞"));
    assert_eq!(fs::read_link(workspace.path("memory/events.md")).unwrap().to_str(), Some("../real/events.md"));
    assert_eq!(workspace.read("real/events.md"), format!("# 事件\n\n{}", entry("E001")));
    workspace.ok("update_event", json!({"id": "E001", "content": "新"}));
    assert_eq!(workspace.read("real/events.md"), format!("# 事件\n\n{}", entry("E001")).replace("买伞", "新"));
    let names: Vec<_> = fs::read_dir(workspace.path("real")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["events.md"], "a temporary file was left beside the target");
}

#[test]
fn a_link_out_of_the_workspace_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    let target = outside.path().join("events.md");
    for existing in [true, false] {
        if existing {
            fs::write(&target, "# 别人的\n").unwrap();
        } else {
            fs::remove_file(&target).unwrap();
        }
        let workspace = Workspace::new().file("memory/MEMORY.md", index_with("（暂无）"));
        symlink(&target, workspace.path("memory/events.md")).unwrap();
        workspace.refused("append_event", todo("买伞"));
        workspace.refused("touch_last_active", json!({}));
        assert_eq!(fs::read_link(workspace.path("memory/events.md")).unwrap(), target);
        let left: Vec<_> = fs::read_dir(outside.path()).unwrap().map(|e| e.unwrap().file_name()).collect();
        if existing {
            assert_eq!(fs::read_to_string(&target).unwrap(), "# 别人的\n");
            assert_eq!(left, ["events.md"]);
        } else {
            assert!(left.is_empty(), "{left:?}");
        }
    }
}

#[test]
fn a_dangling_link_inside_stays_a_link() {
    let workspace = Workspace::new().file("memory/MEMORY.md", index_with("（暂无）"));
    symlink("later.md", workspace.path("memory/events.md")).unwrap();
    let outcome = workspace.call("append_event", todo("买伞"));
    assert_eq!(fs::read_link(workspace.path("memory/events.md")).unwrap().to_str(), Some("later.md"));
    if outcome.status == Some(0) {
        assert!(workspace.read("memory/later.md").ends_with(&entry("E001")));
    } else {
        assert!(!workspace.path("memory/later.md").exists(), "{outcome:?}");
        assert_eq!(workspace.index(), index_with("（暂无）"));
    }
}

#[test]
fn a_link_that_leads_to_itself_hangs_nobody() {
    let workspace = Workspace::new();
    symlink("events.md", workspace.path("memory/events.md")).unwrap();
    workspace.refused("append_event", todo("买伞"));
}

#[test]
fn the_memory_folder_may_be_a_link_that_leads_out() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("events.md"), "# 事件\n").unwrap();
    let workspace = Workspace::without_memory();
    symlink(outside.path(), workspace.path("memory")).unwrap();
    assert_eq!(workspace.ok("append_event", todo("买伞"))["id"], "E001");
    assert_eq!(fs::read_to_string(outside.path().join("events.md")).unwrap(), format!("# 事件\n\n{}", entry("E001")));
    assert!(workspace.path("memory").is_symlink());
}

#[test]
fn a_file_of_a_memory_folder_that_leads_out_may_be_a_link_within_it() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("alt.md"), entry("E001")).unwrap();
    symlink("alt.md", outside.path().join("events.md")).unwrap();
    let workspace = Workspace::without_memory();
    symlink(outside.path(), workspace.path("memory")).unwrap();
    assert_eq!(workspace.ok("append_event", todo("买伞"))["id"], "E002");
    assert!(workspace.path("memory/events.md").is_symlink());
    assert_eq!(
        fs::read_to_string(outside.path().join("alt.md")).unwrap(),
        format!("{0}\n{1}", entry("E001"), entry("E002"))
    );
}

#[test]
fn the_mode_of_a_file_is_kept() {
    let workspace = with_events(entry("E001"))
        .file("memory/unresolved.md", "# 挂念\n\n## 已淡忘\n")
        .file("memory/mood_state.md", "valence: 0.20\nenergy: 0.55\n\n---\n\n## 快照历史\n\n（暂无快照）\n")
        .file(".mood_state_aux", "consecutive_g4c_count: 0\n");
    let files =
        ["memory/events.md", "memory/MEMORY.md", "memory/unresolved.md", "memory/mood_state.md", ".mood_state_aux"];
    for path in files {
        fs::set_permissions(workspace.path(path), fs::Permissions::from_mode(0o640)).unwrap();
    }
    let owner = |path: &str| {
        let metadata = fs::metadata(workspace.path(path)).unwrap();
        (metadata.uid(), metadata.gid(), metadata.mode() & 0o7777)
    };
    let before = files.map(owner);
    workspace.ok("append_event", todo("买伞"));
    workspace.ok("update_event", json!({"id": "E001", "status": "已关闭"}));
    workspace.ok("add_unresolved", json!({"text": "甲"}));
    workspace.ok("update_mood", json!({"note": "一轮"}));
    assert_eq!(files.map(owner), before);
    assert_eq!(before[0].2, 0o640);
}

#[test]
fn a_file_changed_by_hand_between_two_calls_is_read_afresh() {
    let workspace = with_events(entry("E001"));
    let mut server = Server::start(&workspace);
    server.call("append_event", todo("买伞")).unwrap();
    // As an editor saves: another file under the same name.
    workspace.write("memory/.events.swp", format!("{}\n{}", entry("E041"), entry("E007")));
    fs::rename(workspace.path("memory/.events.swp"), workspace.path("memory/events.md")).unwrap();
    assert_eq!(server.call("append_event", todo("买伞")).unwrap()["id"], "E042");
    assert_eq!(event_numbers(&workspace.events()), [41, 7, 42]);
    // In place, and of the same length.
    workspace.write("memory/events.md", workspace.events().replace("[E042]", "[E077]"));
    assert_eq!(server.call("append_event", todo("买伞")).unwrap()["id"], "E078");
}
