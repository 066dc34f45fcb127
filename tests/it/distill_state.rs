//! What stands in `[D000]`, and other hands on it: from when a distillation reads, and who is overtaken.

use crate::support::{
    Server, Workspace, bash,
    chat::{
        CHANNEL, Chat, STATE, ago, begin, begun, commit, cursor_lines, d000, distill, distillable, handed, skipped,
        stored, timestamp_line, warnings, written,
    },
    clock, missing,
};
use serde_json::json;
use std::fs;

// What stands in [D000]

/// Messages of 25 hours, 23 hours, 10 minutes and 1 second ago, and one whose clock is two minutes fast.
fn chat_of_two_days(workspace: &Workspace) -> Chat {
    let chat = Chat::of(workspace);
    for (id, seconds) in [("昨", 90_000.0), ("夜", 82_800.0), ("今", 600.0), ("刚", 1.0), ("快", -120.0)] {
        chat.say(id, stored(&ago(seconds)));
    }
    chat
}

#[test]
fn what_stands_in_d000_decides_from_when_a_first_run_reads() {
    let minutes_ago = |minutes: f64| written(&ago(minutes * 60.0));
    let (five, fifteen) = (minutes_ago(5.0), minutes_ago(15.0));
    let day = &["夜", "今", "刚", "快"][..];
    let cases: Vec<(&str, Option<String>, &[&str], bool)> = vec![
        ("missing", None, day, false),
        ("an empty file", Some(String::new()), day, false),
        ("no [D000]", Some("# 提炼状态\n".to_owned()), day, false),
        ("no timestamp", Some(d000("last_decay_scan: 2026-04-10\n")), day, false),
        ("empty", Some(d000("timestamp:\n")), day, false),
        ("spaces", Some(d000("timestamp:   \n")), day, false),
        ("garbage", Some(d000("timestamp: 2026-13-45T99:00\n")), day, true),
        ("a word", Some(d000("timestamp: yesterday\n")), day, true),
        ("six minutes in the future", Some(d000(&format!("timestamp: {}\n", minutes_ago(-6.0)))), day, true),
        ("one minute in the future", Some(d000(&format!("timestamp: {}\n", minutes_ago(-1.0)))), &["快"], false),
        ("five minutes ago", Some(d000(&format!("timestamp: {five}\n"))), &["刚", "快"], false),
        ("full-width colon", Some(d000(&format!("timestamp：{five}\n"))), &["刚", "快"], false),
        ("CRLF", Some(d000(&format!("timestamp: {five}\n")).replace('\n', "\r\n")), &["刚", "快"], false),
        ("long ago", Some(d000("timestamp: 2020-01-01T00:00:00Z\n")), &["昨", "夜", "今", "刚", "快"], false),
        (
            "twice, the later is usable",
            Some(d000(&format!("timestamp: {fifteen}\n\n")) + &d000(&format!("timestamp: {five}\n"))),
            &["刚", "快"],
            true,
        ),
        (
            "twice, the later is garbage",
            Some(d000(&format!("timestamp: {fifteen}\n\n")) + &d000("timestamp: 坏了\n")),
            &["今", "刚", "快"],
            true,
        ),
        (
            "a sample in a comment",
            Some(format!("<!--\n{}-->\n\n{}", d000("timestamp: 2020-01-01T00:00:00Z\n"), d000("timestamp:\n"))),
            day,
            false,
        ),
    ];
    for (name, state, expected, warned) in cases {
        let workspace = distillable();
        let _chat = chat_of_two_days(&workspace);
        if let Some(state) = &state {
            workspace.write(STATE, state);
        }
        let result = begun(&workspace);
        assert_eq!(handed(&result), expected, "{name}: {result}");
        assert_eq!(!warnings(&result).is_empty(), warned, "{name}: {:?}", warnings(&result));
        commit(&workspace, &result);
        assert_eq!(begin(&workspace)["reason"], "no_new_messages", "{name}: {}", workspace.read(STATE));
    }
}

#[test]
fn a_placeholder_sentence_in_d000_means_the_last_day() {
    for placeholder in ["（首次运行前为空）", "尚未运行", "<首次运行时填写>", "never"] {
        let workspace = distillable().file(STATE, d000(&format!("timestamp: {placeholder}\n")));
        let chat = chat_of_two_days(&workspace);
        assert_eq!(distill(&workspace), ["夜", "今", "刚", "快"], "{placeholder}");
        chat.say("后", stored(&ago(0.0)));
        assert_eq!(distill(&workspace), ["后"], "{placeholder}");
    }
}

