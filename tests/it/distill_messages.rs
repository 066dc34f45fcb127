//! Which messages a distillation hands out: each once, in what order, and what becomes of odd ones.

use crate::support::{
    Refusal, Server, ZONE,
    chat::{
        CHANNEL, Chat, STATE, ago, begin, begun, commit, cursor_lines, d000, distill, distillable, handed, instant,
        skipped, stored, timestamp_line, warnings, written,
    },
};
use jiff::{Timestamp, ZonedDateTime};
use rusqlite::types::Value as Sql;
use serde_json::json;
use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicBool, AtomicU32, Ordering},
    thread,
    time::{Duration, Instant},
};

// Instants

#[test]
fn every_form_of_time_in_one_table_is_compared_as_an_instant() {
    // 1775999400 is 2026-04-12T13:10:00Z.
    const BASE: i64 = 1_775_999_400;
    let watermark = "2026-04-12T21:10:00.123456789+08:00";
    // The instant after 21:10:00+08:00 in which it is to be handed out; none where it is not new or not readable.
    let rows: [(&str, Sql, Option<&str>); 27] = [
        ("文本里晚", text("2026-04-12 23:59:59+12:00"), None),
        ("七", real(1_775_999_406.5), Some("06.5")),
        ("同一瞬间", text("2026-04-12 13:10:00.123456789Z"), None),
        ("一", text("2026-04-12 21:10:00.123456790+08:00"), Some("00.12345679")),
        ("昨天", text("昨天晚上"), None),
        ("早一纳秒", text("2026-04-12T13:10:00.123456788+00:00"), None),
        ("八", text("1775999407.25"), Some("07.25")),
        ("当地", text("2026-04-12T21:10:01"), Some("01")),
        ("没有时间", Sql::Null, None),
        ("当地空格", text("2026-04-12 21:10:01.5"), Some("01.5")),
        ("整秒之前", Sql::Integer(BASE), None),
        ("祖鲁", text("2026-04-12T13:10:02Z"), Some("02")),
        ("祖鲁空格", text("2026-04-12 13:10:02.000000001Z"), Some("02.000000001")),
        ("二月三十", text("2026-02-30T10:00:00Z"), None),
        ("零区", text("2026-04-12 13:10:03+00:00"), Some("03")),
        ("零区带T", text("2026-04-12T13:10:03.25+00:00"), Some("03.25")),
        ("文本秒之前", text("1775999399"), None),
        ("整秒", Sql::Integer(BASE + 4), Some("04")),
        ("文本秒", text("1775999405"), Some("05")),
        ("西边", text("2026-04-12T08:10:10-05:00"), Some("10")),
        ("九位", text("2026-04-12 21:10:08.000000009+08:00"), Some("08.000000009")),
        ("九位带T", text("2026-04-12T21:10:08.000000010+08:00"), Some("08.00000001")),
        ("当地之前", text("2026-04-12 21:10:00"), None),
        ("空", text(""), None),
        ("当天之前", text("2026-04-12T20:00:00+08:00"), None),
        ("同时甲", text("2026-04-12T21:10:09+08:00"), Some("09")),
        ("同时乙", text("2026-04-12T13:10:09Z"), Some("09")),
    ];
    let mut expected: Vec<_> = rows
        .iter()
        .filter_map(|(id, _, second)| second.map(|s| (format!("2026-04-12T21:10:{s}+08:00"), *id)))
        .collect();
    // Stable: equal instants stay in the order of their rows.
    expected.sort_by_key(|(at, _)| at.parse::<Timestamp>().unwrap());
    let workspace = distillable().file(STATE, d000(&format!("timestamp: {watermark}\n")));
    let chat = Chat::of(&workspace);
    for (id, at, _) in &rows {
        chat.say(id, at);
    }
    let result = begun(&workspace);
    let messages: Vec<_> = expected
        .iter()
        .map(|(at, id)| json!({"id": id, "role": "user", "content": format!("话{id}"), "at": at}))
        .collect();
    assert_eq!(result["messages"], json!(messages));
    assert_eq!(result["has_more"], false);
    assert_eq!(result["since"], watermark);
    assert_eq!(result["until"], "2026-04-12T21:10:10+08:00");
    let warnings = warnings(&result);
    assert!(matches!(&warnings[..], [one] if one.contains('4')), "four times cannot be read: {warnings:?}");
    assert_eq!(commit(&workspace, &result), "2026-04-12T21:10:10+08:00");
    assert_eq!(timestamp_line(&workspace), "2026-04-12T21:10:10+08:00");
    let cursor = cursor_lines(&workspace).pop().unwrap();
    assert!(cursor.ends_with(" 27 2026-04-12T21:10:10+08:00"), "the last row examined is the 27th: {cursor}");
    assert_eq!(begin(&workspace), skipped("no_new_messages"), "what was examined is not warned of again");
}

