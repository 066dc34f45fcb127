//! `touch_unresolved`, `resolve_unresolved` and `fade_unresolved`: the marks of a worry, and its way to 已淡忘.

use crate::support::{Workspace, both_doors, clock};
use serde_json::{Value, json};

const WORRIES: &str = "memory/unresolved.md";
const STATE: &str = "memory/distill_state.md";

/// The head with sample lines, as such files carry it.
const HEAD: &str = "# 未完挂念\n\n<!--\n格式：\n- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 例\n- [M001] src=material_derived kind=work_line decay_d=90 last_touched=L001 例\n-->\n\n";

const RULE: &str = "\n<!-- ═════════ -->\n## 已淡忘\n\n- [M007] src=material_derived kind=chore decay_d=30 last_touched=L001 早就忘了的快递\n";

const TOLD: &str = "- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 妈妈血压又高了\n";
const OTHER: &str = "- [U002] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 想去没去成的展\n";
const LINE: &str = "- [M001] src=material_derived kind=work_line decay_d=90 last_touched=L010 剧本里那句别扭的对白\n";

fn file(active: &str) -> String {
    format!("{HEAD}{active}{RULE}")
}

fn with(worries: &str) -> Workspace {
    Workspace::new().file(WORRIES, worries)
}

fn worries(workspace: &Workspace) -> String {
    workspace.read(WORRIES)
}

// Touching

#[test]
fn a_touch_moves_the_mark_and_nothing_else() {
    let old = file(&format!("{TOLD}{LINE}{OTHER}"));
    let (answer, workspace) =
        both_doors(|| with(&old), "touch_unresolved", json!({"id": "M001", "life_log_id": "L013"}));
    assert_eq!(answer, Ok(json!({"id": "M001"})));
    assert_eq!(worries(&workspace), old.replace("last_touched=L010", "last_touched=L013"));
    let (answer, workspace) =
        both_doors(|| with(&old), "touch_unresolved", json!({"id": "U001", "life_log_id": "L1003"}));
    assert_eq!(answer, Ok(json!({"id": "U001"})));
    assert_eq!(
        worries(&workspace),
        old.replacen(TOLD, &TOLD.replacen("last_touched=(never)", "last_touched=L1003", 1), 1)
    );
}

#[test]
fn a_forced_echo_notes_its_minute_with_the_offset() {
    let start = clock::minute();
    let old = file(&format!("{TOLD}{LINE}"));
    let workspace = with(&old);
    workspace.ok("touch_unresolved", json!({"id": "U001", "life_log_id": "L013", "forced_echo": true}));
    let text = worries(&workspace);
    let pattern = r"(?m)^- \[U001\] .*forced_echo_last=(\d{4}-\d\d-\d\dT\d\d:\d\d)\+08:00 妈妈";
    let stamp = clock::stamp_since(&start, &clock::minute(), pattern, &text);
    let touched = TOLD
        .replace("last_touched=(never)", "last_touched=L013")
        .replace("forced_echo_last=(never)", &format!("forced_echo_last={stamp}+08:00"));
    assert_eq!(text, old.replacen(TOLD, &touched, 1));

    // Without it the mark stays as it is.
    workspace.ok("touch_unresolved", json!({"id": "U001", "life_log_id": "L014", "forced_echo": false}));
    assert_eq!(worries(&workspace), text.replacen("last_touched=L013", "last_touched=L014", 1));
}

#[test]
fn missing_marks_are_added_before_the_text() {
    let start = clock::minute();
    for (fields, marks) in [
        (
            "src=material_derived kind=chore decay_d=30",
            ("last_touched=L013", "last_touched=L013 forced_echo_last={分}"),
        ),
        (
            "src=material_derived kind=chore decay_d=30 last_touched=L002",
            ("last_touched=L013", "last_touched=L013 forced_echo_last={分}"),
        ),
    ] {
        let old = file(&format!("{TOLD}- [M003] {fields} 快递\n{LINE}"));
        let bare = "- [M003] src=material_derived kind=chore decay_d=30";
        for (forced, marks) in [(false, marks.0), (true, marks.1)] {
            let workspace = with(&old);
            workspace.ok("touch_unresolved", json!({"id": "M003", "life_log_id": "L013", "forced_echo": forced}));
            let mut text = worries(&workspace);
            if forced {
                let pattern = r"forced_echo_last=(\d{4}-\d\d-\d\dT\d\d:\d\d)\+08:00 快递";
                let stamp = clock::stamp_since(&start, &clock::minute(), pattern, &text);
                text = text.replace(&format!("{stamp}+08:00"), "{分}");
            }
            assert_eq!(text, file(&format!("{TOLD}{bare} {marks} 快递\n{LINE}")), "{fields}");
        }
    }
}

