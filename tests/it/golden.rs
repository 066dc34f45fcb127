//! Whole workspaces: a small one as somebody with a love of templates keeps it, and two years of one.

use crate::support::{Server, TwoYears, Workspace, clock};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, path::Path};

/// The files below `tests/golden/small/<name>/`.
fn golden(name: &str) -> Files {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/small").join(name);
    let mut files = BTreeMap::new();
    for folder in ["", "memory"] {
        for entry in fs::read_dir(root.join(folder)).unwrap() {
            let path = entry.unwrap().path();
            if path.is_file() {
                let name = path.strip_prefix(&root).unwrap().display().to_string();
                files.insert(name, fs::read_to_string(path).unwrap());
            }
        }
    }
    files
}

fn small() -> Workspace {
    let workspace = Workspace::new();
    for (name, text) in golden("before") {
        workspace.write(&name, text);
    }
    workspace
}

/// What stands in `after` for the moments of the test: every one of this year or later, for the files are of 2024.
fn with_placeholders(files: Files) -> Files {
    let stamp = regex::Regex::new(r"20\d\d-\d\d-\d\d(T\d\d:\d\d(:\d\d[+-]\d\d:\d\d)?)?").unwrap();
    let replace = |found: &regex::Captures<'_>| match (&found[0], found.get(1), found.get(2)) {
        (old, _, _) if old.starts_with("2024") => old.to_owned(),
        (_, _, Some(_)) => "{此秒}".to_owned(),
        (_, Some(_), _) => "{此分}".to_owned(),
        _ => "{今天}".to_owned(),
    };
    files.into_iter().map(|(name, text)| (name, stamp.replace_all(&text, replace).into_owned())).collect()
}

/// A turn that touches every file, as single calls in the order of the procedure.
fn turn() -> Vec<(&'static str, Value)> {
    vec![
        ("update_mood", json!({"delta_valence": -0.1, "delta_energy": -0.05, "note": "替她难过"})),
        ("correct_persona", json!({"old_text": "不爱热闹", "new_text": "人多会躲"})),
        ("add_persona_detail", json!({"detail": "怕打雷，会数到三"})),
        ("update_profile", json!({"action": "set", "section": "基本信息", "key": "城市", "text": "成都"})),
        ("update_profile", json!({"action": "add", "section": "偏好与习惯", "text": "改稿时要听白噪音"})),
        (
            "update_profile",
            json!({"action": "replace", "section": "重要关系", "old_text": "妈妈：在老家，每周视频", "text": "妈妈：搬来同住了"}),
        ),
        ("update_event", json!({"id": "E002", "status": "已跟进"})),
        (
            "append_event",
            json!({"type": "用户Todo", "content": "把作品集发给面试官", "follow_up": "问问发了没有", "due_date": "2024-03-20"}),
        ),
        (
            "append_event",
            json!({"type": "情绪事件", "content": "被甲方改了八稿，哭了", "intensity": 4, "user_state": "又累又气"}),
        ),
        ("resolve_unresolved", json!({"id": "U001", "resolved_by": "我们\"和好\"啦"})),
        ("add_unresolved", json!({"text": "怕面试又没下文"})),
        ("add_unresolved", json!({"text": "橱窗的书还没换", "kind": "work_line"})),
        ("touch_last_active", json!({})),
    ]
}

/// The same turn as one call.
fn whole_turn() -> Value {
    let mut call = json!({});
    let lists = [
        ("correct_persona", "persona_corrections"),
        ("add_persona_detail", "persona_details"),
        ("update_profile", "profile"),
        ("update_event", "event_updates"),
        ("append_event", "events"),
        ("resolve_unresolved", "resolved"),
        ("add_unresolved", "unresolved"),
    ];
    for (tool, mut arguments) in turn() {
        if tool == "update_mood" {
            call["mood"] = arguments;
        } else if let Some((_, list)) = lists.iter().find(|(single, _)| *single == tool) {
            if tool == "add_persona_detail" {
                arguments = arguments["detail"].clone();
            }
            if call.get(*list).is_none() {
                call[*list] = json!([]);
            }
            call[*list].as_array_mut().unwrap().push(arguments);
        }
    }
    call
}

#[test]
fn a_turn_on_a_workspace_full_of_templates_changes_what_it_must_and_nothing_else() {
    clock::within_one_day(|| {
        let workspace = small();
        for (tool, arguments) in turn() {
            workspace.ok(tool, arguments);
        }
        differing(&with_placeholders(workspace.tree()), &golden("after"))
    });
}

#[test]
fn the_same_turn_in_one_call_leaves_the_same_files() {
    clock::within_one_day(|| {
        let workspace = small();
        let result = Server::start(&workspace).call("record_conversation", whole_turn()).unwrap();
        assert_eq!(
            (&result["events"], &result["unresolved"], &result["skipped"]),
            (&json!(["E004", "E005"]), &json!(["U005", "M004"]), &json!([]))
        );
        assert!(result.get("warnings").is_none(), "{result}");
        differing(&with_placeholders(workspace.tree()), &golden("after"))
    });
}