fn text(at: &str) -> Sql {
    Sql::Text(at.to_owned())
}

fn real(at: f64) -> Sql {
    Sql::Real(at)
}

#[test]
fn the_cursor_passes_an_unreadable_row_at_the_end() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("甲", stored(&ago(30.0)));
    chat.say("坏", "不是时间");
    let result = begun(&workspace);
    assert_eq!(handed(&result), ["甲"]);
    commit(&workspace, &result);
    assert_eq!(cursor_lines(&workspace), [format!("{CHANNEL} %E5%9D%8F 2 {}", timestamp_line(&workspace))]);
    assert_eq!(begin(&workspace), skipped("no_new_messages"));
    // And one that comes alone is nothing to distill.
    chat.say("又坏", "也不是");
    let result = begin(&workspace);
    assert_eq!((&result["status"], &result["reason"]), (&json!("skipped"), &json!("no_new_messages")), "{result}");
    chat.say("乙", stored(&ago(1.0)));
    assert_eq!(distill(&workspace), ["乙"]);
    assert_eq!(distill(&workspace), Vec::<String>::new());
}

#[test]
fn late_commits_equal_instants_and_wrong_clocks_neither_lose_nor_repeat() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    let times: Vec<ZonedDateTime> = [300.0, 290.0, 280.0, 340.0, -240.0, 2.0, 1.0].map(ago).to_vec();
    chat.say("一", stored(&times[0]));
    chat.say("二", stored(&times[1]));
    let result = begun(&workspace);
    assert_eq!(handed(&result), ["一", "二"]);
    chat.say("间", stored(&times[2]));
    assert_eq!(commit(&workspace, &result), written(&times[1]), "what came after begin is not in the watermark");
    assert_eq!(distill(&workspace), ["间"]);
    assert_eq!(timestamp_line(&workspace), written(&times[2]));

    chat.say("同", stored(&times[2]));
    assert_eq!(distill(&workspace), ["同"], "the very instant of the watermark");
    chat.say("迟", stored(&times[3]));
    assert_eq!(distill(&workspace), ["迟"], "sixty seconds older");
    assert_eq!(timestamp_line(&workspace), written(&times[2]), "the watermark does not move back");

    let start = ago(0.0);
    chat.say("快", stored(&times[4]));
    assert_eq!(distill(&workspace), ["快"], "a clock that is four minutes fast");
    let capped = timestamp_line(&workspace);
    let at: Timestamp = capped.parse().unwrap();
    assert!(start.timestamp() <= at && at <= Timestamp::now(), "{capped} is not begin's clock");
    chat.say("常一", stored(&times[5]));
    chat.say("常二", stored(&times[6]));
    assert_eq!(distill(&workspace), ["常一", "常二"]);
    assert_eq!(timestamp_line(&workspace), capped, "the watermark does not move back");
    assert_eq!(cursor_lines(&workspace), [format!("{CHANNEL} %E5%B8%B8%E4%BA%8C 8 {capped}")]);
    assert_eq!(distill(&workspace), Vec::<String>::new());
}

// A live writer

#[test]
fn ten_runs_over_a_live_writer_with_a_rollback_journal_hand_out_every_message_once() {
    ten_runs_over_a_live_writer("DELETE");
}

#[test]
fn ten_runs_over_a_live_writer_with_a_write_ahead_log_hand_out_every_message_once() {
    ten_runs_over_a_live_writer("WAL");
}

