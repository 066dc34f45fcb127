//! Where a workspace may lie: links, mounts, other owners, strange names, other file systems.
//!
//! What needs root or mounts is skipped elsewhere and says so. Mounts are made in a namespace of the process that needs
//! them, so none outlives it.

use crate::{
    reference::calls::without_times,
    support::{Outcome, Workspace, ZONE, bash, missing, program},
};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink},
    path::Path,
    process::Command,
};

/// Every file that the calls below change.
const FILES: [(&str, &str); 5] = [
    ("memory/events.md", "# 事件\n"),
    ("memory/unresolved.md", "# 未完挂念\n\n## 已淡忘\n"),
    ("memory/mood_state.md", "valence: 0.00\nenergy: 0.50\n\n## 快照历史\n"),
    (".mood_state_aux", "consecutive_g4c_count: 0\n"),
    ("memory/MEMORY.md", "# 记忆索引\n\n## 最近未解决事项\n\n（暂无）\n"),
];

/// A bash function for a call, and the calls that change every file twice.
const CALL: &str = r#"call() { "$BIN" --workspace "$W" --timezone Asia/Shanghai call "$@"; }"#;
const CALLS: &str = r#"
for text in 一 二; do
    call append_event "{\"type\": \"重要事件\", \"content\": \"$text\", \"date\": \"2026-04-13\"}"
    call add_unresolved "{\"text\": \"$text\"}"
    call update_mood "{\"delta_valence\": 0.1, \"note\": \"$text\"}"
done >&2
"#;

fn workspace() -> Workspace {
    FILES.iter().fold(Workspace::new(), |workspace, (path, text)| workspace.file(path, text))
}

/// What the calls leave, with the times of the clock named.
fn texts(root: &Path) -> Vec<String> {
    FILES.iter().map(|(path, _)| without_times(&fs::read_to_string(root.join(path)).unwrap())).collect()
}

/// What they leave in an ordinary folder.
fn expected_texts() -> Vec<String> {
    let plain = workspace();
    let outcome = Outcome::of(script(&plain, CALLS), None);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    texts(plain.root())
}

fn script(workspace: &Workspace, script: &str) -> Command {
    let mut command = bash(workspace, &format!("{CALL}\n{script}"));
    command.env("W", workspace.root()).env("BIN", env!("CARGO_BIN_EXE_companion-memory")).env_remove("WORKSPACE_DIR");
    command
}

/// The same in a mount namespace of its own; the mounts are gone when it ends, however it ends.
fn mounting(workspace: &Workspace, lines: &str) -> Outcome {
    let inner = script(workspace, lines);
    let mut command = Command::new("unshare");
    command.args(["--mount", "--propagation", "private"]).arg(inner.get_program()).args(inner.get_args());
    for (name, value) in inner.get_envs() {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.current_dir(workspace.root());
    Outcome::of(command, None)
}

/// Whether nothing can be mounted here; says so.
fn no_mounts() -> bool {
    if missing(&["bash", "unshare", "mount"]) {
        return true;
    }
    let tried = mounting(&Workspace::new(), "mount -t tmpfs none memory");
    if tried.status != Some(0) {
        eprintln!("skipped: nothing can be mounted here: {}", tried.stderr.trim());
    }
    tried.status != Some(0)
}

/// Whether this is not root; says so.
fn no_root() -> bool {
    let is_root = fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0);
    if !is_root {
        eprintln!("skipped: only root can give files away");
    }
    !is_root
}

fn assert_nothing_left_beside(names: &str) {
    let strange: Vec<_> = names.lines().filter(|name| name.starts_with('.') && name.contains(".md")).collect();
    assert!(strange.is_empty(), "{strange:?}");
}

#[test]
fn files_mounted_by_themselves_are_changed_where_they_stand() {
    if no_mounts() {
        return;
    }
    let workspace = workspace();
    fs::create_dir(workspace.path("outside")).unwrap();
    let mounts: String =
        FILES.map(|(path, _)| format!("cp {path} outside/; mount --bind outside/$(basename {path}) {path}\n")).concat();
    let outcome = mounting(&workspace, &format!("{mounts}\n{CALLS}\nls -A . memory"));
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_nothing_left_beside(&outcome.stdout);
    let found: Vec<_> = FILES
        .iter()
        .map(|(path, _)| workspace.path("outside").join(Path::new(path).file_name().unwrap()))
        .map(|path| without_times(&fs::read_to_string(path).unwrap()))
        .collect();
    assert_eq!(found, expected_texts());
    for (path, before) in FILES {
        assert_eq!(workspace.read(path), before, "the file below the mount was changed: {path}");
    }
}

