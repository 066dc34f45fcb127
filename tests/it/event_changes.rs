//! `update_event`: which fields change, of which event.

use crate::events::{mentions, with_events};
use crate::support::both_doors;
use serde_json::json;

const THREE: &str = "# 事件记录\n\n\
    ### [E001] 2026-04-10 · 用户Todo\n**类型**：用户Todo\n**内容**：还书\n**状态**：待跟进\n\n\
    ### [E002] 2026-04-11 · 情绪事件\n**类型**：情绪事件\n**内容**：哭了\n**情绪强度**：⭐⭐\n**用户状态**：难过\n**后续**：问问\n**状态**：待跟进\n\n\
    ### [E003] 2026-04-12 · 约定\n**类型**：约定\n**内容**：看展\n**状态**：待跟进\n**到期日**：未定\n\n\
    ### [E000] 2026-04-12T21:05 · last_active\n";

#[test]
fn an_update_changes_the_fields_given_and_no_other_byte() {
    let cases = [
        (
            json!({"id": "E001", "status": "已关闭"}),
            "**内容**：还书\n**状态**：待跟进",
            "**内容**：还书\n**状态**：已关闭",
        ),
        (json!({"id": "E001", "content": "还两本书"}), "**内容**：还书", "**内容**：还两本书"),
        (
            json!({"id": "E001", "user_state": "着急", "follow_up": "提醒她"}),
            "**内容**：还书\n",
            "**内容**：还书\n**用户状态**：着急\n**后续**：提醒她\n",
        ),
        (
            json!({"id": "E001", "due_date": "2026-04-20"}),
            "**内容**：还书\n**状态**：待跟进\n",
            "**内容**：还书\n**状态**：待跟进\n**到期日**：2026-04-20\n",
        ),
        (json!({"id": "E002", "intensity": 5}), "**情绪强度**：⭐⭐\n", "**情绪强度**：⭐⭐⭐⭐⭐\n"),
        (json!({"id": "E002", "user_state": "好些了"}), "**用户状态**：难过", "**用户状态**：好些了"),
        (json!({"id": "E002", "follow_up": "别再提"}), "**后续**：问问", "**后续**：别再提"),
        (json!({"id": "E003", "due_date": "2026-04-17"}), "**到期日**：未定", "**到期日**：2026-04-17"),
        (json!({"id": "E002", "clear": ["user_state", "follow_up"]}), "**用户状态**：难过\n**后续**：问问\n", ""),
    ];
    for (arguments, old, new) in cases {
        let expected = THREE.replacen(old, new, 1);
        assert_ne!(expected, THREE);
        let (answer, workspace) = both_doors(|| with_events(THREE), "update_event", arguments.clone());
        assert_eq!(answer.unwrap()["id"], arguments["id"]);
        assert_eq!(workspace.events(), expected, "{arguments}");
    }
}

#[test]
fn several_fields_change_in_one_update() {
    let workspace = with_events(THREE);
    workspace.ok(
        "update_event",
        json!({"id": "E002", "status": "已跟进", "content": "笑了", "intensity": 1, "user_state": "轻松", "clear": ["follow_up"]}),
    );
    let old = "**内容**：哭了\n**情绪强度**：⭐⭐\n**用户状态**：难过\n**后续**：问问\n**状态**：待跟进\n";
    let new = "**内容**：笑了\n**情绪强度**：⭐\n**用户状态**：轻松\n**状态**：已跟进\n";
    assert_eq!(workspace.events(), THREE.replacen(old, new, 1));
}

#[test]
fn an_update_to_the_same_values_writes_nothing() {
    let workspace = with_events(THREE);
    workspace.ok("update_event", json!({"id": "E002", "status": "已关闭"}));
    let before = workspace.tree();
    workspace.ok("update_event", json!({"id": "E002", "status": "已关闭", "content": "哭了", "intensity": 2}));
    assert_eq!(workspace.tree(), before);
}

