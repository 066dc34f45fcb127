//! `record_conversation`: the whole procedure in one change, all or nothing, and what the files alone forbid left out.

use crate::support::{Answer, Server, Workspace, both_doors, clock, index_with};
use serde_json::{Value, json};
use std::collections::BTreeMap;

const EVENTS: &str = "# 事件\n\n\
    ### [E001] 2026-04-10 · 约定\n**类型**：约定\n**内容**：周五一起去看展\n**状态**：待跟进\n**到期日**：2026-04-17\n\n\
    ### [E002] 2026-04-11 · 用户Todo\n**类型**：用户Todo\n**内容**：交房租\n**状态**：待跟进\n\n\
    ### [E000] 2026-04-11T22:00 · last_active\n";

const WORRIES: &str = "# 未完挂念\n\n\
    - [U001] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 妈妈血压又高了\n\
    - [U002] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 想养猫\n\n\
    ## 已淡忘\n";

const PERSONA: &str =
    "# 人物档案\n\nstability: 3\n\n- **职业**：编剧\n- 怕水，怕高\n\n## 在对话中形成的新细节\n\n（暂无）\n";

fn profile() -> String {
    let full: String = (1..=10).map(|n| format!("- 满{n} <!-- 核心 -->\n")).collect();
    format!(
        "# 用户档案\n\n## 基本信息\n\n- **称呼**：小林\n- **城市**：杭州\n\n## 喜欢（聊得来的）\n\n- 老电影\n- 老唱片\n- 老照片\n\n## 满的\n\n{full}\n## 不喜欢 / 禁忌话题\n\n- 前任\n"
    )
}

fn workspace() -> Workspace {
    Workspace::new()
        .file("memory/events.md", EVENTS)
        .file("memory/unresolved.md", WORRIES)
        .file("memory/persona.md", PERSONA)
        .file("memory/user_profile.md", profile())
        .file("memory/mood_state.md", "valence: -0.20\nenergy: 0.50\n\n---\n\n## 快照历史\n\n（暂无快照）\n")
        .file(
            ".mood_state_aux",
            "last_decay_written_at: 2026-04-11T22:00:00+08:00\nconsecutive_g4c_count: 2\nother: 1\n",
        )
        .file("memory/MEMORY.md", index_with("（暂无）"))
        .file("memory/life_log.md", "# 生活\n\n### [L013] 2026-04-12T16:00 · 阳台\n浇花。\n")
        .file("memory/RECENT_HISTORY.md", "# 最近消息\n\n**用户** 你好\n")
}

/// A conversation that has something of every kind.
fn everything() -> Value {
    json!({
        "mood": {"delta_valence": -0.1, "delta_energy": -0.05, "note": "有点累"},
        "persona_corrections": [{"old_text": "编剧", "new_text": "编剧，也写小说"}],
        "persona_details": ["怕打雷", "左撇子"],
        "profile": [
            {"action": "add", "section": "喜欢", "text": "热可可"},
            {"action": "set", "section": "基本信息", "key": "城市", "text": "上海"},
            {"action": "remove", "section": "喜欢", "old_text": "老电影"},
        ],
        "event_updates": [{"id": "E002", "status": "已关闭", "follow_up": "问问新房子"}],
        "events": [
            {"type": "情绪事件", "content": "被批评了，哭了很久", "intensity": 4, "user_state": "委屈"},
            {"type": "约定", "content": "周日打电话", "due_date": "2026-04-19"},
        ],
        "resolved": [{"id": "U001", "resolved_by": "我妈好了"}],
        "unresolved": [{"text": "担心转正"}, {"text": "绿植该浇水了", "kind": "chore"}],
    })
}

/// What each list's items are called alone.
const SINGLE: [(&str, &str); 7] = [
    ("persona_corrections", "correct_persona"),
    ("persona_details", "add_persona_detail"),
    ("profile", "update_profile"),
    ("event_updates", "update_event"),
    ("events", "append_event"),
    ("resolved", "resolve_unresolved"),
    ("unresolved", "add_unresolved"),
];

