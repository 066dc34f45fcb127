//! What must hold for any bytes at all; one function for each target in `fuzz_targets/`.
//!
//! The formats get a file and a text, divided by the first NUL. `calls` gets four bytes a call.

#[path = "../../tests/reference/mod.rs"]
mod reference;

use companion_memory::{
    clock::Clock,
    format::{
        MemoryFile, distill_state,
        document::{self, Anchor, Document, Hunk},
        events::{self, EventType, Field, NewEvent},
        index, leading_date, life_log,
        mood::{self, Level, Mood},
        passages, persona, profile, profile_change,
        replay::{Outcome, replay as replay_hunk},
        sections, session_context, summary, text as texts,
        unresolved::{self, Kind},
    },
    ops::{self, Context},
    workspace::{Cancel, Location, Wait},
};
use jiff::civil::{Date, date};
use reference::calls::{Call, FIRST_FILES, Model, without_times};
use std::{fs, time::Duration};

const TODAY: Date = date(2026, 4, 13);

/// A file, and a text as a caller's is stored: folded and not empty.
fn file_and_text(data: &[u8]) -> (Document, Vec<u8>, String) {
    let cut = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (file, rest) = data.split_at(cut);
    // A lone CR at the end would become a line ending with the LF that the last line gets.
    let file = &file[..file.iter().rposition(|byte| *byte != b'\r').map_or(0, |last| last + 1)];
    let stored = texts::fold(&String::from_utf8_lossy(rest.get(1..).unwrap_or(&[])));
    let stored = if stored.is_empty() { "一".to_owned() } else { stored };
    (Document::new(file.to_vec()), file.to_vec(), stored)
}

/// The changes can be undone and done again, and do not overlap.
fn assert_only_the_changes(original: &[u8], document: &Document) {
    if document.touched_invalid_utf8() {
        return;
    }
    let hunks = document.hunks();
    assert_eq!(document::apply(original, hunks).as_deref(), Some(document.bytes()), "{hunks:?}");
    assert_eq!(document::revert(document.bytes(), hunks).as_deref(), Some(original), "{hunks:?}");
    assert!(hunks.windows(2).all(|pair| pair[0].at + pair[0].old.len() <= pair[1].at), "{hunks:?}");
}

/// Every field of every event, as a reader gets it.
fn read_events(text: &str) -> Vec<(u64, Vec<Option<String>>)> {
    let fields = [
        Field::Type,
        Field::Content,
        Field::Intensity,
        Field::UserState,
        Field::FollowUp,
        Field::Status,
        Field::DueDate,
    ];
    let read = |event: &events::Event<'_>| (event.number, fields.iter().map(|field| event.field(*field)).collect());
    events::parse(text).events.iter().map(read).collect()
}

pub fn text(data: &[u8]) {
    let raw = String::from_utf8_lossy(data);
    let folded = texts::fold(&raw);
    assert_eq!(texts::fold(&folded), folded);
    for escaped in [texts::escape(&folded), texts::escape_worry(&folded)] {
        assert_eq!(texts::unescape(&escaped), folded);
        assert!(
            !escaped.contains(['\n', '\r']) && !escaped.contains("<!--") && !escaped.contains("-->"),
            "{escaped:?}"
        );
        assert_eq!(escaped.matches("<br>").count(), folded.matches('\n').count(), "{escaped:?}");
    }
    // A text of punctuation alone keeps it.
    let key = texts::comparison_key(&format!("x{raw}"));
    assert_eq!(texts::comparison_key(&format!(" x{raw} 。")), key);
    let _ = (texts::unescape(&raw), texts::search_key(&raw), texts::shorten(&raw), leading_date(&raw));
    if let Some(start) = texts::cut(&raw, 10) {
        assert!(raw.starts_with(start) && start.len() < raw.len());
    }
}

