//! Other programs change the files while the server works: those that take the lock lose nothing and nothing of ours;
//! those that take none may undo what they had not seen, and nothing else.

use crate::support::{Answer, OutsideLock, Server, Workspace, bash, event_numbers, index_with, missing};
use serde_json::{Value, json};
use std::{
    collections::BTreeSet,
    fs,
    process::{Child, Command, Stdio},
    time::{Duration, Instant},
};

/// How long a server and a foreign hand work at the same files.
const BUSY: Duration = Duration::from_secs(2);

fn event(content: &str) -> Value {
    json!({"type": "重要事件", "content": content, "date": "2026-04-13"})
}

fn workspace() -> Workspace {
    Workspace::new()
        .file("memory/events.md", "# 事件\n")
        .file("memory/MEMORY.md", index_with("（暂无）"))
        .file("memory/unresolved.md", "# 未完挂念\n\n- [M001] src=material_derived kind=chore decay_d=30 last_touched=L001 forced_echo_last=(never) 账单\n\n## 已淡忘\n")
        .file("memory/mood_state.md", "valence: 0.00\nenergy: 0.50\n\n## 快照历史\n\n（暂无快照）\n")
}

/// A script that runs beside the server until it is told to stop, and then ends in its own time.
struct Hand {
    child: Child,
}

impl Hand {
    /// `body` is done again and again, `$i` counts.
    fn start(workspace: &Workspace, body: &str) -> Self {
        let script = format!("i=0; while [ ! -e stop ]; do i=$((i + 1))\n{body}\ndone; echo $i");
        let child = bash(workspace, &script).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        Self { child }
    }

    /// How often it did its work.
    fn stop(self, workspace: &Workspace) -> u32 {
        fs::write(workspace.path("stop"), "").unwrap();
        let output = self.child.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim().parse().unwrap()
    }
}

/// What a call was answered: the id that it gave, or the code of the refusal.
fn id_or_code(answer: Answer) -> Result<String, String> {
    answer.map(|result| result["id"].as_str().unwrap().to_owned()).map_err(|refusal| refusal.code)
}

/// Events `第1件`, `第2件` … as fast as they are answered while the hand works; the answered ones, by content.
fn append_while_busy(server: &mut Server, also_legal: &[&str]) -> Vec<(String, String)> {
    let deadline = Instant::now() + BUSY;
    let mut answered = Vec::new();
    let mut number = 0;
    while Instant::now() < deadline {
        number += 1;
        let content = format!("第{number}件");
        match id_or_code(server.call("append_event", event(&content))) {
            Ok(id) => answered.push((id, content)),
            Err(code) => assert!(code == "changed_meanwhile" || also_legal.contains(&code.as_str()), "{code}"),
        }
    }
    assert!(!answered.is_empty(), "not one call in {BUSY:?}");
    answered
}

/// The contents of the events, each of which must be whole.
fn whole_contents(events: &str) -> Vec<String> {
    let entries = events.split("### [E").skip(1).filter(|entry| !entry.starts_with("000]"));
    entries
        .map(|entry| {
            let lines: Vec<_> = entry.trim_end().lines().collect();
            let content = lines
                .iter()
                .find_map(|line| line.strip_prefix("**内容**："))
                .unwrap_or_else(|| panic!("torn: {entry:?}"));
            assert_eq!(lines.last(), Some(&"**状态**：待跟进"), "torn: {entry:?}");
            content.to_owned()
        })
        .collect()
}

fn assert_no_temporary_file(workspace: &Workspace) {
    let strange: Vec<_> = workspace.memory_names().into_iter().filter(|name| name.starts_with('.')).collect();
    assert_eq!(strange, [""; 0]);
}

