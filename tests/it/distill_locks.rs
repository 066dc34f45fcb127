//! Who may distill, who may commit, and what a lock, a lease and a kill leave.

use crate::{
    attack::files_of,
    support::{
        Answer, Dice, Outcome, OutsideLock, Refusal, Server, Workspace, bash,
        chat::{
            CHANNEL, Chat, STATE, ago, all_locks_free, begin, begun, comes_true, commit, d000, distill, distillable,
            handed, is_free, skipped, stored,
        },
        clock, missing,
    },
};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    time::{Duration, Instant},
};

/// Long enough for a server to have read a request and to wait for the lock; within it no answer may come.
const A_WHILE: Duration = Duration::from_millis(400);

fn with_a_message() -> (Workspace, Chat) {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("m1", stored(&ago(60.0)));
    (workspace, chat)
}

fn begin_by(server: &mut Server) -> Value {
    let begun = server.call("distill_begin", json!({})).unwrap();
    assert_eq!(begun["status"], "begun", "{begun}");
    begun
}

fn something(token: &Value) -> Value {
    json!({"token": token, "events": [{"type": "用户Todo", "content": "买伞"}]})
}

fn code(answer: Answer) -> String {
    match answer {
        Ok(result) => panic!("answered {result}"),
        Err(refusal) => refusal.code,
    }
}

// .memory.lock

#[test]
fn a_commit_gives_up_after_five_seconds_and_the_token_commits_afterwards() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let (workspace, _chat) = with_a_message();
    let mut server = Server::start(&workspace);
    let begun = begin_by(&mut server);
    assert!(is_free(&workspace, ".memory.lock"), "a running distillation holds no other lock");
    let before = workspace.tree();
    let lock = OutsideLock::hold(&workspace);
    let start = Instant::now();
    let call = server.start_call("distill_commit", something(&begun["token"]));
    // Another one reads meanwhile.
    server.call("list_events", json!({})).unwrap();
    assert_eq!(code(server.finish_call(call)), "lock_timeout");
    let waited = start.elapsed();
    assert!(waited >= Duration::from_millis(4500), "gave up after {waited:?}");
    assert!(waited <= Duration::from_secs(8), "waited {waited:?}");
    assert_eq!(workspace.tree(), before);
    assert!(is_free(&workspace, ".distill.lock"), "the next distillation must not wait for this one");
    drop(lock);
    let committed = server.call("distill_commit", something(&begun["token"])).unwrap();
    assert_eq!(committed["events"], json!(["E001"]));
    assert!(!workspace.path(".distill_lease").exists());
    assert_eq!(begin(&workspace), skipped("no_new_messages"));
}

#[test]
fn a_commit_from_the_command_line_that_found_the_lock_taken_can_be_repeated() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let (workspace, _chat) = with_a_message();
    let result = begun(&workspace);
    let lock = OutsideLock::hold(&workspace);
    let before = workspace.tree();
    let outcome = workspace.call("distill_commit", something(&result["token"]));
    assert_eq!(outcome.status, Some(3), "{outcome:?}");
    assert_eq!(code(outcome.answer()), "lock_timeout");
    assert_eq!(workspace.tree(), before);
    assert!(is_free(&workspace, ".distill.lock"));
    drop(lock);
    assert_eq!(workspace.ok("distill_commit", something(&result["token"]))["events"], json!(["E001"]));
}

#[test]
fn begin_does_not_wait_for_a_writer() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let (workspace, _chat) = with_a_message();
    let mut server = Server::start(&workspace);
    let _lock = OutsideLock::hold(&workspace);
    let write = server.start_call("append_event", json!({"type": "用户Todo", "content": "排队"}));
    let call = server.start_call("distill_begin", json!({}));
    let answer = server.answer_within(call, Duration::from_secs(4));
    assert!(answer.is_some(), "begin waits behind a write that waits for the lock");
    assert!(server.answer_within(write, Duration::ZERO).is_none());
}