/// The files with every moment of this test replaced, so that two runs compare.
fn still(workspace: &Workspace) -> BTreeMap<String, String> {
    let stamp = regex::Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d[+-]\d\d:\d\d)?").unwrap();
    let old = ["2026-04-11T22:00", "2026-04-11T22:00:00+08:00", "2026-04-12T16:00"];
    let replace = |text: &str| {
        let keep = |found: &regex::Captures<'_>| {
            if old.contains(&&found[0]) { found[0].to_owned() } else { "此刻".to_owned() }
        };
        stamp.replace_all(text, keep).into_owned()
    };
    workspace.tree().into_iter().map(|(name, text)| (name, replace(&text))).collect()
}

#[test]
fn one_call_leaves_what_the_single_calls_in_its_order_leave() {
    clock::within_one_day(|| {
        let call = everything();
        let (answer, whole) = both_doors(workspace, "record_conversation", call.clone());
        let result = answer.unwrap();

        let one_by_one = workspace();
        let mut server = Server::start(&one_by_one);
        let mood = server.call("update_mood", call["mood"].clone()).unwrap();
        let mut ids: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
        for (list, tool) in SINGLE {
            for item in call[list].as_array().unwrap() {
                let arguments = if item.is_string() { json!({"detail": item}) } else { item.clone() };
                let answer = server.call(tool, arguments).unwrap();
                ids.entry(list).or_default().push(answer["id"].clone());
            }
        }
        server.call("touch_last_active", json!({})).unwrap();

        assert_eq!(result["mood"], mood);
        assert_eq!(result["events"], json!(ids["events"]));
        assert_eq!(result["unresolved"], json!(ids["unresolved"]));
        assert_eq!(result["skipped"], json!([]));
        (still(&whole), still(&one_by_one))
    });
}

#[test]
fn one_call_is_written_as_the_formats_say() {
    let start = clock::minute();
    clock::within_one_day(|| {
        let workspace = workspace();
        let result = workspace.ok("record_conversation", everything());
        let today = clock::today();
        let events = workspace.events();
        let stamp = clock::stamp_since(&start, &clock::minute(), r"\n### \[E000\] (\S+) · last_active\n$", &events);
        let expected = EVENTS.replace(
            "**内容**：交房租\n**状态**：待跟进\n",
            "**内容**：交房租\n**后续**：问问新房子\n**状态**：已关闭\n",
        ) + &format!(
            "\n### [E003] {today} · 情绪事件\n**类型**：情绪事件\n**内容**：被批评了，哭了很久\n**情绪强度**：⭐⭐⭐⭐\n**用户状态**：委屈\n**状态**：待跟进\n\
             \n### [E004] {today} · 约定\n**类型**：约定\n**内容**：周日打电话\n**状态**：待跟进\n**到期日**：2026-04-19\n\
             \n### [E000] {stamp} · last_active\n"
        );
        assert_eq!(events, expected);
        let items = open_items(&today);
        let lines: Vec<_> = items.iter().map(|item| format!("- {item}")).collect();
        assert_eq!(workspace.index(), index_with(&lines.join("\n")));
        assert_eq!(
            (&result["last_active"], &result["events"], &result["unresolved"], &result["open_items"]),
            (&json!(stamp), &json!(["E003", "E004"]), &json!(["U003", "M001"]), &json!(items))
        );
        let field = "decay_d=never last_touched=(never) forced_echo_last=(never)";
        let worries = format!(
            "# 未完挂念\n\n- [U002] src=user_told kind=user_told {field} 想养猫\n- [U003] src=user_told kind=user_told {field} 担心转正\n\
             - [M001] src=material_derived kind=chore decay_d=30 last_touched=L013 forced_echo_last=(never) 绿植该浇水了\n\n\
             ## 已淡忘\n\n- [U001] src=user_told kind=user_told {field} 妈妈血压又高了 resolved_by: \"我妈好了\"\n"
        );
        assert_eq!(workspace.read("memory/unresolved.md"), worries);
        let persona = PERSONA
            .replace("编剧", "编剧，也写小说")
            .replace("（暂无）", &format!("- **[{today}]** 怕打雷\n- **[{today}]** 左撇子"));
        assert_eq!(workspace.read("memory/persona.md"), persona);
        let changed = profile()
            .replace("杭州", "上海")
            .replace("- 老电影\n- 老唱片\n- 老照片\n", "- 老唱片\n- 老照片\n- 热可可\n");
        (workspace.read("memory/user_profile.md"), changed)
    });
}

