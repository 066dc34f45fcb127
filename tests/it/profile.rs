//! `update_profile`: sections by name, keys in place, ten entries a section, tiers, and the user's own words.

use crate::support::{Workspace, both_doors};
use serde_json::{Value, json};

pub(crate) const PROFILE: &str = "memory/user_profile.md";

pub(crate) fn with(profile: &str) -> Workspace {
    Workspace::new().file(PROFILE, profile)
}

pub(crate) fn profile(workspace: &Workspace) -> String {
    workspace.read(PROFILE)
}

pub(crate) fn add(section: &str, text: &str) -> Value {
    json!({"action": "add", "section": section, "text": text})
}

pub(crate) fn set(section: &str, key: &str, text: &str) -> Value {
    json!({"action": "set", "section": section, "key": key, "text": text})
}

pub(crate) fn replace(section: &str, old_text: &str, text: &str) -> Value {
    json!({"action": "replace", "section": section, "old_text": old_text, "text": text})
}

pub(crate) fn remove(section: &str, old_text: &str) -> Value {
    json!({"action": "remove", "section": section, "old_text": old_text})
}

pub(crate) fn and(mut arguments: Value, name: &str, value: &str) -> Value {
    arguments[name] = json!(value);
    arguments
}

/// The file that the rest of these tests vary: no section is at the end, and each is followed by something else.
pub(crate) const FILE: &str = "\
# 用户档案

> 每一类最多十条。

## 基本信息

- **称呼**：小林
- **年龄段**（大致）：三十出头
- **routing_key**：p2p:oc_demo:my_bot
- **职业/身份**：插画师
- **城市**：
- **时区**：Asia/Shanghai

```yaml
- 喜欢: 不是条目
```

## 喜欢（聊得来的）

<!-- 例：
- 喝咖啡
-->

- 下雨天
  尤其是傍晚
- 老电影

| 列 | 列 |
| --- | --- |
| 甲 | 乙 |

---

## 不喜欢 / 禁忌话题

- 前任

## 重要关系

- 妈妈：血压有点高
- 同事小王，常一起吃饭

## 正在经历的重要事情

- 

## 偏好与习惯

（暂无）
";

pub(crate) fn result(section: &str, entries: u32) -> Value {
    json!({"section": section, "entries": entries, "written": true})
}

pub(crate) fn removing(section: &str, entries: u32, removed: &str) -> Value {
    json!({"section": section, "entries": entries, "removed": removed, "written": true})
}

/// A call through both doors on `old` must answer `result` and leave `new`.
pub(crate) fn changes(old: &str, arguments: Value, result: Value, new: &str) {
    let (answer, workspace) = both_doors(|| with(old), "update_profile", arguments.clone());
    assert_eq!((answer, profile(&workspace)), (Ok(result), new.to_owned()), "{arguments}");
}

/// The same over the command line alone, for tables.
pub(crate) fn becomes(old: &str, arguments: Value, new: &str) -> Value {
    let workspace = with(old);
    let result = workspace.ok("update_profile", arguments.clone());
    assert_eq!(profile(&workspace), new, "{arguments}: {result}");
    result
}

pub(crate) fn refuses(old: &str, arguments: Value, code: &str) -> String {
    let refusal = with(old).refused("update_profile", arguments.clone());
    assert_eq!(refusal.code, code, "{arguments}: {refusal:?}");
    format!("{} {}", refusal.message, refusal.hint)
}

// Entries and what is around them

#[test]
fn a_new_entry_goes_below_the_last_one_and_before_what_follows() {
    changes(
        FILE,
        add("喜欢", "热可可"),
        result("喜欢（聊得来的）", 3),
        &FILE.replace("- 老电影\n", "- 老电影\n- 热可可\n"),
    );
    changes(FILE, add("不喜欢", "加班"), result("不喜欢 / 禁忌话题", 2), &FILE.replace("- 前任\n", "- 前任\n- 加班\n"));
}

#[test]
fn a_text_without_a_key_fills_only_a_bare_bullet() {
    let section = "正在经历的重要事情";
    changes(FILE, add(section, "准备搬家"), result(section, 1), &FILE.replace("事情\n\n- \n", "事情\n\n- 准备搬家\n"));
    let new = FILE.replace("- **时区**：Asia/Shanghai\n", "- **时区**：Asia/Shanghai\n- 刚换了新电脑\n");
    changes(FILE, add("基本信息", "刚换了新电脑"), result("基本信息", 5), &new);
    let blank = "# 用户\n\n## 喜欢\n\n- **饮料**：\n- \n- \n\n## 后\n";
    becomes(blank, add("喜欢", "热可可"), &blank.replacen("- \n", "- 热可可\n", 1));
}

