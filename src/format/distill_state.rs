//! `memory/distill_state.md`: how far the distillation has come, `### [D000] · last_distillation`.

use std::fmt::Write as _;

use jiff::civil::Date;

use super::{
    document::{Anchor, Document},
    leading_date,
    markdown::{self, Line},
};

const HEADING: &str = "### [D000] · last_distillation";
const TIMESTAMP: &str = "timestamp";
const LAST_SCAN: &str = "last_decay_scan";
const CURSOR: &str = "cursor";

/// The last message that was examined in a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cursor {
    /// The chat's key.
    pub channel: String,
    /// The message's id.
    pub message_id: String,
    /// Its row in the database.
    pub row: i64,
    /// The timestamp that was written with it.
    pub timestamp: String,
}

/// What the file says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct State {
    /// The value of `timestamp:`, whatever it is; empty if there is none.
    pub timestamp: String,
    /// The cursors, one a channel.
    pub cursors: Vec<Cursor>,
    /// The `timestamp:` and `cursor:` lines as they stand: a commit is only right if they still do.
    pub lines: Vec<String>,
    /// How many `[D000]` entries there are.
    pub entries: usize,
}

/// Every `[D000]` entry, each as its lines, heading first.
fn entries(text: &str) -> Vec<Vec<Line<'_>>> {
    let mut entries: Vec<Vec<Line<'_>>> = Vec::new();
    let mut in_entry = false;
    for line in markdown::lines(text) {
        if let Some((_, heading)) = line.heading() {
            in_entry = heading.starts_with("[D000]");
            if in_entry {
                entries.push(Vec::new());
            }
        }
        if let (true, Some(entry)) = (in_entry, entries.last_mut()) {
            entry.push(line);
        }
    }
    entries
}

/// The entry that counts: the last one whose timestamp is usable, or else the last one.
fn chosen<'t>(text: &'t str, is_usable: impl Fn(&str) -> bool) -> Vec<Line<'t>> {
    let mut entries = entries(text);
    let usable = |entry: &Vec<Line<'t>>| entry.iter().find_map(|line| value(line, TIMESTAMP)).is_some_and(&is_usable);
    let at = entries.iter().rposition(usable).or(entries.len().checked_sub(1));
    at.map(|at| entries.swap_remove(at)).unwrap_or_default()
}

fn value<'t>(line: &Line<'t>, name: &str) -> Option<&'t str> {
    line.text.strip_prefix(name)?.strip_prefix([':', '：']).map(str::trim)
}

/// Reads the file. `is_usable` tells whether a timestamp is one.
#[must_use]
pub fn parse(text: &str, is_usable: impl Fn(&str) -> bool) -> State {
    let entry = chosen(text, is_usable);
    let of = |name: &'static str| entry.iter().filter(move |line| value(line, name).is_some());
    State {
        timestamp: of(TIMESTAMP).find_map(|line| value(line, TIMESTAMP)).unwrap_or("").to_owned(),
        cursors: of(CURSOR).filter_map(|line| parse_cursor(value(line, CURSOR)?)).collect(),
        lines: of(TIMESTAMP).chain(of(CURSOR)).map(|line| line.text.to_owned()).collect(),
        entries: entries(text).len(),
    }
}

fn parse_cursor(value: &str) -> Option<Cursor> {
    let mut words = value.split_whitespace();
    let cursor = Cursor {
        channel: percent_decoded(words.next()?),
        message_id: percent_decoded(words.next()?),
        row: words.next()?.parse().ok()?,
        timestamp: words.next()?.to_owned(),
    };
    words.next().is_none().then_some(cursor)
}

/// Writes how far the distillation has come.
pub fn advance(document: &mut Document, cursor: &Cursor, is_usable: impl Fn(&str) -> bool) {
    let Cursor { channel, message_id, row, timestamp } = cursor;
    let (channel_word, id_word) = (percent_encoded(channel), percent_encoded(message_id));
    set(document, TIMESTAMP, timestamp, |_| true, &is_usable);
    let line = format!("{channel_word} {id_word} {row} {timestamp}");
    let is_of_channel = |value: &str| value.split_whitespace().next() == Some(&channel_word);
    set(document, CURSOR, &line, is_of_channel, &is_usable);
}