#[test]
fn where_one_file_cannot_be_written_none_is() {
    if no_mounts() {
        return;
    }
    for (path, _) in FILES {
        let workspace = workspace();
        let before = workspace.tree();
        let lines = format!(
            "mount --bind {path} {path}; mount -o remount,bind,ro {path}
            failed=0
            call append_event '{{\"type\": \"约定\", \"content\": \"一\"}}' || failed=$((failed + 1))
            call add_unresolved '{{\"text\": \"一\"}}' || failed=$((failed + 1))
            call update_mood '{{\"note\": \"一\"}}' || failed=$((failed + 1))
            echo failed $failed; ls -A . memory"
        );
        let outcome = mounting(&workspace, &lines);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        assert!(outcome.stdout.contains("failed 1\n"), "{path}: {outcome:?}");
        assert_nothing_left_beside(&outcome.stdout);
        let after = workspace.tree();
        // One of the three calls touches the file; of it nothing may be there.
        let mine: &[&str] = match path {
            "memory/unresolved.md" => &["memory/unresolved.md"],
            "memory/events.md" | "memory/MEMORY.md" => &["memory/events.md", "memory/MEMORY.md"],
            _ => &["memory/mood_state.md", ".mood_state_aux"],
        };
        for file in mine {
            assert_eq!(after[*file], before[*file], "`{file}` with a read-only `{path}`");
        }
    }
}

#[test]
fn a_read_only_workspace_is_read_and_never_written() {
    if no_mounts() {
        return;
    }
    let workspace = workspace();
    let before = workspace.tree();
    let lines = r#"mount --bind "$W" "$W"; mount -o remount,bind,ro "$W"; cd "$W"
        "$BIN" --workspace "$W" call list_events; "$BIN" --workspace "$W" call read_memory '{"file": "events"}'
        call append_event '{"type": "约定", "content": "一"}' || echo "exit $?""#;
    let outcome = mounting(&workspace, lines);
    assert!(outcome.stdout.contains("# 事件") && outcome.stdout.contains("exit 4"), "{outcome:?}");
    assert_eq!(workspace.tree(), before);
}

#[test]
fn other_file_systems_hold_a_workspace_like_any_folder() {
    if no_mounts() {
        return;
    }
    let systems = [
        ("tmpfs", "mkdir kept; cp memory/* kept/; mount -t tmpfs none memory; cp kept/* memory/"),
        (
            "overlay",
            "mkdir base; mount -t tmpfs none base; mkdir base/up base/work base/low; cp memory/* base/low/
            mount -t overlay overlay -o lowerdir=base/low,upperdir=base/up,workdir=base/work memory",
        ),
    ];
    let expected = expected_texts();
    for (system, mount) in systems {
        let workspace = workspace();
        let lines = format!("{mount}\n{CALLS}\nls -A memory\nmkdir result; cp memory/*.md result/");
        let outcome = mounting(&workspace, &lines);
        if outcome.status == Some(32) {
            eprintln!("skipped: no {system} here");
            continue;
        }
        assert_eq!(outcome.status, Some(0), "{system}: {outcome:?}");
        assert_nothing_left_beside(&outcome.stdout);
        fs::rename(workspace.path("memory"), workspace.path("below")).unwrap();
        fs::rename(workspace.path("result"), workspace.path("memory")).unwrap();
        assert_eq!(texts(workspace.root()), expected, "{system}");
    }
}