type Files = BTreeMap<String, String>;

/// The files of both sides that are not the same.
fn differing(found: &Files, expected: &Files) -> (Files, Files) {
    let rest = |files: &Files, other: &Files| {
        files
            .iter()
            .filter(|(name, text)| other.get(*name) != Some(text))
            .map(|(n, t)| (n.clone(), t.clone()))
            .collect()
    };
    (rest(found, expected), rest(expected, found))
}

#[test]
fn looking_at_it_changes_nothing_and_sees_no_sample() {
    let workspace = small();
    let mut server = Server::start(&workspace);
    let overview = server.call("get_overview", json!({})).unwrap();
    assert_eq!(overview["initialization_status"], "phase2_done");
    assert_eq!(overview["last_active"], "2024-03-06T23:10");
    assert_eq!(
        overview["open_events"],
        json!([{"id": "E002", "type": "约定", "content": "周末一起看电影", "due_date": "2024-03-09"}])
    );
    assert_eq!(
        overview["unresolved"].as_array().unwrap().iter().map(|w| w["id"].as_str().unwrap()).collect::<Vec<_>>(),
        ["M003", "U004", "U001"]
    );
    assert_eq!(
        overview["sections"],
        json!([
            {"name": "基本信息", "entries": 4},
            {"name": "不喜欢 / 禁忌话题", "entries": 2},
            {"name": "喜欢（聊得来的）", "entries": 2},
            {"name": "偏好与习惯", "entries": 10},
            {"name": "重要关系", "entries": 2},
        ])
    );
    assert!(overview.get("warnings").is_none(), "{overview}");
    let listed = server.call("list_events", json!({})).unwrap();
    let ids: Vec<_> = listed["events"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap()).collect();
    assert_eq!(ids, ["E003", "E002", "E001"]);
    for sample in ["示例", "喜欢咖啡"] {
        let found = server
            .call("search_memory", json!({"query": sample, "files": ["events", "unresolved", "profile", "mood"]}))
            .unwrap();
        let hits = found["hits"].as_array().unwrap();
        // A person's remark in a quote is text; a sample in a comment is not.
        assert!(hits.iter().all(|hit| hit["text"].as_str().unwrap().starts_with('>')), "{sample}: {found}");
    }
    assert_eq!(workspace.tree(), golden("before"));
    let doctor = workspace.run(&["doctor"]);
    assert_eq!(doctor.status, Some(0), "{doctor:?}");
    assert!(!doctor.stdout.contains("unresolved.md:9") && !doctor.stdout.contains("E500"), "{doctor:?}");
}

#[test]
fn an_old_worry_of_the_character_fades_and_nothing_else_moves() {
    clock::within_one_day(|| {
        let workspace = small();
        let result = workspace.ok("fade_unresolved", json!({}));
        assert_eq!((&result["ran"], &result["faded"]), (&json!(true), &json!(["M003"])));
        let line = "- [M003] src=material_derived kind=chore decay_d=30 last_touched=L003 阳台的薄荷该换盆了\r\n";
        let last = "resolved_by: \"考完了\"\r\n";
        let mut expected = golden("before");
        let worries = expected.get_mut("memory/unresolved.md").unwrap();
        *worries = worries.replacen(line, "", 1).replacen(last, &format!("{last}{line}"), 1);
        let state = expected.get_mut("memory/distill_state.md").unwrap();
        *state = state.replace("last_decay_scan: 2024-03-04", &format!("last_decay_scan: {}", clock::today()));
        differing(&workspace.tree(), &expected)
    });
}

// Two years

/// What differs between two texts that differ in one place: old lines, new lines.
fn difference<'a>(old: &'a str, new: &'a str) -> (Vec<&'a str>, Vec<&'a str>) {
    let (old, new): (Vec<_>, Vec<_>) = (old.lines().collect(), new.lines().collect());
    let head = old.iter().zip(&new).take_while(|(a, b)| a == b).count();
    let rest = old.len().min(new.len()) - head;
    let tail = old.iter().rev().zip(new.iter().rev()).take_while(|(a, b)| a == b).count().min(rest);
    (old[head..old.len() - tail].to_vec(), new[head..new.len() - tail].to_vec())
}

#[test]
fn the_two_years_are_the_same_every_time() {
    let (one, other) = (TwoYears::new(), TwoYears::new());
    assert_eq!(one.workspace.tree(), other.workspace.tree());
    assert!(one.events.len() > 900 && one.worries.len() > 20, "{} {}", one.events.len(), one.worries.len());
}

#[test]
fn every_event_of_two_years_is_listed_once_page_by_page() {
    let years = TwoYears::new();
    let mut server = Server::start(&years.workspace);
    let mut listed = Vec::new();
    let mut arguments = json!({"limit": 100});
    loop {
        let page = server.call("list_events", arguments.clone()).unwrap();
        assert!(page.get("warnings").is_none(), "{page}");
        for event in page["events"].as_array().unwrap() {
            listed.push((event["id"].as_str().unwrap().to_owned(), event["content"].as_str().unwrap().to_owned()));
        }
        if page["has_more"] == false {
            break;
        }
        arguments["before_id"] = json!(listed.last().unwrap().0);
    }
    let expected: Vec<_> =
        years.events.iter().rev().map(|(number, text, _, _)| (format!("E{number:03}"), text.clone())).collect();
    assert_eq!(listed, expected);
}

