//! `update_profile`: sections by name, keys in place, ten entries a section, tiers, and the user's own words.

use crate::support::{Answer, Workspace, both_doors};
use serde_json::{Value, json};

const PROFILE: &str = "memory/user_profile.md";

fn with(profile: &str) -> Workspace {
    Workspace::new().file(PROFILE, profile)
}

fn profile(workspace: &Workspace) -> String {
    workspace.read(PROFILE)
}

fn add(section: &str, text: &str) -> Value {
    json!({"action": "add", "section": section, "text": text})
}

fn set(section: &str, key: &str, text: &str) -> Value {
    json!({"action": "set", "section": section, "key": key, "text": text})
}

fn replace(section: &str, old_text: &str, text: &str) -> Value {
    json!({"action": "replace", "section": section, "old_text": old_text, "text": text})
}

fn remove(section: &str, old_text: &str) -> Value {
    json!({"action": "remove", "section": section, "old_text": old_text})
}

fn and(mut arguments: Value, name: &str, value: &str) -> Value {
    arguments[name] = json!(value);
    arguments
}

/// The file that the rest of these tests vary: no section is at the end, and each is followed by something else.
const FILE: &str = "\
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

fn result(section: &str, entries: u32) -> Value {
    json!({"section": section, "entries": entries, "written": true})
}

fn removing(section: &str, entries: u32, removed: &str) -> Value {
    json!({"section": section, "entries": entries, "removed": removed, "written": true})
}

/// A call through both doors on `old` must answer `result` and leave `new`.
fn changes(old: &str, arguments: Value, result: Value, new: &str) {
    let (answer, workspace) = both_doors(|| with(old), "update_profile", arguments.clone());
    assert_eq!((answer, profile(&workspace)), (Ok(result), new.to_owned()), "{arguments}");
}

/// The same over the command line alone, for tables.
fn becomes(old: &str, arguments: Value, new: &str) -> Value {
    let workspace = with(old);
    let result = workspace.ok("update_profile", arguments.clone());
    assert_eq!(profile(&workspace), new, "{arguments}: {result}");
    result
}

