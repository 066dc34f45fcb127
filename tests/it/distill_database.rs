//! Which chat a distillation reads, and in what state its database may be.

use crate::support::{
    Outcome, Server, Workspace,
    chat::{
        CHANNEL, Chat, STATE, ago, begin, begun, commit, cursor_lines, distill, distillable, handed, is_free,
        session_context, skipped, stored, timestamp_line, written,
    },
    missing,
};
use serde_json::json;
use std::{
    collections::BTreeSet,
    fs::{self, File},
    path::Path,
    process::Command,
    time::{Duration, Instant, SystemTime},
};

// Channels

#[test]
fn a_second_channel_in_the_same_workspace_disturbs_neither() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    let second = "群 聊%_1";
    let (old, first, other) = (ago(90_000.0), ago(3000.0), ago(7200.0));
    chat.say("甲一", stored(&first));
    chat.say_in(second, "乙〇", stored(&old));
    chat.say_in(second, "乙一", stored(&other));
    assert_eq!(distill(&workspace), ["甲一"]);
    let first_cursor = cursor_lines(&workspace).pop().unwrap();

    let switch = |channel: &str| chat.context(&workspace, "sessions/2026/SESSION_CONTEXT.md", channel);
    switch(second);
    assert_eq!(distill(&workspace), ["乙一"], "never seen while another has a cursor: the last day");
    assert_eq!(timestamp_line(&workspace), written(&first), "the watermark does not move back");
    let second_cursor = format!("%E7%BE%A4%20%E8%81%8A%25_1 %E4%B9%99%E4%B8%80 3 {}", written(&first));
    assert_eq!(cursor_lines(&workspace), [first_cursor.clone(), second_cursor.clone()]);

    // Late in both: only the cursors find them.
    chat.say_in(second, "乙二", stored(&ago(7300.0)));
    chat.say("甲二", stored(&ago(7300.0)));
    assert_eq!(distill(&workspace), ["乙二"]);
    switch(CHANNEL);
    assert_eq!(distill(&workspace), ["甲二"]);
    let newest = ago(10.0);
    chat.say("甲三", stored(&newest));
    assert_eq!(distill(&workspace), ["甲三"]);
    switch(second);
    chat.say_in(second, "乙三", stored(&ago(7300.0)));
    assert_eq!(distill(&workspace), ["乙三"], "the timestamp is the one written with the other's cursor");
    assert_eq!(timestamp_line(&workspace), written(&newest));
    assert_eq!(cursor_lines(&workspace).len(), 2);
}

#[test]
fn channel_keys_are_compared_exactly() {
    let others = [
        "p2p:oc_demo:my-bot",
        "p2p:ocXdemo:my_bot",
        "p2p:oc_demo:my_bot2",
        "xp2p:oc_demo:my_bot",
        "p2p:oc_demo:my_bot ",
        "P2P:oc_demo:my_bot",
        "p2p:oc_demo:My_Bot",
        "p2p:oc_demo:%",
        "%",
        "",
    ];
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    for (other, number) in others.iter().zip(0..) {
        chat.say_in(other, &format!("别{number}"), stored(&ago(60.0 + f64::from(number))));
    }
    assert_eq!(begin(&workspace), skipped("no_new_messages"));
    chat.say("我", stored(&ago(50.0)));
    // A second session of the same channel.
    chat.db.execute("INSERT INTO sessions VALUES ('另一个会话', ?1, '')", (CHANNEL,)).unwrap();
    chat.db
        .execute("INSERT INTO messages VALUES ('也是我', '另一个会话', 'assistant', '嗯', ?1)", (stored(&ago(40.0)),))
        .unwrap();
    let result = begun(&workspace);
    assert_eq!(handed(&result), ["我", "也是我"]);
    let week = result["known"]["said_this_week"].to_string();
    assert!(week.contains("话我") && !week.contains("别"), "{week}");
    for (other, number) in others.iter().zip(0..).take(others.len() - 1) {
        let workspace = distillable().file("sessions/SESSION_CONTEXT.md", session_context(None, other, &chat.path));
        let expected = if other.ends_with(' ') { "我".to_owned() } else { format!("别{number}") };
        assert!(handed(&begun(&workspace)).contains(&expected), "{other:?}");
    }
}

/// Writes session contexts, the first the newest.
fn contexts(workspace: &Workspace, texts: &[String]) {
    for (text, number) in texts.iter().zip(0..) {
        let path = format!("sessions/{number}/deep/{number}/SESSION_CONTEXT.md");
        workspace.write(&path, text);
        let modified = SystemTime::now() - Duration::from_secs(60 * number);
        File::options().append(true).open(workspace.path(&path)).unwrap().set_modified(modified).unwrap();
    }
}

