//! `add_unresolved`: numbers, kinds, the place of a new worry, and equal texts.

use crate::support::{Server, Workspace, both_doors};
use serde_json::{Value, json};

const NEVER: &str = "last_touched=(never) forced_echo_last=(never)";

fn user_line(id: &str, text: &str) -> String {
    format!("- [{id}] src=user_told kind=user_told decay_d=never {NEVER} {text}")
}

fn with(worries: &str) -> Workspace {
    Workspace::new().file("memory/unresolved.md", worries)
}

fn worries(workspace: &Workspace) -> String {
    workspace.read("memory/unresolved.md")
}

fn added(id: &str) -> Value {
    json!({"id": id, "deduplicated": false})
}

/// The head that such files carry: its sample lines are in a comment.
const HEAD: &str = "# 未完挂念\n\n<!--\n格式示例：\n- [U001] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 妈妈血压又高了\n- [M001] src=material_derived kind=work_line decay_d=90 last_touched=L010 剧本里那句别扭的对白\n-->\n";

#[test]
fn the_first_worry_is_u001_although_a_sample_stands_in_a_comment() {
    let (answer, workspace) =
        both_doors(|| with(&format!("{HEAD}\n## 已淡忘\n")), "add_unresolved", json!({"text": "妈妈血压又高了"}));
    assert_eq!(answer, Ok(added("U001")));
    assert_eq!(worries(&workspace), format!("{HEAD}\n{}\n\n## 已淡忘\n", user_line("U001", "妈妈血压又高了")));
}

#[test]
fn each_kind_has_its_source_and_its_days() {
    let cases = [
        ("user_told", "U001", "src=user_told kind=user_told decay_d=never last_touched=(never)"),
        ("work_line", "M001", "src=material_derived kind=work_line decay_d=90 last_touched=L010"),
        ("relational", "M001", "src=material_derived kind=relational decay_d=60 last_touched=L010"),
        ("chore", "M001", "src=material_derived kind=chore decay_d=30 last_touched=L010"),
    ];
    for (kind, id, fields) in cases {
        let workspace = with(&format!("{HEAD}\n## 已淡忘\n"));
        let mut arguments = json!({"text": "绿植该浇水了", "kind": kind});
        if kind != "user_told" {
            arguments["life_log_id"] = json!("L010");
        }
        assert_eq!(workspace.ok("add_unresolved", arguments), added(id));
        // The lines of both letters have the same fields in the same order.
        let line = format!("- [{id}] {fields} forced_echo_last=(never) 绿植该浇水了");
        assert_eq!(worries(&workspace), format!("{HEAD}\n{line}\n\n## 已淡忘\n"));
    }
}

#[test]
fn the_letters_count_separately_and_faded_worries_keep_their_numbers() {
    let old = format!(
        "{HEAD}\n{}\n\n## 已淡忘\n\n{} resolved_by: \"已经好了\"\n- [M009] src=material_derived kind=chore decay_d=30 last_touched=L002 快递\n",
        user_line("U002", "甲"),
        user_line("U011", "乙"),
    );
    let workspace = with(&old);
    assert_eq!(workspace.ok("add_unresolved", json!({"text": "丙"})), added("U012"));
    assert_eq!(workspace.ok("add_unresolved", json!({"text": "丁", "kind": "chore"})), added("M010"));
    assert_eq!(workspace.ok("add_unresolved", json!({"text": "戊"})), added("U013"));
    let first = user_line("U002", "甲");
    let new = format!(
        "{first}\n{}\n- [M010] src=material_derived kind=chore decay_d=30 {NEVER} 丁\n{}\n",
        user_line("U012", "丙"),
        user_line("U013", "戊"),
    );
    assert_eq!(worries(&workspace), old.replacen(&format!("{first}\n"), &new, 1));
}

#[test]
fn numbers_grow_past_their_three_digits() {
    for (last, next) in [("U008", "U009"), ("U009", "U010"), ("U099", "U100"), ("U999", "U1000")] {
        let workspace = with(&format!("# 未完挂念\n\n{}\n\n## 已淡忘\n", user_line(last, "甲")));
        assert_eq!(workspace.ok("add_unresolved", json!({"text": "乙"})), added(next));
    }
}

#[test]
fn a_new_worry_stands_before_the_comment_rule_of_the_faded_block() {
    let rule = "<!-- ════════════════════ -->";
    let old = format!("# 未完挂念\n\n{}\n\n{rule}\n## 已淡忘\n\n（暂无）\n", user_line("U001", "甲"));
    let workspace = with(&old);
    workspace.ok("add_unresolved", json!({"text": "乙"}));
    let first = user_line("U001", "甲");
    assert_eq!(worries(&workspace), old.replacen(&first, &format!("{first}\n{}", user_line("U002", "乙")), 1));
}

#[test]
fn a_file_without_a_faded_block_gets_the_worry_at_its_end() {
    for ending in ["", "\n"] {
        let old = format!("# 未完挂念\n\n{}{ending}", user_line("U001", "甲"));
        let workspace = with(&old);
        workspace.ok("add_unresolved", json!({"text": "乙"}));
        assert_eq!(
            worries(&workspace),
            format!("# 未完挂念\n\n{}\n{}\n", user_line("U001", "甲"), user_line("U002", "乙"))
        );
    }
}