fn ten_runs_over_a_live_writer(journal: &str) {
    const PACE: Duration = Duration::from_millis(20);
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    let mode: String = chat.db.query_row(&format!("PRAGMA journal_mode = {journal}"), [], |row| row.get(0)).unwrap();
    assert_eq!(mode, journal.to_lowercase());
    let bot = chat.again();
    let (stop, written) = (&AtomicBool::new(false), &AtomicU32::new(0));
    let mut found = Vec::new();
    thread::scope(|scope| {
        let writer = scope.spawn(move || {
            let mut slowest = Duration::ZERO;
            while !stop.load(Ordering::Relaxed) {
                let number = written.load(Ordering::Relaxed);
                let start = Instant::now();
                // Every other one to a neighbour; clocks go back and forth.
                let channel = if number % 2 == 0 { CHANNEL } else { "p2p:oc_demo:my-bot" };
                let at = stored(&ago(f64::from(number * 7 % 5)));
                let inserted = bot.try_insert(channel, format!("m{number}"), "user", "一句话", at);
                assert_eq!(inserted, Ok(1), "insert {number} failed, {journal}");
                slowest = slowest.max(start.elapsed());
                written.store(number + 1, Ordering::Relaxed);
                thread::sleep(PACE.saturating_sub(start.elapsed()));
            }
            slowest
        });
        // Whatever stops here, the writer must not go on for ever.
        let runs = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let mut server = Server::start(&workspace);
            for run in 0..10 {
                wait_for_more(written, 4);
                if run % 2 == 0 {
                    let begun = server.call("distill_begin", json!({})).unwrap();
                    assert_eq!(begun["status"], "begun", "{journal}, run {run}: {begun}");
                    wait_for_more(written, 2);
                    server.call("distill_commit", json!({"token": begun["token"]})).unwrap();
                    found.extend(handed(&begun));
                } else {
                    found.extend(distill(&workspace));
                }
            }
        }));
        stop.store(true, Ordering::Relaxed);
        let slowest = writer.join().unwrap();
        eprintln!("{journal}: the slowest insert took {slowest:?}");
        runs.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
    });
    found.extend(distill(&workspace));
    let written = written.load(Ordering::Relaxed);
    let expected: BTreeSet<_> = (0..written).step_by(2).map(|n| format!("m{n}")).collect();
    assert_eq!(found.len(), expected.len(), "{journal}: one twice or missing of {written}");
    assert_eq!(found.into_iter().collect::<BTreeSet<_>>(), expected, "{journal}");
    let mode: String = chat.db.query_row("PRAGMA journal_mode", [], |row| row.get(0)).unwrap();
    assert_eq!(mode, journal.to_lowercase(), "the journal mode was changed");
}

fn wait_for_more(written: &AtomicU32, count: u32) {
    let target = written.load(Ordering::Relaxed) + count;
    let deadline = Instant::now() + Duration::from_secs(20);
    while written.load(Ordering::Relaxed) < target {
        assert!(Instant::now() < deadline, "the writer has stopped");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn while_a_distillation_runs_the_bot_can_have_its_database_for_itself() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    for number in 0..500 {
        chat.say(&format!("m{number}"), stored(&ago(30.0)));
    }
    let mut server = Server::start(&workspace);
    let begun = server.call("distill_begin", json!({"limit": 3})).unwrap();
    assert_eq!(handed(&begun), ["m0", "m1", "m2"]);
    chat.db.busy_timeout(Duration::ZERO).unwrap();
    chat.db.execute_batch("BEGIN EXCLUSIVE; DELETE FROM messages WHERE id = 'm400'; COMMIT; VACUUM").unwrap();
    server.call("distill_commit", json!({"token": begun["token"]})).unwrap();
}

// The message of the cursor

#[test]
fn a_deleted_cursor_message_leaves_the_timestamp() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("一", stored(&ago(300.0)));
    chat.say("二", stored(&ago(200.0)));
    assert_eq!(distill(&workspace), ["一", "二"]);
    chat.db.execute("DELETE FROM messages WHERE id = '二'", ()).unwrap();
    chat.say("三", stored(&ago(100.0)));
    assert_eq!(distill(&workspace), ["三"]);
    assert_eq!(distill(&workspace), Vec::<String>::new());
}

