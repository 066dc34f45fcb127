//! What a recovery makes of files that another hand changed after a power cut: what was answered is looked for, and put
//! in where what it belongs to still stands; everything else stays as that hand left it.

use crate::{
    attack::{Call, NEXT_BOOT, files_of, laid_out, look, only_memory, run},
    disk_model::Step,
    starts::{Files, STARTS},
    support::Workspace,
};
use serde_json::{Value, json};

pub(crate) const EVENTS: &str = "memory/events.md";
pub(crate) const UNRESOLVED: &str = "memory/unresolved.md";
pub(crate) const MOOD: &str = "memory/mood_state.md";
pub(crate) const PERSONA: &str = "memory/persona.md";
pub(crate) const PROFILE: &str = "memory/user_profile.md";

/// A file with another text in the place of one that stands there once.
pub(crate) fn edited(files: &mut Files, file: &str, old: &str, new: &str) {
    let text = std::str::from_utf8(&files[file]).unwrap();
    assert_eq!(text.matches(old).count(), 1, "{old:?} in {file}: {text}");
    let text = text.replacen(old, new, 1);
    files.insert(file.to_owned(), text.into_bytes());
}

/// A workspace that was stopped so, edited by another hand, and brought forward.
pub(crate) struct Recovered {
    pub(crate) workspace: Workspace,
    edited: Files,
    warnings: String,
}

/// A workspace in which a call was stopped before the first step of this kind.
pub(crate) fn stopped_before(
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
pub(crate) fn stopped(start: &Files, tool: &'static str, arguments: Value) -> Workspace {
    let is_applied = |step: &Step| match step {
        Step::Create { path } | Step::Write { path, .. } | Step::Rename { to: path, .. } => path != ".memory_journal",
        _ => false,
    };
    let workspace = stopped_before(start, tool, arguments, &[], is_applied);
    assert_eq!(only_memory(files_of(workspace.root())), only_memory(start.clone()), "{tool} changed a file");
    workspace
}

/// A workspace in which a call was answered, and nothing is synced yet.
pub(crate) fn answered(start: &Files, tool: &'static str, arguments: Value, mounted: &[&str]) -> Workspace {
    stopped_before(
        start,
        tool,
        arguments,
        mounted,
        |step| matches!(step, Step::Sync { path } if path.starts_with("memory/") && !path.starts_with("memory/.")),
    )
}

impl Recovered {
    pub(crate) fn of(tool: &'static str, arguments: Value, edits: &[(&str, &str, &str)]) -> Self {
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
    pub(crate) fn has(&self, file: &str, edits: &[(&str, &str)]) {
        let mut files = self.edited.clone();
        for (old, new) in edits {
            edited(&mut files, file, old, new);
        }
        assert_eq!(self.workspace.read(file), String::from_utf8_lossy(&files[file]), "{file}");
    }

    #[track_caller]
    pub(crate) fn has_no_conflict(&self) {
        assert!(!self.workspace.path(".memory_conflicts").exists(), "{}", self.workspace.read(".memory_conflicts"));
    }

    /// What could not be placed is kept, and every result says so.
    #[track_caller]
    pub(crate) fn keeps(&self, file: &str, now: &str) {
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

pub(crate) const LAST: &str = "### [E000] 2026-04-03T08:00 · last_active\n";
pub(crate) const ADDED: &str = "**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n";

pub(crate) fn adding() -> Value {
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

pub(crate) const FIRST: &str = "- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 妈妈血压又高了\n";
pub(crate) const SECOND: &str = "- [M001] src=material_derived kind=work_line decay_d=90 last_touched=L010 forced_echo_last=(never) 剧本里那句别扭的对白\n";

// Worries

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
