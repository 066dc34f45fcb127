//! `status` and `doctor`: every kind of finding, a look that changes nothing, and repairs that are safe.

use crate::support::{Outcome, OutsideLock, Server, Workspace, index_with, missing};
use serde_json::json;
use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt, symlink},
};

const EVENTS: &str = "# 事件\n\n### [E001] 2026-04-10 · 约定\n**类型**：约定\n**内容**：看展\n**状态**：待跟进\n**到期日**：2026-04-17\n";

const STATE: &str = "# 提炼进度\n\n### [D000] · last_distillation\ntimestamp: 2026-04-13T08:40:12.300000001+08:00\nlast_decay_scan: 2026-04-10\n";

/// A workspace with nothing to find.
fn healthy() -> Workspace {
    Workspace::new()
        .file(".memory.lock", "")
        .file(".distill.lock", "")
        .file("memory/events.md", EVENTS)
        .file("memory/MEMORY.md", index_with("- [E001] 2026-04-17 · 约定 · 看展"))
        .file("memory/unresolved.md", "# 挂念\n\n- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) 妈妈的血压\n- [M001] src=material_derived kind=chore decay_d=30 last_touched=L013 绿植\n\n## 已淡忘\n")
        .file("memory/life_log.md", "# 生活\n\n### [L013] 2026-04-12T16:00 · 阳台\n浇花。\n")
        .file("memory/user_profile.md", "# 用户\n\n## 基本信息\n\n- **时区**：Asia/Shanghai\n- **城市**：杭州\n\n## 喜欢\n\n- 茶\n")
        .file("memory/persona.md", "# 人物\n\nstability: 3\n")
        .file("memory/mood_state.md", "valence: 0.10\nenergy: 0.50\n")
        .file("memory/distill_state.md", STATE)
}

/// What a person sees.
fn says(workspace: &Workspace, arguments: &[&str]) -> String {
    let outcome = workspace.run(arguments);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    outcome.stdout
}

/// What a person sees of a workspace in which calls fail.
fn warns(workspace: &Workspace) -> String {
    let outcome = workspace.run(&["doctor"]);
    assert_eq!(outcome.status, Some(4), "{outcome:?}");
    let lines: Vec<_> = outcome.stdout.lines().collect();
    assert!(lines.iter().all(|line| lines.iter().filter(|other| other == &line).count() == 1), "{lines:?}");
    outcome.stdout
}

/// Every file of the workspace, hidden ones too, but the journal, which any writer uses.
fn everything(workspace: &Workspace) -> BTreeMap<String, String> {
    let mut all = workspace.tree();
    for entry in fs::read_dir(workspace.root()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        if name != ".memory_journal" && name != "memory" {
            let target = fs::read_link(&path).map(|t| t.display().to_string());
            let text = target.or_else(|_| fs::read_to_string(&path)).unwrap_or_else(|e| e.to_string());
            all.insert(name, text);
        }
    }
    all
}

/// `doctor` must name `place` and every word of `told` in one line, with and without `--dry-run`, and change nothing.
fn finds(workspace: &Workspace, place: &str, told: &[&str]) {
    finds_and_exits(0, workspace, place, told);
}

fn finds_and_exits(status: i32, workspace: &Workspace, place: &str, told: &[&str]) {
    let before = everything(workspace);
    for arguments in [&["doctor"][..], &["doctor", "--dry-run"], &["doctor", "--fix", "--dry-run"]] {
        let outcome = workspace.run(arguments);
        assert_eq!(outcome.status, Some(status), "{arguments:?}: {outcome:?}");
        let text = outcome.stdout;
        let is_it = |line: &&str| line.contains(place) && told.iter().all(|word| line.contains(word));
        assert!(text.lines().find(is_it).is_some(), "{arguments:?} does not say {place} {told:?}:\n{text}");
        assert_eq!(everything(workspace), before, "{arguments:?} changed something");
    }
}

#[test]
fn a_healthy_workspace_has_no_findings() {
    let workspace = healthy();
    let before = everything(&workspace);
    for arguments in [&["doctor"][..], &["doctor", "--dry-run"], &["doctor", "--fix"]] {
        let text = says(&workspace, arguments);
        assert!(!text.contains("memory/"), "{arguments:?}: {text}");
        assert_eq!(everything(&workspace), before, "{arguments:?}");
    }
}

#[test]
fn a_new_workspace_has_no_findings() {
    let workspace = Workspace::without_memory();
    assert_eq!(workspace.run(&["init", workspace.root().to_str().unwrap()]).status, Some(0));
    assert!(!says(&workspace, &["doctor"]).contains("memory/"));
}

