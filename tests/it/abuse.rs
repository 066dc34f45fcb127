//! Clients that break the protocol, flood the server or never read: each line is answered once, nothing is done that no
//! accepted call asked for, memory is bounded, and only the end of stdin or a signal ends the server, with 0.

use crate::support::{ANSWER_DEADLINE, Outcome, OutsideLock, Server, Workspace, bash, missing};
use serde_json::{Value, json};
use std::{
    fs,
    io::{BufRead as _, BufReader, Read as _, Write as _},
    net::Shutdown,
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::{Child, Stdio},
    thread,
    time::Duration,
};

/// How long an end may take: two seconds, and what a busy machine adds.
const END: Duration = Duration::from_secs(5);
/// A server that is left alone stays far below this, in kB.
const MEMORY_LIMIT: u64 = 120_000;
const WORRY: &str = r#""method":"tools/call","params":{"name":"add_unresolved","arguments":{"text":"一"}}"#;

fn worry(text: &str) -> Value {
    json!({"text": text})
}

/// The texts of the worries that are in the file, in order.
fn worries(workspace: &Workspace) -> Vec<String> {
    let Ok(text) = fs::read_to_string(workspace.path("memory/unresolved.md")) else { return Vec::new() };
    let lines = text.lines().filter(|line| line.starts_with("- [U"));
    lines.map(|line| line.rsplit(' ').next().unwrap().to_owned()).collect()
}

/// The most memory that a process ever had resident, in kB.
fn high_water(pid: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    line.split_whitespace().nth(1)?.parse().ok()
}

fn assert_bounded(pid: u32, after: &str) {
    match high_water(pid) {
        Some(kilobytes) => assert!(kilobytes < MEMORY_LIMIT, "{kilobytes} kB after {after}"),
        None => eprintln!("skipped: no /proc/PID/status here, the memory was not looked at"),
    }
}

/// The answer with this id, which may be none of a request's.
fn next_answer(server: &mut Server, id: &Value) -> Value {
    match id.as_u64() {
        Some(id) => server.answer(id),
        None => server.stray(),
    }
}

fn assert_ends(server: &mut Server) {
    server.close_stdin();
    let status = server.exit_within(END).expect("the server outlives its stdin");
    assert_eq!(status.code(), Some(0), "{status}");
}