fn refuses(old: &str, arguments: Value, code: &str) -> String {
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

// Ten entries

/// A section of entries with the given texts, in front of another one.
fn section(entries: &[String]) -> String {
    let lines: String = entries.iter().map(|e| format!("- {e}\n")).collect();
    format!("# 用户档案\n\n## 偏好与习惯\n\n{lines}\n## 后\n\n- 别的\n")
}

fn texts(count: usize) -> Vec<String> {
    (1..=count).map(|n| format!("第{n}件")).collect()
}

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

// Tiers

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

/// Empty words are no words: refused, as missing or as empty.
fn refuses_or_is_invalid(old: &str, arguments: Value) {
    let refusal = with(old).refused("update_profile", arguments.clone());
    assert!(["core_conflict", "invalid_argument"].contains(&refusal.code.as_str()), "{arguments}: {refusal:?}");
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

// Several in one call

fn record(workspace: &Workspace, profile: &[Value]) -> Answer {
    workspace.call("record_conversation", json!({"profile": profile})).answer()
}

#[test]
fn an_entry_of_the_same_call_never_leaves_for_another() {
    let mut entries: Vec<_> = texts(10).iter().map(|t| format!("{t} <!-- 核心 -->")).collect();
    entries[3] = "第4件".to_owned();
    entries[6] = "第7件".to_owned();
    let workspace = with(&section(&entries));
    let name = "偏好与习惯";
    let found = record(&workspace, &[add(name, "甲"), add(name, "乙"), add(name, "丙"), add("后", "丁")]).unwrap();
    let skipped: Vec<_> = found["skipped"].as_array().unwrap().iter().map(|s| (&s["place"], &s["code"])).collect();
    assert_eq!(skipped, [(&json!("profile[2]"), &json!("section_full"))], "{found}");
    entries.remove(6);
    entries.remove(3);
    entries.extend(["甲".to_owned(), "乙".to_owned()]);
    assert_eq!(profile(&workspace), section(&entries).replace("- 别的\n", "- 别的\n- 丁\n"));
}

#[test]
fn a_key_that_the_same_call_added_does_not_leave_either() {
    let name = "偏好与习惯";
    for first in [set(name, "口味", "清淡"), add(name, "口味：清淡"), replace(name, "第4件", "口味：清淡")]
    {
        let mut entries: Vec<_> = texts(10).iter().map(|t| format!("{t} <!-- 核心 -->")).collect();
        entries[3] = "第4件".to_owned();
        let workspace = with(&section(&entries));
        let found = record(&workspace, &[first.clone(), add(name, "甲")]).unwrap();
        let places: Vec<_> = found["skipped"].as_array().unwrap().iter().map(|s| (&s["place"], &s["code"])).collect();
        assert_eq!(places, [(&json!("profile[1]"), &json!("section_full"))], "{first}");
        assert!(profile(&workspace).contains("口味"), "{first}: {}", profile(&workspace));
    }
}

#[test]
fn eleven_new_entries_of_one_call_fill_a_section_and_no_more() {
    let workspace = with("# 用户\n\n## 偏好与习惯\n\n- \n\n## 后\n");
    let all: Vec<_> = texts(12).iter().map(|t| add("偏好与习惯", t)).collect();
    let found = record(&workspace, &all).unwrap();
    let places: Vec<_> = found["skipped"].as_array().unwrap().iter().map(|s| s["place"].as_str().unwrap()).collect();
    assert_eq!(places, ["profile[10]", "profile[11]"], "{found}");
    let lines: String = texts(10).iter().map(|t| format!("- {t}\n")).collect();
    assert_eq!(profile(&workspace), format!("# 用户\n\n## 偏好与习惯\n\n{lines}\n## 后\n"));
}

#[test]
fn a_list_asks_for_the_users_words_as_the_single_call_does() {
    let workspace = with(FILE);
    let items = [
        set("基本信息", "称呼", "老林"),
        remove("重要关系", "妈妈"),
        add("没有的类", "甲"),
        remove("喜欢", "没有的"),
        and(set("基本信息", "称呼", "阿林"), "user_said", "叫我阿林吧"),
    ];
    let found = record(&workspace, &items).unwrap();
    let skipped: Vec<_> = found["skipped"]
        .as_array()
        .unwrap()
        .iter()
        .map(|s| format!("{} {}", s["place"].as_str().unwrap(), s["code"].as_str().unwrap()))
        .collect();
    assert_eq!(
        skipped,
        ["profile[0] core_conflict", "profile[1] core_conflict", "profile[2] not_found", "profile[3] not_found"],
        "{found}"
    );
    assert_eq!(profile(&workspace), FILE.replace("小林", "阿林"));
}

/// A chat with one new message, as the program that talks to the user leaves it.
fn chat(workspace: &Workspace) {
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

#[test]
fn a_distillation_obeys_the_same_limits() {
    let mut entries: Vec<_> = texts(10).iter().map(|t| format!("{t} <!-- 核心 -->")).collect();
    entries[3] = "第4件".to_owned();
    let name = "偏好与习惯";
    let items = [
        add(name, "甲"),
        add(name, "乙"),
        replace(name, "第1件", "丙"),
        and(replace(name, "第2件", "丁"), "user_said", "那件改了"),
        add(name, "routing_key：别的"),
        add("没有的", "甲"),
    ];
    let by_record = with(&section(&entries));
    let recorded = record(&by_record, &items[..4]).unwrap();
    let by_distillation = with(&section(&entries));
    chat(&by_distillation);
    let mut server = crate::support::Server::start(&by_distillation);
    let begun = server.call("distill_begin", json!({})).unwrap();
    assert_eq!(begun["status"], "begun", "{begun}");
    let refused = server.call("distill_commit", json!({"token": begun["token"], "profile": &items[4..5]})).unwrap_err();
    assert_eq!(refused.code, "invalid_argument", "{refused:?}");
    let committed = server
        .call(
            "distill_commit",
            json!({"token": begun["token"], "profile": [items[0], items[1], items[2], items[3], items[5]]}),
        )
        .unwrap();
    let codes = |result: &Value| {
        let code = |s: &Value| format!("{} {}", s["place"].as_str().unwrap(), s["code"].as_str().unwrap());
        result["skipped"].as_array().unwrap().iter().map(code).collect::<Vec<_>>()
    };
    assert_eq!(codes(&recorded), ["profile[1] section_full", "profile[2] core_conflict"]);
    assert_eq!(codes(&committed), ["profile[1] section_full", "profile[2] core_conflict", "profile[4] not_found"]);
    entries[1] = "丁 <!-- 核心 -->".to_owned();
    entries.remove(3);
    entries.push("甲".to_owned());
    assert_eq!(profile(&by_distillation), section(&entries));
    assert_eq!(profile(&by_record), section(&entries));
}

// Files as people leave them

#[test]
fn an_exact_key_goes_before_a_part_of_another() {
    let old = "# 用户\n\n## 基本信息\n\n- **职业/身份**：插画师\n- **身份**：学生\n\n## 后\n";
    becomes(old, set("基本信息", "身份", "老师"), &old.replace("学生", "老师"));
}

#[test]
fn bold_words_in_a_sentence_are_no_key() {
    let old = "# 用户\n\n## 喜欢\n\n- **她**常说：别急\n\n## 后\n";
    becomes(old, set("喜欢", "她", "慢慢来"), &old.replace("别急\n", "别急\n- **她**：慢慢来\n"));
}

#[test]
fn a_second_heading_of_the_first_level_is_a_section_too() {
    let old = "# 用户\n\n## 喜欢\n\n- 茶\n\n# 其他\n\n- 甲\n";
    becomes(old, add("其他", "乙"), &old.replace("- 甲\n", "- 甲\n- 乙\n"));
}

#[test]
fn seven_marks_make_no_heading() {
    let old = "# 用户\n\n## 喜欢\n\n- 茶\n\n####### 不是标题\n";
    refuses(old, add("不是标题", "甲"), "not_found");
}

#[test]
fn a_key_that_routes_in_one_of_its_parts_is_not_set() {
    let old = "# 用户\n\n## 基本信息\n\n- **通道/routing_key**：p2p:oc_demo:my_bot\n\n## 后\n";
    refuses(old, set("基本信息", "通道", "别的"), "invalid_argument");
}

#[test]
fn a_text_with_a_key_of_its_own_leaves_a_bare_bullet_bare() {
    let old = "# 用户\n\n## 喜欢\n\n- \n- 茶\n\n## 后\n";
    becomes(old, set("喜欢", "饮料", "热可可"), &old.replace("- 茶\n", "- 茶\n- **饮料**：热可可\n"));
}

#[test]
fn an_entry_is_added_to_a_file_without_a_last_newline_and_replaced_with_its_own() {
    becomes("# 用户\n\n## 喜欢\n\n- 茶", add("喜欢", "雨"), "# 用户\n\n## 喜欢\n\n- 茶\n- 雨\n");
    let dos = "# 用户\r\n\r\n## 喜欢\r\n\r\n- 茶\r\n- 雨\r\n";
    becomes(dos, replace("喜欢", "茶", "热可可"), &dos.replace('茶', "热可可"));
}

#[test]
fn an_equal_value_is_not_written_however_it_is_spaced() {
    let old = "# 用户\n\n## 基本信息\n\n- **城市**：  杭州 <!-- 半核心 -->\n\n## 后\n";
    assert_eq!(becomes(old, set("基本信息", "城市", "杭州"), old)["written"], false);
}

#[test]
fn the_same_text_added_with_another_tier_moves_the_tier() {
    let found = becomes(
        FILE,
        and(add("喜欢", "老电影"), "tier", "核心"),
        &FILE.replace("- 老电影\n", "- 老电影 <!-- 核心 -->\n"),
    );
    assert_eq!(found, result("喜欢（聊得来的）", 2));
}

#[test]
fn a_comment_that_begins_below_an_entry_makes_no_entries_when_that_goes() {
    let old = "# 用户\n\n## 喜欢\n\n- 茶\n  <!-- 注\n- 例\n-->\n- 雨\n";
    let found = with(old).ok("update_profile", remove("喜欢", "茶"));
    assert_eq!(found["entries"], 1, "{found}");
}

#[test]
fn a_value_that_begins_with_a_colon_stays_what_it_is() {
    let workspace = with("# 用户\n\n## 基本信息\n\n- 茶\n");
    for (written, removed) in [(true, Value::Null), (false, Value::Null)] {
        let result = workspace.ok("update_profile", set("基本信息", "签名", ":)"));
        assert_eq!((&result["written"], &result["removed"]), (&json!(written), &removed), "{result}");
    }
    assert_eq!(profile(&workspace), "# 用户\n\n## 基本信息\n\n- 茶\n- **签名**：:)\n");
}

#[test]
fn a_key_that_has_to_be_escaped_is_found_again() {
    let workspace = with("# 用户\n\n## 基本信息\n\n- 茶\n");
    workspace.ok("update_profile", set("基本信息", "爱<br>好", "一"));
    workspace.ok("update_profile", set("基本信息", "爱<br>好", "二"));
    assert_eq!(profile(&workspace), "# 用户\n\n## 基本信息\n\n- 茶\n- **爱&lt;br>好**：二\n");
}

#[test]
fn an_english_word_for_the_closest_is_a_whole_one() {
    let relations = |entry: &str| format!("# 用户\n\n## 重要关系\n\n- {entry}\n");
    for entry in ["Jason：同事", "Madison from work", "the lesson with Momo"] {
        becomes(&relations(entry), remove("重要关系", entry), "# 用户\n\n## 重要关系\n\n");
    }
    for entry in ["her son：小明", "Mom likes tea", "two sons", "妈妈：血压高"] {
        refuses(&relations(entry), remove("重要关系", entry), "core_conflict");
    }
}

#[test]
fn nothing_is_written_that_would_give_way_as_a_placeholder() {
    refuses("# 用户\n\n## 喜欢\n\n- 茶\n", add("喜欢", "（暂无特别喜欢的，除了猫）"), "invalid_argument");
}

#[test]
fn only_the_first_heading_is_the_title() {
    becomes(
        "# 基本信息\n\n- 茶\n\n# 喜欢\n\n- 猫\n",
        add("喜欢", "雨"),
        "# 基本信息\n\n- 茶\n\n# 喜欢\n\n- 猫\n- 雨\n",
    );
}