#[test]
fn a_missing_file_is_made() {
    let workspace = Workspace::new();
    assert_eq!(workspace.ok("add_unresolved", json!({"text": "甲"})), added("U001"));
    assert_eq!(workspace.ok("add_unresolved", json!({"text": "乙"})), added("U002"));
    let pair = format!("{}\n{}\n", user_line("U001", "甲"), user_line("U002", "乙"));
    assert!(worries(&workspace).contains(&pair), "{}", worries(&workspace));
}

#[test]
fn an_equal_active_worry_is_returned_instead() {
    let old = format!(
        "{HEAD}\n{}\n{}\n\n## 已淡忘\n\n{}\n",
        user_line("U001", "妈妈血压 ABC 又高了"),
        "- [M001] src=material_derived kind=chore decay_d=30 last_touched=L002 妈妈血压ABC又高了",
        user_line("U002", "早就过去的事"),
    );
    let workspace = with(&old);
    let mut server = Server::start(&workspace);
    for text in [
        "妈妈血压 ABC 又高了",
        "妈妈血压ABC又高了。",
        "妈妈血压ａｂｃ又高了！！",
        " 妈妈\u{3000}血压abc又\u{200b}高了…",
        "妈妈血压ＡＢＣ\n又高了?",
    ] {
        let result = server.call("add_unresolved", json!({"text": text})).unwrap();
        assert_eq!(result, json!({"id": "U001", "deduplicated": true}), "{text:?}");
        let result = server.call("add_unresolved", json!({"text": text, "kind": "relational"})).unwrap();
        assert_eq!((&result["id"], &result["deduplicated"]), (&json!("M001"), &json!(true)), "{text:?}");
    }
    assert_eq!(worries(&workspace), old, "nothing was written");

    // Faded ones are no reason to forget a new worry, and punctuation inside counts.
    assert_eq!(server.call("add_unresolved", json!({"text": "早就过去的事"})).unwrap(), added("U003"));
    assert_eq!(server.call("add_unresolved", json!({"text": "妈妈，血压ABC又高了"})).unwrap(), added("U004"));
}

#[test]
fn a_worry_of_the_character_is_anchored_in_the_life_log() {
    let log = "# 生活\n\n### [L012] 2026-04-11T16:00 · 咖啡馆\n改剧本。\n\n### [L013] 2026-04-12T16:00 · 阳台\n浇花，想起[L099]。\n";
    let cases = [
        (None, json!({}), "(never)"),
        (Some(log), json!({}), "L013"),
        (Some(log), json!({"life_log_id": "L010"}), "L010"),
        (None, json!({"life_log_id": "L010"}), "L010"),
        // The newest first, and a heading of another level.
        (
            Some(
                "## [L090] 2026-04-13T16:00 · 目录\n\n### [L021] 2026-04-12T16:00 · 阳台\n\n### [L020] 2026-04-11T16:00 · 咖啡馆\n",
            ),
            json!({}),
            "L021",
        ),
        (Some("# 生活\n\n<!-- ### [L050] 2026-04-12T16:00 · 示例 -->\n"), json!({}), "(never)"),
    ];
    for (log, more, touched) in cases {
        let workspace = with("# 未完挂念\n\n## 已淡忘\n");
        if let Some(log) = log {
            workspace.write("memory/life_log.md", log);
        }
        let mut arguments = json!({"text": "那句对白", "kind": "work_line"});
        arguments.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        assert_eq!(workspace.ok("add_unresolved", arguments), added("M001"));
        let line = format!(
            "- [M001] src=material_derived kind=work_line decay_d=90 last_touched={touched} forced_echo_last=(never) 那句对白\n"
        );
        assert!(worries(&workspace).contains(&line), "{line} in {}", worries(&workspace));
    }
}

#[test]
fn what_the_user_told_has_no_anchor() {
    let workspace =
        with("# 未完挂念\n\n## 已淡忘\n").file("memory/life_log.md", "### [L013] 2026-04-12T16:00 · 阳台\n浇花。\n");
    let result = workspace.ok("add_unresolved", json!({"text": "甲", "life_log_id": "L010"}));
    assert_eq!(result["id"], "U001");
    assert!(result["warnings"].to_string().contains("life_log_id"), "{result}");
    assert!(worries(&workspace).contains(&user_line("U001", "甲")), "{}", worries(&workspace));
}

#[test]
fn a_worry_needs_a_text_a_known_kind_and_a_real_anchor() {
    let workspace = with("# 未完挂念\n\n## 已淡忘\n");
    for (arguments, code) in [
        (json!({}), "missing_argument"),
        (json!({"text": "　\n"}), "invalid_argument"),
        (json!({"text": "甲", "kind": "chores"}), "invalid_argument"),
        (json!({"text": "甲", "kind": "chore", "life_log_id": "十三"}), "invalid_argument"),
        (json!({"text": "甲", "kind": "chore", "life_log_id": "E013"}), "invalid_argument"),
        (json!({"text": "甲".repeat(2001)}), "invalid_argument"),
    ] {
        assert_eq!(workspace.refused("add_unresolved", arguments.clone()).code, code, "{arguments}");
    }
}

#[test]
fn half_width_letters_and_zero_width_characters_together_make_no_other_worry() {
    let workspace = with(&format!("{HEAD}\n{}\n", user_line("U001", "ガムを買う")));
    let result = workspace.ok("add_unresolved", json!({"text": "ｶﾞﾑ\u{200b}を買う"}));
    assert_eq!(result, json!({"id": "U001", "deduplicated": true}));
}