#[test]
fn a_section_without_a_bullet_gets_its_first_one_where_it_is() {
    let section = "偏好与习惯";
    for (old, new) in [
        ("## 偏好与习惯\n\n（暂无）\n", "## 偏好与习惯\n\n- 早睡\n"),
        ("## 偏好与习惯\n\n（暂无）\n\n## 后\n\n- 别的\n", "## 偏好与习惯\n\n- 早睡\n\n## 后\n\n- 别的\n"),
        ("## 偏好与习惯\n", "## 偏好与习惯\n\n- 早睡\n"),
        ("## 偏好与习惯\n\n## 后\n\n- 别的\n", "## 偏好与习惯\n\n- 早睡\n\n## 后\n\n- 别的\n"),
        ("## 偏好与习惯", "## 偏好与习惯\n\n- 早睡\n"),
        ("## 偏好与习惯\n## 后\n", "## 偏好与习惯\n\n- 早睡\n\n## 后\n"),
    ] {
        let head = "# 用户档案\n\n";
        let found = becomes(&format!("{head}{old}"), add(section, "早睡"), &format!("{head}{new}"));
        assert_eq!(found, result(section, 1), "{old:?}");
    }
}

#[test]
fn line_ends_and_a_bom_stay() {
    let dos = format!("\u{feff}{}", FILE.replace('\n', "\r\n"));
    let new = dos.replace("- 老电影\r\n", "- 老电影\r\n- 热可可\r\n");
    changes(&dos, add("喜欢", "热可可"), result("喜欢（聊得来的）", 3), &new);
    let new = dos.replace("插画师\r\n", "画家\r\n");
    changes(&dos, set("基本信息", "职业", "画家"), removing("基本信息", 4, "**职业/身份**：插画师"), &new);
}

#[test]
fn what_stands_below_an_entry_is_part_of_it_and_no_entry() {
    // Ten entries, each with a line of its own below it.
    let entries: String = (1..=10).map(|n| format!("- 第{n}条\n  - 细目\n")).collect();
    let old = format!("# 用户\n\n## 偏好\n\n{entries}\n## 后\n");
    let new = format!("# 用户\n\n## 偏好\n\n{}- 新的\n\n## 后\n", entries.replacen("- 第1条\n  - 细目\n", "", 1));
    assert_eq!(becomes(&old, add("偏好", "新的"), &new)["entries"], 10);
}

#[test]
fn samples_in_comments_fences_and_quotes_are_no_entries() {
    for sample in ["<!--\n- 示例\n-->\n", "```\n- 示例\n```\n", "> - 示例\n", "~~~yaml\n- 示例\n~~~\n"] {
        let nine: String = (1..=9).map(|n| format!("- 第{n}条\n")).collect();
        let old = format!("# 用户\n\n## 偏好\n\n{sample}\n{nine}\n## 后\n");
        assert_eq!(
            becomes(&old, add("偏好", "示例"), &old.replace("- 第9条\n", "- 第9条\n- 示例\n")),
            result("偏好", 10),
            "{sample:?}"
        );
        refuses(&old, remove("偏好", "示例"), "not_found");
    }
}

#[test]
fn no_text_makes_a_section_an_entry_or_a_mark() {
    for (text, kept) in [
        ("甲\n- 乙\n## 丙\n- 丁", "甲<br>- 乙<br>## 丙<br>- 丁"),
        ("甲 <!-- 核心 -->", "甲 &lt;!-- 核心 --&gt;"),
        ("见[E001]、[U002]", "见&#91;E001]、&#91;U002]"),
        ("甲\u{2028}乙\tb", "甲<br>乙 b"),
    ] {
        let found = becomes(FILE, add("喜欢", text), &FILE.replace("- 老电影\n", &format!("- 老电影\n- {kept}\n")));
        assert_eq!(found, result("喜欢（聊得来的）", 3), "{text}");
        // It is known again by what was said, and it is 可替换.
        let written = FILE.replace("- 老电影\n", &format!("- 老电影\n- {kept}\n"));
        assert_eq!(becomes(&written, add("喜欢", text), &written)["written"], false, "{text}");
        assert_eq!(
            becomes(&written, remove("喜欢", text), FILE)["removed"],
            json!(text.replace('\u{2028}', "\n").replace('\t', " "))
        );
    }
}