/// The three most pressing events after `everything`: by the distance of their days, then those without one.
fn open_items(today: &str) -> Vec<String> {
    let day = |text: &str| text.parse::<jiff::civil::Date>().unwrap();
    let away = |due: &str| day(due).since((jiff::Unit::Day, day(today))).unwrap().get_days().abs();
    let mut dated = [("E001", "2026-04-17", "周五一起去看展"), ("E004", "2026-04-19", "周日打电话")];
    dated.sort_by_key(|(_, due, _)| (away(due), *due));
    let mut items: Vec<_> = dated.iter().map(|(id, due, text)| format!("[{id}] {due} · 约定 · {text}")).collect();
    items.push("[E003] 情绪事件 · 被批评了，哭了很久".to_owned());
    items
}

// Malformed: nothing is written

/// `everything`, with `item` put at `at` of `list`.
fn with_item(list: &str, at: usize, item: Value) -> Value {
    let mut call = everything();
    let items = call[list].as_array_mut().unwrap();
    items.insert(at.min(items.len()), item);
    call
}

#[test]
fn a_malformed_item_of_any_kind_refuses_the_whole_call_and_is_named() {
    let long = "长".repeat(2001);
    // list, item, what of it is wrong
    let items: Vec<(&str, Value, &str)> = vec![
        ("persona_corrections", json!({"old_text": "怕水"}), ".new_text"),
        ("persona_corrections", json!({"new_text": "怕火"}), ".old_text"),
        ("persona_corrections", json!({"old_text": " ", "new_text": "怕火"}), ".old_text"),
        ("persona_corrections", json!({"old_text": "怕水", "new_text": long}), ".new_text"),
        ("persona_corrections", json!({"old_text": "怕水", "new_text": "怕火", "line": 3}), ".line"),
        ("persona_corrections", json!("怕水"), ""),
        ("persona_details", json!(" \n"), ""),
        ("persona_details", json!(long), ""),
        ("persona_details", json!({"detail": "怕火"}), ""),
        ("persona_details", json!(["怕火"]), ""),
        ("profile", json!({"section": "喜欢", "text": "茶"}), ".action"),
        ("profile", json!({"action": "append", "section": "喜欢", "text": "茶"}), ".action"),
        ("profile", json!({"action": "add", "text": "茶"}), ".section"),
        ("profile", json!({"action": "add", "section": "喜欢"}), ".text"),
        ("profile", json!({"action": "add", "section": "喜欢", "text": long}), ".text"),
        ("profile", json!({"action": "set", "section": "基本信息", "text": "茶"}), ".key"),
        ("profile", json!({"action": "set", "section": "基本信息", "key": "**城市**", "text": "茶"}), ".key"),
        ("profile", json!({"action": "replace", "section": "喜欢", "text": "茶"}), ".old_text"),
        ("profile", json!({"action": "remove", "section": "喜欢"}), ".old_text"),
        ("profile", json!({"action": "add", "section": "喜欢", "text": "茶", "tier": "重要"}), ".tier"),
        ("profile", json!({"action": "add", "section": "喜欢", "text": "茶", "note": "x"}), ".note"),
        ("profile", json!(7), ""),
        ("event_updates", json!({"status": "已关闭"}), ".id"),
        ("event_updates", json!({"id": "第二", "status": "已关闭"}), ".id"),
        ("event_updates", json!({"id": "E001", "status": "完成"}), ".status"),
        ("event_updates", json!({"id": "E001", "due_date": "2026-02-30"}), ".due_date"),
        ("event_updates", json!({"id": "E001", "content": long}), ".content"),
        ("event_updates", json!({"id": "E001", "clear": ["content"]}), ".clear"),
        ("event_updates", json!({"id": "E001"}), ""),
        ("event_updates", json!({"id": "E001", "state": "已关闭"}), ".state"),
        ("event_updates", json!("E001"), ""),
        ("events", json!({"content": "茶"}), ".type"),
        ("events", json!({"type": "约定"}), ".content"),
        ("events", json!({"type": "约会", "content": "茶"}), ".type"),
        ("events", json!({"type": "约定", "content": "\u{3000}"}), ".content"),
        ("events", json!({"type": "约定", "content": long}), ".content"),
        ("events", json!({"type": "约定", "content": "茶", "due_date": "2026-02-30"}), ".due_date"),
        ("events", json!({"type": "约定", "content": "茶", "due_date": "周五"}), ".due_date"),
        ("events", json!({"type": "约定", "content": "茶", "date": "昨天"}), ".date"),
        ("events", json!({"type": "约定", "content": "茶", "status": "open"}), ".status"),
        ("events", json!({"type": "情绪事件", "content": "茶"}), ".intensity"),
        ("events", json!({"type": "情绪事件", "content": "茶", "intensity": 6}), ".intensity"),
        ("events", json!({"type": "情绪事件", "content": "茶", "intensity": "很强"}), ".intensity"),
        ("events", json!({"type": "约定", "content": "茶", "due": "2026-04-17"}), ".due"),
        ("events", json!([]), ""),
        ("resolved", json!({"id": "U002"}), ".resolved_by"),
        ("resolved", json!({"resolved_by": "好了"}), ".id"),
        ("resolved", json!({"id": "E001", "resolved_by": "好了"}), ".id"),
        ("resolved", json!({"id": "U002", "resolved_by": " "}), ".resolved_by"),
        ("resolved", json!({"id": "U002", "resolved_by": long}), ".resolved_by"),
        ("resolved", json!({"id": "U002", "resolved_by": "好了", "at": "今天"}), ".at"),
        ("resolved", json!("U002"), ""),
        ("unresolved", json!({"kind": "chore"}), ".text"),
        ("unresolved", json!({"text": "\n"}), ".text"),
        ("unresolved", json!({"text": long}), ".text"),
        ("unresolved", json!({"text": "茶", "kind": "worry"}), ".kind"),
        ("unresolved", json!({"text": "茶", "kind": "chore", "life_log_id": "十三"}), ".life_log_id"),
        ("unresolved", json!({"text": "茶", "src": "user_told"}), ".src"),
        ("unresolved", json!("茶"), ""),
    ];
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let before = workspace.tree();
    for (list, item, field) in items {
        for at in [0, everything()[list].as_array().unwrap().len()] {
            let refusal = server.call("record_conversation", with_item(list, at, item.clone())).unwrap_err();
            let place = format!("{list}[{at}]{field}");
            assert!(names(&refusal.message, &place), "{place} {item}: {refusal:?}");
            let codes = ["invalid_argument", "missing_argument", "unknown_argument"];
            assert!(codes.contains(&refusal.code.as_str()), "{place} {item}: {refusal:?}");
            assert_eq!(workspace.tree(), before, "{place} {item}");
        }
    }
}