#[test]
fn a_commit_that_is_cancelled_while_it_waits_writes_nothing_and_keeps_its_token() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let (workspace, _chat) = with_a_message();
    let mut server = Server::start(&workspace);
    let begun = begin_by(&mut server);
    let before = workspace.tree();
    let lock = OutsideLock::hold(&workspace);
    let call = server.start_call("distill_commit", something(&begun["token"]));
    assert!(server.answer_within(call, A_WHILE).is_none(), "it wrote without the lock");
    server.notify("notifications/cancelled", json!({"requestId": call}));
    if let Some(answer) = server.answer_within(call, A_WHILE) {
        // No answer is best; one that claims success would be a lie.
        assert!(answer.get("error").is_some() || Refusal::or_result(&answer).is_err(), "{answer}");
    }
    drop(lock);
    // A write behind it: whatever the cancelled one could do is done.
    server.call("touch_last_active", json!({})).unwrap();
    assert!(!workspace.events().contains("买伞"));
    assert_eq!(workspace.tree().get(STATE), before.get(STATE));
    assert_eq!(server.call("distill_commit", something(&begun["token"])).unwrap()["events"], json!(["E001"]));
}

#[test]
fn a_server_that_ends_while_its_commit_waits_leaves_the_token_to_others() {
    if missing(&["bash", "flock"]) {
        return;
    }
    for end in [Server::close_stdin, |server: &mut Server| server.signal("TERM")] {
        let (workspace, _chat) = with_a_message();
        let mut server = Server::start(&workspace);
        let begun = begin_by(&mut server);
        let before = workspace.tree();
        let lock = OutsideLock::hold(&workspace);
        let call = server.start_call("distill_commit", something(&begun["token"]));
        assert!(server.answer_within(call, A_WHILE).is_none());
        end(&mut server);
        let status = server.exit_within(Duration::from_secs(2)).expect("the server still runs after two seconds");
        assert_eq!(status.code(), Some(0), "{status}");
        assert!(is_free(&workspace, ".distill.lock"));
        assert_eq!(workspace.tree(), before);
        drop(lock);
        assert_eq!(workspace.ok("distill_commit", something(&begun["token"]))["events"], json!(["E001"]));
    }
}

// .distill.lock

#[test]
fn of_two_begins_at_once_one_is_already_running() {
    let (workspace, _chat) = with_a_message();
    let mut servers = [Server::start(&workspace), Server::start(&workspace)];
    for round in 0..10 {
        let calls = servers.each_mut().map(|server| server.start_call("distill_begin", json!({})));
        let mut answers = Vec::new();
        for (server, call) in servers.iter_mut().zip(calls) {
            answers.push(server.finish_call(call).unwrap());
        }
        let winner = usize::from(answers[0]["status"] == "skipped");
        assert_eq!(answers[1 - winner], skipped("already_running"), "round {round}: {answers:?}");
        assert_eq!(handed(&answers[winner]), ["m1"], "round {round}");
        assert_eq!(begin(&workspace), skipped("already_running"), "round {round}");
        servers[winner].call("distill_abort", json!({"token": answers[winner]["token"]})).unwrap();
    }
}

#[test]
fn a_bash_procedure_that_distills_is_already_running() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let (workspace, _chat) = with_a_message();
    let lock = OutsideLock::hold_file(&workspace, &workspace.path(".distill.lock"));
    let before = workspace.tree();
    let start = Instant::now();
    assert_eq!(begin(&workspace), skipped("already_running"));
    assert_eq!(Server::start(&workspace).call("distill_begin", json!({})), Ok(skipped("already_running")));
    assert!(start.elapsed() < Duration::from_secs(4), "begin takes the lock without waiting");
    assert_eq!(workspace.tree(), before);
    assert!(!workspace.path(".distill_lease").exists());
    drop(lock);
    assert_eq!(distill(&workspace), ["m1"]);
}

#[test]
fn a_running_distillation_keeps_a_bash_procedure_out() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let (workspace, _chat) = with_a_message();
    let mut server = Server::start(&workspace);
    let begun = begin_by(&mut server);
    // The lock of the memory is kept for its sync a moment longer than the answer takes.
    let procedure = "exec 8>\"$WORKSPACE_DIR/.distill.lock\"; flock -n 8 || exit 9; \
                     exec 9>\"$WORKSPACE_DIR/.memory.lock\"; flock -w 5 9";
    assert_eq!(bash(&workspace, procedure).status().unwrap().code(), Some(9));
    server.call("distill_commit", json!({"token": begun["token"]})).unwrap();
    assert_eq!(bash(&workspace, procedure).status().unwrap().code(), Some(0));
}

