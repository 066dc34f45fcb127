//! `get_overview` and `search_memory`: short whatever the size, right about the place, and nothing changed by looking.

use crate::support::{Server, Workspace, both_doors, clock, index_with};
use serde_json::{Value, json};

fn event(id: &str, date: &str, kind: &str, content: &str, more: &str) -> String {
    format!("### [{id}] {date} · {kind}\n**类型**：{kind}\n**内容**：{content}\n{more}\n")
}

// The overview

#[test]
fn the_overview_tells_what_there_is() {
    clock::within_one_day(|| {
        let events =
            event("E001", "2026-04-10", "约定", "看展", &format!("**状态**：待跟进\n**到期日**：{}\n", clock::day(9)))
                + &event("E002", "2026-04-11", "用户Todo", "交房租", "**状态**：已关闭\n")
                + &event("E003", "2026-04-11", "用户Todo", "买伞", "**状态**：待跟进\n")
                + &event(
                    "E004",
                    "2026-04-12",
                    "约定",
                    "打电话",
                    &format!("**状态**：待跟进\n**到期日**：{}\n", clock::day(-2)),
                )
                + "### [E000] 2026-04-12T20:00 · last_active\n\n```\n### [E000] 2026-04-13T09:00 · 示例\n```\n";
        let prepare = || {
            Workspace::new()
                .file("memory/events.md", &events)
                .file("memory/MEMORY.md", index_with("（暂无）"))
                .file("memory/mood_state.md", "valence: -0.25\nenergy: 0.60\n")
                .file("memory/unresolved.md", "# 挂念\n\n- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) 妈妈的血压\n- [M001] src=material_derived kind=chore decay_d=30 last_touched=L001 绿植&#91;E001]\n\n## 已淡忘\n\n- [U002] src=user_told 旧事\n")
                .file("memory/user_profile.md", "# 用户\n\n## 喜欢（聊得来的）\n\n- 茶\n- \n- 雨\n\n## 空的\n")
        };
        let (answer, workspace) = both_doors(prepare, "get_overview", json!({}));
        let mut result = answer.unwrap();
        let hours = result["hours_since_last_active"].take().as_f64().unwrap();
        let since =
            jiff::Timestamp::now().duration_since("2026-04-12T20:00+08:00".parse().unwrap()).as_secs_f64() / 3600.0;
        assert!((hours - since).abs() < 0.2, "{hours} is not {since}");
        assert!(result.get("warnings").is_none(), "{result}");
        assert_eq!(workspace.tree(), prepare().tree(), "looking changes nothing");
        let expected = json!({
            "initialization_status": "done",
            "initialized": true,
            "mood": {"valence": -0.25, "energy": 0.6, "decayed_valence": -0.25},
            "last_active": "2026-04-12T20:00",
            "hours_since_last_active": null,
            "open_events": [
                {"id": "E004", "type": "约定", "content": "打电话", "due_date": clock::day(-2)},
                {"id": "E001", "type": "约定", "content": "看展", "due_date": clock::day(9)},
                {"id": "E003", "type": "用户Todo", "content": "买伞"},
            ],
            "unresolved": [{"id": "M001", "text": "绿植[E001]"}, {"id": "U001", "text": "妈妈的血压"}],
            "sections": [{"name": "喜欢（聊得来的）", "entries": 2}, {"name": "空的", "entries": 0}],
        });
        (result, expected)
    });
}

#[test]
fn an_empty_workspace_has_an_overview() {
    let (answer, workspace) = both_doors(Workspace::new, "get_overview", json!({}));
    let result = answer.unwrap();
    assert_eq!(result["mood"], json!({"valence": 0.0, "energy": 0.5, "decayed_valence": 0.0}));
    assert_eq!(result["initialized"], false);
    for list in ["open_events", "unresolved", "sections"] {
        assert_eq!(result[list], json!([]), "{result}");
    }
    assert!(result.get("last_active").is_none() && result.get("hours_since_last_active").is_none(), "{result}");
    assert_eq!(workspace.memory_names(), Vec::<String>::new());
}

