//! The Model Context Protocol over standard streams: both eras, and lines that are no requests.

use crate::support::{ANSWER_DEADLINE, Outcome, Refusal, Server, Workspace, index_with, program};
use serde_json::{Value, json};
use std::{
    fs::File,
    io::{self, Read},
    os::{fd::OwnedFd, unix::net::UnixStream},
    process::Stdio,
    sync::mpsc::{self, Receiver, Sender},
    time::Duration,
};

const LEGACY: [&str; 4] = ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"];
const STATELESS: &str = "2026-07-28";
const PARSE_ERROR: i64 = -32700;

fn workspace() -> Workspace {
    Workspace::new().file("memory/events.md", "# 事件记录\n").file("memory/MEMORY.md", index_with("（暂无）"))
}

/// What every request of the stateless era carries.
fn meta() -> Value {
    json!({
        "io.modelcontextprotocol/protocolVersion": STATELESS,
        "io.modelcontextprotocol/clientInfo": {"name": "tests", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    })
}

fn todo(content: &str) -> Value {
    json!({"name": "append_event", "arguments": {"type": "用户Todo", "content": content}})
}

fn tool_names(answer: &Value) -> Vec<String> {
    answer["result"]["tools"].as_array().unwrap().iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect()
}

/// Whether a key stands anywhere in a value.
fn has_key(value: &Value, key: &str) -> bool {
    match value {
        Value::Object(map) => map.contains_key(key) || map.values().any(|v| has_key(v, key)),
        Value::Array(all) => all.iter().any(|v| has_key(v, key)),
        _ => false,
    }
}

// Eras

#[test]
fn every_version_with_a_handshake_is_served() {
    for version in LEGACY {
        let workspace = workspace();
        let mut server = Server::spawn(workspace.command());
        let greeting = server.initialize(version);
        assert_eq!(greeting["protocolVersion"], version);
        assert_eq!(greeting["serverInfo"]["name"], "companion-memory");
        assert_eq!(greeting["serverInfo"]["version"], env!("CARGO_PKG_VERSION"));
        assert!(greeting["capabilities"]["tools"].is_object(), "{greeting}");
        for deprecated in ["logging", "roots", "sampling"] {
            assert!(greeting["capabilities"].get(deprecated).is_none(), "{greeting}");
        }
        assert_eq!(server.ask("ping", json!({}))["result"], json!({}));
        let listed = server.ask("tools/list", json!({}));
        assert!(tool_names(&listed).contains(&"append_event".to_owned()));
        for key in ["ttlMs", "cacheScope", "resultType"] {
            assert!(!has_key(&listed["result"], key), "{key} leaks to {version}");
        }
        let called = server.ask("tools/call", todo("买伞"));
        assert!(called["result"].get("resultType").is_none(), "{called}");
        assert_eq!(Refusal::or_result(&called), Ok(json!({"id": "E001"})));
    }
}

#[test]
fn an_unknown_version_is_answered_with_one_that_is_served() {
    let workspace = workspace();
    let mut server = Server::spawn(workspace.command());
    let version = server.initialize("2019-01-01")["protocolVersion"].clone();
    assert!(LEGACY.contains(&version.as_str().unwrap()), "{version}");
    assert_eq!(server.call("append_event", todo("买伞")["arguments"].clone()).unwrap()["id"], "E001");
}

#[test]
fn the_instructions_are_short_and_say_when_to_call_what() {
    let workspace = workspace();
    let greeting = Server::spawn(workspace.command()).initialize("2025-06-18");
    let instructions = greeting["instructions"].as_str().unwrap();
    // One client cuts them at 2,048 characters.
    assert!(instructions.chars().count() < 2000, "{} characters", instructions.chars().count());
    assert!(instructions.contains("append_event"), "{instructions}");
}

#[test]
fn a_stateless_client_needs_no_handshake() {
    let workspace = workspace();
    let mut server = Server::spawn(workspace.command());
    let discovered = server.ask("server/discover", json!({"_meta": meta()}));
    let result = &discovered["result"];
    let versions: Vec<_> =
        result["supportedVersions"].as_array().unwrap().iter().map(|v| v.as_str().unwrap()).collect();
    for version in LEGACY.into_iter().chain([STATELESS]) {
        assert!(versions.contains(&version), "{version}: {discovered}");
    }
    assert!(result["capabilities"]["tools"].is_object(), "{discovered}");
    assert_eq!(result["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "companion-memory");

    let listed = server.ask("tools/list", json!({"_meta": meta()}));
    assert!(listed["result"].get("ttlMs").is_some() && listed["result"].get("cacheScope").is_some(), "{listed}");
    let mut legacy = Server::start(&workspace);
    assert_eq!(tool_names(&listed), tool_names(&legacy.ask("tools/list", json!({}))), "one list in one order");

    let mut call = todo("买伞");
    call["_meta"] = meta();
    let called = server.ask("tools/call", call);
    assert_eq!(called["result"]["resultType"], "complete", "{called}");
    assert_eq!(Refusal::or_result(&called), Ok(json!({"id": "E001"})));
}

#[test]
fn a_stateless_client_may_begin_with_a_call() {
    let workspace = workspace();
    let mut server = Server::spawn(workspace.command());
    let mut call = todo("买伞");
    call["_meta"] = meta();
    let id = server.request("tools/call", call.clone());
    assert_eq!(server.finish_call(id), Ok(json!({"id": "E001"})));
    // Nothing depends on the connection: another process goes on.
    let mut other = Server::spawn(workspace.command());
    let id = other.request("tools/call", call);
    assert_eq!(other.finish_call(id).unwrap()["id"], "E002");
}

#[test]
fn the_handshake_is_answered_before_the_workspace_is_touched() {
    let nowhere = Workspace::without_memory();
    let mut server = Server::start(&nowhere);
    assert!(!tool_names(&server.ask("tools/list", json!({}))).is_empty());
    let refusal = server.call("append_event", todo("买伞")["arguments"].clone()).unwrap_err();
    assert_eq!(refusal.code, "no_workspace");
    let text = format!("{} {}", refusal.message, refusal.hint);
    assert!(text.contains(nowhere.root().to_str().unwrap()) && text.contains("companion-memory init"), "{refusal:?}");
    assert_eq!(std::fs::read_dir(nowhere.root()).unwrap().count(), 0, "something was created");
    // It comes into being while the server runs.
    nowhere.write("memory/MEMORY.md", index_with("（暂无）"));
    assert_eq!(server.call("append_event", todo("买伞")["arguments"].clone()), Ok(json!({"id": "E001"})));
}

// Errors

#[test]
fn an_unknown_tool_is_a_protocol_error() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let answer = server.ask("tools/call", json!({"name": "append_events", "arguments": {}}));
    assert!(answer.get("result").is_none(), "{answer}");
    assert_eq!(answer["error"]["code"], -32602, "{answer}");
    assert!(answer["error"]["message"].as_str().unwrap().contains("append_events"), "{answer}");
}

#[test]
fn a_malformed_request_is_a_protocol_error() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    for params in [
        json!({}),
        json!({"arguments": {}}),
        json!({"name": 5, "arguments": {}}),
        json!({"name": "append_event", "arguments": []}),
        json!({"name": "append_event", "arguments": "甲"}),
    ] {
        let answer = server.ask("tools/call", params.clone());
        assert!(answer.get("result").is_none(), "{params}: {answer}");
        assert_eq!(answer["error"]["code"], -32602, "{params}: {answer}");
    }
    let answer = server.ask("memory/forget", json!({}));
    assert_eq!(answer["error"]["code"], -32601, "{answer}");
    assert_eq!(server.call("append_event", todo("买伞")["arguments"].clone()), Ok(json!({"id": "E001"})));
}

#[test]
fn bad_arguments_are_a_result_that_the_model_sees() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let before = workspace.tree();
    for (params, code) in [
        (json!({"name": "append_event"}), "missing_argument"),
        (json!({"name": "append_event", "arguments": {}}), "missing_argument"),
        (json!({"name": "append_event", "arguments": {"type": 7, "content": "买伞"}}), "invalid_argument"),
        (json!({"name": "append_event", "arguments": {"type": "用户Todo", "content": ["买伞"]}}), "invalid_argument"),
        (
            json!({"name": "append_event", "arguments": {"type": "用户Todo", "content": "买伞", "when": "今天"}}),
            "unknown_argument",
        ),
        (json!({"name": "update_event", "arguments": {"id": "E099", "status": "已关闭"}}), "not_found"),
    ] {
        let answer = server.ask("tools/call", params.clone());
        assert_eq!(answer["result"]["isError"], true, "{params}: {answer}");
        let keys: Vec<_> = answer["result"].as_object().unwrap().keys().collect();
        assert_eq!(keys, ["content", "isError"], "{params}");
        assert_eq!(answer["result"]["content"].as_array().unwrap().len(), 1);
        assert_eq!(answer["result"]["content"][0]["type"], "text");
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 2, "{text:?}");
        assert!(lines[0].starts_with(&format!("{code}: ")) && lines[1].starts_with("hint: "), "{params}: {text:?}");
    }
    assert_eq!(workspace.tree(), before);
}

