//! `.memory.lock`, held by somebody else.

use crate::support::{OutsideLock, Refusal, Server, Workspace, index_with, missing};
use serde_json::{Value, json};
use std::{
    fs,
    process::Command,
    time::{Duration, Instant},
};

/// Long enough for a server to have read a request and to wait for the lock; within it no answer may come.
const A_WHILE: Duration = Duration::from_millis(400);

fn workspace() -> Workspace {
    Workspace::new()
        .file("memory/events.md", "# 事件记录\n")
        .file("memory/MEMORY.md", index_with("（暂无）"))
        .file(".memory.lock", "")
}

fn todo(content: &str) -> Value {
    json!({"type": "用户Todo", "content": content})
}

fn contents(workspace: &Workspace) -> Vec<String> {
    workspace.events().lines().filter_map(|l| l.strip_prefix("**内容**：")).map(str::to_owned).collect()
}

#[test]
fn the_server_answers_lock_timeout_after_ten_seconds_and_everything_else_meanwhile() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let before = workspace.tree();
    let lock = OutsideLock::hold(&workspace);
    let start = Instant::now();
    let writes =
        [server.start_call("append_event", todo("买伞")), server.start_call("add_unresolved", json!({"text": "甲"}))];
    for (method, params) in [
        ("ping", json!({})),
        ("tools/list", json!({})),
        ("tools/call", json!({"name": "list_events", "arguments": {}})),
    ] {
        let id = server.request(method, params);
        let answer = server.answer_within(id, Duration::from_secs(5));
        assert!(answer.is_some(), "{method} waits behind a call that waits for the lock");
    }
    let refusal = server.finish_call(writes[0]).unwrap_err();
    let waited = start.elapsed();
    assert_eq!(refusal.code, "lock_timeout");
    assert!(waited >= Duration::from_secs(9), "gave up after {waited:?}");
    assert!(waited <= Duration::from_secs(12), "waited {waited:?}");
    assert_eq!(server.finish_call(writes[1]).unwrap_err().code, "lock_timeout");
    assert_eq!(workspace.tree(), before);
    drop(lock);
    assert_eq!(server.call("append_event", todo("还书")).unwrap()["id"], "E001");
    assert_eq!(contents(&workspace), ["还书"]);
}

#[test]
fn the_command_line_says_busy() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace();
    let before = workspace.tree();
    let _lock = OutsideLock::hold(&workspace);
    let outcome = workspace.call("append_event", todo("买伞"));
    assert_eq!(outcome.status, Some(3), "{outcome:?}");
    assert_eq!(outcome.answer().unwrap_err().code, "lock_timeout");
    assert_eq!(workspace.tree(), before);
    let listed = workspace.ok("list_events", json!({}));
    assert_eq!(listed, json!({"events": [], "has_more": false}));
}

#[test]
fn a_write_goes_on_as_soon_as_the_lock_is_free() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let lock = OutsideLock::hold(&workspace);
    let write = server.start_call("append_event", todo("买伞"));
    assert!(server.answer_within(write, A_WHILE).is_none(), "it wrote without the lock");
    assert_eq!(contents(&workspace), Vec::<String>::new());
    drop(lock);
    assert_eq!(server.finish_call(write).unwrap()["id"], "E001");
    assert_eq!(contents(&workspace), ["买伞"]);
}

#[test]
fn the_end_of_stdin_ends_a_server_that_waits() {
    ends_within_two_seconds(Server::close_stdin);
}

#[test]
fn sigterm_ends_a_server_that_waits() {
    ends_within_two_seconds(|server| server.signal("TERM"));
}

fn ends_within_two_seconds(end: impl Fn(&mut Server)) {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let before = workspace.tree();
    let lock = OutsideLock::hold(&workspace);
    let writes = [server.start_call("append_event", todo("买伞")), server.start_call("append_event", todo("还书"))];
    assert!(server.answer_within(writes[0], A_WHILE).is_none());
    end(&mut server);
    let status = server.exit_within(Duration::from_secs(2)).expect("the server still runs after two seconds");
    assert_eq!(status.code(), Some(0), "{status}");
    assert_eq!(workspace.tree(), before);
    drop(lock);
    assert_eq!(workspace.ok("append_event", todo("之后"))["id"], "E001");
    assert_eq!(contents(&workspace), ["之后"]);
}

#[test]
fn a_server_at_rest_ends_with_its_stdin_and_with_sigterm() {
    let ends: [fn(&mut Server); 2] = [Server::close_stdin, |server| server.signal("TERM")];
    for end in ends {
        let workspace = workspace();
        let mut server = Server::start(&workspace);
        server.call("append_event", todo("买伞")).unwrap();
        end(&mut server);
        let status = server.exit_within(Duration::from_secs(2)).expect("the server still runs after two seconds");
        assert_eq!(status.code(), Some(0), "{status}");
        assert_eq!(contents(&workspace), ["买伞"]);
    }
}

