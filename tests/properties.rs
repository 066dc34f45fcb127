//! What must hold for any text at all: the library's formats against plain models of them.
//!
//! A failure prints the smallest input that proptest found; `PROPTEST_CASES` and `PROPTEST_RNG_SEED` run more, or the
//! same again.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::disallowed_methods,
    clippy::cast_precision_loss,
    reason = "a test stops at the first surprise"
)]

mod reference;

use companion_memory::format::{
    document::{self, Anchor, Document},
    events::{self, EventType, Field, NewEvent},
    index, leading_date,
    mood::{self, Level, Mood},
    persona, profile, profile_change, sections, text,
    unresolved::{self, Kind},
};
use jiff::civil::date;
use proptest::{prelude::*, sample::select};

/// Pieces that mean something to a parser, to another program or to an escape.
const PIECES: [&str; 44] = [
    "<",
    ">",
    "<!--",
    "-->",
    "--",
    "!--",
    "br>",
    "<br>",
    "&",
    "lt;",
    "&lt;",
    "&amp;",
    "&#91;",
    "#61;",
    "[",
    "]",
    "[E12]",
    "[U001]",
    "E012]",
    "[E１２]",
    "[L",
    "=",
    "src=",
    "kind",
    "last_touched=(never)",
    "### [E013] 2026-04-13 · 约定",
    "# ",
    "```",
    "~~~",
    "---",
    "> ",
    "- ",
    "**内容**：",
    "状态",
    "待跟进",
    "：",
    ":",
    "（暂无）",
    "resolved_by: \"",
    "\"",
    "valence: 1",
    "\u{feff}",
    "\u{200b}",
    "[",
];

/// Any text of a caller, rich in pieces that mean something.
fn any_text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        6 => select(&PIECES[..]).prop_map(str::to_owned),
        2 => select(&["\n", "\r\n", "\r", "\t", "\u{b}", "\u{c}", "\u{85}", "\u{2028}", "\u{2029}", "\0", " "][..]).prop_map(str::to_owned),
        3 => "[a-z0-9周五看展]{1,4}",
        1 => any::<char>().prop_map(String::from),
    ];
    prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat())
}

/// A text as it is stored: folded, and not empty.
fn stored_text() -> impl Strategy<Value = String> {
    any_text().prop_map(|raw| text::fold(&raw)).prop_filter("empty", |text| !text.is_empty())
}

/// Lines as people and programs leave them in these files.
const LINES: [&str; 47] = [
    "",
    "",
    "",
    "   ",
    "# 事件",
    "## 【最近未解决事项】",
    "## 最近未解决事项（Top 3）",
    "## 其他 / 别的（旧）",
    "【最近未解决事项】",
    "### [E000] 2026-04-13T21:05 · last_active",
    "### [E001] 2026-04-11 · 约定",
    "### [E002] 2026-04-12 · 用户Todo",
    "### [E0002] 2026-04-12",
    "### [E] 坏的",
    "### [E１２] 2026-04-12",
    " ### [E005] 缩进",
    "> ### [E006] 引用",
    "#### [E007] 太深",
    "**类型**：约定",
    "**内容**：周五一起去看展",
    "**内容：** 另一种写法",
    "**状态**：待跟进",
    "**状态**: 已关闭",
    "**到期日**：2026-04-17",
    "**到期日**：2026/4/9",
    "**到期日**：下周",
    "**未知**：留着",
    "- [E001] 2026-04-17 · 约定 · 周五",
    "- 一条",
    "  续行",
    "1. 编号",
    "（暂无）",
    "> 说明",
    "---",
    "```",
    "````",
    "```rust",
    "~~~",
    "   ~~~~  ",
    "<!--",
    "-->",
    "<!-- 一行 -->",
    "<!-- 开 <!-- 又开 -->",
    "## 已淡忘",
    "- [U001] src=user_told kind=user_told decay_d=never 妈妈血压又高了",
    "- [M002] src=material_derived kind=chore decay_d=30 last_touched=L010 账单",
    "文字 <!-- 从这里",
];