#[test]
fn each_oddity_of_the_files_is_found() {
    let other = "### [E001] 2026-04-11 · 用户Todo\n**内容**：另一件\n**状态**：已关闭\n";
    let worry = "- [M001] src=material_derived kind=chore decay_d=30 last_touched=L013 绿植\n";
    let many: String = (1..=11).map(|n| format!("- 第{n}件\n")).collect();
    let state = STATE.replace("# 提炼进度\n\n", "");
    // file, what is put there, where it is found, what is said
    let cases: Vec<(&str, String, &str, Vec<&str>)> = vec![
        ("memory/events.md", format!("{EVENTS}\n{other}"), "memory/events.md", vec!["E001"]),
        ("memory/events.md", format!("{EVENTS}\n### [E] 2026-04-11 · 约定\n"), "memory/events.md", vec!["[E]"]),
        (
            "memory/events.md",
            format!("{EVENTS}\n### [E００２] 2026-04-11 · 约定\n"),
            "memory/events.md",
            vec!["E００２"],
        ),
        ("memory/events.md", EVENTS.replace("2026-04-17", "下周五"), "memory/events.md", vec!["E001", "下周五"]),
        (
            "memory/events.md",
            EVENTS.replace("2026-04-17", "2026-02-30"),
            "memory/events.md",
            vec!["E001", "2026-02-30"],
        ),
        ("memory/MEMORY.md", index_with("- [E009] 旧的"), "memory/MEMORY.md", vec![]),
        ("memory/unresolved.md", format!("# 挂念\n\n{worry}{worry}"), "memory/unresolved.md", vec!["M001", "twice"]),
        (
            "memory/unresolved.md",
            format!("# 挂念\n\n{}", worry.replace("L013", "L099")),
            "memory/unresolved.md",
            vec!["M001"],
        ),
        (
            "memory/unresolved.md",
            format!("# 挂念\n\n{}", worry.replace("L013", "(never)")),
            "memory/unresolved.md",
            vec!["M001"],
        ),
        ("memory/life_log.md", "# 生活\n\n### [L013] 某天 · 阳台\n".to_owned(), "memory/unresolved.md", vec!["M001"]),
        (
            "memory/user_profile.md",
            format!("# 用户\n\n## 喜欢\n\n{many}"),
            "memory/user_profile.md",
            vec!["喜欢", "11", "10"],
        ),
        (
            "memory/user_profile.md",
            "# 用户\n\n## 基本信息\n\n- **城市**：杭州\n\n## 近况\n\n- **城市**：上海\n".to_owned(),
            "memory/user_profile.md",
            vec!["城市", "杭州", "上海"],
        ),
        (
            "memory/user_profile.md",
            "# 用户\n\n## 基本信息\n\n- **时区**：America/New_York\n".to_owned(),
            "memory/user_profile.md",
            vec!["时区", "America/New_York"],
        ),
        ("memory/distill_state.md", format!("{STATE}\n{state}"), "memory/distill_state.md", vec!["[D000]", "2"]),
        (".memory_conflicts", "file: memory/events.md\nwas: 甲\nnow: 乙\n".to_owned(), ".memory_conflicts", vec![]),
        ("memory/.events.md.new", "半个".to_owned(), ".events.md.new", vec![]),
    ];
    for (file, text, place, told) in cases {
        finds(&healthy().file(file, &text), place, &told);
    }
}

#[test]
fn a_due_date_left_open_on_purpose_is_no_finding() {
    let workspace = healthy()
        .file("memory/events.md", EVENTS.replace("2026-04-17", "未定"))
        .file("memory/MEMORY.md", index_with("- [E001] 约定 · 看展"));
    assert!(!says(&workspace, &["doctor"]).contains("memory/"), "{}", says(&workspace, &["doctor"]));
}

#[test]
fn equal_values_and_zones_of_one_offset_are_no_finding() {
    let workspace = healthy().file(
        "memory/user_profile.md",
        "# 用户\n\n## 基本信息\n\n- **时区**：UTC+8（Asia/Singapore）\n- **城市**：杭州\n\n## 近况\n\n- **城市**：杭州\n- **名字**：\n",
    );
    let text = says(&workspace, &["doctor"]);
    assert!(!text.contains("城市"), "{text}");
}