#[test]
fn a_token_is_of_no_use_to_others_while_its_beginner_lives() {
    let (workspace, _chat) = with_a_message();
    let mut server = Server::start(&workspace);
    let begun = begin_by(&mut server);
    workspace.refused("distill_commit", something(&begun["token"]));
    assert!(!is_free(&workspace, ".distill.lock"), "the beginner's lock is not the other's to give up");
    assert_eq!(server.call("distill_commit", something(&begun["token"])).unwrap()["events"], json!(["E001"]));
}

#[test]
fn a_client_that_disappears_frees_both_locks_within_a_second() {
    let ends: [fn(&mut Server); 3] =
        [Server::close_stdin, |server| server.signal("TERM"), |server| server.signal("KILL")];
    for end in ends {
        let (workspace, _chat) = with_a_message();
        let mut server = Server::start(&workspace);
        let begun = begin_by(&mut server);
        assert!(!is_free(&workspace, ".distill.lock"));
        end(&mut server);
        assert!(comes_true(Duration::from_secs(1), || all_locks_free(&workspace)), "a lock is held after a second");
        // Whoever comes next can commit, or begin anew.
        assert_eq!(workspace.ok("distill_commit", something(&begun["token"]))["events"], json!(["E001"]));
        assert_eq!(begin(&workspace), skipped("no_new_messages"));
    }
}

// The lease

#[test]
fn a_lease_that_ran_out_frees_the_lock_and_invalidates_the_token() {
    let (workspace, _chat) = with_a_message();
    let mut command = workspace.command();
    command.args(["--distill-lease", "1"]);
    let mut server = Server::spawn(command);
    server.initialize("2025-06-18");
    let start = Instant::now();
    let begun = begin_by(&mut server);
    assert!(comes_true(Duration::from_secs(4), || is_free(&workspace, ".distill.lock")), "the lock is not given back");
    assert!(start.elapsed() >= Duration::from_millis(900), "given back after {:?}", start.elapsed());
    let before = workspace.tree();
    assert_eq!(code(server.call("distill_commit", something(&begun["token"]))), "token_invalid");
    assert_eq!(workspace.refused("distill_commit", something(&begun["token"])).code, "token_invalid");
    assert_eq!(workspace.tree(), before);
    let again = begin_by(&mut server);
    assert_eq!(handed(&again), ["m1"]);
    server.call("distill_commit", something(&again["token"])).unwrap();
}

#[test]
fn a_lease_of_the_command_line_runs_out_too() {
    let (workspace, _chat) = with_a_message();
    let mut command = workspace.command();
    command.args(["--distill-lease", "1", "call", "distill_begin", "{}"]);
    let result = crate::support::Outcome::of(command, None).answer().unwrap();
    assert_eq!(handed(&result), ["m1"]);
    let lease = fs::metadata(workspace.path(".distill_lease")).unwrap().modified().unwrap();
    let expired = || lease.elapsed().is_ok_and(|age| age > Duration::from_millis(2100));
    assert!(comes_true(Duration::from_secs(5), expired));
    assert_eq!(workspace.refused("distill_commit", something(&result["token"])).code, "token_invalid");
    assert_eq!(distill(&workspace), ["m1"]);
}

#[test]
fn another_process_than_the_beginner_may_commit() {
    let (workspace, chat) = with_a_message();
    // A script: two calls of the command line.
    let result = begun(&workspace);
    assert!(is_free(&workspace, ".distill.lock"));
    commit(&workspace, &result);
    // A server that is started again.
    chat.say("m2", stored(&ago(50.0)));
    let mut server = Server::start(&workspace);
    let begun = begin_by(&mut server);
    assert_eq!(handed(&begun), ["m2"]);
    drop(server);
    let mut server = Server::start(&workspace);
    assert_eq!(server.call("distill_commit", something(&begun["token"])).unwrap()["events"], json!(["E001"]));
    // From a script to a server.
    chat.say("m3", stored(&ago(40.0)));
    let result = self::begun(&workspace);
    assert_eq!(handed(&result), ["m3"]);
    server.call("distill_commit", json!({"token": result["token"]})).unwrap();
    assert_eq!(begin(&workspace), skipped("no_new_messages"));
}

