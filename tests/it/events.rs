//! `append_event`, `update_event`, `list_events`, `touch_last_active`, and the block that `memory/MEMORY.md` keeps of them.

use crate::support::{Server, Workspace, both_doors, clock, event_numbers, index_with};
use serde_json::{Value, json};

fn workspace() -> Workspace {
    Workspace::new().file("memory/events.md", "# 事件记录\n").file("memory/MEMORY.md", index_with("（暂无）"))
}

fn with_events(events: &str) -> Workspace {
    Workspace::new().file("memory/events.md", events).file("memory/MEMORY.md", index_with("（暂无）"))
}

fn mentions(result: &Value, word: &str) -> bool {
    result["warnings"].as_array().is_some_and(|all| all.iter().any(|w| w.as_str().unwrap().contains(word)))
}

// Numbers

#[test]
fn twelve_hundred_events_are_numbered_without_gap_or_repeat() {
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let calls: Vec<_> = (1..=1200)
        .map(|n| server.start_call("append_event", json!({"type": "用户Todo", "content": format!("第{n}件")})))
        .collect();
    let given: Vec<_> =
        calls.into_iter().map(|id| server.finish_call(id).unwrap()["id"].as_str().unwrap().to_owned()).collect();

    let expected: Vec<_> = (1..=1200).map(|n| format!("E{n:03}")).collect();
    assert_eq!(given, expected);
    let events = workspace.events();
    assert_eq!(event_numbers(&events), (1..=1200).collect::<Vec<_>>());
    for (id, n) in expected.iter().zip(1..) {
        assert!(events.contains(&format!("### [{id}] ")), "{id} has another form in the file");
        assert!(events.contains(&format!("**内容**：第{n}件\n")));
    }
}

#[test]
fn the_next_number_follows_the_largest_real_heading() {
    let cases = [
        ("", "（暂无）", "E001"),
        ("### [E007] 2026-04-01 · 用户Todo\n", "（暂无）", "E008"),
        ("### [E008] 2026-04-01 · 用户Todo\n", "（暂无）", "E009"),
        ("### [E009] 2026-04-01 · 用户Todo\n", "（暂无）", "E010"),
        ("### [E099] 2026-04-01 · 用户Todo\n", "（暂无）", "E100"),
        ("### [E999] 2026-04-01 · 用户Todo\n", "（暂无）", "E1000"),
        // The old procedure took the last heading.
        ("### [E010] 2026-04-02 · 用户Todo\n\n### [E009] 2026-04-01 · 用户Todo\n", "（暂无）", "E011"),
        // A sentinel is not a number, wherever it stands and however many zeros it has.
        ("### [E012] 2026-04-01 · 用户Todo\n\n### [E000] 2026-04-01T09:30 · last_active\n", "（暂无）", "E013"),
        ("### [E0] 2026-04-01T09:30 · last_active\n", "（暂无）", "E001"),
        // Quoted ids are text.
        (
            "### [E003] 2026-04-01 · 用户Todo\n**类型**：用户Todo\n**内容**：像[E999]那次\n**状态**：待跟进\n",
            "（暂无）",
            "E004",
        ),
        ("见 ### [E500] 那条\n\n> ### [E501] 2026-04-01 · 用户Todo\n", "（暂无）", "E001"),
        // An event that only the index still knows has had its number.
        ("### [E012] 2026-04-01 · 用户Todo\n", "- [E040] 用户Todo · 买伞", "E041"),
    ];
    for (events, items, expected) in cases {
        let workspace = Workspace::new()
            .file("memory/events.md", format!("# 事件记录\n\n{events}"))
            .file("memory/MEMORY.md", index_with(items));
        let result = workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
        assert_eq!(result["id"], expected, "after {events:?} and {items:?}");
        assert!(workspace.events().contains(&format!("\n\n### [{expected}] ")));
    }
}

#[test]
fn a_quoted_id_does_not_move_the_numbering() {
    let workspace = workspace();
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "翻到[E999]那一页", "follow_up": "[E1000]"}));
    // The first content now also stands in the block of MEMORY.md.
    let result = workspace.ok("append_event", json!({"type": "用户Todo", "content": "合上"}));
    assert_eq!(result, json!({"id": "E002"}));
}

// Form

#[test]
fn an_appointment_is_written_byte_for_byte() {
    let arguments = json!({
        "type": "约定", "content": "周五一起去看展", "user_state": "期待", "follow_up": "周六问她好不好看",
        "due_date": "2026-04-17", "date": "2026-04-13",
    });
    let (answer, workspace) = both_doors(workspace, "append_event", arguments);
    assert_eq!(answer, Ok(json!({"id": "E001"})));
    assert_eq!(
        workspace.events(),
        "# 事件记录\n\n### [E001] 2026-04-13 · 约定\n**类型**：约定\n**内容**：周五一起去看展\n**用户状态**：期待\n\
         **后续**：周六问她好不好看\n**状态**：待跟进\n**到期日**：2026-04-17\n"
    );
    assert_eq!(workspace.index(), index_with("- [E001] 2026-04-17 · 约定 · 周五一起去看展"));
}