#[test]
fn the_status_is_the_first_lines_value() {
    for (index, status, initialized) in [
        ("initialization_status: done", "done", true),
        ("```yaml\n  initialization_status: phase1_done   # pending / done\n```", "phase1_done", true),
        ("initialization_status:phase2_done", "phase2_done", true),
        ("initialization_status: pending   # → phase1_done → done", "pending", false),
        ("见 initialization_status: done\ninitialization_status: pending", "pending", false),
        ("initialization_status:   # done", "", false),
        ("initialization_status: almost_done", "almost_done", false),
        ("initialization_status: pending\ninitialization_status: done", "pending", false),
    ] {
        let workspace = Workspace::new().file("memory/MEMORY.md", format!("# 索引\n\n{index}\n"));
        let result = workspace.ok("get_overview", json!({}));
        assert_eq!(
            (&result["initialization_status"], &result["initialized"]),
            (&json!(status), &json!(initialized)),
            "{index}"
        );
    }
}

#[test]
fn the_valence_decays_by_the_hours_and_the_stability() {
    let persona = |line: &str| format!("# 人物\n\n## 性格\n\n{line}\n");
    for (line, k) in [
        ("stability: 1", 0.2_f64),
        ("stability: 2", 0.1625),
        ("stability: 3", 0.125),
        ("stability: 4", 0.0875),
        ("stability: 5", 0.05),
        ("没有写", 0.125),
        ("stability: 9", 0.125),
        ("stability: 0", 0.125),
    ] {
        for (valence, hours) in [(-0.8, 0.0_f64), (-0.8, 1.0), (0.6, 10.0), (1.0, 48.0), (0.0, 5.0), (-0.5, 100_000.0)]
        {
            let written = jiff::Timestamp::now() - jiff::SignedDuration::from_secs_f64(hours * 3600.0);
            let workspace = Workspace::new()
                .file("memory/persona.md", persona(line))
                .file("memory/mood_state.md", format!("valence: {valence:.2}\nenergy: 0.50\n"))
                .file(".mood_state_aux", format!("last_decay_written_at: {written}\nconsecutive_g4c_count: 0\n"));
            let result = workspace.ok("get_overview", json!({}));
            let decayed = result["mood"]["decayed_valence"].as_f64().unwrap();
            let expected = valence * (1.0 - k).powf(hours);
            // Rounded, and some seconds later.
            assert!(
                (decayed - expected).abs() < 0.006,
                "{line}, {valence} after {hours} h: {decayed} is not {expected}"
            );
            assert!(
                !result["mood"].to_string().contains("-0.0,") && !result["mood"].to_string().contains("-0.0}"),
                "{result}"
            );
            assert_eq!(result["mood"]["valence"], valence, "what is stored is not touched");
        }
    }
}

#[test]
fn unknown_or_negative_hours_decay_nothing() {
    let ahead = jiff::Timestamp::now() + jiff::SignedDuration::from_hours(5);
    for aux in [
        String::new(),
        "consecutive_g4c_count: 0\n".to_owned(),
        "last_decay_written_at: 昨天\n".to_owned(),
        "last_decay_written_at:\n".to_owned(),
        format!("last_decay_written_at: {ahead}\n"),
    ] {
        let workspace = Workspace::new()
            .file("memory/mood_state.md", "valence: -0.40\nenergy: 0.50\n")
            .file(".mood_state_aux", &aux);
        assert_eq!(workspace.ok("get_overview", json!({}))["mood"]["decayed_valence"], -0.4, "{aux:?}");
    }
}

#[test]
fn an_overview_stays_below_eight_kilobytes() {
    let long = "很长的一句话，什么都说了一点。".repeat(100);
    let events: String = (1..=600)
        .map(|n| event(&format!("E{n:03}"), "2026-04-10", "约定", &long, "**状态**：待跟进\n**到期日**：某天\n"))
        .collect();
    let broken: String = (0..300).map(|n| format!("### [E] {long} · 第{n}\n\n")).collect();
    let worries: String =
        (1..=400).map(|n| format!("- [U{n:03}] src=user_told kind=user_told decay_d=never {long}\n")).collect();
    let sections: String = (0..300).map(|n| format!("## {n}{long}\n\n- 茶\n\n")).collect();
    let cases = [
        ("everything", events.clone() + &broken, worries.clone(), sections.clone()),
        ("events", events, String::new(), String::new()),
        ("warnings", broken, String::new(), String::new()),
        ("worries", String::new(), worries, String::new()),
        ("sections", String::new(), String::new(), sections),
    ];
    for (name, events, worries, sections) in cases {
        let workspace = Workspace::new()
            .file("memory/events.md", format!("# 事件\n\n{events}"))
            .file("memory/MEMORY.md", format!("initialization_status: {long}\n"))
            .file("memory/unresolved.md", format!("# 挂念\n\n{worries}"))
            .file("memory/user_profile.md", format!("# 用户\n\n{sections}"))
            .file("memory/mood_state.md", format!("valence: {long}\nenergy: {long}\n"));
        let mut server = Server::start(&workspace);
        let id = server.start_call("get_overview", json!({}));
        let answer = server.answer(id);
        let text = answer["result"]["content"][0]["text"].as_str().unwrap();
        assert!(text.len() < 8_000, "{name}: {} bytes", text.len());
        assert!(answer["result"]["structuredContent"].to_string().len() < 8_000, "{name}");
        let resource = server.ask("resources/read", json!({"uri": "memory://overview"}));
        let text = resource["result"]["contents"][0]["text"].as_str().unwrap();
        assert!(text.len() < 8_000, "{name}: {} bytes of Markdown", text.len());
    }
}