#[test]
fn a_cursor_message_that_moved_to_another_channel_leaves_the_timestamp() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("一", stored(&ago(300.0)));
    chat.say("二", stored(&ago(200.0)));
    assert_eq!(distill(&workspace), ["一", "二"]);
    chat.say_in("别处", "x", stored(&ago(150.0)));
    chat.db.execute("UPDATE messages SET session_id = '会话 别处' WHERE id = '二'", ()).unwrap();
    chat.say("三", stored(&ago(100.0)));
    assert_eq!(distill(&workspace), ["三"]);
}

#[test]
fn without_its_message_in_the_channel_a_cursor_says_nothing_of_what_is_older_than_the_timestamp() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("一", stored(&ago(300.0)));
    chat.say("二", stored(&ago(200.0)));
    assert_eq!(distill(&workspace), ["一", "二"]);
    chat.say_in("别处", "x", stored(&ago(150.0)));
    chat.db.execute("UPDATE messages SET session_id = '会话 别处' WHERE id = '二'", ()).unwrap();
    // Behind the cursor's row, but not after the timestamp.
    chat.say("旧", stored(&ago(250.0)));
    chat.say("三", stored(&ago(100.0)));
    assert_eq!(distill(&workspace), ["三"]);
}

#[test]
fn a_cursor_message_that_insert_or_replace_moves_to_the_end_hides_nothing() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    for (id, seconds) in [("一", 400.0), ("二", 300.0), ("标", 200.0)] {
        chat.say(id, stored(&ago(seconds)));
    }
    assert_eq!(distill(&workspace), ["一", "二", "标"]);
    chat.say("四", stored(&ago(150.0)));
    chat.say("五", stored(&ago(140.0)));
    chat.db
        .execute(
            "INSERT OR REPLACE INTO messages(id, session_id, role, content, created_at) \
             SELECT id, session_id, role, content || '（改）', created_at FROM messages WHERE id = '标'",
            (),
        )
        .unwrap();
    let row: i64 = chat.db.query_row("SELECT rowid FROM messages WHERE id = '标'", [], |row| row.get(0)).unwrap();
    assert_eq!(row, 6, "it is the last row now");
    chat.say("七", stored(&ago(130.0)));
    assert_eq!(distill(&workspace), ["四", "五", "七"]);
    assert_eq!(distill(&workspace), Vec::<String>::new());
    chat.say("八", stored(&ago(120.0)));
    assert_eq!(distill(&workspace), ["八"]);
}

#[test]
fn a_cursor_message_moved_to_the_very_end_is_not_repeated_later() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("标", stored(&ago(400.0)));
    assert_eq!(distill(&workspace), ["标"]);
    chat.say("二", stored(&ago(300.0)));
    chat.db.execute("UPDATE messages SET rowid = 9 WHERE id = '标'", ()).unwrap();
    assert_eq!(distill(&workspace), ["二"]);
    assert_eq!(distill(&workspace), Vec::<String>::new());
    chat.say("三", stored(&ago(200.0)));
    assert_eq!(distill(&workspace), ["三"]);
}

#[test]
fn a_vacuum_that_numbers_the_rows_anew_hides_nothing() {
    let workspace = distillable();
    // Without an index, so that VACUUM may number the rows anew.
    let chat = Chat::with_schema(&workspace, "id TEXT, session_id TEXT, role TEXT, content TEXT, created_at");
    for number in 0..10 {
        chat.say(&format!("m{number}"), stored(&ago(1000.0 - f64::from(number))));
    }
    assert_eq!(distill(&workspace).len(), 10);
    chat.db.execute_batch("DELETE FROM messages WHERE id IN ('m0', 'm1', 'm2', 'm3', 'm4'); VACUUM").unwrap();
    let row: i64 = chat.db.query_row("SELECT rowid FROM messages WHERE id = 'm9'", [], |row| row.get(0)).unwrap();
    assert_eq!(row, 5, "the rows have new numbers");
    for id in ["后一", "后二"] {
        // Late, so that only the cursor can find them.
        chat.say(id, stored(&ago(2000.0)));
    }
    assert_eq!(distill(&workspace), ["后一", "后二"]);
    assert_eq!(distill(&workspace), Vec::<String>::new());
}

