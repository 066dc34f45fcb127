//! `update_mood`: the deltas, the healing guard, the snapshots and the side file.

use crate::support::{Server, Workspace, both_doors, clock};
use serde_json::{Value, json};

/// `mood_state.md` with a current mood and whatever stands below its heading of snapshots.
fn state(valence: &str, energy: &str, history: &str) -> String {
    format!("valence: {valence}\nenergy: {energy}\n\n---\n\n## 快照历史\n\n{history}")
}

fn snapshot(stamp: &str, valence: &str, energy: &str, note: &str) -> String {
    format!("### {stamp} · source=conversation\nvalence: {valence}\nenergy: {energy}\nnote: {note}\n")
}

fn workspace(valence: &str, energy: &str) -> Workspace {
    Workspace::new().file("memory/mood_state.md", state(valence, energy, "（暂无快照）\n"))
}

fn mood(workspace: &Workspace) -> String {
    workspace.read("memory/mood_state.md")
}

/// The current values as they are written.
fn current(workspace: &Workspace) -> (String, String) {
    let text = mood(workspace);
    let value = |name: &str| text.lines().find_map(|l| l.strip_prefix(name)).unwrap().trim().to_owned();
    (value("valence:"), value("energy:"))
}

fn pair(result: &Value, name: &str) -> (f64, f64) {
    (result[name]["valence"].as_f64().unwrap(), result[name]["energy"].as_f64().unwrap())
}

fn count_line(workspace: &Workspace) -> String {
    workspace.read(".mood_state_aux").lines().find(|l| l.starts_with("consecutive_g4c_count:")).unwrap().to_owned()
}

const NEWEST_STAMP: &str = r"### (\d{4}-\d\d-\d\dT\d\d:\d\d) · source=conversation";

#[test]
fn a_step_is_written_byte_for_byte() {
    let start = clock::minute();
    let (answer, workspace) = both_doors(
        || workspace("-0.40", "0.50"),
        "update_mood",
        json!({"delta_valence": 0.1, "delta_energy": 0.05, "note": "聊得很开心"}),
    );
    let result = answer.unwrap();
    assert_eq!(pair(&result, "before"), (-0.4, 0.5));
    assert_eq!(pair(&result, "requested"), (0.1, 0.05));
    assert_eq!(pair(&result, "applied"), (0.1, 0.05));
    // Exactly these: no -0.30000000000000004.
    assert_eq!(pair(&result, "after"), (-0.3, 0.55));
    assert_eq!(result["clamped"], false);
    assert_eq!(result["g4c_count"], 1);
    assert_eq!(result["g4c_blocked"], false);
    assert_eq!(result["note_cut"], false);
    assert!(result.get("warnings").is_none(), "{result}");

    let text = mood(&workspace);
    let stamp = clock::stamp_since(&start, &clock::minute(), NEWEST_STAMP, &text);
    // The placeholder is gone, and nothing else.
    assert_eq!(text, state("-0.30", "0.55", &snapshot(&stamp, "-0.30", "0.55", "聊得很开心")));
}

#[test]
fn the_third_comfort_in_a_row_is_blocked_until_another_turn() {
    let workspace = workspace("-0.40", "0.50");
    let mut server = Server::start(&workspace);
    let steps = [
        // requested, applied, after, count, blocked
        (0.10, 0.10, -0.30, 1, false),
        (0.10, 0.10, -0.20, 2, false),
        (0.10, 0.00, -0.20, 2, true),
        (-0.05, -0.05, -0.25, 0, false),
        (0.10, 0.10, -0.15, 1, false),
    ];
    for (requested, applied, after, count, blocked) in steps {
        let result = server.call("update_mood", json!({"delta_valence": requested, "note": "安慰"})).unwrap();
        assert_eq!(pair(&result, "requested").0, requested, "{result}");
        assert_eq!(pair(&result, "applied").0, applied, "{result}");
        assert_eq!(pair(&result, "after").0, after, "{result}");
        assert_eq!(result["g4c_count"], count, "{result}");
        assert_eq!(result["g4c_blocked"], blocked, "{result}");
        assert_eq!(count_line(&workspace), format!("consecutive_g4c_count: {count}"));
    }
    assert_eq!(current(&workspace).0, "-0.15");
    assert_eq!(mood(&workspace).matches("· source=conversation").count(), 5);
}

