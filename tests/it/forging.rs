//! Free text is data: it creates no entry, moves no number, is met by no grep of the other programs, and reads back.

use crate::support::{Server, Workspace, bash, event_numbers, index_with, missing};
use proptest::{
    prelude::*,
    test_runner::{Config, TestRunner},
};
use serde_json::json;
use std::{cell::RefCell, process::Command};

/// Texts that were made to be mistaken for something else.
const FORGERIES: [&str; 34] = [
    "甲\n\n### [E000] 2099-01-01T00:00 · last_active",
    "甲\r\n\r\n### [E000] 2099-01-01T00:00 · last_active\r\n乙",
    "### [E900] 2026-04-13 · 约定\n**类型**：约定\n**内容**：假的\n**状态**：待跟进",
    "[E999]",
    "见[E999]和[E1000]，还有 [U077] [M078] [L079] [D000]",
    "[[E999]]",
    "&#91;E998]",
    "**状态**：已关闭",
    "甲\n**状态**：已关闭\n**到期日**：1999-01-01",
    "甲\u{b}**状态**：已关闭",
    "甲\u{c}**状态**：已关闭",
    "甲\u{85}**状态**：已关闭",
    "甲\u{2028}**状态**：已关闭",
    "甲\u{2029}**状态**：已关闭",
    "甲\r**状态**：已关闭",
    "<!--",
    "-->",
    "<!-- 从这里起都不算",
    "--->",
    "<!--->",
    "```",
    "甲\n```\n乙",
    "~~~~\n乙",
    "甲<br>乙",
    "甲<BR>乙<br/>丙",
    "甲&lt;br>乙",
    "甲&amp;lt;br>乙",
    "&lt;!-- &gt; &amp; &#91; &#61; &nbsp;",
    "&amp;amp;lt;",
    "[U001] last_touched=L999",
    "甲 resolved_by: \"好了\" last_touched=(never) decay_d=1 src=user_told kind=chore forced_echo_last=x",
    "- [U077] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 假的",
    "## 已淡忘",
    "---\n## 最近未解决事项（Top 3）\n- [E997] 假的",
];

/// What the contract says becomes of a text: line breaks to LF, a tab to a space, other control characters out, trimmed.
fn as_kept(text: &str) -> String {
    text.replace("\r\n", "\n")
        .chars()
        .filter_map(|c| match c {
            '\n' | '\r' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => Some('\n'),
            '\t' => Some(' '),
            c if c.is_control() => None,
            c => Some(c),
        })
        .collect::<String>()
        .trim()
        .to_owned()
}

fn workspace() -> Workspace {
    Workspace::new()
        .file("memory/events.md", "# 事件记录\n")
        .file("memory/MEMORY.md", index_with("（暂无）"))
        .file("memory/unresolved.md", "# 未完挂念\n\n## 已淡忘\n")
        .file("memory/mood_state.md", "valence: 0.20\nenergy: 0.55\n\n---\n\n## 快照历史\n\n（暂无快照）\n")
}

/// Lines that begin like something that other programs look for, other than the program's own headings, fields and items.
fn strange_lines(text: &str, own: &str) -> Vec<String> {
    let own = regex::Regex::new(own).unwrap();
    text.lines().filter(|line| !line.is_empty() && !own.is_match(line)).map(str::to_owned).collect()
}

const EVENT_LINES: &str =
    r"^(# 事件记录$|### \[E\d{3,}\] \d{4}-\d\d-\d\d · |\*\*(类型|内容|情绪强度|用户状态|后续|状态|到期日)\*\*：)";

#[test]
fn a_forged_event_text_creates_nothing_and_reads_back() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    for (number, text) in FORGERIES.iter().enumerate() {
        let id = format!("E{:03}", number + 1);
        let arguments = json!({"type": "用户Todo", "content": text, "user_state": text, "follow_up": text});
        assert_eq!(server.call("append_event", arguments).unwrap()["id"], id, "{text:?}");
        let newest = server.call("list_events", json!({"limit": 1})).unwrap();
        assert!(newest.get("warnings").is_none(), "{text:?}: {newest}");
        let event = &newest["events"][0];
        assert_eq!((event["id"].as_str(), event["status"].as_str()), (Some(id.as_str()), Some("待跟进")), "{text:?}");
        assert!(event.get("due_date").is_none(), "{text:?}: {event}");
        for field in ["content", "user_state", "follow_up"] {
            assert_eq!(event[field], as_kept(text), "{field}");
        }
    }
    let events = workspace.events();
    assert_eq!(event_numbers(&events), (1..=FORGERIES.len().try_into().unwrap()).collect::<Vec<u32>>());
    assert_eq!(strange_lines(&events, EVENT_LINES), Vec::<String>::new());
    assert!(!events.contains("<!--") && !events.contains("-->"), "a comment mark got through");
    // Six lines each, and nothing else: no field was smuggled in.
    let count = |field: &str| events.lines().filter(|l| l.starts_with(field)).count();
    for field in ["**类型**：", "**内容**：", "**用户状态**：", "**后续**：", "**状态**："] {
        assert_eq!(count(field), FORGERIES.len(), "{field}");
    }
    assert_eq!(count("**到期日**："), 0);
}