// Streams

#[test]
fn unix_sockets_serve_as_standard_streams() {
    let workspace = workspace();
    let (ours, theirs) = UnixStream::pair().unwrap();
    let mut command = workspace.command();
    command
        .arg("serve")
        .stdin(OwnedFd::from(theirs.try_clone().unwrap()))
        .stdout(OwnedFd::from(theirs))
        .stderr(Stdio::null());
    let child = command.spawn().unwrap();
    drop(command); // It holds the other end.
    let mut server = Server::on_streams(child, ours.try_clone().unwrap(), ours.try_clone().unwrap());
    server.initialize("2025-11-25");
    let calls: Vec<_> = (1..=50).map(|n| server.request("tools/call", todo(&format!("第{n}件")))).collect();
    for (call, n) in calls.into_iter().zip(1..) {
        assert_eq!(server.finish_call(call).unwrap()["id"], format!("E{n:03}"));
    }
    ours.shutdown(std::net::Shutdown::Write).unwrap();
    let status = server.exit_within(Duration::from_secs(2)).expect("the server still runs");
    assert_eq!(status.code(), Some(0));
}

/// Answers that nobody reads until the sender of this is dropped.
struct Gate<R> {
    opened: Receiver<()>,
    stream: R,
}

impl<R: Read> Read for Gate<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // An error says that the sender is gone.
        let _ = self.opened.recv();
        self.stream.read(buffer)
    }
}