#[test]
fn the_guard_counts_as_the_table_says() {
    // current valence, count before, requested, count after, blocked, valence after
    let cases = [
        ("-0.40", 0, 0.10, 1, false, "-0.30"),
        ("-0.40", 1, 0.10, 2, false, "-0.30"),
        ("-0.40", 2, 0.10, 2, true, "-0.40"),
        ("-0.40", 7, 0.10, 7, true, "-0.40"),
        // However small: it is what was asked for that counts.
        ("-0.40", 0, 0.0004, 1, false, "-0.40"),
        ("-0.40", 2, 0.0004, 2, true, "-0.40"),
        // A row of comfort is broken by any other turn, also by a plain one.
        ("-0.40", 2, 0.00, 0, false, "-0.40"),
        ("-0.40", 2, -0.10, 0, false, "-0.50"),
        // Not from below zero: no healing step, but blocked all the same once the count stands.
        ("0.10", 1, 0.10, 0, false, "0.20"),
        ("0.00", 1, 0.10, 0, false, "0.10"),
        ("0.10", 2, 0.10, 0, true, "0.10"),
        // The step that crosses zero starts below it.
        ("-0.05", 0, 0.10, 1, false, "0.05"),
    ];
    for (valence, count, requested, after, blocked, expected) in cases {
        let workspace = workspace(valence, "0.50").file(".mood_state_aux", format!("consecutive_g4c_count: {count}\n"));
        let result = workspace.ok("update_mood", json!({"delta_valence": requested, "note": "一轮"}));
        assert_eq!(result["g4c_blocked"], blocked, "{valence} {count} {requested}: {result}");
        assert_eq!(result["g4c_count"], after, "{valence} {count} {requested}: {result}");
        assert_eq!(current(&workspace).0, expected, "{valence} {count} {requested}");
        assert_eq!(count_line(&workspace), format!("consecutive_g4c_count: {after}"));
    }
}

#[test]
fn energy_moves_although_valence_is_blocked() {
    let workspace = workspace("-0.40", "0.50").file(".mood_state_aux", "consecutive_g4c_count: 2\n");
    let result = workspace.ok("update_mood", json!({"delta_valence": 0.1, "delta_energy": 0.1, "note": "一轮"}));
    assert_eq!(pair(&result, "applied"), (0.0, 0.1));
    assert_eq!(result["clamped"], false, "the guard is no bound: {result}");
    assert_eq!(current(&workspace), ("-0.40".to_owned(), "0.60".to_owned()));
}

#[test]
fn large_deltas_are_clamped_and_said_so() {
    let workspace = workspace("0.50", "0.90");
    let result = workspace.ok("update_mood", json!({"delta_valence": -5, "delta_energy": -5, "note": "大起大落"}));
    assert_eq!(pair(&result, "requested"), (-5.0, -5.0));
    assert_eq!(pair(&result, "applied"), (-0.3, -0.2));
    assert_eq!(pair(&result, "after"), (0.2, 0.7));
    assert_eq!(result["clamped"], true);
    assert_eq!(current(&workspace), ("0.20".to_owned(), "0.70".to_owned()));

    let result = workspace.ok("update_mood", json!({"delta_valence": 0.3, "delta_energy": 0.2, "note": "正好"}));
    assert_eq!(result["clamped"], false, "the limits themselves are allowed");
    assert_eq!(current(&workspace), ("0.50".to_owned(), "0.90".to_owned()));
}

#[test]
fn the_mood_stays_within_its_bounds() {
    for (valence, energy, delta, expected) in
        [("0.90", "0.95", 0.2, ("1.00", "1.00")), ("-0.90", "0.05", -0.2, ("-1.00", "0.00"))]
    {
        let workspace = workspace(valence, energy);
        workspace.ok("update_mood", json!({"delta_valence": delta, "delta_energy": delta, "note": "到头"}));
        assert_eq!(current(&workspace), (expected.0.to_owned(), expected.1.to_owned()));
    }
}

#[test]
fn a_delta_must_be_a_finite_number() {
    let workspace = workspace("0.10", "0.50");
    for bad in ["NaN", "nan", "inf", "-inf", "Infinity", "1e999", "很多", "0.1.2"] {
        for name in ["delta_valence", "delta_energy"] {
            let refusal = workspace.refused("update_mood", json!({name: bad, "note": "怪"}));
            assert_eq!(refusal.code, "invalid_argument", "{name} {bad}: {refusal:?}");
            assert!(refusal.message.contains(name), "{refusal:?}");
        }
    }
    assert_eq!(workspace.refused("update_mood", json!({"delta_valence": 0.1})).code, "missing_argument");
    assert_eq!(workspace.refused("update_mood", json!({"note": " \n\t "})).code, "invalid_argument");
}

