//! `add_persona_detail` and `correct_persona`: the block of details, the style of its entries, and corrections that stay
//! within their line.

use crate::support::{
    Workspace, both_doors,
    chat::{ago, written},
    clock,
};
use serde_json::{Value, json};

const PERSONA: &str = "memory/persona.md";

fn with(persona: &str) -> Workspace {
    Workspace::new().file(PERSONA, persona)
}

fn persona(workspace: &Workspace) -> String {
    workspace.read(PERSONA)
}

/// A persona with one block of details; `details` stands where its entries are, `after` behind it.
fn with_block(details: &str, after: &str) -> String {
    format!("# 人物档案\n\n## 性格\n\nstability: 4\n\n- 慢热，爱猫。\n\n## 在对话中形成的新细节\n\n{details}{after}")
}

/// Adds `detail` to `old`; the file must become `expected` with `{今天}` as today, and the result must say so.
fn adds(old: &str, detail: &str, expected: &str) {
    clock::within_one_day(|| {
        let workspace = with(old);
        let result = workspace.ok("add_persona_detail", json!({"detail": detail}));
        let today = clock::today();
        (
            (persona(&workspace), result),
            (expected.replace("{今天}", &today), json!({"date": today.as_str(), "written": true})),
        )
    });
}

// Details

#[test]
fn a_detail_is_written_by_both_doors() {
    clock::within_one_day(|| {
        let old = with_block("（暂无）\n", "");
        let (answer, workspace) = both_doors(|| with(&old), "add_persona_detail", json!({"detail": "怕打雷"}));
        let today = clock::today();
        (
            (answer, persona(&workspace)),
            (
                Ok(json!({"date": today.as_str(), "written": true})),
                with_block(&format!("- **[{today}]** 怕打雷\n"), ""),
            ),
        )
    });
}

#[test]
fn a_detail_takes_the_style_of_those_that_are_there() {
    for (first, second, new) in [
        ("• [2026-01-02] 左撇子\n", "• [2026-02-03] 会修自行车\n", "• [{今天}] 怕打雷\n"),
        ("- [2026-01-02] 左撇子\n", "- [2026-02-03] 会修自行车\n", "- [{今天}] 怕打雷\n"),
        ("- **[2026-01-02]** 左撇子\n", "- **[2026-02-03]** 会修自行车\n", "- **[{今天}]** 怕打雷\n"),
    ] {
        for after in ["", "\n---\n\n## 说话方式\n\n- 句子短。\n", "\n## 说话方式\n\n• [2025-01-01] 不在块里\n"]
        {
            for entries in [first.to_owned(), format!("{first}{second}")] {
                let old = with_block(&entries, after);
                adds(&old, "怕打雷", &with_block(&format!("{entries}{new}"), after));
            }
        }
    }
}

#[test]
fn where_no_detail_is_yet_the_first_one_takes_the_place_of_the_placeholder() {
    for after in ["", "\n## 说话方式\n\n句子短。\n"] {
        let new = with_block("- **[{今天}]** 怕打雷\n", after);
        adds(&with_block("（暂无）\n", after), "怕打雷", &new);
        // A block that holds nothing at all.
        let old = with_block("", after.trim_start());
        adds(&format!("{}\n", old.trim_end()), "怕打雷", &new);
    }
}

#[test]
fn only_the_placeholder_of_the_block_goes() {
    let old = with_block("（暂无）\n", "\n## 秘密\n\n（暂无）\n");
    adds(&old, "怕打雷", &with_block("- **[{今天}]** 怕打雷\n", "\n## 秘密\n\n（暂无）\n"));
}

#[test]
fn a_missing_block_is_added_at_the_end() {
    for old in [
        "# 人物档案\n\n## 性格\n\n慢热。\n",
        "# 人物档案\n\n## 性格\n\n慢热。",
        "# 人物档案\n\n> 在对话中形成的新细节写在下面。\n",
    ] {
        let end = if old.ends_with('\n') { "" } else { "\n" };
        adds(old, "怕打雷", &format!("{old}{end}\n## 在对话中形成的新细节\n\n- **[{{今天}}]** 怕打雷\n"));
    }
}

