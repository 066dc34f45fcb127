//! `memory/persona.md`: the character; the block `在对话中形成的新细节` grows, the rest is corrected
//! where it stands.

use std::ops::Range;

use jiff::civil::Date;

use super::{
    document::{Anchor, Document},
    leading_date,
    markdown::{self, Line},
    slice,
    text::{comparison_key, escape, is_id_at, unescape, unescaped_chars},
};

/// What the heading of the growing block contains.
const BLOCK: &str = "在对话中形成的新细节";

/// How the block's entries are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Style {
    bullet: char,
    is_bold: bool,
}

impl Style {
    const DEFAULT: Self = Self { bullet: '-', is_bold: true };

    fn write(self, date: Date, detail: &str) -> String {
        let Self { bullet, is_bold } = self;
        let date = if is_bold { format!("**[{date}]**") } else { format!("[{date}]") };
        format!("{bullet} {date} {}", escape(detail))
    }
}

/// An entry's style and text.
fn entry<'t>(line: &Line<'t>) -> Option<(Style, &'t str)> {
    let rest = line.bullet()?;
    let bullet = line.text.chars().next()?;
    let (is_bold, rest) = match rest.strip_prefix("**[") {
        Some(rest) => (true, rest),
        None => (false, rest.strip_prefix('[')?),
    };
    let (_, text) = rest.split_once(if is_bold { "]**" } else { "]" })?;
    Some((Style { bullet, is_bold }, text.trim()))
}

fn is_heading(line: &Line<'_>) -> bool {
    line.heading().is_some() || (line.visible && line.text.starts_with('【'))
}

/// The texts of the block's entries, as they were given.
#[must_use]
pub fn details(text: &str) -> Vec<String> {
    block(text).iter().filter_map(entry).map(|(_, text)| unescape(text).into_owned()).collect()
}

/// The date and the text of the last entry in a few lines.
pub(super) fn last_detail(lines: &str) -> Option<(Date, String)> {
    let (line, text) = markdown::lines(lines).filter_map(|line| Some((line, entry(&line)?.1))).last()?;
    let (_, date) = line.text.split_once('[')?;
    Some((leading_date(date)?, unescape(text).into_owned()))
}

/// The lines of the block, its heading first; empty if there is no block.
fn block(text: &str) -> Vec<Line<'_>> {
    let mut lines = markdown::lines(text).skip_while(|line| !(is_heading(line) && line.text.contains(BLOCK)));
    let heading = lines.next();
    let body = lines.take_while(|line| !is_heading(line) && !line.is_rule());
    heading.into_iter().chain(body).collect()
}

/// Adds a detail behind the last entry, in the style of the entries that are there. Answers `false`
/// if the block has it already.
pub fn add_detail(document: &mut Document, date: Date, detail: &str) -> bool {
    let text = document.text().to_owned();
    let block = block(&text);
    let entries: Vec<_> = block.iter().enumerate().filter_map(|(at, line)| Some((at, entry(line)?))).collect();
    let key = comparison_key(detail);
    if entries.iter().any(|(_, (_, text))| comparison_key(&unescape(text)) == key) {
        return false;
    }
    let Some(heading) = block.first() else {
        let entry = Style::DEFAULT.write(date, detail);
        document.append_entry(&format!("## {BLOCK}\n\n{entry}\n"), Anchor::NewDetail);
        return true;
    };
    let placeholder = block.iter().find(|line| line.is_placeholder());
    match (entries.last(), placeholder) {
        (Some((at, (style, _))), _) => {
            let last = markdown::item_end(&block, *at).unwrap_or(heading);
            let newline = if last.next == last.end() { "\n" } else { "" };
            document.insert_lines(last.next, &format!("{newline}{}\n", style.write(date, detail)), Anchor::NewDetail);
        }
        (None, Some(line)) => {
            document.replace(line.start..line.end(), &Style::DEFAULT.write(date, detail), Anchor::NewDetail);
        }
        (None, None) => {
            let prose = block
                .iter()
                .take_while(|line| line.text.starts_with('>') || line.heading().is_some() || line.is_blank());
            let last = prose.filter(|line| !line.is_blank()).last().unwrap_or(heading);
            document.insert_apart(last, &format!("{}\n", Style::DEFAULT.write(date, detail)), Anchor::NewDetail);
        }
    }
    true
}

