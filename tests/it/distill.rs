//! A distillation from begin to commit: what is known, and what one commit changes over all the files.

use crate::support::{
    Server, Workspace,
    chat::{
        CHANNEL, Chat, STATE, ago, all_locks_free, begin, begun, commit, d000, distill, distillable, handed, skipped,
        stored, written,
    },
    clock, index_with,
};
use serde_json::{Value, json};
use std::{collections::BTreeMap, fs, time::SystemTime};

fn user_line(id: &str, text: &str) -> String {
    format!("- [{id}] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) {text}")
}

fn own_line(id: &str, kind: &str, days: u32, touched: &str, text: &str) -> String {
    format!("- [{id}] src=material_derived kind={kind} decay_d={days} last_touched={touched} {text}")
}

fn strings(value: &Value) -> Vec<String> {
    let list = value.as_array().unwrap_or_else(|| panic!("no list: {value}"));
    list.iter().map(|item| item.as_str().unwrap().to_owned()).collect()
}

/// That a list holds one string for each of the parts, with all of them in it, in whatever order.
fn assert_holds(list: &Value, parts: &[&[&str]]) {
    let list = strings(list);
    assert_eq!(list.len(), parts.len(), "{list:?}");
    for parts in parts {
        let found = list.iter().filter(|item| parts.iter().all(|part| item.contains(part))).count();
        assert_eq!(found, 1, "{parts:?} in {list:?}");
    }
}

/// One new message, so that there is something to distill.
fn with_a_message(workspace: &Workspace) -> Chat {
    let chat = Chat::of(workspace);
    chat.say("m1", stored(&ago(60.0)));
    chat
}

// Begin

#[test]
fn only_an_initialised_workspace_is_distilled() {
    for (status, is_initialised) in [
        ("done", true),
        ("phase1_done", true),
        ("phase2_done   # 注", true),
        ("pending", false),
        ("", false),
        ("# done", false),
        ("undone", false),
        ("initialised", false),
    ] {
        let index = index_with("（暂无）").replace("done   # pending / phase1_done / phase2_done / done", status);
        let workspace = Workspace::new().file("memory/MEMORY.md", index);
        let _chat = with_a_message(&workspace);
        let before = workspace.tree();
        let result = begin(&workspace);
        if is_initialised {
            assert_eq!(handed(&result), ["m1"], "{status:?}");
        } else {
            assert_eq!(result, skipped("not_initialized"), "{status:?}");
            assert!(!workspace.path(".distill_lease").exists(), "{status:?}");
        }
        assert_eq!(workspace.tree(), before, "{status:?}");
    }
    let workspace = Workspace::new();
    let _chat = with_a_message(&workspace);
    assert_eq!(begin(&workspace), skipped("not_initialized"));
    assert_eq!(workspace.memory_names(), Vec::<String>::new());
}