#[test]
fn a_sample_of_the_block_in_a_comment_or_fence_is_not_the_block() {
    for sample in [
        "<!--\n## 在对话中形成的新细节\n• [2026-01-01] 示例\n-->\n",
        "```\n## 在对话中形成的新细节\n• [2026-01-01] 示例\n```\n",
        "> ## 在对话中形成的新细节\n> • [2026-01-01] 示例\n",
    ] {
        let old = format!("# 人物档案\n\n{sample}\n## 性格\n\n慢热。\n");
        adds(&old, "怕打雷", &format!("{old}\n## 在对话中形成的新细节\n\n- **[{{今天}}]** 怕打雷\n"));
    }
}

#[test]
fn sample_lines_in_the_block_set_no_style() {
    let head = "<!--\n格式：\n• [2026-01-01] 示例\n-->\n\n";
    adds(
        &with_block(&format!("{head}- [2026-01-02] 左撇子\n"), "\n---\n"),
        "怕打雷",
        &with_block(&format!("{head}- [2026-01-02] 左撇子\n- [{{今天}}] 怕打雷\n"), "\n---\n"),
    );
}

#[test]
fn the_heading_of_the_block_may_say_more() {
    for heading in
        ["### 【在对话中形成的新细节】", "## 在对话中形成的新细节（自动追加）", "## 六、在对话中形成的新细节"]
    {
        let old = format!("# 人物档案\n\n{heading}\n\n• [2026-01-02] 左撇子\n\n## 后记\n\n完。\n");
        let line = "• [2026-01-02] 左撇子\n";
        adds(&old, "怕打雷", &old.replace(line, &format!("{line}• [{{今天}}] 怕打雷\n")));
    }
}

#[test]
fn a_detail_goes_below_the_last_one_with_all_its_lines() {
    let entries = "- [2026-01-02] 左撇子\n  小时候被改过，又改回来了。\n- [2026-02-03] 会修自行车\n  ——自学的\n";
    for after in ["\n```yaml\nx: 1\n```\n\n| a | b |\n| - | - |\n", "\n<!-- 到此为止 -->\n\n## 后记\n"] {
        adds(&with_block(entries, after), "怕打雷", &with_block(&format!("{entries}- [{{今天}}] 怕打雷\n"), after));
    }
}

#[test]
fn line_ends_and_everything_else_stay() {
    let old = format!("\u{feff}{}", with_block("• [2026-01-02] 左撇子\n", "\n---\n")).replace('\n', "\r\n");
    let new = format!("\u{feff}{}", with_block("• [2026-01-02] 左撇子\n• [{今天}] 怕打雷\n", "\n---\n"));
    adds(&old, "怕打雷", &new.replace('\n', "\r\n"));
}

#[test]
fn an_equal_detail_is_not_written_again() {
    for entry in ["• [2026-01-02] 怕打雷", "- [2026-01-02] 怕打雷", "- **[2026-01-02]** 怕打雷"] {
        let old = with_block(&format!("{entry}\n- [2026-02-03] 会修自行车\n"), "");
        let workspace = with(&old);
        let result = workspace.ok("add_persona_detail", json!({"detail": " 怕打雷\n"}));
        assert_eq!(result["written"], false, "{result}");
        assert_eq!(persona(&workspace), old);
    }
    // The same text elsewhere is no detail.
    let old = with_block("- [2026-01-02] 左撇子\n", "\n## 后记\n\n- [2026-01-02] 怕打雷\n");
    let workspace = with(&old);
    assert_eq!(workspace.ok("add_persona_detail", json!({"detail": "怕打雷"}))["written"], true);
}