#[test]
fn an_editor_that_saves_other_files_by_rename_loses_nothing_of_ours() {
    if missing(&["bash"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    // It adds a line of its own to what it just read, in two files that our call changes too; what lies between its
    // reading and its rename is its own window, so only what it wrote itself must be there in the end.
    let hand = Hand::start(
        &workspace,
        r#"{ cat memory/MEMORY.md; echo "手写 $i"; } > memory/x; mv memory/x memory/MEMORY.md"#,
    );
    let answered = append_while_busy(&mut server, &[]);
    let count = hand.stop(&workspace);
    // No foreign hand touched `events.md`: nothing that was answered may be lost, nothing else may be there.
    let contents: Vec<_> = answered.iter().map(|(_, content)| content.clone()).collect();
    assert_eq!(whole_contents(&workspace.events()), contents);
    assert_no_temporary_file(&workspace);
    // The block is right again after the next call.
    let last = server.call("append_event", event("最后")).unwrap();
    let index = workspace.index();
    assert!(index.contains(&format!("- [{}] 重要事件 · 最后\n", last["id"].as_str().unwrap())), "{index}");
    let hand_lines = index.lines().filter(|line| line.starts_with("手写 ")).count();
    assert!(hand_lines > 0 && hand_lines <= usize::try_from(count).unwrap(), "{hand_lines} of {count}");
}

#[test]
fn an_answered_event_survives_an_editor_unless_it_saves_what_it_had_read_before() {
    if missing(&["bash"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    // What it had read it saves again, and notes: that must stay. What we append between is undone by its save.
    let hand =
        Hand::start(&workspace, "cat memory/events.md > memory/x; cp memory/x seen; mv memory/x memory/events.md");
    let answered = append_while_busy(&mut server, &["damaged"]);
    hand.stop(&workspace);
    let kept = whole_contents(&workspace.events());
    let numbers = event_numbers(&workspace.events());
    let distinct: BTreeSet<_> = numbers.iter().collect();
    assert_eq!(distinct.len(), numbers.len(), "an id stands twice");
    let seen = whole_contents(&workspace.read("seen"));
    assert!(
        seen.iter().all(|content| kept.contains(content)),
        "the editor saved it, and it is gone: {seen:?} {kept:?}"
    );
    let answered: BTreeSet<_> = answered.into_iter().map(|(_, content)| content).collect();
    assert!(kept.iter().all(|content| answered.contains(content)), "nobody was told of it: {kept:?}");
    // In the order in which it was asked.
    let position = |content: &String| content.trim_matches(['第', '件']).parse::<u32>().unwrap();
    assert!(kept.is_sorted_by_key(position), "{kept:?}");
    // After the editor is gone, everything stays.
    for number in 0..20 {
        server.call("append_event", event(&format!("之后{number}"))).unwrap();
    }
    let after = whole_contents(&workspace.events());
    assert_eq!(after.len(), kept.len() + 20);
    assert_eq!(after[..kept.len()], kept);
    assert_no_temporary_file(&workspace);
}

#[test]
fn the_last_look_comes_after_the_record_is_safe() {
    if missing(&["bash", "strace"]) {
        return;
    }
    // The disk takes long to sync, and meanwhile an editor saves the files: the call must see that and begin anew.
    for edited in ["memory/events.md", "memory/MEMORY.md"] {
        let workspace = workspace();
        workspace.ok("append_event", event("第一件"));
        let mut command = Command::new("strace");
        let inner = workspace.command();
        command.args([
            "-f",
            "-qq",
            "-o",
            "/dev/null",
            "-e",
            "trace=fdatasync",
            "-e",
            "inject=fdatasync:delay_enter=700000:when=1",
        ]);
        command.arg(inner.get_program()).args(inner.get_args());
        command.args(["call", "append_event", &event("第二件").to_string()]);
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let call = command.spawn().unwrap();
        // The record is written, and its sync has begun, once its header says that it is open.
        let deadline = Instant::now() + Duration::from_secs(20);
        while !fs::read(workspace.path(".memory_journal")).unwrap().windows(6).any(|word| word == b" open ") {
            if Instant::now() > deadline {
                let output = call.wait_with_output().unwrap();
                eprintln!("skipped: strace cannot delay a call here: {}", String::from_utf8_lossy(&output.stderr));
                return;
            }
            std::thread::yield_now();
        }
        let saved = bash(&workspace, r#"{ cat "$F"; printf '\n手写\n'; } > memory/x; mv memory/x "$F""#)
            .env("F", edited)
            .status();
        assert!(saved.unwrap().success());
        let output = call.wait_with_output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let (events, index) = (workspace.events(), workspace.index());
        assert_eq!(events.matches("第二件").count(), 1, "the answered event, after {edited} was saved: {events}");
        assert!(workspace.read(edited).contains("\n手写\n"), "the editor's line is gone from {edited}");
        assert!(index.contains("· 第二件\n") && index.contains("· 第一件\n"), "{index}");
    }
}

#[test]
fn a_program_that_rewrites_in_place_meets_success_or_a_refusal_and_never_a_torn_file() {
    if missing(&["bash"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    // It empties the file and writes it again: for a moment the file is empty, or half.
    let hand =
        Hand::start(&workspace, r#"text=$(cat memory/MEMORY.md; echo .); printf '%s' "${text%.}" > memory/MEMORY.md"#);
    let answered = append_while_busy(&mut server, &["damaged"]);
    hand.stop(&workspace);
    let contents: Vec<_> = answered.iter().map(|(_, content)| content.clone()).collect();
    assert_eq!(whole_contents(&workspace.events()), contents, "no hand touched `events.md`");
    let last = server.call("append_event", event("最后")).unwrap();
    assert!(workspace.index().contains(&format!("- [{}] 重要事件 · 最后\n", last["id"].as_str().unwrap())));
    assert_no_temporary_file(&workspace);
}

#[test]
fn a_rewriter_under_the_lock_and_the_server_lose_nothing_of_each_other() {
    if missing(&["bash", "flock", "sed"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let hand = Hand::start(
        &workspace,
        r#"
        exec 9>>.memory.lock; flock -x 9
        sed -i "s/^\(- \[M001\].*last_touched=\)[^ ]*/\1L$(printf %03d $i)/" memory/unresolved.md
        largest=$({ grep -o '^- \[U[0-9]*' memory/unresolved.md || true; } | tr -dc '0-9\n' | sort -n | tail -n 1)
        printf '%s\n' "- [U$(printf %03d $((10#${largest:-0} + 1)))] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 别人的$i" > line
        sed -i '/^- \[M001\]/r line' memory/unresolved.md
        awk -v i=$i '{ print } /^## 快照历史/ && !done { done = 1; print "\n### 2026-04-13T21:05 · source=life_sim\nvalence: 0.10\nenergy: 0.50\nnote: 别人" i }' memory/mood_state.md > memory/x && mv memory/x memory/mood_state.md
        exec 9>&-"#,
    );
    let deadline = Instant::now() + BUSY;
    let mut number = 0;
    while Instant::now() < deadline {
        number += 1;
        server.call("add_unresolved", json!({"text": format!("我们的{number}")})).unwrap();
        let mood = server.call("update_mood", json!({"note": format!("我们{number}")})).unwrap();
        assert_eq!(mood["after"], mood["before"]);
    }
    let count = hand.stop(&workspace);
    let unresolved = workspace.read("memory/unresolved.md");
    for (who, count) in [("我们的", number), ("别人的", count)] {
        for index in 1..=count {
            let line = format!(" {who}{index}\n");
            assert_eq!(unresolved.matches(&line).count(), 1, "{who}{index} of {count}: {unresolved}");
        }
    }
    assert_eq!(
        unresolved
            .matches(&format!("- [M001] src=material_derived kind=chore decay_d=30 last_touched=L{count:03} "))
            .count(),
        1
    );
    let ids: Vec<_> =
        unresolved.lines().filter_map(|line| line.strip_prefix("- [")?.split_once(']')).map(|(id, _)| id).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "an id stands twice");
    let mood = workspace.read("memory/mood_state.md");
    assert!(
        mood.contains(&format!("note: 我们{number}\n")) && mood.starts_with("valence: 0.00\nenergy: 0.50\n"),
        "{mood}"
    );
}

#[test]
fn a_sync_client_that_replaces_the_lock_file_lets_no_two_writers_in() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    // Under the lock, so that nobody holds the file that it takes away; those who wait for that file wake up on a dead one.
    fs::write(workspace.path(".memory.lock"), "").unwrap();
    let sync = Hand::start(
        &workspace,
        "exec 9>>.memory.lock; flock -x 9; cp .memory.lock .lock.$i; mv .lock.$i .memory.lock; exec 9>&-",
    );
    // A second writer of ours: what it appends must be there as well, and no number twice.
    let other = Hand::start(
        &workspace,
        &format!(
            "'{}' --workspace . call append_event '{{\"type\": \"重要事件\", \"content\": \"旁人'$i'件\", \"date\": \"2026-04-13\"}}' > /dev/null",
            env!("CARGO_BIN_EXE_companion-memory")
        ),
    );
    let answered = append_while_busy(&mut server, &[]);
    let others = other.stop(&workspace);
    sync.stop(&workspace);
    let contents = whole_contents(&workspace.events());
    assert_eq!(contents.len(), answered.len() + usize::try_from(others).unwrap());
    let numbers = event_numbers(&workspace.events());
    assert_eq!(numbers, (1..=u32::try_from(contents.len()).unwrap()).collect::<Vec<_>>());
}

#[test]
fn after_a_checkout_of_older_files_the_memory_goes_on_from_there() {
    if missing(&["bash", "git"]) {
        return;
    }
    let workspace = workspace();
    let git = |arguments: &str| {
        let script = format!(
            "export HOME=$PWD GIT_CONFIG_NOSYSTEM=1; git -c user.name=t -c user.email=t@t -c init.defaultBranch=m {arguments}"
        );
        let done = bash(&workspace, &script).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    };
    git("init -q . && git add memory");
    let mut server = Server::start(&workspace);
    for number in 1..=3 {
        server.call("append_event", event(&format!("早{number}"))).unwrap();
        server.call("add_unresolved", json!({"text": format!("早{number}")})).unwrap();
    }
    git("add memory && git -c user.name=t -c user.email=t@t commit -q -m early");
    for number in 4..=6 {
        server.call("append_event", event(&format!("晚{number}"))).unwrap();
    }
    let index = workspace.index();
    git("checkout -q -- memory/events.md");
    // The index still cites E006: a number that was given out is not given out again.
    assert_eq!(workspace.index(), index);
    assert_eq!(server.call("append_event", event("之后")).unwrap()["id"], "E007");
    assert_eq!(event_numbers(&workspace.events()), [1, 2, 3, 7]);
    assert!(workspace.index().contains("- [E007] 重要事件 · 之后\n- [E003]"), "{}", workspace.index());
    git("checkout -q -- memory");
    assert_eq!(server.call("append_event", event("再后")).unwrap()["id"], "E004");
    assert_eq!(
        server.call("add_unresolved", json!({"text": "早2"})).unwrap(),
        json!({"id": "U002", "deduplicated": true})
    );
    assert_eq!(event_numbers(&workspace.events()), [1, 2, 3, 4]);
}

#[test]
fn a_memory_that_is_deleted_is_no_workspace_until_it_is_back() {
    if missing(&["bash"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    server.call("append_event", event("第一件")).unwrap();
    fs::rename(workspace.path("memory"), workspace.path("away")).unwrap();
    for (tool, arguments) in
        [("append_event", event("没有")), ("list_events", json!({})), ("touch_last_active", json!({}))]
    {
        assert_eq!(server.call(tool, arguments).unwrap_err().code, "no_workspace", "{tool}");
    }
    assert!(!workspace.path("memory").exists(), "nothing is made");
    fs::rename(workspace.path("away"), workspace.path("memory")).unwrap();
    assert_eq!(server.call("append_event", event("第二件")).unwrap()["id"], "E002");

    // Again and again, while calls are under way.
    let hand = Hand::start(&workspace, "mv memory away; mv away memory");
    let answered = append_while_busy(&mut server, &["no_workspace", "io", "damaged"]);
    hand.stop(&workspace);
    server.call("touch_last_active", json!({})).unwrap();
    let contents = whole_contents(&workspace.events());
    let lost: Vec<_> = answered.iter().filter(|(_, content)| !contents.contains(content)).collect();
    assert!(lost.is_empty(), "answered and lost: {lost:?}");
    let numbers = event_numbers(&workspace.events());
    assert_eq!(numbers.iter().collect::<BTreeSet<_>>().len(), numbers.len(), "an id stands twice");
}

#[test]
fn a_file_that_changes_all_the_time_is_refused_after_some_attempts_and_the_lock_is_free() {
    if missing(&["bash", "flock"]) {
        return;
    }
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    // Two hands at once, so that hardly a moment is without a change.
    let hands =
        [1, 2].map(|_| Hand::start(&workspace, "for _ in 1 2 3 4 5 6 7 8 9; do printf ' ' >> memory/events.md; done"));
    let deadline = Instant::now() + Duration::from_secs(1);
    let mut outcomes = BTreeSet::new();
    while Instant::now() < deadline {
        outcomes.insert(
            id_or_code(server.call("append_event", event("一"))).map_or_else(|code| code, |_| "done".to_owned()),
        );
        let outcome = workspace.call("append_event", event("一"));
        if let Err(code) = id_or_code(outcome.answer()) {
            assert_eq!((code.as_str(), outcome.status), ("changed_meanwhile", Some(3)));
        }
    }
    for hand in hands {
        hand.stop(&workspace);
    }
    let legal = BTreeSet::from(["changed_meanwhile".to_owned(), "done".to_owned()]);
    assert!(outcomes.is_subset(&legal), "{outcomes:?}");
    drop(OutsideLock::hold(&workspace));
    server.call("append_event", event("二")).unwrap();
    assert!(workspace.events().contains("**内容**：二\n"));
}