/// Whether `message` names `place`, or a place inside it.
fn names(message: &str, place: &str) -> bool {
    message.match_indices(place).any(|(at, _)| {
        let next = message[at + place.len()..].chars().next();
        next.is_none_or(|c| !c.is_alphanumeric() && c != '_')
    })
}

#[test]
fn a_malformed_mood_or_list_refuses_the_whole_call_and_is_named() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let before = workspace.tree();
    let mut cases = vec![
        ("mood", json!({"delta_valence": 0.1}), "mood.note"),
        ("mood", json!({"note": " "}), "mood.note"),
        ("mood", json!({"note": "长".repeat(2001)}), "mood.note"),
        ("mood", json!({"note": "累", "delta_valence": "很大"}), "mood.delta_valence"),
        ("mood", json!({"note": "累", "delta_valence": "NaN"}), "mood.delta_valence"),
        ("mood", json!({"note": "累", "delta_energy": "inf"}), "mood.delta_energy"),
        ("mood", json!({"note": "累", "delta_energy": [0.1]}), "mood.delta_energy"),
        ("mood", json!({"note": "累", "valence": 0.1}), "mood.valence"),
        ("mood", json!("开心"), "mood"),
        ("mood", json!([0.1]), "mood"),
        ("moods", json!({"note": "累"}), "moods"),
        ("worries", json!([{"text": "茶"}]), "worries"),
        ("token", json!("x"), "token"),
    ];
    for (list, _) in SINGLE {
        cases.push((list, json!({"0": {}}), list));
        cases.push((list, json!("[{"), list));
        cases.push((list, json!(3), list));
    }
    for (name, value, place) in cases {
        let mut call = everything();
        call[name] = value.clone();
        let refusal = server.call("record_conversation", call).unwrap_err();
        assert!(names(&refusal.message, place), "{name} {value}: {refusal:?}");
        assert_eq!(workspace.tree(), before, "{name} {value}");
    }
}