#[test]
fn a_change_that_a_crash_left_open_is_found_and_brought_to_its_end() {
    if !cfg!(debug_assertions) {
        return;
    }
    let arguments = json!({"type": "用户Todo", "content": "买伞", "date": "2026-04-13"}).to_string();
    let mut found = 0;
    for step in 1.. {
        let workspace = healthy();
        let mut command = workspace.command();
        command.args(["call", "append_event", &arguments]).env("COMPANION_MEMORY_FAULT", format!("stop:{step}"));
        let outcome = Outcome::of(command, None);
        let before = everything(&workspace);
        let text = says(&workspace, &["doctor", "--dry-run"]);
        assert_eq!(everything(&workspace), before, "step {step}");
        let is_open = text.contains(".memory_journal");
        found += u32::from(is_open);
        if before["memory/events.md"] != EVENTS && before["memory/MEMORY.md"] == healthy().index() {
            assert!(is_open, "half a change and no word of it after step {step}: {text}");
        }
        says(&workspace, &["doctor", "--fix"]);
        let text = says(&workspace, &["doctor"]);
        assert!(!text.contains(".memory_journal") && !text.contains(".new"), "after step {step}: {text}");
        let has_event = workspace.events().contains("买伞");
        assert_eq!(workspace.index().contains("买伞"), has_event, "step {step}");
        if outcome.status == Some(0) {
            break;
        }
    }
    assert!(found > 0, "no step left a change open");
}

#[test]
fn a_change_that_is_under_way_is_no_crash() {
    if !cfg!(debug_assertions) || missing(&["bash", "flock"]) {
        return;
    }
    let workspace = healthy();
    let mut command = workspace.command();
    let arguments = json!({"type": "用户Todo", "content": "买伞", "date": "2026-04-13"}).to_string();
    command.args(["call", "append_event", &arguments]).env("COMPANION_MEMORY_FAULT", "stop:5");
    assert_eq!(Outcome::of(command, None).status, None, "the call was not stopped");
    let lock = OutsideLock::hold(&workspace);
    assert_eq!(says(&workspace, &["doctor"]), "nothing is wrong or odd\n");
    drop(lock);
    finds(&workspace, ".memory_journal", &["crash"]);
}

#[test]
fn a_profile_that_can_keep_nothing_is_found() {
    finds(&healthy().file("memory/user_profile.md", ""), "memory/user_profile.md", &["no sections", "## "]);
    let refusal = healthy()
        .file("memory/user_profile.md", "")
        .refused("update_profile", json!({"action": "add", "section": "喜欢", "text": "茶"}));
    assert_eq!(refusal.code, "not_found");
    assert!(refusal.message.contains("a person has to write its headings"), "{refusal:?}");
}

#[test]
fn files_that_cannot_be_used_are_found() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("persona.md"), "# 别人的\n").unwrap();
    let replace = |path: &str, with: &dyn Fn(&std::path::Path)| {
        let workspace = healthy();
        fs::remove_file(workspace.path(path)).unwrap();
        with(&workspace.path(path));
        workspace
    };
    let target = outside.path().join("persona.md");
    let outwards = replace("memory/persona.md", &|p| symlink(&target, p).unwrap());
    finds_and_exits(4, &outwards, "persona.md", &["out of the workspace"]);
    finds_and_exits(4, &replace("memory/persona.md", &|p| fs::create_dir(p).unwrap()), "persona.md", &[]);
    finds_and_exits(4, &replace("memory/persona.md", &|p| symlink("persona.md", p).unwrap()), "persona.md", &[]);
    for ours in [".memory_journal", ".distill_lease"] {
        let workspace = healthy();
        fs::create_dir(workspace.path(ours)).unwrap();
        finds_and_exits(4, &workspace, ours, &[]);
    }
    finds(&replace("memory/persona.md", &|p| fs::write(p, b"# \xff\n").unwrap()), "persona.md", &["UTF-8"]);
    for lock in [".memory.lock", ".distill.lock"] {
        finds_and_exits(4, &replace(lock, &|p| fs::create_dir(p).unwrap()), lock, &[]);
        finds_and_exits(4, &replace(lock, &|p| symlink("/no/such/folder/lock", p).unwrap()), lock, &[]);
        finds(
            &replace(lock, &|p| {
                fs::write(p, "").unwrap();
                fs::set_permissions(p, fs::Permissions::from_mode(0o444)).unwrap();
            }),
            lock,
            &[],
        );
    }
    assert_eq!(fs::read_to_string(target).unwrap(), "# 别人的\n");
}