#[test]
fn every_type_has_its_fields_in_order() {
    let cases = [
        (
            json!({"type": "情绪事件", "content": "哭了很久", "intensity": 4, "user_state": "难过", "follow_up": "问问睡得好不好"}),
            "情绪事件\n**类型**：情绪事件\n**内容**：哭了很久\n**情绪强度**：⭐⭐⭐⭐\n**用户状态**：难过\n**后续**：问问睡得好不好\n**状态**：待跟进\n",
        ),
        (
            json!({"type": "情绪事件", "content": "有点烦", "intensity": 1}),
            "情绪事件\n**类型**：情绪事件\n**内容**：有点烦\n**情绪强度**：⭐\n**状态**：待跟进\n",
        ),
        (
            json!({"type": "情绪事件", "content": "崩溃", "intensity": 5, "status": "已关闭"}),
            "情绪事件\n**类型**：情绪事件\n**内容**：崩溃\n**情绪强度**：⭐⭐⭐⭐⭐\n**状态**：已关闭\n",
        ),
        (
            json!({"type": "用户Todo", "content": "买伞"}),
            "用户Todo\n**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n",
        ),
        (
            json!({"type": "用户Todo", "content": "交房租", "due_date": "2026-05-01"}),
            "用户Todo\n**类型**：用户Todo\n**内容**：交房租\n**状态**：待跟进\n**到期日**：2026-05-01\n",
        ),
        (
            json!({"type": "重要事件", "content": "换工作了", "status": "已跟进", "user_state": "紧张"}),
            "重要事件\n**类型**：重要事件\n**内容**：换工作了\n**用户状态**：紧张\n**状态**：已跟进\n",
        ),
        // Nobody forgets that a day is still to be agreed.
        (
            json!({"type": "约定", "content": "一起吃饭"}),
            "约定\n**类型**：约定\n**内容**：一起吃饭\n**状态**：待跟进\n**到期日**：未定\n",
        ),
    ];
    for (mut arguments, expected) in cases {
        let workspace = workspace();
        arguments["date"] = json!("2026-04-13");
        assert_eq!(workspace.ok("append_event", arguments), json!({"id": "E001"}));
        assert_eq!(workspace.events(), format!("# 事件记录\n\n### [E001] 2026-04-13 · {expected}"));
    }
}

#[test]
fn an_entry_is_set_off_by_exactly_one_blank_line() {
    let entry = "### [E002] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n";
    let old = "### [E001] 2026-04-12 · 用户Todo\n**类型**：用户Todo\n**内容**：还书\n**状态**：已关闭";
    for (ending, gap) in [("", "\n\n"), ("\n", "\n"), ("\n\n", "")] {
        let workspace = with_events(&format!("{old}{ending}"));
        workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞", "date": "2026-04-13"}));
        assert_eq!(workspace.events(), format!("{old}{ending}{gap}{entry}"));
    }
}

#[test]
fn the_first_event_makes_the_file() {
    let workspace = Workspace::new();
    assert_eq!(
        workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞", "date": "2026-04-13"}))["id"],
        "E001"
    );
    let entry = "### [E001] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n";
    let events = workspace.events();
    assert!(events == entry || events.ends_with(&format!("\n{entry}")), "{events:?}");
}

#[test]
fn an_event_without_a_date_is_of_today() {
    let workspace = workspace();
    let before = clock::today();
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
    clock::stamp_since(&before, &clock::today(), r"### \[E001\] (\d{4}-\d\d-\d\d) · 用户Todo\n", &workspace.events());
}

