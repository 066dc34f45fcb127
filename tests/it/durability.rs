//! What is safe, and when; and what becomes of a change of which a part had reached its files when another hand came.

use crate::{
    attack::{Call, FIRST_BOOT, JOURNAL, NEXT_BOOT, look, run},
    disk_model::Step,
    support::{Workspace, index_with},
};
use serde_json::{Value, json};
use std::fs;

const EVENTS: &str = "memory/events.md";
const UNRESOLVED: &str = "memory/unresolved.md";
const PERSONA: &str = "memory/persona.md";
const MOOD: &str = "memory/mood_state.md";
const CONFLICTS: &str = ".memory_conflicts";

const FIRST: &str =
    "# 事件\n\n### [E001] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：买伞\n**状态**：已关闭\n";
const WORRIES: &str =
    "# 未完挂念\n\n- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) 猫\n\n## 已淡忘\n";
const CHARACTER: &str = "# 人物\n\n喜欢雨天。\n";
const CALM: &str = "valence: 0.10\nenergy: 0.50\n\n## 快照历史\n\n（暂无快照）\n";

/// The files, and a call that was stopped when its record was written and, of `reached`, this file had its change; of
/// nothing, no file had.
fn left_open(tool: &'static str, arguments: Value, reached: Option<&str>) -> Workspace {
    let call = Call { tool, arguments };
    for step in 1.. {
        let workspace = Workspace::in_memory()
            .file(EVENTS, FIRST)
            .file(UNRESOLVED, WORRIES)
            .file(PERSONA, CHARACTER)
            .file(MOOD, CALM)
            .file("memory/MEMORY.md", index_with("（暂无）"));
        let before = workspace.tree();
        let stopped = run(&workspace, &call).with_fault(format!("stop:{step}")).now();
        assert_eq!(stopped.status, None, "no step left the record of {call:?} open: {stopped:?}");
        let is_open = workspace.path(JOURNAL).exists()
            && workspace.bytes(JOURNAL).starts_with(b"companion-memory journal 1 open ");
        let is_reached = reached.is_none_or(|file| before.get(file) != workspace.tree().get(file));
        if is_open && is_reached {
            return workspace;
        }
    }
    unreachable!("a call has an end")
}

/// The warnings of the call that recovers after a power cut: nobody knows what had reached the files, so it goes forward.
fn recovered(workspace: &Workspace) -> String {
    let ran = run(workspace, &look()).in_boot(NEXT_BOOT).undisturbed();
    let journal = String::from_utf8(workspace.bytes(JOURNAL)).unwrap();
    assert!(journal.starts_with("companion-memory journal 1 done "), "{journal}");
    ran.answer.unwrap()["warnings"].to_string()
}

fn is_no_conflict(workspace: &Workspace, warnings: &str) {
    assert!(!workspace.path(CONFLICTS).exists(), "{}", workspace.read(CONFLICTS));
    assert!(!warnings.contains(CONFLICTS), "{warnings}");
}

/// The foreign text stands as it was written, and each of these lines of ours is kept apart and told of.
fn is_kept_apart(workspace: &Workspace, warnings: &str, file: &str, foreign: &str, kept: &[&str]) {
    assert_eq!(workspace.read(file), foreign);
    assert!(warnings.contains(CONFLICTS), "{warnings}");
    let conflicts = workspace.read(CONFLICTS);
    for line in kept {
        assert_eq!(conflicts.lines().filter(|found| found == line).count(), 1, "{line:?} in {conflicts}");
    }
}

fn todo(content: &str) -> Value {
    json!({"type": "用户Todo", "content": content, "date": "2026-04-13", "status": "已关闭"})
}

fn event(id: &str, content: &str) -> String {
    FIRST.replace("# 事件\n", "").replace("E001", id).replace("买伞", content)
}

#[test]
fn a_worry_that_says_the_same_as_one_that_closed_before_is_not_taken_for_it() {
    let workspace = left_open("add_unresolved", json!({"text": "狗"}), None);
    // Somebody closes the old one by hand, and finds that it was about the dog.
    let closed = "# 未完挂念\n\n## 已淡忘\n\n- [U001] src=user_told 狗\n";
    workspace.write(UNRESOLVED, closed);
    let warnings = recovered(&workspace);
    let unresolved = workspace.read(UNRESOLVED);
    assert!(unresolved.contains("- [U002] src=user_told kind=user_told "), "{unresolved}");
    assert!(unresolved.ends_with("## 已淡忘\n\n- [U001] src=user_told 狗\n"), "{unresolved}");
    is_no_conflict(&workspace, &warnings);
}