/// A server with far more to say than a pipe holds, and a client that does not listen.
fn unheard_server(workspace: &Workspace) -> (Server, Sender<()>, Vec<u64>) {
    workspace.write("memory/RECENT_HISTORY.md", "历史的一行\n".repeat(1500));
    let mut command = workspace.command();
    let mut child =
        command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let (gate, opened) = mpsc::channel();
    let (stdin, stream) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
    let mut server = Server::on_streams(child, stdin, Gate { opened, stream });
    let client =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}});
    server.request("initialize", client);
    server.notify("notifications/initialized", json!({}));
    let mut calls = Vec::new();
    for n in 0..30 {
        calls.push(server.start_call("read_memory", json!({"file": "history"})));
        calls.push(server.request("tools/call", todo(&format!("第{n}件"))));
    }
    // Nothing is read; this gives the server the time to fill the pipe.
    assert!(server.answer_within(calls[0], Duration::from_millis(500)).is_none());
    (server, gate, calls)
}

#[test]
fn a_client_that_does_not_read_keeps_nobody_from_the_lock() {
    let workspace = workspace();
    let (mut server, gate, calls) = unheard_server(&workspace);
    workspace.ok("add_unresolved", json!({"text": "甲"}));
    drop(gate);
    for call in calls {
        server.finish_call(call).unwrap();
    }
}

#[test]
fn a_server_whose_client_does_not_read_ends_in_time_too() {
    let ends: [fn(&mut Server); 2] = [Server::close_stdin, |server| server.signal("TERM")];
    for end in ends {
        let workspace = workspace();
        let (mut server, _gate, _) = unheard_server(&workspace);
        end(&mut server);
        let status = server.exit_within(Duration::from_secs(2)).expect("the server still runs after two seconds");
        assert_eq!(status.code(), Some(0), "{status}");
    }
}

#[test]
fn a_server_whose_client_is_gone_ends() {
    let workspace = workspace();
    let mut command = workspace.command();
    let mut child =
        command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let stdin = child.stdin.take().unwrap();
    drop(child.stdout.take());
    let mut server = Server::on_streams(child, stdin, io::empty());
    // Nobody will ever hear the answer to this, and stdin stays open.
    server.request("ping", json!({}));
    server.close_stdin();
    server.exit_within(Duration::from_secs(2)).expect("the server still runs after two seconds");
}

#[test]
fn a_file_serves_as_stdin_and_its_last_line_needs_no_newline() {
    let workspace = workspace();
    let client =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": todo("买伞")}),
    ];
    workspace.write("requests", lines.map(|l| l.to_string()).join("\n"));
    let mut command = workspace.command();
    command.arg("serve").stdin(File::open(workspace.path("requests")).unwrap()).stderr(Stdio::null());
    let output = command.output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    let answers: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|l| serde_json::from_str(l).unwrap()).collect();
    assert_eq!(answers.iter().map(|a| a["id"].clone()).collect::<Vec<_>>(), [1, 2]);
    assert_eq!(Refusal::or_result(&answers[1]), Ok(json!({"id": "E001"})));
}