// Sections

#[test]
fn a_section_is_found_by_its_name_and_never_by_a_part_of_a_word() {
    let likes = "## 喜欢（聊得来的）\n\n- 甲\n\n";
    let dislikes = "## 不喜欢 / 禁忌话题\n\n- 乙\n\n";
    for old in [format!("# 用户\n\n{likes}{dislikes}## 后\n"), format!("# 用户\n\n{dislikes}{likes}## 后\n")] {
        for name in ["喜欢", "喜欢（聊得来的）"] {
            let new = old.replace("- 甲\n", "- 甲\n- 新\n");
            assert_eq!(becomes(&old, add(name, "新"), &new), result("喜欢（聊得来的）", 2), "{name}");
        }
        for name in ["不喜欢", "禁忌话题", "不喜欢 / 禁忌话题"] {
            let new = old.replace("- 乙\n", "- 乙\n- 新\n");
            assert_eq!(becomes(&old, add(name, "新"), &new), result("不喜欢 / 禁忌话题", 2), "{name}");
        }
        for name in ["欢", "不喜", "话题", "聊得来的", "用户", "喜欢 / 禁忌话题", "喜欢（"] {
            let text = refuses(&old, add(name, "新"), "not_found");
            for section in ["喜欢（聊得来的）", "不喜欢 / 禁忌话题", "后"] {
                assert!(text.contains(section), "{name}: {text}");
            }
        }
    }
}

#[test]
fn an_exact_name_goes_before_a_part_of_another() {
    let old = "# 用户\n\n## 喜欢（聊得来的）\n\n- 甲\n\n## 喜欢\n\n- 乙\n\n## 食物/喜欢\n\n- 丙\n";
    becomes(old, add("喜欢", "新"), &old.replace("- 乙\n", "- 乙\n- 新\n"));
    becomes(old, add("食物", "新"), &old.replace("- 丙\n", "- 丙\n- 新\n"));
}

#[test]
fn every_heading_below_the_title_is_a_section_of_its_own() {
    let old = "# 用户\n\n## 生活\n\n- 甲\n\n### 饮食\n\n- 乙\n\n#### 早餐\n\n- 丙\n\n## 后\n\n- 丁\n";
    for (name, line) in [("生活", "- 甲\n"), ("饮食", "- 乙\n"), ("早餐", "- 丙\n"), ("后", "- 丁\n")] {
        let new = old.replace(line, &format!("{line}- 新\n"));
        assert_eq!(becomes(old, add(name, "新"), &new), result(name, 2));
    }
}

#[test]
fn a_sample_heading_is_no_section() {
    let old = "# 用户\n\n<!--\n## 喜欢\n- 例\n-->\n\n```\n## 喜欢\n```\n\n## 喜欢\n\n- 甲\n\n> ## 偏好\n";
    becomes(old, add("喜欢", "新"), &old.replace("- 甲\n", "- 甲\n- 新\n"));
    refuses(old, add("偏好", "新"), "not_found");
}

// Keys

#[test]
fn a_key_is_set_where_it_stands() {
    for (key, old, new, removed) in [
        ("职业", "**职业/身份**：插画师", "**职业/身份**：画家", Some("**职业/身份**：插画师")),
        ("身份", "**职业/身份**：插画师", "**职业/身份**：画家", Some("**职业/身份**：插画师")),
        ("职业/身份", "**职业/身份**：插画师", "**职业/身份**：画家", Some("**职业/身份**：插画师")),
        ("年龄段", "**年龄段**（大致）：三十出头", "**年龄段**（大致）：画家", Some("**年龄段**（大致）：三十出头")),
        ("城市", "**城市**：\n", "**城市**：画家\n", None),
        ("时区", "**时区**：Asia/Shanghai", "**时区**：画家", Some("**时区**：Asia/Shanghai")),
    ] {
        let entries = if removed.is_none() { 5 } else { 4 };
        let mut expected = result("基本信息", entries);
        if let Some(removed) = removed {
            expected = removing("基本信息", entries, removed);
        }
        let new = FILE.replace(old, new);
        assert_eq!(becomes(FILE, set("基本信息", key, "画家"), &new), expected, "{key}");
    }
}

