//! What a recovery makes of torn files with another program's lines behind them, of saves while it syncs, and of what
//! shows that a change was made.

use crate::{
    attack::{Call, FIRST_BOOT, NEXT_BOOT, all_files_of, can_mount, laid_out, look, next_worry, run},
    disk_model::Step,
    recovery::{ADDED, EVENTS, MOOD, PERSONA, Recovered, UNRESOLVED, adding, answered, edited, stopped},
    starts::STARTS,
    support::{Outcome, Workspace, bash, missing},
};
use serde_json::json;
use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

/// The same, with a step that fails.
fn while_syncing_with(
    fault: &str,
    workspace: &Workspace,
    nth: u32,
    arguments: &[&str],
    sign: &str,
    meanwhile: &str,
) -> Option<Outcome> {
    let mut command = Command::new("strace");
    let delay = format!("inject=fsync:delay_enter=1500000:when={nth}");
    command.args(["-f", "-qq", "-o", "/dev/null", "-e", "trace=fsync", "-e", &delay]);
    let inner = workspace.command();
    command.arg(inner.get_program()).args(inner.get_args()).args(arguments).env("COMPANION_MEMORY_BOOT", NEXT_BOOT);
    command.env("COMPANION_MEMORY_FAULT", fault);
    let mut call = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(20);
    while fs::metadata(workspace.path(sign)).map_or(0, |metadata| metadata.len()) == 0 {
        if Instant::now() > deadline || call.try_wait().unwrap().is_some() {
            let _ = call.kill();
            eprintln!("skipped: strace cannot delay a call here: {:?}", call.wait_with_output());
            return None;
        }
        std::thread::yield_now();
    }
    assert!(bash(workspace, meanwhile).status().unwrap().success());
    let output = call.wait_with_output().unwrap();
    Some(Outcome {
        status: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    })
}

/// A call whose `nth` fsync takes long, and what another program does meanwhile, once this file is there.
fn while_syncing(workspace: &Workspace, nth: u32, arguments: &[&str], sign: &str, meanwhile: &str) -> Option<Outcome> {
    while_syncing_with("", workspace, nth, arguments, sign, meanwhile)
}

const THEIRS: &str = "\n### [E009] 2026-04-12 · 重要事件\n**类型**：重要事件\n**内容**：外面写的\n**状态**：已关闭\n";

// What is torn, and another program's lines behind it

#[test]
fn a_torn_event_with_another_programs_event_behind_it_is_whole_in_the_end() {
    let start = &STARTS["lived_in"];
    let ours = format!("\n### [E004] 2026-04-13 · 用户Todo\n{ADDED}");
    let before = String::from_utf8(start[EVENTS].clone()).unwrap();
    // With all but its newline it is whole: theirs ends it.
    for torn in 1..ours.len() - 1 {
        let nulls = vec![0; ours.len() - torn];
        for tail in [&[][..], &nulls] {
            // Twice in three cases one boot does for both.
            for boot in
                if torn % 3 == 0 { vec![FIRST_BOOT, NEXT_BOOT] } else { vec![[FIRST_BOOT, NEXT_BOOT][torn % 2]] }
            {
                let workspace = stopped(start, "append_event", adding());
                let bytes = [before.as_bytes(), &ours.as_bytes()[..torn], tail, THEIRS.as_bytes()].concat();
                workspace.write(EVENTS, &bytes);
                run(&workspace, &next_worry()).in_boot(boot).undisturbed();
                let events = workspace.events();
                let context = format!("{torn} bytes and {} NULs in boot {boot}: {events}", tail.len());
                assert!(events.starts_with(&before) && !events.contains('\0'), "{context}");
                assert_eq!(events.matches(THEIRS).count(), 1, "{context}");
                let rest = events[before.len()..].replacen(THEIRS, "", 1);
                let (heading, body) = rest.trim_start().split_once('\n').unwrap();
                assert_eq!((heading, body), ("### [E004] 2026-04-13 · 用户Todo", ADDED), "{context}");
                assert!(workspace.index().contains("· 买伞\n"), "{context}");
            }
        }
    }
}