#[test]
fn marks_in_the_text_of_a_worry_are_not_its_marks() {
    let line = "- [M002] src=material_derived kind=chore decay_d=30 last_touched=L002 纸上写着 last_touched=L900 forced_echo_last=(never)\n";
    let old = file(&format!("{line}{LINE}"));
    let workspace = with(&old);
    workspace.ok("touch_unresolved", json!({"id": "M002", "life_log_id": "L013"}));
    assert_eq!(worries(&workspace), old.replace("last_touched=L002", "last_touched=L013"));

    // The same, told by the user and escaped by the program.
    let workspace = with(&file(""));
    workspace.ok("add_unresolved", json!({"text": "last_touched=L900 是什么 [U009]", "kind": "user_told"}));
    let once = worries(&workspace);
    workspace.ok("touch_unresolved", json!({"id": "U001", "life_log_id": "L013"}));
    assert_eq!(
        worries(&workspace),
        once.replacen(
            "decay_d=never last_touched=(never) forced_echo_last=(never) last",
            "decay_d=never last_touched=L013 forced_echo_last=(never) last",
            1
        )
    );
}

#[test]
fn only_an_active_worry_is_touched() {
    let workspace = with(&file(&format!("{TOLD}{LINE}")));
    for (id, log, code) in [
        ("M007", "L013", "not_found"),
        ("U009", "L013", "not_found"),
        ("M001", "13", "invalid_argument"),
        ("M001", "E013", "invalid_argument"),
        ("M001", "L013 x", "invalid_argument"),
        ("E001", "L013", "invalid_argument"),
        ("一", "L013", "invalid_argument"),
    ] {
        let refusal = workspace.refused("touch_unresolved", json!({"id": id, "life_log_id": log}));
        assert_eq!(refusal.code, code, "{id} {log}: {refusal:?}");
    }
    assert_eq!(workspace.refused("touch_unresolved", json!({"id": "M001"})).code, "missing_argument");
    let workspace = with(&file(&format!("{LINE}{LINE}")));
    let refusal = workspace.refused("touch_unresolved", json!({"id": "M001", "life_log_id": "L013"}));
    assert_eq!(refusal.code, "ambiguous", "{refusal:?}");
}

#[test]
fn line_ends_stay_where_a_worry_is_touched() {
    let old = file(&format!("{TOLD}{LINE}")).replace('\n', "\r\n");
    let workspace = with(&old);
    workspace.ok("touch_unresolved", json!({"id": "M001", "life_log_id": "L013"}));
    assert_eq!(worries(&workspace), old.replace("last_touched=L010", "last_touched=L013"));
}

// Resolving

/// `line` with its reason at its end.
fn closed(line: &str, reason: &str) -> String {
    format!("{} resolved_by: \"{reason}\"\n", line.trim_end())
}

#[test]
fn a_resolved_worry_moves_to_the_faded_ones_with_the_users_words() {
    let old = file(&format!("{TOLD}{OTHER}{LINE}"));
    let (answer, workspace) =
        both_doors(|| with(&old), "resolve_unresolved", json!({"id": "U001", "resolved_by": "我妈好了"}));
    assert_eq!(answer, Ok(json!({"id": "U001"})));
    let expected = format!("{}{}", file(&format!("{OTHER}{LINE}")), closed(TOLD, "我妈好了"));
    assert_eq!(worries(&workspace), expected);
    // The number is not given out again, and the worry is not active any more.
    assert_eq!(workspace.ok("add_unresolved", json!({"text": "又一件"}))["id"], "U003");
    let refusal = workspace.refused("resolve_unresolved", json!({"id": "U001", "resolved_by": "我妈好了"}));
    assert_eq!(refusal.code, "not_found", "{refusal:?}");
}

