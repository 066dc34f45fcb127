//! The server is killed at random moments. What it has answered is there; what it has not answered is there whole or not at all.

use crate::support::{Dice, Outcome, OutsideLock, Refusal, Server, Workspace, bash, index_with, missing};
use serde_json::json;
use std::{
    collections::BTreeMap,
    time::{Duration, Instant},
};

const WORKSPACES: u32 = 10;
const KILLS_EACH: u32 = 20;
const PIPELINED: u32 = 40;

/// Every event by its text. Stops where an entry is torn, a number stands twice, or a text stands twice.
fn events_by_text(workspace: &Workspace, context: &str) -> BTreeMap<String, String> {
    let events = workspace.events();
    let entry = regex::Regex::new(
        r"\n### \[(E\d{3,})\] 2026-04-13 · 用户Todo\n\*\*类型\*\*：用户Todo\n\*\*内容\*\*：(.*)\n\*\*状态\*\*：待跟进\n",
    )
    .unwrap();
    assert_eq!(entry.replace_all(&events, ""), "# 事件记录\n", "{context}: a torn entry");
    let (mut by_text, mut by_id) = (BTreeMap::new(), BTreeMap::new());
    for found in entry.captures_iter(&events) {
        let (id, text) = (found[1].to_owned(), found[2].to_owned());
        let twice = by_id.insert(id.clone(), text.clone());
        assert!(twice.is_none(), "{context}: {id} stands twice: {twice:?} and {text:?}");
        let twice = by_text.insert(text.clone(), id.clone());
        assert!(twice.is_none(), "{context}: {text:?} stands twice: {twice:?} and {id:?}");
    }
    by_text
}

fn number(id: &str) -> u32 {
    id[1..].parse().unwrap()
}

/// The index as it must be: nobody has a due date, so the newest three.
fn expected_index(by_text: &BTreeMap<String, String>) -> String {
    let mut newest: Vec<_> = by_text.iter().map(|(text, id)| (number(id), id, text)).collect();
    if newest.is_empty() {
        return index_with("（暂无）");
    }
    newest.sort_unstable_by(|a, b| b.cmp(a));
    let items: Vec<_> = newest.iter().take(3).map(|(_, id, text)| format!("- [{id}] 用户Todo · {text}")).collect();
    index_with(&items.join("\n"))
}