#[test]
fn a_file_whose_pages_are_missing_is_whole_with_another_programs_lines_behind_it() {
    let start = &STARTS["lived_in"];
    let adding = json!({"text": "爸爸的体检"});
    let done = laid_out(start);
    done.ok("add_unresolved", adding.clone());
    let whole = done.read(UNRESOLVED);
    for boot in [FIRST_BOOT, NEXT_BOOT] {
        let workspace = stopped(start, "add_unresolved", adding.clone());
        workspace.write(UNRESOLVED, [vec![0; whole.len()], b"<!-- life_sim -->\n".to_vec()].concat());
        run(&workspace, &look()).in_boot(boot).undisturbed();
        assert_eq!(workspace.read(UNRESOLVED), format!("{whole}<!-- life_sim -->\n"), "{boot}");
    }
}

#[test]
fn half_of_a_change_is_known_by_what_it_took_away() {
    let start = &STARTS["lived_in"];
    let recording = json!({
        "event_updates": [{"id": "E002", "due_date": "2026-05-01"}, {"id": "E001", "clear": ["user_state"]}],
        "mood": {"delta_valence": -0.1, "note": "累"},
    });
    let workspace = stopped(start, "record_conversation", recording);
    // The field is gone, and the rest of the file was written anew by another hand.
    let text = String::from_utf8(start[EVENTS].clone()).unwrap();
    workspace.write(EVENTS, text.replace("**用户状态**：低落\n", "") + THEIRS);
    run(&workspace, &look()).in_boot(FIRST_BOOT).undisturbed();
    assert!(workspace.events().contains("**到期日**：2026-05-01") && workspace.events().contains(THEIRS));
    assert!(workspace.read(MOOD).contains("note: 累\n"), "{}", workspace.read(MOOD));
}

#[test]
fn bytes_that_are_no_text_stay_in_the_block_of_the_index() {
    let start = &STARTS["lived_in"];
    let workspace = stopped(start, "append_event", adding());
    let block = b"- [E003] \xff\xfe\n";
    let index = String::from_utf8(start["memory/MEMORY.md"].clone()).unwrap();
    let (before, after) = index.split_once("- [E003] 用户Todo · 交房租\n").unwrap();
    workspace.write("memory/MEMORY.md", [before.as_bytes(), block, after.as_bytes()].concat());
    run(&workspace, &look()).in_boot(NEXT_BOOT).undisturbed();
    assert!(workspace.bytes("memory/MEMORY.md").windows(block.len()).any(|found| found == block));
    assert!(workspace.events().contains("买伞"));
}

#[test]
fn a_torn_record_is_no_open_change_once_somebody_has_looked() {
    let workspace = stopped(&STARTS["lived_in"], "append_event", adding());
    let mut journal = workspace.bytes(".memory_journal");
    *journal.last_mut().unwrap() ^= 1;
    workspace.write(".memory_journal", &journal);
    run(&workspace, &look()).in_boot(NEXT_BOOT).undisturbed();
    assert!(!workspace.events().contains("买伞"));
    let outcome = workspace.run(&["doctor"]);
    assert!(!outcome.stdout.contains(".memory_journal"), "{outcome:?}");
}

// What the doctor's own recovery meets

#[test]
fn the_doctor_shows_what_its_own_repair_could_not_place() {
    let start = &STARTS["lived_in"];
    let workspace = stopped(start, "update_event", json!({"id": "E002", "status": "已关闭"}));
    let text = String::from_utf8(start[EVENTS].clone()).unwrap();
    workspace.write(EVENTS, text.replace("**状态**：待跟进\n**到期日**", "**状态**：已跟进\n**到期日**"));
    let mut command = workspace.command();
    command.args(["doctor", "--fix"]).env("COMPANION_MEMORY_BOOT", NEXT_BOOT);
    let outcome = Outcome::of(command, None);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert!(outcome.stdout.contains("now: **状态**：已关闭\n"), "{outcome:?}");
    assert!(!workspace.path(".memory_conflicts").exists());
}

