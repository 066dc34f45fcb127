//! The chat as its own program writes it: a database, and the session context that leads to it.

use super::{Workspace, ZONE, index_with};
use jiff::{SignedDuration, Timestamp, ZonedDateTime};
use rusqlite::{Connection, OpenFlags, ToSql};
use serde_json::{Value, json};
use std::{
    fs::{self, File, TryLockError},
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

/// The channel of every test that does not say otherwise.
pub(crate) const CHANNEL: &str = "p2p:oc_demo:my_bot";

/// An initialised workspace that gives no reason to warn.
pub(crate) fn distillable() -> Workspace {
    Workspace::new().file("memory/MEMORY.md", index_with("（暂无）"))
}

/// The database, as the program that writes it has it open.
pub(crate) struct Chat {
    pub(crate) db: Connection,
    pub(crate) path: PathBuf,
}

impl Chat {
    /// A new chat in `bot/`, and the session context that names it.
    pub(crate) fn of(workspace: &Workspace) -> Self {
        Self::with_schema(workspace, "id TEXT PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, created_at")
    }

    pub(crate) fn with_schema(workspace: &Workspace, columns: &str) -> Self {
        let path = workspace.path("bot/chat.db");
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        let db = Connection::open(&path).unwrap();
        // What is tested here is not whether the bot's own words survive a power cut.
        db.execute_batch(&format!(
            "PRAGMA synchronous = OFF; CREATE TABLE sessions(id TEXT PRIMARY KEY, channel_key TEXT, title TEXT); \
             CREATE TABLE messages({columns})"
        ))
        .unwrap();
        let chat = Self { db, path };
        chat.context(workspace, "sessions/2026/SESSION_CONTEXT.md", CHANNEL);
        chat
    }

    /// A second connection to the same file, as another thread of the bot has it.
    pub(crate) fn again(&self) -> Self {
        let db = Connection::open_with_flags(&self.path, OpenFlags::SQLITE_OPEN_READ_WRITE).unwrap();
        db.busy_timeout(Duration::from_secs(1)).unwrap();
        db.execute_batch("PRAGMA synchronous = OFF").unwrap();
        Self { db, path: self.path.clone() }
    }

    /// Writes a session context of `channel` that names this workspace and this database.
    pub(crate) fn context(&self, workspace: &Workspace, path: &str, channel: &str) {
        workspace.write(path, session_context(Some(workspace.root()), channel, &self.path));
    }

    /// One message in one transaction of its own; whether it was stored.
    pub(crate) fn try_insert(
        &self,
        channel: &str,
        id: impl ToSql,
        role: &str,
        content: impl ToSql,
        at: impl ToSql,
    ) -> rusqlite::Result<usize> {
        let session = format!("会话 {channel}");
        self.db.execute("INSERT OR IGNORE INTO sessions VALUES (?1, ?2, '')", (&session, channel))?;
        self.db.execute(
            "INSERT INTO messages(id, session_id, role, content, created_at) VALUES (?1, ?2, ?3, ?4, ?5)",
            (id, session, role, content, at),
        )
    }

    /// What the user says; its content is made of the id.
    pub(crate) fn say(&self, id: &str, at: impl ToSql) {
        self.say_in(CHANNEL, id, at);
    }

    pub(crate) fn say_in(&self, channel: &str, id: &str, at: impl ToSql) {
        self.try_insert(channel, id, "user", format!("话{id}"), at).unwrap();
    }
}

pub(crate) fn session_context(workspace: Option<&Path>, channel: &str, db: &Path) -> String {
    let named = workspace.map(|w| format!("- Workspace: {}\n", w.display())).unwrap_or_default();
    format!("# Session\n\n{named}- Channel key: {channel}\n- DB path: {}\n", db.display())
}

/// So many seconds before now, in the tests' zone and to the millisecond, so that every form can hold it.
pub(crate) fn ago(seconds: f64) -> ZonedDateTime {
    let then = Timestamp::now() - SignedDuration::from_secs_f64(seconds);
    Timestamp::from_millisecond(then.as_millisecond()).unwrap().in_tz(ZONE).unwrap()
}

/// `2026-04-12 21:10:00.123000000+08:00`, as the bot writes it.
pub(crate) fn stored(at: &ZonedDateTime) -> String {
    at.strftime("%Y-%m-%d %H:%M:%S.%9f%:z").to_string()
}

/// `2026-04-12T21:10:00.123+08:00`, as the program writes it.
pub(crate) fn written(at: &ZonedDateTime) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string()
}