pub fn events(data: &[u8]) {
    let (mut document, original, content) = file_and_text(data);
    let text = document.text().to_owned();
    let found: Vec<_> = events::parse(&text).events.iter().map(|event| (event.number, event.line)).collect();
    assert_eq!(found, reference::events(&text));
    let headings: Vec<_> =
        reference::lines(&text).iter().filter_map(reference::heading).map(|(_, heading)| heading.to_owned()).collect();
    assert_eq!(sections::names(&text), headings);
    for name in &headings {
        assert!(sections::find(&text, name).is_some());
    }
    let _ = passages::of(MemoryFile::Events, &text);

    let mut expected = read_events(&text);
    let number = events::parse(&text).largest() + 1;
    let fields = vec![(Field::Content, content.clone()), (Field::Status, "待跟进".to_owned())];
    events::append(&mut document, number, &NewEvent { date: TODAY, event_type: EventType::约定, fields });
    assert_only_the_changes(&original, &document);
    let told = |text: &str| Some(text.to_owned());
    expected.push((number, vec![told("约定"), told(&content), None, None, None, told("待跟进"), None]));
    assert_eq!(read_events(document.text()), expected, "{}", document.text());

    let last = expected.len() - 1;
    let text = document.text().to_owned();
    let changes = [(Field::UserState, Some(content.clone())), (Field::Content, Some("二".to_owned()))];
    events::set_fields(&mut document, events::parse(&text).events.last().unwrap(), &changes);
    expected[last].1[1] = told("二");
    expected[last].1[3] = told(&content);
    assert_eq!(read_events(document.text()), expected, "{}", document.text());
    events::append_last_active(&mut document, "2026-04-13T21:05");
    assert!(!events::append_last_active(&mut document, "2026-04-13T21:05"));
    assert_only_the_changes(&original, &document);
    assert_eq!(read_events(document.text()), expected);
}

pub fn unresolved(data: &[u8]) {
    let (mut document, original, worry) = file_and_text(data);
    let read = |text: &str| {
        unresolved::parse(text).into_iter().map(|w| (w.letter, w.number, w.active, w.text)).collect::<Vec<_>>()
    };
    let before = read(document.text());
    let _ = passages::of(MemoryFile::Unresolved, document.text());
    let number = unresolved::largest(&unresolved::parse(document.text()), 'U') + 1;
    unresolved::add(&mut document, Kind::UserTold, number, "(never)", &worry);
    assert_only_the_changes(&original, &document);
    let mut after = read(document.text());
    let new =
        after.iter().position(|(letter, found, ..)| (*letter, *found) == ('U', number)).expect("the new worry is read");
    assert_eq!(after.remove(new), ('U', number, true, worry), "{}", document.text());
    assert_eq!(after, before, "{}", document.text());

    let text = document.text().to_owned();
    let standing = unresolved::parse(&text);
    let one = standing.iter().find(|worry| (worry.letter, worry.number) == ('U', number)).unwrap();
    unresolved::touch(&mut document, one, "L013", Some("2026-04-13T21:05+08:00"));
    let text = document.text().to_owned();
    let standing = unresolved::parse(&text);
    let one = standing.iter().find(|worry| (worry.letter, worry.number) == ('U', number)).unwrap();
    assert_eq!(one.last_touched(), Some(13));
    unresolved::fade(&mut document, one, Some("好了"));
    assert_only_the_changes(&original, &document);
    let after = read(document.text());
    assert_eq!(after.len(), before.len() + 1, "{}", document.text());
    assert!(after.iter().any(|(letter, found, active, _)| (*letter, *found, *active) == ('U', number, false)));
}

