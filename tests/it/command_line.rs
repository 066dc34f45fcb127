//! The command line: exit codes, finding the workspace, the zone, `init`, `call`, `tools`, `demo`.

use crate::support::{Outcome, Server, Workspace, ZONE, bash, event_numbers, index_with, missing, program};
use serde_json::{Value, json};
use std::{fs, path::Path, process::Command};

/// A workspace whose index gives no reason to warn.
fn workspace() -> Workspace {
    Workspace::new().file("memory/MEMORY.md", index_with("（暂无）"))
}

fn todo() -> Value {
    json!({"type": "用户Todo", "content": "买伞"})
}

/// What a case does to the command before it runs.
type Configure<'a> = Box<dyn Fn(&mut Command) + 'a>;

fn in_folder(folder: &Path) -> Command {
    let mut command = program();
    command.current_dir(folder).args(["--timezone", ZONE]);
    command
}

fn append_in(folder: &Path, configure: impl Fn(&mut Command)) -> Outcome {
    let mut command = in_folder(folder);
    configure(&mut command);
    command.args(["call", "append_event", &todo().to_string()]);
    Outcome::of(command, None)
}

// init

#[test]
fn an_init_that_was_stopped_can_be_made_again() {
    let folder = tempfile::tempdir().unwrap();
    let dir = folder.path().join("a/b");
    fs::create_dir_all(dir.join(".memory.init")).unwrap();
    fs::create_dir_all(dir.join("sessions")).unwrap();
    fs::write(dir.join(".memory.init/events.md"), "# 事").unwrap();
    fs::write(dir.join(".memory.lock"), "").unwrap();
    for status in [Some(0), Some(1)] {
        let mut command = program();
        command.arg("init").arg(&dir);
        assert_eq!(Outcome::of(command, None).status, status);
    }
    assert!(!dir.join(".memory.init").exists());
    assert_eq!(append_in(&dir, |_| ()).status, Some(0));
}

#[test]
fn what_another_workspace_left_open_does_not_come_into_a_new_one() {
    for name in [".memory_journal", ".memory_conflicts", ".distill_lease", ".memory.lock", "memory", "sessions"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "").unwrap();
        let mut command = program();
        command.arg("init").arg(folder.path());
        let outcome = Outcome::of(command, None);
        assert_eq!(outcome.status, Some(1), "{name}: {outcome:?}");
        assert!(outcome.stderr.contains(name), "{outcome:?}");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
    }
}

// Exit codes

#[test]
fn a_call_prints_its_result_and_exits_with_zero() {
    let workspace = workspace();
    let outcome = workspace.call("append_event", todo());
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(outcome.stderr, "");
    assert_eq!(serde_json::from_str::<Value>(&outcome.stdout).unwrap(), json!({"id": "E001"}));
    assert!(outcome.stdout.ends_with('\n'));
}

#[test]
fn a_refused_call_exits_with_one() {
    let workspace = Workspace::new();
    for (tool, arguments) in [
        ("append_event", json!({"type": "用户Todo", "content": ""})),
        ("append_event", json!({"type": "待办", "content": "买伞"})),
        ("update_event", json!({"id": "E009", "status": "已关闭"})),
        ("update_mood", json!({"delta_valence": "NaN", "note": "怪"})),
        ("add_unresolved", json!({"text": "甲", "due": "明天"})),
    ] {
        let outcome = workspace.call(tool, arguments);
        assert_eq!(outcome.status, Some(1), "{outcome:?}");
        assert_eq!(outcome.stdout, "", "stdout is for results");
        outcome.answer().unwrap_err();
    }
}