#[test]
fn an_event_needs_its_type_its_content_and_a_real_date() {
    let cases = [
        (json!({"content": "买伞"}), "missing_argument", "type"),
        (json!({"type": "用户Todo"}), "missing_argument", "content"),
        (json!({"type": "用户Todo", "content": " \n\t "}), "invalid_argument", "content"),
        (json!({"type": "待办", "content": "买伞"}), "invalid_argument", "用户Todo"),
        (json!({"type": "情绪事件", "content": "哭了", "intensity": 0}), "invalid_argument", "intensity"),
        (json!({"type": "情绪事件", "content": "哭了", "intensity": 6}), "invalid_argument", "intensity"),
        (json!({"type": "情绪事件", "content": "哭了", "intensity": 2.5}), "invalid_argument", "intensity"),
        (json!({"type": "用户Todo", "content": "买伞", "date": "2026-02-30"}), "invalid_argument", "date"),
        (json!({"type": "用户Todo", "content": "买伞", "date": "昨天"}), "invalid_argument", "date"),
        (json!({"type": "约定", "content": "吃饭", "due_date": "周五"}), "invalid_argument", "due_date"),
        (json!({"type": "用户Todo", "content": "买伞", "status": "待"}), "invalid_argument", "待跟进"),
    ];
    let workspace = workspace();
    for (arguments, code, named) in cases {
        let refusal = workspace.refused("append_event", arguments.clone());
        assert_eq!(refusal.code, code, "{arguments}: {refusal:?}");
        let text = format!("{} {}", refusal.message, refusal.hint);
        assert!(text.contains(named), "{arguments}: {text}");
    }
    let refusal = workspace.refused("append_event", json!({"type": "情绪事件", "content": "哭了"}));
    assert!(["missing_argument", "invalid_argument"].contains(&refusal.code.as_str()), "{refusal:?}");
    assert!(refusal.message.contains("intensity"), "{refusal:?}");
}

#[test]
fn whoever_writes_no_real_date_is_told_what_day_it_is() {
    let workspace = workspace();
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
    for (tool, arguments) in [
        ("append_event", json!({"type": "约定", "content": "吃饭", "due_date": "周五"})),
        ("append_event", json!({"type": "约定", "content": "吃饭", "date": "昨天"})),
        ("update_event", json!({"id": "E001", "due_date": "明天"})),
        ("list_events", json!({"due_on_or_before": "下周"})),
        ("record_conversation", json!({"events": [{"type": "约定", "content": "吃饭", "due_date": "4月"}]})),
    ] {
        clock::within_one_day(|| {
            let message = workspace.refused(tool, arguments.clone()).message;
            let found = message.split_once("today is `").and_then(|(_, rest)| Some(rest.split_once('`')?.0.to_owned()));
            (found, Some(clock::today()))
        });
    }
}

// Warnings

#[test]
fn a_superfluous_argument_is_dropped_with_a_warning() {
    let cases = [
        (
            json!({"type": "用户Todo", "content": "买伞", "intensity": 3}),
            "intensity",
            "用户Todo\n**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n",
        ),
        (
            json!({"type": "情绪事件", "content": "哭了", "intensity": 3, "due_date": "2026-04-17"}),
            "due_date",
            "情绪事件\n**类型**：情绪事件\n**内容**：哭了\n**情绪强度**：⭐⭐⭐\n**状态**：待跟进\n",
        ),
    ];
    for (mut arguments, dropped, expected) in cases {
        let workspace = workspace();
        arguments["date"] = json!("2026-04-13");
        let result = workspace.ok("append_event", arguments);
        assert_eq!(result["id"], "E001");
        assert!(mentions(&result, dropped), "{result}");
        assert_eq!(workspace.events(), format!("# 事件记录\n\n### [E001] 2026-04-13 · {expected}"));
    }
}

#[test]
fn an_event_equal_to_an_open_one_is_added_and_named() {
    let workspace = workspace();
    let first = json!({"type": "约定", "content": "周五ABC一起看展", "due_date": "2026-04-17", "date": "2026-04-13"});
    workspace.ok("append_event", first);
    // Width, case, white space and trailing punctuation make no difference.
    let again =
        json!({"type": "约定", "content": "周五ａｂｃ 一起看展。", "due_date": "2026-04-17", "date": "2026-04-13"});
    let result = workspace.ok("append_event", again.clone());
    assert_eq!(result["id"], "E002");
    assert!(mentions(&result, "E001"), "{result}");

    for other in [
        json!({"type": "用户Todo", "content": "周五ABC一起看展", "due_date": "2026-04-17", "date": "2026-04-13"}),
        json!({"type": "约定", "content": "周五ABC一起看展", "due_date": "2026-04-18", "date": "2026-04-13"}),
        json!({"type": "约定", "content": "周五ABC一起看展", "due_date": "2026-04-17", "date": "2026-04-14"}),
        json!({"type": "约定", "content": "周六ABC一起看展", "due_date": "2026-04-17", "date": "2026-04-13"}),
    ] {
        let result = workspace.ok("append_event", other.clone());
        assert!(result.get("warnings").is_none(), "{other}: {result}");
    }

    for id in ["E001", "E002"] {
        workspace.ok("update_event", json!({"id": id, "status": "已关闭"}));
    }
    let result = workspace.ok("append_event", again);
    assert!(result.get("warnings").is_none(), "the others are closed: {result}");
}

// update_event

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

// list_events