pub fn index(data: &[u8]) {
    let (mut document, original, _) = file_and_text(data);
    let cut = data.iter().position(|byte| *byte == 0).map_or(data.len(), |cut| cut + 1);
    let log = String::from_utf8_lossy(&data[cut..]).into_owned();
    let events = events::parse(&log);
    let _ = index::initialization_status(document.text());
    index::refresh(&mut document, &events, TODAY);
    assert_only_the_changes(&original, &document);
    let pressing: Vec<_> = events::most_pressing(&events, TODAY, 3).iter().map(|event| event.number).collect();
    assert_eq!(index::cited(document.text()), pressing, "{}", document.text());
    let mut again = Document::new(document.bytes().to_vec());
    assert!(index::refresh(&mut again, &events, TODAY));
    assert!(again.hunks().is_empty(), "{:?} in {}", again.hunks(), document.text());
}

pub fn mood(data: &[u8]) {
    let (mut document, original, note) = file_and_text(data);
    let (before, _) = mood::parse(document.text());
    let _ = (mood::healing_count(document.text()), mood::last_decay(document.text()));
    let step = mood::step(before, 0.1, -0.1, u64::from(data.first().copied().unwrap_or(0) % 4));
    let level = |value: Level, least: f64| (least..=1.0).contains(&value.to_f64());
    assert!(level(step.after.valence, -1.0) && level(step.after.energy, 0.0), "{step:?}");
    let after = Mood { valence: Level::from_f64(-0.125), energy: Level::from_f64(0.75) };
    mood::write(&mut document, after, "2026-04-13T21:05", &note);
    assert_only_the_changes(&original, &document);
    assert_eq!(mood::parse(document.text()).0, after, "{}", document.text());

    let mut aux = Document::new(original.clone());
    mood::write_aux(&mut aux, "2026-04-13T21:05:00+08:00", 2);
    assert_only_the_changes(&original, &aux);
    mood::end_healing(&mut aux);
    assert_only_the_changes(&original, &aux);
}

pub fn persona(data: &[u8]) {
    let (mut document, original, detail) = file_and_text(data);
    let before = persona::details(document.text());
    assert!((1..=5).contains(&persona::stability(document.text())));
    let written = persona::add_detail(&mut document, TODAY, &detail);
    assert_only_the_changes(&original, &document);
    let mut after = persona::details(document.text());
    if written {
        let new = after
            .iter()
            .rposition(|found| *found == detail)
            .unwrap_or_else(|| panic!("not there: {}", document.text()));
        after.remove(new);
    }
    assert_eq!(after, before, "{}", document.text());
    assert!(!persona::add_detail(&mut document, TODAY, &detail), "a second time it is there already");

    let text = document.text().to_owned();
    let lines = text.lines().count();
    if let Ok(line) = persona::correct(&mut document, &detail, "改了 [E012] <!-- x -->") {
        assert!((1..=lines).contains(&line));
        assert_eq!(sections::names(document.text()).len(), sections::names(&text).len(), "{}", document.text());
    }
    assert_only_the_changes(&original, &document);
}

pub fn profile(data: &[u8]) {
    let (mut document, original, entry) = file_and_text(data);
    let text = document.text().to_owned();
    let standing = profile::parse(&text);
    let names: Vec<_> = standing.iter().map(|section| section.name.clone()).collect();
    for section in &standing {
        assert!(profile::find(&standing, &section.name).is_some());
    }
    let Some(section) = standing.first() else { return };
    let before = section.entries().count();
    let routing = text.matches("routing_key").count();
    let entry = entry.replace("routing_key", "");
    let entry = texts::fold(&entry);
    if entry.is_empty() {
        return;
    }
    let done = profile_change::change(
        &mut document,
        section,
        &profile_change::Change::Add(entry),
        profile_change::Terms::default(),
    );
    assert_only_the_changes(&original, &document);
    let text = document.text().to_owned();
    let after = profile::parse(&text);
    assert_eq!(after.iter().map(|section| section.name.clone()).collect::<Vec<_>>(), names, "{text}");
    assert_eq!(text.matches("routing_key").count(), routing, "{text}");
    match done {
        Err(_) => assert!(document.hunks().is_empty()),
        Ok(_) => assert!(after[0].entries().count() <= before.max(profile::ENTRY_LIMIT), "{text}"),
    }
    // With an entry that opens a comment, what the comment hides comes and goes.
    if text.contains("<!--") {
        return;
    }
    let section = &after[0];
    if let Some(old) = section.entries().next().map(|entry| entry.text.clone()) {
        let terms = profile_change::Terms { user_said: true, ..profile_change::Terms::default() };
        let count = section.entries().count();
        if let Ok(outcome) = profile_change::change(&mut document, section, &profile_change::Change::Remove(old), terms)
        {
            assert!(outcome.written);
            assert_eq!(profile::parse(document.text())[0].entries().count(), count - 1, "{}", document.text());
        }
        assert_only_the_changes(&original, &document);
    }
}