#[test]
fn wrong_usage_exits_with_two() {
    let workspace = Workspace::new();
    for arguments in [
        &["forget"][..],
        &["call"],
        &["call", "no_such_tool", "{}"],
        &["call", "append_event", "不是 JSON"],
        &["call", "append_event", "[1]"],
        &["call", "append_event", "{}", "{}"],
        &["--no-such-option"],
        &["init"],
        &["--timezone", "Mars/Olympus", "call", "touch_last_active"],
    ] {
        let outcome = workspace.run(arguments);
        assert_eq!(outcome.status, Some(2), "{arguments:?}: {outcome:?}");
        assert_eq!(outcome.stdout, "", "{arguments:?}");
        assert!(!outcome.stderr.is_empty(), "{arguments:?}");
    }
    assert!(workspace.memory_names().is_empty());
}

#[test]
fn an_unreadable_file_exits_with_four() {
    let workspace = Workspace::new();
    fs::create_dir(workspace.path("memory/events.md")).unwrap();
    let outcome = workspace.call("append_event", todo());
    assert_eq!(outcome.status, Some(4), "{outcome:?}");
    assert_eq!(outcome.answer().unwrap_err().code, "unreadable");
}

#[test]
fn help_and_version_exit_with_zero() {
    for option in ["--help", "--version"] {
        let mut command = program();
        command.arg(option);
        let outcome = Outcome::of(command, None);
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        assert!(outcome.stdout.contains("companion-memory"), "{outcome:?}");
    }
    let mut command = program();
    command.arg("--help");
    let help = Outcome::of(command, None).stdout;
    for word in ["serve", "init", "call", "tools", "demo", "--workspace", "--timezone"] {
        assert!(help.contains(word), "{word} is not in the help");
    }
}

// call

#[test]
fn arguments_come_from_stdin_for_a_dash() {
    let workspace = workspace();
    let mut command = workspace.command();
    command.args(["call", "append_event", "-"]);
    let content = "长".repeat(2000);
    let outcome = Outcome::of(command, Some(&format!("{}\n", json!({"type": "用户Todo", "content": content}))));
    assert_eq!(outcome.answer(), Ok(json!({"id": "E001"})));
    assert!(workspace.events().contains(&format!("\n**内容**：{content}\n")));
}