#[test]
fn a_listed_event_has_every_field_and_its_line() {
    let workspace = workspace();
    workspace.ok(
        "append_event",
        json!({"type": "约定", "content": "周五一起去看展", "user_state": "期待", "follow_up": "周六问她好不好看",
               "due_date": "2026-04-17", "date": "2026-04-13"}),
    );
    workspace.ok("append_event", json!({"type": "情绪事件", "content": "哭了", "intensity": 4, "date": "2026-04-14"}));
    let listed = both_doors(|| with_events(&workspace.events()), "list_events", json!({}));
    assert_eq!(
        listed.0,
        Ok(json!({
            "events": [
                {"id": "E002", "date": "2026-04-14", "type": "情绪事件", "content": "哭了", "intensity": 4, "status": "待跟进", "line": 11},
                {"id": "E001", "date": "2026-04-13", "type": "约定", "content": "周五一起去看展", "user_state": "期待",
                 "follow_up": "周六问她好不好看", "status": "待跟进", "due_date": "2026-04-17", "line": 3},
            ],
            "has_more": false,
        }))
    );
}

#[test]
fn the_list_is_narrowed_by_each_filter() {
    let workspace = workspace();
    let given = [
        json!({"type": "用户Todo", "content": "还书", "date": "2026-04-01", "due_date": "2026-04-10"}),
        json!({"type": "情绪事件", "content": "哭了", "date": "2026-04-02", "intensity": 3, "user_state": "难过"}),
        json!({"type": "约定", "content": "看展", "date": "2026-04-03", "due_date": "2026-04-17", "follow_up": "问她好不好看"}),
        json!({"type": "约定", "content": "吃饭", "date": "2026-04-04"}),
        json!({"type": "重要事件", "content": "换工作", "date": "2026-04-05", "status": "已关闭"}),
    ];
    let mut server = Server::start(&workspace);
    for arguments in given {
        server.call("append_event", arguments).unwrap();
    }
    let cases = [
        (json!({}), vec!["E005", "E004", "E003", "E002", "E001"]),
        (json!({"status": "待跟进"}), vec!["E004", "E003", "E002", "E001"]),
        (json!({"status": "已关闭"}), vec!["E005"]),
        (json!({"type": "约定"}), vec!["E004", "E003"]),
        (json!({"due_on_or_before": "2026-04-17"}), vec!["E003", "E001"]),
        (json!({"due_on_or_before": "2026-04-16"}), vec!["E001"]),
        (json!({"due_on_or_before": "2026-04-09"}), vec![]),
        (json!({"since": "2026-04-03"}), vec!["E005", "E004", "E003"]),
        (json!({"query": "看展"}), vec!["E003"]),
        (json!({"query": "难过"}), vec!["E002"]),
        (json!({"query": "好不好看"}), vec!["E003"]),
        (json!({"query": "没有这回事"}), vec![]),
        (json!({"type": "约定", "due_on_or_before": "2026-04-30"}), vec!["E003"]),
        (json!({"status": "待跟进", "since": "2026-04-02", "query": "哭"}), vec!["E002"]),
    ];
    for (filter, expected) in cases {
        let result = server.call("list_events", filter.clone()).unwrap();
        let ids: Vec<_> = result["events"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap()).collect();
        assert_eq!(ids, expected, "{filter}");
        assert_eq!(result["has_more"], false, "{filter}");
    }
}

#[test]
fn pages_of_the_list_join_without_gap_or_overlap() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    for n in 1..=45 {
        server.call("append_event", json!({"type": "用户Todo", "content": format!("第{n}件")})).unwrap();
    }
    for (limit, size) in
        [(json!(null), 20), (json!(7), 7), (json!(100), 100), (json!(1), 1), (json!(45), 45), (json!(9), 9)]
    {
        let mut seen: Vec<String> = Vec::new();
        for _ in 0..=45 {
            let mut arguments = json!({"limit": limit});
            if let Some(last) = seen.last() {
                arguments["before_id"] = json!(last);
            }
            let page = server.call("list_events", arguments).unwrap();
            let ids: Vec<_> =
                page["events"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap().to_owned()).collect();
            assert_eq!(ids.len(), size.min(45 - seen.len()), "pages of {size}");
            seen.extend(ids);
            assert_eq!(page["has_more"], json!(seen.len() < 45));
            if page["has_more"] == false {
                break;
            }
        }
        assert_eq!(seen, (1..=45).rev().map(|n| format!("E{n:03}")).collect::<Vec<_>>(), "pages of {size}");
    }
    for limit in [0, 101, -1] {
        assert_eq!(server.call("list_events", json!({"limit": limit})).unwrap_err().code, "invalid_argument");
    }
}