#[test]
fn values_have_two_decimals_or_three_where_the_third_counts() {
    // before, delta, after: as written
    let cases = [
        ("0.20", 0.055, "0.255"),
        ("0.10", 0.2, "0.30"),
        ("0.20", 0.0504, "0.25"),
        ("0.1234567", 0.0, "0.123"),
        ("0.05", -0.0504, "0.00"),
        ("0.0002", -0.0004, "0.00"),
        ("-0.0", 0.0, "0.00"),
        ("0", 0.0, "0.00"),
        ("1", 0.0, "1.00"),
    ];
    for (before, delta, after) in cases {
        let workspace = workspace(before, "0.50");
        let outcome = workspace.call("update_mood", json!({"delta_valence": delta, "note": "一轮"}));
        assert_eq!(outcome.status, Some(0), "{outcome:?}");
        assert_eq!(current(&workspace).0, after, "{before} and {delta}");
        let text = mood(&workspace);
        // No negative nothing and no float noise anywhere in what was written.
        for line in text.lines().filter(|l| l.starts_with("valence: ") || l.starts_with("energy: ")) {
            let number = line.split_once(": ").unwrap().1;
            assert!(!number.starts_with("-0.00") && number.len() <= "-0.123".len(), "{text}");
        }
        let result = outcome.answer().unwrap();
        assert!(!result["after"].to_string().contains("-0.0"), "{result}");
    }
}

#[test]
fn a_note_of_ten_graphemes_is_kept_whole() {
    let note = "今天聊得很开心呀👨‍👩‍👧‍👦👋🏽";
    assert_eq!(note.len(), 57, "eight characters, and two emoji of eleven code points");
    let workspace = workspace("0.10", "0.50");
    let result = workspace.ok("update_mood", json!({"note": note}));
    assert_eq!(result["note_cut"], false);
    assert!(mood(&workspace).contains(&format!("\nnote: {note}\n")));
}

#[test]
fn a_longer_note_is_cut_at_ten_graphemes_and_said_so() {
    for (note, kept) in [
        ("用户今天加班到很晚心情有些低落需要安慰", "用户今天加班到很晚心"),
        ("👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👋🏽", "👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦👨‍👩‍👧‍👦"),
    ] {
        let workspace = workspace("0.10", "0.50");
        let result = workspace.ok("update_mood", json!({"note": note}));
        assert_eq!(result["note_cut"], true);
        assert!(mood(&workspace).contains(&format!("\nnote: {kept}\n")), "{}", mood(&workspace));
    }
}

#[test]
fn the_cut_comes_before_the_escaping() {
    let workspace = workspace("0.10", "0.50");
    let result = workspace.ok("update_mood", json!({"note": "一\n二\n三\n四\n五"}));
    assert_eq!(result["note_cut"], false, "nine characters");
    assert!(mood(&workspace).contains("\nnote: 一<br>二<br>三<br>四<br>五\n"));
}

#[test]
fn the_ten_newest_snapshots_stay_whoever_wrote_them() {
    let old: Vec<_> = (0..10)
        .map(|n| {
            format!(
                "### 2026-04-{:02}T20:00 · source=life_sim\nvalence: 0.1{n}\nenergy: 0.50\nnote: 第{n}\n手写: 也留下\n",
                20 - n
            )
        })
        .collect();
    let workspace = Workspace::new().file("memory/mood_state.md", state("0.10", "0.50", &old.join("\n")));
    let mut server = Server::start(&workspace);
    let start = clock::minute();
    server.call("update_mood", json!({"delta_valence": 0.1, "note": "新"})).unwrap();
    let text = mood(&workspace);
    let stamp = clock::stamp_since(&start, &clock::minute(), NEWEST_STAMP, &text);
    let newest = snapshot(&stamp, "0.20", "0.50", "新");
    assert_eq!(text, state("0.20", "0.50", &format!("{newest}\n{}", old[..9].join("\n"))));

    for _ in 0..12 {
        server.call("update_mood", json!({"note": "再一轮"})).unwrap();
    }
    let text = mood(&workspace);
    assert_eq!(text.lines().filter(|l| l.starts_with("### ")).count(), 10);
    assert_eq!(text.matches("note: 再一轮\n").count(), 10);
}