pub fn life_log(data: &[u8]) {
    let text = String::from_utf8_lossy(data);
    let dates = life_log::dates([&text.to_string()]);
    let newest = life_log::newest(&text);
    assert!(dates.keys().all(|number| newest.is_some_and(|newest| *number <= newest)), "{dates:?} up to {newest:?}");
    let _ = session_context::parse(&text);
    let _ = summary::is_due(&text, &text);
}

pub fn distill(data: &[u8]) {
    let (mut document, original, word) = file_and_text(data);
    let is_usable = |timestamp: &str| timestamp.starts_with("20");
    let before = distill_state::parse(document.text(), is_usable);
    let _ = distill_state::last_scan(document.text());
    let cursor = distill_state::Cursor {
        channel: word.clone(),
        message_id: "m 1".to_owned(),
        row: -7,
        timestamp: "2026-04-13T08:40:12.3+08:00".to_owned(),
    };
    distill_state::advance(&mut document, &cursor, is_usable);
    distill_state::set_last_scan(&mut document, TODAY);
    assert_only_the_changes(&original, &document);
    let after = distill_state::parse(document.text(), is_usable);
    assert_eq!(after.timestamp, cursor.timestamp, "{}", document.text());
    assert!(after.cursors.contains(&cursor), "{cursor:?} in {}", document.text());
    assert_eq!(after.entries, before.entries.max(1));
    distill_state::keep_one(&mut document, is_usable);
    assert_only_the_changes(&original, &document);
    assert_eq!(distill_state::parse(document.text(), is_usable).timestamp, cursor.timestamp, "{}", document.text());
}

/// Edits of any kind, two places and a length each.
pub fn document(data: &[u8]) {
    let cut = data.iter().position(|byte| *byte == 0).unwrap_or(data.len());
    let (original, edits) = data.split_at(cut);
    let mut document = Document::new(original.to_vec());
    let mut model = original.to_vec();
    for edit in edits.get(1..).unwrap_or(&[]).chunks_exact(4).take(32) {
        let text = document.text().to_owned();
        let place = |byte: u8| text.floor_char_boundary(usize::from(byte) * (text.len() + 1) / 256);
        let (from, to) = (place(edit[1]).min(place(edit[2])), place(edit[1]).max(place(edit[2])));
        let new = &["", "x", "周五", "a\nb", "\n", "---"][usize::from(edit[3]) % 6];
        match edit[0] % 3 {
            0 => {
                document.replace(from..to, new, Anchor::Line);
                model.splice(from..to, new.bytes());
            }
            1 => {
                let end = text[from..].find(['\n', '\r']).map_or(text.len(), |end| from + end).min(to);
                document.replace_in_line(from..end, new, Anchor::Line);
                model.splice(from..end, new.bytes());
            }
            _ => {
                let before = text.len();
                document.append_entry("新的一行\n", Anchor::Line);
                assert!(document.text().starts_with(&text) && document.text().len() > before);
                model = document.bytes().to_vec();
            }
        }
        if document.touched_invalid_utf8() {
            return;
        }
        assert_eq!(document.bytes(), model);
    }
    assert_only_the_changes(original, &document);
}