#[test]
fn a_list_of_long_events_stays_below_the_size_of_a_result() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let calls: Vec<_> = (0..30)
        .map(|_| server.start_call("append_event", json!({"type": "用户Todo", "content": "长".repeat(2000)})))
        .collect();
    for call in calls {
        server.finish_call(call).unwrap();
    }
    let mut seen: Vec<String> = Vec::new();
    for _ in 0..30 {
        let mut arguments = json!({"limit": 100});
        if let Some(last) = seen.last() {
            arguments["before_id"] = json!(last);
        }
        let page = server.call("list_events", arguments).unwrap();
        assert!(page.to_string().len() <= 40 * 1024, "{} bytes", page.to_string().len());
        for event in page["events"].as_array().unwrap() {
            assert_eq!(event["content"], "长".repeat(2000), "cut without a word");
            seen.push(event["id"].as_str().unwrap().to_owned());
        }
        if page["has_more"] == false {
            break;
        }
    }
    assert_eq!(seen, (1..=30).rev().map(|n| format!("E{n:03}")).collect::<Vec<_>>());
}

#[test]
fn a_list_of_nothing_is_no_error() {
    let workspace = Workspace::new();
    assert_eq!(workspace.ok("list_events", json!({})), json!({"events": [], "has_more": false}));
    assert!(workspace.memory_names().is_empty(), "a reading call makes no file");
}

#[test]
fn a_due_date_that_is_none_is_named_in_a_warning() {
    let entry = |id: &str, due: &str| {
        format!("### [{id}] 2026-04-10 · 约定\n**类型**：约定\n**内容**：甲\n**状态**：待跟进\n**到期日**：{due}\n")
    };
    let events = [
        entry("E001", "2026-04-17"),
        entry("E002", "2026/4/7"),
        entry("E003", "2026-04-18（周六）"),
        entry("E004", "未定"),
        entry("E005", "下周五"),
        entry("E006", "2026-02-30"),
    ]
    .join("\n");
    let result = with_events(&events).ok("list_events", json!({"due_on_or_before": "2026-12-31"}));
    let ids: Vec<_> = result["events"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["E003", "E002", "E001"]);
    for (id, named) in
        [("E001", false), ("E002", false), ("E003", false), ("E004", false), ("E005", true), ("E006", true)]
    {
        assert_eq!(mentions(&result, id), named, "{id} in {result}");
    }
}

// touch_last_active

#[test]
fn the_sentinel_of_one_minute_is_written_once() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    for _ in 0..3 {
        let start = clock::minute();
        let before = workspace.events();
        let first = server.call("touch_last_active", json!({})).unwrap();
        let between = workspace.events();
        let second = server.call("touch_last_active", json!({})).unwrap();
        if start != clock::minute() {
            continue;
        }
        assert_eq!(first["written"], true);
        assert_eq!(between, format!("{before}\n### [E000] {start} · last_active\n"));
        assert_eq!(second["written"], false);
        assert_eq!(second["last_active"], first["last_active"]);
        assert!(first["last_active"].as_str().unwrap().starts_with(&start), "{first}");
        assert_eq!(workspace.events(), between);
        return;
    }
    panic!("three minutes passed in three pairs of calls");
}

#[test]
fn a_sentinel_that_is_not_the_end_is_followed_by_a_new_one() {
    let workspace = workspace();
    workspace.ok("touch_last_active", json!({}));
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
    assert_eq!(workspace.ok("touch_last_active", json!({}))["written"], true);
    let events = workspace.events();
    assert_eq!(events.matches("### [E000] ").count(), 2);
    let last = events.lines().last().unwrap();
    assert!(last.starts_with("### [E000] ") && last.ends_with(" · last_active"), "{last}");
}

#[test]
fn a_sentinel_of_another_minute_is_followed_by_a_new_one() {
    let old = "# 事件记录\n\n### [E000] 2026-04-12T21:05 · last_active\n";
    let workspace = with_events(old);
    let start = clock::minute();
    assert_eq!(workspace.ok("touch_last_active", json!({}))["written"], true);
    let events = workspace.events();
    let added = events.strip_prefix(old).unwrap();
    let stamp = clock::stamp_since(&start, &clock::minute(), r"\[E000\] (\S+) ", added);
    assert_eq!(added, format!("\n### [E000] {stamp} · last_active\n"));
}

// The block in MEMORY.md