// Saves while a copy is synced

#[test]
fn a_save_while_a_large_copy_is_synced_is_kept() {
    if missing(&["bash", "strace"]) {
        return;
    }
    let workspace = laid_out(&STARTS["large"]);
    let call = ["call", "add_persona_detail", r#"{"detail":"不吃香菜"}"#];
    let appends = r"printf '手写的一行\n' >> memory/persona.md";
    let Some(outcome) = while_syncing(&workspace, 1, &call, "memory/.persona.md.new", appends) else { return };
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let persona = workspace.read(PERSONA);
    assert!(persona.ends_with("手写的一行\n") && persona.matches("不吃香菜").count() == 1, "{persona:.0}");
}

#[test]
fn a_save_while_a_recovery_syncs_another_file_is_kept() {
    if missing(&["bash", "strace"]) {
        return;
    }
    let workspace = stopped(&STARTS["lived_in"], "append_event", adding());
    let appends = r"printf '手写的一行\n' >> memory/MEMORY.md";
    let call = ["call", "list_events"];
    let Some(outcome) = while_syncing(&workspace, 1, &call, "memory/.events.md.new", appends) else { return };
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    workspace.ok("add_unresolved", json!({"text": "下一件事"}));
    assert!(workspace.index().contains("手写的一行\n") && workspace.index().contains("买伞"), "{}", workspace.index());
}

#[test]
fn a_change_that_cannot_be_taken_back_is_made_once() {
    if missing(&["bash", "strace"]) {
        return;
    }
    let workspace = laid_out(&STARTS["large"]);
    let recording = json!({
        "events": [{"type": "用户Todo", "content": "买伞", "date": "2026-04-13"}],
        "persona_details": ["不吃香菜"],
    });
    let call = ["call", "record_conversation", &recording.to_string()];
    let appends = r"printf '\n手写的一行\n' >> memory/events.md; printf '手写的一行\n' >> memory/MEMORY.md";
    let Some(_) = while_syncing(&workspace, 1, &call, "memory/.persona.md.new", appends) else { return };
    workspace.ok("add_unresolved", json!({"text": "下一件事"}));
    let events = workspace.events();
    assert_eq!(events.matches("**内容**：买伞\n").count(), 1, "{events:.0}");
    assert_eq!(events.matches("\n手写的一行\n").count(), 1, "{events:.0}");
    assert_eq!(workspace.read(PERSONA).matches("不吃香菜").count(), 1);
    assert!(workspace.index().ends_with("手写的一行\n"), "{}", workspace.index());
}

#[test]
fn a_save_is_kept_although_a_copy_stands_beside_the_file() {
    if missing(&["bash", "strace"]) {
        return;
    }
    let workspace = answered(&STARTS["lived_in"], "append_event", adding(), &[]);
    // A recovery is stopped itself, right before it renames the copy of the index.
    let files = all_files_of(workspace.root());
    let steps = run(&laid_out(&files), &look()).in_boot(NEXT_BOOT).traced().undisturbed().steps;
    let is_rename = |step: &&Step| matches!(step, Step::Rename { to, .. } if to == "memory/MEMORY.md");
    let number = steps.iter().filter(|step| step.is_made()).position(|step| is_rename(&step)).unwrap() + 1;
    run(&workspace, &look()).in_boot(NEXT_BOOT).with_fault(format!("stop:{number}")).now();
    assert!(workspace.path("memory/.MEMORY.md.new").exists());
    let appends = r"printf '手写的一行\n' >> memory/MEMORY.md";
    if while_syncing(&workspace, 1, &["call", "list_events"], "memory/.events.md.new", appends).is_none() {
        return;
    }
    workspace.ok("add_unresolved", json!({"text": "下一件事"}));
    assert!(workspace.index().contains("手写的一行\n") && workspace.index().contains("买伞"), "{}", workspace.index());
}

#[test]
fn what_an_editor_keeps_of_a_change_that_is_taken_back_does_not_stay_alone() {
    if missing(&["bash", "strace"]) {
        return;
    }
    let start = &STARTS["lived_in"];
    let recording = json!({
        "event_updates": [{"id": "E002", "user_state": "改了"}],
        "mood": {"delta_valence": -0.1, "note": "累"},
    });
    let call = Call { tool: "record_conversation", arguments: recording.clone() };
    let steps = run(&laid_out(start), &call).traced().undisturbed().steps;
    let is_mood = |step: &&Step| matches!(step, Step::Create { path } if path == "memory/.mood_state.md.new");
    let number = steps.iter().filter(|step| step.is_made()).position(|step| is_mood(&step)).unwrap() + 1;
    let workspace = laid_out(start);
    let call = ["call", "record_conversation", &recording.to_string()];
    let saves = r"cp memory/events.md memory/x; printf '\n手写的一行\n' >> memory/x; mv memory/x memory/events.md";
    // The second fsync is that of the copy with which the events are taken back.
    let fault = format!("eio:{number}");
    if while_syncing_with(&fault, &workspace, 2, &call, "memory/.events.md.new", saves).is_none() {
        return;
    }
    run(&workspace, &look()).in_boot(FIRST_BOOT).undisturbed();
    assert!(workspace.events().contains("手写的一行\n"), "{}", workspace.events());
    let shows = (workspace.events().contains("改了"), workspace.read(MOOD).contains("note: 累\n"));
    assert!(shows == (true, true) || shows == (false, false), "{shows:?}");
}

// What is nobody's, and what is whole

#[test]
fn a_whole_event_of_ours_keeps_its_place_before_one_that_was_changed() {
    let two = json!({"events": [adding(), {"type": "用户Todo", "content": "寄信", "date": "2026-04-13"}]});
    let workspace = answered(&STARTS["lived_in"], "record_conversation", two, &[]);
    let edited = workspace.events().replace("**内容**：寄信\n**状态**：待跟进", "**内容**：寄信\n**状态**：已关闭");
    assert_ne!(edited, workspace.events());
    workspace.write(EVENTS, &edited);
    run(&workspace, &look()).in_boot(FIRST_BOOT).undisturbed();
    assert_eq!(workspace.events(), edited);
}

#[test]
fn neither_a_blank_line_nor_a_later_mark_of_another_program_shows_a_change_that_was_not_made() {
    for theirs in
        ["\n\n### [E004] 2026-04-12 · 重要事件\n**内容**：外面写的\n", "\n### [E000] 9999-04-12T10:00 · last_active\n"]
    {
        let workspace = stopped(&STARTS["lived_in"], "record_conversation", json!({"events": [adding()]}));
        let edited = workspace.events() + theirs;
        workspace.write(EVENTS, &edited);
        run(&workspace, &look()).in_boot(FIRST_BOOT).undisturbed();
        assert_eq!(workspace.events(), edited);
    }
}

#[test]
fn nuls_go_whatever_stands_behind_them() {
    let start = &STARTS["lived_in"];
    let workspace = answered(start, "append_event", adding(), &[]);
    let mut bytes = workspace.bytes(EVENTS);
    bytes[start[EVENTS].len()..].fill(0);
    bytes.extend_from_slice(THEIRS.trim_start().as_bytes());
    workspace.write(EVENTS, &bytes);
    run(&workspace, &look()).in_boot(NEXT_BOOT).undisturbed();
    let events = workspace.events();
    assert!(!events.contains('\0') && events.contains(THEIRS.trim_start()) && events.contains(ADDED), "{events:?}");
    assert_eq!(workspace.ok("append_event", adding())["id"], "E010");
}

#[test]
fn a_line_that_stands_as_it_was_to_become_needs_no_other() {
    let correcting = json!({"old_text": "怕打雷", "new_text": "怕黑"});
    let done = "- **[2026-04-02]** 怕黑\n";
    let both = format!("{done}- **[2026-04-02]** 怕打雷\n");
    let recovered = Recovered::of("correct_persona", correcting, &[(PERSONA, "- **[2026-04-02]** 怕打雷\n", &both)]);
    recovered.has(PERSONA, &[]);
    recovered.has_no_conflict();
}

// Mounted files

#[test]
fn a_deletion_by_hand_in_a_mounted_file_stays() {
    if !can_mount() {
        return;
    }
    let changing = json!({"id": "E002", "content": "改"});
    let workspace = answered(&STARTS["lived_in"], "update_event", changing, &[EVENTS]);
    let text = workspace.events();
    let kept = &text[..text.rfind("### ").unwrap()];
    workspace.write(EVENTS, kept);
    run(&workspace, &look()).with_mounted(&[EVENTS]).in_boot(FIRST_BOOT).undisturbed();
    assert_eq!(workspace.events(), kept);
}

#[test]
fn what_was_whole_beside_a_torn_mounted_file_is_kept_where_another_program_wrote_into_that() {
    if !can_mount() {
        return;
    }
    let start = &STARTS["lived_in"];
    let changing = json!({"id": "E002", "content": "很长".repeat(100)});
    let workspace = answered(start, "update_event", changing, &[EVENTS]);
    let whole = workspace.events();
    // The new length did not reach the disk, and another program goes on from the old one.
    workspace.write(EVENTS, [&whole.as_bytes()[..start[EVENTS].len()], THEIRS.as_bytes()].concat());
    run(&workspace, &look()).with_mounted(&[EVENTS]).in_boot(NEXT_BOOT).undisturbed();
    assert!(String::from_utf8_lossy(&workspace.bytes(EVENTS)).contains(THEIRS));
    let kept = workspace.read(".memory_conflicts");
    assert!(kept.contains("**内容**：交房租") && kept.contains("很长很长"), "{kept}");
}

// The doctor

#[test]
fn the_doctor_tells_what_its_own_recovery_renumbered() {
    let start = &STARTS["lived_in"];
    let workspace = answered(start, "append_event", adding(), &[]);
    let theirs = THEIRS.replace("E009", "E004");
    workspace.write(EVENTS, [&start[EVENTS], theirs.as_bytes()].concat());
    let mut command = workspace.command();
    command.args(["doctor", "--fix"]).env("COMPANION_MEMORY_BOOT", NEXT_BOOT);
    let outcome = Outcome::of(command, None);
    assert!(workspace.events().contains("### [E005] 2026-04-13 · 用户Todo\n"), "{}", workspace.events());
    assert!(outcome.stdout.contains("E005"), "{outcome:?}");
}

#[test]
fn an_index_is_not_refreshed_from_events_that_are_gone() {
    let start = &STARTS["lived_in"];
    let mut files = start.clone();
    edited(&mut files, "memory/MEMORY.md", "- [E003] 用户Todo · 交房租\n", "");
    for step in 1.. {
        let workspace = laid_out(&files);
        let mut command = workspace.command();
        let fault = format!("stop:{step}");
        command.args(["doctor", "--fix"]).env("COMPANION_MEMORY_BOOT", FIRST_BOOT).env("COMPANION_MEMORY_FAULT", fault);
        assert_eq!(Outcome::of(command, None).status, None, "no step left the index changed and the record open");
        let is_open = workspace.bytes(".memory_journal").windows(6).any(|word| word == b" open ");
        if is_open && workspace.index().contains("[E003]") {
            workspace.write(EVENTS, "");
            let call = Call { tool: "append_event", arguments: adding() };
            let ran = run(&workspace, &call).in_boot(FIRST_BOOT).now();
            assert_eq!(ran.refusal.unwrap().code, "damaged");
            return;
        }
    }
}