#[test]
fn a_file_that_cannot_be_read_refuses_the_whole_call() {
    for path in ["memory/persona.md", "memory/user_profile.md", "memory/unresolved.md", "memory/mood_state.md"] {
        let workspace = workspace();
        std::fs::remove_file(workspace.path(path)).unwrap();
        std::fs::create_dir(workspace.path(path)).unwrap();
        let refusal = workspace.refused("record_conversation", everything());
        assert_eq!(refusal.code, "unreadable", "{path}: {refusal:?}");
        assert!(refusal.message.contains(path), "{refusal:?}");
    }
}

// What only the files forbid: the rest is written

/// Items that are well formed and that the files do not allow, with the code of each.
fn forbidden() -> Vec<(&'static str, Value, &'static str)> {
    vec![
        ("persona_corrections", json!({"old_text": "不在这里", "new_text": "新"}), "not_found"),
        ("persona_corrections", json!({"old_text": "怕", "new_text": "不怕"}), "ambiguous"),
        ("profile", json!({"action": "set", "section": "基本信息", "key": "称呼", "text": "老林"}), "core_conflict"),
        ("profile", json!({"action": "remove", "section": "禁忌话题", "old_text": "前任"}), "core_conflict"),
        ("profile", json!({"action": "add", "section": "满的", "text": "再一条"}), "section_full"),
        ("profile", json!({"action": "add", "section": "没有的", "text": "茶"}), "not_found"),
        ("profile", json!({"action": "remove", "section": "喜欢", "old_text": "没有的"}), "not_found"),
        ("profile", json!({"action": "remove", "section": "喜欢", "old_text": "老"}), "ambiguous"),
        ("event_updates", json!({"id": "E099", "status": "已关闭"}), "not_found"),
        // Events come later in the order than updates, worries later than resolutions.
        ("event_updates", json!({"id": "E003", "status": "已关闭"}), "not_found"),
        ("resolved", json!({"id": "U099", "resolved_by": "好了"}), "not_found"),
        ("resolved", json!({"id": "U003", "resolved_by": "好了"}), "not_found"),
    ]
}

fn skipped(result: &Value) -> Vec<(String, String)> {
    let text = |item: &Value, name: &str| item[name].as_str().unwrap().to_owned();
    let items = result["skipped"].as_array().unwrap();
    for item in items {
        assert!(!text(item, "message").is_empty(), "{result}");
    }
    items.iter().map(|item| (text(item, "place"), text(item, "code"))).collect()
}