#[test]
fn a_key_that_is_not_there_is_added() {
    for key in ["星座", "职", "业/身", "城", "段（大致）"] {
        let new =
            FILE.replace("- **时区**：Asia/Shanghai\n", &format!("- **时区**：Asia/Shanghai\n- **{key}**：画家\n"));
        assert_eq!(becomes(FILE, set("基本信息", key, "画家"), &new), result("基本信息", 5), "{key}");
    }
}

#[test]
fn a_text_with_a_key_of_the_section_sets_it() {
    for text in ["职业：画家", "职业: 画家", "**职业**：画家", "**职业/身份**：画家", "**职业**: 画家"]
    {
        let new = FILE.replace("插画师", "画家");
        let found = becomes(FILE, add("基本信息", text), &new);
        assert_eq!(found, removing("基本信息", 4, "**职业/身份**：插画师"), "{text}");
    }
    becomes(FILE, add("基本信息", "城市：杭州"), &FILE.replace("**城市**：\n", "**城市**：杭州\n"));
    // A key of another section is a text as any other.
    let new = FILE.replace("- 老电影\n", "- 老电影\n- 城市：杭州\n");
    becomes(FILE, add("喜欢", "城市：杭州"), &new);
}

#[test]
fn a_key_is_a_name_and_nothing_else() {
    for key in ["**城市**", "城市：", "城市:", "城*市"] {
        refuses(FILE, set("基本信息", key, "杭州"), "invalid_argument");
    }
}

#[test]
fn equal_texts_and_values_are_not_written() {
    for (arguments, section, entries) in [
        (set("基本信息", "职业", "插画师"), "基本信息", 4),
        (set("基本信息", "称呼", "小林"), "基本信息", 4),
        (add("基本信息", "职业：插画师"), "基本信息", 4),
        (add("喜欢", "老电影"), "喜欢（聊得来的）", 2),
        (add("喜欢", " 老电影\n"), "喜欢（聊得来的）", 2),
        (add("重要关系", "妈妈：血压有点高"), "重要关系", 2),
        (replace("喜欢", "老电影", "老电影"), "喜欢（聊得来的）", 2),
    ] {
        let found = becomes(FILE, arguments.clone(), FILE);
        assert_eq!(found, json!({"section": section, "entries": entries, "written": false}), "{arguments}");
    }
}

/// A section of entries with the given texts, in front of another one.
pub(crate) fn section(entries: &[String]) -> String {
    let lines: String = entries.iter().map(|e| format!("- {e}\n")).collect();
    format!("# 用户档案\n\n## 偏好与习惯\n\n{lines}\n## 后\n\n- 别的\n")
}

pub(crate) fn texts(count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("第{n}件")).collect()
}

// Ten entries

#[test]
fn the_eleventh_entry_makes_the_topmost_replaceable_one_leave() {
    let mut entries = texts(9);
    let old = section(&entries);
    entries.push("第10件".to_owned());
    changes(&old, add("偏好与习惯", "第10件"), result("偏好与习惯", 10), &section(&entries));

    let old = section(&entries);
    entries.remove(0);
    entries.push("新的".to_owned());
    changes(&old, add("偏好与习惯", "新的"), removing("偏好与习惯", 10, "第1件"), &section(&entries));
}

#[test]
fn what_leaves_is_the_topmost_of_those_that_may() {
    let mut entries = texts(10);
    for (at, mark) in [(0, "核心"), (1, "半核心"), (2, "半核心"), (4, "可替换")] {
        entries[at] = format!("{} <!-- {mark} -->", entries[at]);
    }
    for removed in ["第4件", "第5件", "第6件"] {
        let old = section(&entries);
        let leaves = entries.iter().position(|e| e.starts_with(removed)).unwrap();
        entries.remove(leaves);
        let new_text = format!("替{removed}");
        entries.push(new_text.clone());
        let found = becomes(&old, add("偏好与习惯", &new_text), &section(&entries));
        assert_eq!(found, removing("偏好与习惯", 10, removed));
    }
}

#[test]
fn a_new_key_counts_as_an_entry() {
    let mut entries = texts(10);
    let old = section(&entries);
    entries.remove(0);
    entries.push("**口味**：清淡".to_owned());
    let found = becomes(&old, set("偏好与习惯", "口味", "清淡"), &section(&entries));
    assert_eq!(found, removing("偏好与习惯", 10, "第1件"));
    // Setting it again leaves all ten where they are.
    let old = section(&entries);
    entries[9] = "**口味**：重".to_owned();
    becomes(&old, set("偏好与习惯", "口味", "重"), &section(&entries));
}