// Searching

const EVENTS: &str = "\
# 事件

<!--
### [E900] 2026-01-01 · 约定
**内容**：示例里的海边
-->

### [E001] 2026-04-10 · 约定
**类型**：约定
**内容**：周五一起去看展，带上 Camera
**用户状态**：期待
**状态**：待跟进
**到期日**：2026-04-17

### [E002] 2026-04-12 · 情绪事件
**类型**：情绪事件
**内容**：看展回来吵了一架&#91;E001]
**情绪强度**：⭐⭐
**后续**：下次问问海边&lt;!--
**状态**：已关闭

### [E000] 2026-04-12T20:00 · last_active
";

fn searched() -> Workspace {
    Workspace::new()
        .file("memory/events.md", EVENTS)
        .file("memory/unresolved.md", "# 挂念\n\n- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) 想去海边看展\n\n## 已淡忘\n\n- [U002] src=user_told kind=user_told decay_d=never 妈妈的血压 resolved_by: \"好了\"\n")
        .file("memory/user_profile.md", "# 用户\n\n## 喜欢（聊得来的）\n\n- 海边的日出\n- 看展\n\n## 不喜欢\n\n- 吵架 <!-- 核心 -->\n")
        .file("memory/persona.md", "# 人物\n\n## 性格\n\n慢热，住在海边。\n\n<!-- 海边的示例 -->\n")
        .file("memory/life_log.md", "# 生活\n\n### [L013] 2026-04-11T16:00 · 海边\n捡了贝壳。\n")
        .file("memory/life_log_archive_2026_03.md", "### [L002] 2026-03-01T10:00 · 车站\n去海边的车晚点了。\n")
        .file("memory/RECENT_HISTORY.md", "# 最近消息\n\n**用户** 海边好玩吗\n")
        .file("memory/session_summary.md", "# 摘要\n\n聊过海边。\n")
        .file("memory/mood_state.md", "valence: 0.00\nenergy: 0.50\n\n## 快照历史\n\n### 2026-04-12T20:00 · source=conversation\nvalence: 0.00\nenergy: 0.50\nnote: 海边真好\n")
        .file("memory/MEMORY.md", index_with("- [E001] 2026-04-17 · 约定 · 周五一起去看展，带上 Camera"))
}

/// The places of the hits: file, id or section, line.
fn places(result: &Value) -> Vec<(String, String, u64)> {
    let text = |hit: &Value, name: &str| hit[name].as_str().unwrap_or_default().to_owned();
    let one = |hit: &Value| {
        let place = if hit.get("id").is_some() { text(hit, "id") } else { text(hit, "section") };
        (text(hit, "file"), place, hit["line"].as_u64().unwrap())
    };
    result["hits"].as_array().unwrap().iter().map(one).collect()
}

fn place(file: &str, place: &str, line: u64) -> (String, String, u64) {
    (file.to_owned(), place.to_owned(), line)
}

fn search(query: &str, files: Value) -> Vec<(String, String, u64)> {
    places(&searched().ok("search_memory", json!({"query": query, "files": files})))
}

