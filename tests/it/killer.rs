//! Servers and bash procedures at work on one workspace, all of them killed at random moments, again and again. What was
//! answered is there, once and whole; what was not answered is there whole or not at all.

use crate::{
    attack::{Tally, count},
    support::{Dice, Refusal, Server, Workspace, bash, index_with, missing},
};
use regex::Regex;
use serde_json::{Value, json};
use std::{
    collections::BTreeMap,
    io::{BufRead, BufReader},
    process::Stdio,
    thread,
    time::{Duration, Instant},
};

const SERVERS: usize = 4;
const BASH_WRITERS: usize = 2;
const PIPELINED: usize = 60;
/// The latest moment of a kill, behind the handshake.
const LATEST_US: u64 = 300_000;
const WAIT: Duration = Duration::from_mins(1);

/// Appends under the lock for as long as it lives, and tells of each event once the lock is free again. Not by bash's own
/// `printf`: that writes line by line, and a kill between two lines would be bash's torn entry, not ours.
const BASH_LOOP: &str = r#"
for n in $(seq 1 1000); do
  exec 9>"$WORKSPACE_DIR/.memory.lock"
  flock -x -w 60 9 > /dev/null
  last=$(grep -oP '^### \[E\K[0-9]+(?=\])' memory/events.md | sed 's/^0*//' | sort -n | tail -n 1 || true)
  next=$(printf '%03d' $((10#${last:-0} + 1)))
  env printf '\n### [E%s] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：%s之%s\n**状态**：待跟进\n' "$next" "$NAME" "$n" >> memory/events.md
  exec 9>&-
  echo "E$next $NAME之$n"
done
"#;

const FIRST_WORRY: &str =
    "- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 起头\n";

/// What was answered: ids by text. A mood has no id; only that it was answered counts.
type Promised = BTreeMap<String, String>;

/// A server with many calls in hand, killed at a random moment; what it answered until then.
fn kill_a_server(workspace: &Workspace, name: &str, after: Duration) -> Promised {
    let mut server = Server::start(workspace);
    let mut texts = BTreeMap::new();
    for n in 0..PIPELINED {
        let text = format!("{name}之{n}");
        let (tool, arguments): (_, Value) = match n % 3 {
            0 => ("append_event", json!({"type": "用户Todo", "content": text, "date": "2026-04-13"})),
            1 => ("add_unresolved", json!({"text": text})),
            // The side file counts comforts: none after a turn for the worse.
            _ if n % 2 == 0 => ("update_mood", json!({"delta_valence": 0.01, "note": "上"})),
            // Further down than up, so that a rise always comforts: above 0 none does.
            _ => ("update_mood", json!({"delta_valence": -0.03, "note": "下"})),
        };
        texts.insert(server.start_call(tool, arguments), text);
    }
    let mut answers = server.answers_until(Instant::now() + after);
    server.signal("KILL");
    server.exit_within(WAIT).expect("killed");
    // What was answered before the kill is still in the pipe.
    answers.extend(server.answers_until(Instant::now() + WAIT));
    let answered = answers.into_iter().filter_map(|(call, answer)| Some((texts.remove(&call)?, answer)));
    let id_of = |answer| Refusal::or_result(&answer).unwrap()["id"].as_str().unwrap_or("").to_owned();
    answered.map(|(text, answer)| (text, id_of(answer))).collect()
}

fn kill_a_bash_procedure(workspace: &Workspace, name: &str, after: Duration) -> Promised {
    let mut child = bash(workspace, BASH_LOOP).env("NAME", name).stdout(Stdio::piped()).spawn().unwrap();
    let mut told = BufReader::new(child.stdout.take().unwrap());
    let killer = thread::spawn(move || {
        thread::sleep(after);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let mut promised = Promised::new();
    let mut line = String::new();
    // Without its end it is what the kill left of a line.
    while told.read_line(&mut line).unwrap() > 0 && line.ends_with('\n') {
        let (id, text) = line.trim_end().split_once(' ').unwrap();
        promised.insert(text.to_owned(), id.to_owned());
        line.clear();
    }
    killer.join().unwrap();
    promised
}

/// Entries by text, and what is wrong with the file: something torn, something twice.
fn entries(text: &str, head: &str, entry: &Regex) -> Result<Promised, String> {
    let rest = entry.replace_all(text, "");
    if rest != head {
        return Err(format!("  torn: {rest:?}"));
    }
    let (mut by_text, mut by_id) = (Promised::new(), BTreeMap::new());
    for found in entry.captures_iter(text) {
        let (id, text) = (found[1].to_owned(), found[2].to_owned());
        if let Some(other) = by_id.insert(id.clone(), text.clone()) {
            return Err(format!("  doubled: {id} is {other:?} and {text:?}"));
        }
        if let Some(other) = by_text.insert(text.clone(), id.clone()) {
            return Err(format!("  doubled: {text:?} is {other} and {id}"));
        }
    }
    Ok(by_text)
}

/// The newest three: nobody here has a due date.
fn expected_index(events: &Promised) -> String {
    let mut newest: Vec<_> = events.iter().map(|(text, id)| (id[1..].parse::<u32>().unwrap(), id, text)).collect();
    newest.sort_unstable_by(|a, b| b.cmp(a));
    let items: Vec<_> = newest.iter().take(3).map(|(_, id, text)| format!("- [{id}] 用户Todo · {text}")).collect();
    index_with(&items.join("\n"))
}

struct Checker {
    event: Regex,
    worry: Regex,
    snapshot: Regex,
}

impl Checker {
    fn new() -> Self {
        let regex = |text| Regex::new(text).unwrap();
        Self {
            event: regex(
                r"\n### \[(E\d{3,})\] 2026-04-13 · 用户Todo\n\*\*类型\*\*：用户Todo\n\*\*内容\*\*：(.*)\n\*\*状态\*\*：待跟进\n",
            ),
            worry: regex(
                r"- \[(U\d{3,})\] src=user_told kind=user_told decay_d=never last_touched=\(never\) forced_echo_last=\(never\) (.*)\n",
            ),
            snapshot: regex(r"\n### \S{16} · source=conversation\nvalence: (.*)\nenergy: 0.50\nnote: (上|下)\n"),
        }
    }

    fn check(&self, workspace: &Workspace, promised: &Promised) -> Result<(), String> {
        let events = entries(&workspace.events(), "# 事件记录\n", &self.event)?;
        let worries = entries(&workspace.read("memory/unresolved.md"), "# 未完挂念\n\n\n## 已淡忘\n", &self.worry)?;
        let of = |id: &str| if id.starts_with('E') { &events } else { &worries };
        let lost = promised.iter().filter(|(_, id)| !id.is_empty()).find(|(text, id)| of(id).get(*text) != Some(id));
        if let Some((text, id)) = lost {
            return Err(format!("  lost: {text:?} was promised as {id}, and is {:?}", of(id).get(text)));
        }
        if workspace.index() != expected_index(&events) {
            return Err(format!("  torn: the index is not that of the events: {}", workspace.index()));
        }
        let mood = workspace.read("memory/mood_state.md");
        let valences: Vec<_> = self.snapshot.captures_iter(&mood).map(|found| found[1].to_owned()).collect();
        let head =
            format!("valence: {}\nenergy: 0.50\n\n---\n\n## 快照历史\n", valences.first().map_or("-0.90", |v| v));
        if self.snapshot.replace_all(&mood, "") != head || valences.len() > 10 {
            return Err(format!("  torn: the mood: {mood}"));
        }
        let newest = self.snapshot.captures(&mood).map(|found| found[2].to_owned());
        let is_comforted = !workspace.read(".mood_state_aux").contains("consecutive_g4c_count: 0\n");
        if newest.is_some_and(|note| (note == "上") != is_comforted) {
            return Err(format!("  torn: the mood and its side file: {mood}"));
        }
        let names = workspace.memory_names();
        if names != ["MEMORY.md", "events.md", "mood_state.md", "unresolved.md"]
            || workspace.path(".memory_conflicts").exists()
        {
            return Err(format!("  torn: left over: {names:?}"));
        }
        Ok(())
    }
}

#[test]
fn nothing_answered_is_lost_when_everybody_is_killed_at_random() {
    if missing(&["bash", "flock", "grep"]) {
        return;
    }
    let rounds = std::env::var("CRASH_ROUNDS").ok().and_then(|rounds| rounds.parse().ok()).unwrap_or(25);
    let mut dice = Dice::thrown_for("kills");
    let workspace = Workspace::in_memory()
        .file("memory/events.md", "# 事件记录\n")
        .file("memory/MEMORY.md", index_with("（暂无）"))
        .file("memory/unresolved.md", format!("# 未完挂念\n\n{FIRST_WORRY}\n## 已淡忘\n"))
        .file("memory/mood_state.md", "valence: -0.90\nenergy: 0.50\n\n---\n\n## 快照历史\n")
        .file(".mood_state_aux", "consecutive_g4c_count: 0\n");
    let checker = Checker::new();
    let mut promised = Promised::from([("起头".to_owned(), "U001".to_owned())]);
    let mut tally = Tally::default();
    for round in 0..rounds {
        let mut after = || Duration::from_micros(dice.below(LATEST_US));
        thread::scope(|scope| {
            let workspace = &workspace;
            let mut writers = Vec::new();
            for writer in 0..SERVERS + BASH_WRITERS {
                let (name, after) = (format!("{round}之{writer}"), after());
                let work = if writer < SERVERS { kill_a_server } else { kill_a_bash_procedure };
                writers.push(scope.spawn(move || work(workspace, &name, after)));
            }
            promised.extend(writers.into_iter().flat_map(|writer| writer.join().unwrap()));
        });
        let text = format!("{round}之后");
        let arguments = json!({"type": "用户Todo", "content": text, "date": "2026-04-13"});
        let id = workspace.ok("append_event", arguments)["id"].as_str().unwrap().to_owned();
        promised.insert(text, id);
        tally.attempt(&format!("round {round}"), || checker.check(&workspace, &promised));
    }
    count("kills of servers and shell writers", rounds * (SERVERS + BASH_WRITERS));
    for word in ["lost", "torn", "doubled"] {
        let what = format!("calls answered among the kills, {word}");
        count(&what, promised.len());
        count(&format!("{what}: wrong"), tally.failures(word));
    }
    tally.end("rounds of kills");
}