#[test]
fn what_is_open_after_two_years_is_ordered_by_its_day() {
    let years = TwoYears::new();
    // All of it is past: the latest day is the nearest; then those without a day, the newest first.
    let mut open: Vec<_> = years.events.iter().filter(|(_, _, open, _)| *open).collect();
    open.sort_by(|a, b| (b.3.as_deref(), b.0).cmp(&(a.3.as_deref(), a.0)));
    let ids: Vec<_> = open.iter().map(|(number, _, _, _)| format!("E{number:03}")).collect();
    let result = years.workspace.ok("record_conversation", json!({}));
    let shown: Vec<_> = result["open_items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|i| i.as_str().unwrap()[1..].split(']').next().unwrap().to_owned())
        .collect();
    assert_eq!(shown, ids[..3]);
    let overview = years.workspace.ok("get_overview", json!({}));
    let shown: Vec<_> =
        overview["open_events"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap().to_owned()).collect();
    assert!(shown.len() >= 3, "{overview}");
    assert_eq!(shown, ids[..shown.len()]);
    assert!(overview.to_string().len() < 8_000);
    let newest: Vec<_> = years.worries.iter().rev().map(|(number, _)| format!("U{number:03}")).collect();
    let shown: Vec<_> =
        overview["unresolved"].as_array().unwrap().iter().map(|w| w["id"].as_str().unwrap().to_owned()).collect();
    assert!(!shown.is_empty());
    assert_eq!(shown, newest[..shown.len()]);
}

/// Tool, arguments, file, lines that go, lines that come.
type Change = (&'static str, Value, &'static str, Vec<String>, Vec<String>);

#[test]
fn each_call_changes_its_lines_among_two_years_of_them() {
    clock::within_one_day(|| {
        let years = TwoYears::new();
        let workspace = &years.workspace;
        let today = clock::today();
        let (last, _, _, _) = years.events.last().unwrap();
        let (open, _, _, _) = years.events.iter().find(|(_, _, open, _)| *open).unwrap();
        let (worry, text) = years.worries[3].clone();
        let field = "src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never)";
        let new_event = format!("### [E{:03}] {today} · 用户Todo", last + 1);
        let detail = format!("• [{today}] 怕打雷");
        let new_worry = format!("- [U151] {field} 怕打雷");
        let cases: Vec<Change> = vec![
            (
                "append_event",
                json!({"type": "用户Todo", "content": "买伞"}),
                "events.md",
                vec![],
                ["", &new_event, "**类型**：用户Todo", "**内容**：买伞", "**状态**：待跟进"]
                    .map(str::to_owned)
                    .to_vec(),
            ),
            (
                "update_event",
                json!({"id": format!("E{open:03}"), "status": "已关闭"}),
                "events.md",
                vec!["**状态**：待跟进".to_owned()],
                vec!["**状态**：已关闭".to_owned()],
            ),
            ("add_persona_detail", json!({"detail": "怕打雷"}), "persona.md", vec![], vec![detail]),
            ("add_unresolved", json!({"text": "怕打雷"}), "unresolved.md", vec![], vec![new_worry]),
            (
                "touch_unresolved",
                json!({"id": format!("U{worry:03}"), "life_log_id": "L300"}),
                "unresolved.md",
                vec![format!("- [U{worry:03}] {field} {text}")],
                vec![format!("- [U{worry:03}] {} {text}", field.replacen("(never)", "L300", 1))],
            ),
        ];
        let (mut found, mut expected) = (Vec::new(), Vec::new());
        for (tool, arguments, file, old, new) in cases {
            let path = format!("memory/{file}");
            let before = workspace.tree();
            workspace.ok(tool, arguments);
            let after = workspace.tree();
            let (gone, come) = difference(&before[&path], &after[&path]);
            found.push((tool, gone.join("\n"), come.join("\n")));
            expected.push((tool, old.join("\n"), new.join("\n")));
            for (name, text) in &before {
                assert!(*name == path || name == "memory/MEMORY.md" || after[name] == *text, "{tool} changed {name}");
            }
        }
        (found, expected)
    });
}

#[test]
fn a_word_of_two_years_ago_is_found() {
    let years = TwoYears::new();
    let (number, text, _, _) = &years.events[0];
    let result = years.workspace.ok("search_memory", json!({"query": format!("第{number}桩"), "files": ["events"]}));
    let hits = result["hits"].as_array().unwrap();
    assert_eq!(hits.len(), 1, "{result}");
    assert_eq!(hits[0]["id"], format!("E{number:03}"));
    assert!(hits[0]["text"].as_str().unwrap().contains(text.as_str()), "{result}");
}