const MOOD_LINES: [&str; 14] = [
    "valence: 0.20",
    "energy: 0.55",
    "valence：-0.3",
    "energy:",
    "valence: nan",
    "---",
    "## 快照历史",
    "（暂无快照）",
    "### 2026-04-13T21:05 · source=conversation",
    "### 2026-04-12T08:00 · source=life_sim",
    "note: 累",
    "",
    "<!-- 注 -->",
    "手写",
];

fn text_of_lines(lines: &'static [&'static str]) -> impl Strategy<Value = String> {
    let line = prop_oneof![8 => select(lines).prop_map(str::to_owned), 1 => any_text().prop_map(|text| text.replace(['\n', '\r'], " "))];
    let ending = prop_oneof![3 => Just("\n"), 1 => Just("\r\n")];
    let mostly_crlf = any::<bool>();
    (any::<prop::sample::Index>(), prop::collection::vec((line, ending), 0..14), mostly_crlf, any::<bool>()).prop_map(
        |(bom, lines, mostly_crlf, has_last_newline)| {
            let mut text = if bom.index(4) == 0 { "\u{feff}".to_owned() } else { String::new() };
            for (line, ending) in &lines {
                text += line;
                text += if mostly_crlf && *ending == "\n" { "\r\n" } else { ending };
            }
            if !has_last_newline {
                text.truncate(text.trim_end_matches(['\n', '\r']).len());
            }
            text
        },
    )
}

/// A mood file, often with more snapshots than stay.
fn mood_file() -> impl Strategy<Value = String> {
    let snapshot = "### 2026-04-12T08:00 · source=life_sim\nvalence: 0.10\nenergy: 0.20\n\n";
    (text_of_lines(&MOOD_LINES), 0_usize..14).prop_map(move |(text, count)| {
        let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
        format!("{text}{newline}{}", snapshot.repeat(count))
    })
}

/// Any file: its lines, and now and then bytes that are no text.
fn any_file() -> impl Strategy<Value = Vec<u8>> {
    let broken = prop_oneof![4 => Just(None), 1 => any::<prop::sample::Index>().prop_map(Some)];
    (text_of_lines(&LINES), broken).prop_map(|(text, broken)| {
        let mut bytes = text.into_bytes();
        if let Some(place) = broken {
            let at = place.index(bytes.len() + 1);
            bytes.splice(at..at, [0xff, 0xe5]);
        }
        bytes
    })
}

#[derive(Debug, Clone)]
enum Edit {
    Replace(prop::sample::Index, prop::sample::Index, String),
    InLine(prop::sample::Index, usize, String),
    Insert(prop::sample::Index, String),
    Append(String),
}

fn any_edit() -> impl Strategy<Value = Edit> {
    let place = any::<prop::sample::Index>;
    let new_line = prop::collection::vec("[a-z周#]{0,5}", 1..4).prop_map(|lines| lines.join("\n") + "\n");
    prop_oneof![
        4 => (place(), place(), "[a-z周]{0,6}").prop_map(|(from, to, new)| Edit::Replace(from, to, new)),
        2 => (place(), 0_usize..6, "[a-z周]{0,6}").prop_map(|(at, len, new)| Edit::InLine(at, len, new)),
        2 => (place(), new_line.clone()).prop_map(|(at, lines)| Edit::Insert(at, lines)),
        1 => new_line.prop_map(Edit::Append),
    ]
}

/// The nearest place at or in front of this one where the text may be cut.
fn boundary(text: &str, at: usize) -> usize {
    (0..=at).rev().find(|at| text.is_char_boundary(*at)).unwrap()
}