#[test]
fn a_detail_with_marks_is_known_again() {
    let workspace = with(&with_block("（暂无）\n", ""));
    let detail = "第一行\n## 假标题\n<!-- 见[E001] -->";
    assert_eq!(workspace.ok("add_persona_detail", json!({"detail": detail}))["written"], true);
    let once = persona(&workspace);
    assert!(once.ends_with("第一行<br>## 假标题<br>&lt;!-- 见&#91;E001] --&gt;\n"), "{once}");
    assert_eq!(workspace.ok("add_persona_detail", json!({"detail": detail}))["written"], false);
    assert_eq!(persona(&workspace), once);
}

#[test]
fn a_missing_persona_is_made() {
    clock::within_one_day(|| {
        let workspace = Workspace::new();
        workspace.ok("add_persona_detail", json!({"detail": "怕打雷"}));
        let expected = format!("## 在对话中形成的新细节\n\n- **[{}]** 怕打雷\n", clock::today());
        (persona(&workspace).ends_with(&expected), true)
    });
}

#[test]
fn a_detail_needs_a_text_of_bearable_length() {
    let workspace = with(&with_block("（暂无）\n", ""));
    for (arguments, code) in [
        (json!({}), "missing_argument"),
        (json!({"detail": " \n\u{b} "}), "invalid_argument"),
        (json!({"detail": "甲".repeat(2001)}), "invalid_argument"),
        (json!({"detail": "甲", "date": "2026-01-01"}), "unknown_argument"),
    ] {
        assert_eq!(workspace.refused("add_persona_detail", arguments.clone()).code, code, "{arguments}");
    }
}

// Corrections

const FILE: &str = "# 人物档案\n\n- **年龄**：二十六\n- **职业**：编剧，写舞台剧\n\n慢热，爱猫，看[X003]，<!x 一句。\n\n## 在对话中形成的新细节\n\n• [2026-01-02] 怕打雷，见&#91;E001]\n• [2026-01-03] 第一行<br>第二行\n";

fn corrects(old: &str, old_text: &str, new_text: &str, expected: &str, line: u32) {
    let (answer, workspace) =
        both_doors(|| with(old), "correct_persona", json!({"old_text": old_text, "new_text": new_text}));
    assert_eq!(answer, Ok(json!({"line": line})), "{old_text}");
    assert_eq!(persona(&workspace), expected, "{old_text}");
}

#[test]
fn a_correction_changes_its_words_and_nothing_else() {
    for (old_text, new_text, expected, line) in [
        ("二十六", "二十七", FILE.replace("二十六", "二十七"), 3),
        ("- **年龄**：二十六", "- **年龄**：二十七", FILE.replace("二十六", "二十七"), 3),
        ("爱猫", "爱猫，也爱狗", FILE.replace("爱猫", "爱猫，也爱狗"), 6),
        ("# 人物档案", "# 她的档案", FILE.replace("人物档案", "她的档案"), 1),
        ("  怕打雷 ", "不怕打雷", FILE.replace("怕打雷", "不怕打雷"), 10),
    ] {
        corrects(FILE, old_text, new_text, &expected, line);
        let dos = format!("\u{feff}{}", FILE.replace('\n', "\r\n"));
        let expected = format!("\u{feff}{}", expected.replace('\n', "\r\n"));
        corrects(&dos, old_text, new_text, &expected, line);
        // A last line without its newline gets none by a correction.
        let (bare, expected) = (FILE.trim_end(), expected.replace("\r\n", "\n"));
        corrects(bare, old_text, new_text, expected.trim_end().trim_start_matches('\u{feff}'), line);
    }
}

#[test]
fn what_is_corrected_is_compared_as_it_is_read() {
    corrects(FILE, "怕打雷，见[E001]", "怕打雷", &FILE.replace("怕打雷，见&#91;E001]", "怕打雷"), 10);
    corrects(FILE, "第一行\n第二行", "一行", &FILE.replace("第一行<br>第二行", "一行"), 11);
    // What is new is escaped as every text.
    corrects(FILE, "第二行", "看<!-- [E002]\n完", &FILE.replace("第二行", "看&lt;!-- &#91;E002]<br>完"), 11);
}

