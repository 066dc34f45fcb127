//! Puts a recorded change into a file that others changed since: only within what each change is
//! anchored to, and only where that is still as it was.

use super::{
    MemoryFile, bom_len,
    document::{Anchor, Document, Hunk},
    events, id, markdown, mood, persona, slice, unresolved,
};

/// What became of one recorded change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The file has it already.
    Present,
    /// It was put in.
    Applied,
    /// It was put in under another id, because another program gave out the first one meanwhile.
    Renumbered {
        /// The id that was given out.
        from: String,
        /// The id that it has now.
        to: String,
    },
    /// What it is anchored to was changed: the file stays as it is.
    Conflict,
}

/// Puts one recorded change into a document.
pub fn replay(file: MemoryFile, document: &mut Document, hunk: &Hunk) -> Outcome {
    let new = hunk.new.replace("\r\n", "\n");
    let block = new.trim_start_matches('\n');
    match &hunk.anchor {
        Anchor::NewEvent(number) => new_event(document, *number, block),
        Anchor::NewSentinel => new_sentinel(document, block),
        Anchor::NewWorry(letter, number) => new_worry(document, *letter, *number, block),
        Anchor::NewSnapshot => new_snapshot(document, block),
        Anchor::NewDetail => new_detail(document, block),
        Anchor::Worry(letter, number) => worry(document, *letter, *number, hunk),
        Anchor::Faded(letter, number) => faded(document, *letter, *number, block),
        Anchor::Line => line(document, hunk),
        Anchor::Entry(heading) => in_entry(file, document, heading, hunk),
        Anchor::Field(name) => in_field(file, document, name, hunk),
        // Derived from the events, and refreshed from them once they are whole.
        Anchor::OpenItems => Outcome::Present,
    }
}

/// Whether a document shows any of these changes.
#[must_use]
pub fn shows_any(file: MemoryFile, document: &Document, hunks: &[Hunk]) -> bool {
    hunks.iter().any(|hunk| {
        let is_visible = !hunk.new.trim().is_empty() || !hunk.old.trim().is_empty();
        match hunk.anchor {
            Anchor::OpenItems => false,
            // A later mark makes ours needless, but does not show it.
            Anchor::NewSentinel => has_lines(document.text(), hunk.new.trim()),
            _ => is_visible && replay(file, &mut document.clone(), hunk) == Outcome::Present,
        }
    })
}

fn new_event(document: &mut Document, number: u64, block: &str) -> Outcome {
    let ours = events::parse(block);
    let standing = events::parse(document.text());
    let Some(ours) = ours.events.first() else { return Outcome::Conflict };
    let is_ours = |event: &events::Event<'_>| {
        event.date() == ours.date()
            && event.event_type() == ours.event_type()
            && event.field(events::Field::Content) == ours.field(events::Field::Content)
    };
    if standing.events.iter().any(|event| event.number >= number && is_ours(event)) {
        return Outcome::Present;
    }
    let taken = standing.events.iter().any(|event| event.number == number);
    let free = standing.largest() + 1;
    add_numbered(document, ('E', number), taken.then_some(free), block, |document, block| {
        document.append_entry(block, Anchor::NewEvent(number));
    })
}

fn new_worry(document: &mut Document, letter: char, number: u64, block: &str) -> Outcome {
    let ours = unresolved::parse(block);
    let standing = unresolved::parse(document.text());
    let Some(ours) = ours.first() else { return Outcome::Conflict };
    let mut same_letter = standing.iter().filter(|worry| worry.letter == letter && worry.number >= number);
    if same_letter.any(|worry| worry.text == ours.text) {
        return Outcome::Present;
    }
    let taken = standing.iter().any(|worry| worry.letter == letter && worry.number == number);
    let free = unresolved::largest(&standing, letter) + 1;
    // Of a file that had to be made, only the worry's own line is put into another's file.
    let line = block.lines().find(|line| line.starts_with("- [")).map(|line| format!("{line}\n")).unwrap_or_default();
    add_numbered(document, (letter, number), taken.then_some(free), &line, |document, line| {
        unresolved::insert_active(document, line, Anchor::NewWorry(letter, number));
    })
}

/// Adds an entry under its own number, or under a free one where that is taken.
fn add_numbered(
    document: &mut Document,
    (letter, number): (char, u64),
    renumber: Option<u64>,
    block: &str,
    add: impl FnOnce(&mut Document, &str),
) -> Outcome {
    let from = id(letter, number);
    let Some(free) = renumber else {
        add(document, block);
        return Outcome::Applied;
    };
    let to = id(letter, free);
    add(document, &block.replacen(&format!("[{from}]"), &format!("[{to}]"), 1));
    Outcome::Renumbered { from, to }
}

fn new_sentinel(document: &mut Document, block: &str) -> Outcome {
    let ours = events::parse(block).last_active;
    // A later mark says more than ours, and the last one in the file counts.
    if events::parse(document.text()).last_active >= ours {
        return Outcome::Present;
    }
    document.append_entry(block, Anchor::NewSentinel);
    Outcome::Applied
}

fn new_snapshot(document: &mut Document, block: &str) -> Outcome {
    let snapshot = block.get(block.find("### ").unwrap_or(0)..).unwrap_or(block).trim_end();
    if has_lines(document.text(), snapshot) {
        return Outcome::Present;
    }
    mood::insert_snapshot(document, &format!("{snapshot}\n"));
    Outcome::Applied
}

fn new_detail(document: &mut Document, block: &str) -> Outcome {
    let Some((date, detail)) = persona::last_detail(block) else { return Outcome::Conflict };
    if persona::add_detail(document, date, &detail) { Outcome::Applied } else { Outcome::Present }
}