#[test]
fn begin_answers_what_is_known() {
    let log: String =
        (1..=14).map(|n| format!("\n### [L{n:03}] 2026-04-12T16:{n:02} · 阳台\n浇花第{n}次。\n")).collect();
    let workspace = distillable()
        .file(
            "memory/unresolved.md",
            format!(
                "# 未完挂念\n\n<!--\n{}\n-->\n\n{}\n{}\n\n## 已淡忘\n\n{} resolved_by: \"好了\"\n",
                user_line("U000", "样例"),
                user_line("U002", "妈妈血压又高了"),
                own_line("M001", "work_line", 90, "L010", "别扭的对白"),
                user_line("U001", "旧事"),
            ),
        )
        .file(
            "memory/events.md",
            "# 事件记录\n\n### [E001] 2026-04-13 · 约定\n**类型**：约定\n**内容**：周五一起去看展\n**状态**：待跟进\n**到期日**：2026-04-17\n\
             \n### [E002] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：做完的事\n**状态**：已关闭\n\
             \n### [E000] 2026-04-13T21:05 · last_active\n",
        )
        .file("memory/persona.md", "# 人设\n\n- 不是细节\n\n## 在对话中形成的新细节\n\n- **[2026-04-13]** 怕打雷\n- **[2026-04-14]** 左撇子\n")
        .file("memory/user_profile.md", "# 用户\n\n## 基本信息\n\n- **称呼**：小林\n- **城市**：\n- \n\n## 喜好\n\n- 喜欢看展\n")
        .file("memory/life_log.md", format!("# 日志\n{log}"))
        .file(STATE, d000("timestamp: 2026-04-12T21:10:00+08:00\n"));
    let chat = Chat::of(&workspace);
    for (id, role, days) in [("古", "user", 8.0), ("旧", "user", 6.0), ("答", "assistant", 5.0), ("新", "user", 0.1)]
    {
        chat.try_insert(CHANNEL, id, role, format!("话{id}"), stored(&ago(days * 86_400.0))).unwrap();
    }
    chat.say_in("别处", "别", stored(&ago(100.0)));
    let before = workspace.tree();
    let result = begun(&workspace);
    assert_eq!(workspace.tree(), before, "begin writes nothing below memory/");
    let known = &result["known"];
    assert_holds(&known["unresolved"], &[&["U002", "妈妈血压又高了"], &["M001", "别扭的对白"]]);
    assert_holds(&known["open_events"], &[&["E001", "周五一起去看展", "2026-04-17"]]);
    assert_holds(&known["persona"], &[&["怕打雷"], &["左撇子"]]);
    let profile = strings(&known["profile"]);
    assert!(profile.iter().any(|p| p.contains("基本信息") && p.contains("称呼") && p.contains("小林")), "{profile:?}");
    assert!(profile.iter().any(|p| p.contains("喜好") && p.contains("喜欢看展")), "{profile:?}");
    assert!(profile.len() <= 3, "blank bullets are no entries: {profile:?}");
    let mut days = strings(&known["life_log"]);
    days.sort();
    assert_eq!(days.len(), 10, "{days:?}");
    for (day, n) in days.iter().zip(5..) {
        assert!(day.contains(&format!("L{n:03}")) && day.contains(&format!("浇花第{n}次。")), "{day:?}");
    }
    let mut week = strings(&known["said_this_week"]);
    week.sort();
    assert_eq!(week.len(), 2, "{week:?}");
    assert!(week[0].contains("话旧") && week[1].contains("话新"), "{week:?}");
    let mut names: Vec<_> = known.as_object().unwrap().keys().cloned().collect();
    names.sort();
    assert_eq!(names, ["life_log", "open_events", "persona", "profile", "said_this_week", "unresolved"]);
}

#[test]
fn what_fits_is_known_completely() {
    // A memory of some months: about 9 kB in all.
    let texts = |count: usize, what: &str, length: usize| -> Vec<String> {
        (0..count).map(|n| format!("{what}{n:02}{}", "记".repeat(length))).collect()
    };
    let (worries, profile) = (texts(20, "念", 25), texts(50, "好", 12));
    let (persona, events) = (texts(10, "细", 15), texts(8, "事", 20));
    let days = texts(10, "日", 30);
    let worry_lines: String = worries.iter().zip(1..).map(|(t, n)| user_line(&format!("U{n:03}"), t) + "\n").collect();
    let sections: Vec<String> = profile
        .chunks(10)
        .zip(1..)
        .map(|(entries, n)| format!("## 节{n}\n\n{}", entries.iter().map(|e| format!("- {e}\n")).collect::<String>()))
        .collect();
    let event = |(text, n): (&String, i32)| {
        format!("\n### [E{n:03}] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：{text}\n**状态**：待跟进\n")
    };
    let workspace = distillable()
        .file("memory/unresolved.md", format!("# 未完挂念\n\n{worry_lines}\n## 已淡忘\n"))
        .file("memory/user_profile.md", format!("# 用户\n\n{}", sections.join("\n")))
        .file(
            "memory/persona.md",
            format!(
                "# 人设\n\n## 在对话中形成的新细节\n\n{}",
                persona.iter().map(|t| format!("- **[2026-04-13]** {t}\n")).collect::<String>()
            ),
        )
        .file("memory/events.md", format!("# 事件记录\n{}", events.iter().zip(1..).map(event).collect::<String>()))
        .file(
            "memory/life_log.md",
            days.iter()
                .zip(1..)
                .map(|(t, n)| format!("\n### [L{n:03}] 2026-04-12T16:00 · 阳台\n{t}\n"))
                .collect::<String>(),
        )
        .file(STATE, d000(&format!("timestamp:\nlast_decay_scan: {}\n", clock::today())));
    let _chat = with_a_message(&workspace);
    let known = begun(&workspace)["known"].clone();
    for (list, texts) in [
        ("unresolved", &worries),
        ("open_events", &events),
        ("profile", &profile),
        ("persona", &persona),
        ("life_log", &days),
    ] {
        let shown = strings(&known[list]);
        let hidden: Vec<_> = texts.iter().filter(|text| !shown.iter().any(|s| s.contains(*text))).collect();
        assert!(
            hidden.is_empty(),
            "{list}: {} of {} are hidden, known has {} bytes",
            hidden.len(),
            texts.len(),
            known.to_string().len()
        );
    }
}