#[test]
fn the_text_to_correct_stands_exactly_once() {
    let old = "# 人物\n\n爱猫。\n怕水，怕高。\n\n## 小节\n\n爱猫的人。\n唱歌歌歌。\n";
    let workspace = with(old);
    for (old_text, code) in [
        ("爱猫", "ambiguous"),
        ("怕", "ambiguous"),
        ("歌歌", "ambiguous"),
        ("爱狗", "not_found"),
        // Not within one line.
        ("怕高。\n\n## 小节", "not_found"),
        ("爱猫。\n怕水", "not_found"),
    ] {
        let refusal = workspace.refused("correct_persona", json!({"old_text": old_text, "new_text": "新"}));
        assert_eq!(refusal.code, code, "{old_text}: {refusal:?}");
    }
    assert_eq!(
        Workspace::new().refused("correct_persona", json!({"old_text": "甲", "new_text": "乙"})).code,
        "not_found"
    );
}

#[test]
fn a_correction_never_makes_structure() {
    let cases = [
        ("慢热", "# 慢热"),
        ("慢热", "###### 慢热"),
        ("慢热", "> 慢热"),
        ("慢热", "```慢热"),
        ("慢热", "~~~慢热"),
        ("慢热", "【慢热】"),
        ("慢热，爱猫，看[X003]，<!x 一句。", "---"),
        ("慢热，爱猫，看[X003]，<!x 一句。", "***"),
        ("慢热，爱猫，看[X003]，<!x 一句。", "- - -"),
        ("慢热，爱猫，看[X003]，<!x 一句。", "___"),
        ("慢热，爱猫，看[X003]，<!x 一句。", "#"),
        // Where it joins.
        ("X", "E"),
        ("X0", "U0"),
        ("看[X0", "看[M0"),
        ("x 一句", "-- 一句"),
        ("- **年龄**：二十六", "# 年龄"),
    ];
    for (old_text, new_text) in cases {
        let workspace = with(FILE);
        let refusal = workspace.refused("correct_persona", json!({"old_text": old_text, "new_text": new_text}));
        assert_eq!(refusal.code, "invalid_argument", "{old_text} → {new_text}: {refusal:?}");
    }
    // What was before the text may complete a mark as well.
    for (line, old_text, new_text) in [
        ("##x 乙", "#x", "#"),
        ("`` 甲", "`` 甲", "``` 甲"),
        ("甲 --x 乙", "x 乙", "> 乙"),
        ("甲--x> 乙", "x> 乙", "> 乙"),
        ("甲<x!-- 乙", "<x!", "<!"),
        ("甲 [E0x] 乙", "x", "1"),
        ("--甲", "甲", "-"),
    ] {
        let old = format!("# 人物\n\n{line}\n\n尾。\n");
        let workspace = with(&old);
        let outcome = workspace.call("correct_persona", json!({"old_text": old_text, "new_text": new_text})).answer();
        match outcome {
            Err(refusal) => {
                assert_eq!(refusal.code, "invalid_argument", "{line}: {refusal:?}");
                assert_eq!(persona(&workspace), old);
            }
            // Escaped it is harmless: then the text must read as asked.
            Ok(_) => {
                let text = persona(&workspace);
                for mark in ["<!--", "-->", "[E01]", "[E00]", "\n# ", "\n```", "\n---"] {
                    assert!(!text.contains(mark), "{line} became {text}");
                }
                let whole = line.replacen(old_text, new_text, 1);
                let again = with(&text).ok("correct_persona", json!({"old_text": whole, "new_text": "新"}));
                assert_eq!(again["line"], 3, "{line} became {text}");
            }
        }
    }
}

#[test]
fn a_correction_to_the_same_writes_nothing() {
    let workspace = with(FILE);
    let result = workspace.ok("correct_persona", json!({"old_text": "爱猫", "new_text": "爱猫"}));
    assert_eq!(result["line"], 6);
    assert_eq!(persona(&workspace), FILE);
}

