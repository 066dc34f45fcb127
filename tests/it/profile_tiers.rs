//! The tiers of the profile's entries, and what changes only with the user's own words.

use crate::profile::{FILE, add, and, becomes, refuses, remove, replace, set, with};
use serde_json::{Value, json};

/// Empty words are no words: refused, as missing or as empty.
fn refuses_or_is_invalid(old: &str, arguments: Value) {
    let refusal = with(old).refused("update_profile", arguments.clone());
    assert!(["core_conflict", "invalid_argument"].contains(&refusal.code.as_str()), "{arguments}: {refusal:?}");
}

/// The tier that the program gives the entry `text` in `heading`, as `section_full` lists it; 可替换 if it leaves.
fn tier_of(heading: &str, text: &str) -> String {
    let mut lines = vec![format!("- {text}")];
    lines.extend((1..=9).map(|n| format!("- 垫{n} <!-- 核心 -->")));
    let old = format!("# 用户\n\n## {heading}\n\n{}\n\n## 后\n", lines.join("\n"));
    match with(&old).call("update_profile", add(heading, "新的")).answer() {
        Ok(found) => {
            assert_eq!(found["removed"], text, "{found}");
            "可替换".to_owned()
        }
        Err(refusal) => {
            assert_eq!(refusal.code, "section_full", "{refusal:?}");
            let at = refusal.message.find(text).unwrap() + text.len();
            let shown: String = refusal.message[at..].chars().take(6).collect();
            if shown.contains("半核心") { "半核心" } else { "核心" }.to_owned()
        }
    }
}

// Tiers

#[test]
fn the_tiers_follow_from_key_and_section() {
    for (heading, text, tier) in [
        ("基本信息", "**称呼**：小林", "核心"),
        ("基本信息", "**昵称**：林林", "核心"),
        ("基本信息", "**真实姓名**：林一", "核心"),
        ("基本信息", "**名字/称呼**：林一", "核心"),
        ("基本信息", "**职业/身份**：插画师", "半核心"),
        ("基本信息", "**所在城市**：杭州", "半核心"),
        ("基本信息", "**年龄段**（大致）：三十", "半核心"),
        ("基本信息", "**时区**：Asia/Shanghai", "半核心"),
        ("基本信息", "**星座**：白羊", "可替换"),
        ("基本信息", "换过三个城市", "可替换"),
        ("重要关系", "妈妈：血压高", "核心"),
        ("重要关系", "老公阿杰，常加班", "核心"),
        ("重要关系", "女朋友小雨", "核心"),
        ("重要关系", "儿子三岁", "核心"),
        ("重要关系", "**父亲**：退休了", "核心"),
        ("重要关系", "同事小王", "半核心"),
        ("重要关系", "姑妈来住几天", "半核心"),
        ("重要关系", "Grandmother in Ningbo", "半核心"),
        ("重要关系", "Mother：retired", "核心"),
        ("重要关系", "**闺蜜**：阿青", "半核心"),
        ("正在经历的重要事情", "准备搬家", "半核心"),
        ("不喜欢 / 禁忌话题", "前任", "核心"),
        ("禁忌", "前任", "核心"),
        ("喜欢（聊得来的）", "老电影", "可替换"),
        ("偏好与习惯", "早睡", "可替换"),
        ("偏好与习惯", "早睡 <!-- 半核心 -->", "半核心"),
    ] {
        let shown = text.split(" <!--").next().unwrap();
        if shown == text {
            assert_eq!(tier_of(heading, text), tier, "{heading}: {text}");
        } else {
            let old = format!("# 用户\n\n## {heading}\n\n- {text}\n{}", "- 垫 <!-- 核心 -->\n".repeat(9));
            let message = refuses(&old, add(heading, "新的"), "section_full");
            assert!(message.contains(shown) && message.contains(tier), "{message}");
        }
    }
}

#[test]
fn only_the_own_heading_makes_a_section_taboo() {
    let old = "# 用户\n\n## 禁忌\n\n### 食物\n\n- 香菜\n\n## 后\n";
    assert_eq!(becomes(old, remove("食物", "香菜"), &old.replace("- 香菜\n", ""))["removed"], "香菜");
}

#[test]
fn a_tier_other_than_the_default_is_kept_as_a_mark() {
    let after = |line: &str| FILE.replace("- 老电影\n", &format!("- 老电影\n{line}\n"));
    for (tier, line) in
        [("核心", "- 热可可 <!-- 核心 -->"), ("半核心", "- 热可可 <!-- 半核心 -->"), ("可替换", "- 热可可")]
    {
        becomes(FILE, and(add("喜欢", "热可可"), "tier", tier), &after(line));
    }
    let new = FILE.replace("- 前任\n", "- 前任\n- 加班 <!-- 可替换 -->\n");
    becomes(FILE, and(add("禁忌话题", "加班"), "tier", "可替换"), &new);
    let new = FILE.replace("**城市**：\n", "**城市**：杭州 <!-- 核心 -->\n");
    becomes(FILE, and(set("基本信息", "城市", "杭州"), "tier", "核心"), &new);
    // A mark stays when the value changes.
    becomes(&new, and(set("基本信息", "城市", "上海"), "user_said", "我搬到上海了"), &new.replace("杭州", "上海"));
    refuses(FILE, and(add("喜欢", "热可可"), "tier", "很重要"), "invalid_argument");
}