#[test]
fn a_section_of_ten_that_must_stay_is_full() {
    for (marks, tiers) in [
        (vec!["核心"; 10], vec!["核心"; 10]),
        (vec!["半核心"; 10], vec!["半核心"; 10]),
        ([vec!["核心"; 5], vec!["半核心"; 5]].concat(), [vec!["核心"; 5], vec!["半核心"; 5]].concat()),
    ] {
        let entries: Vec<_> = texts(10).iter().zip(&marks).map(|(t, m)| format!("{t} <!-- {m} -->")).collect();
        let old = section(&entries);
        for arguments in [
            add("偏好与习惯", "新的"),
            set("偏好与习惯", "口味", "清淡"),
            and(add("偏好与习惯", "新的"), "tier", "核心"),
        ] {
            let text = refuses(&old, arguments, "section_full");
            for (entry, tier) in texts(10).iter().zip(&tiers) {
                let at = text.find(entry.as_str()).unwrap_or_else(|| panic!("{entry} is not listed: {text}"));
                let shown: String = text[at..].chars().take(entry.chars().count() + 6).collect();
                assert!(shown.contains(tier), "{entry} is {tier}: {text}");
            }
        }
    }
}

#[test]
fn a_very_old_half_core_entry_gives_way_when_it_is_named() {
    let mut entries: Vec<_> = texts(10).iter().map(|t| format!("{t} <!-- 半核心 -->")).collect();
    let old = section(&entries);
    let workspace = with(&old);
    let found = workspace.ok("update_profile", replace("偏好与习惯", "第7件", "新的"));
    assert_eq!(found, removing("偏好与习惯", 10, "第7件"));
    let text = profile(&workspace);
    entries.remove(6);
    for entry in entries {
        assert!(text.contains(&format!("- {entry}\n")), "{entry} in {text}");
    }
    assert_eq!(text.matches("\n- 新的").count(), 1, "{text}");
}

#[test]
fn more_than_ten_by_hand_stay_and_one_leaves_for_one() {
    let mut entries = texts(13);
    let old = section(&entries);
    entries.remove(0);
    entries.push("新的".to_owned());
    let found = becomes(&old, add("偏好与习惯", "新的"), &section(&entries));
    assert_eq!((&found["entries"], &found["removed"]), (&json!(13), &json!("第1件")), "{found}");
}

#[test]
fn blank_bullets_do_not_count_and_are_filled_first() {
    let mut entries = texts(9);
    entries.insert(3, String::new());
    entries.push("**口味**：".to_owned());
    let old = section(&entries);
    entries[3] = "新的".to_owned();
    let found = becomes(&old, add("偏好与习惯", "新的"), &section(&entries));
    assert_eq!(found, result("偏好与习惯", 10));
}

#[test]
fn the_routing_key_is_neither_counted_nor_touched() {
    for line in [
        "- **routing_key**：p2p:oc_demo:my_bot",
        "- routing_key: p2p:oc_demo:my_bot",
        "routing_key: p2p:oc_demo:my_bot",
    ] {
        for at in [0, 4] {
            let mut lines: Vec<_> = texts(10).iter().map(|t| format!("- {t}")).collect();
            lines.insert(at, line.to_owned());
            let file = |lines: &[String]| format!("# 用户\n\n## 基本信息\n\n{}\n\n## 后\n", lines.join("\n"));
            let old = file(&lines);
            lines.retain(|l| l != "- 第1件");
            lines.push("- 新的".to_owned());
            let found = becomes(&old, add("基本信息", "新的"), &file(&lines));
            assert_eq!(found, removing("基本信息", 10, "第1件"), "{line}");
            for arguments in [
                replace("基本信息", "routing_key", "别的"),
                remove("基本信息", "p2p:oc_demo:my_bot"),
                and(remove("基本信息", "p2p:oc_demo:my_bot"), "user_said", "删掉"),
                set("基本信息", "routing_key", "p2p:别的"),
                add("基本信息", "routing_key：p2p:别的"),
            ] {
                // Whatever it is refused with, or taken for: the line stays, and stays the only one.
                let workspace = with(&old);
                let _ = workspace.call("update_profile", arguments.clone());
                let text = profile(&workspace);
                let keys: Vec<_> = text.lines().filter(|l| l.contains("routing_key")).collect();
                assert_eq!(keys, [line], "{arguments}");
            }
        }
    }
}