#[test]
fn the_characters_own_worry_can_be_resolved_too() {
    let workspace = with(&file(&format!("{TOLD}{LINE}")));
    workspace.ok("resolve_unresolved", json!({"id": "M001", "resolved_by": "改好了"}));
    assert_eq!(worries(&workspace), format!("{}{}", file(TOLD), closed(LINE, "改好了")));
}

#[test]
fn the_words_stay_one_quoted_text() {
    for (words, kept) in [
        ("她说\"没事了\"", "她说”没事了”"),
        ("好了\n真的", "好了<br>真的"),
        ("  好了 ", "好了"),
        ("见[E001] <!-- 好 -->", "见&#91;E001] &lt;!-- 好 --&gt;"),
        ("‘好’“了”", "‘好’“了”"),
    ] {
        let workspace = with(&file(&format!("{TOLD}{LINE}")));
        workspace.ok("resolve_unresolved", json!({"id": "U001", "resolved_by": words}));
        assert_eq!(worries(&workspace), format!("{}{}", file(LINE), closed(TOLD, kept)), "{words}");
    }
}

#[test]
fn a_faded_block_is_made_where_there_is_none() {
    for old in [format!("{HEAD}{TOLD}{OTHER}"), format!("{HEAD}{TOLD}{OTHER}").trim_end().to_owned()] {
        let workspace = with(&old);
        workspace.ok("resolve_unresolved", json!({"id": "U001", "resolved_by": "好了"}));
        assert_eq!(worries(&workspace), format!("{HEAD}{OTHER}\n## 已淡忘\n\n{}", closed(TOLD, "好了")));
    }
}

#[test]
fn an_empty_faded_block_takes_its_first_worry() {
    for (block, after) in
        [("\n## 已淡忘\n", ""), ("\n## 已淡忘\n\n（暂无）\n", ""), ("\n## 已淡忘\n", "\n## 备注\n\n手写。\n")]
    {
        let workspace = with(&format!("{HEAD}{TOLD}{OTHER}{block}{after}"));
        workspace.ok("resolve_unresolved", json!({"id": "U001", "resolved_by": "好了"}));
        let expected = format!("{HEAD}{OTHER}\n## 已淡忘\n\n{}{after}", closed(TOLD, "好了"));
        assert_eq!(worries(&workspace), expected, "{block:?}");
    }
}

#[test]
fn a_resolution_needs_words_and_an_active_worry() {
    let workspace = with(&file(TOLD));
    for (arguments, code) in [
        (json!({"id": "U001"}), "missing_argument"),
        (json!({"resolved_by": "好了"}), "missing_argument"),
        (json!({"id": "U001", "resolved_by": " \n"}), "invalid_argument"),
        (json!({"id": "U001", "resolved_by": "好".repeat(2001)}), "invalid_argument"),
        (json!({"id": "U002", "resolved_by": "好了"}), "not_found"),
        (json!({"id": "M007", "resolved_by": "好了"}), "not_found"),
        (json!({"id": "E001", "resolved_by": "好了"}), "invalid_argument"),
    ] {
        let refusal = workspace.refused("resolve_unresolved", arguments.clone());
        assert_eq!(refusal.code, code, "{arguments}: {refusal:?}");
    }
}

// Fading

fn own(id: &str, kind: &str, days: &str, touched: &str) -> String {
    format!("- [{id}] src=material_derived kind={kind} decay_d={days} last_touched={touched} 自己的事{id}\n")
}

fn log_entry(id: &str, stamp: &str) -> String {
    format!("### [{id}] {stamp} · 阳台\n浇花。\n\n")
}

fn faded(ids: &[&str], unanchored: &[&str]) -> Value {
    json!({"ran": true, "faded": ids, "unanchored": unanchored})
}