#[test]
fn a_word_is_found_in_every_file_and_each_hit_says_where() {
    let (answer, workspace) = both_doors(searched, "search_memory", json!({"query": "海边"}));
    let result = answer.unwrap();
    assert_eq!(workspace.tree(), searched().tree(), "looking changes nothing");
    let found = places(&result);
    // What describes now comes first, then by day, the newest first, then the rest.
    let mut now = found[..3].to_vec();
    now.sort();
    assert_eq!(
        now,
        [place("persona", "性格", 5), place("profile", "喜欢（聊得来的）", 5), place("unresolved", "U001", 3)]
    );
    let dated: Vec<_> =
        found.iter().filter(|(_, id, _)| ["E002", "L013", "L002"].contains(&id.as_str())).cloned().collect();
    assert_eq!(
        dated,
        [place("events", "E002", 15), place("life_log", "L013", 3), place("life_log_archive_2026_03.md", "L002", 1)]
    );
    for (file, line) in [("history", 3), ("summary", 3), ("mood", 9)] {
        assert!(found.iter().any(|(f, _, l)| f == file && *l == line), "{file} {line} in {found:?}");
    }
    assert_eq!(found.len(), 9, "{found:?}");
    for hit in result["hits"].as_array().unwrap() {
        assert!(hit["text"].as_str().unwrap().contains("海边"), "{hit}");
    }
}

#[test]
fn several_words_mean_all_of_them_in_any_order() {
    assert_eq!(search("看展 海边", json!(["unresolved", "profile"])), [place("unresolved", "U001", 3)]);
    assert_eq!(search("海边 看展", json!(["unresolved"])), [place("unresolved", "U001", 3)]);
    // Words may stand in different fields of one entry.
    assert_eq!(search("吵了 海边", json!(["events"])), [place("events", "E002", 15)]);
    assert_eq!(search("看展\u{3000}期待", json!(["events"])), [place("events", "E001", 8)]);
    assert_eq!(search("看展 没有的词", Value::Null), []);
}

#[test]
fn case_and_width_do_not_matter() {
    for query in ["camera", "CAMERA", "ｃａｍｅｒａ", "Ｃamera", "看展 ｃＡＭＥＲＡ"] {
        assert_eq!(search(query, json!(["events"])), [place("events", "E001", 8)], "{query}");
    }
}

#[test]
fn short_words_are_found() {
    assert_eq!(search("展", json!(["events"])), [place("events", "E002", 15), place("events", "E001", 8)]);
    assert_eq!(search("吵架", Value::Null), [place("profile", "不喜欢", 10)]);
    assert_eq!(search("血压", Value::Null), [place("unresolved", "U002", 7)]);
}

#[test]
fn a_text_is_found_as_it_reads() {
    assert_eq!(search("[E001]", json!(["events"])), [place("events", "E002", 15)]);
    assert_eq!(search("海边<!--", json!(["events"])), [place("events", "E002", 15)]);
    for query in ["&#91;", "&lt;", "核心"] {
        assert_eq!(search(query, json!(["events", "profile"])), [], "{query}");
    }
}

#[test]
fn ids_and_dates_of_headings_are_not_matched() {
    for query in
        ["E001", "E002", "2026-04-12", "2026-04-11T16:00", "L013", "U001", "user_told", "last_active", "E900", "示例"]
    {
        let found = search(query, Value::Null);
        let allowed = query == "E001"; // Spoken of in the text of E002.
        assert_eq!(found.is_empty(), !allowed, "{query}: {found:?}");
        assert!(found.iter().all(|hit| *hit == place("events", "E002", 15)), "{query}: {found:?}");
    }
}

#[test]
fn only_the_named_files_are_searched() {
    for (files, expected) in [
        (json!(["life_log"]), vec!["life_log", "life_log_archive_2026_03.md"]),
        (json!(["history", "summary"]), vec!["history", "summary"]),
        (json!(["profile"]), vec!["profile"]),
        (json!("[\"profile\"]"), vec!["profile"]),
    ] {
        let mut found: Vec<_> = search("海边", files.clone()).into_iter().map(|(file, _, _)| file).collect();
        found.sort();
        assert_eq!(found, expected, "{files}");
    }
    let refusal = searched().refused("search_memory", json!({"query": "海边", "files": ["diary"]}));
    assert_eq!(refusal.code, "invalid_argument");
}