#[test]
fn the_doctor_answers_although_somebody_holds_the_lock() {
    let workspace = healthy().file("memory/events.md", EVENTS.replace("2026-04-17", "下周五"));
    let lock = OutsideLock::hold(&workspace);
    for arguments in [&["doctor"][..], &["status"], &["doctor", "--fix", "--dry-run"]] {
        let outcome = workspace.run(arguments);
        assert_eq!(outcome.status, Some(0), "{arguments:?}: {outcome:?}");
    }
    drop(lock);
}

/// Many things wrong at once, some of which can be repaired.
fn sick() -> Workspace {
    healthy()
        .file("memory/events.md", format!("{EVENTS}\n### [E002] 2026-04-11 · 用户Todo\n**内容**：买伞\n**状态**：待跟进\n\n### [E002] 2026-04-12 · 用户Todo\n**内容**：还书\n**状态**：已关闭\n"))
        .file("memory/distill_state.md", "# 提炼进度\n\n### [D000] · last_distillation\ntimestamp: 2026-04-10T00:00:00+08:00\n\n### [D000] · last_distillation\ntimestamp: 2026-04-13T08:40:12.300000001+08:00\nlast_decay_scan: 2026-04-10\n")
        .file("memory/.events.md.new", "半个")
        .file(".memory_conflicts", "file: memory/persona.md\nwas: 甲\nnow: 乙\n")
}

#[test]
fn a_repair_shows_first_what_it_changes_and_does_it_once() {
    let workspace = sick();
    let shown = says(&workspace, &["doctor", "--fix", "--dry-run"]);
    let before = everything(&workspace);
    for line in ["-timestamp: 2026-04-10T00:00:00+08:00", "+- [E002] 用户Todo · 买伞"] {
        assert!(shown.lines().any(|l| l == line), "no {line} in {shown}");
    }
    assert_eq!(everything(&sick()), before, "a dry run changes nothing");

    let text = says(&workspace, &["doctor", "--fix"]);
    for line in ["-timestamp: 2026-04-10T00:00:00+08:00", "+- [E002] 用户Todo · 买伞"] {
        assert!(text.lines().any(|l| l == line), "no {line} in {text}");
    }
    assert!(text.contains("甲") && text.contains("乙"), "what was kept is shown once more: {text}");
    let mut expected = everything(&healthy());
    expected.insert("memory/events.md".to_owned(), sick().events());
    expected.insert(
        "memory/MEMORY.md".to_owned(),
        index_with("- [E001] 2026-04-17 · 约定 · 看展\n- [E002] 用户Todo · 买伞"),
    );
    assert_eq!(everything(&workspace), expected);

    // Again: nothing more to do.
    let text = says(&workspace, &["doctor", "--fix"]);
    assert!(!text.lines().any(|l| l.starts_with('+') || l.starts_with("@@")), "{text}");
    assert_eq!(everything(&workspace), expected);
}

#[test]
fn of_several_states_the_later_usable_one_is_kept_and_no_hand_written_line_is_lost() {
    let head = "# 提炼进度\n\n说明：不要手改。\n\n";
    let early = "### [D000] · last_distillation\ntimestamp: 2026-04-10T00:00:00+08:00\n";
    let late = "### [D000] · last_distillation\ntimestamp: 2026-04-13T00:00:00+08:00\ncursor: p2p:a m2 7 2026-04-13T00:00:00+08:00\n";
    let broken = "### [D000] · last_distillation\ntimestamp: 还没有\n";
    for (blocks, kept) in [(vec![early, late], late), (vec![late, broken], late), (vec![broken, early, late], late)] {
        let note = "\n## 备注\n\n手写的一行。\n";
        let workspace = healthy().file("memory/distill_state.md", format!("{head}{}{note}", blocks.join("\n")));
        says(&workspace, &["doctor", "--fix"]);
        let text = workspace.read("memory/distill_state.md");
        assert_eq!(text.matches("[D000]").count(), 1, "{text}");
        for part in [head.trim(), kept.trim(), note.trim()] {
            assert!(text.contains(part), "no {part:?} in {text:?}");
        }
    }
}

#[test]
fn only_our_own_leftovers_are_removed() {
    let workspace = healthy()
        .file(".env.new", "别人的")
        .file("memory/.notes.new", "别人的")
        .file("memory/events.md.new", "别人的")
        .file("memory/.draft.md", "别人的")
        .file("memory/.events.md.new", "半个");
    says(&workspace, &["doctor", "--fix"]);
    assert!(!workspace.path("memory/.events.md.new").exists());
    for path in [".env.new", "memory/.notes.new", "memory/events.md.new", "memory/.draft.md"] {
        assert_eq!(fs::read_to_string(workspace.path(path)).unwrap_or_default(), "别人的", "{path}");
    }
}