pub(crate) fn begin(workspace: &Workspace) -> Value {
    workspace.ok("distill_begin", json!({}))
}

/// A begin that finds something.
pub(crate) fn begun(workspace: &Workspace) -> Value {
    let result = begin(workspace);
    assert_eq!(result["status"], "begun", "{result}");
    result
}

/// The ids of the messages that a begin hands out, in its order.
pub(crate) fn handed(begun: &Value) -> Vec<String> {
    let messages = begun["messages"].as_array().unwrap_or_else(|| panic!("no messages: {begun}"));
    messages.iter().map(|m| m["id"].as_str().unwrap().to_owned()).collect()
}

/// What a begin answers that has nothing to do.
pub(crate) fn skipped(reason: &str) -> Value {
    json!({"status": "skipped", "reason": reason, "messages": [], "has_more": false})
}

/// Commits without anything to keep; the watermark.
pub(crate) fn commit(workspace: &Workspace, begun: &Value) -> String {
    let result = workspace.ok("distill_commit", json!({"token": begun["token"]}));
    result["watermark"].as_str().unwrap_or_else(|| panic!("no watermark: {result}")).to_owned()
}

/// One whole distillation, begin and commit each by a process of its own; the ids that it was handed.
pub(crate) fn distill(workspace: &Workspace) -> Vec<String> {
    let result = begin(workspace);
    if result["status"] == "begun" {
        commit(workspace, &result);
    } else {
        assert_eq!(result["reason"], "no_new_messages", "{result}");
    }
    handed(&result)
}

/// `[D000]` with these lines below its heading.
pub(crate) fn d000(lines: &str) -> String {
    format!("### [D000] · last_distillation\n{lines}")
}

pub(crate) const STATE: &str = "memory/distill_state.md";

/// Whether nobody holds an flock on a file of the workspace.
pub(crate) fn is_free(workspace: &Workspace, lock: &str) -> bool {
    match File::open(workspace.path(lock)) {
        Ok(file) => match file.try_lock() {
            Ok(()) => true,
            Err(TryLockError::WouldBlock) => false,
            Err(TryLockError::Error(error)) => panic!("{lock}: {error}"),
        },
        // A lock that was never made is nobody's.
        Err(_) => true,
    }
}

pub(crate) fn all_locks_free(workspace: &Workspace) -> bool {
    is_free(workspace, ".memory.lock") && is_free(workspace, ".distill.lock")
}

/// Polls until `condition` holds; false if it does not within `time`.
pub(crate) fn comes_true(time: Duration, condition: impl Fn() -> bool) -> bool {
    let deadline = Instant::now() + time;
    loop {
        if condition() {
            return true;
        }
        if Instant::now() > deadline {
            return false;
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// The values of the lines of this name in `distill_state.md`.
pub(crate) fn lines_of(workspace: &Workspace, name: &str) -> Vec<String> {
    workspace.read(STATE).lines().filter_map(|line| line.strip_prefix(name)).map(|v| v.trim().to_owned()).collect()
}

pub(crate) fn timestamp_line(workspace: &Workspace) -> String {
    lines_of(workspace, "timestamp:").pop().unwrap()
}

pub(crate) fn cursor_lines(workspace: &Workspace) -> Vec<String> {
    lines_of(workspace, "cursor:")
}

/// An instant of a result.
pub(crate) fn instant(text: &Value) -> Timestamp {
    text.as_str().unwrap().parse().unwrap()
}

/// The warnings of a result.
pub(crate) fn warnings(result: &Value) -> Vec<String> {
    result["warnings"].as_array().into_iter().flatten().map(|w| w.as_str().unwrap().to_owned()).collect()
}