#[test]
fn the_block_holds_the_three_nearest_open_events() {
    clock::within_one_day(|| {
        let workspace = workspace();
        let mut server = Server::start(&workspace);
        let todo = |content: &str, due: Option<i32>, status: &str| json!({"type": "用户Todo", "content": content, "due_date": due.map(clock::day), "status": status});
        let mut blocks = Vec::new();
        for arguments in [
            todo("无期", None, "待跟进"),
            todo("四天后", Some(4), "待跟进"),
            todo("已经关闭", Some(0), "已关闭"),
            todo("明天", Some(1), "待跟进"),
            todo("昨天", Some(-1), "待跟进"),
            todo("又一个昨天", Some(-1), "待跟进"),
            todo("已经跟进", Some(0), "已跟进"),
            todo("今天", Some(0), "待跟进"),
        ] {
            server.call("append_event", arguments).unwrap();
            blocks.push(workspace.index());
        }
        server.call("update_event", json!({"id": "E008", "status": "已跟进"})).unwrap();
        blocks.push(workspace.index());
        server.call("update_event", json!({"id": "E006", "due_date": clock::day(9)})).unwrap();
        blocks.push(workspace.index());

        let item = |id: &str, due: Option<i32>, content: &str| match due {
            Some(offset) => format!("- [{id}] {} · 用户Todo · {content}", clock::day(offset)),
            None => format!("- [{id}] 用户Todo · {content}"),
        };
        let undated = item("E001", None, "无期");
        let four = item("E002", Some(4), "四天后");
        let tomorrow = item("E004", Some(1), "明天");
        let yesterday = item("E005", Some(-1), "昨天");
        let another = item("E006", Some(-1), "又一个昨天");
        let today = item("E008", Some(0), "今天");
        let expected = [
            vec![&undated],
            vec![&four, &undated],
            vec![&four, &undated],
            vec![&tomorrow, &four, &undated],
            // As far away as tomorrow, but earlier.
            vec![&yesterday, &tomorrow, &four],
            // The same day, but a newer number.
            vec![&another, &yesterday, &tomorrow],
            vec![&another, &yesterday, &tomorrow],
            vec![&today, &another, &yesterday],
            vec![&another, &yesterday, &tomorrow],
            vec![&yesterday, &tomorrow, &four],
        ];
        let expected =
            expected.map(|items| index_with(&items.into_iter().cloned().collect::<Vec<_>>().join("\n"))).to_vec();
        (blocks, expected)
    });
}

#[test]
fn events_without_a_usable_date_stand_last_and_newest_first() {
    let entry = |id: &str, due: &str| {
        format!("### [{id}] 2026-04-10 · 约定\n**类型**：约定\n**内容**：甲\n**状态**：待跟进\n**到期日**：{due}\n")
    };
    let events = [entry("E001", "未定"), entry("E002", "下周五"), entry("E003", "未定")].join("\n");
    let workspace = with_events(&events);
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "乙", "due_date": "2031-01-01"}));
    let index = workspace.index();
    let ids: Vec<_> = index.lines().filter_map(|l| l.strip_prefix("- [")).map(|l| &l[..4]).collect();
    assert_eq!(ids, ["E004", "E003", "E002"]);
}

#[test]
fn a_closed_last_event_leaves_the_placeholder() {
    let workspace = workspace();
    workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
    assert_eq!(workspace.index(), index_with("- [E001] 用户Todo · 买伞"));
    workspace.ok("update_event", json!({"id": "E001", "status": "已关闭"}));
    assert_eq!(workspace.index(), index_with("（暂无）"));
}

#[test]
fn refreshing_the_block_twice_changes_nothing() {
    let workspace = workspace();
    for content in ["一", "二", "三", "四"] {
        workspace.ok("append_event", json!({"type": "用户Todo", "content": content}));
    }
    let index = workspace.index();
    // These two change events.md, but not the top three.
    workspace.ok("append_event", json!({"type": "重要事件", "content": "搬家", "status": "已关闭"}));
    workspace.ok("update_event", json!({"id": "E001", "user_state": "忙"}));
    assert_eq!(workspace.index(), index);
}

#[test]
fn a_long_content_is_cut_at_forty_graphemes() {
    // A family is one user-perceived character of seven code points.
    let forty = "看".repeat(39) + "👨‍👩‍👧‍👦";
    let workspace = workspace();
    workspace.ok("append_event", json!({"type": "用户Todo", "content": forty}));
    assert_eq!(workspace.index(), index_with(&format!("- [E001] 用户Todo · {forty}")));

    workspace.ok("update_event", json!({"id": "E001", "content": format!("{forty}多")}));
    let item = workspace.index().lines().find(|l| l.starts_with("- [E001]")).unwrap().to_owned();
    let shown = item.strip_prefix("- [E001] 用户Todo · ").unwrap();
    // Forty and the mark, or forty with the mark.
    assert!([format!("{forty}…"), "看".repeat(39) + "…"].contains(&shown.to_owned()), "{shown}");
}