#[test]
fn results_warn_of_kept_conflicts_until_they_are_cleared() {
    let workspace = healthy().file(".memory_conflicts", "file: memory/persona.md\nwas: 甲\nnow: 乙\n");
    let mut server = Server::start(&workspace);
    let result = server.call("touch_last_active", json!({})).unwrap();
    assert!(result["warnings"].to_string().contains(".memory_conflicts"), "{result}");
    says(&workspace, &["doctor", "--fix"]);
    assert!(!workspace.path(".memory_conflicts").exists());
    let result = server.call("get_overview", json!({})).unwrap();
    assert!(result.get("warnings").is_none(), "{result}");
}

#[test]
fn a_damaged_workspace_is_not_repaired() {
    let workspace = healthy().file("memory/events.md", "");
    let before = everything(&workspace);
    let text = warns(&workspace);
    assert!(text.lines().all(|l| l.contains("memory/events.md") && l.contains("MEMORY.md")), "{text}");
    let outcome = workspace.run(&["doctor", "--fix"]);
    let text = format!("{}{}", outcome.stdout, outcome.stderr);
    assert!(text.contains("events.md"), "{text}");
    assert_eq!(everything(&workspace), before);
}

#[test]
fn without_a_workspace_both_say_so() {
    let folder = Workspace::without_memory();
    for arguments in [&["doctor"][..], &["status"], &["doctor", "--fix"]] {
        let outcome = folder.run(arguments);
        assert!(outcome.status.is_some_and(|status| status != 0), "{outcome:?}");
        assert!(outcome.stderr.contains("no_workspace") && outcome.stderr.contains("init"), "{outcome:?}");
        assert_eq!(fs::read_dir(folder.root()).unwrap().count(), 0);
    }
}

#[test]
fn the_status_shows_the_memory_on_one_screen() {
    let workspace =
        healthy().file("memory/events.md", format!("{EVENTS}\n### [E000] 2026-04-12T20:00 · last_active\n"));
    let before = everything(&workspace);
    let text = says(&workspace, &["status"]);
    for told in
        ["0.1", "0.5", "2026-04-12T20:00", "done", "E001", "看展", "2026-04-17", "U001", "妈妈的血压", "M001", "喜欢"]
    {
        assert!(text.contains(told), "no {told} in {text}");
    }
    assert_eq!(everything(&workspace), before);
    let many: String = (1..=500)
        .map(|n| format!("### [E{n:03}] 2026-04-10 · 用户Todo\n**内容**：{}\n**状态**：待跟进\n\n", "长".repeat(500)))
        .collect();
    let text = says(&healthy().file("memory/events.md", many), &["status"]);
    assert!(text.lines().count() <= 60, "{} lines", text.lines().count());
}

#[test]
fn a_workspace_that_cannot_be_examined_is_not_called_well() {
    let workspace = Workspace::new().file("memory/events.md", "# 事件\n");
    std::fs::create_dir(workspace.path("memory/life_log_archive_2025.md")).unwrap();
    let outcome = workspace.run(&["doctor"]);
    assert!(outcome.stdout.contains("life_log_archive_2025.md"), "{}", outcome.stdout);
    assert!(!outcome.stdout.contains("nothing is wrong"), "{}", outcome.stdout);
}

#[test]
fn a_read_warns_of_kept_conflicts_too() {
    let workspace = healthy().file(".memory_conflicts", "file: memory/persona.md\nwas: 甲\nnow: 乙\n");
    let result = workspace.ok("get_overview", json!({}));
    assert!(result["warnings"].to_string().contains(".memory_conflicts"), "{result}");
}

#[test]
fn what_a_person_wrote_below_a_superfluous_state_stays() {
    let remark = "手写的备注：别删\n";
    let state = format!(
        "# 提炼进度\n\n### [D000] · last_distillation\ntimestamp: 2026-04-10T00:00:00+08:00\n{remark}\n### [D000] · last_distillation\ntimestamp: 2026-04-13T08:40:12.300000001+08:00\nlast_decay_scan: 2026-04-10\n"
    );
    let workspace = healthy().file("memory/distill_state.md", state);
    says(&workspace, &["doctor", "--fix"]);
    let text = workspace.read("memory/distill_state.md");
    assert!(text.contains(remark) && text.matches("[D000]").count() == 1, "{text}");
}