#[test]
fn both_texts_are_needed() {
    let workspace = with(FILE);
    for (arguments, code) in [
        (json!({"new_text": "乙"}), "missing_argument"),
        (json!({"old_text": "爱猫"}), "missing_argument"),
        (json!({"old_text": " ", "new_text": "乙"}), "invalid_argument"),
        (json!({"old_text": "爱猫", "new_text": "\u{3000}"}), "invalid_argument"),
        (json!({"old_text": "爱猫", "new_text": "乙".repeat(2001)}), "invalid_argument"),
    ] {
        let refusal = workspace.refused("correct_persona", arguments.clone());
        assert_eq!(refusal.code, code, "{arguments}: {refusal:?}");
    }
}

#[test]
fn a_correction_inside_a_field_counts_for_what_reads_it() {
    let old = "# 人物\n\n## 性格\n\nstability: 3\n";
    let workspace = with(old);
    let result: Value =
        workspace.ok("correct_persona", json!({"old_text": "stability: 3", "new_text": "stability: 5"}));
    assert_eq!(result, json!({"line": 5}));
    assert_eq!(persona(&workspace), old.replace('3', "5"));
}

#[test]
fn a_correction_reads_as_it_was_asked_where_it_joins_an_escape() {
    let old = "# 人物\n\n甲 &x 乙\n";
    for new_text in ["lt;", "#91;", "amp;"] {
        let refusal = with(old).refused("correct_persona", json!({"old_text": "x", "new_text": new_text}));
        assert_eq!(refusal.code, "invalid_argument", "{new_text}: {refusal:?}");
    }
}

#[test]
fn what_stands_in_a_comment_or_a_fence_is_not_corrected() {
    let old = "# 人物\n\n<!--\n爱猫\n-->\n\n```\n爱猫\n```\n";
    let refusal = with(old).refused("correct_persona", json!({"old_text": "爱猫", "new_text": "爱狗"}));
    assert_eq!(refusal.code, "not_found", "{refusal:?}");
    // Nor does it make the one that counts ambiguous.
    corrects(&format!("{old}\n爱猫\n"), "爱猫", "爱狗", &format!("{old}\n爱狗\n"), 11);
}

#[test]
fn the_block_ends_at_a_rule() {
    let old = with_block("- [2026-01-02] 怕打雷\n", "\n---\n\n- [2020-01-01] 别的\n");
    let new = with_block("- [2026-01-02] 怕打雷\n- [{今天}] 怕水\n", "\n---\n\n- [2020-01-01] 别的\n");
    adds(&old, "怕水", &new);
}

#[test]
fn the_same_correction_made_twice_is_made_once() {
    let workspace = with(&with_block("- **[2026-04-01]** 喜欢咖啡\n", ""));
    let correcting = json!({"old_text": "喜欢咖啡", "new_text": "不喜欢咖啡"});
    let first = workspace.ok("correct_persona", correcting.clone());
    assert_eq!(workspace.ok("correct_persona", correcting), first);
    assert_eq!(persona(&workspace), with_block("- **[2026-04-01]** 不喜欢咖啡\n", ""));
}

#[test]
fn a_stability_in_a_comment_is_an_example() {
    let ten_hours_ago = written(&ago(36_000.0));
    let decayed = |persona: &str| {
        let workspace = with(persona)
            .file("memory/mood_state.md", "valence: -0.80\nenergy: 0.50\n")
            .file(".mood_state_aux", format!("last_decay_written_at: {ten_hours_ago}\n"));
        workspace.ok("get_overview", json!({}))["mood"]["decayed_valence"].clone()
    };
    let (commented, low, high) = ("<!--\nstability: 5\n-->\n\nstability: 1\n", "stability: 1\n", "stability: 5\n");
    assert_eq!(decayed(commented), decayed(low));
    assert_ne!(decayed(low), decayed(high));
}