// Pages

#[test]
fn a_backlog_comes_in_pages_with_exact_watermarks() {
    const BACKLOG: u32 = 5000;
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    let start = ago(9000.0);
    // Rows and clocks disagree by up to six seconds.
    let at = |number: u32| &start + jiff::SignedDuration::from_secs(i64::from(number + number * 5 % 7));
    chat.db.execute_batch("BEGIN").unwrap();
    for number in 0..BACKLOG {
        chat.say(&format!("m{number}"), stored(&at(number)));
    }
    chat.db.execute_batch("COMMIT").unwrap();
    let mut server = Server::start(&workspace);
    let (mut next, mut pages, mut newest) = (0, 0, start.clone());
    loop {
        let arguments = if pages % 2 == 0 { json!({}) } else { json!({"limit": 1000}) };
        let begun = server.call("distill_begin", arguments.clone()).unwrap();
        assert_eq!(begun["status"], "begun", "page {pages}");
        let ids = handed(&begun);
        let count = u32::try_from(ids.len()).unwrap();
        assert!(count >= 50 || next + count == BACKLOG, "page {pages} holds {count} short messages");
        let mut page: Vec<_> = (next..next + count).map(|n| (at(n).timestamp(), n)).collect();
        page.sort_unstable();
        let expected: Vec<_> = page.iter().map(|(_, n)| format!("m{n}")).collect();
        assert_eq!(ids, expected, "page {pages}");
        next += count;
        newest = newest.max(page.last().unwrap().0.in_tz(ZONE).unwrap());
        assert_eq!(begun["has_more"], next < BACKLOG, "page {pages}");
        assert_eq!(instant(&begun["until"]), newest.timestamp(), "page {pages}");
        let committed = server.call("distill_commit", json!({"token": begun["token"]})).unwrap();
        assert_eq!(committed["watermark"], written(&newest), "page {pages}");
        assert_eq!(timestamp_line(&workspace), written(&newest), "page {pages}");
        let cursor = format!("{CHANNEL} m{} {next} {}", next - 1, written(&newest));
        assert_eq!(cursor_lines(&workspace), [cursor], "page {pages}");
        pages += 1;
        if next == BACKLOG {
            break;
        }
    }
    assert_eq!(server.call("distill_begin", json!({})), Ok(skipped("no_new_messages")));
}

#[test]
fn limit_bounds_a_page() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    for number in 0..7 {
        chat.say(&format!("m{number}"), stored(&ago(100.0 - f64::from(number))));
    }
    for (limit, expected, more) in [
        (json!(1), &["m0"][..], true),
        (json!("2"), &["m0", "m1"], true),
        (json!(7), &["m0", "m1", "m2", "m3", "m4", "m5", "m6"], false),
    ] {
        let result = workspace.ok("distill_begin", json!({"limit": limit}));
        assert_eq!(
            (handed(&result), &result["has_more"]),
            (expected.iter().map(|s| (*s).to_owned()).collect(), &json!(more))
        );
    }
    for limit in [json!(0), json!(1001), json!(-1), json!(1.5), json!("viel")] {
        assert_eq!(workspace.refused("distill_begin", json!({"limit": limit})).code, "invalid_argument", "{limit}");
    }
}

// Contents