#[test]
fn the_block_is_found_under_each_form_of_its_heading() {
    for heading in ["## 最近未解决事项（Top 3）", "## 最近未解决事项", "### 【最近未解决事项】", "【最近未解决事项】"]
    {
        let index = index_with("（暂无）").replace("## 最近未解决事项（Top 3）", heading);
        let workspace = Workspace::new().file("memory/MEMORY.md", &index).file("memory/events.md", "# 事件记录\n");
        let result = workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
        assert_eq!(result, json!({"id": "E001"}), "{heading}");
        assert_eq!(workspace.index(), index.replace("（暂无）", "- [E001] 用户Todo · 买伞"), "{heading}");
    }
}

#[test]
fn the_block_ends_at_the_next_heading_too() {
    let index = "# 索引\n\n## 最近未解决事项（Top 3）\n\n> 一\n> 二\n\n- [E001] 用户Todo · 旧\n\n## 常用\n\n- [E001] 是手写的\n";
    let events = "### [E001] 2026-04-10 · 用户Todo\n**类型**：用户Todo\n**内容**：旧\n**状态**：待跟进\n";
    let workspace = Workspace::new().file("memory/MEMORY.md", index).file("memory/events.md", events);
    workspace.ok("update_event", json!({"id": "E001", "content": "新"}));
    assert_eq!(workspace.index(), index.replace("· 旧", "· 新"));
}

#[test]
fn a_missing_block_is_added_at_the_end_with_a_warning() {
    let old = "# 记忆索引\n\ninitialization_status: done\n";
    let workspace = Workspace::new().file("memory/MEMORY.md", old);
    let result = workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
    assert!(mentions(&result, "最近未解决事项"), "{result}");
    let index = workspace.index();
    let added = index.strip_prefix(old).unwrap();
    assert_eq!(added.lines().filter(|l| l.starts_with('#') && l.contains("最近未解决事项")).count(), 1, "{added}");
    assert_eq!(added.lines().filter(|l| l.starts_with("- ")).collect::<Vec<_>>(), ["- [E001] 用户Todo · 买伞"]);

    let result = workspace.ok("append_event", json!({"type": "用户Todo", "content": "还书"}));
    assert!(result.get("warnings").is_none(), "{result}");
    assert_eq!(
        workspace.index(),
        index.replace("- [E001] 用户Todo · 买伞", "- [E002] 用户Todo · 还书\n- [E001] 用户Todo · 买伞")
    );
}

#[test]
fn a_missing_index_is_made() {
    let workspace = Workspace::new().file("memory/events.md", "# 事件记录\n");
    let result = workspace.ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
    assert_eq!(result, json!({"id": "E001"}), "a new file is nothing to warn of");
    let index = workspace.index();
    assert_eq!(index.lines().filter(|l| l.contains("最近未解决事项")).count(), 1, "{index}");
    assert_eq!(index.lines().filter(|l| l.starts_with("- ")).collect::<Vec<_>>(), ["- [E001] 用户Todo · 买伞"]);
}

#[test]
fn of_two_that_are_equally_near_the_earlier_comes_first_whatever_their_numbers() {
    clock::within_one_day(|| {
        let workspace = workspace();
        let todo =
            |content: &str, due: i32| json!({"type": "用户Todo", "content": content, "due_date": clock::day(due)});
        workspace.ok("append_event", todo("昨天", -1));
        workspace.ok("append_event", todo("明天", 1));
        let item = |id: &str, due: i32, content: &str| format!("- [{id}] {} · 用户Todo · {content}", clock::day(due));
        let expected = [item("E001", -1, "昨天"), item("E002", 1, "明天")];
        (workspace.index(), index_with(&expected.join("\n")))
    });
}

#[test]
fn the_block_ends_at_a_rule_and_its_items_go_in_every_form() {
    let index = "# 索引\n\n## 最近未解决事项\n\n1. [E001] 旧的写法\n- [E001] 用户Todo · 旧\n  第二行\n\n---\n\n- [E001] 是手写的\n";
    let events = "### [E001] 2026-04-10 · 用户Todo\n**类型**：用户Todo\n**内容**：旧\n**状态**：待跟进\n";
    let workspace = Workspace::new().file("memory/MEMORY.md", index).file("memory/events.md", events);
    workspace.ok("update_event", json!({"id": "E001", "content": "新"}));
    assert_eq!(
        workspace.index(),
        "# 索引\n\n## 最近未解决事项\n\n- [E001] 用户Todo · 新\n\n---\n\n- [E001] 是手写的\n"
    );
}