#[test]
fn only_the_lines_of_d000_change() {
    let at = ago(60.0);
    let today = clock::today();
    for end in ["\n", "\r\n"] {
        let file = |timestamp: &str, tail: &str| {
            format!(
                "\u{feff}# 提炼状态\n\n手写的说明。\n\n### [D000] · last_distillation\ntimestamp:{timestamp}\n\
                 last_decay_scan: {today}\nnote: 手写\n{tail}\n## 其他\n\n- [D001] 不是它\n尾"
            )
            .replace('\n', end)
        };
        let workspace = distillable().file(STATE, file("  2026-04-12T21:10:00+08:00", ""));
        let chat = Chat::of(&workspace);
        chat.say("m 1/甲", stored(&at));
        assert_eq!(distill(&workspace), ["m 1/甲"]);
        let found = workspace.read(STATE);
        let cursor = format!("cursor: {CHANNEL} m%201%2F%E7%94%B2 1 {}\n", written(&at));
        let expected = file(&format!(" {}", written(&at)), &cursor);
        // Which characters besides these stay as they are is no matter, as long as it is read back.
        assert_eq!(found.replace("m%201/", "m%201%2F"), expected);
        assert_eq!(begin(&workspace), skipped("no_new_messages"));
    }
}

#[test]
fn the_timestamp_stands_directly_below_the_heading() {
    let at = ago(60.0);
    let today = clock::today();
    let cursor = format!("cursor: {CHANNEL} m 1 {}\n", written(&at));
    let line = format!("timestamp: {}\n", written(&at));
    let scan = format!("last_decay_scan: {today}\n");
    for (state, expected) in [
        (None, d000(&format!("{line}{scan}{cursor}"))),
        (Some(d000("")), d000(&format!("{line}{scan}{cursor}"))),
        (Some(d000(&scan)), d000(&format!("{line}{scan}{cursor}"))),
        (Some(format!("# 状态\n\n{}", d000(&scan))), format!("# 状态\n\n{}", d000(&format!("{line}{scan}{cursor}")))),
        (Some("# 状态".to_owned()), format!("# 状态\n\n{}", d000(&format!("{line}{scan}{cursor}")))),
    ] {
        let workspace = distillable();
        if let Some(state) = &state {
            workspace.write(STATE, state);
        }
        Chat::of(&workspace).say("m", stored(&at));
        assert_eq!(distill(&workspace), ["m"]);
        assert_eq!(workspace.read(STATE), expected, "{state:?}");
    }
}

// Other hands on [D000]

/// The last step of the bash procedure, word for word; `NOW` is given.
const PROCEDURE: &str = r#"
python3 - "$WORKSPACE_DIR/memory/distill_state.md" <<'PY'
import os, re, sys
path, NOW = sys.argv[1], os.environ["NOW"]
content = open(path, encoding="utf-8").read()
content = re.sub(
r'(### \[D000\] · last_distillation\ntimestamp:).*',
r'\1 ' + NOW,
content
)
open(path, "w", encoding="utf-8").write(content)
PY
"#;

fn run_procedure(workspace: &Workspace, now: &str) {
    let before = workspace.read(STATE);
    assert!(bash(workspace, PROCEDURE).env("NOW", now).status().unwrap().success());
    assert_ne!(workspace.read(STATE), before, "the procedure's pattern does not find our line");
}

#[test]
fn after_the_bash_procedure_the_timestamp_counts() {
    if missing(&["bash", "python3"]) {
        return;
    }
    // As `date -Iseconds`, as `date` of the procedure's other parts, in another zone.
    for form in ["%Y-%m-%dT%H:%M:%S%:z", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%S"] {
        let workspace = distillable();
        let chat = Chat::of(&workspace);
        chat.say("一", stored(&ago(4000.0)));
        assert_eq!(distill(&workspace), ["一"]);
        // The procedure saw these, and moved the timestamp.
        chat.say("二", stored(&ago(3000.0)));
        run_procedure(&workspace, &ago(2000.0).strftime(form).to_string());
        chat.say("三", stored(&ago(1000.0)));
        // Committed late, and older than what the procedure claims: the timestamp is all there is.
        chat.say("四", stored(&ago(2500.0)));
        assert_eq!(distill(&workspace), ["三"], "{form}");
        chat.say("五", stored(&ago(2600.0)));
        assert_eq!(distill(&workspace), ["五"], "{form}: the cursor counts again");
        assert_eq!(cursor_lines(&workspace).len(), 1, "{form}");
    }
}