#[test]
fn the_side_file_keeps_what_others_wrote() {
    let workspace = workspace("-0.40", "0.50").file(
        ".mood_state_aux",
        "# 手写\nlast_decay_written_at: 2026-04-12T20:00:00+08:00\nowner: life_sim\nconsecutive_g4c_count: 1\nlast: 行\n",
    );
    let start = clock::second();
    workspace.ok("update_mood", json!({"delta_valence": 0.1, "note": "安慰"}));
    let aux = workspace.read(".mood_state_aux");
    let instant = r"last_decay_written_at: (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\+08:00)\n";
    let stamp = clock::stamp_since(&start, &clock::second(), instant, &aux);
    assert_eq!(
        aux,
        format!("# 手写\nlast_decay_written_at: {stamp}\nowner: life_sim\nconsecutive_g4c_count: 2\nlast: 行\n")
    );
}

#[test]
fn missing_files_start_at_nothing_and_one_half() {
    let workspace = Workspace::new();
    let (minute, second) = (clock::minute(), clock::second());
    let result = workspace.ok("update_mood", json!({"delta_valence": 0.1, "note": "初次"}));
    assert_eq!(pair(&result, "before"), (0.0, 0.5));
    assert_eq!(current(&workspace), ("0.10".to_owned(), "0.50".to_owned()));
    let stamp = clock::stamp_since(&minute, &clock::minute(), NEWEST_STAMP, &mood(&workspace));
    assert!(mood(&workspace).ends_with(&snapshot(&stamp, "0.10", "0.50", "初次")), "{}", mood(&workspace));

    let aux = workspace.read(".mood_state_aux");
    let instant = clock::stamp_since(&second, &clock::second(), r"last_decay_written_at: (\S+)", &aux);
    assert_eq!(aux, format!("last_decay_written_at: {instant}\nconsecutive_g4c_count: 0\n"));
    assert_eq!(workspace.memory_names(), ["mood_state.md"], "the mood is no event");
}

#[test]
fn a_broken_value_is_replaced_by_the_newest_valid_snapshot() {
    let history = "### 2026-04-13T21:05 · source=life_sim\nvalence: 待定\nenergy: 0.40\nnote: 坏的\n\n\
        ### 2026-04-12T21:05 · source=conversation\nvalence: 0.30\nenergy: 0.60\nnote: 好的\n\n\
        ### 2026-04-11T21:05 · source=conversation\nvalence: 0.90\nenergy: 0.90\nnote: 更早\n";
    for broken in ["abc", "NaN", "inf", ""] {
        let workspace = Workspace::new().file("memory/mood_state.md", state(broken, "0.50", history));
        let result = workspace.ok("update_mood", json!({"delta_valence": 0.1, "note": "一轮"}));
        assert_eq!(pair(&result, "before").0, 0.3, "{broken}: {result}");
        assert_eq!(current(&workspace).0, "0.40", "{broken}");
        assert!(result["warnings"].as_array().is_some_and(|w| !w.is_empty()), "{result}");
    }
}

#[test]
fn what_the_call_does_not_concern_stays() {
    let old = "# 心情\r\n\r\n<!-- valence: 9.99 是示例 -->\r\nvalence: 0.10   \r\nenergy: 0.50\r\nstability: 4\r\n\r\n---\r\n\r\n## 快照历史\r\n\r\n（暂无快照）\r\n\r\n## 备注\r\n\r\n手写的一行";
    let workspace = Workspace::new().file("memory/mood_state.md", old);
    let start = clock::minute();
    workspace.ok("update_mood", json!({"delta_valence": 0.1, "note": "一轮"}));
    let text = mood(&workspace);
    let stamp = clock::stamp_since(&start, &clock::minute(), NEWEST_STAMP, &text);
    let head = "# 心情\r\n\r\n<!-- valence: 9.99 是示例 -->\r\n";
    assert!(text.starts_with(head), "{text:?}");
    assert!(text.contains("\r\nstability: 4\r\n\r\n---\r\n\r\n## 快照历史\r\n\r\n"), "{text:?}");
    let block = snapshot(&stamp, "0.20", "0.50", "一轮").replace('\n', "\r\n");
    assert!(text.contains(&block), "{text:?}");
    assert!(text.contains("\r\n\r\n## 备注\r\n\r\n手写的一行"), "{text:?}");
    assert!(!text.replace("\r\n", "").contains('\n'), "a line end of another kind: {text:?}");
}