#[test]
fn a_new_begin_invalidates_the_older_token() {
    let (workspace, chat) = with_a_message();
    // In the same process, while it holds the lock.
    let mut server = Server::start(&workspace);
    let old = begin_by(&mut server);
    chat.say("m2", stored(&ago(50.0)));
    let new = begin_by(&mut server);
    assert_eq!(handed(&new), ["m1", "m2"]);
    let before = workspace.tree();
    assert_eq!(code(server.call("distill_commit", something(&old["token"]))), "token_invalid");
    assert_eq!(code(server.call("distill_abort", json!({"token": old["token"]}))), "token_invalid");
    assert_eq!(workspace.tree(), before);
    assert!(!is_free(&workspace, ".distill.lock"), "the newer one still runs");
    server.call("distill_commit", json!({"token": new["token"]})).unwrap();
    // In another process, once the lock is free.
    chat.say("m3", stored(&ago(40.0)));
    let old = begin_by(&mut server);
    drop(server);
    let new = begun(&workspace);
    assert_eq!(handed(&new), ["m3"]);
    assert_eq!(workspace.refused("distill_commit", something(&old["token"])).code, "token_invalid");
    commit(&workspace, &new);
}

#[test]
fn a_begin_that_finds_nothing_leaves_an_older_token_or_ends_it_but_never_both() {
    let (workspace, chat) = with_a_message();
    let old = begun(&workspace);
    // The messages are gone: there is nothing to distill any more.
    chat.db.execute_batch("DELETE FROM messages").unwrap();
    assert_eq!(begin(&workspace), skipped("no_new_messages"));
    let outcome = workspace.call("distill_commit", something(&old["token"])).answer();
    match outcome {
        Ok(result) => assert_eq!(result["events"], json!(["E001"])),
        Err(refusal) => {
            assert_eq!(refusal.code, "token_invalid");
            assert!(!workspace.path("memory/events.md").exists());
        }
    }
}

#[test]
fn a_garbled_lease_hinders_no_begin() {
    let (workspace, _chat) = with_a_message();
    let token = begun(&workspace)["token"].clone();
    let lease = workspace.bytes(".distill_lease");
    for garbled in [&b""[..], b"{}", b"\xff\xfe", b"\0\0\0\0", &lease[..lease.len() / 2]] {
        workspace.write(".distill_lease", garbled);
        assert_eq!(workspace.refused("distill_commit", something(&token)).code, "token_invalid", "{garbled:?}");
        assert_eq!(handed(&begun(&workspace)), ["m1"], "{garbled:?}");
    }
    assert_eq!(distill(&workspace), ["m1"]);
}

// Kills

#[test]
fn a_begin_that_stops_or_fails_anywhere_leaves_nothing_behind_and_loses_no_message() {
    if !cfg!(debug_assertions) {
        return;
    }
    for fault in ["stop", "tear", "eio", "short"] {
        for step in 1.. {
            let (workspace, _chat) = with_a_message();
            begun(&workspace);
            let before = files_of(workspace.root());
            let mut command = workspace.command();
            command.args(["call", "distill_begin"]).env("COMPANION_MEMORY_FAULT", format!("{fault}:{step}"));
            let outcome = Outcome::of(command, None);
            let context = format!("{fault}:{step}");
            assert_eq!(files_of(workspace.root()), before, "{context}");
            assert!(all_locks_free(&workspace), "{context}");
            assert_eq!(distill(&workspace), ["m1"], "{context}");
            if outcome.status == Some(0) {
                assert!(step > 2, "{context}: nothing was stopped");
                break;
            }
        }
    }
}

const KILLS: u64 = 100;

/// What one commit leaves in each file, by its number; in `[D000]` the ids.
fn traces(workspace: &Workspace, kill: u64) -> Vec<(&'static str, bool)> {
    let text = format!("第{kill}次。");
    ["memory/events.md", "memory/unresolved.md", "memory/persona.md", "memory/user_profile.md"]
        .map(|path| {
            let found = workspace.read(path).matches(&text).count();
            assert!(found <= 1, "{path} has {text} {found} times");
            (path, found == 1)
        })
        .to_vec()
}