/// Makes the edit to the document, and to plain bytes in the plainest way.
fn edit(document: &mut Document, model: &mut Vec<u8>, edit: &Edit) {
    let text = document.text().to_owned();
    let anchor = Anchor::OpenItems;
    let crlf = text.matches("\r\n").count() * 2 > text.matches('\n').count();
    let own = |lines: &str| if crlf { lines.replace('\n', "\r\n") } else { lines.to_owned() };
    match edit {
        Edit::Replace(from, to, new) => {
            let (a, b) = (boundary(&text, from.index(text.len() + 1)), boundary(&text, to.index(text.len() + 1)));
            let place = a.min(b)..a.max(b);
            model.splice(place.clone(), new.bytes());
            document.replace(place, new, anchor);
        }
        Edit::InLine(at, len, new) => {
            let start = boundary(&text, at.index(text.len() + 1));
            let line_end = text[start..].find(['\r', '\n']).map_or(text.len(), |end| start + end);
            let place = start..boundary(&text, (start + len).min(line_end)).max(start);
            model.splice(place.clone(), new.bytes());
            document.replace_in_line(place, new, anchor);
        }
        Edit::Insert(at, lines) => {
            let at = text[..boundary(&text, at.index(text.len() + 1))].rfind('\n').map_or(0, |newline| newline + 1);
            document.insert_lines(at, lines, anchor);
            // At the place, or behind the comment that the place is in.
            let lines = own(lines);
            let newline = own("\n");
            let inserted = (at..=text.len()).filter(|place| text.is_char_boundary(*place)).find_map(|place| {
                let is = |lines: &str| document.text() == [&text[..place], lines, &text[place..]].concat();
                [lines.clone(), newline.clone() + &lines]
                    .into_iter()
                    .find(|lines| is(lines))
                    .map(|lines| (place, lines))
            });
            let (place, lines) = inserted.expect("the lines, and nothing else, were inserted");
            assert!(
                text[..at].contains("<!--") && text[at..place].contains("-->")
                    || document.text()[at..].starts_with(&lines)
            );
            model.splice(place..place, lines.bytes());
        }
        Edit::Append(lines) => {
            let bare = text.strip_prefix('\u{feff}').unwrap_or(&text);
            let last_line = bare.strip_suffix('\n').unwrap_or(bare).rsplit('\n').next().unwrap();
            let newline = if bare.is_empty() || bare.ends_with('\n') { "" } else { "\n" };
            let blank = if bare.is_empty() || last_line.trim().is_empty() { "" } else { "\n" };
            model.extend(own(&format!("{newline}{blank}{lines}")).bytes());
            document.append_entry(lines, anchor);
        }
    }
}

const FIELDS: [Field; 7] =
    [Field::Type, Field::Content, Field::Intensity, Field::UserState, Field::FollowUp, Field::Status, Field::DueDate];

/// Every event that the contract's plain reading finds, with its fields as a reader gets them.
fn read_events(text: &str) -> Vec<(u64, Vec<Option<String>>)> {
    let read = |event: &events::Event<'_>| (event.number, FIELDS.iter().map(|field| event.field(*field)).collect());
    events::parse(text).events.iter().map(read).collect()
}

fn read_worries(text: &str) -> Vec<(char, u64, bool, String)> {
    unresolved::parse(text).into_iter().map(|worry| (worry.letter, worry.number, worry.active, worry.text)).collect()
}