#[test]
fn owner_group_and_mode_stay_whoever_writes() {
    if no_root() || missing(&["bash", "setpriv"]) {
        return;
    }
    let modes = [0o640, 0o664, 0o606, 0o660, 0o666];
    // Root may give the new file away; a member of the group has to write the old one where it stands.
    let writers = ["", "setpriv --reuid 65534 --regid 65533 --groups 54321 "];
    let expected = expected_texts();
    for writer in writers {
        let workspace = workspace();
        fs::write(workspace.path(".memory.lock"), "").unwrap();
        for folder in ["", "memory"] {
            chown(workspace.path(folder), Some(12_345), Some(54_321)).unwrap();
            fs::set_permissions(workspace.path(folder), fs::Permissions::from_mode(0o775)).unwrap();
        }
        for ((path, _), mode) in FILES.iter().zip(modes) {
            let mode = if writer.is_empty() { mode } else { mode | 0o060 };
            chown(workspace.path(path), Some(12_345), Some(54_321)).unwrap();
            fs::set_permissions(workspace.path(path), fs::Permissions::from_mode(mode)).unwrap();
        }
        let stat =
            |path: &str| fs::metadata(workspace.path(path)).map(|file| (file.uid(), file.gid(), file.mode())).unwrap();
        let before = FILES.map(|(path, _)| stat(path));
        let as_writer = format!("call() {{ {writer}\"$BIN\" --workspace \"$W\" --timezone {ZONE} call \"$@\"; }}\n");
        let reachable = Outcome::of(script(&workspace, &format!("{writer}test -x \"$BIN\"")), None);
        if reachable.status != Some(0) {
            eprintln!("skipped: another user cannot run {}", env!("CARGO_BIN_EXE_companion-memory"));
            continue;
        }
        let outcome = Outcome::of(script(&workspace, &format!("{as_writer}{CALLS}")), None);
        assert_eq!(outcome.status, Some(0), "{writer}: {outcome:?}");
        assert_eq!(texts(workspace.root()), expected, "{writer}");
        assert_eq!(FILES.map(|(path, _)| stat(path)), before, "{writer}");
        assert_nothing_left_beside(&workspace.memory_names().join("\n"));
    }
}

#[test]
fn a_narrow_umask_narrows_new_files_only() {
    if missing(&["bash"]) {
        return;
    }
    let workspace = workspace();
    fs::remove_file(workspace.path("memory/unresolved.md")).unwrap();
    for (path, mode) in [("memory/events.md", 0o664), ("memory/MEMORY.md", 0o604), ("memory/mood_state.md", 0o644)] {
        fs::set_permissions(workspace.path(path), fs::Permissions::from_mode(mode)).unwrap();
    }
    let outcome = Outcome::of(script(&workspace, &format!("umask 077\n{CALLS}")), None);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let mode = |path: &str| fs::metadata(workspace.path(path)).unwrap().mode() & 0o777;
    let found = ["memory/events.md", "memory/MEMORY.md", "memory/mood_state.md", "memory/unresolved.md"].map(mode);
    assert_eq!(found, [0o664, 0o604, 0o644, 0o600]);
}

#[test]
fn a_folder_may_be_called_anything() {
    let names =
        ["with two  spaces", "记忆 库", "line\nbreak", "quote'\"`$(true)", "-rf", "%s\\n", "trailing ", "[E001]"];
    for name in names {
        let outside = Workspace::without_memory();
        let root = outside.path(name);
        let mut init = program();
        init.arg("init").arg("--").arg(&root).current_dir(outside.root());
        assert_eq!(Outcome::of(init, None).status, Some(0), "init {name:?}");
        let event = json!({"type": "重要事件", "content": "一"}).to_string();
        let ways: [&dyn Fn(&mut Command); 3] = [
            &|command| {
                let mut option = std::ffi::OsString::from("--workspace=");
                option.push(&root);
                command.arg(option);
            },
            &|command| {
                command.env("WORKSPACE_DIR", &root);
            },
            &|command| {
                command.current_dir(root.join("memory"));
            },
        ];
        for (number, way) in ways.iter().enumerate() {
            let mut call = program();
            way(&mut call);
            call.args(["call", "append_event", &event]);
            let answer = Outcome::of(call, None).answer().unwrap_or_else(|e| panic!("{name:?}: {e:?}"));
            assert_eq!(answer["id"], format!("E{:03}", number + 1), "{name:?}");
        }
        // What is wrong with a file is still told in two lines.
        fs::remove_file(root.join("memory/events.md")).unwrap();
        fs::create_dir(root.join("memory/events.md")).unwrap();
        let mut call = program();
        call.arg("call").arg("list_events").env("WORKSPACE_DIR", &root);
        assert_eq!(Outcome::of(call, None).answer().unwrap_err().code, "unreadable", "{name:?}");
    }
}