#[test]
fn a_worry_that_another_hand_moved_meanwhile_stays_where_it_is() {
    let workspace = left_open("resolve_unresolved", json!({"id": "U001", "resolved_by": "好了"}), None);
    let line = "- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) 猫\n";
    let foreign = WORRIES.replace(&format!("\n{line}"), "") + "\n" + line;
    workspace.write(UNRESOLVED, &foreign);
    let warnings = recovered(&workspace);
    assert_eq!(workspace.read(UNRESOLVED), foreign);
    is_no_conflict(&workspace, &warnings);
}

#[test]
fn a_correction_whose_line_stands_twice_by_now_is_kept_apart() {
    let workspace = left_open("correct_persona", json!({"old_text": "雨天", "new_text": "晴天"}), None);
    let foreign = format!("{CHARACTER}\n## 抄了一遍\n\n喜欢雨天。\n");
    workspace.write(PERSONA, &foreign);
    let warnings = recovered(&workspace);
    is_kept_apart(&workspace, &warnings, PERSONA, &foreign, &["was: 喜欢雨天。", "now: 喜欢晴天。"]);
}

#[test]
fn a_field_that_another_hand_set_alike_is_not_set_again() {
    let workspace = left_open("update_event", json!({"id": "E001", "follow_up": "问问"}), None);
    let foreign = FIRST.replace("**状态**", "**后续**：问问\n**状态**") + "手写的一行\n";
    workspace.write(EVENTS, &foreign);
    let warnings = recovered(&workspace);
    assert_eq!(workspace.events(), foreign);
    is_no_conflict(&workspace, &warnings);
}

#[test]
fn a_field_is_set_in_its_own_entry_wherever_that_stands_by_now() {
    let workspace = left_open("update_event", json!({"id": "E001", "status": "待跟进"}), None);
    // The same lines stand in another entry in front of it.
    let foreign = format!("{}{}", event("E005", "买伞"), FIRST.replace("# 事件\n", ""));
    workspace.write(EVENTS, &foreign);
    let warnings = recovered(&workspace);
    let open = FIRST.replace("# 事件\n", "").replace("已关闭", "待跟进");
    assert_eq!(workspace.events(), format!("{}{open}", event("E005", "买伞")));
    assert!(workspace.index().contains("- [E001] 用户Todo · 买伞\n"), "{}", workspace.index());
    is_no_conflict(&workspace, &warnings);
}

#[test]
fn a_snapshot_that_had_reached_its_file_is_not_put_in_again_behind_another_hand() {
    for boot in [FIRST_BOOT, NEXT_BOOT] {
        let workspace = left_open("update_mood", json!({"delta_valence": 0.1, "note": "聊得好"}), Some(MOOD));
        let foreign = workspace.read(MOOD) + "\n手写的一行\n";
        workspace.write(MOOD, &foreign);
        run(&workspace, &look()).in_boot(boot).undisturbed();
        assert_eq!(workspace.read(MOOD), foreign, "in boot `{boot}`");
        assert!(!workspace.path(CONFLICTS).exists(), "in boot `{boot}`: {}", workspace.read(CONFLICTS));
    }
}

#[test]
fn an_event_that_had_reached_its_file_stays_in_front_of_what_another_program_added_behind_it() {
    for boot in [FIRST_BOOT, NEXT_BOOT] {
        let workspace = left_open("append_event", todo("寄信"), Some(EVENTS));
        let foreign = workspace.events() + &event("E003", "洗车");
        workspace.write(EVENTS, &foreign);
        run(&workspace, &look()).in_boot(boot).undisturbed();
        assert_eq!(workspace.events(), foreign, "in boot `{boot}`");
        assert!(!workspace.path(CONFLICTS).exists(), "in boot `{boot}`: {}", workspace.read(CONFLICTS));
    }
}