/// That what the changes do not name is byte for byte as it was, and that they can be undone and done again.
fn assert_only_the_changes(original: &[u8], document: &Document) {
    let hunks = document.hunks();
    let redone = document::apply(original, hunks);
    assert_eq!(redone.as_deref(), Some(document.bytes()), "apply: {hunks:?}");
    let undone = document::revert(document.bytes(), hunks);
    assert_eq!(undone.as_deref(), Some(original), "revert: {hunks:?}");
    for pair in hunks.windows(2) {
        assert!(pair[0].at + pair[0].old.len() <= pair[1].at, "changes overlap: {hunks:?}");
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

/// The comment goes on below the line that opens it, and what is put behind that line must not fall into it.
#[test]
fn what_is_put_behind_a_line_that_opens_a_comment_is_not_hidden() {
    let opened = "<!-- 旧\n说明 -->\n";
    let document = |text: String| Document::new(text.into_bytes());

    let mut persona = document(format!("## 在对话中形成的新细节\n\n- **[2026-04-01]** 怕冷 {opened}"));
    assert!(persona::add_detail(&mut persona, date(2026, 4, 13), "喜欢雨"));
    assert!(!persona::add_detail(&mut persona, date(2026, 4, 13), "喜欢雨"), "{}", persona.text());

    let mut events = document(format!("### [E001] 2026-04-01 · 约定\n**内容**：看展 {opened}"));
    let text = events.text().to_owned();
    let change = (Field::UserState, Some("期待".to_owned()));
    events::set_fields(&mut events, &events::parse(&text).events[0], &[change]);
    assert_eq!(read_events(events.text())[0].1[3].as_deref(), Some("期待"), "{}", events.text());

    let mut worries = document(format!("- [U009] src=user_told 妈妈\n\n## 已淡忘\n\n- [U002] 旧 {opened}"));
    let text = worries.text().to_owned();
    unresolved::fade(&mut worries, &unresolved::parse(&text)[0], Some("好了"));
    assert_eq!(unresolved::largest(&unresolved::parse(worries.text()), 'U'), 9, "{}", worries.text());

    let mut profile = document(format!("## 喜欢\n\n- 茶 {opened}"));
    let sections = profile::parse(profile.text());
    let add = profile_change::Change::Add("雨".to_owned());
    profile_change::change(&mut profile, &sections[0], &add, profile_change::Terms::default()).unwrap();
    assert_eq!(profile::parse(profile.text())[0].entries().count(), 2, "{}", profile.text());
}

proptest! {
    #![proptest_config(config(400))]

    #[test]
    fn a_document_gives_back_every_byte_it_was_given(bytes in prop_oneof![any_file(), any::<Vec<u8>>()]) {
        let document = Document::new(bytes.clone());
        prop_assert_eq!(document.bytes(), &bytes);
        prop_assert_eq!(document.text().len(), bytes.len());
        prop_assert_eq!(document.is_valid_utf8(), std::str::from_utf8(&bytes).is_ok());
    }

    #[test]
    fn any_edits_change_what_they_name_and_can_be_taken_back(original in any_file(), edits in prop::collection::vec(any_edit(), 0..8)) {
        let mut document = Document::new(original.clone());
        let mut model = original.clone();
        for each in &edits {
            edit(&mut document, &mut model, each);
            // A change that touches bytes that are no text is refused as a whole.
            prop_assume!(!document.touched_invalid_utf8());
            prop_assert_eq!(document.bytes(), &model, "{:?}", each);
        }
        assert_only_the_changes(&original, &document);
        let is_longer = !original.is_empty() && model.starts_with(&original);
        prop_assert!(!document.only_appends() || is_longer, "{:?}", document.hunks());
    }

    #[test]
    fn an_escaped_text_reads_back_and_forges_nothing(raw in any_text()) {
        let folded = text::fold(&raw);
        let escaped = text::escape(&folded);
        let in_worry = text::escape_worry(&folded);
        prop_assert_eq!(text::unescape(&escaped), folded.as_str());
        prop_assert_eq!(text::unescape(&in_worry), folded.as_str());
        let forged = regex::Regex::new(r"\[[EUMLD]\d+\]|<!--|-->|[\r\n\x0b\x0c\x{85}\x{2028}\x{2029}]").unwrap();
        let mark = regex::Regex::new(r"(src|kind|decay_d|last_touched|forced_echo_last)=").unwrap();
        prop_assert!(!forged.is_match(&escaped), "{escaped:?}");
        prop_assert!(!forged.is_match(&in_worry) && !mark.is_match(&in_worry), "{in_worry:?}");
        prop_assert_eq!(escaped.matches("<br>").count(), folded.matches('\n').count(), "{:?}", escaped);
    }

    #[test]
    fn what_is_escaped_twice_is_read_twice(raw in any_text()) {
        let folded = text::fold(&raw);
        let twice = text::escape(&text::escape(&folded));
        prop_assert_eq!(text::unescape(&text::unescape(&twice)).into_owned(), folded);
    }

    #[test]
    fn folding_leaves_only_line_feeds_and_is_done_once(raw in any_text()) {
        let folded = text::fold(&raw);
        prop_assert_eq!(text::fold(&folded), folded.clone());
        prop_assert_eq!(folded.trim(), folded.as_str());
        let is_break = |c: char| (c.is_control() && c != '\n') || matches!(c, '\u{2028}' | '\u{2029}');
        prop_assert_eq!(folded.find(is_break), None);
        let printable = |text: &str| text.chars().filter(|c| !c.is_whitespace() && !c.is_control()).collect::<String>();
        prop_assert_eq!(printable(&folded), printable(&raw), "no character of the text itself is lost");
    }

    #[test]
    fn a_line_is_real_markdown_where_the_plain_reading_says_so(text in text_of_lines(&LINES)) {
        let lines = reference::lines(&text);
        let headings: Vec<_> = lines.iter().filter_map(reference::heading).map(|(_, heading)| heading.to_owned()).collect();
        prop_assert_eq!(sections::names(&text), headings);
        let parsed = events::parse(&text);
        let found: Vec<_> = parsed.events.iter().map(|event| (event.number, event.line)).collect();
        prop_assert_eq!(found, reference::events(&text));
    }

    #[test]
    fn a_section_is_found_by_its_whole_name_only(text in text_of_lines(&LINES)) {
        for name in sections::names(&text) {
            let place = sections::find(&text, &name).expect("a section that is listed is found");
            let first_line = text[place].lines().next().unwrap().to_owned();
            prop_assert_eq!(first_line.trim_start_matches('#').trim(), name.as_str());
        }
        prop_assert_eq!(sections::find(&text, "未解决"), None, "a bare substring is no name");
    }

    #[test]
    fn the_index_shows_the_pressing_events_and_a_second_refresh_changes_nothing(
        original in any_file(),
        log in text_of_lines(&LINES),
        day in 1_i8..=28,
    ) {
        let today = date(2026, 4, day);
        let events = events::parse(&log);
        let mut document = Document::new(original.clone());
        let had_block = index::refresh(&mut document, &events, today);
        prop_assume!(!document.touched_invalid_utf8());
        assert_only_the_changes(&original, &document);
        let expected: Vec<_> = events::most_pressing(&events, today, 3).iter().map(|event| event.number).collect();
        prop_assert_eq!(index::cited(document.text()), expected, "{}", document.text());

        let mut again = Document::new(document.bytes().to_vec());
        prop_assert!(index::refresh(&mut again, &events, today), "the block that was added is found");
        prop_assert!(again.hunks().is_empty(), "a second time {:?} in {}", again.hunks(), document.text());
        if had_block {
            let is_bullet = |line: &str| line.strip_prefix(['-', '*', '+', '•']).is_some_and(|rest| rest.starts_with([' ', '\t']));
            let is_numbered = |line: &str| line.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with(". ");
            let is_item = |line: &str| {
                line.trim().is_empty() || line.starts_with([' ', '\t']) || is_bullet(line) || is_numbered(line) || line.trim() == "（暂无）"
            };
            for hunk in document.hunks() {
                prop_assert!(hunk.old.lines().all(is_item), "more than items went: {:?}", hunk);
            }
        }
    }

    #[test]
    fn an_appended_event_reads_back_and_moves_no_other(
        original in any_file(),
        content in stored_text(),
        state in prop::option::of(stored_text()),
        kind in select(&[EventType::约定, EventType::情绪事件, EventType::用户Todo, EventType::重要事件][..]),
    ) {
        let mut document = Document::new(original.clone());
        let before = read_events(document.text());
        let number = events::parse(document.text()).largest() + 1;
        let mut fields = vec![(Field::Content, content.clone()), (Field::Status, "待跟进".to_owned())];
        fields.extend(state.clone().map(|state| (Field::UserState, state)));
        events::append(&mut document, number, &NewEvent { date: date(2026, 4, 13), event_type: kind, fields });
        assert_only_the_changes(&original, &document);
        prop_assert!(document.bytes().starts_with(&original));

        let mut expected = before;
        expected.push((number, vec![Some(kind.as_str().to_owned()), Some(content), None, state, None, Some("待跟进".to_owned()), None]));
        prop_assert_eq!(read_events(document.text()), expected, "{}", document.text());
        let parsed = events::parse(document.text());
        let last = parsed.events.last().unwrap();
        prop_assert!(last.is_open() && last.date() == Some(date(2026, 4, 13)));
    }

    #[test]
    fn changed_fields_read_back_and_move_no_other(
        rest in any_file(),
        which in any::<prop::sample::Index>(),
        values in prop::collection::vec(prop::option::of(prop::option::of(stored_text())), 4),
    ) {
        let original = ["### [E009] 2026-04-01 · 约定\n".as_bytes(), &rest].concat();
        let mut document = Document::new(original.clone());
        let mut expected = read_events(document.text());
        let index = which.index(expected.len());
        let changeable = [Field::Content, Field::UserState, Field::FollowUp, Field::DueDate];
        let changes: Vec<_> =
            changeable.into_iter().zip(values).filter_map(|(field, value)| Some((field, value?))).collect();
        let text = document.text().to_owned();
        let event = events::parse(&text).events.swap_remove(index);
        events::set_fields(&mut document, &event, &changes);
        prop_assume!(!document.touched_invalid_utf8());
        assert_only_the_changes(&original, &document);
        let found = read_events(document.text());
        for (field, value) in changes {
            let column = FIELDS.iter().position(|name| *name == field).unwrap();
            // A field that stood twice shows its second line once the first is dropped.
            expected[index].1[column] = value.or_else(|| found[index].1[column].clone());
        }
        prop_assert_eq!(found, expected, "{}", document.text());
    }

    #[test]
    fn an_added_worry_reads_back_and_moves_no_other(
        original in any_file(),
        worry in stored_text(),
        kind in select(&[Kind::UserTold, Kind::WorkLine, Kind::Relational, Kind::Chore][..]),
    ) {
        let mut document = Document::new(original.clone());
        let before = read_worries(document.text());
        let number = unresolved::largest(&unresolved::parse(document.text()), kind.letter()) + 1;
        unresolved::add(&mut document, kind, number, "L010", &worry);
        assert_only_the_changes(&original, &document);
        let mut after = read_worries(document.text());
        let new = after.iter().position(|(letter, found, ..)| (*letter, *found) == (kind.letter(), number));
        let new = new.map(|index| after.remove(index));
        prop_assert_eq!(new, Some((kind.letter(), number, true, worry.clone())), "{}", document.text());
        prop_assert_eq!(after, before, "{}", document.text());
        let twin = unresolved::parse(document.text());
        let twin = unresolved::active_twin(&twin, kind.letter(), &worry).map(unresolved::Worry::id);
        prop_assert!(twin.is_some(), "a second time it is the same worry");
    }

    #[test]
    fn a_written_mood_reads_back_with_ten_snapshots_at_most(
        original in mood_file(),
        valence in -1000_i32..=1000,
        energy in 0_i32..=1000,
        note in stored_text(),
    ) {
        let level = |thousandths: i32| Level::from_f64(f64::from(thousandths) / 1000.0);
        let after = Mood { valence: level(valence), energy: level(energy) };
        let mut document = Document::new(original.clone().into_bytes());
        mood::write(&mut document, after, "2026-04-14T09:30", &note);
        assert_only_the_changes(original.as_bytes(), &document);
        let (read, problems) = mood::parse(document.text());
        prop_assert_eq!(read, after, "{}", document.text());
        prop_assert!(problems.is_empty());
        let stamps = |text: &str| sections::names(text).into_iter().filter(|name| leading_date(name).is_some()).collect::<Vec<_>>();
        let mut expected = stamps(&original);
        expected.insert(0, "2026-04-14T09:30 · source=conversation".to_owned());
        expected.truncate(10);
        prop_assert_eq!(stamps(document.text()), expected, "{}", document.text());
        let note = format!("note: {}", text::escape(&note));
        prop_assert!(document.text().lines().any(|line| line == note), "{}", document.text());
    }

    #[test]
    fn a_step_of_the_mood_is_what_the_table_says(
        valence in -1000_i32..=1000, energy in 0_i32..=1000,
        delta_valence in -2.0_f64..=2.0, delta_energy in -2.0_f64..=2.0, count in 0_u64..5,
    ) {
        let level = |thousandths: i32| Level::from_f64(f64::from(thousandths) / 1000.0);
        let step = mood::step(Mood { valence: level(valence), energy: level(energy) }, delta_valence, delta_energy, count);
        let blocked = count >= 2 && delta_valence > 0.0;
        let wanted = if blocked { 0.0 } else { delta_valence.clamp(-0.3, 0.3) };
        let expected = (f64::from(valence) / 1000.0 + wanted).clamp(-1.0, 1.0);
        prop_assert!((step.after.valence.to_f64() - expected).abs() < 0.0011, "{step:?}");
        let expected = (f64::from(energy) / 1000.0 + delta_energy.clamp(-0.2, 0.2)).clamp(0.0, 1.0);
        prop_assert!((step.after.energy.to_f64() - expected).abs() < 0.0011, "{step:?}");
        prop_assert_eq!(step.blocked, blocked);
        let healing = delta_valence > 0.0 && valence < 0;
        prop_assert_eq!(step.healing_count, u64::from(healing) * (count + u64::from(!blocked)));
        let two_or_three_decimals = regex::Regex::new(r"^-?[01]\.\d\d[1-9]?$").unwrap();
        for level in [step.after.valence, step.after.energy] {
            let written = level.to_string();
            prop_assert!(!written.starts_with("-0.00") || written.len() > 5, "{written}");
            prop_assert!(two_or_three_decimals.is_match(&written), "{written}");
        }
    }

    #[test]
    fn texts_compare_equal_whatever_their_spaces_width_case_and_last_marks(
        plain in "[a-z0-9\u{4e00}-\u{4e20}]{1,12}",
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..4),
        between in select(&[" ", "\u{3000}", "\n", "\u{200b}", "\u{feff}"][..]),
        end in "[。！？!?.…~ ]{0,3}",
        other in "[a-z0-9\u{4e00}-\u{4e20}]{1,12}",
    ) {
        let key = text::comparison_key(&plain);
        let mut spaced: Vec<char> = plain.chars().collect();
        for place in places {
            let at = place.index(spaced.len() + 1);
            spaced.splice(at..at, between.chars());
        }
        let spaced: String = spaced.into_iter().collect();
        let wide: String = plain.chars().map(|c| if c.is_ascii() { char::from_u32(u32::from(c) + 0xfee0).unwrap() } else { c }).collect();
        for same in [spaced, wide, plain.to_uppercase(), format!("{plain}{end}"), key.clone()] {
            prop_assert_eq!(text::comparison_key(&same), key.as_str(), "{:?}", same);
        }
        prop_assert_eq!(text::comparison_key(&other) == key, other == plain);
    }

    #[test]
    fn a_cut_is_the_beginning_and_no_longer_than_asked(raw in any_text(), limit in 0_usize..12) {
        use unicode_segmentation::UnicodeSegmentation as _;
        let length = raw.graphemes(true).count();
        match text::cut(&raw, limit) {
            None => prop_assert!(length <= limit),
            Some(start) => {
                prop_assert!(length > limit && raw.starts_with(start));
                prop_assert_eq!(start.graphemes(true).count(), limit);
            }
        }
    }
}

#[test]
fn a_character_is_searched_for_alike_beside_any_other() {
    for c in char::MIN..=char::MAX {
        let alone = text::search_key(&c.to_string());
        // Behind it something that is never read the short way.
        let beside = text::search_key(&format!("{c}\u{df}"));
        assert_eq!(beside, format!("{alone}\u{df}"), "{c:?}");
    }
}
