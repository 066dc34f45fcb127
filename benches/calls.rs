#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    clippy::indexing_slicing,
    missing_docs
)]
//! How long calls take over a real connection, beside what the disk takes in the same run.
//!
//! `cargo bench` prints a table. The machine's own speed drifts, so the ratios count: before each call
//! one synced append of 200 bytes is made and timed on the same disk.

use std::{
    fs::{self, File, OpenOptions},
    io::{BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};

const BINARY: &str = env!("CARGO_BIN_EXE_companion-memory");
const ROUNDS: usize = 200;

fn main() {
    // `cargo test --benches` only wants to know that it runs.
    let rounds = if std::env::args().any(|argument| argument == "--test") { 2 } else { ROUNDS };
    let scratch = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).expect("a folder on the disk");
    println!("{:<44} {:>9} {:>9} {:>9} {:>8}", "call (median of rounds)", "ms", "p95 ms", "append ms", "ratio");

    let small = workspace(scratch.path(), "small", 100);
    let large = workspace(scratch.path(), "large", 10_000);
    for (size, folder) in [("100 events", &small), ("10,000 events", &large)] {
        let mut server = Server::start(folder);
        let mut floor = Floor::new(scratch.path());
        for (name, arguments) in calls() {
            let row = format!("{name}, {size}");
            measure(&row, rounds, &mut floor, |round| server.call(name, &arguments(round)));
        }
        measure(&format!("ping, {size}"), rounds, &mut floor, |_| server.request("ping", &json!({})));
        println!("{:<44} {:>9} kB", format!("resident memory, {size}"), server.resident_kb());
    }
    let chat = chat(scratch.path(), if rounds < ROUNDS { 1_000 } else { 200_000 });
    let mut floor = Floor::new(scratch.path());
    let mut server = Server::start(&chat);
    let begin = |server: &mut Server| server.call("distill_begin", &json!({}));
    measure("distill_begin, 200,000 messages, first", rounds.min(10), &mut floor, |_| begin(&mut server));
    let token = begin(&mut server)["result"]["structuredContent"]["token"].as_str().expect("a token").to_owned();
    server.call("distill_commit", &json!({"token": token}));
    measure("distill_begin, 200,000 messages, next", rounds.min(10), &mut floor, |_| begin(&mut server));
    println!("{:<44} {:>9} kB", "resident memory after it", server.resident_kb());
    let mut floor = Floor::new(scratch.path());
    measure("spawn to initialize reply", rounds.min(50), &mut floor, |_| Server::start(&small).last.clone());
    measure("spawn of /bin/true", rounds.min(50), &mut floor, |_| {
        Command::new("/bin/true").status().expect("true runs");
        Value::Null
    });
}

type Arguments = fn(usize) -> Value;

fn calls() -> Vec<(&'static str, Arguments)> {
    vec![
        ("append_event", |round| json!({"type": "约定", "content": format!("第{round}次一起去看展，看完再去吃面")})),
        ("update_event", |round| json!({"id": "E050", "follow_up": format!("问问第{round}次看得怎么样")})),
        (
            "update_mood",
            |round| json!({"delta_valence": if round % 2 == 0 { 0.05 } else { -0.05 }, "note": "聊得很开心"}),
        ),
        ("add_unresolved", |round| json!({"text": format!("担心第{round}次体检的结果")})),
        (
            "record_conversation",
            |round| json!({"mood": {"delta_valence": 0.01, "note": "平静"}, "persona_details": [format!("第{round}个小习惯")], "events": [{"type": "重要事件", "content": format!("第{round}次深谈")}]}),
        ),
        ("list_events", |_| json!({"limit": 20})),
        ("get_overview", |_| json!({})),
        ("search_memory", |_| json!({"query": "看展 吃面"})),
        ("read_memory", |_| json!({"file": "events"})),
    ]
}

/// Times the calls, each beside one synced append.
fn measure(row: &str, rounds: usize, floor: &mut Floor, mut call: impl FnMut(usize) -> Value) {
    let mut times = Vec::new();
    let mut appends = Vec::new();
    for round in 0..rounds {
        appends.push(floor.append());
        let began = Instant::now();
        let answer = call(round);
        times.push(began.elapsed());
        assert!(answer["result"]["isError"] != json!(true), "{row}: {answer}");
        // A call right behind another waits for that one's files to be synced: measured apart.
        std::thread::sleep(Duration::from_millis(3));
    }
    times.sort_unstable();
    appends.sort_unstable();
    let at =
        |times: &[Duration], share: usize| times[(times.len() * share / 100).min(times.len() - 1)].as_secs_f64() * 1e3;
    let (median, append) = (at(&times, 50), at(&appends, 50));
    println!("{row:<44} {median:>9.3} {:>9.3} {append:>9.3} {:>8.2}", at(&times, 95), median / append);
}