#[test]
fn a_long_message_does_not_hide_the_week() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.try_insert(CHANNEL, "m1", "user", "我妈好了", stored(&ago(86_400.0 * 2.0))).unwrap();
    chat.try_insert(CHANNEL, "m2", "user", "长".repeat(1000), stored(&ago(60.0))).unwrap();
    let week = begun(&workspace)["known"]["said_this_week"].to_string();
    assert!(week.contains("我妈好了"), "{week}");
}

#[test]
fn an_unreadable_state_is_told_and_not_distilled() {
    let workspace = distillable();
    let _chat = with_a_message(&workspace);
    fs::create_dir(workspace.path(STATE)).unwrap();
    let refusal = workspace.refused("distill_begin", json!({}));
    assert_eq!(refusal.code, "unreadable");
    assert!(refusal.message.contains("distill_state.md"), "{refusal:?}");
    assert!(all_locks_free(&workspace));
    assert!(!workspace.path(".distill_lease").exists());
}

// Commit

/// Paths and contents.
type Files = Vec<(&'static str, String)>;

/// Everything that a commit can touch, and what it must not: the files, and what they are afterwards.
fn everything() -> (Files, impl Fn(&str, &str) -> BTreeMap<String, String>) {
    let mood = "valence: 0.20\nenergy: 0.55\n\n---\n\n## 快照历史\n\n（暂无快照）\n";
    let aux = "last_decay_written_at: 2026-04-12T20:00:00+08:00\nconsecutive_g4c_count: 2\n";
    let (last_month, last_scan, soon) = (clock::day(-31), clock::day(-8), clock::day(3));
    let today = clock::today();
    let log = format!("# 日志\n\n### [L001] {last_month}T16:00 · 阳台\n浇花。\n");
    let events = format!(
        "# 事件记录\n\n### [E001] 2026-04-13 · 约定\n**类型**：约定\n**内容**：周五一起去看展\n**状态**：待跟进\n**到期日**：2026-04-17\n\
         \n### [E002] {today} · 用户Todo\n**类型**：用户Todo\n**内容**：买伞\n**状态**：待跟进\n\
         \n### [E000] 2026-04-13T21:05 · last_active\n"
    );
    let worries = |active: &str, faded: &str| format!("# 未完挂念\n\n{active}\n\n## 已淡忘\n{faded}");
    let (mother, chore) = (user_line("U001", "妈妈血压又高了"), own_line("M001", "chore", 30, "L001", "绿植该换盆了"));
    let kept = own_line("M002", "work_line", 90, "L001", "别扭的对白");
    let persona = |trait_: &str, more: &str| {
        format!(
            "# 人设\n\n性格：{trait_}。\n\n## 在对话中形成的新细节\n\n- **[2026-04-13]** 怕打雷\n{more}\n## 其他\n\n手写。\n"
        )
    };
    let profile = |more: &str| format!("# 用户\n\n## 喜好\n\n- 喜欢看展\n{more}\n## 不喜欢\n\n- 香菜\n");
    let state = |timestamp: &str, scan: &str, cursor: &str| {
        format!(
            "# 提炼状态\n\n{}\n## 其他\n",
            d000(&format!("timestamp:{timestamp}\nlast_decay_scan: {scan}\n{cursor}"))
        )
    };
    let files = vec![
        ("memory/mood_state.md", mood.to_owned()),
        (".mood_state_aux", aux.to_owned()),
        ("memory/life_log.md", log.clone()),
        ("memory/events.md", events.clone()),
        ("memory/unresolved.md", worries(&format!("{mother}\n{chore}\n{kept}"), "")),
        ("memory/persona.md", persona("内向", "")),
        ("memory/user_profile.md", profile("")),
        (STATE, state("", &last_scan, "")),
    ];
    let after = move |at: &str, cursor: &str| {
        let closed = events.replacen("待跟进", "已跟进", 1);
        let added = format!(
            "\n### [E003] {today} · 情绪事件\n**类型**：情绪事件\n**内容**：面试没过\n**情绪强度**：⭐⭐⭐⭐\n**用户状态**：失落\n\
             **后续**：明天问问她\n**状态**：待跟进\n\
             \n### [E004] {today} · 约定\n**类型**：约定\n**内容**：去爬山\n**状态**：待跟进\n**到期日**：{soon}\n"
        );
        let items = format!("- [E004] {soon} · 约定 · 去爬山\n- [E003] 情绪事件 · 面试没过\n- [E002] 用户Todo · 买伞");
        BTreeMap::from([
            ("memory/MEMORY.md".to_owned(), index_with(&items)),
            ("memory/mood_state.md".to_owned(), mood.to_owned()),
            (".mood_state_aux".to_owned(), aux.to_owned()),
            ("memory/life_log.md".to_owned(), log.clone()),
            ("memory/events.md".to_owned(), format!("{closed}{added}")),
            (
                "memory/unresolved.md".to_owned(),
                worries(
                    &format!("{kept}\n{}", user_line("U002", "想学潜水")),
                    &format!("\n{mother} resolved_by: \"我妈好了\"\n{chore}\n"),
                ),
            ),
            ("memory/persona.md".to_owned(), persona("慢热", &format!("- **[{today}]** 左撇子\n"))),
            ("memory/user_profile.md".to_owned(), profile("- 喜欢潜水\n")),
            (STATE.to_owned(), state(&format!(" {at}"), &today, cursor)),
        ])
    };
    (files, after)
}

#[test]
fn a_commit_is_one_change_over_all_the_files_and_touches_no_other() {
    clock::within_one_day(|| {
        let workspace = distillable();
        let (files, after) = everything();
        for (path, content) in &files {
            workspace.write(path, content);
        }
        let at = ago(60.0);
        Chat::of(&workspace).say("m1", stored(&at));
        let modified = |path: &str| fs::metadata(workspace.path(path)).unwrap().modified().unwrap();
        let untouched = ["memory/mood_state.md", ".mood_state_aux", "memory/life_log.md"];
        let times: Vec<SystemTime> = untouched.iter().map(|path| modified(path)).collect();
        let result = begun(&workspace);
        let due = clock::day(3);
        let committed = workspace.ok(
            "distill_commit",
            json!({
                "token": result["token"],
                "persona_corrections": [{"old_text": "内向", "new_text": "慢热"}],
                "persona_details": ["左撇子"],
                "profile": [
                    {"action": "add", "section": "喜好", "text": "喜欢潜水"},
                    {"action": "add", "section": "没有这一节", "text": "丢下"},
                ],
                "event_updates": [{"id": "E001", "status": "已跟进"}, {"id": "E099", "status": "已关闭"}],
                "events": [
                    {"type": "情绪事件", "content": "面试没过", "intensity": 4, "user_state": "失落", "follow_up": "明天问问她"},
                    {"type": "用户Todo", "content": " 买伞。"},
                    {"type": "约定", "content": "去爬山", "due_date": due},
                    {"type": "约定", "content": "去爬山！", "due_date": due},
                ],
                "resolved": [{"id": "U001", "resolved_by": "我妈好了"}],
                "unresolved": [{"text": "想学潜水"}],
            }),
        );
        assert_eq!(untouched.map(modified).to_vec(), times, "written without need");
        assert!(!workspace.path(".distill_lease").exists());
        assert!(all_locks_free(&workspace));
        let places: Vec<_> = committed["skipped"]
            .as_array()
            .unwrap()
            .iter()
            .map(|s| (s["place"].as_str().unwrap().to_owned(), s["code"].as_str().unwrap().to_owned()))
            .collect();
        let mut rest = committed.clone();
        rest.as_object_mut().unwrap().remove("skipped");
        let found = (workspace.tree(), places, rest);
        let expected = (
            after(&written(&at), &format!("cursor: {CHANNEL} m1 1 {}\n", written(&at))),
            [
                ("profile[1]", "not_found"),
                ("event_updates[1]", "not_found"),
                ("events[1]", "duplicate"),
                ("events[3]", "duplicate"),
            ]
            .map(|(place, code)| (place.to_owned(), code.to_owned()))
            .to_vec(),
            json!({
                "events": ["E003", "E004"],
                "unresolved": ["U002"],
                "open_items": [format!("[E004] {due} · 约定 · 去爬山"), "[E003] 情绪事件 · 面试没过", "[E002] 用户Todo · 买伞"],
                "faded": ["M001"],
                "watermark": written(&at),
                "summary_due": false,
            }),
        );
        (found, expected)
    });
}

#[test]
fn a_commit_with_nothing_new_moves_only_the_watermark() {
    let workspace = distillable();
    let (files, _) = everything();
    for (path, content) in &files {
        workspace.write(path, content);
    }
    workspace.ok("touch_last_active", json!({}));
    workspace.write(STATE, d000(&format!("timestamp:\nlast_decay_scan: {}\n", clock::today())));
    workspace.ok("update_event", json!({"id": "E001", "status": "待跟进"}));
    let chat = with_a_message(&workspace);
    let mut before = workspace.tree();
    let result = begun(&workspace);
    assert!(result["known"].get("said_this_week").is_none(), "{result}");
    let watermark = commit(&workspace, &result);
    let state = d000(&format!(
        "timestamp: {watermark}\nlast_decay_scan: {}\ncursor: {CHANNEL} m1 1 {watermark}\n",
        clock::today()
    ));
    before.insert(STATE.to_owned(), state);
    let mut after = workspace.tree();
    // The block is refreshed with every commit; the items are the same.
    before.insert("memory/MEMORY.md".to_owned(), after.remove("memory/MEMORY.md").unwrap());
    after.insert("memory/MEMORY.md".to_owned(), workspace.index());
    assert_eq!(after, before);
    drop(chat);
}

#[test]
fn a_malformed_item_refuses_the_whole_commit_and_keeps_the_token() {
    let workspace = distillable();
    let _chat = with_a_message(&workspace);
    let mut server = Server::start(&workspace);
    let begun = server.call("distill_begin", json!({})).unwrap();
    let before = workspace.tree();
    let good = json!({"type": "用户Todo", "content": "买伞"});
    for (list, items, place) in [
        ("events", json!([good, {"type": "用户Todo", "content": "甲", "due_date": "周五"}]), "events[1].due_date"),
        ("events", json!([{"type": "情绪事件", "content": "甲"}]), "events[0]"),
        ("unresolved", json!([{"text": "甲"}, {"text": " "}]), "unresolved[1].text"),
        ("persona_details", json!(["甲", ""]), "persona_details[1]"),
        ("resolved", json!([{"id": "X1", "resolved_by": "甲"}]), "resolved[0].id"),
        ("mood", json!({"note": "不在这里"}), "mood"),
    ] {
        let refusal = server
            .call("distill_commit", json!({"token": begun["token"], list: items, "persona_corrections": []}))
            .unwrap_err();
        assert!(["invalid_argument", "missing_argument", "unknown_argument"].contains(&&*refusal.code), "{refusal:?}");
        assert!(refusal.message.contains(place), "{refusal:?} does not name {place}");
        assert_eq!(workspace.tree(), before, "{place}");
    }
    let refusal = server.call("distill_commit", json!({"events": [good]})).unwrap_err();
    assert_eq!(refusal.code, "missing_argument");
    let committed = server.call("distill_commit", json!({"token": begun["token"], "events": [good]})).unwrap();
    assert_eq!(committed["events"], json!(["E001"]));
}

#[test]
fn a_commit_into_damaged_memory_writes_nothing_and_keeps_the_token() {
    let workspace = distillable();
    let _chat = with_a_message(&workspace);
    let result = begun(&workspace);
    workspace.write("memory/MEMORY.md", index_with("- [E007] 约定 · 看展"));
    let arguments = json!({"token": result["token"], "events": [{"type": "用户Todo", "content": "买伞"}]});
    assert_eq!(workspace.refused("distill_commit", arguments.clone()).code, "damaged");
    assert!(all_locks_free(&workspace));
    workspace.write("memory/MEMORY.md", index_with("（暂无）"));
    assert_eq!(workspace.ok("distill_commit", arguments)["events"], json!(["E001"]));
}

#[test]
fn a_token_commits_once() {
    let workspace = distillable();
    let _chat = with_a_message(&workspace);
    let event = json!([{"type": "用户Todo", "content": "买伞"}]);
    let result = begun(&workspace);
    let mut server = Server::start(&workspace);
    server.call("distill_commit", json!({"token": result["token"], "events": event})).unwrap();
    let before = workspace.tree();
    for token in [result["token"].as_str().unwrap(), "0123456789abcdef0123456789abcdef", "无"] {
        let refusal = workspace.refused("distill_commit", json!({"token": token, "events": event}));
        assert_eq!(refusal.code, "token_invalid", "{token}");
        let refusal = server.call("distill_commit", json!({"token": token, "events": event})).unwrap_err();
        assert_eq!(refusal.code, "token_invalid", "{token}");
    }
    assert_eq!(workspace.tree(), before);
    assert!(all_locks_free(&workspace));
}

#[test]
fn an_aborted_distillation_leaves_nothing_and_is_handed_out_again() {
    let workspace = distillable();
    let _chat = with_a_message(&workspace);
    let before = workspace.tree();
    let mut server = Server::start(&workspace);
    for by_server in [true, false] {
        let begun = server.call("distill_begin", json!({})).unwrap();
        assert_eq!(handed(&begun), ["m1"]);
        let arguments = json!({"token": begun["token"]});
        if by_server {
            assert_eq!(server.call("distill_abort", arguments.clone()), Ok(json!({})));
        } else {
            // By another process, once the beginner is gone.
            server.close_stdin();
            server.exit_within(std::time::Duration::from_secs(2)).expect("the server still runs");
            assert_eq!(workspace.ok("distill_abort", arguments.clone()), json!({}));
        }
        assert!(all_locks_free(&workspace));
        assert!(!workspace.path(".distill_lease").exists());
        assert_eq!(workspace.refused("distill_commit", arguments).code, "token_invalid");
        assert_eq!(workspace.tree(), before);
    }
    assert_eq!(distill(&workspace), ["m1"]);
}

#[test]
fn the_scan_for_faded_worries_runs_once_a_week() {
    let log = format!("# 日志\n\n### [L001] {}T16:00 · 阳台\n浇花。\n", clock::day(-40));
    let chore = own_line("M001", "chore", 30, "L001", "绿植");
    let fresh = own_line("M002", "relational", 60, "L001", "约了老友");
    let lost = own_line("M003", "chore", 30, "L099", "快递");
    let told = user_line("U001", "妈妈");
    let worries = |active: &[&String], faded: &str| {
        let lines: String = active.iter().map(|line| format!("{line}\n")).collect();
        format!("# 未完挂念\n\n{lines}\n## 已淡忘\n{faded}")
    };
    for (scan, is_due) in [
        (None, true),
        (Some(clock::day(-400)), true),
        (Some(clock::day(-7)), true),
        (Some(clock::day(-6)), false),
        (Some(clock::today()), false),
    ] {
        let lines = scan.as_ref().map(|day| format!("last_decay_scan: {day}\n")).unwrap_or_default();
        let workspace = distillable()
            .file("memory/life_log.md", &log)
            .file("memory/unresolved.md", worries(&[&told, &chore, &fresh, &lost], ""))
            .file(STATE, d000(&format!("timestamp:\n{lines}")));
        let _chat = with_a_message(&workspace);
        let result = begun(&workspace);
        assert_eq!(result["known"].get("said_this_week").is_some(), is_due, "{scan:?}");
        let committed = workspace.ok("distill_commit", json!({"token": result["token"]}));
        let found = workspace.read("memory/unresolved.md");
        let watermark = committed["watermark"].as_str().unwrap();
        let cursor = format!("cursor: {CHANNEL} m1 1 {watermark}\n");
        let state = |day: &str| d000(&format!("timestamp: {watermark}\nlast_decay_scan: {day}\n{cursor}"));
        if is_due {
            assert_eq!(committed["faded"], json!(["M001"]), "{scan:?}");
            assert_eq!(found, worries(&[&told, &fresh, &lost], &format!("\n{chore}\n")), "{scan:?}");
            assert!(committed["warnings"].to_string().contains("M003"), "it has no datable anchor: {committed}");
            assert_eq!(workspace.read(STATE), state(&clock::today()), "{scan:?}");
        } else {
            assert_eq!(committed["faded"], json!([]), "{scan:?}");
            assert_eq!(found, worries(&[&told, &chore, &fresh, &lost], ""), "{scan:?}");
            assert_eq!(workspace.read(STATE), state(&scan.unwrap()));
        }
    }
}

#[test]
fn a_worry_resolved_in_the_commit_does_not_fade_as_well() {
    let chore = own_line("M001", "chore", 30, "L001", "绿植");
    let told = user_line("U001", "妈妈");
    let workspace = distillable()
        .file("memory/life_log.md", format!("# 日志\n\n### [L001] {}T16:00 · 阳台\n浇花。\n", clock::day(-40)))
        .file("memory/unresolved.md", format!("# 未完挂念\n\n{told}\n{chore}\n\n## 已淡忘\n"));
    let _chat = with_a_message(&workspace);
    let arguments =
        json!({"token": begun(&workspace)["token"], "resolved": [{"id": "M001", "resolved_by": "换\"盆\"了"}]});
    let committed = workspace.ok("distill_commit", arguments);
    assert_eq!(committed["faded"], json!([]));
    let expected = format!("# 未完挂念\n\n{told}\n\n## 已淡忘\n\n{chore} resolved_by: \"换”盆”了\"\n");
    assert_eq!(workspace.read("memory/unresolved.md"), expected);
}

#[test]
fn a_summary_is_due_by_the_rule() {
    let history = |count: usize| "**用户** 你好\n  ** 缩进的不算\n- **列表也不算**\n".repeat(count);
    let covered =
        |ranges: &[&str]| ranges.iter().map(|range| format!("covered_range: {range}\n\n摘要。\n")).collect::<String>();
    for (history, summary, is_due) in [
        (None, None, false),
        (Some(history(30)), None, false),
        (Some(history(31)), None, true),
        (Some(history(31)), Some("# 摘要\n".to_owned()), true),
        (Some(history(40)), Some(covered(&["L21 - L40"])), false),
        (Some(history(40)), Some(covered(&["L20 - L40"])), true),
        (Some(history(60)), Some(covered(&["L1 - L30", "L41 - L60"])), false),
        (Some(history(60)), Some(covered(&["L41 - L60", "L1 - L30"])), true),
        (Some(history(31)), Some(covered(&["L011 - L031"])), true),
        (Some(history(31)), Some(covered(&["L12 - L31"])), false),
        (Some(history(31)), Some(covered(&["第12行"])), true),
        (Some(history(31)), Some(covered(&["L500 - L600"])), false),
        (Some(history(31).replace('\n', "\r\n")), Some(covered(&["L12 - L31"]).replace('\n', "\r\n")), false),
    ] {
        let workspace = distillable();
        let files = [("memory/RECENT_HISTORY.md", &history), ("memory/session_summary.md", &summary)];
        for (path, content) in files {
            if let Some(content) = content {
                workspace.write(path, content);
            }
        }
        let _chat = with_a_message(&workspace);
        let committed = workspace.ok("distill_commit", json!({"token": begun(&workspace)["token"]}));
        assert_eq!(
            committed["summary_due"],
            json!(is_due),
            "{} lines, {summary:?}",
            history.map_or(0, |h| h.lines().count() / 3)
        );
        for (path, content) in files {
            assert_eq!(fs::read_to_string(workspace.path(path)).ok(), *content, "{path} is read only");
        }
    }
}