/// Why a correction cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// The old text stands nowhere.
    NotFound,
    /// The old text stands more than once, in these lines.
    Ambiguous(Vec<usize>),
    /// The line would become something else: a heading, a rule, a fence or a quote, or the block's
    /// heading another one, or a comment mark or an id would come about.
    Forges,
}

/// Replaces a text where it stands: within one line, compared as it is read, exactly one occurrence.
/// Answers the line's number, from 1.
///
/// # Errors
///
/// A [`Refusal`]; the document is unchanged.
pub fn correct(document: &mut Document, old: &str, new: &str) -> Result<usize, Refusal> {
    let text = document.text().to_owned();
    let mut found: Vec<(usize, Line<'_>, Range<usize>)> = Vec::new();
    for (line, number) in markdown::lines(&text).zip(1..).filter(|(line, _)| line.visible) {
        found.extend(occurrences(line.text, old).into_iter().map(|place| (number, line, place)));
    }
    let (number, line, place) = match found.as_slice() {
        [] => return Err(Refusal::NotFound),
        [(number, line, place)] => (*number, line, place.clone()),
        many => return Err(Refusal::Ambiguous(many.iter().map(|(number, ..)| *number).collect())),
    };
    // The same call made again: `不喜欢` for `喜欢` stands already.
    if occurrences(line.text, new).iter().any(|said| said.start <= place.start && place.end <= said.end) {
        return Ok(number);
    }
    let (before, after) = (slice(line.text, 0..place.start), slice(line.text, place.end..line.text.len()));
    let corrected = format!("{before}{}{after}", escape(new));
    let marks_kept = marks(&corrected) == marks(before) + marks(after);
    let reads_right = unescape(&corrected) == format!("{}{new}{}", unescape(before), unescape(after));
    // By its heading the block of details is found.
    let names_block = |text: &str| line.heading().is_some() && text.contains(BLOCK);
    let stays = kind(&corrected) == kind(line.text) && names_block(&corrected) == names_block(line.text);
    if !marks_kept || !reads_right || !stays {
        return Err(Refusal::Forges);
    }
    document.replace(line.start..line.end(), &corrected, Anchor::Line);
    Ok(number)
}

/// The places in a line where a text is read.
fn occurrences(line: &str, wanted: &str) -> Vec<Range<usize>> {
    let chars: Vec<(Range<usize>, char)> = unescaped_chars(line).collect();
    let wanted: Vec<char> = wanted.chars().collect();
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(window) = chars.get(at..at + wanted.len()) {
        let is_match = window.iter().map(|(_, c)| *c).eq(wanted.iter().copied());
        if let (true, Some((first, _)), Some((last, _))) = (is_match, window.first(), window.last()) {
            places.push(first.start..last.end);
        }
        // One further: occurrences may overlap.
        at += 1;
    }
    places
}

/// How many comment marks and ids a text holds.
fn marks(text: &str) -> usize {
    let ids = text.match_indices('[').filter(|(at, _)| is_id_at(text, *at)).count();
    text.matches("<!--").count() + text.matches("-->").count() + ids
}

/// What a line is to Markdown, as far as it matters to what stands around it.
fn kind(text: &str) -> (Option<usize>, bool, bool, bool, bool) {
    let line = Line::alone(0, text, text.len());
    let trimmed = text.trim_start();
    (
        line.heading().map(|(level, _)| level),
        line.is_rule(),
        trimmed.starts_with("```") || trimmed.starts_with("~~~"),
        trimmed.starts_with('>'),
        is_heading(&line),
    )
}

/// The character's emotional stability, 1 to 5; 3 if it is not said.
#[must_use]
pub fn stability(text: &str) -> u8 {
    let said = markdown::lines(text).filter(|line| !line.in_comment).find_map(|line| {
        let rest = line.text.trim_start_matches(['-', '*', ' ', '\t']).strip_prefix("stability")?;
        let value = rest.trim_start_matches(['*', ' ']).strip_prefix([':', '：'])?;
        value.split_whitespace().next()?.parse().ok()
    });
    said.filter(|level| (1..=5).contains(level)).unwrap_or(3)
}