/// Keeps the entry that counts and removes the others.
pub fn keep_one(document: &mut Document, is_usable: impl Fn(&str) -> bool) {
    let text = document.text().to_owned();
    let kept = chosen(&text, is_usable).first().map(|heading| heading.start);
    for entry in entries(&text).iter().rev() {
        let (Some(heading), Some(last)) = (entry.first(), entry.last()) else { continue };
        if Some(heading.start) == kept {
            continue;
        }
        let anchor = || Anchor::Entry(heading.text.to_owned());
        let is_ours = |line: &&Line<'_>| {
            line.heading().is_some() || [TIMESTAMP, CURSOR, LAST_SCAN].iter().any(|name| value(line, name).is_some())
        };
        if entry.iter().all(|line| line.is_blank() || is_ours(&line)) {
            document.replace(heading.start..last.next, "", anchor());
            continue;
        }
        // What a person wrote below it stays.
        for line in entry.iter().rev().filter(is_ours) {
            document.replace(line.start..line.next, "", anchor());
        }
    }
}

/// The day of the last scan for what has faded, if there was one.
#[must_use]
pub fn last_scan(text: &str) -> Option<Date> {
    chosen(text, |_| true).iter().find_map(|line| value(line, LAST_SCAN)).and_then(leading_date)
}

/// Writes the day of the last scan.
pub fn set_last_scan(document: &mut Document, date: Date) {
    set(document, LAST_SCAN, &date.to_string(), |_| true, &|_: &str| true);
}

/// Sets a line of the entry that counts; a new one goes to its end, but `timestamp:` stands directly
/// below the heading, where the old procedure replaces it.
fn set(
    document: &mut Document,
    name: &str,
    new: &str,
    is_meant: impl Fn(&str) -> bool,
    is_usable: &impl Fn(&str) -> bool,
) {
    let text = document.text().to_owned();
    let entry = chosen(&text, is_usable);
    let new = format!("{name}: {new}");
    let Some(heading) = entry.first() else {
        let timestamp = if name == TIMESTAMP { String::new() } else { format!("{TIMESTAMP}:\n") };
        document.append_entry(&format!("{HEADING}\n{timestamp}{new}\n"), Anchor::Entry(HEADING.to_owned()));
        return;
    };
    let anchor = Anchor::Entry(heading.text.to_owned());
    if let Some(line) = entry.iter().find(|line| value(line, name).is_some_and(&is_meant)) {
        document.replace(line.start..line.end(), &new, anchor);
        return;
    }
    let last =
        if name == TIMESTAMP { heading } else { entry.iter().rev().find(|line| !line.is_blank()).unwrap_or(heading) };
    let newline = if last.next == last.end() { "\n" } else { "" };
    document.insert_lines(last.next, &format!("{newline}{new}\n"), anchor);
}

fn percent_encoded(word: &str) -> String {
    let mut encoded = String::new();
    for byte in word.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:@!$'()*,;=/+".contains(&byte) {
            encoded.push(char::from(byte));
        } else {
            let _ = write!(encoded, "%{byte:02X}");
        }
    }
    // An empty word would be no word.
    if encoded.is_empty() { "%".to_owned() } else { encoded }
}

/// The bytes that a word writes as `%XX`.
#[must_use]
pub fn percent_decoded(word: &str) -> String {
    let mut bytes = Vec::with_capacity(word.len());
    let mut rest = word.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        let hex = (*first == b'%').then(|| after.get(..2)).flatten().and_then(|hex| std::str::from_utf8(hex).ok());
        match hex.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = after.get(2..).unwrap_or(&[]);
            }
            None => {
                bytes.extend((word != "%").then_some(*first));
                rest = after;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}
