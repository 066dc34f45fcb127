//! What models write a little differently from what the schemas say, and what must not be taken for the same.

use crate::support::{Outcome, Server, Workspace, index_with, program};
use serde_json::{Value, json};

const PROFILE: &str = "# 用户档案\n\n## 喜欢\n\n- 茶\n";

fn workspace() -> Workspace {
    Workspace::new()
        .file("memory/MEMORY.md", index_with("（暂无）"))
        .file("memory/user_profile.md", PROFILE)
        .file("memory/persona.md", "# 人物\n\n## 在对话中形成的新细节\n\n- **[2026-04-01]** 怕打雷\n")
}

// The same or not

#[test]
fn texts_that_differ_in_a_sign_are_different() {
    for (one, other) in
        [("血型A+", "血型A-"), ("在学C", "在学C#"), ("在学C#", "在学C++"), ("？？？", "……"), ("<!--", "$")]
    {
        let workspace = workspace();
        for text in [one, other] {
            assert_eq!(workspace.ok("add_persona_detail", json!({"detail": text}))["written"], true, "{one} {other}");
            assert_eq!(workspace.ok("add_unresolved", json!({"text": text}))["deduplicated"], false, "{one} {other}");
            let added = workspace.ok("update_profile", json!({"action": "add", "section": "喜欢", "text": text}));
            assert_eq!(added["written"], true, "{one} {other}");
        }
    }
}

#[test]
fn texts_that_differ_in_how_they_end_are_the_same() {
    for (one, other) in
        [("怕黑", "怕黑。"), ("怕黑", "怕黑……"), ("怕黑", "怕黑～"), ("怕黑", "怕黑！」"), ("OK", "ｏｋ!")]
    {
        let workspace = workspace();
        assert_eq!(workspace.ok("add_persona_detail", json!({"detail": one}))["written"], true, "{one} {other}");
        assert_eq!(workspace.ok("add_persona_detail", json!({"detail": other}))["written"], false, "{one} {other}");
        assert_eq!(workspace.ok("add_unresolved", json!({"text": one}))["deduplicated"], false, "{one} {other}");
        assert_eq!(workspace.ok("add_unresolved", json!({"text": other}))["deduplicated"], true, "{one} {other}");
    }
}

// Ids and dates

#[test]
fn an_id_may_be_written_as_the_files_show_it() {
    for (event, worry, log) in [("[E001]", "[U001]", "[L013]"), ("e1", "u1", "l13"), (" E1 ", "U01", "L0013")] {
        let workspace = workspace();
        workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
        workspace.ok("add_unresolved", json!({"text": "妈妈的血压"}));
        workspace.ok("add_unresolved", json!({"text": "绿植", "kind": "chore", "life_log_id": log}));
        assert!(workspace.read("memory/unresolved.md").contains("last_touched=L013 "), "{log}");
        assert_eq!(workspace.ok("update_event", json!({"id": event, "status": "已关闭"}))["id"], "E001", "{event}");
        assert_eq!(workspace.ok("resolve_unresolved", json!({"id": worry, "resolved_by": "好了"}))["id"], "U001");
    }
    let workspace = workspace();
    for id in ["[E001", "E001]", "[[E001]]", "Ｅ001", "1", "X001", "E", "E0"] {
        let refusal = workspace.refused("update_event", json!({"id": id, "status": "已关闭"}));
        assert_eq!(refusal.code, "invalid_argument", "{id}");
    }
}

#[test]
fn an_entry_can_be_read_by_its_id() {
    let workspace = workspace().file("memory/life_log.md", "# 日志\n\n### [L013] 2026-04-12T16:00 · 阳台\n浇花。\n");
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞", "date": "2026-04-13"}));
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "还书", "date": "2026-04-13"}));
    let text = |file: &str, section: &str| {
        workspace.ok("read_memory", json!({"file": file, "section": section}))["text"].clone()
    };
    assert_eq!(
        text("events", "E001"),
        "### [E001] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n\n"
    );
    assert_eq!(text("life_log", "L013"), "### [L013] 2026-04-12T16:00 · 阳台\n浇花。\n");
    assert_eq!(workspace.refused("read_memory", json!({"file": "events", "section": "E003"})).code, "not_found");
}

#[test]
fn a_due_date_may_be_given_as_the_one_that_was_not_agreed() {
    let workspace = workspace();
    let promise = json!({"type": "约定", "content": "吃饭", "due_date": "未定", "date": "2026-04-13"});
    workspace.ok("append_event", promise.clone());
    workspace.ok("record_conversation", json!({"events": [promise]}));
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞", "due_date": "2026-05-01"}));
    workspace.ok("update_event", json!({"id": "E001", "due_date": "2026-05-01"}));
    assert!(workspace.events().contains("**到期日**：2026-05-01"), "{}", workspace.events());
    for id in ["E001", "E003"] {
        let result = workspace.ok("update_event", json!({"id": id, "due_date": "未定"}));
        assert_eq!(result["changed"], json!(["due_date"]), "{id}");
    }
    let events = workspace.events();
    assert_eq!(events.matches("**到期日**：未定\n").count(), 2, "{events}");
    assert_eq!(events.matches("**到期日**").count(), 2, "{events}");
}