#[test]
fn the_last_request_before_the_end_needs_no_newline() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let request = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": todo("买伞")});
    server.send_raw(request.to_string().as_bytes()).unwrap();
    server.close_stdin();
    assert_eq!(server.finish_call(77), Ok(json!({"id": "E001"})));
    assert_eq!(server.exit_within(Duration::from_secs(2)).expect("the server still runs").code(), Some(0));
}

#[test]
fn the_end_before_the_handshake_is_no_failure() {
    let workspace = workspace();
    let mut command = workspace.command();
    command.arg("serve");
    let outcome = Outcome::of(command, None);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
    // Without a subcommand it is the server too.
    let outcome = Outcome::of(program(), None);
    assert_eq!((outcome.status, outcome.stdout.as_str()), (Some(0), ""), "{outcome:?}");
}

#[test]
fn line_ends_and_blank_lines_of_other_systems_are_no_requests() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let request = json!({"jsonrpc": "2.0", "id": 77, "method": "tools/call", "params": todo("买伞")});
    server.send_raw(format!("\r\n\n{request}\r\n").as_bytes()).unwrap();
    assert_eq!(server.finish_call(77), Ok(json!({"id": "E001"})));
}

// Lines that are no requests

/// Sends a line, expects an error for it, and expects the server to live on.
fn is_answered_with_an_error(line: &[u8], id: Option<u64>) -> Value {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    server.send_raw(line).unwrap();
    server.send_raw(b"\n").unwrap();
    let answer = if let Some(id) = id {
        server.answer_within(id, ANSWER_DEADLINE).expect("an answer with the id that can be read")
    } else {
        let answer = server.stray();
        assert!(answer.get("id").is_none_or(Value::is_null), "{answer}");
        answer
    };
    assert!(answer["error"]["code"].is_i64() && answer.get("result").is_none(), "{answer}");
    assert_eq!(server.call("append_event", todo("买伞")["arguments"].clone()), Ok(json!({"id": "E001"})));
    answer
}

#[test]
fn a_line_that_is_not_json_is_answered() {
    for line in ["不是 JSON", "{\"jsonrpc\": \"2.0\", ", "}{"] {
        let answer = is_answered_with_an_error(line.as_bytes(), None);
        assert_eq!(answer["error"]["code"], PARSE_ERROR, "{line}: {answer}");
    }
}

#[test]
fn json_that_is_no_message_is_answered() {
    for line in ["17", "\"甲\"", "[]", "{}"] {
        is_answered_with_an_error(line.as_bytes(), None);
    }
}

#[test]
fn a_lone_surrogate_is_answered_with_its_id() {
    let line = r#"{"jsonrpc":"2.0","id":7001,"method":"tools/call","params":{"name":"append_event","arguments":{"type":"用户Todo","content":"半个\ud800"}}}"#;
    let answer = is_answered_with_an_error(line.as_bytes(), Some(7001));
    assert_eq!(answer["error"]["code"], PARSE_ERROR, "{answer}");
    // The id may also come last.
    let line = r#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"append_event","arguments":{"type":"用户Todo","content":"\udfff"}},"id":7002}"#;
    is_answered_with_an_error(line.as_bytes(), Some(7002));
    // One inside the parameters is not the request's.
    let line =
        r#"{"jsonrpc":"2.0","params":{"id":99,"name":"\ud800","arguments":{"id":98}},"id":7006,"method":"tools/call"}"#;
    is_answered_with_an_error(line.as_bytes(), Some(7006));
}