/// A recorded change met by a file that somebody else changed since.
pub fn replay(data: &[u8]) {
    let (_, file, new) = file_and_text(data);
    let which = data.last().copied().unwrap_or(0);
    let mut source = Document::new("# 事件\n\n### [E001] 2026-04-11 · 约定\n**内容**：旧\n".as_bytes().to_vec());
    let fields = vec![(Field::Content, new.clone())];
    let memory_file = match which % 5 {
        0 => {
            events::append(&mut source, 2, &NewEvent { date: TODAY, event_type: EventType::约定, fields });
            MemoryFile::Events
        }
        1 => {
            let text = source.text().to_owned();
            let standing = events::parse(&text);
            events::set_fields(&mut source, &standing.events[0], &[(Field::Content, Some(new))]);
            MemoryFile::Events
        }
        2 => {
            unresolved::add(&mut source, Kind::Chore, 1, "L001", &new);
            MemoryFile::Unresolved
        }
        3 => {
            mood::write(
                &mut source,
                Mood { valence: Level::from_f64(0.5), energy: Level::from_f64(0.5) },
                "2026-04-13T21:05",
                &new,
            );
            MemoryFile::Mood
        }
        _ => {
            persona::add_detail(&mut source, TODAY, &new);
            MemoryFile::Persona
        }
    };
    let hunks: Vec<Hunk> = source.hunks().to_vec();
    let mut found = Document::new(file.clone());
    let first: Vec<_> = hunks.iter().map(|hunk| replay_hunk(memory_file, &mut found, hunk)).collect();
    assert_only_the_changes(&file, &found);
    if found.touched_invalid_utf8() {
        return;
    }
    // A second recovery finds all that the first one put in.
    let mut again = Document::new(found.bytes().to_vec());
    for (hunk, first) in hunks.iter().zip(&first) {
        let second = replay_hunk(memory_file, &mut again, hunk);
        let is_settled = second == Outcome::Present || (second == *first && *first == Outcome::Conflict);
        assert!(is_settled, "{first:?}, then {second:?} for {hunk:?} in {}", found.text());
    }
    assert!(again.hunks().is_empty(), "{:?}", again.hunks());
}

/// Whole sequences of calls, against the plain lists of the reference.
pub fn calls(data: &[u8]) {
    let folder = tempfile::tempdir_in(if fs::metadata("/dev/shm").is_ok() { "/dev/shm" } else { "." }).unwrap();
    fs::create_dir(folder.path().join("memory")).unwrap();
    for (path, text) in FIRST_FILES {
        fs::write(folder.path().join(path), text).unwrap();
    }
    let clock = Clock::new(Some("Asia/Shanghai")).unwrap();
    let today = clock.now().date();
    let context = Context {
        location: Location::Named(folder.path().to_owned()),
        clock: clock.clone(),
        distillation: ops::distillation::Distillation::new(Duration::from_secs(900)),
    };
    let mut model = Model::new(today);
    for bytes in data.chunks_exact(4).take(40) {
        let call = Call::decode(bytes.try_into().unwrap(), today);
        let wait = Wait { limit: Duration::from_secs(1), cancel: Cancel::default() };
        let arguments = call.arguments.as_object().unwrap().clone();
        let answer = ops::find(call.tool).unwrap().call(&context, &wait, arguments);
        if clock.now().date() != today {
            return;
        }
        match answer {
            Ok(answer) => {
                if let Some(settling) = answer.settling {
                    settling.settle().unwrap();
                }
                model.expect(&call, Ok(&serde_json::Value::Object(answer.result)));
            }
            Err(error) => model.expect(&call, Err(error.code())),
        }
        for (path, expected) in model.files() {
            let found = fs::read_to_string(folder.path().join(path)).unwrap();
            assert_eq!(without_times(&found), expected, "`{path}` after {call:?}");
        }
    }
}