#[test]
fn what_stands_between_the_snapshots_stays_when_the_oldest_goes() {
    let old: Vec<_> =
        (0..10).map(|n| snapshot(&format!("2026-04-{:02}T20:00", 20 - n), "0.10", "0.50", "旧")).collect();
    let history = format!("{}\n手写的一段\n\n{}\n<!-- 注 -->\n", old[..9].join("\n"), old[9]);
    let workspace = Workspace::new().file("memory/mood_state.md", state("0.10", "0.50", &history));
    let start = clock::minute();
    workspace.ok("update_mood", json!({"note": "新"}));
    let text = mood(&workspace);
    let stamp = clock::stamp_since(&start, &clock::minute(), NEWEST_STAMP, &text);
    let kept = format!("{}\n手写的一段\n\n\n<!-- 注 -->\n", old[..9].join("\n"));
    assert_eq!(text, state("0.10", "0.50", &format!("{}\n{kept}", snapshot(&stamp, "0.10", "0.50", "新"))));
}

#[test]
fn only_the_placeholder_of_the_snapshots_goes() {
    let workspace = Workspace::new().file("memory/mood_state.md", state("0.10", "0.50", "---\n\n（暂无）\n"));
    workspace.ok("update_mood", json!({"note": "一轮"}));
    let text = mood(&workspace);
    assert!(text.contains("note: 一轮\n\n---\n\n（暂无）\n"), "{text}");
}

#[test]
fn a_bare_field_and_a_last_line_without_its_end_are_written_as_the_others() {
    let workspace = Workspace::new()
        .file("memory/mood_state.md", "valence:\nenergy:\n\n## 快照历史\n\n（暂无快照）\n")
        .file(".mood_state_aux", "owner: life_sim");
    workspace.ok("update_mood", json!({"delta_valence": 0.1, "note": "一轮"}));
    assert!(mood(&workspace).starts_with("valence: 0.10\nenergy: 0.50\n"), "{}", mood(&workspace));
    let aux = workspace.read(".mood_state_aux");
    assert!(aux.starts_with("owner: life_sim\nlast_decay_written_at: "), "{aux}");
    assert_eq!(aux.lines().count(), 3, "{aux}");
}

#[test]
fn a_value_in_a_comment_within_a_snapshot_is_none_of_its_values() {
    let history = "### 2026-04-13T21:05 · source=life_sim\n<!--\nvalence: 0.90\n-->\nenergy: 0.40\nnote: 坏的\n\n\
        ### 2026-04-12T21:05 · source=conversation\nvalence: 0.30\nenergy: 0.60\nnote: 好的\n";
    let workspace = Workspace::new().file("memory/mood_state.md", state("待定", "0.50", history));
    let result = workspace.ok("update_mood", json!({"note": "一轮"}));
    assert_eq!(pair(&result, "before").0, 0.3, "{result}");
}

#[test]
fn a_comment_directly_below_the_oldest_snapshot_stays_whole_when_that_goes() {
    let old: Vec<_> =
        (0..10).map(|n| snapshot(&format!("2026-04-{:02}T20:00", 20 - n), "0.10", "0.50", "旧")).collect();
    let comment = "<!--\n### [E900] 示例\nvalence: 0.99\n-->\n";
    let workspace =
        Workspace::new().file("memory/mood_state.md", state("0.10", "0.50", &format!("{}{comment}", old.join("\n"))));
    workspace.ok("update_mood", json!({"note": "新"}));
    assert!(mood(&workspace).ends_with(comment), "{}", mood(&workspace));
}

#[test]
fn lines_in_a_comment_of_the_head_are_no_mood() {
    let comment = "<!--\nvalence: -1 最坏，1 最好\nenergy: 0 到 1\n-->\n";
    let aux = "<!--\nconsecutive_g4c_count: 9\n-->\nconsecutive_g4c_count: 0\n";
    let workspace = Workspace::new()
        .file("memory/mood_state.md", format!("{comment}valence: 0.30\nenergy: 0.60\n"))
        .file(".mood_state_aux", aux);
    let result = workspace.ok("update_mood", json!({"delta_valence": 0.1, "note": "好"}));
    assert_eq!((pair(&result, "before"), pair(&result, "after")), ((0.3, 0.6), (0.4, 0.6)));
    assert!(mood(&workspace).starts_with(&format!("{comment}valence: 0.40\nenergy: 0.60\n")), "{}", mood(&workspace));
    assert!(workspace.read(".mood_state_aux").starts_with(aux), "{}", workspace.read(".mood_state_aux"));
}