#[test]
fn a_kill_leaves_all_of_a_commit_or_nothing_and_loses_no_message() {
    let mut dice = Dice::thrown_for("distill");
    let workspace = distillable()
        .file("memory/events.md", "# 事件记录\n")
        .file("memory/unresolved.md", "# 未完挂念\n\n## 已淡忘\n")
        .file("memory/persona.md", "# 人设\n\n## 在对话中形成的新细节\n\n")
        .file(
            "memory/user_profile.md",
            format!("# 用户\n{}", (0..KILLS).map(|n| format!("\n## 节{n}\n\n- 有\n")).collect::<String>()),
        )
        .file(STATE, d000(&format!("timestamp:\nlast_decay_scan: {}\n", clock::today())));
    let chat = Chat::of(&workspace);
    // What was not committed, in order; and how often a commit was there and was not.
    let mut open: Vec<String> = Vec::new();
    let (mut whole, mut nothing, mut answered) = (0, 0, 0);
    // How long begin and commit take here, learned from those that were answered.
    let mut usual = Duration::from_millis(10);
    for kill in 0..KILLS {
        for n in 0..2 {
            let id = format!("m{kill}_{n}");
            chat.say(&id, stored(&ago(1.0)));
            open.push(id);
        }
        let mut server = Server::start(&workspace);
        let begun = begin_by(&mut server);
        assert_eq!(handed(&begun), open, "kill {kill}");
        let text = format!("第{kill}次。");
        let arguments = json!({
            "token": begun["token"],
            "persona_details": [text],
            "profile": [{"action": "add", "section": format!("节{kill}"), "text": text}],
            "events": [{"type": "用户Todo", "content": text, "date": "2026-04-13"}],
            "unresolved": [{"text": text}],
        });
        let start = Instant::now();
        let call = server.start_call("distill_commit", arguments);
        // Up to twice as long as it usually takes; once in ten right after begin.
        let bound = if kill % 10 == 0 { 1 } else { u64::try_from(usual.as_micros()).unwrap() * 2 };
        let moment = start + Duration::from_micros(dice.below(bound));
        let mut answer = server.answer_within(call, moment.saturating_duration_since(Instant::now()));
        if answer.is_some() {
            usual = (usual * 3 + start.elapsed()) / 4;
        } else {
            usual = usual * 21 / 20;
        }
        // Not only at the answer: what follows it is killed as well.
        while Instant::now() < moment {
            std::hint::spin_loop();
        }
        server.signal("KILL");
        server.exit_within(Duration::from_secs(30)).expect("killed");
        // What was answered before the kill is still in the pipe.
        if answer.is_none() {
            answer = server.answer_within(call, Duration::from_secs(30));
        }
        drop(server);

        // The next run recovers before it reads.
        let next = begin(&workspace);
        let found = traces(&workspace, kill);
        let is_there = found[0].1;
        assert!(found.iter().all(|(_, there)| *there == is_there), "kill {kill}: half a commit: {found:?}");
        let state = workspace.read(STATE);
        let last = open.last().unwrap();
        assert_eq!(
            state.contains(&format!("cursor: {CHANNEL} {last} ")),
            is_there,
            "kill {kill}: {found:?} and {state}"
        );
        assert_eq!(workspace.index().contains(&text), is_there, "kill {kill}: the block of MEMORY.md");
        if answer.is_some() {
            answered += 1;
            assert!(is_there, "kill {kill}: an answered commit is gone");
        }
        if is_there {
            whole += 1;
            assert_eq!(next, skipped("no_new_messages"), "kill {kill}");
            open.clear();
        } else {
            nothing += 1;
            assert_eq!(handed(&next), open, "kill {kill}");
            // Not for ever: a page has its limit.
            if open.len() > 40 {
                commit(&workspace, &next);
                open.clear();
            }
        }
        assert!(all_locks_free(&workspace), "kill {kill}");
        assert!(!workspace.path(".memory_conflicts").exists(), "kill {kill}: {}", workspace.read(".memory_conflicts"));
    }
    eprintln!("{whole} commits whole ({answered} answered), {nothing} not there");
    assert!(whole >= 10 && nothing >= 10, "the moments miss the point: {whole} whole, {nothing} not there");
    let numbers = crate::support::event_numbers(&workspace.events());
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len(), "an id twice: {numbers:?}");
}

#[test]
fn a_begin_with_nothing_to_do_holds_nothing_while_its_server_lives() {
    let workspace = distillable();
    let mut server = Server::start(&workspace);
    assert_eq!(server.call("distill_begin", json!({})), Ok(skipped("no_session_context")));
    assert!(all_locks_free(&workspace));
    let _chat = Chat::of(&workspace);
    assert_eq!(server.call("distill_begin", json!({})), Ok(skipped("no_new_messages")));
    assert!(all_locks_free(&workspace));
    assert!(!workspace.path(".distill_lease").exists());
}