#[test]
fn the_newest_context_of_this_workspace_with_a_channel_counts() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    fs::remove_dir_all(workspace.path("sessions")).unwrap();
    for channel in ["甲", "乙", "丙"] {
        chat.say_in(channel, channel, stored(&ago(60.0)));
    }
    let root = workspace.root();
    let link = root.with_extension("link");
    let context = |named: Option<&Path>, channel: &str| session_context(named, channel, &chat.path);
    let cases: Vec<(&str, Vec<String>, Option<&str>)> = vec![
        ("none", vec![], None),
        ("one", vec![context(Some(root), "甲")], Some("甲")),
        ("the newest", vec![context(Some(root), "乙"), context(Some(root), "甲")], Some("乙")),
        ("not named", vec![context(None, "丙"), context(Some(root), "甲")], Some("丙")),
        ("a system task is the newest", vec![context(Some(root), ""), context(Some(root), "甲")], Some("甲")),
        ("another workspace's", vec![context(Some(Path::new("/elsewhere")), "乙"), context(None, "甲")], Some("甲")),
        ("a longer path", vec![context(Some(&root.with_extension("2")), "乙"), context(None, "甲")], Some("甲")),
        ("a shorter path", vec![context(root.parent(), "乙"), context(None, "甲")], Some("甲")),
        ("a slash at the end", vec![context(Some(&root.join("")), "乙"), context(None, "甲")], Some("乙")),
        ("through a link", vec![context(Some(&link), "乙"), context(None, "甲")], Some("乙")),
        ("only system tasks", vec![context(Some(root), ""), context(None, "  ")], None),
        ("only other workspaces", vec![context(Some(Path::new("/elsewhere")), "乙")], None),
        ("garbage first", vec!["\u{0}\u{fffd}".to_owned(), context(Some(root), "甲")], Some("甲")),
        ("CRLF", vec![context(Some(root), "甲").replace('\n', "\r\n")], Some("甲")),
    ];
    std::os::unix::fs::symlink(root, &link).unwrap();
    for (name, texts, expected) in cases {
        let _ = fs::remove_dir_all(workspace.path("sessions"));
        let _ = fs::remove_file(workspace.path(STATE));
        contexts(&workspace, &texts);
        let result = begin(&workspace);
        match expected {
            Some(channel) => assert_eq!(handed(&result), [channel], "{name}: {result}"),
            None => assert_eq!(result, skipped("no_session_context"), "{name}"),
        }
    }
    fs::remove_file(link).unwrap();
}

// The database

/// A begin that must be skipped, leave every file as it was, and hold nothing.
fn skips(workspace: &Workspace, reason: &str, context: &str) {
    let before = workspace.tree();
    let mut result = begin(workspace);
    if let Some(object) = result.as_object_mut() {
        object.remove("warnings");
    }
    assert_eq!(result, skipped(reason), "{context}");
    assert_eq!(workspace.tree(), before, "{context}");
    assert!(!workspace.path(".distill_lease").exists(), "{context}");
    assert!(is_free(workspace, ".distill.lock"), "{context}");
}

fn names_in(folder: &Path) -> BTreeSet<String> {
    fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
}

#[test]
fn a_database_that_is_not_there_is_not_created() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    fs::remove_file(&chat.path).unwrap();
    skips(&workspace, "database_unavailable", "missing");
    assert_eq!(names_in(&workspace.path("bot")), BTreeSet::new());
    fs::remove_dir(workspace.path("bot")).unwrap();
    skips(&workspace, "database_unavailable", "its folder is missing");
    assert!(!workspace.path("bot").exists());
}

#[test]
fn a_database_may_stand_below_any_name() {
    for name in ["a?b", "a#b", "a%41b", "小 林"] {
        let workspace = distillable();
        let chat = Chat::of(&workspace);
        chat.say("m1", stored(&ago(60.0)));
        chat.db.close().unwrap();
        fs::rename(workspace.path("bot"), workspace.path(name)).unwrap();
        let context = session_context(Some(workspace.root()), CHANNEL, &workspace.path(name).join("chat.db"));
        workspace.write("sessions/2026/SESSION_CONTEXT.md", context);
        assert_eq!(distill(&workspace), ["m1"], "{name}");
    }
}

type Spoil = fn(&Path);