#[test]
fn odd_contents_are_made_text() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    let text = |bytes: &[u8]| {
        let hex: String = bytes.iter().map(|b| format!("{b:02x}")).collect();
        format!("CAST(x'{hex}' AS TEXT)")
    };
    let cases = [
        ("空值", "NULL".to_owned(), None),
        ("空串", "''".to_owned(), None),
        ("空块", "x''".to_owned(), None),
        ("块", "x'80ff'".to_owned(), Some("\u{fffd}\u{fffd}")),
        ("坏字节", text(b"a\x80\xffb"), Some("a\u{fffd}\u{fffd}b")),
        ("半个字", text("好".as_bytes().split_last().unwrap().1), Some("\u{fffd}")),
        ("零", text(b"a\0b"), Some("a\u{fffd}b")),
        ("整数", "42".to_owned(), Some("42")),
        ("换行", "'甲' || char(10) || '乙'".to_owned(), Some("甲\n乙")),
        ("标记", "'### [E001] <!-- -->'".to_owned(), Some("### [E001] <!-- -->")),
    ];
    let at = ago(60.0);
    chat.say("首", stored(&at));
    for (id, content, _) in &cases {
        chat.db
            .execute(
                &format!("INSERT INTO messages VALUES (?1, ?2, 'user', {content}, ?3)"),
                (id, format!("会话 {CHANNEL}"), stored(&at)),
            )
            .unwrap();
    }
    let message = |id: &str, content: &str| json!({"id": id, "role": "user", "content": content, "at": written(&at)});
    let mut expected = vec![message("首", "话首")];
    expected.extend(cases.iter().filter_map(|(id, _, content)| content.map(|c| message(id, c))));
    assert_eq!(begun(&workspace)["messages"], json!(expected));
    let answered = Server::start(&workspace).call("distill_begin", json!({})).unwrap();
    assert_eq!(answered["messages"], json!(expected));
}

#[test]
fn odd_ids_and_roles_are_made_text_too() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("首", stored(&ago(60.0)));
    let session = format!("会话 {CHANNEL}");
    for values in
        ["CAST(x'ff' AS TEXT), ?1, NULL, '无角色', ?2", "x'00', ?1, x'ff', '块', ?2", "'末', ?1, 'assistant', '末', ?2"]
    {
        chat.db.execute(&format!("INSERT INTO messages VALUES ({values})"), (&session, stored(&ago(30.0)))).unwrap();
    }
    let result = begun(&workspace);
    let contents: Vec<_> = result["messages"].as_array().unwrap().iter().map(|m| m["content"].clone()).collect();
    assert_eq!(contents, ["话首", "无角色", "块", "末"]);
    commit(&workspace, &result);
    assert_eq!(begin(&workspace), skipped("no_new_messages"));
}

#[test]
fn ids_may_be_row_numbers() {
    let workspace = distillable();
    let columns = "id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content TEXT, created_at DATETIME";
    let chat = Chat::with_schema(&workspace, columns);
    for number in [3, 5, 8] {
        chat.try_insert(CHANNEL, number, "user", format!("第{number}句"), stored(&ago(100.0))).unwrap();
    }
    let result = workspace.ok("distill_begin", json!({"limit": 2}));
    assert_eq!(handed(&result), ["3", "5"]);
    commit(&workspace, &result);
    assert_eq!(cursor_lines(&workspace), [format!("{CHANNEL} 5 5 {}", timestamp_line(&workspace))]);
    assert_eq!(distill(&workspace), ["8"]);
    assert_eq!(distill(&workspace), Vec::<String>::new());
}

#[test]
fn a_message_without_an_id_that_is_the_last_one_is_not_handed_out_for_ever() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    chat.say("首", stored(&ago(60.0)));
    chat.try_insert(CHANNEL, None::<String>, "user", "没有号", stored(&ago(50.0))).unwrap();
    assert_eq!(distill(&workspace).len(), 2);
    assert_eq!(distill(&workspace), Vec::<String>::new());
    chat.say("后", stored(&ago(40.0)));
    assert_eq!(distill(&workspace), ["后"]);
}