#[test]
fn what_the_files_forbid_is_left_out_and_named_and_the_rest_is_written() {
    for (list, item, code) in forbidden() {
        clock::within_one_day(|| {
            let (with, without) = (workspace(), workspace());
            without.ok("record_conversation", everything());
            let result = with.ok("record_conversation", with_item(list, 0, item.clone()));
            assert_eq!(skipped(&result), [(format!("{list}[0]"), code.to_owned())], "{item}");
            (still(&with), still(&without))
        });
    }
}

#[test]
fn several_that_are_left_out_are_all_named_in_the_order_of_the_call() {
    clock::within_one_day(|| {
        let mut call = everything();
        let mut expected = Vec::new();
        for (list, _) in SINGLE {
            for (_, item, code) in forbidden().into_iter().filter(|(l, _, _)| *l == list) {
                let items = call[list].as_array_mut().unwrap();
                expected.push((format!("{list}[{}]", items.len()), code.to_owned()));
                items.push(item);
            }
        }
        let (with, without) = (workspace(), workspace());
        without.ok("record_conversation", everything());
        let result = with.ok("record_conversation", call);
        let mut found = skipped(&result);
        found.sort();
        expected.sort();
        assert_eq!(found, expected);
        (still(&with), still(&without))
    });
}

#[test]
fn a_call_of_which_nothing_is_allowed_still_marks_that_the_user_was_here() {
    let workspace = workspace();
    let result = workspace
        .ok("record_conversation", json!({"profile": [{"action": "add", "section": "满的", "text": "再一条"}]}));
    assert_eq!(skipped(&result), [("profile[0]".to_owned(), "section_full".to_owned())]);
    assert!(
        workspace
            .events()
            .ends_with(&format!("\n### [E000] {} · last_active\n", result["last_active"].as_str().unwrap()))
    );
    assert_eq!(workspace.read("memory/user_profile.md"), profile());
}

#[test]
fn an_id_that_stands_twice_is_ambiguous_and_skipped() {
    let twice =
        format!("{EVENTS}\n### [E001] 2026-04-12 · 用户Todo\n**类型**：用户Todo\n**内容**：另一件\n**状态**：待跟进\n");
    let workspace = workspace().file("memory/events.md", &twice);
    let result = workspace.ok("record_conversation", json!({"event_updates": [{"id": "E001", "status": "已关闭"}]}));
    assert_eq!(skipped(&result), [("event_updates[0]".to_owned(), "ambiguous".to_owned())]);
    let result = workspace.ok(
        "record_conversation",
        json!({"event_updates": [{"id": "E001", "date": "2026-04-12", "status": "已关闭"}]}),
    );
    assert_eq!(skipped(&result), []);
    assert!(workspace.events().contains("**内容**：另一件\n**状态**：已关闭\n"), "{}", workspace.events());
    assert!(workspace.events().contains("**内容**：周五一起去看展\n**状态**：待跟进\n"), "{}", workspace.events());
}

#[test]
fn an_equal_event_is_added_with_a_warning_that_names_the_other() {
    let workspace = workspace();
    let event = json!({"type": "约定", "content": "周五一起去看展。", "due_date": "2026-04-17", "date": "2026-04-10"});
    let result = workspace.ok("record_conversation", json!({"events": [event]}));
    assert_eq!((&result["events"], &result["skipped"]), (&json!(["E003"]), &json!([])));
    assert!(result["warnings"].to_string().contains("E001"), "{result}");
    let event = json!({"type": "用户Todo", "content": "买伞"});
    let result = workspace.ok("record_conversation", json!({"events": [event, event]}));
    assert_eq!(result["events"], json!(["E004", "E005"]));
    assert!(result["warnings"].to_string().contains("E004"), "{result}");
}

#[test]
fn a_worry_that_was_resolved_in_the_same_call_may_come_again() {
    let workspace = workspace();
    let result = workspace.ok(
        "record_conversation",
        json!({
            "unresolved": [{"text": "妈妈血压又高了"}, {"text": "想养猫"}, {"text": "担心转正"}, {"text": "担心转正。"}],
            "resolved": [{"id": "U001", "resolved_by": "我妈好了"}],
        }),
    );
    assert_eq!(result["unresolved"], json!(["U003", "U002", "U004", "U004"]));
    assert_eq!(workspace.read("memory/unresolved.md").matches("担心转正").count(), 1);
}