#[test]
fn a_change_that_somebody_took_back_in_every_file_stays_taken_back() {
    let open = json!({"type": "用户Todo", "content": "寄信", "date": "2026-04-13"});
    let index = "memory/MEMORY.md";
    // A checkout of the older files, with or without a line by hand in the index: that is derived, and tells nothing.
    for more in ["", "手写的一行\n"] {
        let workspace = left_open("append_event", open.clone(), Some(index));
        workspace.write(EVENTS, FIRST);
        workspace.write(index, index_with("（暂无）") + more);
        run(&workspace, &look()).in_boot(FIRST_BOOT).undisturbed();
        assert_eq!(workspace.events(), FIRST);
        assert_eq!(workspace.index(), index_with("（暂无）") + more);
        // It does not come back later either.
        run(&workspace, &look()).in_boot(NEXT_BOOT).undisturbed();
        assert_eq!(workspace.events(), FIRST);
    }
}

#[test]
fn a_recovery_leaves_a_damaged_workspace_and_its_record_alone() {
    let workspace = left_open("append_event", todo("寄信"), Some(EVENTS));
    workspace.write("memory/MEMORY.md", index_with("- [E001] 用户Todo · 买伞"));
    fs::remove_file(workspace.path(EVENTS)).unwrap();
    let (before, journal) = (workspace.tree(), workspace.bytes(JOURNAL));
    let worry = Call { tool: "add_unresolved", arguments: json!({"text": "狗"}) };
    for call in [look(), worry] {
        let ran = run(&workspace, &call).in_boot(NEXT_BOOT).now();
        assert_eq!(ran.refusal.expect("the events are gone").code, "damaged", "{}", call.tool);
        assert_eq!(workspace.tree(), before, "{}", call.tool);
        assert_eq!(workspace.bytes(JOURNAL), journal, "{}", call.tool);
    }
    // Once the file is back, what was recorded is there as well.
    workspace.write(EVENTS, FIRST);
    let warnings = recovered(&workspace);
    assert_eq!(workspace.events(), format!("{FIRST}{}", event("E002", "寄信")));
    is_no_conflict(&workspace, &warnings);
}

#[test]
fn what_is_kept_apart_is_kept_once_although_the_recovery_is_stopped_itself() {
    let foreign = FIRST.replace("已关闭", "已跟进（手写）");
    for step in 1.. {
        let workspace = left_open("update_event", json!({"id": "E001", "status": "待跟进"}), None);
        workspace.write(EVENTS, &foreign);
        let stopped = run(&workspace, &look()).with_fault(format!("stop:{step}")).in_boot(NEXT_BOOT).now();
        run(&workspace, &look()).in_boot(NEXT_BOOT).undisturbed();
        assert_eq!(workspace.events(), foreign, "step {step}");
        assert_eq!(workspace.read(CONFLICTS).matches("now: **状态**：待跟进\n").count(), 1, "step {step}");
        if stopped.status.is_some() {
            break;
        }
    }
}

#[test]
fn a_record_that_is_not_what_its_checksum_says_was_never_committed() {
    let workspace = left_open("append_event", todo("寄信"), None);
    let journal = String::from_utf8(workspace.bytes(JOURNAL)).unwrap();
    // A page of it is that of another record, and it reads all the same.
    workspace.write(JOURNAL, journal.replace("寄信", "还书"));
    run(&workspace, &look()).in_boot(NEXT_BOOT).undisturbed();
    assert_eq!(workspace.events(), FIRST);
    assert_eq!(workspace.ok("append_event", todo("洗车"))["id"], "E002");
}

// What is safe, and when

/// Where the caller has its answer among the steps.
fn answer_in(steps: &[Step]) -> usize {
    steps.iter().position(|step| matches!(step, Step::Answer)).expect("no answer")
}

fn worry_of(text: &str) -> Call {
    Call { tool: "add_unresolved", arguments: json!({"text": text}) }
}

fn syncs(step: &Step, file: &str) -> bool {
    matches!(step, Step::Sync { path } if path == file)
}