/// A foreign writer under the lock, numbering as the procedures should.
const BASH_APPEND: &str = r#"
exec 9>"$WORKSPACE_DIR/.memory.lock"
flock -x -w 30 9
last=$(grep -oP '^### \[E\K[0-9]+(?=\])' memory/events.md | sed 's/^0*//' | sort -n | tail -n 1 || true)
next=$(printf '%03d' $((10#${last:-0} + 1)))
printf '\n### [E%s] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：%s\n**状态**：待跟进\n' "$next" "$TEXT" >> memory/events.md
printf 'E%s' "$next"
"#;

#[test]
fn nothing_that_was_answered_is_lost_to_a_kill() {
    let with_bash = !missing(&["bash", "flock", "grep"]);
    let mut dice = Dice::thrown_for("crash");
    for round in 0..WORKSPACES {
        // A large index takes its time between the two files of one change: that is where kills should hit.
        let tail = if round % 2 == 0 { String::new() } else { "很长的一份索引。\n".repeat(5000) };
        let workspace = Workspace::new()
            .file("memory/events.md", "# 事件记录\n")
            .file("memory/MEMORY.md", index_with("（暂无）") + &tail);
        // Text to number, for everything that must be there from now on.
        let mut promised = BTreeMap::new();
        for kill in 0..KILLS_EACH {
            let context = format!("workspace {round}, kill {kill}");
            let mut server = Server::start(&workspace);
            let text = |n: u32| format!("{round}之{kill}之{n}");
            let arguments = |text: String| json!({"type": "用户Todo", "content": text, "date": "2026-04-13"});
            let calls: BTreeMap<_, _> =
                (0..PIPELINED).map(|n| (server.start_call("append_event", arguments(text(n))), text(n))).collect();
            let moment = Instant::now() + Duration::from_micros(dice.below(60_000));
            let mut answers = server.answers_until(moment);
            server.signal("KILL");
            server.exit_within(Duration::from_secs(30)).expect("killed");
            // What was answered before the kill is still in the pipe.
            answers.extend(server.answers_until(Instant::now() + Duration::from_secs(30)));
            for (call, answer) in &answers {
                let result = Refusal::or_result(answer).unwrap();
                promised.insert(calls[call].clone(), result["id"].as_str().unwrap().to_owned());
            }

            let bash_came_between = with_bash && dice.below(3) == 0;
            if bash_came_between {
                let foreign = format!("{round}之{kill}之外");
                let output = bash(&workspace, BASH_APPEND).env("TEXT", &foreign).output().unwrap();
                assert!(output.status.success(), "{output:?}");
                promised.insert(foreign, String::from_utf8(output.stdout).unwrap());
            }

            if with_bash && dice.below(4) == 0 {
                // Somebody holds the lock right after the crash: reading does not wait for it.
                let lock = OutsideLock::hold(&workspace);
                let mut reader = Server::start(&workspace);
                let listed = reader.start_call("list_events", json!({"limit": 100}));
                let answer = reader.answer_within(listed, Duration::from_secs(5)).expect("a reader waits for the lock");
                let listed = Refusal::or_result(&answer).unwrap();
                let listed: Vec<_> = listed["events"].as_array().unwrap().iter().map(|e| &e["content"]).collect();
                for text in answers.keys().map(|call| &calls[call]) {
                    assert!(listed.contains(&&json!(text)), "{context}: {text:?} was answered and is not there");
                }
                drop(lock);
            }

            let after = format!("{round}之{kill}之后");
            if bash_came_between || dice.below(2) == 0 {
                let result = workspace.ok("append_event", arguments(after.clone()));
                promised.insert(after, result["id"].as_str().unwrap().to_owned());
            } else {
                // A write that has nothing to do with events brings them and the index together all the same.
                workspace.ok("add_unresolved", json!({"text": after}));
            }

            let found = events_by_text(&workspace, &context);
            for (text, id) in &promised {
                assert_eq!(found.get(text), Some(id), "{context}: {text:?} was promised as {id}");
            }
            for unexpected in found.keys().filter(|t| !promised.contains_key(*t)) {
                // Not answered, but whole, once, and one of ours.
                assert!(unexpected.starts_with(&format!("{round}之")), "{context}: {unexpected:?}");
            }
            // From now on these must not go away either.
            promised.extend(found.clone());
            let index = workspace.index();
            assert_eq!(index.strip_suffix(tail.as_str()), Some(expected_index(&found).as_str()), "{context}");
            let names: Vec<_> = workspace.memory_names().into_iter().filter(|name| name != "unresolved.md").collect();
            assert_eq!(names, ["MEMORY.md", "events.md"], "{context}");
            assert!(
                !workspace.path(".memory_conflicts").exists(),
                "{context}: {}",
                workspace.read(".memory_conflicts")
            );
        }
    }
}

#[test]
fn an_answered_update_is_not_taken_back_by_a_kill() {
    let mut dice = Dice::thrown_for("crash");
    let workspace =
        Workspace::new().file("memory/events.md", "# 事件记录\n").file("memory/MEMORY.md", index_with("（暂无）"));
    for text in ["前", "中", "后"] {
        workspace.ok("append_event", json!({"type": "用户Todo", "content": text, "date": "2026-04-13"}));
    }
    let original = workspace.events();
    let mut standing = "中".to_owned();
    for kill in 0..40 {
        let mut server = Server::start(&workspace);
        let texts: Vec<_> = (0..PIPELINED)
            .map(|n| format!("{kill}之{n}{}", "长".repeat(usize::try_from(dice.below(30)).unwrap())))
            .collect();
        let calls: Vec<_> = texts
            .iter()
            .map(|text| server.start_call("update_event", json!({"id": "E002", "content": text})))
            .collect();
        let mut answers = server.answers_until(Instant::now() + Duration::from_micros(dice.below(60_000)));
        server.signal("KILL");
        server.exit_within(Duration::from_secs(30)).expect("killed");
        answers.extend(server.answers_until(Instant::now() + Duration::from_secs(30)));
        let answered = calls.iter().filter(|call| answers.contains_key(call)).count();
        assert!(calls.iter().take(answered).all(|call| answers.contains_key(call)), "answered out of order");

        workspace.ok("touch_last_active", json!({}));
        let listed = workspace.ok("list_events", json!({}));
        let now = listed["events"][1]["content"].as_str().unwrap().to_owned();
        // The last one that was answered, or a later one.
        let possible: Vec<_> = std::iter::once(&standing).chain(&texts).skip(answered).collect();
        assert!(possible.contains(&&now), "kill {kill}: {answered} were answered, and {now:?} stands there");
        let events = workspace.events();
        let entries = events.split("\n### [E000]").next().unwrap();
        assert_eq!(entries, original.replace("**内容**：中\n", &format!("**内容**：{now}\n")), "kill {kill}");
        let block = ["E003] 用户Todo · 后", &format!("E002] 用户Todo · {now}"), "E001] 用户Todo · 前"];
        assert_eq!(workspace.index(), index_with(&block.map(|item| format!("- [{item}")).join("\n")), "kill {kill}");
        standing = now;
    }
}

#[test]
fn what_is_answered_at_the_end_is_what_was_done() {
    let ends: [fn(&mut Server); 2] = [Server::close_stdin, |server| server.signal("TERM")];
    let mut dice = Dice::thrown_for("crash");
    for end in ends {
        for round in 0..10 {
            let workspace = Workspace::new()
                .file("memory/events.md", "# 事件记录\n")
                .file("memory/MEMORY.md", index_with("（暂无）"));
            let mut server = Server::start(&workspace);
            let calls: Vec<_> = (0..PIPELINED)
                .map(|n| {
                    let text = format!("第{n}件");
                    let arguments = json!({"type": "用户Todo", "content": text, "date": "2026-04-13"});
                    (server.start_call("append_event", arguments), text)
                })
                .collect();
            let mut answers = server.answers_until(Instant::now() + Duration::from_micros(dice.below(40_000)));
            end(&mut server);
            let status = server.exit_within(Duration::from_secs(2)).expect("the server still runs after two seconds");
            assert_eq!(status.code(), Some(0), "{status}");
            answers.extend(server.answers_until(Instant::now() + Duration::from_secs(30)));
            // Neither a write that was not answered, nor an answer without its write.
            let answered: BTreeMap<_, _> = calls
                .iter()
                .filter_map(|(call, text)| answers.get(call).map(|answer| (text, answer)))
                .map(|(text, answer)| {
                    (text.clone(), Refusal::or_result(answer).unwrap()["id"].as_str().unwrap().to_owned())
                })
                .collect();
            assert_eq!(events_by_text(&workspace, &format!("round {round}")), answered);
            assert_eq!(workspace.index(), expected_index(&answered));
            assert_eq!(workspace.memory_names(), ["MEMORY.md", "events.md"]);
        }
    }
}

#[test]
fn a_write_that_the_disk_refuses_is_taken_back() {
    if missing(&["bash"]) {
        return;
    }
    let (mut refused, mut done) = (0, 0);
    // A limit on the size of files stands in for a full disk: the write that passes it fails in the middle.
    for blocks in 1..40 {
        let workspace =
            Workspace::new().file("memory/events.md", "# 事件记录\n").file("memory/MEMORY.md", index_with("（暂无）"));
        workspace.ok("append_event", json!({"type": "用户Todo", "content": "先".repeat(2000), "date": "2026-04-13"}));
        let before = workspace.tree();
        let program = workspace.command();
        let mut limited = bash(&workspace, "trap '' XFSZ; ulimit -f \"$0\"; exec \"$@\"");
        limited.arg(blocks.to_string()).arg(program.get_program()).args(program.get_args());
        limited.args(["call", "append_event"]);
        limited.arg(json!({"type": "用户Todo", "content": "后".repeat(2000), "date": "2026-04-13"}).to_string());
        let outcome = Outcome::of(limited, None);
        if outcome.status == Some(0) {
            done += 1;
        } else {
            refused += 1;
            assert_eq!(outcome.status, Some(4), "{blocks}: {outcome:?}");
            assert_eq!(outcome.answer().unwrap_err().code, "io", "{blocks}");
            assert_eq!(workspace.tree(), before, "{blocks}: half a change");
        }
        workspace.ok("append_event", json!({"type": "用户Todo", "content": "终", "date": "2026-04-13"}));
        let found = events_by_text(&workspace, &format!("{blocks} blocks"));
        assert_eq!(found["终"], if outcome.status == Some(0) { "E003" } else { "E002" }, "{blocks}");
        assert_eq!(workspace.memory_names(), ["MEMORY.md", "events.md"], "{blocks}");
    }
    assert!(refused > 3 && done > 3, "the limits miss the point: {refused} refused, {done} done");
}

#[test]
fn a_garbled_journal_hinders_nobody() {
    let workspace =
        Workspace::new().file("memory/events.md", "# 事件记录\n").file("memory/MEMORY.md", index_with("（暂无）"));
    let append = |n: usize| {
        workspace.ok("append_event", json!({"type": "用户Todo", "content": format!("第{n}件"), "date": "2026-04-13"}))
    };
    append(0);
    let journal = workspace.bytes(".memory_journal");
    let mut garbled = vec![Vec::new(), b"\0".repeat(4096), b"{}".to_vec(), b"\xff\xfe\n".to_vec()];
    // Half a record is one that was never committed.
    garbled.extend((1..8).map(|eighths| journal[..journal.len() * eighths / 8].to_vec()));
    for (bytes, n) in garbled.iter().zip(1..) {
        workspace.write(".memory_journal", bytes);
        assert_eq!(append(n)["id"], format!("E{:03}", n + 1), "{bytes:?}");
        let found = events_by_text(&workspace, &format!("journal {n}"));
        assert_eq!(found.len(), n + 1);
    }
    // A record of long ago that is put back is no reason to write its text again.
    workspace.write(".memory_journal", &journal);
    append(99);
    let found = events_by_text(&workspace, "an old journal");
    assert_eq!(found.len(), garbled.len() + 2);
}

#[test]
fn a_change_over_two_files_is_whole_after_a_kill() {
    let mut dice = Dice::thrown_for("crash");
    let workspace = Workspace::new()
        .file("memory/mood_state.md", "valence: 0.00\nenergy: 0.50\n\n---\n\n## 快照历史\n\n（暂无快照）\n")
        .file(".mood_state_aux", "last_decay_written_at: 2026-04-12T20:00:00+08:00\nconsecutive_g4c_count: 0\n");
    for kill in 0..60 {
        let mut server = Server::start(&workspace);
        // Down, then up: the count in the side file is 1 exactly where the newest snapshot is a comfort.
        let calls: Vec<_> = (0..20)
            .flat_map(|n| {
                [
                    server.start_call("update_mood", json!({"delta_valence": -0.2, "note": format!("下{n}")})),
                    server.start_call("update_mood", json!({"delta_valence": 0.1, "note": format!("上{n}")})),
                ]
            })
            .collect();
        let answers = server.answers_until(Instant::now() + Duration::from_micros(dice.below(40_000)));
        server.signal("KILL");
        server.exit_within(Duration::from_secs(30)).expect("killed");
        let mut answers = answers;
        answers.extend(server.answers_until(Instant::now() + Duration::from_secs(30)));
        assert!(answers.keys().all(|id| calls.contains(id) || *id == 1));

        // A write of another file recovers first, and changes neither of the two.
        workspace.ok("add_unresolved", json!({"text": format!("第{kill}次")}));
        let mood = workspace.read("memory/mood_state.md");
        let aux = workspace.read(".mood_state_aux");
        if let Some(newest) = mood.lines().find_map(|l| l.strip_prefix("note: ")) {
            let count = u8::from(newest.starts_with('上'));
            assert!(aux.contains(&format!("consecutive_g4c_count: {count}\n")), "kill {kill}: {newest} with {aux}");
        }
        let value =
            |name: &str| mood.lines().filter_map(|l| l.strip_prefix(name)).map(str::to_owned).collect::<Vec<_>>();
        let valences = value("valence: ");
        assert!(valences.len() == 1 || valences[0] == valences[1], "kill {kill}: {mood}");
        assert_eq!(
            mood.lines().filter(|l| l.starts_with("### ")).count(),
            value("note: ").len(),
            "kill {kill}: {mood}"
        );
        assert_eq!(workspace.memory_names(), ["mood_state.md", "unresolved.md"], "kill {kill}");
    }
}