#[test]
fn a_tier_can_be_raised_without_a_new_text() {
    let found = becomes(
        FILE,
        and(replace("喜欢", "老电影", "老电影"), "tier", "核心"),
        &FILE.replace("- 老电影\n", "- 老电影 <!-- 核心 -->\n"),
    );
    assert_eq!((&found["written"], &found["entries"]), (&json!(true), &json!(2)), "{found}");
}

// The user's own words

#[test]
fn what_is_core_changes_only_with_the_users_own_words() {
    let marked = FILE.replace("- 老电影\n", "- 老电影 <!-- 核心 -->\n");
    // arguments, the text in the way, the file afterwards if the user said so
    let cases = [
        (set("基本信息", "称呼", "老林"), "小林", marked.replace("小林", "老林")),
        (add("基本信息", "称呼：老林"), "小林", marked.replace("小林", "老林")),
        (remove("重要关系", "妈妈"), "妈妈：血压有点高", marked.replace("- 妈妈：血压有点高\n", "")),
        (
            replace("重要关系", "妈妈：血压有点高", "爸爸：血压有点高"),
            "妈妈：血压有点高",
            marked.replace("妈妈：", "爸爸："),
        ),
        (remove("禁忌话题", "前任"), "前任", marked.replace("- 前任\n", "")),
        (replace("不喜欢", "前任", "加班"), "前任", marked.replace("前任", "加班")),
        (remove("喜欢", "老电影"), "老电影", marked.replace("- 老电影 <!-- 核心 -->\n", "")),
        (and(replace("喜欢", "老电影", "老电影"), "tier", "可替换"), "老电影", marked.replace(" <!-- 核心 -->", "")),
        (and(replace("喜欢", "老电影", "老电影"), "tier", "半核心"), "老电影", marked.replace("核心", "半核心")),
        (
            and(set("基本信息", "称呼", "小林"), "tier", "可替换"),
            "小林",
            marked.replace("：小林\n", "：小林 <!-- 可替换 -->\n"),
        ),
        // The same first word, but it is the name.
        (replace("基本信息", "小林", "称呼 阿林"), "小林", marked.replace("**称呼**：小林", "称呼 阿林 <!-- 核心 -->")),
    ];
    for (arguments, standing, new) in cases {
        let text = refuses(&marked, arguments.clone(), "core_conflict");
        assert!(text.contains(standing), "{arguments}: {text}");
        assert!(text.contains("user_said"), "{arguments}: {text}");
        for empty in ["", "  "] {
            refuses_or_is_invalid(&marked, and(arguments.clone(), "user_said", empty));
        }
        becomes(&marked, and(arguments, "user_said", "我说的，改吧"), &new);
    }
}

#[test]
fn news_about_the_same_person_is_no_conflict() {
    let old = "# 用户\n\n## 重要关系\n\n- 妈妈：血压有点高\n- 老公 阿杰，常加班\n- **女儿**：三岁\n\n## 后\n";
    for (arguments, from, to) in [
        (replace("重要关系", "妈妈：血压有点高", "妈妈：血压正常了"), "妈妈：血压有点高", "妈妈：血压正常了"),
        (replace("重要关系", "老公 阿杰，常加班", "老公 阿杰，换了工作"), "常加班", "换了工作"),
        (set("重要关系", "女儿", "四岁"), "三岁", "四岁"),
        (replace("重要关系", "三岁", "**女儿**：四岁"), "三岁", "四岁"),
        (replace("重要关系", "妈妈：血压有点高", "妈妈血压正常了"), "妈妈：血压有点高", "妈妈血压正常了"),
    ] {
        becomes(old, arguments, &old.replace(from, to));
    }
}

#[test]
fn half_core_and_replaceable_entries_need_no_words() {
    let old = "# 用户\n\n## 重要关系\n\n- 同事小王\n\n## 正在经历的重要事情\n\n- 准备搬家\n\n## 后\n";
    becomes(old, remove("重要关系", "同事小王"), &old.replace("- 同事小王\n", ""));
    becomes(old, replace("正在经历的重要事情", "准备搬家", "搬完家了"), &old.replace("准备搬家", "搬完家了"));
}

#[test]
fn a_blank_core_key_is_filled_without_asking() {
    let old = FILE.replace("小林", "");
    becomes(&old, set("基本信息", "称呼", "小林"), FILE);
    becomes(&FILE.replace("小林", "（暂无）"), set("基本信息", "称呼", "小林"), FILE);
    let marked = FILE.replace("：小林\n", "：小林 <!-- 可替换 -->\n");
    becomes(&old, and(set("基本信息", "称呼", "小林"), "tier", "可替换"), &marked);
}
