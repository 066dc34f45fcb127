//! `companion-memory pending`: whether there is something to distill, told without a trace.

use crate::support::{
    OutsideLock, Server, Workspace,
    chat::{CHANNEL, Chat, STATE, ago, begin, d000, distill, distillable, session_context, stored, written},
    index_with, missing,
};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

/// Everything below a folder: kind, content, number, mode, owner and time of change.
fn snapshot(folder: &Path) -> BTreeMap<PathBuf, (Vec<u8>, u64, u32, u32, SystemTime)> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let metadata = fs::symlink_metadata(&path).unwrap();
            let content = if metadata.is_dir() { Vec::new() } else { fs::read(&path).unwrap() };
            let times = metadata.modified().unwrap();
            found.insert(path.clone(), (content, metadata.ino(), metadata.mode(), metadata.uid(), times));
            if metadata.is_dir() {
                folders.push(path);
            }
        }
        let metadata = fs::metadata(&folder).unwrap();
        let times = metadata.modified().unwrap();
        found.insert(folder, (Vec::new(), metadata.ino(), metadata.mode(), metadata.uid(), times));
    }
    found
}

/// Asks, checks that nothing was touched, and returns the exit code and the one line.
fn pending(workspace: &Workspace) -> (i32, String) {
    let before = snapshot(workspace.root());
    let outcome = workspace.run(&["pending"]);
    let after = snapshot(workspace.root());
    let names = |snapshot: &BTreeMap<PathBuf, _>| snapshot.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(&after), names(&before), "`pending` made or removed a file");
    assert_eq!(after, before, "`pending` wrote");
    let line = outcome.stdout.strip_suffix('\n').unwrap_or_else(|| panic!("no line: {outcome:?}"));
    assert!(!line.is_empty() && !line.contains('\n'), "one line: {outcome:?}");
    (outcome.status.unwrap(), line.to_owned())
}

fn assert_nothing(workspace: &Workspace, reason: &str) {
    let (status, line) = pending(workspace);
    assert_eq!(status, 10, "{line}");
    assert!(line.contains(reason), "{line} does not give {reason}");
}

fn assert_something(workspace: &Workspace) {
    let (status, line) = pending(workspace);
    assert_eq!(status, 0, "{line}");
}

#[test]
fn pending_knows_what_begin_would_hand_out() {
    let workspace = distillable();
    assert_nothing(&workspace, "no_session_context");
    let chat = Chat::of(&workspace);
    assert_nothing(&workspace, "no_new_messages");
    chat.say("古", stored(&ago(90_000.0)));
    assert_nothing(&workspace, "no_new_messages");
    chat.say("一", stored(&ago(60.0)));
    assert_something(&workspace);
    assert_eq!(distill(&workspace), ["一"]);
    assert_nothing(&workspace, "no_new_messages");
    // Only the cursor finds this one.
    chat.say("迟", stored(&ago(600.0)));
    assert_something(&workspace);
    assert_eq!(distill(&workspace), ["迟"]);
    assert_nothing(&workspace, "no_new_messages");
    // And this one is of another channel, and this one has no readable time.
    chat.say_in("p2p:oc_demo:my-bot", "别", stored(&ago(1.0)));
    chat.say("坏", "昨天晚上");
    assert_nothing(&workspace, "no_new_messages");
    // The timestamp was moved.
    workspace.write(STATE, d000(&format!("timestamp: {}\n", written(&ago(300.0)))));
    assert_something(&workspace);
    workspace.write(STATE, d000(&format!("timestamp: {}\n", written(&ago(30.0)))));
    assert_nothing(&workspace, "no_new_messages");
}

#[test]
fn pending_gives_the_reason() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("一", stored(&ago(60.0)));
    assert_something(&workspace);
    let context = "sessions/2026/SESSION_CONTEXT.md";
    for (reason, path, content) in [
        ("not_initialized", "memory/MEMORY.md", index_with("（暂无）").replace("status: done", "status: pending")),
        ("no_session_context", context, session_context(None, "", &chat.path)),
        ("database_unavailable", context, session_context(None, CHANNEL, &workspace.path("bot/other.db"))),
        ("database_unavailable", context, session_context(None, CHANNEL, &workspace.path("memory/MEMORY.md"))),
    ] {
        let good = workspace.bytes(path);
        workspace.write(path, content);
        assert_nothing(&workspace, reason);
        workspace.write(path, good);
        assert_something(&workspace);
    }
}

#[test]
fn pending_takes_no_lock_and_writes_nothing_while_others_hold_both() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("一", stored(&ago(60.0)));
    let memory = OutsideLock::hold(&workspace);
    let distillation = OutsideLock::hold_file(&workspace, &workspace.path(".distill.lock"));
    let start = std::time::Instant::now();
    assert_something(&workspace);
    assert!(start.elapsed() < Duration::from_secs(4), "it waited");
    drop((memory, distillation));
    // A running distillation has not distilled it yet, and is not disturbed.
    let mut server = Server::start(&workspace);
    let begun = server.call("distill_begin", json!({})).unwrap();
    assert_something(&workspace);
    server.call("distill_commit", json!({"token": begun["token"]})).unwrap();
    // What follows an answer, the sync, is done when the server has ended.
    server.close_stdin();
    server.exit_within(Duration::from_secs(2)).expect("the server still runs after two seconds");
    assert_nothing(&workspace, "no_new_messages");
}

#[test]
fn pending_leaves_no_file_beside_a_database_with_a_write_ahead_log() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.db.execute_batch("PRAGMA journal_mode = WAL").unwrap();
    chat.say("一", stored(&ago(60.0)));
    // While the bot has it open, and after it has cleaned up.
    let status = |workspace: &Workspace| {
        let outcome = workspace.run(&["pending"]);
        (outcome.status, outcome.stdout.lines().count())
    };
    assert_eq!(status(&workspace), (Some(0), 1));
    drop(chat);
    assert_something(&workspace);
    assert_eq!(begin(&workspace)["status"], "begun");
    let names: Vec<_> = fs::read_dir(workspace.path("bot")).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["chat.db"], "nor does begin");
}

#[test]
fn pending_without_a_workspace_is_refused() {
    let workspace = Workspace::without_memory();
    let outcome = workspace.run(&["pending"]);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(4), ""), "{outcome:?}");
    assert!(outcome.stderr.starts_with("no_workspace: "), "{outcome:?}");
    assert_eq!(fs::read_dir(workspace.root()).unwrap().count(), 0);
}