#[test]
fn a_file_that_is_no_chat_is_unavailable() {
    let cases: [(&str, Spoil); 6] = [
        ("text", |path| fs::write(path, "这不是数据库。\n".repeat(500)).unwrap()),
        ("empty", |path| fs::write(path, "").unwrap()),
        ("a folder", |path| {
            fs::remove_file(path).unwrap();
            fs::create_dir(path).unwrap();
        }),
        ("half of one", |path| {
            let bytes = fs::read(path).unwrap();
            fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("without messages", |path| {
            rusqlite::Connection::open(path).unwrap().execute_batch("DROP TABLE messages").unwrap();
        }),
        ("without a column", |path| {
            let db = rusqlite::Connection::open(path).unwrap();
            db.execute_batch("ALTER TABLE sessions RENAME COLUMN channel_key TO channel").unwrap();
        }),
    ];
    for (name, spoil) in cases {
        let workspace = distillable();
        let Chat { db, path } = Chat::of(&workspace);
        drop(db);
        spoil(&path);
        let (bytes, names) = (fs::read(&path).ok(), names_in(&workspace.path("bot")));
        skips(&workspace, "database_unavailable", name);
        assert_eq!((fs::read(&path).ok(), names_in(&workspace.path("bot"))), (bytes, names), "{name}");
    }
}

#[test]
fn a_database_that_is_locked_for_a_second_is_waited_for() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("一", stored(&ago(10.0)));
    let mut server = Server::start(&workspace);
    chat.db.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let call = server.start_call("distill_begin", json!({}));
    assert!(server.answer_within(call, Duration::from_secs(1)).is_none(), "it read what is locked");
    chat.db.execute_batch("COMMIT").unwrap();
    assert_eq!(handed(&server.finish_call(call).unwrap()), ["一"]);
}

#[test]
fn a_database_that_stays_locked_is_unavailable_after_two_seconds() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("一", stored(&ago(10.0)));
    chat.db.execute_batch("BEGIN EXCLUSIVE").unwrap();
    let start = Instant::now();
    let mut server = Server::start(&workspace);
    let call = server.start_call("distill_begin", json!({}));
    // Nothing waits behind it, and other calls see no lock.
    server.call("touch_last_active", json!({})).unwrap();
    assert_eq!(server.finish_call(call), Ok(skipped("database_unavailable")));
    let waited = start.elapsed();
    assert!(waited >= Duration::from_millis(1800), "gave up after {waited:?}");
    assert!(waited <= Duration::from_secs(8), "waited {waited:?}");
    assert!(is_free(&workspace, ".distill.lock"));
    chat.db.execute_batch("COMMIT").unwrap();
    assert_eq!(distill(&workspace), ["一"]);
}

#[test]
fn a_write_ahead_log_in_a_folder_that_cannot_be_written_is_read() {
    if missing(&["unshare", "mount"]) {
        return;
    }
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.db.execute_batch("PRAGMA journal_mode = WAL; PRAGMA wal_autocheckpoint = 0").unwrap();
    chat.say("一", stored(&ago(60.0)));
    let read_only = |arguments: &[&str]| {
        let program = workspace.command();
        let mut command = Command::new("unshare");
        let script = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && exec \"$@\"";
        command.args(["-m", "sh", "-c", script]).arg(workspace.path("bot"));
        command.arg(program.get_program()).args(program.get_args()).args(arguments);
        command
    };
    let mut probe = Command::new("unshare");
    let bind = "mount --bind \"$0\" \"$0\" && mount -o remount,ro,bind \"$0\" && ! touch \"$0/x\" 2>/dev/null";
    probe.args(["-m", "sh", "-c", bind]).arg(workspace.path("bot"));
    if !probe.output().is_ok_and(|output| output.status.success()) {
        eprintln!("skipped: no read-only mounts here");
        return;
    }
    let run = || {
        let result = Outcome::of(read_only(&["call", "distill_begin", "{}"]), None).answer().unwrap();
        if result["status"] == "begun" {
            commit(&workspace, &result);
        }
        result
    };
    // The bot is there: its log and its index of the log too, and the message is in the log alone.
    let first = run();
    assert_eq!(handed(&first), ["一"], "{first}");
    chat.say("二", stored(&ago(50.0)));
    assert_eq!(handed(&run()), ["二"]);
    // The bot is gone and has cleaned up.
    chat.say("三", stored(&ago(40.0)));
    let Chat { db, path } = chat;
    drop(db);
    assert_eq!(names_in(&workspace.path("bot")), BTreeSet::from(["chat.db".to_owned()]));
    let last = run();
    assert_eq!(handed(&last), ["三"], "{last}");
    assert_eq!(names_in(&workspace.path("bot")), BTreeSet::from(["chat.db".to_owned()]));
    // The bot crashed: there is a log without an index. Its message is found, or the database is unavailable; it is not missed.
    let db = rusqlite::Connection::open(&path).unwrap();
    let crashed = Chat { db, path: path.clone() };
    crashed.db.execute_batch("PRAGMA wal_autocheckpoint = 0").unwrap();
    crashed.say("四", stored(&ago(30.0)));
    let copies: Vec<_> =
        ["chat.db", "chat.db-wal"].iter().map(|name| workspace.bytes(&format!("bot/{name}"))).collect();
    let Chat { db, .. } = crashed;
    drop(db);
    workspace.write("bot/chat.db", &copies[0]);
    workspace.write("bot/chat.db-wal", &copies[1]);
    // The log stands beside the file, not beside a link to it.
    std::os::unix::fs::symlink(&path, workspace.path("link.db")).unwrap();
    for db in [path, workspace.path("link.db")] {
        workspace.write("sessions/2026/SESSION_CONTEXT.md", session_context(None, CHANNEL, &db));
        let after_crash = Outcome::of(read_only(&["call", "distill_begin", "{}"]), None).answer().unwrap();
        assert!(
            handed(&after_crash) == ["四"] || after_crash["reason"] == "database_unavailable",
            "a message of the log was missed: {after_crash}"
        );
    }
}