#[test]
fn a_replaced_lock_file_does_not_let_two_writers_in() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace().file("new.lock", "");
    let mut server = Server::start(&workspace);
    let old = OutsideLock::hold(&workspace);
    let write = server.start_call("append_event", todo("买伞"));
    assert!(server.answer_within(write, A_WHILE).is_none());
    // Somebody puts another file in its place and locks that one.
    let new = OutsideLock::hold_file(&workspace, &workspace.path("new.lock"));
    fs::rename(workspace.path("new.lock"), workspace.path(".memory.lock")).unwrap();
    drop(old);
    assert!(server.answer_within(write, A_WHILE).is_none(), "the dead file's lock was taken for the lock");
    assert_eq!(contents(&workspace), Vec::<String>::new());
    drop(new);
    assert_eq!(server.finish_call(write).unwrap()["id"], "E001");
    assert_eq!(contents(&workspace), ["买伞"]);
}

#[test]
fn a_deleted_lock_file_is_made_again() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let old = OutsideLock::hold(&workspace);
    let write = server.start_call("append_event", todo("买伞"));
    assert!(server.answer_within(write, A_WHILE).is_none());
    fs::remove_file(workspace.path(".memory.lock")).unwrap();
    drop(old);
    assert_eq!(server.finish_call(write).unwrap()["id"], "E001");
    assert!(workspace.path(".memory.lock").exists());
}

#[test]
fn a_cancelled_write_that_waits_is_not_done() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let lock = OutsideLock::hold(&workspace);
    let first = server.start_call("append_event", todo("取消一"));
    assert!(server.answer_within(first, A_WHILE).is_none());
    // One that waits for the lock, and one that waits behind it.
    let second = server.start_call("append_event", todo("取消二"));
    let third = server.start_call("append_event", todo("留下"));
    for id in [first, second] {
        server.notify("notifications/cancelled", json!({"requestId": id, "reason": "不用了"}));
    }
    // Answered in order, so the notifications have been read.
    server.ask("ping", json!({}));
    assert!(server.answer_within(third, A_WHILE).is_none());
    drop(lock);
    assert_eq!(server.finish_call(third).unwrap()["id"], "E001");
    assert_eq!(contents(&workspace), ["留下"]);
    for id in [first, second] {
        if let Some(answer) = server.answer_within(id, Duration::ZERO) {
            // No answer is best; one that claims success would be a lie.
            assert!(answer.get("error").is_some() || Refusal::or_result(&answer).is_err(), "{answer}");
        }
    }
}

#[test]
fn cancelling_ends_the_wait_at_once() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let _lock = OutsideLock::hold(&workspace);
    let start = Instant::now();
    let first = server.start_call("append_event", todo("取消"));
    assert!(server.answer_within(first, Duration::from_secs(4)).is_none());
    server.notify("notifications/cancelled", json!({"requestId": first}));
    // The write behind it begins its own ten seconds then, and does not inherit the rest of the other's.
    let second = server.start_call("append_event", todo("也等"));
    assert_eq!(server.finish_call(second).unwrap_err().code, "lock_timeout");
    let waited = start.elapsed();
    assert!(waited >= Duration::from_secs(13) && waited <= Duration::from_secs(17), "{waited:?}");
}

#[test]
fn the_lock_is_free_after_every_kind_of_answer() {
    if missing(&["flock"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let calls = [
        ("append_event", todo("买伞")),
        ("append_event", todo("  ")),
        ("update_event", json!({"id": "E099", "status": "已关闭"})),
        ("update_event", json!({"id": "E001", "status": "待跟进"})),
        ("list_events", json!({})),
        ("touch_last_active", json!({})),
        ("add_unresolved", json!({"text": "甲"})),
        ("add_unresolved", json!({"text": "甲"})),
        ("update_mood", json!({"note": "一轮"})),
        ("read_memory", json!({"file": "events"})),
    ];
    for (tool, arguments) in calls {
        let _ = server.call(tool, arguments);
        let taken = Command::new("flock").args(["-w", "5"]).arg(workspace.path(".memory.lock")).arg("true").status();
        assert!(taken.unwrap().success(), "{tool} keeps the lock");
    }
}

#[test]
fn of_several_writes_that_wait_when_the_server_ends_only_the_one_in_hand_is_answered() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let lock = OutsideLock::hold(&workspace);
    let calls: Vec<u64> = (0..3).map(|n| server.start_call("add_unresolved", json!({"text": n.to_string()}))).collect();
    // Answered while the lock is held, so the calls before it have been read.
    server.ask("ping", json!({}));
    server.signal("TERM");
    assert_eq!(server.exit_within(Duration::from_secs(3)).expect("the server ends").code(), Some(0));
    let answers = server.answers_until(Instant::now() + Duration::from_secs(3));
    assert!(answers.keys().all(|id| *id == calls[0]), "{answers:?}");
    drop(lock);
    assert_eq!(workspace.memory_names(), [""; 0]);
}