#[test]
fn what_is_no_request_is_answered_once_and_changes_nothing() {
    // The line, and the id that the answer must bear.
    let lines: Vec<(String, Value)> = vec![
        (format!(r#"{{"jsonrpc":"2.0","id":null,{WORRY}}}"#), Value::Null),
        (format!(r#"{{"jsonrpc":"2.0","id":1.5,{WORRY}}}"#), Value::Null),
        (format!(r#"{{"jsonrpc":"2.0","id":{{"a":1}},{WORRY}}}"#), Value::Null),
        (format!(r#"{{"jsonrpc":"2.0","id":[1],{WORRY}}}"#), Value::Null),
        (format!(r#"{{"jsonrpc":"2.0","id":true,{WORRY}}}"#), Value::Null),
        (format!(r#"{{"jsonrpc":"2.0","id":99999999999999999999,{WORRY}}}"#), Value::Null),
        (format!(r#"{{"jsonrpc":"2.0","id":1e400,{WORRY}}}"#), Value::Null),
        (format!(r#"[{{"jsonrpc":"2.0","id":900,{WORRY}}}]"#), Value::Null),
        ("[]".to_owned(), Value::Null),
        ("{}".to_owned(), Value::Null),
        ("null".to_owned(), Value::Null),
        ("0".to_owned(), Value::Null),
        (r#""tools/call""#.to_owned(), Value::Null),
        (format!(r#"{{"id":901,{WORRY}}}"#), json!(901)),
        (format!(r#"{{"jsonrpc":"1.0","id":902,{WORRY}}}"#), json!(902)),
        (format!(r#"{{"jsonrpc":2.0,"id":903,{WORRY}}}"#), json!(903)),
        (r#"{"jsonrpc":"2.0","id":904,"method":5}"#.to_owned(), json!(904)),
        (r#"{"jsonrpc":"2.0","id":905,"method":null}"#.to_owned(), json!(905)),
        (format!(r#"{{"jsonrpc":"2.0","id":906,"result":{{}},{WORRY}}}"#), json!(906)),
        (format!(r#"{{"jsonrpc":"2.0","id":907,"method":"ping",{WORRY}}}"#), json!(907)),
        (format!(r#"{{"jsonrpc":"2.0","id":908,{WORRY},"params":{{}}}}"#), json!(908)),
        (format!(r#"{{"jsonrpc":"2.0","id":909,{WORRY}"#), json!(909)),
        (format!(r#"{{"jsonrpc":"2.0","id":910,{WORRY}}}}}"#), json!(910)),
        (format!(r#"{{{WORRY},"jsonrpc":"2.0","id":916"#), Value::Null),
        // As a program in Python writes what no JSON number can be.
        (format!(r#"{{"jsonrpc":"2.0","id":917,"x":NaN,{WORRY}}}"#), json!(917)),
        (format!(r#"{{"id": 918, "x": -Infinity, {WORRY}, "jsonrpc": "2.0"}}"#), json!(918)),
        (format!(r#"{{"jsonrpc":"2.0","id":919,"x":1e400,{WORRY}}}"#), json!(919)),
        (format!(r#"{{"jsonrpc":"2.0","id":920,"x":{}{},{WORRY}}}"#, "[".repeat(200), "]".repeat(200)), json!(920)),
        (r#"{"jsonrpc":"2.0","id":911,"method":"tools/call","params":[1]}"#.to_owned(), json!(911)),
        (r#"{"jsonrpc":"2.0","id":912,"method":"tools/call","params":"x"}"#.to_owned(), json!(912)),
        (r#"{"jsonrpc":"2.0","id":913,"method":"tools/call"}"#.to_owned(), json!(913)),
        (
            r#"{"jsonrpc":"2.0","id":914,"method":"tools/call","params":{"name":5,"arguments":{}}}"#.to_owned(),
            json!(914),
        ),
        (r#"{"jsonrpc":"2.0","id":915,"method":""}"#.to_owned(), json!(915)),
    ];
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let before = workspace.tree();
    for (line, id) in lines {
        server.send_raw(format!("{line}\n").as_bytes()).unwrap();
        let answer = next_answer(&mut server, &id);
        assert_eq!(answer["id"], id, "{line}: {answer}");
        assert!(answer["error"]["code"].is_i64(), "{line}: {answer}");
    }
    assert!(server.ask("ping", json!({})).get("result").is_some());
    assert_eq!(workspace.tree(), before);
    assert_ends(&mut server);
}

#[test]
fn what_asks_for_no_answer_gets_none_and_changes_nothing() {
    let lines = [
        format!(r#"{{"jsonrpc":"2.0",{WORRY}}}"#),
        r#"{"jsonrpc":"2.0","method":"notifications/nonsense","params":{"deep":[[[]]]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":{}}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"notifications/initialized","params":null}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[]}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":"x"}}"#.to_owned(),
        r#"{"jsonrpc":"2.0","method":"exit"}"#.to_owned(),
    ];
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    for line in lines {
        server.send_raw(format!("{line}\n").as_bytes()).unwrap();
    }
    let id = server.request("ping", json!({}));
    assert!(server.answer(id).get("result").is_some());
    assert_ends(&mut server);
    let late = server.answers_until(std::time::Instant::now() + Duration::from_millis(50));
    assert_eq!(late.len(), 0, "{late:?}");
    assert_eq!(worries(&workspace), [""; 0]);
}

#[test]
fn an_id_comes_back_as_it_was_sent() {
    let mut server = Server::start(&Workspace::new());
    let long = "很".repeat(5_000);
    let ids = [
        json!(0),
        json!(-1),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(9_007_199_254_740_993_i64),
        json!(""),
        json!("1"),
        json!("\n\u{0}\u{2028}"),
        json!(long),
    ];
    for id in ids {
        server.send(&json!({"jsonrpc": "2.0", "id": id, "method": "ping"}));
        let answer = next_answer(&mut server, &id);
        assert_eq!(answer, json!({"jsonrpc": "2.0", "id": id, "result": {}}));
    }
}

#[test]
fn of_a_key_that_stands_twice_one_counts() {
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let call = r#"{"jsonrpc":"2.0","id":77,"method":"tools/call","params":{"name":"add_unresolved","arguments":{"text":"一","text":"二"}}}"#;
    server.send_raw(format!("{call}\n").as_bytes()).unwrap();
    server.answer(77);
    assert!(matches!(worries(&workspace).as_slice(), [] | [_]), "{:?}", worries(&workspace));
}

#[test]
fn a_request_under_an_id_in_use_is_refused_and_the_first_is_answered() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let lock = OutsideLock::hold(&workspace);
    let call = |text: &str| json!({"jsonrpc": "2.0", "id": 50, "method": "tools/call", "params": {"name": "add_unresolved", "arguments": {"text": text}}});
    server.send(&call("一"));
    server.send(&call("二"));
    let refused = server.stray();
    assert!(refused["id"].is_null() && refused["error"]["code"] == -32600, "{refused}");
    drop(lock);
    assert_eq!(server.finish_call(50).unwrap()["id"], "U001");
    assert_eq!(worries(&workspace), ["一"]);
    server.send(&call("三"));
    assert_eq!(server.finish_call(50).unwrap()["id"], "U002", "an answered id is free again");
}

#[test]
fn nothing_but_a_request_counts_before_the_handshake() {
    let meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {}});
    let first_requests = [
        None,
        Some(json!({"jsonrpc": "2.0", "id": 800, "method": "ping"})),
        Some(json!({"jsonrpc": "2.0", "id": 800, "method": "server/discover", "params": {"_meta": meta}})),
        Some(json!({"jsonrpc": "2.0", "id": 800, "method": "server/discover"})),
        Some(
            json!({"jsonrpc": "2.0", "id": 800, "method": "tools/call", "params": {"name": "add_unresolved", "arguments": {"text": "早"}}}),
        ),
        Some(json!({"jsonrpc": "2.0", "id": 800, "method": "no/such/method"})),
        Some(json!({"jsonrpc": "2.0", "id": 800, "method": "initialize", "params": {}})),
    ];
    let strays = [
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 800}}),
        json!({"jsonrpc": "2.0", "id": 7, "result": {}}),
        json!({"jsonrpc": "2.0", "id": 7, "error": {"code": -1, "message": "x"}}),
    ];
    for first in first_requests {
        let workspace = Workspace::new();
        let mut server = Server::spawn(workspace.command());
        if let Some(first) = &first {
            server.send(first);
            server.answer(800);
        }
        for stray in &strays {
            server.send(stray);
        }
        assert!(server.initialize("2025-06-18").get("serverInfo").is_some(), "after {first:?}");
        server.call("add_unresolved", worry("一")).unwrap();
        assert_eq!(worries(&workspace), ["一"], "after {first:?}");
        assert_ends(&mut server);
    }
}

#[test]
fn what_was_asked_before_an_early_end_is_answered() {
    let meta = r#""_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}"#;
    let lines = [
        r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{{{meta}}}}}"#),
        r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#.to_owned(),
        format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{{meta}}}}}"#),
        r#"{"jsonrpc":"2.0","id":1,"method":5}"#.to_owned(),
        "nonsense".to_owned(),
    ];
    for line in lines {
        for end in ["\n", ""] {
            let mut command = Workspace::new().command();
            command.arg("serve");
            let outcome = Outcome::of(command, Some(&format!("{line}{end}")));
            assert_eq!((outcome.status, outcome.stdout.lines().count()), (Some(0), 1), "{line:?}: {outcome:?}");
        }
    }
}

#[test]
fn the_end_in_the_middle_of_a_message_does_nothing() {
    let workspace = Workspace::new();
    let whole = format!(r#"{{"jsonrpc":"2.0","id":5,{WORRY}}}"#);
    for cut in [1, 20, whole.len() / 2, whole.len() - 1] {
        let mut server = Server::start(&workspace);
        server.send_raw(&whole.as_bytes()[..cut]).unwrap();
        assert_ends(&mut server);
        assert_eq!(worries(&workspace), [""; 0], "cut at {cut}");
    }
}

#[test]
fn a_line_without_end_costs_little_and_is_answered_once() {
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let megabyte = vec![b'x'; 1 << 20];
    for megabytes in [20, 150] {
        for _ in 0..megabytes {
            server.send_raw(&megabyte).unwrap();
        }
        server.send_raw(b"\n").unwrap();
        let refused = server.stray();
        assert!(refused["id"].is_null() && refused["error"].is_object(), "{refused}");
    }
    // The same, but never ended.
    for _ in 0..32 {
        server.send_raw(&megabyte).unwrap();
    }
    assert_bounded(server.pid(), "lines without end");
    assert_ends(&mut server);
}

#[test]
fn json_that_is_nested_deeply_inside_a_text_is_refused() {
    let mut server = Server::start(&Workspace::new());
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        for depth in [200, 100_000] {
            let nested = format!("{}1{}", open.repeat(depth), close.repeat(depth));
            for name in ["events", "mood", "profile"] {
                let refusal = server.call("record_conversation", json!({ name: nested })).unwrap_err();
                assert_eq!(refusal.code, "invalid_argument", "{name} of depth {depth}");
            }
        }
    }
    assert!(server.ask("ping", json!({})).get("result").is_some());
}

#[test]
fn ten_thousand_requests_are_answered_although_no_answer_was_read_meanwhile() {
    const COUNT: u64 = 10_000;
    let workspace = Workspace::new();
    let mut client = Silent::start(&workspace);
    let message = |id: u64| match id % 100 {
        0 => {
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "add_unresolved", "arguments": {"text": format!("第{id}件")}}})
        }
        1 => {
            json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "list_events", "arguments": {}}})
        }
        2 => json!({"jsonrpc": "2.0", "id": id, "method": "no/such/method"}),
        _ => json!({"jsonrpc": "2.0", "id": id, "method": "ping"}),
    };
    let lines: String = (1..=COUNT).map(|id| format!("{}\n", message(id))).collect();
    client.stdin.set_write_timeout(Some(ANSWER_DEADLINE)).unwrap();
    client.stdin.write_all(lines.as_bytes()).expect("ten thousand requests fit without reading");
    client.stdout.set_read_timeout(Some(ANSWER_DEADLINE)).unwrap();
    let lines = BufReader::new(&client.stdout).lines().map(Result::unwrap);
    let answers: Vec<Value> = lines.skip(1).take(10_000).map(|line| serde_json::from_str(&line).unwrap()).collect();
    let mut ids: Vec<u64> = answers.iter().map(|answer| answer["id"].as_u64().unwrap()).collect();
    ids.sort_unstable();
    assert!(ids.iter().copied().eq(1..=COUNT), "each is answered once");
    let expected: Vec<String> = (1..=COUNT).filter(|id| id % 100 == 0).map(|id| format!("第{id}件")).collect();
    assert_eq!(worries(&workspace), expected, "the writes are done in the order in which they were asked for");
    client.ends_after_stdin();
}

#[test]
fn a_client_that_never_reads_is_waited_for_and_costs_little() {
    let ping = r#"{"jsonrpc":"2.0","id":ID,"method":"ping"}"#.to_owned();
    let read = r#"{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{"name":"read_memory","arguments":{"file":"history"}}}"#.to_owned();
    let broken = r#"{"jsonrpc":"2.0","id":ID,"method":5}"#.to_owned();
    for (line, bytes) in [(ping, 6 << 20), (read, 500 << 10), (broken, 6 << 20)] {
        let workspace = Workspace::new().file("memory/RECENT_HISTORY.md", "一行历史。\n".repeat(2_000));
        let mut client = Silent::start(&workspace);
        let sent = client.flood(&line, bytes);
        assert_bounded(client.child.id(), &format!("{sent} bytes of {}", &line[..60.min(line.len())]));
        client.ends_after_stdin();
    }
}

#[test]
fn requests_that_wait_for_the_lock_cost_little_however_large_they_are() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = Workspace::new();
    let _lock = OutsideLock::hold(&workspace);
    let mut client = Silent::start(&workspace);
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":ID,"method":"tools/call","params":{{"name":"add_unresolved","arguments":{{"text":"{}"}}}}}}"#,
        "x".repeat(1_000_000)
    );
    client.flood(&line, 200 << 20);
    assert_bounded(client.child.id(), "large writes");
    client.ends_after_stdin();
    assert_eq!(worries(&workspace), [""; 0]);
}

#[test]
fn a_cancelled_call_in_the_queue_is_not_done_and_the_others_are() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let lock = OutsideLock::hold(&workspace);
    let calls: Vec<u64> = ["一", "二", "三", "四"].map(|text| server.start_call("add_unresolved", worry(text))).into();
    server.notify("notifications/cancelled", json!({"requestId": calls[1]}));
    server.notify("notifications/cancelled", json!({"requestId": calls[2], "reason": "早"}));
    // Answered while the lock is held, so the cancellations before it have been read.
    server.ask("ping", json!({}));
    drop(lock);
    for call in [calls[0], calls[3]] {
        server.finish_call(call).unwrap();
    }
    assert_eq!(worries(&workspace), ["一", "四"]);
}

#[test]
fn cancelled_calls_take_no_room_from_those_that_come_after_them() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let lock = OutsideLock::hold(&workspace);
    // With the answers that they might have got, more than may be under way at a time.
    for _ in 0..1_000 {
        let call = server.start_call("add_unresolved", worry("一"));
        server.notify("notifications/cancelled", json!({"requestId": call}));
    }
    server.ask("ping", json!({}));
    drop(lock);
    server.call("add_unresolved", worry("二")).unwrap();
    assert_eq!(worries(&workspace), ["二"]);
}

#[test]
fn a_cancellation_reaches_only_the_call_under_way_that_it_names() {
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let first = server.start_call("add_unresolved", worry("一"));
    server.finish_call(first).unwrap();
    // Too late, too early, and of another kind.
    for id in
        [json!(first), json!(first + 1), json!((first + 1).to_string()), json!(-1), Value::Null, json!([first + 1])]
    {
        server.notify("notifications/cancelled", json!({"requestId": id}));
    }
    server.call("add_unresolved", worry("二")).unwrap();
    assert_eq!(worries(&workspace), ["一", "二"]);
}

#[test]
fn a_client_that_closes_its_end_of_stdout_does_not_kill_the_server() {
    let workspace = Workspace::new();
    let mut client = Silent::start(&workspace);
    client.stdout.shutdown(Shutdown::Both).unwrap();
    for id in 1..=20 {
        let line = format!(r#"{{"jsonrpc":"2.0","id":{id},{WORRY}}}"#);
        // The server may have ended: nobody can be answered any more.
        if writeln!(client.stdin, "{}", line.replace('一', &format!("第{id}件"))).is_err() {
            break;
        }
    }
    client.ends_after_stdin();
    let written = worries(&workspace);
    let expected: Vec<String> = (1..=written.len()).map(|id| format!("第{id}件")).collect();
    assert_eq!(written, expected, "what was done is a beginning of what was asked");
}

#[test]
fn no_result_is_larger_than_forty_kilobytes() {
    let headings: String = (0..10_000).map(|number| format!("# 标题{number}\n")).collect();
    let one_id = "### [E001] 2026-01-01 · 约定\n**状态**：待跟进\n".repeat(1_000);
    let huge = "很".repeat(50_000);
    let long_lines = format!(
        "### [E001] 2026-01-01 · {huge}\n**内容**：{huge}\n**用户状态**：{huge}\n**状态**：待跟进{huge}\n**到期日**：{huge}\n### [E{huge}] x\n"
    );
    let cited: String = (1..8_000).map(|number| format!("- [E{number:03}] x\n")).collect();
    let many: String =
        (1..500).map(|number| format!("- [U{number:03}] src=user_told {}\n", "很".repeat(500))).collect();
    let files: [(&str, &str, String); 8] = [
        ("memory/RECENT_HISTORY.md", "history", "\u{1}\"\\".repeat(20_000)),
        ("memory/RECENT_HISTORY.md", "history", headings.clone()),
        ("memory/persona.md", "persona", format!("## 在对话中形成的新细节\n\n- [2026-01-01] {huge}\n")),
        (
            "memory/user_profile.md",
            "profile",
            format!("# 用户\n{}- **{huge}**：{huge}\n", headings.replace("# ", "## ")),
        ),
        ("memory/events.md", "events", one_id),
        ("memory/events.md", "events", long_lines),
        ("memory/MEMORY.md", "index", format!("## 最近未解决事项\n{cited}")),
        ("memory/unresolved.md", "unresolved", many),
    ];
    let long = "n".repeat(50_000);
    for (path, name, text) in files {
        let workspace = Workspace::new().file(path, &text);
        let mut server = Server::start(&workspace);
        let calls = [
            ("read_memory", json!({"file": name})),
            ("read_memory", json!({"file": name, "section": "没有"})),
            ("read_memory", json!({"file": name, "section": long})),
            ("read_memory", json!({"file": long})),
            ("read_memory", json!({"file": name, &long: 1})),
            ("list_events", json!({"limit": 100})),
            ("list_events", json!({"since": long})),
            ("search_memory", json!({"query": "很", "limit": 50})),
            ("search_memory", json!({"query": long})),
            ("get_overview", json!({})),
            ("update_event", json!({"id": "E001", "status": "已关闭"})),
            ("update_event", json!({"id": long, "status": "已关闭"})),
            ("append_event", json!({"type": "约定", "content": "一"})),
            ("update_mood", json!({"note": "一"})),
            ("resolve_unresolved", json!({"id": "U9999", "resolved_by": "x"})),
            ("fade_unresolved", json!({"force": true})),
            ("add_persona_detail", json!({"detail": "一"})),
            ("correct_persona", json!({"old_text": "没有", "new_text": "一"})),
            ("update_profile", json!({"action": "add", "section": "没有", "text": "一"})),
            ("update_profile", json!({"action": "add", "section": "标题7", "text": "一"})),
            ("record_conversation", json!({"profile": [{"action": "add", "section": "没有", "text": "一"}]})),
        ];
        for (tool, arguments) in calls {
            let shown = arguments.to_string();
            let id = server.start_call(tool, arguments);
            let answer = server.answer(id);
            let text = answer["result"]["content"][0]["text"].as_str().map_or(0, str::len);
            let shown: String = shown.chars().take(60).collect();
            assert!((1..=40_000).contains(&text), "{text} bytes from {tool} {shown} with `{path}`");
        }
    }
}

#[test]
fn a_file_that_no_memory_can_be_does_not_end_or_hang_the_server() {
    if missing(&["bash", "truncate", "mkfifo"]) {
        return;
    }
    let makers =
        ["truncate -s 1T \"$F\"", "mkfifo \"$F\"", "mkdir \"$F\"", "ln -s \"$F\" \"$F\"", "ln -s /dev/zero \"$F\""];
    let files = [
        ".memory_journal",
        ".memory.lock",
        "memory/events.md",
        "memory/MEMORY.md",
        "memory/mood_state.md",
        ".mood_state_aux",
        "memory/life_log.md",
    ];
    for maker in makers {
        for file in files {
            let workspace = Workspace::new();
            let made = bash(&workspace, maker).env("F", workspace.path(file)).status().unwrap();
            assert!(made.success(), "{maker} {file}");
            let mut server = Server::start(&workspace);
            let calls = [
                ("list_events", json!({})),
                ("get_overview", json!({})),
                ("append_event", json!({"type": "重要事件", "content": "一"})),
                ("update_mood", json!({"note": "一"})),
                ("add_unresolved", json!({"text": "一", "kind": "chore"})),
            ];
            for (tool, arguments) in calls {
                if let Err(refusal) = server.call(tool, arguments) {
                    assert_eq!(refusal.code, "unreadable", "{tool} with {maker} {file}: {refusal:?}");
                }
            }
            assert_bounded(server.pid(), maker);
            assert_ends(&mut server);
        }
    }
}

/// A client on sockets that reads nothing unless it is told to.
struct Silent {
    child: Child,
    stdin: UnixStream,
    stdout: UnixStream,
}

impl Silent {
    fn start(workspace: &Workspace) -> Self {
        let (stdin, their_stdin) = UnixStream::pair().unwrap();
        let (stdout, their_stdout) = UnixStream::pair().unwrap();
        let mut command = workspace.command();
        command
            .arg("serve")
            .stdin(OwnedFd::from(their_stdin))
            .stdout(OwnedFd::from(their_stdout))
            .stderr(Stdio::null());
        let child = command.spawn().unwrap();
        let mut client = Self { child, stdin, stdout };
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "silent", "version": "1"}}});
        writeln!(client.stdin, "{hello}\n{}", json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))
            .unwrap();
        client
    }

    /// Writes the line with ever new ids until the server takes no more for a while, or so many bytes are out.
    fn flood(&mut self, line: &str, bytes: usize) -> usize {
        self.stdin.set_write_timeout(Some(Duration::from_millis(1_500))).unwrap();
        let (mut sent, mut id) = (0, 0_u64);
        while sent < bytes {
            let mut batch = String::new();
            while batch.len() < 256 << 10 {
                id += 1;
                batch += &line.replacen("ID", &id.to_string(), 1);
                batch += "\n";
            }
            if self.stdin.write_all(batch.as_bytes()).is_err() {
                break;
            }
            sent += batch.len();
        }
        sent
    }

    /// Closes stdin and leaves stdout unread: the server must end nevertheless.
    fn ends_after_stdin(mut self) {
        let _ = self.stdin.shutdown(Shutdown::Write);
        let (sender, ended) = std::sync::mpsc::channel();
        let pid = self.child.id();
        thread::spawn(move || sender.send(self.child.wait().unwrap()));
        let Ok(status) = ended.recv_timeout(END) else {
            let _ = std::process::Command::new("kill").args(["-KILL", &pid.to_string()]).status();
            panic!("the server outlives its stdin");
        };
        assert_eq!(status.code(), Some(0), "{status}");
        let mut rest = Vec::new();
        let _ = self.stdout.read_to_end(&mut rest);
    }
}