#[test]
fn a_call_without_arguments_has_none() {
    let workspace = Workspace::new();
    let outcome = workspace.run(&["call", "touch_last_active"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    assert_eq!(outcome.answer().unwrap()["written"], true);
    assert_eq!(workspace.run(&["call", "list_events"]).answer(), Ok(json!({"events": [], "has_more": false})));
}

#[test]
fn global_options_stand_before_or_after_the_subcommand() {
    let workspace = workspace();
    let mut command = program();
    command
        .args(["call", "append_event", &todo().to_string(), "--timezone", ZONE, "--workspace"])
        .arg(workspace.root());
    assert_eq!(Outcome::of(command, None).answer(), Ok(json!({"id": "E001"})));
}

// Finding the workspace

#[test]
fn the_nearest_folder_with_a_memory_is_the_workspace() {
    let workspace = Workspace::new();
    let deep = workspace.path("sessions/a/b");
    fs::create_dir_all(&deep).unwrap();
    let steps: [(&Path, Configure<'_>); 4] = [
        (workspace.root(), Box::new(|_| {})),
        (&deep, Box::new(|_| {})),
        (
            Path::new("/"),
            Box::new(|c| {
                c.env("WORKSPACE_DIR", workspace.root());
            }),
        ),
        (
            Path::new("/"),
            Box::new(|c| {
                c.env("WORKSPACE_DIR", &deep);
            }),
        ),
    ];
    for ((folder, configure), n) in steps.into_iter().zip(1..) {
        let outcome = append_in(folder, configure);
        assert_eq!(outcome.answer().unwrap()["id"], format!("E{n:03}"), "{}", folder.display());
    }
    assert_eq!(event_numbers(&workspace.events()), [1, 2, 3, 4]);

    // A nearer one wins.
    fs::create_dir(workspace.path("sessions/memory")).unwrap();
    assert_eq!(append_in(&deep, |_| {}).answer().unwrap()["id"], "E001");
    assert!(workspace.path("sessions/memory/events.md").exists());
    assert_eq!(event_numbers(&workspace.events()), [1, 2, 3, 4]);
}

#[test]
fn the_option_goes_before_the_variable_and_the_variable_before_the_folder() {
    let (option, variable, folder) = (Workspace::new(), Workspace::new(), Workspace::new());
    append_in(folder.root(), |c| {
        c.env("WORKSPACE_DIR", variable.root()).arg("--workspace").arg(option.root());
    })
    .answer()
    .unwrap();
    append_in(folder.root(), |c| {
        c.env("WORKSPACE_DIR", variable.root());
    })
    .answer()
    .unwrap();
    assert_eq!(event_numbers(&option.events()), [1]);
    assert_eq!(event_numbers(&variable.events()), [1]);
    assert!(folder.memory_names().is_empty());
}

#[test]
fn an_empty_variable_is_as_good_as_none() {
    let workspace = Workspace::new();
    let outcome = append_in(workspace.root(), |c| {
        c.env("WORKSPACE_DIR", "");
    });
    assert_eq!(outcome.answer().unwrap()["id"], "E001");
}

#[test]
fn without_a_workspace_nothing_is_created() {
    let workspace = Workspace::new();
    let inside = workspace.path("sessions");
    fs::create_dir(&inside).unwrap();
    let nowhere = Workspace::without_memory();
    let absent = nowhere.path("absent");
    // The option is taken as it is: no parent is searched for it.
    let steps: [(&Path, Configure<'_>); 4] = [
        (
            &inside,
            Box::new(|c| {
                c.arg("--workspace").arg(&inside);
            }),
        ),
        (nowhere.root(), Box::new(|_| {})),
        (
            &absent,
            Box::new(|c| {
                c.current_dir("/").arg("--workspace").arg(&absent);
            }),
        ),
        (
            nowhere.root(),
            Box::new(|c| {
                c.current_dir("/").env("WORKSPACE_DIR", nowhere.root());
            }),
        ),
    ];
    for (named, configure) in steps {
        let outcome = append_in(nowhere.root(), configure);
        assert!(outcome.status.is_some_and(|s| s != 0), "{outcome:?}");
        let refusal = outcome.answer().unwrap_err();
        assert_eq!(refusal.code, "no_workspace");
        let text = format!("{} {}", refusal.message, refusal.hint);
        assert!(text.contains(named.to_str().unwrap()) && text.contains("companion-memory init"), "{text}");
    }
    assert_eq!(fs::read_dir(nowhere.root()).unwrap().count(), 0);
    assert_eq!(fs::read_dir(&inside).unwrap().count(), 0);
}

#[test]
fn a_memory_that_is_no_folder_is_no_workspace() {
    let nowhere = Workspace::without_memory().file("memory", "一个文件\n");
    let outcome = nowhere.call("append_event", todo());
    assert!(outcome.status.is_some_and(|s| s != 0), "{outcome:?}");
    let refusal = outcome.answer().unwrap_err();
    assert!(["no_workspace", "unreadable"].contains(&refusal.code.as_str()), "{refusal:?}");
    assert_eq!(nowhere.read("memory"), "一个文件\n");
    assert_eq!(fs::read_dir(nowhere.root()).unwrap().count(), 1);
}

// The zone

#[test]
fn the_zone_is_that_of_date() {
    if missing(&["bash", "date"]) {
        return;
    }
    // Two that are never on the same day, rules without a name, the colon of POSIX, and what `date` takes for UTC.
    for zone in
        ["Pacific/Kiritimati", "Pacific/Niue", "CST-8", "<+0545>-5:45", ":Asia/Shanghai", "UTC", "", "Mars/Olympus"]
    {
        let workspace = Workspace::new();
        let date = || {
            let output = bash(&workspace, "date +%Y-%m-%dT%H:%M").env("TZ", zone).output().unwrap();
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let before = date();
        let mut command = program();
        command.env("TZ", zone).arg("--workspace").arg(workspace.root()).args(["call", "touch_last_active"]);
        assert_eq!(Outcome::of(command, None).status, Some(0));
        let after = date();
        let events = workspace.events();
        let expected = [before, after].map(|minute| format!("### [E000] {minute} · last_active"));
        assert!(
            expected.contains(&events.lines().last().unwrap().to_owned()),
            "{zone}: {events} is none of {expected:?}"
        );
    }
}

#[test]
fn the_option_for_the_zone_goes_before_the_variable() {
    let day = |option: Option<&str>, variable: &str| {
        let workspace = Workspace::new();
        let mut command = program();
        command.env("TZ", variable).arg("--workspace").arg(workspace.root());
        if let Some(zone) = option {
            command.args(["--timezone", zone]);
        }
        command.args(["call", "append_event", &todo().to_string()]);
        assert_eq!(Outcome::of(command, None).status, Some(0));
        let events = workspace.events();
        events.lines().find(|l| l.starts_with("### [E001]")).unwrap().to_owned()
    };
    let east = day(None, "Pacific/Kiritimati");
    let west = day(None, "Pacific/Niue");
    assert_ne!(east, west, "25 hours apart");
    for _ in 0..2 {
        let before = day(None, "Pacific/Niue");
        let overridden = day(Some("Pacific/Niue"), "Pacific/Kiritimati");
        if before == day(None, "Pacific/Niue") {
            assert_eq!(overridden, before);
            return;
        }
    }
    panic!("midnight passed twice");
}

// init

const WHOLE: [&str; 7] =
    ["MEMORY.md", "distill_state.md", "events.md", "mood_state.md", "persona.md", "unresolved.md", "user_profile.md"];

#[test]
fn init_makes_a_whole_workspace() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("小伙伴");
    let mut command = in_folder(parent.path());
    command.arg("init").arg(&folder);
    let outcome = Outcome::of(command, None);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let mut names: Vec<_> =
        fs::read_dir(folder.join("memory")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    for name in WHOLE {
        assert!(names.contains(&name.to_owned()), "no {name} in {names:?}");
    }
    let index = fs::read_to_string(folder.join("memory/MEMORY.md")).unwrap();
    let status = index.lines().find_map(|l| l.trim_start().strip_prefix("initialization_status:")).unwrap();
    assert_eq!(status.split_whitespace().next(), Some("pending"), "{status}");
    assert!(index.contains("最近未解决事项"));

    // Every tool works on it at once, and nothing in the templates is taken for an entry.
    let call = |tool: &str, arguments: Value| {
        let mut command = in_folder(&folder);
        command.args(["call", tool, &arguments.to_string()]);
        Outcome::of(command, None).answer().unwrap_or_else(|e| panic!("{tool}: {e:?}"))
    };
    assert_eq!(call("list_events", json!({})), json!({"events": [], "has_more": false}));
    assert_eq!(call("append_event", json!({"type": "约定", "content": "看展"})), json!({"id": "E001"}));
    assert_eq!(call("update_event", json!({"id": "E001", "status": "已关闭"}))["id"], "E001");
    assert_eq!(call("add_unresolved", json!({"text": "甲"})), json!({"id": "U001", "deduplicated": false}));
    assert_eq!(
        call("add_unresolved", json!({"text": "甲", "kind": "chore"})),
        json!({"id": "M001", "deduplicated": false})
    );
    let mood = call("update_mood", json!({"note": "初次"}));
    assert_eq!((mood["before"]["valence"].as_f64(), mood["before"]["energy"].as_f64()), (Some(0.0), Some(0.5)));
    assert!(mood.get("warnings").is_none(), "{mood}");
    assert_eq!(call("touch_last_active", json!({}))["written"], true);
    let after = fs::read_to_string(folder.join("memory/MEMORY.md")).unwrap();
    assert_eq!(after, index, "the block is as empty as at first");
}

#[test]
fn init_takes_an_empty_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = program();
    command.arg("init").arg(folder.path());
    assert_eq!(Outcome::of(command, None).status, Some(0));
    assert!(folder.path().join("memory/MEMORY.md").exists());
}

#[test]
fn init_refuses_a_folder_that_has_anything_of_a_workspace() {
    for name in [".memory.lock", ".mood_state_aux", "sessions"] {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), "别人的\n").unwrap();
        let mut command = program();
        command.arg("init").arg(folder.path());
        let outcome = Outcome::of(command, None);
        assert_eq!(outcome.status, Some(1), "{name}: {outcome:?}");
        assert!(outcome.stderr.contains(name), "{outcome:?}");
        assert_eq!(fs::read_to_string(folder.path().join(name)).unwrap(), "别人的\n");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "{name}");
    }
}

#[test]
fn a_refusal_is_two_lines_whatever_it_names() {
    let parent = tempfile::tempdir().unwrap();
    let folder = parent.path().join("一\n二");
    fs::create_dir(&folder).unwrap();
    let outcome = append_in(parent.path(), |command| {
        command.arg("--workspace").arg(&folder);
    });
    assert_eq!(outcome.answer().unwrap_err().code, "no_workspace", "{outcome:?}");
}

#[test]
fn init_refuses_a_folder_that_has_a_memory() {
    let workspace = Workspace::new().file("memory/events.md", "# 我的\n").file("memory/MEMORY.md", "# 索引\n");
    let before = workspace.tree();
    for _ in 0..2 {
        let mut command = program();
        command.arg("init").arg(workspace.root());
        let outcome = Outcome::of(command, None);
        assert_eq!(outcome.status, Some(1), "{outcome:?}");
        assert!(outcome.stderr.contains(workspace.root().to_str().unwrap()), "{outcome:?}");
        assert_eq!(workspace.tree(), before);
    }
}

// tools, demo

#[test]
fn tools_prints_what_the_server_lists() {
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    let listed = server.ask("tools/list", json!({}));
    let outcome = Workspace::without_memory().run(&["tools"]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let mut from = 0;
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let name = tool["name"].as_str().unwrap();
        let at = outcome.stdout[from..].find(name).unwrap_or_else(|| panic!("no {name}, or in another order"));
        from += at;
    }
}

#[test]
fn the_demo_runs_and_leaves_the_current_folder_alone() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = in_folder(folder.path());
    command.arg("demo");
    let outcome = Outcome::of(command, None);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    // The story of the ninth event, after which the old procedure dropped every one.
    assert!(outcome.stdout.contains("E010"), "{}", outcome.stdout);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn an_answer_stands_although_its_files_could_not_be_synced() {
    let workspace = workspace();
    workspace.ok("append_event", todo());
    let mut failed = 0;
    for step in 1..30 {
        let mut command = workspace.command();
        command.args(["call", "append_event", &todo().to_string()]);
        let outcome = Outcome::of(
            {
                command.env("COMPANION_MEMORY_FAULT", format!("eio:{step}"));
                command
            },
            None,
        );
        let is_answered = outcome.stdout.contains("\"id\"");
        assert_eq!(outcome.status == Some(0), is_answered, "{outcome:?}");
        failed += usize::from(is_answered && outcome.stderr.contains("could not be made safe"));
    }
    assert!(failed > 0, "no step failed behind an answer");
}

#[test]
fn a_wrong_zone_is_told_whatever_is_logged() {
    let mut command = program();
    command.args(["--timezone", "Nowhere", "status"]).env("COMPANION_MEMORY_LOG", "off");
    let outcome = Outcome::of(command, None);
    assert_eq!(outcome.status, Some(2), "{outcome:?}");
    assert!(outcome.stderr.starts_with("usage: ") && outcome.stderr.contains("Nowhere"), "{outcome:?}");
}