/// One synced append of 200 bytes: what any durable answer costs at least.
struct Floor(File);

impl Floor {
    fn new(folder: &Path) -> Self {
        let path = folder.join("floor");
        Self(OpenOptions::new().append(true).create(true).open(path).expect("a file on the disk"))
    }

    fn append(&mut self) -> Duration {
        let began = Instant::now();
        self.0.write_all(&[b'x'; 200]).expect("the disk has room");
        self.0.sync_data().expect("the disk syncs");
        began.elapsed()
    }
}

fn workspace(folder: &Path, name: &str, events: usize) -> PathBuf {
    let workspace = folder.join(name);
    let made = Command::new(BINARY).arg("init").arg(&workspace).stdout(Stdio::null()).status();
    assert!(made.expect("the program runs").success());
    let mut text = fs::read_to_string(workspace.join("memory/events.md")).expect("events.md is there");
    for number in 1..=events {
        let status = if number % 50 == 0 { "待跟进" } else { "已关闭" };
        let (month, day) = (number % 12 + 1, number % 28 + 1);
        let heading = format!("\n### [E{number:03}] 2026-{month:02}-{day:02} · 重要事件\n**类型**：重要事件\n");
        let content = format!("**内容**：第{number}件事：周末一起去看展，回来的路上下了雨\n");
        text += &(heading + &content + "**用户状态**：开心\n**状态**：" + status + "\n");
    }
    fs::write(workspace.join("memory/events.md"), text).expect("events.md can be written");
    workspace
}

/// A workspace whose chat has so many messages, the last few of them new.
fn chat(folder: &Path, messages: usize) -> PathBuf {
    let workspace = workspace(folder, "chat", 100);
    let index = workspace.join("memory/MEMORY.md");
    let text = fs::read_to_string(&index).expect("MEMORY.md is there").replace("status: pending", "status: done");
    fs::write(&index, text).expect("MEMORY.md can be written");
    let mut database = rusqlite::Connection::open(workspace.join("chat.db")).expect("a database");
    database
        .execute_batch(
            "CREATE TABLE sessions (id TEXT PRIMARY KEY, channel_key TEXT);
             CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, created_at TEXT);
             INSERT INTO sessions VALUES ('s1', 'p2p:bench');",
        )
        .expect("tables");
    let transaction = database.transaction().expect("a transaction");
    for number in 0..messages {
        let minutes = messages - number;
        transaction
            .execute(
                "INSERT INTO messages VALUES (?1, 's1', 'user', ?2, datetime('now', ?3) || '.123456789+00:00')",
                (
                    format!("m{number}"),
                    format!("第{number}句话，说的是今天的天气和晚饭"),
                    format!("-{} minutes", minutes * 10),
                ),
            )
            .expect("a row");
    }
    transaction.commit().expect("committed");
    let session = workspace.join("sessions/s1");
    fs::create_dir_all(&session).expect("a folder");
    fs::write(session.join("SESSION_CONTEXT.md"), "- Channel key: p2p:bench\n- DB path: chat.db\n").expect("a context");
    workspace
}

/// The real server over its pipes.
struct Server {
    child: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    id: u64,
    last: Value,
}

impl Server {
    fn start(workspace: &Path) -> Self {
        let mut child = Command::new(BINARY)
            .arg("serve")
            .arg("--workspace")
            .arg(workspace)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("the server starts");
        let (input, output) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut server = Self { child, input, output: BufReader::new(output), id: 0, last: Value::Null };
        let client = json!({"name": "bench", "version": "1"});
        server.last = server
            .request("initialize", &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client}));
        server
    }

    fn request(&mut self, method: &str, params: &Value) -> Value {
        self.id += 1;
        let request = json!({"jsonrpc": "2.0", "id": self.id, "method": method, "params": params});
        writeln!(self.input, "{request}").expect("the server reads");
        let mut line = String::new();
        self.output.read_line(&mut line).expect("the server answers");
        serde_json::from_str(&line).expect("JSON")
    }

    fn call(&mut self, tool: &str, arguments: &Value) -> Value {
        self.request("tools/call", &json!({"name": tool, "arguments": arguments}))
    }

    fn resident_kb(&self) -> String {
        let status = fs::read_to_string(format!("/proc/{}/status", self.child.id())).unwrap_or_default();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        line.map_or("unknown".to_owned(), |line| line.trim().trim_end_matches(" kB").to_owned())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Not asked for: the pipes close with the process.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