#[test]
fn a_worry_fades_after_its_days_and_not_before() {
    for (kind, days) in [("chore", 30), ("relational", 60), ("work_line", 90)] {
        clock::within_one_day(|| {
            // The last minute of the last day, and the first that is over.
            let log = log_entry("L001", &format!("{}T23:59", clock::day(-days)))
                + &log_entry("L002", &format!("{}T00:00", clock::day(-days - 1)))
                + &log_entry("L003", &format!("{}T23:59", clock::day(-days - 1)))
                + &log_entry("L004", &format!("{}T12:00", clock::today()));
            let days = days.to_string();
            let lines: Vec<_> = (1..=4).map(|n| own(&format!("M00{n}"), kind, &days, &format!("L00{n}"))).collect();
            let workspace = with(&file(&format!("{TOLD}{}", lines.concat()))).file("memory/life_log.md", &log);
            let result = workspace.ok("fade_unresolved", json!({}));
            let expected = format!("{}{}{}", file(&format!("{TOLD}{}{}", lines[0], lines[3])), lines[1], lines[2]);
            (
                (result, worries(&workspace), workspace.read("memory/life_log.md")),
                (faded(&["M002", "M003"], &[]), expected, log),
            )
        });
    }
}

#[test]
fn what_the_user_told_never_fades() {
    clock::within_one_day(|| {
        let told = "- [U001] src=user_told kind=user_told decay_d=never last_touched=L001 forced_echo_last=(never) 甲\n\
            - [U002] src=user_told kind=user_told decay_d=30 last_touched=L001 手改过的\n\
            - [M002] src=user_told kind=chore decay_d=30 last_touched=L001 也是她说的\n";
        let own = own("M001", "chore", "30", "L001");
        let workspace = with(&file(&format!("{told}{own}")))
            .file("memory/life_log.md", log_entry("L001", &format!("{}T10:00", clock::day(-400))));
        let result = workspace.ok("fade_unresolved", json!({}));
        ((result, worries(&workspace)), (faded(&["M001"], &[]), format!("{}{own}", file(told))))
    });
}

#[test]
fn the_anchor_may_be_in_an_archive() {
    clock::within_one_day(|| {
        let lines: Vec<_> = ["L001", "L002", "L003"]
            .iter()
            .enumerate()
            .map(|(n, log)| own(&format!("M00{}", n + 1), "chore", "30", log))
            .collect();
        let old = format!("{}T10:00", clock::day(-40));
        let workspace = with(&file(&lines.concat()))
            .file("memory/life_log.md", log_entry("L003", &old))
            .file("memory/life_log_archive_2026_01.md", log_entry("L001", &old))
            .file("memory/life_log_archive_b.md", log_entry("L002", &format!("{}T10:00", clock::day(-3))));
        let result = workspace.ok("fade_unresolved", json!({}));
        let expected = format!("{}{}{}", file(&lines[1]), lines[0], lines[2]);
        ((result, worries(&workspace)), (faded(&["M001", "M003"], &[]), expected))
    });
}

#[test]
fn a_worry_without_a_day_to_count_from_stays_and_is_named() {
    let lines = own("M001", "chore", "30", "(never)")
        + &own("M002", "chore", "30", "L099")
        + "- [M003] src=material_derived kind=chore decay_d=30 没有标记\n"
        + &own("M004", "chore", "30", "L005");
    // L005 has no day; a sample and a mention are no entries.
    let log = "# 生活\n\n<!--\n### [L099] 2020-01-01T10:00 · 示例\n-->\n\n### [L005] 昨天 · 阳台\n见[L099]。\n\n> ### [L099] 2020-01-01T10:00 · 引用\n";
    let workspace = with(&file(&lines)).file("memory/life_log.md", log);
    assert_eq!(workspace.ok("fade_unresolved", json!({})), faded(&[], &["M001", "M002", "M003", "M004"]));
    assert_eq!(worries(&workspace), file(&lines));
    // The same without any log.
    let workspace = with(&file(&lines));
    assert_eq!(workspace.ok("fade_unresolved", json!({})), faded(&[], &["M001", "M002", "M003", "M004"]));
}