#[test]
fn no_more_hits_than_asked_for() {
    let many: String = (1..=80)
        .map(|n| {
            event(
                &format!("E{n:03}"),
                "2026-04-10",
                "用户Todo",
                &format!("{}第{n}把伞", "长".repeat(1900)),
                "**状态**：待跟进\n",
            )
        })
        .collect();
    let workspace = Workspace::new().file("memory/events.md", many);
    let ids = |arguments: Value| {
        places(&workspace.ok("search_memory", arguments)).into_iter().map(|(_, id, _)| id).collect::<Vec<_>>()
    };
    // Of one day, the newest number first.
    let newest = |count: u32| (81 - count..=80).rev().map(|n| format!("E{n:03}")).collect::<Vec<_>>();
    assert_eq!(ids(json!({"query": "伞"})), newest(10));
    assert_eq!(ids(json!({"query": "伞", "limit": 3})), newest(3));
    assert_eq!(ids(json!({"query": "伞", "limit": "50"})), newest(50));
    for limit in [0, 51, -1] {
        assert_eq!(workspace.refused("search_memory", json!({"query": "伞", "limit": limit})).code, "invalid_argument");
    }
    let result = workspace.ok("search_memory", json!({"query": "伞", "limit": 50}));
    assert!(result.to_string().len() < 40_000, "{}", result.to_string().len());
    // The part that matches is what is shown.
    for hit in result["hits"].as_array().unwrap() {
        assert!(hit["text"].as_str().unwrap().contains('伞'), "{hit}");
    }
}

#[test]
fn a_query_needs_a_word() {
    for (arguments, code) in [
        (json!({}), "missing_argument"),
        (json!({"query": " \u{3000}\n"}), "invalid_argument"),
        (json!({"query": "海".repeat(2001)}), "invalid_argument"),
        (json!({"query": "海边", "file": "events"}), "unknown_argument"),
    ] {
        assert_eq!(searched().refused("search_memory", arguments.clone()).code, code, "{arguments}");
    }
}

#[test]
fn what_cannot_be_read_does_not_hide_the_rest() {
    let workspace = searched();
    std::fs::remove_file(workspace.path("memory/persona.md")).unwrap();
    std::fs::create_dir(workspace.path("memory/persona.md")).unwrap();
    match workspace.call("search_memory", json!({"query": "海边"})).answer() {
        Ok(result) => {
            assert!(result["warnings"].to_string().contains("persona.md"), "{result}");
            assert_eq!(result["hits"].as_array().unwrap().len(), 8, "{result}");
        }
        Err(refusal) => {
            assert_eq!(refusal.code, "unreadable", "{refusal:?}");
            assert!(refusal.message.contains("persona.md"), "{refusal:?}");
        }
    }
    assert_eq!(
        places(&workspace.ok("search_memory", json!({"query": "血压", "files": ["unresolved"]}))),
        [place("unresolved", "U002", 7)]
    );
}

#[test]
fn the_last_sentinel_of_the_file_tells_when_the_user_was_here() {
    let events = "### [E000] 2026-04-12T20:00 · last_active\n\n### [E000] 2026-04-13T09:30 · last_active\n";
    let result = Workspace::new().file("memory/events.md", events).ok("get_overview", json!({}));
    assert_eq!(result["last_active"], "2026-04-13T09:30");
}

#[test]
fn details_of_the_character_come_by_the_day_that_they_carry() {
    let persona = "# 人物\n\n## 在对话中形成的新细节\n\n- **[2026-03-05]** 怕打雷\n• [2026-01-02] 怕打雷，从小就怕\n";
    let events = event("E001", "2026-02-01", "重要事件", "打雷停电", "**状态**：已关闭\n");
    let workspace = Workspace::new().file("memory/persona.md", persona).file("memory/events.md", events);
    let section = "在对话中形成的新细节";
    assert_eq!(
        places(&workspace.ok("search_memory", json!({"query": "打雷"}))),
        [place("persona", section, 5), place("events", "E001", 1), place("persona", section, 6)]
    );
}

#[test]
fn hits_of_many_bytes_stay_below_the_size_of_a_result() {
    // A family is one user-perceived character of many bytes.
    let many = format!("伞{}\n", "👨‍👩‍👧‍👦".repeat(150)).repeat(50);
    let workspace = Workspace::new().file("memory/RECENT_HISTORY.md", many);
    let result = workspace.ok("search_memory", json!({"query": "伞", "limit": 50}));
    assert!(!result["hits"].as_array().unwrap().is_empty());
    assert!(result.to_string().len() < 40_000, "{}", result.to_string().len());
}

#[test]
fn a_query_of_nothing_that_is_seen_finds_nothing() {
    let workspace = Workspace::new().file("memory/persona.md", "# 人物\n\n慢热。\n");
    assert_eq!(workspace.refused("search_memory", json!({"query": "\u{200b}"})).code, "invalid_argument");
    assert_eq!(workspace.ok("search_memory", json!({"query": "慢热 \u{200b}"}))["hits"].as_array().unwrap().len(), 1);
    assert_eq!(workspace.refused("list_events", json!({"query": "长".repeat(2001)})).code, "invalid_argument");
}
