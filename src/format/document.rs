//! A file's text with the changes that a call makes to it: whatever they do not name stays byte
//! for byte.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{markdown, slice};

/// What a change belongs to, so that it can be found again in a file that others changed since.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Anchor {
    /// A new event with this number.
    NewEvent(u64),
    /// A new last-active mark.
    NewSentinel,
    /// A new worry of this letter with this number.
    NewWorry(char, u64),
    /// A new mood snapshot.
    NewSnapshot,
    /// A new detail of the character.
    NewDetail,
    /// The line of the worry of this letter with this number.
    Worry(char, u64),
    /// The worry of this letter with this number, where it goes when it has faded.
    Faded(char, u64),
    /// A line, wherever it stands.
    Line,
    /// Lines within the entry that has this heading line.
    Entry(String),
    /// The first line that begins with this field name and a colon, above the first entry.
    Field(String),
    /// The open items of the index, which are derived from the events.
    OpenItems,
}

/// One change: at a place of the original text, old text gives way to new text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// The place in the original text, in bytes.
    pub at: usize,
    /// What stood there.
    pub old: String,
    /// What stands there now.
    pub new: String,
    /// What the change belongs to.
    pub anchor: Anchor,
}

/// A file's text and the changes staged on it.
///
/// The text is what the file would hold if it were valid UTF-8: a byte that is not part of any
/// character stands as one SUBSTITUTE (U+001A), so places in the text are places in the file.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Document {
    text: String,
    /// The file's own bytes, kept in step with the text where they differ from it.
    raw: Option<Vec<u8>>,
    /// Disjoint, in the order of their places.
    hunks: Vec<Hunk>,
    /// A change would have touched bytes that are no text.
    touched_raw: bool,
}

impl Document {
    /// A document of a file's bytes.
    #[must_use]
    pub fn new(bytes: Vec<u8>) -> Self {
        match String::from_utf8(bytes) {
            Ok(text) => Self { text, ..Self::default() },
            Err(error) => {
                let bytes = error.into_bytes();
                let mut text = String::with_capacity(bytes.len());
                for chunk in bytes.utf8_chunks() {
                    text.push_str(chunk.valid());
                    text.extend(chunk.invalid().iter().map(|_| '\u{1a}'));
                }
                Self { text, raw: Some(bytes), ..Self::default() }
            }
        }
    }