// The order of the procedure shows in the files

#[test]
fn corrections_come_before_details() {
    clock::within_one_day(|| {
        let workspace = workspace();
        let result = workspace.ok(
            "record_conversation",
            json!({"persona_details": ["怕水，怕高"], "persona_corrections": [{"old_text": "怕水，怕高", "new_text": "什么都不怕"}]}),
        );
        assert_eq!(skipped(&result), []);
        let expected = PERSONA
            .replace("怕水，怕高", "什么都不怕")
            .replace("（暂无）", &format!("- **[{}]** 怕水，怕高", clock::today()));
        (workspace.read("memory/persona.md"), expected)
    });
}

#[test]
fn a_conversation_without_a_mood_only_breaks_the_row_of_comfort() {
    let workspace = workspace();
    let mood = workspace.read("memory/mood_state.md");
    let result = workspace.ok("record_conversation", json!({"persona_details": ["怕打雷"]}));
    assert!(result.get("mood").is_none(), "{result}");
    assert_eq!(workspace.read("memory/mood_state.md"), mood);
    assert_eq!(
        workspace.read(".mood_state_aux"),
        "last_decay_written_at: 2026-04-11T22:00:00+08:00\nconsecutive_g4c_count: 0\nother: 1\n"
    );
}

#[test]
fn an_empty_conversation_marks_that_the_user_was_here() {
    let start = clock::minute();
    let (answer, workspace) = both_doors(workspace, "record_conversation", json!({}));
    let result = answer.unwrap();
    let events = workspace.events();
    let stamp = clock::stamp_since(&start, &clock::minute(), r"\n### \[E000\] (\S+) · last_active\n$", &events);
    assert_eq!(events, format!("{EVENTS}\n### [E000] {stamp} · last_active\n"));
    let items = json!(["[E001] 2026-04-17 · 约定 · 周五一起去看展", "[E002] 用户Todo · 交房租"]);
    assert_eq!(
        result,
        json!({"events": [], "unresolved": [], "last_active": stamp, "open_items": items, "skipped": []})
    );
    assert_eq!(
        workspace.index(),
        index_with("- [E001] 2026-04-17 · 约定 · 周五一起去看展\n- [E002] 用户Todo · 交房租")
    );
    assert_eq!(workspace.read("memory/unresolved.md"), WORRIES);
    assert_eq!(workspace.read("memory/persona.md"), PERSONA);
}

#[test]
fn a_conversation_in_an_empty_workspace_makes_the_files_it_needs() {
    let workspace = Workspace::new();
    let result = workspace.ok(
        "record_conversation",
        json!({
            "mood": {"note": "初见"}, "persona_details": ["怕打雷"],
            "events": [{"type": "重要事件", "content": "第一次聊天"}], "unresolved": [{"text": "想养猫"}],
            "profile": [{"action": "add", "section": "喜欢", "text": "茶"}],
        }),
    );
    assert_eq!((&result["events"], &result["unresolved"]), (&json!(["E001"]), &json!(["U001"])));
    assert_eq!(skipped(&result), [("profile[0]".to_owned(), "not_found".to_owned())]);
    assert_eq!(workspace.memory_names(), ["MEMORY.md", "events.md", "mood_state.md", "persona.md", "unresolved.md"]);
}

// Lenient types, many items, large texts

#[test]
fn lists_and_objects_may_come_as_json_texts() {
    clock::within_one_day(|| {
        let (plain, texts) = (workspace(), workspace());
        let call = everything();
        let mut as_texts = json!({});
        for (name, value) in call.as_object().unwrap() {
            as_texts[name] = json!(value.to_string());
        }
        plain.ok("record_conversation", call);
        texts.ok("record_conversation", as_texts);
        let nothing = json!({"mood": null, "events": null, "profile": "", "persona_details": [], "resolved": null});
        let bare = workspace();
        let result = bare.ok("record_conversation", nothing);
        assert_eq!((&result["events"], &result["skipped"]), (&json!([]), &json!([])));
        assert_eq!(bare.read("memory/user_profile.md"), profile());
        (still(&texts), still(&plain))
    });
}

