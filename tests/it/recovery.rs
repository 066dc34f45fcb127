//! What a recovery makes of files that another hand changed after a power cut: what was answered is looked for, and put
//! in where what it belongs to still stands; everything else stays as that hand left it.

use crate::{
    attack::{
        Call, FIRST_BOOT, NEXT_BOOT, all_files_of, can_mount, files_of, laid_out, look, next_worry, only_memory, run,
    },
    disk_model::Step,
    starts::{Files, STARTS},
    support::{Outcome, Workspace, bash, missing},
};
use serde_json::{Value, json};
use std::{
    fs,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

const EVENTS: &str = "memory/events.md";
const UNRESOLVED: &str = "memory/unresolved.md";
const MOOD: &str = "memory/mood_state.md";
const PERSONA: &str = "memory/persona.md";
const PROFILE: &str = "memory/user_profile.md";

/// A file with another text in the place of one that stands there once.
fn edited(files: &mut Files, file: &str, old: &str, new: &str) {
    let text = std::str::from_utf8(&files[file]).unwrap();
    assert_eq!(text.matches(old).count(), 1, "{old:?} in {file}: {text}");
    let text = text.replacen(old, new, 1);
    files.insert(file.to_owned(), text.into_bytes());
}

/// A workspace that was stopped so, edited by another hand, and brought forward.
struct Recovered {
    workspace: Workspace,
    edited: Files,
    warnings: String,
}

/// A workspace in which a call was stopped before the first step of this kind.
fn stopped_before(
    start: &Files,
    tool: &'static str,
    arguments: Value,
    mounted: &[&str],
    is_it: impl Fn(&Step) -> bool,
) -> Workspace {
    let call = Call { tool, arguments };
    let steps = run(&laid_out(start), &call).with_mounted(mounted).traced().undisturbed().steps;
    let number = steps.iter().filter(|step| step.is_made()).position(is_it).unwrap() + 1;
    let workspace = laid_out(start);
    run(&workspace, &call).with_mounted(mounted).with_fault(format!("stop:{number}")).now();
    workspace
}

/// A workspace in which a call's record is safe and nothing more.
fn stopped(start: &Files, tool: &'static str, arguments: Value) -> Workspace {
    let is_applied = |step: &Step| match step {
        Step::Create { path } | Step::Write { path, .. } | Step::Rename { to: path, .. } => path != ".memory_journal",
        _ => false,
    };
    let workspace = stopped_before(start, tool, arguments, &[], is_applied);
    assert_eq!(only_memory(files_of(workspace.root())), only_memory(start.clone()), "{tool} changed a file");
    workspace
}

/// A workspace in which a call was answered, and nothing is synced yet.
fn answered(start: &Files, tool: &'static str, arguments: Value, mounted: &[&str]) -> Workspace {
    stopped_before(
        start,
        tool,
        arguments,
        mounted,
        |step| matches!(step, Step::Sync { path } if path.starts_with("memory/") && !path.starts_with("memory/.")),
    )
}

impl Recovered {
    fn of(tool: &'static str, arguments: Value, edits: &[(&str, &str, &str)]) -> Self {
        let start = &STARTS["lived_in"];
        let workspace = stopped(start, tool, arguments);
        let mut files = start.clone();
        for (file, old, new) in edits {
            edited(&mut files, file, old, new);
            workspace.write(file, &files[*file]);
        }
        let answer = run(&workspace, &look()).in_boot(NEXT_BOOT).undisturbed().answer.unwrap();
        let warnings = answer["warnings"].to_string();
        Self { workspace, edited: files, warnings }
    }

    /// A file is as the other hand left it but for these edits.
    #[track_caller]
    fn has(&self, file: &str, edits: &[(&str, &str)]) {
        let mut files = self.edited.clone();
        for (old, new) in edits {
            edited(&mut files, file, old, new);
        }
        assert_eq!(self.workspace.read(file), String::from_utf8_lossy(&files[file]), "{file}");
    }

    #[track_caller]
    fn has_no_conflict(&self) {
        assert!(!self.workspace.path(".memory_conflicts").exists(), "{}", self.workspace.read(".memory_conflicts"));
    }

    /// What could not be placed is kept, and every result says so.
    #[track_caller]
    fn keeps(&self, file: &str, now: &str) {
        let kept = self.workspace.read(".memory_conflicts");
        assert!(kept.contains(&format!("file: {file}\n")) && kept.contains(&format!("now: {now}\n")), "{kept}");
        assert!(self.workspace.ok("list_events", json!({}))["warnings"].to_string().contains(".memory_conflicts"));
    }
}

// Events

#[test]
fn a_field_is_changed_in_an_entry_that_another_hand_changed_elsewhere() {
    let closing = json!({"id": "E002", "status": "已关闭"});
    // The line that is looked for stands at the end of another, too.
    let remark = "**备注**：他说**状态**：待跟进";
    let recovered = Recovered::of("update_event", closing, &[(EVENTS, "**备注**：手写的一行", remark)]);
    recovered.has(EVENTS, &[("\n**状态**：待跟进\n**到期日**", "\n**状态**：已关闭\n**到期日**")]);
    recovered.has_no_conflict();
    assert!(!recovered.workspace.index().contains("[E002]"), "{}", recovered.workspace.index());
}

#[test]
fn a_field_that_another_hand_changed_stays_as_that_hand_left_it() {
    let closing = json!({"id": "E002", "status": "已关闭"});
    let edit = (EVENTS, "**状态**：待跟进\n**到期日**", "**状态**：已跟进\n**到期日**");
    let recovered = Recovered::of("update_event", closing.clone(), &[edit]);
    recovered.has(EVENTS, &[]);
    recovered.keeps(EVENTS, "**状态**：已关闭");

    let edit = (EVENTS, "**状态**：待跟进\n**到期日**", "**状态**：已关闭\n**到期日**");
    let recovered = Recovered::of("update_event", closing, &[edit]);
    recovered.has(EVENTS, &[]);
    recovered.has_no_conflict();
}

#[test]
fn a_new_field_goes_to_its_place_among_those_of_another_hand() {
    let fields = json!({"id": "E003", "user_state": "着急", "due_date": "2026-05-01"});
    let edit = (EVENTS, "**内容**：交房租\n**状态**：待跟进\n", "**内容**：交房租\n**状态**：待跟进\n**备注**：手写\n");
    let recovered = Recovered::of("update_event", fields, &[edit]);
    let new = "**内容**：交房租\n**用户状态**：着急\n**状态**：待跟进\n**到期日**：2026-05-01\n**备注**：手写\n";
    recovered.has(EVENTS, &[("**内容**：交房租\n**状态**：待跟进\n**备注**：手写\n", new)]);
    recovered.has_no_conflict();
}

#[test]
fn an_entry_that_another_hand_removed_is_not_made_again_by_a_change_of_it() {
    let closing = json!({"id": "E003", "status": "已关闭"});
    let entry = "### [E003] 2026-04-03 · 用户Todo\n**类型**：用户Todo\n**内容**：交房租\n**状态**：待跟进\n\n";
    let recovered = Recovered::of("update_event", closing, &[(EVENTS, entry, "")]);
    recovered.has(EVENTS, &[]);
    recovered.keeps(EVENTS, "**状态**：已关闭");
}

const LAST: &str = "### [E000] 2026-04-03T08:00 · last_active\n";
const ADDED: &str = "**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n";

fn adding() -> Value {
    json!({"type": "用户Todo", "content": "买伞", "date": "2026-04-13"})
}

#[test]
fn an_event_whose_number_was_given_out_takes_the_next_one_and_the_result_says_so() {
    let theirs = "### [E004] 2026-04-12 · 重要事件\n**内容**：外面写的\n";
    let recovered = Recovered::of("append_event", adding(), &[(EVENTS, LAST, &format!("{LAST}\n{theirs}"))]);
    let both = format!("{theirs}\n### [E005] 2026-04-13 · 用户Todo\n{ADDED}");
    recovered.has(EVENTS, &[(theirs, &both)]);
    recovered.has_no_conflict();
    assert!(recovered.warnings.contains("E004") && recovered.warnings.contains("E005"), "{}", recovered.warnings);
    assert!(recovered.workspace.index().contains("- [E005] 用户Todo · 买伞\n"), "{}", recovered.workspace.index());
}

#[test]
fn an_event_that_is_there_under_a_number_no_lower_is_not_added_again() {
    for id in ["E004", "E007"] {
        let there = format!("{LAST}\n### [{id}] 2026-04-13 · 用户Todo\n{ADDED}**备注**：抄的\n");
        let recovered = Recovered::of("append_event", adding(), &[(EVENTS, LAST, &there)]);
        recovered.has(EVENTS, &[]);
        recovered.has_no_conflict();
    }
}

#[test]
fn an_event_like_an_older_one_is_added_all_the_same() {
    let older = "### [E002] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：买伞\n";
    let recovered = Recovered::of(
        "append_event",
        adding(),
        &[(EVENTS, "### [E002] 2026-04-02 · 约定\n**类型**：约定\n**内容**：周五一起去看展\n", older)],
    );
    recovered.has(EVENTS, &[(LAST, &format!("{LAST}\n### [E004] 2026-04-13 · 用户Todo\n{ADDED}"))]);
}

#[test]
fn a_last_active_mark_is_added_unless_a_later_one_stands_there() {
    let theirs = "### [E000] 9999-12-31T23:59 · last_active\n";
    let recovered = Recovered::of("touch_last_active", json!({}), &[(EVENTS, LAST, theirs)]);
    recovered.has(EVENTS, &[]);

    let earlier = "### [E000] 2026-04-04T08:00 · last_active\n";
    let recovered = Recovered::of("touch_last_active", json!({}), &[(EVENTS, LAST, earlier)]);
    let events = recovered.workspace.events();
    let added = events.strip_prefix(std::str::from_utf8(&recovered.edited[EVENTS]).unwrap()).unwrap();
    assert!(added.starts_with("\n### [E000] 20") && added.lines().count() == 2, "{added:?}");
}

// Worries

const FIRST: &str = "- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 妈妈血压又高了\n";
const SECOND: &str = "- [M001] src=material_derived kind=work_line decay_d=90 last_touched=L010 forced_echo_last=(never) 剧本里那句别扭的对白\n";

#[test]
fn a_worry_is_touched_wherever_it_stands_unless_another_hand_changed_its_line() {
    let touching = json!({"id": "M001", "life_log_id": "L012"});
    let moved = (UNRESOLVED, &*format!("{FIRST}{SECOND}"), &*format!("{SECOND}{FIRST}"));
    let recovered = Recovered::of("touch_unresolved", touching.clone(), &[moved]);
    recovered.has(UNRESOLVED, &[(SECOND, &SECOND.replace("L010", "L012"))]);
    recovered.has_no_conflict();

    let changed = (UNRESOLVED, SECOND, &*SECOND.replace("L010", "L011"));
    let recovered = Recovered::of("touch_unresolved", touching, &[changed]);
    recovered.has(UNRESOLVED, &[]);
    recovered.keeps(UNRESOLVED, SECOND.replace("L010", "L012").trim_end());
}

#[test]
fn a_resolved_worry_moves_unless_another_hand_changed_or_moved_it() {
    let resolving = json!({"id": "U001", "resolved_by": "降下来了"});
    let theirs =
        "- [U003] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 外面写的\n";
    let recovered =
        Recovered::of("resolve_unresolved", resolving.clone(), &[(UNRESOLVED, FIRST, &format!("{FIRST}{theirs}"))]);
    let gone = recovered.workspace.read(UNRESOLVED);
    let (active, faded) = gone.split_once("## 已淡忘").unwrap();
    assert!(active.contains(theirs) && !active.contains("[U001]"), "{gone}");
    assert_eq!(faded.matches(&format!("{} resolved_by: \"降下来了\"\n", FIRST.trim_end())).count(), 1, "{gone}");
    recovered.has_no_conflict();

    let changed = (UNRESOLVED, "妈妈血压又高了", "妈妈血压好些了");
    let recovered = Recovered::of("resolve_unresolved", resolving.clone(), &[changed]);
    recovered.has(UNRESOLVED, &[]);
    assert!(recovered.workspace.read(".memory_conflicts").contains("降下来了"));

    let removed = Recovered::of("resolve_unresolved", resolving, &[(UNRESOLVED, FIRST, "")]);
    let text = removed.workspace.read(UNRESOLVED);
    assert_eq!(text.matches("[U001]").count(), 1, "{text}");
    assert!(text.split_once("## 已淡忘").unwrap().1.contains("降下来了"), "{text}");
    removed.has_no_conflict();
}

#[test]
fn a_new_worry_goes_beside_those_of_another_hand_under_a_number_of_its_own() {
    let adding = json!({"text": "爸爸的体检"});
    let theirs = FIRST.replace("U001", "U003").replace("妈妈血压又高了", "外面写的");
    let recovered =
        Recovered::of("add_unresolved", adding.clone(), &[(UNRESOLVED, FIRST, &format!("{FIRST}{theirs}"))]);
    let text = recovered.workspace.read(UNRESOLVED);
    assert_eq!(text.matches("[U003]").count(), 1, "{text}");
    assert_eq!(text.matches("- [U004] ").count(), 1, "{text}");
    assert!(text.split_once("## 已淡忘").unwrap().0.contains("爸爸的体检\n"), "{text}");
    assert!(recovered.warnings.contains("U003") && recovered.warnings.contains("U004"), "{}", recovered.warnings);

    let theirs = theirs.replace("外面写的", "爸爸的体检");
    let recovered = Recovered::of("add_unresolved", adding, &[(UNRESOLVED, FIRST, &format!("{FIRST}{theirs}"))]);
    recovered.has(UNRESOLVED, &[]);
    recovered.has_no_conflict();
}

// Mood

#[test]
fn a_snapshot_goes_before_that_of_another_hand_and_current_values_are_not_taken_back() {
    let turn = json!({"delta_valence": -0.1, "note": "累"});
    let theirs = "## 快照历史\n\n### 2026-04-20T08:00 · source=life_sim\nvalence: -0.20\nenergy: 0.55\n";
    let recovered = Recovered::of("update_mood", turn.clone(), &[(MOOD, "## 快照历史\n", theirs)]);
    let text = recovered.workspace.read(MOOD);
    let (head, snapshots) = text.split_once("## 快照历史\n").unwrap();
    assert!(head.starts_with("valence: -0.30\nenergy: 0.55\n"), "{text}");
    let (ours, rest) = snapshots.split_once("### 2026-04-20T08:00").unwrap();
    assert!(ours.contains("valence: -0.30\nenergy: 0.55\nnote: 累\n") && !rest.contains("note: 累"), "{text}");
    recovered.has_no_conflict();

    let changed = (MOOD, "valence: -0.20\nenergy: 0.55\n\n---", "valence: 0.40\nenergy: 0.55\n\n---");
    let recovered = Recovered::of("update_mood", turn, &[changed]);
    let text = recovered.workspace.read(MOOD);
    assert!(text.starts_with("valence: 0.40\nenergy: 0.55\n") && text.contains("note: 累\n"), "{text}");
    recovered.keeps(MOOD, "valence: -0.30");
}

// Persona and profile

#[test]
fn a_detail_that_another_hand_wrote_down_is_not_added_again() {
    let adding = json!({"detail": "不吃香菜"});
    let last = "- **[2026-04-02]** 怕打雷\n";
    let recovered =
        Recovered::of("add_persona_detail", adding.clone(), &[(PERSONA, last, "- **[2026-04-02]** 不吃香菜\n")]);
    recovered.has(PERSONA, &[]);

    let theirs = format!("{last}- **[2026-04-03]** 外面写的\n");
    let recovered = Recovered::of("add_persona_detail", adding, &[(PERSONA, last, &theirs)]);
    let text = recovered.workspace.read(PERSONA);
    let added = text.strip_prefix(std::str::from_utf8(&recovered.edited[PERSONA]).unwrap()).unwrap();
    assert!(
        added.starts_with("- **[20") && added.ends_with("]** 不吃香菜\n") && added.lines().count() == 1,
        "{added:?}"
    );
    recovered.has_no_conflict();
}

#[test]
fn a_line_is_changed_wherever_it_stands_unless_another_hand_changed_it() {
    let correcting = json!({"old_text": "怕打雷", "new_text": "怕黑"});
    let (one, two) = ("- **[2026-04-01]** 喜欢下雨天\n", "- **[2026-04-02]** 怕打雷\n");
    let moved = (PERSONA, &*format!("{one}{two}"), &*format!("{two}{one}"));
    let recovered = Recovered::of("correct_persona", correcting.clone(), &[moved]);
    recovered.has(PERSONA, &[("怕打雷", "怕黑")]);
    recovered.has_no_conflict();

    let recovered = Recovered::of("correct_persona", correcting, &[(PERSONA, "怕打雷", "怕打雷和闪电")]);
    recovered.has(PERSONA, &[]);
    recovered.keeps(PERSONA, "- **[2026-04-02]** 怕黑");

    let setting = json!({"action": "set", "section": "基本信息", "key": "城市", "text": "杭州"});
    let recovered = Recovered::of("update_profile", setting.clone(), &[(PROFILE, "- 骑车\n", "- 骑车上班\n")]);
    recovered.has(PROFILE, &[("- **城市**：\n", "- **城市**：杭州\n")]);
    recovered.has_no_conflict();

    let recovered = Recovered::of("update_profile", setting, &[(PROFILE, "- **城市**：\n", "- **城市**：上海\n")]);
    recovered.has(PROFILE, &[]);
    recovered.keeps(PROFILE, "- **城市**：杭州");
}

#[test]
fn a_bare_bullet_is_filled_and_no_other() {
    let adding = json!({"action": "add", "section": "正在经历的重要事情", "text": "换工作"});
    let bare = "## 正在经历的重要事情\n\n- \n";
    let recovered = Recovered::of("update_profile", adding, &[(PROFILE, bare, &bare.replace("- \n", "- 搬家\n- \n"))]);
    recovered.has(PROFILE, &[("- 搬家\n- \n", "- 搬家\n- 换工作\n")]);
    recovered.has_no_conflict();
}

// What is torn, and another program's lines behind it

const THEIRS: &str = "\n### [E009] 2026-04-12 · 重要事件\n**类型**：重要事件\n**内容**：外面写的\n**状态**：已关闭\n";

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

/// A call whose `nth` fsync takes long, and what another program does meanwhile, once this file is there.
fn while_syncing(workspace: &Workspace, nth: u32, arguments: &[&str], sign: &str, meanwhile: &str) -> Option<Outcome> {
    while_syncing_with("", workspace, nth, arguments, sign, meanwhile)
}

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
