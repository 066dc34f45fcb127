//! The block of open events that `memory/MEMORY.md` keeps.

use crate::events::{mentions, with_events, workspace};
use crate::support::{Server, Workspace, clock, index_with};
use serde_json::json;

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
fn a_comment_that_begins_below_an_item_of_the_block_stays_whole() {
    let comment = "  <!-- 注\n手写的示例\n-->\n";
    let index = format!("# 索引\n\n## 最近未解决事项\n\n- [E001] 用户Todo · 旧\n{comment}\n---\n");
    let events = "### [E001] 2026-04-10 · 用户Todo\n**类型**：用户Todo\n**内容**：旧\n**状态**：待跟进\n";
    let workspace = Workspace::new().file("memory/MEMORY.md", index).file("memory/events.md", events);
    workspace.ok("update_event", json!({"id": "E001", "content": "新"}));
    assert!(workspace.index().contains(comment), "{}", workspace.index());
}