#[test]
fn a_record_is_safe_before_its_answer_and_safely_done_before_the_lock_is_free() {
    let workspace = Workspace::in_memory().file(UNRESOLVED, WORRIES).file("memory/MEMORY.md", index_with("（暂无）"));
    run(&workspace, &worry_of("狗")).undisturbed();
    let steps = run(&workspace, &worry_of("鸟")).traced().undisturbed().steps;
    let (before, after) = steps.split_at(answer_in(&steps));
    let Step::Write { path, bytes, .. } = &before[0] else { panic!("{before:?}") };
    assert!(path == JOURNAL && bytes.starts_with(b"companion-memory journal 1 open "), "{path}");
    assert!(syncs(&before[1], JOURNAL), "{before:?}");
    let [.., done, last] = after else { panic!("{after:?}") };
    assert!(matches!(done, Step::Write { path, bytes, .. } if path == JOURNAL && bytes == b"done"), "{done:?}");
    assert!(syncs(last, JOURNAL), "{last:?}");
    assert!(after.iter().any(|step| syncs(step, UNRESOLVED)), "{after:?}");
}

#[test]
fn the_name_of_a_journal_is_made_safe_until_a_record_of_it_was_done() {
    // The first record of all is written, and the program stops before the journal's name is safe.
    let workspace = left_open("add_unresolved", json!({"text": "狗"}), None);
    let steps = run(&workspace, &worry_of("鸟")).traced().undisturbed().steps;
    let before = &steps[..answer_in(&steps)];
    assert!(before.iter().any(|step| matches!(step, Step::SyncFolder { path } if path.is_empty())), "{before:?}");
    let steps = run(&workspace, &worry_of("鱼")).traced().undisturbed().steps;
    let before = &steps[..answer_in(&steps)];
    assert!(!before.iter().any(|step| matches!(step, Step::SyncFolder { path } if path.is_empty())), "{before:?}");
}

#[test]
fn a_large_file_is_safe_as_a_copy_before_it_takes_its_name_and_is_not_kept_in_the_journal() {
    let large = FIRST.to_owned() + &"手写的一行。\n".repeat(5_000);
    let details: Vec<_> = (0..14).map(|n| format!("{n}{}", "长".repeat(1_900))).collect();
    for (files, tool, arguments, file, copy) in [
        (
            vec![(EVENTS, large)],
            "update_event",
            json!({"id": "E001", "user_state": "忙"}),
            EVENTS,
            "memory/.events.md.new",
        ),
        (vec![], "record_conversation", json!({"persona_details": details}), PERSONA, "memory/.persona.md.new"),
    ] {
        let workspace = Workspace::in_memory().file("memory/MEMORY.md", index_with("（暂无）"));
        for (name, text) in files {
            workspace.write(name, text);
        }
        let steps = run(&workspace, &Call { tool, arguments }).traced().undisturbed().steps;
        let renamed = steps.iter().position(|step| matches!(step, Step::Rename { to, .. } if to == file)).unwrap();
        assert!(steps[..renamed].iter().any(|step| syncs(step, copy)), "{tool}");
        // What is new of it is in the record, and no more.
        let new: usize = if file == EVENTS { 0 } else { workspace.bytes(file).len() };
        assert!(workspace.bytes(JOURNAL).len() < new + 64 * 1024, "{tool}: {}", workspace.bytes(JOURNAL).len());
    }
}

#[test]
fn a_call_that_one_failed_step_refused_does_not_come_back_with_the_next_boot() {
    let mut refused = 0;
    for step in 1.. {
        let workspace = Workspace::in_memory().file(EVENTS, FIRST).file("memory/MEMORY.md", index_with("（暂无）"));
        let before = workspace.tree();
        let open = json!({"type": "用户Todo", "content": "寄信", "date": "2026-04-13"});
        let call = Call { tool: "append_event", arguments: open };
        let ran = run(&workspace, &call).with_fault(format!("eio:{step}")).now();
        if ran.answer.is_some() {
            break;
        }
        refused += 1;
        assert_eq!(ran.refusal.unwrap().code, "io", "step {step}");
        assert_eq!(workspace.tree(), before, "step {step}");
        run(&workspace, &look()).in_boot(NEXT_BOOT).undisturbed();
        assert_eq!(workspace.tree(), before, "step {step}, in the next boot");
    }
    assert!(refused > 3, "only {refused} steps before the answer");
}