#[test]
fn an_update_without_a_change_or_of_an_unknown_event_is_refused() {
    let workspace = with_events(THREE);
    assert_eq!(workspace.refused("update_event", json!({"id": "E009", "status": "已关闭"})).code, "not_found");
    assert_eq!(workspace.refused("update_event", json!({"status": "已关闭"})).code, "missing_argument");
    // A sentinel is no event.
    workspace.refused("update_event", json!({"id": "E000", "content": "醒着"}));
    assert_eq!(workspace.refused("update_event", json!({"id": "九", "status": "已关闭"})).code, "invalid_argument");
    let nothing = workspace.refused("update_event", json!({"id": "E001"}));
    assert!(["missing_argument", "invalid_argument"].contains(&nothing.code.as_str()), "{nothing:?}");
    let unknown_field = workspace.refused("update_event", json!({"id": "E001", "clear": ["mood"]}));
    assert_eq!(unknown_field.code, "invalid_argument");
}

#[test]
fn a_doubled_id_is_ambiguous_unless_the_date_picks_one() {
    let first = "### [E001] 2026-04-10 · 用户Todo\n**类型**：用户Todo\n**内容**：还书\n**状态**：待跟进\n";
    let second = "### [E001] 2026-04-11 · 用户Todo\n**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n";
    let events = format!("{first}\n{second}");
    let workspace = with_events(&events);
    let refusal = workspace.refused("update_event", json!({"id": "E001", "status": "已关闭"}));
    assert_eq!(refusal.code, "ambiguous");
    assert!(refusal.hint.contains("`date`"), "the way out is not named: {refusal:?}");
    assert_eq!(
        workspace.refused("update_event", json!({"id": "E001", "date": "2026-04-12", "status": "已关闭"})).code,
        "not_found"
    );

    workspace.ok("update_event", json!({"id": "E001", "date": "2026-04-11", "status": "已关闭"}));
    assert_eq!(workspace.events(), format!("{first}\n{}", second.replace("待跟进", "已关闭")));
}

// The block in MEMORY.md

#[test]
fn a_cleared_field_goes_and_the_due_date_of_an_appointment_is_open_again() {
    let old = "### [E001] 2026-04-10 · 约定\n**类型**：约定\n**内容**：看展\n**后续**：问问\n**状态**：待跟进\n**到期日**：2026-04-17\n";
    let workspace = with_events(old);
    let result = workspace.ok("update_event", json!({"id": "E001", "clear": ["due_date", "follow_up"]}));
    assert_eq!(result["changed"], json!(["follow_up", "due_date"]));
    assert_eq!(workspace.events(), old.replace("**后续**：问问\n", "").replace("2026-04-17", "未定"));
    let refusal =
        workspace.refused("update_event", json!({"id": "E001", "due_date": "2026-04-18", "clear": ["due_date"]}));
    assert_eq!(refusal.code, "invalid_argument");
    assert!(refusal.message.contains("clear[0]"), "{refusal:?}");
}

#[test]
fn an_update_drops_what_the_type_does_not_have_with_a_warning() {
    let entry =
        |kind: &str| format!("### [E001] 2026-04-10 · {kind}\n**类型**：{kind}\n**内容**：甲\n**状态**：待跟进\n");
    for (kind, name, value) in [
        ("情绪事件", "due_date", json!("2026-04-17")),
        ("约定", "intensity", json!(3)),
        ("重要事件", "intensity", json!(3)),
    ] {
        let workspace = with_events(&entry(kind));
        let result = workspace.ok("update_event", json!({"id": "E001", "user_state": "忙", name: value}));
        assert!(mentions(&result, name), "{kind}: {result}");
        assert_eq!(result["changed"], json!(["user_state"]), "{kind}");
        assert_eq!(workspace.events(), entry(kind).replace("**状态**", "**用户状态**：忙\n**状态**"), "{kind}");
    }
}

#[test]
fn an_event_of_another_day_is_told_by_its_own() {
    let workspace = with_events(THREE);
    let refusal = workspace.refused("update_event", json!({"id": "E001", "date": "2020-01-01", "status": "已关闭"}));
    assert_eq!(refusal.code, "not_found");
    let day = THREE.split_once("[E001] ").unwrap().1.split_once(' ').unwrap().0;
    assert!(refusal.message.ends_with(&format!("expected one of `{day}`")), "{refusal:?}");
}