#[test]
fn links_that_stay_inside_are_followed_and_stay() {
    if missing(&["bash"]) {
        return;
    }
    let workspace = workspace();
    fs::create_dir(workspace.path("store")).unwrap();
    for (path, _) in FILES {
        let name = Path::new(path).file_name().unwrap();
        fs::rename(workspace.path(path), workspace.path("store").join(name)).unwrap();
        // A link to a link, one of them absolute.
        symlink(workspace.path("store").join(name), workspace.path("store").join(format!("{}.link", name.display())))
            .unwrap();
        let up = if path.starts_with("memory/") { "../store" } else { "store" };
        symlink(format!("{up}/{}.link", name.display()), workspace.path(path)).unwrap();
    }
    for name in [".memory.lock", ".memory_journal"] {
        fs::write(workspace.path("store").join(name), "").unwrap();
        symlink(format!("store/{name}"), workspace.path(name)).unwrap();
    }
    let outcome = Outcome::of(script(&workspace, CALLS), None);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(texts(workspace.root()), expected_texts());
    for path in FILES.iter().map(|(path, _)| *path).chain([".memory.lock", ".memory_journal"]) {
        assert!(workspace.path(path).is_symlink(), "`{path}` is no link any more");
    }
    let names: Vec<_> = fs::read_dir(workspace.path("store"))
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    assert_nothing_left_beside(&names.join("\n"));
}

#[test]
fn links_that_lead_out_or_nowhere_are_refused_and_touch_nothing() {
    let all = FILES.iter().map(|(path, _)| *path).chain([".memory.lock", ".memory_journal"]);
    for path in all {
        let outside = Workspace::without_memory().file("target", "fremd\n").file("folder/target", "fremd\n");
        let targets = [
            outside.path("target"),
            // Out and in again by `..`, through a folder that is a link, in a circle, into a device.
            Path::new("../../../../../../../../../..").join(outside.path("target").strip_prefix("/").unwrap()),
            Path::new("door/target").to_owned(),
            Path::new("circle").to_owned(),
            Path::new("/dev/null").to_owned(),
            Path::new("/proc/self/environ").to_owned(),
        ];
        for target in targets {
            let workspace = workspace();
            let folder = workspace.path(path).parent().unwrap().to_owned();
            symlink(outside.path("folder"), folder.join("door")).unwrap();
            symlink("circle2", folder.join("circle")).unwrap();
            symlink("circle", folder.join("circle2")).unwrap();
            let _ = fs::remove_file(workspace.path(path));
            symlink(&target, workspace.path(path)).unwrap();
            let calls = [
                ("append_event", json!({"type": "约定", "content": "一"})),
                ("add_unresolved", json!({"text": "一"})),
                ("update_mood", json!({"note": "一"})),
            ];
            let refused: Vec<_> = calls
                .iter()
                .filter_map(|(tool, arguments)| workspace.call(tool, arguments.clone()).answer().err())
                .collect();
            assert!(!refused.is_empty(), "`{path}` -> {}", target.display());
            assert!(refused.iter().all(|refusal| refusal.code == "unreadable"), "{refused:?}");
            assert_eq!(fs::read_link(workspace.path(path)).unwrap(), target, "the link stays");
            assert_eq!(
                (outside.read("target"), outside.read("folder/target")),
                ("fremd\n".to_owned(), "fremd\n".to_owned())
            );
        }
    }
}

#[test]
fn the_other_name_of_a_file_never_shows_half_a_change() {
    if missing(&["bash"]) {
        return;
    }
    let workspace = workspace();
    for (path, _) in FILES {
        fs::hard_link(workspace.path(path), workspace.path(&format!("other-{}", path.replace('/', "-")))).unwrap();
    }
    let outcome = Outcome::of(script(&workspace, CALLS), None);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let after = texts(workspace.root());
    assert_eq!(after, expected_texts());
    // A file that is replaced leaves its other name with what it held; one that is added to has both.
    for ((path, before), after) in FILES.iter().zip(after) {
        let other = without_times(&workspace.read(&format!("other-{}", path.replace('/', "-"))));
        assert!(other == *before || other == after, "`{path}`: {other:?}");
    }
}