fn worry(document: &mut Document, letter: char, number: u64, hunk: &Hunk) -> Outcome {
    let worries = unresolved::parse(document.text());
    let Some(standing) = worries.iter().find(|worry| worry.active && (worry.letter, worry.number) == (letter, number))
    else {
        return if hunk.new.is_empty() { Outcome::Present } else { Outcome::Conflict };
    };
    let text = document.text().to_owned();
    let line = slice(&text, standing.place());
    if line.trim_end() == hunk.new.trim_end() {
        Outcome::Present
    } else if line.trim_end() == hunk.old.trim_end() {
        let whole = if hunk.new.is_empty() {
            standing.place()
        } else {
            standing.place().start..standing.place().start + line.trim_end().len()
        };
        document.replace(whole, hunk.new.trim_end(), hunk.anchor.clone());
        Outcome::Applied
    } else {
        Outcome::Conflict
    }
}

/// Replayed behind the change that took it from its place: if it still stands there, it was changed by
/// another hand, and stays.
fn faded(document: &mut Document, letter: char, number: u64, block: &str) -> Outcome {
    let worries = unresolved::parse(document.text());
    match worries.iter().find(|worry| (worry.letter, worry.number) == (letter, number)) {
        Some(standing) if standing.active => Outcome::Conflict,
        Some(_) => Outcome::Present,
        None => {
            let line = block.lines().find(|line| line.starts_with(['-', '*', '+'])).unwrap_or("");
            unresolved::insert_faded(document, &format!("{line}\n"), Anchor::Faded(letter, number));
            Outcome::Applied
        }
    }
}

fn line(document: &mut Document, hunk: &Hunk) -> Outcome {
    let text = document.text().to_owned();
    if markdown::lines(&text).any(|line| line.text == hunk.new) {
        return Outcome::Present;
    }
    let mut old = markdown::lines(&text).filter(|line| line.text == hunk.old);
    match (old.next(), old.next()) {
        (Some(line), None) => {
            document.replace(line.start..line.end(), &hunk.new, Anchor::Line);
            Outcome::Applied
        }
        _ => Outcome::Conflict,
    }
}

fn in_entry(file: MemoryFile, document: &mut Document, heading: &str, hunk: &Hunk) -> Outcome {
    let text = document.text().to_owned();
    let mut lines = markdown::lines(&text).skip_while(|line| line.text != heading || line.heading().is_none());
    let Some(first) = lines.next() else {
        return if hunk.new.is_empty() { Outcome::Present } else { Outcome::Conflict };
    };
    let rest = lines.take_while(|line| line.heading().is_none());
    let entry: Vec<_> = std::iter::once(first).chain(rest).collect();
    let end = entry.last().map_or(first.next, |line| line.next);
    let body = slice(&text, first.start..end);
    if !hunk.new.is_empty() && has_lines(body, &hunk.new) {
        return Outcome::Present;
    }
    if hunk.old.trim().is_empty() {
        let new = hunk.new.replace("\r\n", "\n");
        let new = new.trim_matches('\n');
        let is_part = |line: &&markdown::Line<'_>| line.field().is_some() || line.bullet().is_some();
        let own_place = if file == MemoryFile::Events { events::place_of_field(&text, heading, new) } else { None };
        let at = own_place.unwrap_or_else(|| entry.iter().rev().find(is_part).unwrap_or(&first).next);
        let newline = if slice(&text, 0..at).ends_with('\n') { "" } else { "\n" };
        document.insert_lines(at, &format!("{newline}{new}\n"), hunk.anchor.clone());
        return Outcome::Applied;
    }
    let whole_lines = body.match_indices(&hunk.old).map(|(at, old)| at..at + old.len()).find(|found| {
        let (before, after) = (slice(body, 0..found.start), slice(body, found.end..body.len()));
        (before.is_empty() || before.ends_with('\n') || hunk.old.starts_with('\n'))
            && (after.is_empty() || after.starts_with(['\r', '\n']) || hunk.old.ends_with('\n'))
    });
    match whole_lines {
        Some(found) => {
            document.replace(first.start + found.start..first.start + found.end, &hunk.new, hunk.anchor.clone());
            Outcome::Applied
        }
        None if hunk.new.is_empty() => Outcome::Present,
        None => Outcome::Conflict,
    }
}

fn in_field(file: MemoryFile, document: &mut Document, name: &str, hunk: &Hunk) -> Outcome {
    let text = document.text().to_owned();
    let standing = markdown::lines(&text).find(|line| {
        !line.in_comment && line.text.strip_prefix(name).is_some_and(|rest| rest.starts_with([':', '：']))
    });
    match standing {
        Some(line) if line.text == hunk.new.trim() => Outcome::Present,
        Some(line) if line.text == hunk.old.trim() => {
            document.replace(line.start..line.end(), hunk.new.trim(), hunk.anchor.clone());
            Outcome::Applied
        }
        None if hunk.old.is_empty() => {
            let new = format!("{}\n", hunk.new.trim());
            let (at, newline) = match file {
                MemoryFile::Mood => (bom_len(&text), ""),
                _ if text.is_empty() || text.ends_with('\n') => (text.len(), ""),
                _ => (text.len(), "\n"),
            };
            document.insert_lines(at, &format!("{newline}{new}"), hunk.anchor.clone());
            Outcome::Applied
        }
        _ => Outcome::Conflict,
    }
}

/// Whether the lines stand in the text, one after the other, whatever their endings.
fn has_lines(text: &str, wanted: &str) -> bool {
    let text: Vec<_> = text.lines().collect();
    let wanted: Vec<_> = wanted.trim_matches(['\n', '\r']).lines().collect();
    !wanted.is_empty() && text.windows(wanted.len()).any(|lines| lines == wanted)
}
