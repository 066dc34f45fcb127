//! `append_event`, `list_events`, `touch_last_active`: numbers, form, warnings, and what is listed.

use crate::support::{Server, Workspace, both_doors, clock, event_numbers, index_with};
use serde_json::{Value, json};

pub(crate) fn workspace() -> Workspace {
    Workspace::new().file("memory/events.md", "# 事件记录\n").file("memory/MEMORY.md", index_with("（暂无）"))
}

pub(crate) fn with_events(events: &str) -> Workspace {
    Workspace::new().file("memory/events.md", events).file("memory/MEMORY.md", index_with("（暂无）"))
}

pub(crate) fn mentions(result: &Value, word: &str) -> bool {
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

// Odd values

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