#[test]
fn an_id_that_is_half_a_character_itself_is_not_sent_back() {
    is_answered_with_an_error(br#"{"jsonrpc":"2.0","id":"\ud800","method":"tools/list"}"#, None);
}

#[test]
fn an_id_of_no_kind_that_an_id_has_is_not_sent_back() {
    for id in ["{}", "[7]", "true", "1.5"] {
        is_answered_with_an_error(format!(r#"{{"jsonrpc":"2.0","id":{id},"method":7}}"#).as_bytes(), None);
    }
}

#[test]
fn invalid_utf8_is_answered_with_its_id() {
    let mut line = br#"{"jsonrpc":"2.0","id":7003,"method":"tools/call","params":{"name":"append_event","arguments":{"type":"x","content":""#.to_vec();
    line.extend(b"\xff\xfe\"}}}");
    let answer = is_answered_with_an_error(&line, Some(7003));
    assert_eq!(answer["error"]["code"], PARSE_ERROR, "{answer}");
}

#[test]
fn a_line_over_four_mebibytes_is_answered_with_its_id() {
    let params = todo(&"x".repeat(5 << 20));
    let line = format!("{{\"jsonrpc\":\"2.0\",\"id\":7004,\"method\":\"tools/call\",\"params\":{params}}}");
    is_answered_with_an_error(line.as_bytes(), Some(7004));
}

#[test]
fn a_line_just_under_four_mebibytes_is_read() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let id = server.request("tools/call", todo(&"x".repeat((4 << 20) - 1000)));
    let refusal = server.finish_call(id).unwrap_err();
    assert_eq!(refusal.code, "invalid_argument");
    assert!(refusal.message.len() + refusal.hint.len() < 2000, "the text is not sent back");
}

#[test]
fn a_line_of_four_mebibytes_is_read_and_one_byte_more_is_not() {
    let line_of = |len: usize| {
        let head = format!("{{\"jsonrpc\":\"2.0\",\"id\":7005,\"method\":\"tools/call\",\"params\":{}", todo("甲"));
        format!("{head}{}}}", " ".repeat(len - head.len() - 1))
    };
    is_answered_with_an_error(line_of((4 << 20) + 1).as_bytes(), Some(7005));
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    server.send_raw(line_of(4 << 20).as_bytes()).unwrap();
    server.send_raw(b"\n").unwrap();
    assert_eq!(server.finish_call(7005), Ok(json!({"id": "E001"})));
}

#[test]
fn a_deeply_nested_line_is_answered() {
    let line = format!(
        "{{\"jsonrpc\":\"2.0\",\"id\":7005,\"method\":\"ping\",\"params\":{}{}}}",
        "[".repeat(100_000),
        "]".repeat(100_000)
    );
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    server.send_raw(format!("{line}\n").as_bytes()).unwrap();
    // With or without its id; what matters is that the server neither falls over nor keeps silent.
    let answer = server.answer_within(7005, Duration::from_secs(5)).unwrap_or_else(|| server.stray());
    assert!(answer["error"]["code"].is_i64(), "{answer}");
    assert_eq!(server.call("append_event", todo("买伞")["arguments"].clone()), Ok(json!({"id": "E001"})));
}

#[test]
fn ids_may_be_text() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    server.send(&json!({"jsonrpc": "2.0", "id": "一", "method": "tools/call", "params": todo("买伞")}));
    let answer = server.stray();
    assert_eq!(answer["id"], "一");
    assert_eq!(Refusal::or_result(&answer), Ok(json!({"id": "E001"})));
}

#[test]
fn no_memory_text_reaches_the_log() {
    let workspace = workspace();
    let mut command = workspace.command();
    command.args([
        "call",
        "append_event",
        &json!({"type": "用户Todo", "content": "悄悄话", "due_date": "悄悄话"}).to_string(),
    ]);
    let refused = Outcome::of(command, None);
    assert_eq!(refused.status, Some(1), "{refused:?}");

    let client =
        json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}});
    let lines = [
        json!({"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": client}),
        json!({"jsonrpc": "2.0", "method": "notifications/initialized"}),
        json!({"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": todo("悄悄话")}),
        json!({"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "no_tool", "arguments": {"content": "悄悄话"}}}),
    ];
    let input = lines.map(|l| format!("{l}\n")).concat() + "{\"id\": 9, \"悄悄话\n";
    let mut command = workspace.command();
    command.arg("serve");
    let outcome = Outcome::of(command, Some(&input));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(!outcome.stderr.contains("悄悄话"), "{}", outcome.stderr);
    assert!(workspace.events().contains("悄悄话"));
}

#[test]
fn a_panic_in_one_call_is_its_answer_and_the_server_lives_on() {
    let workspace = Workspace::new();
    // Every call takes at least these steps before its answer.
    for step in 1..=5 {
        let mut command = workspace.command();
        command.env("COMPANION_MEMORY_FAULT", format!("panic:{step}"));
        let mut server = Server::spawn(command);
        server.initialize("2025-06-18");
        let event = |content: String| json!({"type": "重要事件", "content": content});
        let first = server.start_call("append_event", event(format!("第{step}次，会中断")));
        let second = server.start_call("append_event", event(format!("第{step}次，之后")));
        let refusal = server.finish_call(first).expect_err("the step is reached");
        assert_eq!(refusal.code, "internal", "step {step}");
        let done = server.finish_call(second).expect("the server lives on");
        let id = done["id"].as_str().unwrap();
        assert!(workspace.events().contains(&format!("### [{id}]")), "step {step}");
    }
}