    /// The text as it stands now, changes included.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The bytes as they stand now, changes included.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        self.raw.as_deref().unwrap_or(self.text.as_bytes())
    }

    /// The changes, each at its place in the original text.
    #[must_use]
    pub fn hunks(&self) -> &[Hunk] {
        &self.hunks
    }

    /// Whether the file holds bytes that are no text.
    #[must_use]
    pub fn is_valid_utf8(&self) -> bool {
        self.raw.is_none()
    }

    /// Whether a change touched bytes that are no text; such a change must not be written.
    #[must_use]
    pub fn touched_invalid_utf8(&self) -> bool {
        self.touched_raw
    }

    /// Whether all that the changes do is to add text behind what the file held.
    #[must_use]
    pub fn only_appends(&self) -> bool {
        let original_len = self.hunks.iter().fold(self.text.len(), |len, hunk| len + hunk.old.len() - hunk.new.len());
        original_len > 0 && self.hunks.iter().all(|hunk| hunk.old.is_empty() && hunk.at == original_len)
    }

    /// Replaces what stands at a place of the present text. A change that meets an earlier one of
    /// the same document becomes part of it.
    pub fn replace(&mut self, place: Range<usize>, new: &str, anchor: Anchor) {
        if slice(&self.text, place.clone()) == new {
            return;
        }
        let mut union = place.clone();
        let (mut before, mut met, mut after) = (Vec::new(), Vec::<(Range<usize>, Hunk)>::new(), Vec::new());
        let (mut shift, mut shift_before) = (0_isize, 0_isize);
        for hunk in std::mem::take(&mut self.hunks) {
            let start = hunk.at.saturating_add_signed(shift);
            let end = start + hunk.new.len();
            shift = shift.saturating_add_unsigned(hunk.new.len()).saturating_sub_unsigned(hunk.old.len());
            if end <= place.start {
                shift_before = shift;
                before.push(hunk);
            } else if start >= place.end {
                after.push(hunk);
            } else {
                union = union.start.min(start)..union.end.max(end);
                met.push((start..end, hunk));
            }
        }

        let mut old = String::new();
        let mut from = union.start;
        for (range, hunk) in &met {
            old.push_str(slice(&self.text, from..range.start));
            old.push_str(&hunk.old);
            from = range.end;
        }
        old.push_str(slice(&self.text, from..union.end));

        let union_end = union.end + new.len() - place.len();
        if let Some(raw) = &mut self.raw {
            self.touched_raw |= raw.get(place.clone()) != self.text.as_bytes().get(place.clone());
            raw.splice(place.clone(), new.bytes());
        }
        self.text.replace_range(place, new);

        let new = slice(&self.text, union.start..union_end).to_owned();
        let anchor = met.into_iter().next().map_or(anchor, |(_, hunk)| hunk.anchor);
        let at = union.start.saturating_add_signed(-shift_before);
        let changed = (old != new).then_some(Hunk { at, old, new, anchor });
        self.hunks = before.into_iter().chain(changed).chain(after).collect();
    }

    /// Replaces a part of a line; the change is recorded as one of the whole line.
    pub fn replace_in_line(&mut self, place: Range<usize>, new: &str, anchor: Anchor) {
        let before = slice(&self.text, 0..place.start);
        let after = slice(&self.text, place.end..self.text.len());
        let start = before.rfind('\n').map_or(0, |newline| newline + 1);
        let rest = after.lines().next().unwrap_or("");
        let line = format!("{}{new}{rest}", slice(&self.text, start..place.start));
        self.replace(start..place.end + rest.len(), &line, anchor);
    }

    /// Inserts whole lines, given with `\n`, at the beginning of a line; behind a comment, if the line
    /// begins inside one.
    pub fn insert_lines(&mut self, at: usize, lines: &str, anchor: Anchor) {
        let place = markdown::outside_comments(&self.text, at);
        let is_open = place > at && !slice(&self.text, 0..place).ends_with('\n');
        let lines = if is_open { format!("\n{lines}") } else { lines.to_owned() };
        let lines = self.with_own_newlines(&lines);
        self.replace(place..place, &lines, anchor);
    }

    /// Adds whole lines, given with `\n`, at the end, after exactly one blank line. A last line
    /// without a newline gets one.
    pub fn append_entry(&mut self, lines: &str, anchor: Anchor) {
        let mut entry = String::new();
        if let Some(last) = markdown::last_line(&self.text) {
            entry.push_str(if last.next == last.end() { "\n" } else { "" });
            entry.push_str(if last.is_blank() { "" } else { "\n" });
        }
        entry.push_str(lines);
        self.insert_lines(self.text.len(), &entry, anchor);
    }

    /// Inserts whole lines behind a line, a blank line before them and one after them.
    pub(crate) fn insert_apart(&mut self, behind: &markdown::Line<'_>, lines: &str, anchor: Anchor) {
        let newline = if behind.next == behind.end() { "\n" } else { "" };
        let rest = slice(&self.text, behind.next..self.text.len());
        let after = if rest.is_empty() || rest.starts_with(['\n', '\r']) { "" } else { "\n" };
        self.insert_lines(behind.next, &format!("{newline}\n{lines}{after}"), anchor);
    }

    /// Lines given with `\n`, in the line ending of most of the file's lines.
    fn with_own_newlines<'l>(&self, lines: &'l str) -> std::borrow::Cow<'l, str> {
        let bytes = self.text.as_bytes();
        let crlf = memchr::memchr_iter(b'\r', bytes).filter(|at| bytes.get(at + 1) == Some(&b'\n')).count();
        let all = if crlf == 0 { 0 } else { memchr::memchr_iter(b'\n', bytes).count() };
        if crlf * 2 > all { lines.replace('\n', "\r\n").into() } else { lines.into() }
    }
}

/// Applies changes to the bytes that they were made for; `None` if these are other bytes.
#[must_use]
pub fn apply(original: &[u8], hunks: &[Hunk]) -> Option<Vec<u8>> {
    let mut changed = Vec::with_capacity(original.len());
    let mut from = 0;
    for hunk in hunks {
        changed.extend_from_slice(original.get(from..hunk.at)?);
        from = hunk.at + hunk.old.len();
        if original.get(hunk.at..from)? != hunk.old.as_bytes() {
            return None;
        }
        changed.extend_from_slice(hunk.new.as_bytes());
    }
    changed.extend_from_slice(original.get(from..)?);
    Some(changed)
}

/// Takes changes back; `None` if these are not the bytes that the changes led to.
#[must_use]
pub fn revert(changed: &[u8], hunks: &[Hunk]) -> Option<Vec<u8>> {
    let mut shift = 0_isize;
    let inverse: Vec<Hunk> = hunks
        .iter()
        .map(|hunk| {
            let at = hunk.at.saturating_add_signed(shift);
            shift = shift.saturating_add_unsigned(hunk.new.len()).saturating_sub_unsigned(hunk.old.len());
            Hunk { at, old: hunk.new.clone(), new: hunk.old.clone(), anchor: hunk.anchor.clone() }
        })
        .collect();
    apply(changed, &inverse)
}