#[test]
fn many_items_keep_their_order() {
    let workspace = workspace();
    let events: Vec<_> = (0..100).map(|n| json!({"type": "用户Todo", "content": format!("第{n}件")})).collect();
    let worries: Vec<_> = (0..100).map(|n| json!({"text": format!("第{n}桩心事")})).collect();
    let mut server = Server::start(&workspace);
    let result = server.call("record_conversation", json!({"events": events, "unresolved": worries})).unwrap();
    let ids = |letter: char, from: usize| (from..from + 100).map(|n| format!("{letter}{n:03}")).collect::<Vec<_>>();
    assert_eq!((&result["events"], &result["unresolved"]), (&json!(ids('E', 3)), &json!(ids('U', 3))));
    let text = workspace.events();
    let places: Vec<_> = (0..100).map(|n| text.find(&format!("**内容**：第{n}件\n")).unwrap()).collect();
    assert!(places.is_sorted());
}

#[test]
fn no_answer_is_larger_than_forty_kilobytes() {
    let full: String = (1..=10).map(|n| format!("- {n}{} <!-- 核心 -->\n", "满".repeat(1900))).collect();
    let workspace = workspace().file("memory/user_profile.md", format!("# 用户\n\n## 满的\n\n{full}\n"));
    let mut server = Server::start(&workspace);
    let add = json!({"action": "add", "section": "满的", "text": "再一条"});
    let id = server.start_call("update_profile", add.clone());
    let answer = server.answer(id).to_string();
    assert!(answer.len() < 40_000, "{}", answer.len());
    let many: Vec<Value> = (0..200).map(|_| add.clone()).collect();
    let id = server.start_call("record_conversation", json!({"profile": many}));
    let answer = server.answer(id);
    let text = answer["result"]["content"][0]["text"].as_str().unwrap();
    assert!(text.len() <= 40_000, "{}", text.len());
    assert_eq!(answer["result"]["structuredContent"]["skipped"].as_array().unwrap().len(), 200);
}

#[test]
fn a_text_of_the_greatest_length_fits_everywhere() {
    let longest = "长".repeat(2000);
    let workspace = workspace();
    let call = json!({
        "persona_details": [longest],
        "persona_corrections": [{"old_text": "编剧", "new_text": longest}],
        "profile": [{"action": "add", "section": "喜欢", "text": longest}],
        "events": [{"type": "约定", "content": longest, "user_state": longest, "follow_up": longest}],
        "unresolved": [{"text": longest}],
        "resolved": [{"id": "U001", "resolved_by": longest}],
    });
    let answer: Answer = workspace.call("record_conversation", call).answer();
    assert_eq!(answer.unwrap()["skipped"], json!([]));
}

#[test]
fn a_call_has_two_hundred_items_at_most() {
    let workspace = workspace();
    let details = |count: usize| json!({"persona_details": vec!["怕打雷"; count]});
    workspace.ok("record_conversation", details(200));
    let refusal = workspace.refused("record_conversation", details(201));
    assert_eq!(refusal.code, "invalid_argument");
    assert!(refusal.message.starts_with("`persona_details` is "), "{refusal:?}");
    assert!(refusal.message.contains("201") && refusal.message.contains("200"), "{refusal:?}");
}

#[test]
fn a_malformed_detail_is_named_by_its_place_alone() {
    let refusal = workspace().refused("record_conversation", json!({"persona_details": ["怕打雷", " "]}));
    assert_eq!(refusal.code, "invalid_argument");
    assert!(refusal.message.starts_with("`persona_details[1]` is "), "{refusal:?}");
}
