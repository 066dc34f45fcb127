//! The passages of a memory file, as a search finds them: entries whole, other text line by line.

use jiff::civil::Date;

use super::{
    MemoryFile,
    events::{self, Field},
    leading_date, markdown,
    text::unescape,
    unresolved,
};

/// A piece of memory that can be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Passage {
    /// The id of the entry, if it is one.
    pub id: Option<String>,
    /// The heading that it stands below.
    pub section: Option<String>,
    /// The line of the file, from 1.
    pub line: usize,
    /// The day that it belongs to, if it says.
    pub date: Option<Date>,
    /// What it says: fields and text, not ids and dates of headings.
    pub text: String,
}

/// The passages of a file, in the order in which they stand.
#[must_use]
pub fn of(file: MemoryFile, text: &str) -> Vec<Passage> {
    match file {
        MemoryFile::Events => events(text),
        MemoryFile::Unresolved => worries(text),
        MemoryFile::LifeLog => entries(text),
        // The items of the index only repeat the events.
        MemoryFile::Index => lines(text).into_iter().filter(|passage| !passage.text.starts_with("[E")).collect(),
        _ => lines(text),
    }
}

fn events(text: &str) -> Vec<Passage> {
    let fields = [Field::Content, Field::UserState, Field::FollowUp, Field::Type, Field::Status];
    events::parse(text)
        .events
        .iter()
        .map(|event| {
            let values: Vec<_> = fields.iter().filter_map(|field| event.field(*field)).collect();
            Passage {
                id: Some(event.id()),
                section: None,
                line: event.line,
                date: event.date(),
                text: values.join(" · "),
            }
        })
        .collect()
}

fn worries(text: &str) -> Vec<Passage> {
    let passage = |worry: unresolved::Worry| Passage {
        id: Some(worry.id()),
        section: None,
        line: worry.line,
        date: None,
        text: worry.text,
    };
    unresolved::parse(text).into_iter().map(passage).collect()
}

/// Entries `### [L013] 2026-04-12T16:00 · title` with all that stands below them.
fn entries(text: &str) -> Vec<Passage> {
    let mut found: Vec<Passage> = Vec::new();
    for (line, number) in markdown::lines(text).zip(1..) {
        if let Some((_, heading)) = line.heading() {
            let entry = heading.strip_prefix('[').and_then(|rest| rest.split_once(']'));
            found.extend(entry.map(|(id, rest)| Passage {
                id: Some(id.to_owned()),
                section: None,
                line: number,
                date: leading_date(rest.trim()),
                text: rest.split_once('·').map_or("", |(_, title)| title.trim()).to_owned(),
            }));
        } else if let (Some(entry), false) = (found.last_mut(), line.is_blank() || !line.visible) {
            entry.text.push_str(" · ");
            entry.text.push_str(&unescape(line.text.trim()));
        }
    }
    found
}

/// What a line says: without bullet, comments and escapes; `None` if it says nothing.
fn said(line: &markdown::Line<'_>) -> Option<String> {
    if !line.visible || line.is_rule() {
        return None;
    }
    let mut rest = line.bullet().unwrap_or(line.text);
    let mut text = String::new();
    while let Some((before, comment)) = rest.split_once("<!--") {
        text.push_str(before);
        rest = comment.split_once("-->").map_or("", |(_, after)| after);
    }
    text.push_str(rest);
    let text = text.trim();
    (!text.is_empty()).then(|| unescape(text).into_owned())
}

fn lines(text: &str) -> Vec<Passage> {
    let mut section: Option<&str> = None;
    let mut date = None;
    let mut found = Vec::new();
    for (line, number) in markdown::lines(text).zip(1..) {
        if let Some((_, heading)) = line.heading() {
            section = Some(heading);
            date = leading_date(heading);
        } else if let Some(text) = said(&line) {
            // A detail of the character carries its own day, as `[2026-04-13]`.
            let own = line.text.split_once('[').and_then(|(_, rest)| leading_date(rest));
            found.push(Passage {
                id: None,
                section: section.map(str::to_owned),
                line: number,
                date: own.or(date),
                text,
            });
        }
    }
    found
}