#[test]
fn fading_runs_once_in_seven_days_unless_forced() {
    clock::within_one_day(|| {
        let line = own("M001", "chore", "30", "L001");
        let old_state = "# 提炼进度\n\n### [D000] · last_distillation\ntimestamp: 2026-04-13T08:40:12.300000001+08:00\ncursor: p2p:a m2 1842 2026-04-13T08:40:12.300000001+08:00\n\n手写的一行\n";
        let state = |day: &str| old_state.replacen("\ncursor", &format!("\nlast_decay_scan: {day}\ncursor"), 1);
        let log = log_entry("L001", &format!("{}T10:00", clock::day(-40)));
        let mut found = Vec::new();
        let mut expected = Vec::new();
        let today = clock::today();
        for (scanned, force, runs) in [
            (clock::day(0), false, false),
            (clock::day(-1), false, false),
            (clock::day(-6), false, false),
            (clock::day(-6), true, true),
            (clock::day(0), true, true),
            (clock::day(-7), false, true),
            (clock::day(-300), false, true),
            ("某天".to_owned(), false, true),
        ] {
            let workspace = with(&file(&line)).file("memory/life_log.md", &log).file(STATE, state(&scanned));
            let result = workspace.ok("fade_unresolved", json!({"force": force}));
            // `ran` and what moved; a useless day may be warned of.
            found.push((result["ran"] == true, result["faded"].clone(), workspace.read(STATE), worries(&workspace)));
            expected.push(if runs {
                (true, json!(["M001"]), state(&today), format!("{}{line}", file("")))
            } else {
                (false, json!([]), state(&scanned), file(&line))
            });
        }
        // Never scanned: the line is added and the timestamp stays directly below its heading.
        let workspace = with(&file(&line)).file("memory/life_log.md", &log).file(STATE, old_state);
        workspace.ok("fade_unresolved", json!({}));
        let text = workspace.read(STATE);
        let without: Vec<_> = text.lines().filter(|l| *l != format!("last_decay_scan: {today}")).collect();
        assert_eq!(without, old_state.lines().collect::<Vec<_>>());
        assert!(text.contains("last_distillation\ntimestamp: 2026-04-13T08:40:12.300000001+08:00\n"), "{text}");
        let again = workspace.ok("fade_unresolved", json!({}));
        assert_eq!(again, json!({"ran": false, "faded": [], "unanchored": []}));
        assert_eq!(workspace.read(STATE), text);
        (found, expected)
    });
}

#[test]
fn a_first_scan_notes_its_day_without_any_distillation() {
    clock::within_one_day(|| {
        let workspace = with(&file(TOLD));
        let result = workspace.ok("fade_unresolved", json!({}));
        let state = workspace.read(STATE);
        let expected = format!("### [D000] · last_distillation\ntimestamp:\nlast_decay_scan: {}\n", clock::today());
        assert!(state.replace("timestamp: \n", "timestamp:\n").ends_with(&expected), "{state}");
        ((result, workspace.ok("fade_unresolved", json!({}))["ran"].clone()), (faded(&[], &[]), json!(false)))
    });
}

#[test]
fn a_worry_that_faded_is_unchanged_and_keeps_its_number() {
    clock::within_one_day(|| {
        let line = "- [M001] src=material_derived kind=chore decay_d=30 last_touched=L001 mood=odd 手写 的  字\r\n";
        let old =
            format!("{HEAD}{OTHER}{RULE}").replace('\n', "\r\n").replacen("- [U002]", &format!("{line}- [U002]"), 1);
        let workspace = with(&old).file("memory/life_log.md", log_entry("L001", &format!("{}T10:00", clock::day(-31))));
        workspace.ok("fade_unresolved", json!({}));
        let expected = format!("{HEAD}{OTHER}{RULE}").replace('\n', "\r\n") + line;
        let text = worries(&workspace);
        let next = workspace.ok("add_unresolved", json!({"text": "新", "kind": "chore"}))["id"].clone();
        ((text, next), (expected, json!("M008")))
    });
}

#[test]
fn a_line_that_belongs_to_a_worry_moves_with_it() {
    let remark = "  （手写：下个月再看）\n";
    let workspace = with(&file(&format!("{TOLD}{LINE}{remark}{OTHER}")));
    workspace.ok("resolve_unresolved", json!({"id": "M001", "resolved_by": "改好了"}));
    assert_eq!(worries(&workspace), format!("{}{}{remark}", file(&format!("{TOLD}{OTHER}")), closed(LINE, "改好了")));
}