#[test]
fn a_long_message_is_cut_with_its_length() {
    let workspace = distillable();
    let chat = Chat::of(&workspace);
    let exact: String = "界".repeat(4000);
    for (id, content) in [("刚好", exact.clone()), ("多一个", format!("{exact}末")), ("巨大", "长".repeat(400_000))]
    {
        chat.try_insert(CHANNEL, id, "user", content, stored(&ago(60.0))).unwrap();
    }
    let mut contents = Vec::new();
    for _ in 0..3 {
        let result = begin(&workspace);
        for message in result["messages"].as_array().unwrap() {
            contents
                .push((message["id"].as_str().unwrap().to_owned(), message["content"].as_str().unwrap().to_owned()));
        }
        if result["status"] == "begun" {
            commit(&workspace, &result);
        }
    }
    assert_eq!(contents.iter().map(|(id, _)| id.as_str()).collect::<Vec<_>>(), ["刚好", "多一个", "巨大"]);
    assert_eq!(contents[0].1, exact);
    for (content, start, length) in [(&contents[1].1, exact, "4001"), (&contents[2].1, "长".repeat(4000), "400000")] {
        let tail = content
            .strip_prefix(start.as_str())
            .unwrap_or_else(|| panic!("not cut at 4,000: {}", &content[content.len() - 90..]));
        assert!(tail.chars().count() < 60, "{tail}");
        assert!(tail.replace(',', "").contains(length), "{tail:?} does not say {length}");
    }
}

#[test]
fn a_page_and_what_is_known_stay_within_their_bytes() {
    // Each of these grows in JSON, one of them sixfold.
    for (name, content) in [("字", "字"), ("quotes", "\""), ("controls", "\u{1}"), ("emoji", "👨‍👩‍👧"), ("short", "")]
    {
        let workspace = distillable();
        let fat = "\"\\".repeat(500);
        let worries: String = (1..=40)
            .map(|n| format!("- [U{n:03}] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) {fat}\n"))
            .collect();
        workspace.write("memory/unresolved.md", format!("# 未完挂念\n\n{worries}\n## 已淡忘\n"));
        let events: String = (1..=40)
            .map(|n| {
                format!(
                    "\n### [E{n:03}] 2026-04-13 · 用户Todo\n**类型**：用户Todo\n**内容**：{fat}\n**状态**：待跟进\n"
                )
            })
            .collect();
        workspace.write("memory/events.md", format!("# 事件记录\n{events}"));
        let log: String = (1..=30).map(|n| format!("\n### [L{n:03}] 2026-04-12T16:00 · 阳台\n{fat}\n")).collect();
        workspace.write("memory/life_log.md", format!("# 日志\n{log}"));
        workspace.write(
            "memory/persona.md",
            format!("# 人设\n\n## 在对话中形成的新细节\n\n{}", format!("- **[2026-04-13]** {fat}\n").repeat(40)),
        );
        workspace.write("memory/user_profile.md", format!("# 用户\n\n## 喜好\n\n{}", format!("- {fat}\n").repeat(10)));
        let chat = Chat::of(&workspace);
        let body = if content.is_empty() {
            "嗯".to_owned()
        } else {
            content.repeat(if name == "emoji" { 800 } else { 4000 })
        };
        let count = if content.is_empty() { 1000 } else { 12 };
        chat.db.execute_batch("BEGIN").unwrap();
        for number in 0..count {
            chat.try_insert(CHANNEL, format!("m{number}"), "user", &body, stored(&ago(3000.0 - f64::from(number))))
                .unwrap();
        }
        chat.db.execute_batch("COMMIT").unwrap();
        let mut server = Server::start(&workspace);
        let mut found = Vec::new();
        for _ in 0..=count {
            let id = server.start_call("distill_begin", json!({"limit": 1000}));
            let answer = server.answer(id);
            let size = answer["result"]["content"][0]["text"].as_str().unwrap().len();
            let result = Refusal::or_result(&answer).unwrap();
            if result["status"] == "skipped" {
                break;
            }
            let page = result["messages"].to_string().len();
            let known = result["known"].to_string().len();
            assert!(size <= 40_000, "{name}: the result has {size} bytes");
            assert!(known <= 12_000, "{name}: known has {known} bytes");
            let ids = handed(&result);
            assert!(page <= 20_000 || ids.len() == 1, "{name}: {} messages have {page} bytes", ids.len());
            found.extend(ids);
            assert_eq!(result["has_more"], found.len() < usize::try_from(count).unwrap(), "{name}");
            server.call("distill_commit", json!({"token": result["token"]})).unwrap();
        }
        assert_eq!(found, (0..count).map(|n| format!("m{n}")).collect::<Vec<_>>(), "{name}");
    }
}