#[test]
fn a_due_date_that_is_open_with_a_word_behind_it_is_nothing_to_warn_of() {
    let events =
        "### [E001] 2026-04-10 · 约定\n**类型**：约定\n**内容**：甲\n**状态**：待跟进\n**到期日**：未定，等她消息\n";
    let result = with_events(events).ok("append_event", json!({"type": "用户Todo", "content": "买伞"}));
    assert!(result.get("warnings").is_none(), "{result}");
}

#[test]
fn behind_the_largest_number_there_is_none() {
    let events = "### [E999999999999] 2026-04-10 · 用户Todo\n**类型**：用户Todo\n**内容**：甲\n**状态**：已关闭\n";
    let refusal = with_events(events).refused("append_event", json!({"type": "用户Todo", "content": "买伞"}));
    assert_eq!(refusal.code, "unreadable", "{refusal:?}");
    assert!(refusal.message.contains("E999999999999"), "{refusal:?}");
}

#[test]
fn a_sentinel_is_no_event_that_could_be_changed_or_listed_from() {
    let workspace = with_events("### [E000] 2026-04-13T21:05 · last_active\n");
    let refusal = workspace.refused("update_event", json!({"id": "E000", "status": "已关闭"}));
    assert_eq!(refusal.code, "invalid_argument", "{refusal:?}");
    assert_eq!(workspace.refused("list_events", json!({"before_id": "E000"})).code, "invalid_argument");
}

#[test]
fn a_day_is_taken_in_one_form_only() {
    for day in ["2026/4/17", "2026-04-17T20:00", "2026-04-17（周五）", "2026-4-17"] {
        let refusal = workspace()
            .refused("append_event", json!({"type": "约定", "content": "看展", "date": "2026-04-13", "due_date": day}));
        assert_eq!(refusal.code, "invalid_argument", "{day}: {refusal:?}");
        assert!(refusal.message.contains("due_date"), "{day}: {refusal:?}");
    }
}

#[test]
fn control_characters_are_dropped_also_those_above_the_ascii_ones() {
    let workspace = workspace();
    let content = "甲\u{7f}乙\u{80}\u{9f}丙\u{7}";
    workspace.ok("append_event", json!({"type": "用户Todo", "content": content, "date": "2026-04-13"}));
    assert!(workspace.events().contains("**内容**：甲乙丙\n"), "{}", workspace.events());
}

#[test]
fn a_number_is_taken_for_a_text() {
    let workspace = workspace();
    workspace.ok("append_event", json!({"type": "用户Todo", "content": 42, "date": "2026-04-13"}));
    assert!(workspace.events().contains("**内容**：42\n"), "{}", workspace.events());
}

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
fn a_comment_that_begins_below_an_item_of_the_block_stays_whole() {
    let comment = "  <!-- 注\n手写的示例\n-->\n";
    let index = format!("# 索引\n\n## 最近未解决事项\n\n- [E001] 用户Todo · 旧\n{comment}\n---\n");
    let events = "### [E001] 2026-04-10 · 用户Todo\n**类型**：用户Todo\n**内容**：旧\n**状态**：待跟进\n";
    let workspace = Workspace::new().file("memory/MEMORY.md", index).file("memory/events.md", events);
    workspace.ok("update_event", json!({"id": "E001", "content": "新"}));
    assert!(workspace.index().contains(comment), "{}", workspace.index());
}

#[test]
fn a_slip_in_the_index_blocks_no_event() {
    let workspace = workspace().file("memory/MEMORY.md", index_with("- [E999999999999] 约定 · 看展"));
    workspace.write("memory/events.md", "# 事件\n\n### [E004] 2026-04-13 · 用户Todo\n**内容**：买伞\n");
    assert_eq!(workspace.ok("append_event", json!({"type": "用户Todo", "content": "还书"}))["id"], "E005");
}

#[test]
fn events_that_are_a_byte_order_mark_alone_are_gone_for_everybody() {
    let workspace = workspace().file("memory/MEMORY.md", index_with("- [E001] 约定 · 看展"));
    workspace.write("memory/events.md", "\u{feff}");
    assert_eq!(workspace.refused("append_event", json!({"type": "用户Todo", "content": "还书"})).code, "damaged");
    assert_eq!(workspace.refused("list_events", json!({})).code, "damaged");
    assert_eq!(workspace.run(&["doctor"]).status, Some(4));
}

#[test]
fn an_event_of_another_day_is_told_by_its_own() {
    let workspace = with_events(THREE);
    let refusal = workspace.refused("update_event", json!({"id": "E001", "date": "2020-01-01", "status": "已关闭"}));
    assert_eq!(refusal.code, "not_found");
    let day = THREE.split_once("[E001] ").unwrap().1.split_once(' ').unwrap().0;
    assert!(refusal.message.ends_with(&format!("expected one of `{day}`")), "{refusal:?}");
}