// Arguments

#[test]
fn a_field_may_be_dropped_twice_and_goes_once() {
    let workspace = workspace();
    let event =
        json!({"type": "用户Todo", "content": "买伞", "user_state": "着急", "follow_up": "问问", "date": "2026-04-13"});
    workspace.ok("append_event", event);
    workspace.ok("update_event", json!({"id": "E001", "clear": ["user_state", "user_state"]}));
    let text = workspace.events();
    assert!(text.ends_with("**内容**：买伞\n**后续**：问问\n**状态**：待跟进\n"), "{text}");
}

#[test]
fn an_update_of_nothing_says_what_there_is_to_change() {
    let workspace = workspace();
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
    let refusal = workspace.refused("update_event", json!({"id": "E001"}));
    assert_eq!(refusal.code, "missing_argument");
    assert!(refusal.message.contains("another change: `content`"), "{refusal:?}");
}

#[test]
fn a_superfluous_argument_of_the_profile_is_dropped_with_a_warning() {
    let change = |arguments: Value| workspace().ok("update_profile", arguments)["warnings"].to_string();
    let warned = change(json!({"action": "remove", "section": "喜欢", "old_text": "茶", "text": "水", "key": "饮料"}));
    assert!(warned.contains("`text`") && warned.contains("`key`"), "{warned}");
    let warned = change(json!({"action": "add", "section": "喜欢", "text": "水", "old_text": "茶"}));
    assert!(warned.contains("`old_text`"), "{warned}");
    assert_eq!(change(json!({"action": "add", "section": "喜欢", "text": "水"})), "null");
}

#[test]
fn no_correction_takes_the_heading_from_the_details() {
    let workspace = workspace();
    let before = workspace.tree();
    let refusal = workspace.refused("correct_persona", json!({"old_text": "新细节", "new_text": "旧事"}));
    assert_eq!(refusal.code, "invalid_argument");
    assert_eq!(workspace.tree(), before);
}

#[test]
fn names_in_a_long_list_are_quoted_one_by_one() {
    let workspace = workspace();
    let worries: Vec<_> = (0..60).map(|n| json!({"text": format!("第{n}桩")})).collect();
    workspace.ok("record_conversation", json!({"unresolved": worries}));
    let refusal = workspace.refused("resolve_unresolved", json!({"id": "U099", "resolved_by": "好了"}));
    let (_, last) = refusal.message.rsplit_once("`, `").unwrap();
    assert!(last.contains("` and ") && last.ends_with(" more"), "{refusal:?}");
}

#[test]
fn arguments_that_are_no_object_are_named() {
    let mut server = Server::start(&workspace());
    for arguments in [json!("{}"), json!([]), json!(5)] {
        let answer = server.ask("tools/call", json!({"name": "touch_last_active", "arguments": arguments}));
        let message = answer["error"]["message"].as_str().unwrap();
        assert!(message.contains("`arguments`, an object"), "{answer}");
    }
}

// The command line

#[test]
fn a_call_outside_the_toolset_is_a_wrong_usage() {
    let workspace = workspace();
    let outcome = workspace.run(&["--toolset", "read", "call", "append_event", r#"{"type":"约定","content":"x"}"#]);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.contains("`list_events`") && !outcome.stderr.contains("`update_event`"), "{outcome:?}");
    assert!(!workspace.path("memory/events.md").exists());
    assert_eq!(workspace.run(&["--toolset", "read", "call", "list_events"]).status, Some(0));
}

#[test]
fn a_place_that_cannot_be_written_is_named() {
    let workspace = workspace();
    let file = workspace.path("memory/persona.md");
    for arguments in [["init"].as_slice(), &["tools", "--write"]] {
        let mut command = program();
        command.args(arguments).arg(&file);
        let outcome = Outcome::of(command, None);
        assert!(outcome.status.is_some_and(|status| status != 0), "{arguments:?}: {outcome:?}");
        assert!(outcome.stderr.contains(file.to_str().unwrap()), "{arguments:?}: {outcome:?}");
        assert!(!outcome.stderr.contains("the disk is well"), "{arguments:?}: {outcome:?}");
    }
}

#[test]
fn a_resource_of_many_events_begins_with_a_whole_one() {
    let event = |n: u32| {
        format!("\n### [E{n:03}] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：第{n}件\n**状态**：已关闭\n")
    };
    let workspace =
        workspace().file("memory/events.md", format!("# 事件\n{}", (1..2000).map(event).collect::<String>()));
    let mut server = Server::start(&workspace);
    let answer = server.ask("resources/read", json!({"uri": "memory://events"}));
    let text = answer["result"]["contents"][0]["text"].as_str().unwrap();
    assert!(text.lines().nth(1).unwrap().starts_with("### [E"), "{:?}", text.lines().take(3).collect::<Vec<_>>());
}
