//! `demo`: the main job in one command, over a real connection and beside a real bash writer.

#![expect(clippy::disallowed_methods, reason = "shows the files that the server wrote, in a folder of its own")]

use std::{
    env, fs,
    io::{self, BufRead as _, BufReader, Write as _},
    path::{Path, PathBuf},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
};

use serde_json::{Value, json};

use super::Failure;
use crate::{messages::sample, ops::Context, workspace};

/// A bash procedure as it should be: under the lock, numbering by the headings, in decimal.
const BASH_WRITER: &str = r#"
events="$1/memory/events.md"
for i in 1 2 3 4 5 6 7 8; do
  exec 9>"$1/.memory.lock"
  flock -x -w 10 9 || exit 1
  last=$(sed -n 's/^### \[E\([0-9][0-9]*\)\].*/\1/p' "$events" | sort -n | tail -n 1)
  id=$(printf '%03d' $((10#${last:-0} + 1)))
  printf '\n### [E%s] %s · 用户Todo\n**类型**：用户Todo\n**内容**：bash 写的第 %s 件小事\n**状态**：已关闭\n' \
    "$id" "$(date +%Y-%m-%d)" "$i" >> "$events"
  flock -u 9
  exec 9>&-
  sleep 0.01
done
"#;

pub(super) fn run(context: &Context) -> Result<(), Failure> {
    let mut out = io::stdout();
    let folder = env::temp_dir().join(format!("companion-memory-demo-{}", std::process::id()));
    workspace::init(&folder)?;
    writeln!(out, "A new workspace: {}\n", folder.display())?;

    let writer = start_bash_writer(&folder)?;
    match &writer {
        Some(_) => writeln!(out, "A bash loop begins to append to the same events.md, under the same flock.\n")?,
        None => writeln!(out, "`bash` or `flock` is not here, so no other program writes meanwhile.\n")?,
    }
    let mut client = Client::start(&folder)?;
    converse(&mut client, context, &mut out)?;
    if let Some(mut writer) = writer {
        let status = writer.wait()?;
        writeln!(out, "The bash loop ended: {status}\n")?;
    }
    distill(&mut client, context, &folder, &mut out)?;
    // One more event behind the last one of bash.
    client.call(&mut out, "append_event", &json!({"type": "重要事件", "content": "她说今天聊完轻松多了"}))?;

    for name in ["events", "mood_state", "unresolved", "user_profile", "distill_state", "MEMORY"] {
        let file = format!("memory/{name}.md");
        writeln!(out, "── {file} ──\n{}", fs::read_to_string(folder.join(&file))?)?;
    }
    let verdict = check_numbers(&folder)?;
    writeln!(out, "{verdict}")?;
    client.stop()?;
    writeln!(out, "The workspace stays in {} for you to look at.", folder.display())?;
    Ok(())
}

/// One conversation, as an agent would remember it.
fn converse(client: &mut Client, context: &Context, out: &mut impl io::Write) -> Result<(), Failure> {
    let today = context.clock.now().date();
    let due = today.saturating_add(jiff::Span::new().days(4));
    writeln!(out, "The user quarrelled with her mother, and they agreed to see an exhibition.\n")?;
    client.call(
        out,
        "append_event",
        &json!({"type": "情绪事件", "content": "和妈妈吵了一架，哭了很久", "intensity": 4, "user_state": "委屈，又有点自责", "follow_up": "过两天问问和妈妈说话了没有"}),
    )?;
    client.call(
        out,
        "append_event",
        &json!({"type": "约定", "content": "一起去看展", "due_date": due.to_string(), "follow_up": "看完问她最喜欢哪一幅"}),
    )?;
    writeln!(out, "The model asks for more than one turn may move the mood; the server clamps it.\n")?;
    client.call(
        out,
        "update_mood",
        &json!({"delta_valence": -0.6, "delta_energy": -0.1, "note": "心疼她今天这么难过"}),
    )?;
    client.call(out, "add_unresolved", &json!({"text": "和妈妈的争吵还没有和好"}))?;
    client.call(out, "touch_last_active", &json!({}))?;
    Ok(())
}

/// The hourly job, as a model would do it over a small chat.
fn distill(client: &mut Client, context: &Context, folder: &Path, out: &mut impl io::Write) -> Result<(), Failure> {
    writeln!(out, "An hour later: what was said meanwhile is distilled.\n")?;
    let chat = [
        ("user", "我妈的体检结果出来了，没事"),
        ("assistant", "太好了，这下可以放心了"),
        ("user", "对了，我搬到杭州了"),
    ];
    sample::make(&folder.join("chat.db"), "p2p:demo", &chat, &context.clock.now()).map_err(io::Error::other)?;
    let session = folder.join("sessions/demo");
    fs::create_dir_all(&session)?;
    fs::write(session.join("SESSION_CONTEXT.md"), "- Channel key: p2p:demo\n- DB path: chat.db\n")?;
    let index = folder.join("memory/MEMORY.md");
    fs::write(
        &index,
        fs::read_to_string(&index)?.replace("initialization_status: pending", "initialization_status: done"),
    )?;

    let begun = client.call(out, "distill_begin", &json!({}))?;
    let found = json!({
        "token": begun.get("token"),
        "profile": [{"action": "set", "section": "基本信息", "key": "城市", "text": "杭州"}],
        "events": [{"type": "重要事件", "content": "她妈妈的体检结果没事"}],
    });
    client.call(out, "distill_commit", &found)?;
    Ok(())
}

fn start_bash_writer(folder: &Path) -> io::Result<Option<Child>> {
    let found =
        Command::new("bash").args(["-c", "command -v flock"]).stdout(Stdio::null()).stderr(Stdio::null()).status();
    if !found.is_ok_and(|status| status.success()) {
        return Ok(None);
    }
    Command::new("bash").args(["-c", BASH_WRITER, "bash"]).arg(folder).spawn().map(Some)
}

/// Counts what the file really holds, line by line.
fn check_numbers(folder: &Path) -> Result<String, Failure> {
    let events = fs::read_to_string(folder.join("memory/events.md"))?;
    let headings =
        events.lines().filter_map(|line| line.strip_prefix("### [E")?.split_once(']')?.0.parse::<usize>().ok());
    let mut numbers: Vec<_> = headings.filter(|number| *number > 0).collect();
    numbers.sort_unstable();
    let count = numbers.len();
    if numbers.into_iter().eq(1..=count) {
        Ok(format!("{count} events, numbered 1 to {count}: none is missing, none is there twice."))
    } else {
        Err(Failure::Io(io::Error::other("a number is missing or there twice; this is a fault of companion-memory")))
    }
}

/// A small MCP client, speaking to this same program as a server.
struct Client {
    server: Child,
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    last_id: u64,
}

impl Client {
    fn start(folder: &Path) -> io::Result<Self> {
        let program: PathBuf = env::current_exe()?;
        let mut server = Command::new(program)
            .arg("serve")
            .arg("--workspace")
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(input), Some(output)) = (server.stdin.take(), server.stdout.take()) else {
            return Err(io::Error::other("the server has no pipes"));
        };
        let mut client = Self { server, input, output: BufReader::new(output), last_id: 0 };
        let about = json!({"name": "companion-memory demo", "version": env!("CARGO_PKG_VERSION")});
        client.request(
            "initialize",
            &json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": about}),
        )?;
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}))?;
        Ok(client)
    }

    fn send(&mut self, message: &Value) -> io::Result<()> {
        writeln!(self.input, "{message}")?;
        self.input.flush()
    }

    fn request(&mut self, method: &str, params: &Value) -> io::Result<Value> {
        self.last_id += 1;
        self.send(&json!({"jsonrpc": "2.0", "id": self.last_id, "method": method, "params": params}))?;
        let mut line = String::new();
        self.output.read_line(&mut line)?;
        let answer: Value = serde_json::from_str(&line)?;
        answer.get("result").cloned().ok_or_else(|| io::Error::other(format!("the server answered {answer}")))
    }

    /// Makes a call, shows it, and answers its result.
    fn call(&mut self, out: &mut impl io::Write, tool: &str, arguments: &Value) -> Result<Value, Failure> {
        writeln!(out, "→ {tool} {arguments}")?;
        let result = self.request("tools/call", &json!({"name": tool, "arguments": arguments}))?;
        let answer = result.pointer("/content/0/text").and_then(Value::as_str).unwrap_or("");
        writeln!(out, "← {answer}\n")?;
        if result.get("isError") == Some(&Value::Bool(true)) {
            return Err(Failure::Io(io::Error::other(format!("`{tool}` was refused"))));
        }
        Ok(result.get("structuredContent").cloned().unwrap_or_default())
    }

    /// Ends the server by closing its input, as clients do.
    fn stop(self) -> io::Result<()> {
        let Self { mut server, input, .. } = self;
        drop(input);
        let status = server.wait()?;
        if status.success() { Ok(()) } else { Err(io::Error::other(format!("the server ended with {status}"))) }
    }
}
