//! The server as a child process: JSON-RPC over its standard streams, with a deadline on every wait.

use super::{Answer, Refusal, Workspace};
use serde_json::{Value, json};
use std::{
    collections::{HashMap, VecDeque},
    io::{self, BufRead, BufReader, Read, Write},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

/// How long an answer may take on a busy machine. Only a hanging server gets near it.
pub(crate) const ANSWER_DEADLINE: Duration = Duration::from_mins(1);

pub(crate) struct Server {
    pid: u32,
    stdin: Option<Box<dyn Write + Send>>,
    lines: Receiver<String>,
    exit: Receiver<ExitStatus>,
    exited: Option<ExitStatus>,
    answers: HashMap<u64, Value>,
    /// Messages that belong to no request of ours: notifications, and errors without an id.
    strays: VecDeque<Value>,
    last_id: u64,
}

impl Server {
    /// A server on `workspace`, after the handshake.
    pub(crate) fn start(workspace: &Workspace) -> Self {
        let mut server = Self::spawn(workspace.command());
        server.initialize("2025-06-18");
        server
    }

    /// Runs `command` with pipes, without a handshake.
    pub(crate) fn spawn(mut command: Command) -> Self {
        command.arg("serve").stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let (stdin, stdout) = (child.stdin.take().unwrap(), child.stdout.take().unwrap());
        Self::on_streams(child, stdin, stdout)
    }

    /// Drives a child that already has its streams, whatever they are.
    pub(crate) fn on_streams(
        mut child: Child,
        stdin: impl Write + Send + 'static,
        stdout: impl Read + Send + 'static,
    ) -> Self {
        let (line_sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let mut stdout = BufReader::new(stdout);
            let mut line = String::new();
            // A line without its end is what a kill left of a message.
            while stdout.read_line(&mut line).is_ok() && line.ends_with('\n') {
                if line_sender.send(std::mem::take(&mut line)).is_err() {
                    return;
                }
            }
        });
        let pid = child.id();
        let (exit_sender, exit) = mpsc::channel();
        thread::spawn(move || {
            let _ = exit_sender.send(child.wait().unwrap());
        });
        Self {
            pid,
            stdin: Some(Box::new(stdin)),
            lines,
            exit,
            exited: None,
            answers: HashMap::new(),
            strays: VecDeque::new(),
            last_id: 0,
        }
    }

    /// The handshake up to 2025-11-25; its result.
    pub(crate) fn initialize(&mut self, version: &str) -> Value {
        let client =
            json!({"protocolVersion": version, "capabilities": {}, "clientInfo": {"name": "tests", "version": "1"}});
        let answer = self.ask("initialize", client);
        self.notify("notifications/initialized", json!({}));
        answer["result"].clone()
    }

    /// Writes bytes as they are.
    pub(crate) fn send_raw(&mut self, bytes: &[u8]) -> io::Result<()> {
        let stdin = self.stdin.as_mut().expect("stdin is open");
        stdin.write_all(bytes)?;
        stdin.flush()
    }

    pub(crate) fn send(&mut self, message: &Value) {
        self.send_raw(format!("{message}\n").as_bytes()).unwrap();
    }

    pub(crate) fn notify(&mut self, method: &str, params: Value) {
        self.send(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
    }

    /// Sends a request and returns its id without waiting.
    pub(crate) fn request(&mut self, method: &str, params: Value) -> u64 {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}));
        self.last_id
    }

    pub(crate) fn start_call(&mut self, tool: &str, arguments: Value) -> u64 {
        self.request("tools/call", json!({"name": tool, "arguments": arguments}))
    }

    /// The answer to a request, in whatever order the server answers.
    pub(crate) fn answer(&mut self, id: u64) -> Value {
        self.answer_within(id, ANSWER_DEADLINE).unwrap_or_else(|| panic!("no answer to request {id}"))
    }

    /// The same, or nothing if it does not come in time.
    pub(crate) fn answer_within(&mut self, id: u64, time: Duration) -> Option<Value> {
        let deadline = Instant::now() + time;
        while !self.answers.contains_key(&id) && self.receive(deadline) {}
        self.answers.remove(&id)
    }

    pub(crate) fn ask(&mut self, method: &str, params: Value) -> Value {
        let id = self.request(method, params);
        self.answer(id)
    }

    pub(crate) fn call(&mut self, tool: &str, arguments: Value) -> Answer {
        let id = self.start_call(tool, arguments);
        self.finish_call(id)
    }

    pub(crate) fn finish_call(&mut self, id: u64) -> Answer {
        Refusal::or_result(&self.answer(id))
    }

    /// The next message that answers no request by its id.
    pub(crate) fn stray(&mut self) -> Value {
        let deadline = Instant::now() + ANSWER_DEADLINE;
        while self.strays.is_empty() && self.receive(deadline) {}
        self.strays.pop_front().expect("a message without an id of ours")
    }

    /// Every answer that has come or comes before `deadline`, by request.
    pub(crate) fn answers_until(&mut self, deadline: Instant) -> HashMap<u64, Value> {
        while self.receive(deadline) {}
        std::mem::take(&mut self.answers)
    }

    /// Takes one line; false at the deadline and at the end of the stream.
    fn receive(&mut self, deadline: Instant) -> bool {
        let Ok(line) = self.lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) else {
            return false;
        };
        let message: Value =
            serde_json::from_str(&line).unwrap_or_else(|e| panic!("stdout is for messages only: {e} in {line:?}"));
        assert_eq!(message["jsonrpc"], "2.0", "stdout is for messages only: {line}");
        match message.get("id").and_then(Value::as_u64) {
            Some(id) if message.get("method").is_none() => {
                assert!(self.answers.insert(id, message).is_none(), "two answers to request {id}");
            }
            _ => self.strays.push_back(message),
        }
        true
    }

    pub(crate) fn pid(&self) -> u32 {
        self.pid
    }

    pub(crate) fn close_stdin(&mut self) {
        self.stdin = None;
    }

    /// Sends a signal by its name, as a shell does.
    pub(crate) fn signal(&mut self, name: &str) {
        let sent = Command::new("kill").args([format!("-{name}"), self.pid.to_string()]).status().unwrap();
        assert!(sent.success(), "the server is gone already");
    }

    /// How the server ended, or nothing if it still runs at the deadline.
    pub(crate) fn exit_within(&mut self, time: Duration) -> Option<ExitStatus> {
        if self.exited.is_none() {
            self.exited = self.exit.recv_timeout(time).ok();
        }
        self.exited
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.stdin = None;
        if self.exit_within(Duration::ZERO).is_none() {
            let _ = Command::new("kill").args(["-KILL", &self.pid.to_string()]).stderr(Stdio::null()).status();
            self.exit_within(ANSWER_DEADLINE);
        }
    }
}
