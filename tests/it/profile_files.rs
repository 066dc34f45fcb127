//! Several changes of the profile in one call, and profiles as people leave them.

use crate::{
    profile::{FILE, add, and, becomes, chat, profile, refuses, remove, replace, result, section, set, texts, with},
    support::{Answer, Workspace},
};
use serde_json::{Value, json};

fn record(workspace: &Workspace, profile: &[Value]) -> Answer {
    workspace.call("record_conversation", json!({"profile": profile})).answer()
}

// Several in one call

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