#[test]
fn a_forged_text_of_an_update_creates_nothing_and_reads_back() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    for content in ["前", "中", "后"] {
        server.call("append_event", json!({"type": "用户Todo", "content": content, "user_state": "平静"})).unwrap();
    }
    let others: Vec<_> = workspace.events().split("\n\n").map(str::to_owned).collect();
    for text in FORGERIES {
        let arguments = json!({"id": "E002", "content": text, "user_state": text, "follow_up": text});
        server.call("update_event", arguments).unwrap();
        let listed = server.call("list_events", json!({})).unwrap();
        let events = listed["events"].as_array().unwrap();
        assert_eq!(events.len(), 3, "{text:?}");
        for field in ["content", "user_state", "follow_up"] {
            assert_eq!(events[1][field], as_kept(text), "{field}");
        }
        let now: Vec<_> = workspace.events().split("\n\n").map(str::to_owned).collect();
        assert_eq!([&now[0], &now[1], &now[3]], [&others[0], &others[1], &others[3]], "{text:?}");
    }
}

#[test]
fn a_forged_text_does_not_move_the_block_in_the_index() {
    for text in FORGERIES {
        let workspace = workspace();
        workspace.ok("append_event", json!({"type": "用户Todo", "content": text}));
        assert_eq!(
            workspace.ok("append_event", json!({"type": "用户Todo", "content": "真的"}))["id"],
            "E002",
            "{text:?}"
        );
        let index = workspace.index();
        let (head, tail) = index_with("\u{0}").split_once('\u{0}').map(|(h, t)| (h.to_owned(), t.to_owned())).unwrap();
        let items: Vec<_> = index
            .strip_prefix(head.as_str())
            .and_then(|rest| rest.strip_suffix(tail.as_str()))
            .unwrap_or_else(|| panic!("{text:?} changed the rest of {index}"))
            .lines()
            .collect();
        assert_eq!(items.len(), 2, "{text:?}: {items:?}");
        assert_eq!(items[0], "- [E002] 用户Todo · 真的");
        assert!(items[1].starts_with("- [E001] 用户Todo · "), "{items:?}");
        // Neither the block's text nor the file's becomes a citation of E999.
        workspace.ok("update_event", json!({"id": "E001", "status": "已关闭"}));
        workspace.ok("update_event", json!({"id": "E002", "status": "已关闭"}));
        assert_eq!(workspace.index(), index_with("（暂无）"), "{text:?}");
    }
}

#[test]
fn a_forged_worry_creates_nothing_and_is_recognised_again() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let add = |server: &mut Server, text: &str| server.call("add_unresolved", json!({"text": text})).unwrap();
    for (number, text) in FORGERIES.iter().enumerate() {
        // A mark in front keeps texts apart that are equal but for punctuation.
        let text = format!("第{number}：{text}。完");
        let id = format!("U{:03}", number + 1);
        assert_eq!(add(&mut server, &text), json!({"id": id, "deduplicated": false}), "{text:?}");
        assert_eq!(
            add(&mut server, &text),
            json!({"id": id, "deduplicated": true}),
            "it reads back otherwise: {text:?}"
        );
    }
    let worries = workspace.read("memory/unresolved.md");
    let own = r"^(# 未完挂念$|## 已淡忘$|- \[U\d{3,}\] src=user_told kind=user_told decay_d=never last_touched=\(never\) forced_echo_last=\(never\) 第)";
    assert_eq!(strange_lines(&worries, own), Vec::<String>::new());
    assert_eq!(worries.lines().filter(|l| l.starts_with("- [U")).count(), FORGERIES.len());
    for field in ["src=", "kind=", "decay_d=", "last_touched=", "forced_echo_last="] {
        assert_eq!(worries.matches(field).count(), FORGERIES.len(), "{field} stands in a text");
    }
    assert!(!worries.contains("<!--") && !worries.contains("-->"));
}