#[test]
fn a_routing_key_in_a_fence_stays_as_it_is() {
    let old = "# 用户\n\n```yaml\nrouting_key: p2p:oc_demo:my_bot\n```\n\n## 基本信息\n\n- **城市**：杭州\n\n```yaml\n- routing_key: x\n```\n";
    becomes(old, set("基本信息", "城市", "上海"), &old.replace("杭州", "上海"));
}

// Finding the old entry

#[test]
fn the_entry_that_is_meant_must_be_one() {
    let old = "# 用户\n\n## 喜欢\n\n- 老电影\n- 老电影院\n- 爵士乐\n- 爵士鼓\n\n## 后\n\n- 蓝调\n";
    refuses(old, remove("喜欢", "爵士"), "ambiguous");
    refuses(old, remove("喜欢", "蓝调"), "not_found");
    refuses(old, replace("喜欢", "摇滚", "民谣"), "not_found");
    // The whole text goes before a part of another.
    becomes(old, remove("喜欢", "老电影"), &old.replace("- 老电影\n", ""));
    becomes(old, remove("喜欢", "爵士乐"), &old.replace("- 爵士乐\n", ""));
    becomes(old, replace("喜欢", "鼓", "爵士贝斯"), &old.replace("爵士鼓", "爵士贝斯"));
}

#[test]
fn what_an_action_needs_is_said() {
    for (arguments, codes) in [
        (json!({"section": "喜欢", "text": "甲"}), &["missing_argument"][..]),
        (json!({"action": "add", "text": "甲"}), &["missing_argument"]),
        (json!({"action": "add", "section": "喜欢"}), &["missing_argument"]),
        (json!({"action": "set", "section": "喜欢", "text": "甲"}), &["missing_argument"]),
        (json!({"action": "set", "section": "喜欢", "key": "甲"}), &["missing_argument"]),
        (json!({"action": "replace", "section": "喜欢", "text": "甲"}), &["missing_argument"]),
        (json!({"action": "replace", "section": "喜欢", "old_text": "甲"}), &["missing_argument"]),
        (json!({"action": "remove", "section": "喜欢"}), &["missing_argument"]),
        (json!({"action": "delete", "section": "喜欢", "old_text": "老电影"}), &["invalid_argument"]),
        (json!({"action": "add", "section": "喜欢", "text": "甲".repeat(2001)}), &["invalid_argument"]),
        (json!({"action": "add", "section": "喜欢", "text": " \n "}), &["invalid_argument", "missing_argument"]),
    ] {
        let refusal = with(FILE).refused("update_profile", arguments.clone());
        assert!(codes.contains(&refusal.code.as_str()), "{arguments}: {refusal:?}");
    }
}

#[test]
fn without_a_profile_no_section_is_found() {
    let refusal = Workspace::new().refused("update_profile", add("喜欢", "甲"));
    assert_eq!(refusal.code, "not_found", "{refusal:?}");
}

#[test]
fn a_call_for_the_profile_writes_no_other_file() {
    let workspace = with(FILE).file("memory/MEMORY.md", crate::support::index_with("（暂无）"));
    let mut before = workspace.tree();
    workspace.ok("update_profile", add("喜欢", "热可可"));
    let mut after = workspace.tree();
    for tree in [&mut before, &mut after] {
        tree.remove(PROFILE);
    }
    assert_eq!(after, before);
}

/// A chat with one new message, as the program that talks to the user leaves it.
pub(crate) fn chat(workspace: &Workspace) {
    let database = workspace.path("chat.db");
    let connection = rusqlite::Connection::open(&database).unwrap();
    connection
        .execute_batch(
            "CREATE TABLE sessions (id TEXT, channel_key TEXT);
             CREATE TABLE messages (id TEXT, session_id TEXT, role TEXT, content TEXT, created_at TEXT);
             INSERT INTO sessions VALUES ('s1', 'p2p:oc_demo:my_bot');",
        )
        .unwrap();
    let now = jiff::Timestamp::now().to_string();
    connection.execute("INSERT INTO messages VALUES ('m1', 's1', 'user', '你好', ?1)", [now]).unwrap();
    let context = format!("- Channel key: p2p:oc_demo:my_bot\n- DB path: {}\n", database.display());
    workspace.write("sessions/one/SESSION_CONTEXT.md", context);
    workspace.write("memory/MEMORY.md", crate::support::index_with("（暂无）"));
}