#[test]
fn a_person_can_move_the_timestamp_back() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    for (id, seconds) in [("一", 4000.0), ("二", 3000.0), ("三", 2000.0)] {
        chat.say(id, stored(&ago(seconds)));
    }
    assert_eq!(distill(&workspace), ["一", "二", "三"]);
    let moved = workspace.read(STATE).replacen(&timestamp_line(&workspace), &written(&ago(3500.0)), 1);
    workspace.write(STATE, moved);
    assert_eq!(distill(&workspace), ["二", "三"]);
    assert_eq!(distill(&workspace), Vec::<String>::new());
}

#[test]
fn another_hand_between_begin_and_commit_invalidates_the_token_and_loses_nothing() {
    let hands: [fn(&Workspace, &str); 4] = [
        |workspace, _| {
            let moved = workspace.read(STATE).replacen(&timestamp_line(workspace), &written(&ago(3500.0)), 1);
            workspace.write(STATE, moved);
        },
        // The same instant, but not the same bytes.
        |workspace, _| workspace.write(STATE, workspace.read(STATE).replacen("timestamp: ", "timestamp:  ", 1)),
        |workspace, cursor| workspace.write(STATE, workspace.read(STATE).replace(&format!("cursor: {cursor}\n"), "")),
        |workspace, _| fs::remove_file(workspace.path(STATE)).unwrap(),
    ];
    for (number, hand) in hands.into_iter().enumerate() {
        let workspace = distillable();
        let chat = Chat::of(&workspace);
        chat.say("一", stored(&ago(4000.0)));
        distill(&workspace);
        let cursor = cursor_lines(&workspace).pop().unwrap();
        chat.say("二", stored(&ago(3000.0)));
        let mut server = Server::start(&workspace);
        let first = server.call("distill_begin", json!({})).unwrap();
        assert_eq!(handed(&first), ["二"]);
        hand(&workspace, &cursor);
        let before = workspace.tree();
        let event = json!({"type": "用户Todo", "content": "买伞"});
        let refusal = server.call("distill_commit", json!({"token": first["token"], "events": [event]})).unwrap_err();
        assert_eq!(refusal.code, "token_invalid", "hand {number}");
        assert_eq!(workspace.tree(), before, "hand {number}");
        let again = server.call("distill_begin", json!({})).unwrap();
        let ids = handed(&again);
        assert!(ids.contains(&"二".to_owned()), "hand {number}: {ids:?}");
        server.call("distill_commit", json!({"token": again["token"]})).unwrap();
        assert_eq!(begin(&workspace), skipped("no_new_messages"), "hand {number}");
    }
}

#[test]
fn the_bash_procedure_between_begin_and_commit_invalidates_the_token() {
    if missing(&["bash", "python3"]) {
        return;
    }
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("一", stored(&ago(4000.0)));
    distill(&workspace);
    chat.say("二", stored(&ago(3000.0)));
    let result = begun(&workspace);
    run_procedure(&workspace, &written(&ago(3600.0)));
    let refusal = workspace.refused("distill_commit", json!({"token": result["token"]}));
    assert_eq!(refusal.code, "token_invalid");
    assert_eq!(distill(&workspace), ["二"]);
}

#[test]
fn other_lines_of_d000_may_change_between_begin_and_commit() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("一", stored(&ago(4000.0)));
    distill(&workspace);
    chat.say("二", stored(&ago(3000.0)));
    let result = begun(&workspace);
    let today = clock::today();
    workspace.write(
        STATE,
        workspace
            .read(STATE)
            .replace(&format!("last_decay_scan: {today}\n"), "last_decay_scan: 2099-01-01\nnote: 手写\n"),
    );
    commit(&workspace, &result);
    assert!(workspace.read(STATE).contains("last_decay_scan: 2099-01-01\nnote: 手写\n"));
    assert_eq!(distill(&workspace), Vec::<String>::new());
}
