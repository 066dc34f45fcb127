//! Many writers at once: servers, the command line, and bash procedures under the same lock.

use crate::support::{Server, Workspace, bash, event_numbers, index_with, missing};
use serde_json::json;
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::MetadataExt,
    thread,
};

/// The procedure's append with its two mistakes mended: only headings count, and the number is decimal.
const BASH_APPENDS: &str = r#"
for i in $(seq 1 "$COUNT"); do
  exec 9>"$WORKSPACE_DIR/.memory.lock"
  flock -x -w 60 9
  last=$(grep -oP '^### \[E\K[0-9]+(?=\])' memory/events.md | sed 's/^0*//' | sort -n | tail -n 1 || true)
  next=$(printf '%03d' $((10#${last:-0} + 1)))
  printf '\n### [E%s] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：%s第%s件\n**状态**：待跟进\n' "$next" "$NAME" "$i" >> memory/events.md
  flock -u 9
  exec 9>&-
done
"#;

#[test]
fn servers_and_bash_loops_together_lose_no_event() {
    if missing(&["bash", "flock", "grep"]) {
        return;
    }
    let workspace = Workspace::new()
        .file("memory/events.md", "# 事件记录\n")
        .file("memory/MEMORY.md", index_with("（暂无）"))
        .file(".memory.lock", "");
    let lock_before = fs::metadata(workspace.path(".memory.lock")).unwrap().ino();
    let (mut expected, mut answered) = (BTreeSet::new(), BTreeMap::new());
    thread::scope(|scope| {
        for name in ["甲", "乙"] {
            expected.extend((1..=100).map(|i| format!("{name}第{i}件")));
            let workspace = &workspace;
            scope.spawn(move || {
                let mut script = bash(workspace, BASH_APPENDS);
                assert!(script.env("COUNT", "100").env("NAME", name).status().unwrap().success());
            });
        }
        let servers: Vec<_> = ["子", "丑", "寅", "卯"]
            .into_iter()
            .map(|name| {
                expected.extend((1..=100).map(|i| format!("{name}第{i}件")));
                let workspace = &workspace;
                scope.spawn(move || {
                    let mut server = Server::start(workspace);
                    let append = |server: &mut Server, i: i32| {
                        let content = format!("{name}第{i}件");
                        let arguments = json!({"type": "用户Todo", "content": content, "date": "2026-04-13"});
                        (content, server.call("append_event", arguments).unwrap()["id"].as_str().unwrap().to_owned())
                    };
                    (1..=100).map(|i| append(&mut server, i)).collect::<Vec<_>>()
                })
            })
            .collect();
        answered.extend(servers.into_iter().flat_map(|s| s.join().unwrap()));
    });

    let events = workspace.events();
    let mut numbers = event_numbers(&events);
    assert_eq!(numbers.len(), 600);
    numbers.sort_unstable();
    assert_eq!(numbers, (1..=600).collect::<Vec<_>>(), "a number is missing or stands twice");

    // Every entry is whole, and the number that was answered is the number that stands there.
    let entry = regex::Regex::new(
        r"\n### \[(E\d{3})\] 2026-04-13 · 用户Todo\n\*\*类型\*\*：用户Todo\n\*\*内容\*\*：(.*)\n\*\*状态\*\*：待跟进\n",
    )
    .unwrap();
    assert_eq!(entry.replace_all(&events, ""), "# 事件记录\n", "a torn entry");
    let found: BTreeMap<_, _> = entry.captures_iter(&events).map(|c| (c[2].to_owned(), c[1].to_owned())).collect();
    assert_eq!(found.keys().cloned().collect::<BTreeSet<_>>(), expected);
    for (content, id) in &answered {
        assert_eq!(&found[content], id, "{content}");
    }

    assert_eq!(fs::metadata(workspace.path(".memory.lock")).unwrap().ino(), lock_before, "the lock file was replaced");
    assert_eq!(workspace.bytes(".memory.lock"), b"", "the lock file was written to");
    assert_eq!(workspace.memory_names(), ["MEMORY.md", "events.md"]);
}

#[test]
fn eight_command_lines_number_two_hundred_worries() {
    let workspace = Workspace::new().file("memory/unresolved.md", "# 未完挂念\n\n## 已淡忘\n");
    let mut ids: Vec<_> = thread::scope(|scope| {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let workspace = &workspace;
                scope.spawn(move || {
                    let add = |n: i32| {
                        let text = format!("第{writer}人的第{n}件");
                        (workspace.ok("add_unresolved", json!({"text": text}))["id"].as_str().unwrap().to_owned(), text)
                    };
                    (0..25).map(add).collect::<Vec<_>>()
                })
            })
            .collect();
        writers.into_iter().flat_map(|w| w.join().unwrap()).collect()
    });
    ids.sort();
    let expected: Vec<_> = (1..=200).map(|n| format!("U{n:03}")).collect();
    assert_eq!(ids.iter().map(|(id, _)| id.clone()).collect::<Vec<_>>(), expected);
    let lines: String = ids
        .iter()
        .map(|(id, text)| format!("- [{id}] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) {text}\n"))
        .collect();
    assert_eq!(workspace.read("memory/unresolved.md"), format!("# 未完挂念\n\n{lines}\n## 已淡忘\n"));
}

#[test]
fn pipelined_writes_take_effect_in_order_of_arrival() {
    let workspace =
        Workspace::new().file("memory/events.md", "# 事件记录\n").file("memory/MEMORY.md", index_with("（暂无）"));
    let mut server = Server::start(&workspace);
    // Each update names an id that only the append right before it gives out.
    let calls: Vec<_> = (1..=150)
        .flat_map(|n| {
            let id = format!("E{n:03}");
            [
                server.start_call(
                    "append_event",
                    json!({"type": "用户Todo", "content": format!("第{n}件"), "date": "2026-04-13"}),
                ),
                server.start_call("update_event", json!({"id": id, "user_state": format!("第{n}种")})),
            ]
        })
        .collect();
    for call in calls {
        server.finish_call(call).unwrap();
    }
    let entries: String = (1..=150)
        .map(|n| format!("\n### [E{n:03}] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：第{n}件\n**用户状态**：第{n}种\n**状态**：待跟进\n"))
        .collect();
    assert_eq!(workspace.events(), format!("# 事件记录\n{entries}"));
}

#[test]
fn writes_of_different_tools_keep_their_order_too() {
    let workspace = Workspace::new().file("memory/events.md", "# 事件记录\n");
    let mut server = Server::start(&workspace);
    let mut calls = Vec::new();
    for n in 1..=100 {
        calls.push(server.start_call("add_unresolved", json!({"text": format!("挂念{n}")})));
        calls.push(server.start_call("append_event", json!({"type": "用户Todo", "content": format!("第{n}件")})));
        calls.push(server.start_call(
            "update_mood",
            json!({"delta_energy": if n % 2 == 0 { 0.01 } else { -0.01 }, "note": format!("{n}")}),
        ));
    }
    for (call, n) in calls.iter().zip(0..) {
        let result = server.finish_call(*call).unwrap();
        let turn = n / 3 + 1;
        match n % 3 {
            0 => assert_eq!(result["id"], format!("U{turn:03}")),
            1 => assert_eq!(result["id"], format!("E{turn:03}")),
            _ => assert_eq!(result["after"]["energy"].as_f64(), Some(if turn % 2 == 0 { 0.5 } else { 0.49 })),
        }
    }
    let mood = workspace.read("memory/mood_state.md");
    let notes: Vec<_> = mood.lines().filter_map(|l| l.strip_prefix("note: ")).collect();
    assert_eq!(notes, (91..=100).rev().map(|n| n.to_string()).collect::<Vec<_>>());
}