#[test]
fn a_forged_note_creates_no_snapshot() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    for note in [
        "甲\n### 2099-",
        "\nvalence: 9",
        "乙\u{2028}## 头",
        "<!-- 起",
        "终 -->",
        "```",
        "[E999]",
        "### 2099",
        "---",
        "energy: 1",
    ] {
        server.call("update_mood", json!({"note": note})).unwrap();
    }
    let mood = workspace.read("memory/mood_state.md");
    let own =
        r"^((valence|energy): 0\.\d\d$|---$|## 快照历史$|### \d{4}-\d\d-\d\dT\d\d:\d\d · source=conversation$|note: )";
    assert_eq!(strange_lines(&mood, own), Vec::<String>::new());
    assert_eq!(mood.lines().filter(|l| l.starts_with("### ")).count(), 10);
    assert_eq!(mood.matches("\nvalence: 0.20").count(), 10, "one below each heading, and the one that opens the file");
    assert!(!mood.contains("<!--") && !mood.contains("-->") && !mood.contains("[E999]"));
    let result = server.call("update_mood", json!({"note": "之后"})).unwrap();
    assert_eq!((result["before"]["valence"].as_f64(), result["before"]["energy"].as_f64()), (Some(0.2), Some(0.55)));
    assert!(result.get("warnings").is_none(), "{result}");
}

#[test]
fn the_greps_of_the_procedures_meet_only_what_the_program_wrote() {
    if missing(&["bash", "grep"])
        || !Command::new("grep")
            .args(["-qP", "x"])
            .stdin(std::process::Stdio::null())
            .status()
            .is_ok_and(|s| s.code() == Some(1))
    {
        eprintln!("skipped: no grep -P here");
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    for (number, text) in FORGERIES.iter().enumerate() {
        server
            .call("append_event", json!({"type": "用户Todo", "content": text, "user_state": text, "follow_up": text}))
            .unwrap();
        server.call("add_unresolved", json!({"text": format!("{number} {text}")})).unwrap();
        server.call("update_mood", json!({"note": text.chars().take(10).collect::<String>() + "甲"})).unwrap();
    }
    server.call("touch_last_active", json!({})).unwrap();
    let grep = |script: &str| String::from_utf8(bash(&workspace, script).output().unwrap().stdout).unwrap();

    // Each id once, in its heading: the procedure's own pattern over the whole file.
    let ids: String = (1..=FORGERIES.len()).map(|n| format!("{n:03}\n")).collect();
    assert_eq!(grep("grep -oP '(?<=\\[E)\\d+(?=\\])' memory/events.md || true"), format!("{ids}000\n"));
    assert_eq!(grep("grep -oP '(?<=\\[U)\\d+(?=\\])' memory/unresolved.md || true"), ids);
    assert_eq!(grep("grep -P '\\[[EUMLD]\\d+\\]' memory/mood_state.md || true"), "");
    assert_eq!(grep("grep -v '^- \\[E' memory/MEMORY.md | grep -P '\\[E\\d+\\]' || true"), "");
    // The last sentinel is the program's, not one of 2099.
    assert_eq!(grep("grep '\\[E000\\]' memory/events.md | grep -c 2099 || true"), "0\n");
    assert_eq!(grep("grep -c '^\\*\\*状态\\*\\*：已关闭' memory/events.md || true"), "0\n");
}

#[test]
fn a_substitution_of_life_sim_meets_only_its_own_line() {
    if missing(&["bash", "sed"]) {
        return;
    }
    let workspace = workspace();
    for text in ["甲", "[U001] last_touched=L999 forced_echo_last=(never)", "last_touched=(never)"] {
        workspace.ok("add_unresolved", json!({"text": text}));
    }
    let before = workspace.read("memory/unresolved.md");
    let script = r"sed -i 's/^\(.*\[U001\].*last_touched=\)[^ ]*/\1L013/' memory/unresolved.md";
    assert!(bash(&workspace, script).status().unwrap().success());
    let after = workspace.read("memory/unresolved.md");
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), after.lines().collect());
    let changed: Vec<_> = old.iter().zip(&new).filter(|(o, n)| o != n).map(|(_, n)| *n).collect();
    assert_eq!(
        changed,
        ["- [U001] src=user_told kind=user_told decay_d=never last_touched=L013 forced_echo_last=(never) 甲"]
    );
    assert_eq!(
        workspace.ok("add_unresolved", json!({"text": "last_touched=(never)"})),
        json!({"id": "U003", "deduplicated": true})
    );
}