// What stands around

#[test]
fn below_the_next_heading_worries_are_active_again() {
    let old = format!("# 未完挂念\n\n{TOLD}\n## 已淡忘\n\n## 想做的事\n\n{LINE}");
    let workspace = with(&old);
    workspace.ok("touch_unresolved", json!({"id": "M001", "life_log_id": "L013"}));
    assert_eq!(worries(&workspace), old.replace("last_touched=L010", "last_touched=L013"));
}

#[test]
fn a_field_name_in_the_users_words_is_no_mark() {
    let workspace = with(&file(TOLD));
    workspace.ok("resolve_unresolved", json!({"id": "U001", "resolved_by": "她说 last_touched=L900 就好了"}));
    let text = worries(&workspace);
    assert!(text.contains("resolved_by: \"她说 last_touched&#61;L900 就好了\"\n"), "{text}");
}

#[test]
fn a_mark_that_is_missing_goes_before_a_text_that_looks_like_one() {
    let workspace = with(&file("- [U001] src=user_told a=b 是什么\n"));
    workspace.ok("touch_unresolved", json!({"id": "U001", "life_log_id": "L013", "forced_echo": "false"}));
    assert_eq!(worries(&workspace), file("- [U001] src=user_told last_touched=L013 a=b 是什么\n"));
}

#[test]
fn a_comment_that_begins_below_a_worry_stays_whole_when_the_worry_goes() {
    let comment = "  <!-- 注\n- [U050] 例\n-->\n";
    let workspace = with(&file(&format!("{TOLD}{comment}{OTHER}")));
    workspace.ok("resolve_unresolved", json!({"id": "U001", "resolved_by": "好了"}));
    assert!(worries(&workspace).contains(comment), "{}", worries(&workspace));
    assert_eq!(workspace.refused("touch_unresolved", json!({"id": "U050", "life_log_id": "L013"})).code, "not_found");
}

#[test]
fn a_worry_fades_upwards_where_the_faded_ones_stand_above() {
    let old = "- [U009] src=user_told kind=user_told decay_d=never 旧事\n";
    let english = OTHER.replace("想去没去成的展", "the show she never saw");
    let before = format!("# 挂念\n\n## 已淡忘\n\n{old}\n## 现在\n\n{TOLD}{english}{LINE}");
    let workspace = with(&before);
    workspace.ok("resolve_unresolved", json!({"id": "U002", "resolved_by": "去了"}));
    let resolved = format!("{} resolved_by: \"去了\"\n", english.trim_end());
    assert_eq!(worries(&workspace), format!("# 挂念\n\n## 已淡忘\n\n{old}{resolved}\n## 现在\n\n{TOLD}{LINE}"));
    workspace.write("memory/life_log.md", "# 日志\n\n### [L010] 2025-01-01T10:00 · 对白\n");
    assert_eq!(workspace.ok("fade_unresolved", json!({"force": true}))["faded"], json!(["M001"]));
    assert_eq!(worries(&workspace), format!("# 挂念\n\n## 已淡忘\n\n{old}{resolved}{LINE}\n## 现在\n\n{TOLD}"));
}

#[test]
fn a_faded_worry_goes_behind_the_last_one_and_before_a_comment_at_the_end() {
    let gone = "- [U009] src=user_told kind=user_told decay_d=never 旧事\n  下一行\n";
    let footer = "\n<!-- 到此为止\n往下是别的程序的\n-->\n";
    let workspace = with(&format!("# 挂念\n\n{TOLD}{OTHER}\n## 已淡忘\n\n{gone}{footer}"));
    workspace.ok("resolve_unresolved", json!({"id": "U002", "resolved_by": "去了"}));
    let resolved = format!("{} resolved_by: \"去了\"\n", OTHER.trim_end());
    assert_eq!(worries(&workspace), format!("# 挂念\n\n{TOLD}\n## 已淡忘\n\n{gone}{resolved}{footer}"));
}