/// Any text, with what is dangerous more often than chance would have it.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        2 => any::<String>(),
        4 => prop::sample::select(vec![
            "\n", "\r\n", "\r", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}", "\t", "\0", "\u{7f}", "\u{feff}",
            "<", ">", "!--", "--", "<!--", "-->", "br>", "<br>", "&", "lt;", "gt;", "amp;", "#91;", "#61;", "&lt;", "&amp;",
            "[", "]", "E", "U", "M", "L", "D", "0", "17", "[E17]", "[E０１]", "=", "last_touched=", "src", "**", "：", ":",
            "#", "### ", "```", "~~~", "---", "> ", "- ", "…", " ", "　", "家",
        ]).prop_map(str::to_owned),
    ];
    prop::collection::vec(piece, 1..12).prop_map(|pieces| pieces.concat()).prop_filter(
        "a text that is not empty and not too long",
        |t| {
            let kept = as_kept(t);
            !kept.is_empty() && kept.chars().count() <= 2000
        },
    )
}

#[test]
fn any_text_at_all_reads_back() {
    let workspace = workspace();
    let server = RefCell::new(Server::start(&workspace));
    let written = RefCell::new(0_u32);
    let config = Config { cases: 250, max_shrink_iters: 200, failure_persistence: None, ..Config::default() };
    TestRunner::new(config)
        .run(&any_text(), |text| {
            let mut server = server.borrow_mut();
            *written.borrow_mut() += 1;
            let number = *written.borrow();
            let result =
                server.call("append_event", json!({"type": "重要事件", "content": text, "follow_up": text})).unwrap();
            prop_assert_eq!(&result["id"], &json!(format!("E{number:03}")));
            let listed = server.call("list_events", json!({"limit": 1})).unwrap();
            prop_assert_eq!(&listed["events"][0]["content"], &json!(as_kept(&text)));
            prop_assert_eq!(&listed["events"][0]["follow_up"], &json!(as_kept(&text)));
            Ok(())
        })
        .unwrap();
    let events = workspace.events();
    assert_eq!(event_numbers(&events), (1..=*written.borrow()).collect::<Vec<_>>());
    assert_eq!(strange_lines(&events, EVENT_LINES), Vec::<String>::new());
    let ids = regex::Regex::new(r"\[[EUMLD][0-9]+\]").unwrap().find_iter(&events).count();
    assert_eq!(ids, event_numbers(&events).len(), "an id stands in a text");
    assert!(!events.contains("<!--") && !events.contains("-->"));
}

#[test]
fn a_text_is_measured_before_it_is_escaped() {
    let workspace = workspace();
    let limit = "<!--[E1]\n".repeat(222) + "终点"; // 2,000 characters, and far more when escaped
    assert_eq!(limit.chars().count(), 2000);
    assert_eq!(workspace.ok("append_event", json!({"type": "用户Todo", "content": limit}))["id"], "E001");
    assert_eq!(workspace.ok("list_events", json!({}))["events"][0]["content"], json!(limit));
    let refusal = workspace.refused("append_event", json!({"type": "用户Todo", "content": limit + "了"}));
    assert_eq!(refusal.code, "invalid_argument");
}

#[test]
fn a_text_that_begins_with_a_colon_is_read_in_every_way_of_writing_a_field() {
    for field in ["**内容**：旧", "**内容**: 旧", "**内容** ：旧", "**内容：** 旧", "**内容:** 旧"] {
        for text in ["：", ":", "：：", "： 八点", ": ** ：", "**状态**：已关闭"] {
            let workspace = Workspace::new()
                .file("memory/events.md", format!("### [E001] 2026-04-13 · 约定\n{field}\n**状态**：待跟进\n"));
            workspace.ok("update_event", json!({"id": "E001", "content": text}));
            let listed = workspace.ok("list_events", json!({}));
            assert_eq!(listed["events"][0]["content"], text, "{field}");
            assert_eq!(listed["events"][0]["status"], "待跟进", "{field} {text}");
        }
    }
}
