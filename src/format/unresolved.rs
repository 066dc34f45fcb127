//! `memory/unresolved.md`: worries `- [U001] src=… kind=… … text`, those of the user (U) and those of
//! the character's own life (M).

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    document::{Anchor, Document},
    id, id_number,
    markdown::{self, Line},
    slice,
    text::{WORRY_FIELDS, comparison_key, escape_worry, unescape},
    without_bom,
};

/// What the heading of the faded worries contains.
const FADED: &str = "已淡忘";

/// Where a worry comes from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// The user told it. Never fades.
    #[default]
    UserTold,
    /// A long line of the character's work. Fades after 90 days.
    WorkLine,
    /// Something between the character and somebody. Fades after 60 days.
    Relational,
    /// A chore of the character's. Fades after 30 days.
    Chore,
}

impl Kind {
    /// The letter of its ids.
    #[must_use]
    pub fn letter(self) -> char {
        if self == Self::UserTold { 'U' } else { 'M' }
    }

    /// The `src`, `kind` and `decay_d` (days) that are written for it.
    fn attributes(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::UserTold => ("user_told", "user_told", "never"),
            Self::WorkLine => ("material_derived", "work_line", "90"),
            Self::Relational => ("material_derived", "relational", "60"),
            Self::Chore => ("material_derived", "chore", "30"),
        }
    }
}

/// A worry as it stands in the file.
#[derive(Debug, Clone)]
pub struct Worry {
    /// `U` or `M`.
    pub letter: char,
    /// Its number.
    pub number: u64,
    /// Whether it stands above `## 已淡忘`.
    pub active: bool,
    /// What it is about, as it was given.
    pub text: String,
    /// The line of the file, from 1.
    pub line: usize,
    /// The line, and indented ones below it that belong to it.
    place: Range<usize>,
    raw: String,
}

impl Worry {
    /// Its id, as `U001`.
    #[must_use]
    pub fn id(&self) -> String {
        id(self.letter, self.number)
    }

    /// The whole line as it stands.
    #[must_use]
    pub fn entry(&self) -> &str {
        &self.raw
    }

    pub(super) fn place(&self) -> Range<usize> {
        self.place.clone()
    }

    /// The value of a `name=value` mark.
    fn mark(&self, name: &str) -> Option<&str> {
        let marks = self.raw.split_whitespace().skip_while(|word| !word.starts_with('[')).skip(1);
        marks.map_while(|word| word.split_once('=')).find(|(found, _)| *found == name).map(|(_, value)| value)
    }

    /// Whether it is of the character's own life, and fades.
    #[must_use]
    pub fn is_fading(&self) -> bool {
        self.mark("src") == Some("material_derived")
    }

    /// After how many days it fades.
    #[must_use]
    pub fn decay_days(&self) -> Option<i32> {
        self.mark("decay_d")?.parse().ok()
    }

    /// The life log entry that it was last touched by.
    #[must_use]
    pub fn last_touched(&self) -> Option<u64> {
        id_number(self.mark("last_touched")?.strip_prefix('L')?)
    }
}

/// The text of a worry's line behind its id and its `name=value` marks.
fn text_of(rest: &str) -> String {
    let mut rest = rest.trim();
    while let Some((mark, after)) = rest.split_once(char::is_whitespace).or((!rest.is_empty()).then_some((rest, ""))) {
        let is_mark = mark.split_once('=').is_some_and(|(name, _)| WORRY_FIELDS.contains(&name));
        if !is_mark {
            break;
        }
        rest = after.trim_start();
    }
    unescape(rest).into_owned()
}

fn worry_id(line: &Line<'_>) -> Option<(char, u64, String)> {
    let rest = line.bullet()?.strip_prefix('[')?;
    let letter = rest.chars().next().filter(|letter| matches!(letter, 'U' | 'M'))?;
    let (digits, rest) = rest.strip_prefix(letter)?.split_once(']')?;
    Some((letter, id_number(digits)?, text_of(rest)))
}

/// Reads the worries, in the order in which they stand.
#[must_use]
pub fn parse(text: &str) -> Vec<Worry> {
    let mut worries: Vec<Worry> = Vec::new();
    let mut faded_below = None;
    let mut in_worry = false;
    for (line, number_of_line) in markdown::lines(text).zip(1..) {
        if let Some((level, heading)) = line.heading() {
            if heading.contains(FADED) {
                faded_below = Some(level);
            } else if faded_below.is_some_and(|faded| level <= faded) {
                faded_below = None;
            }
            in_worry = false;
        } else if let Some((letter, number, text)) = worry_id(&line) {
            in_worry = true;
            worries.push(Worry {
                letter,
                number,
                active: faded_below.is_none(),
                text,
                line: number_of_line,
                place: line.start..line.next,
                raw: line.text.to_owned(),
            });
        } else if let Some(worry) = worries.last_mut().filter(|_| in_worry && line.continues_item()) {
            worry.place.end = line.next;
        } else {
            in_worry = false;
        }
    }
    worries
}

/// The largest number of a letter, faded worries included; 0 if there is none.
#[must_use]
pub fn largest(worries: &[Worry], letter: char) -> u64 {
    worries.iter().filter(|worry| worry.letter == letter).map(|worry| worry.number).max().unwrap_or(0)
}

/// The active worry of the letter that says the same.
#[must_use]
pub fn active_twin<'w>(worries: &'w [Worry], letter: char, text: &str) -> Option<&'w Worry> {
    let key = comparison_key(text);
    worries.iter().find(|worry| worry.active && worry.letter == letter && comparison_key(&worry.text) == key)
}

/// Adds a worry at the end of the active part.
///
/// `last_touched` is a life log id such as `L010`, or `(never)`; `text` is folded.
pub fn add(document: &mut Document, kind: Kind, number: u64, last_touched: &str, text: &str) {
    let (src, kind_name, decay) = kind.attributes();
    let id = id(kind.letter(), number);
    let text = escape_worry(text);
    let line = format!(
        "- [{id}] src={src} kind={kind_name} decay_d={decay} last_touched={last_touched} forced_echo_last=(never) {text}\n"
    );
    insert_active(document, &line, Anchor::NewWorry(kind.letter(), number));
}

/// Inserts a worry's line where new ones go.
pub(crate) fn insert_active(document: &mut Document, line: &str, anchor: Anchor) {
    let text = document.text().to_owned();
    if without_bom(&text).is_empty() {
        document.insert_lines(text.len(), &format!("# 未完挂念\n\n{line}\n## {FADED}\n"), anchor);
        return;
    }
    let lines: Vec<_> = markdown::lines(&text).collect();
    let is_faded = |line: &Line<'_>| line.heading().is_some_and(|(_, heading)| heading.contains(FADED));
    let active = lines.iter().position(is_faded).map_or(lines.as_slice(), |end| lines.get(..end).unwrap_or(&[]));
    // Blank lines, rules and a closing comment rule in front of the faded part stay below.
    let last = active.iter().rev().find(|line| !line.is_blank() && !line.is_rule() && !is_comment_rule(line));
    let at = last.map_or_else(|| lines.first().map_or(0, |line| line.start), |line| line.next);
    let newline = if last.is_some_and(|last| last.next == last.end()) { "\n" } else { "" };
    let blank = if last.is_some_and(|last| last.bullet().is_none()) { "\n" } else { "" };
    let rest = slice(&text, at..text.len());
    let after = if rest.is_empty() || rest.starts_with(['\n', '\r']) { "" } else { "\n" };
    document.insert_lines(at, &format!("{newline}{blank}{line}{after}"), anchor);
}

/// Sets `last_touched` of a worry and, where given, `forced_echo_last`.
///
/// `forced_echo` is a minute with an offset.
pub fn touch(document: &mut Document, worry: &Worry, life_log_id: &str, forced_echo: Option<&str>) {
    let mut line = worry.raw.clone();
    for (name, value) in [("last_touched", Some(life_log_id)), ("forced_echo_last", forced_echo)] {
        if let Some(value) = value {
            line = with_mark(&line, name, value);
        }
    }
    let place = worry.place.start..worry.place.start + worry.raw.len();
    document.replace(place, &line, Anchor::Worry(worry.letter, worry.number));
}

/// A worry's line with a mark set, behind its other marks if it had none of this name.
fn with_mark(line: &str, name: &str, value: &str) -> String {
    let id_end = line.find(']').map_or(0, |at| at + 1);
    let mut at = id_end;
    loop {
        let rest = slice(line, at..line.len());
        let start = at + rest.len() - rest.trim_start().len();
        let word = slice(line, start..line.len()).split(char::is_whitespace).next().unwrap_or("");
        let Some((found, _)) = word.split_once('=').filter(|(found, _)| WORRY_FIELDS.contains(found)) else {
            return format!("{} {name}={value}{}", slice(line, 0..at), slice(line, at..line.len()));
        };
        if found == name {
            return format!("{}{name}={value}{}", slice(line, 0..start), slice(line, start + word.len()..line.len()));
        }
        at = start + word.len();
    }
}

/// Moves a worry to the end of the faded ones, with the words by which it closed if there are any.
pub fn fade(document: &mut Document, worry: &Worry, resolved_by: Option<&str>) {
    let reason = resolved_by.map(|words| format!(" resolved_by: \"{}\"", escape_worry(&words.replace('"', "”"))));
    let continued = slice(document.text(), worry.place.start + worry.raw.len()..worry.place.end).replace("\r\n", "\n");
    let line =
        format!("{}{}\n{}", worry.raw.trim_end(), reason.unwrap_or_default(), continued.trim_start_matches('\n'));
    let line = format!("{}\n", line.trim_end());
    // First it goes: its place is of this text, and 已淡忘 may stand above it.
    document.replace(worry.place.clone(), "", Anchor::Worry(worry.letter, worry.number));
    insert_faded(document, &line, Anchor::Faded(worry.letter, worry.number));
}

/// Inserts a worry's line behind the last faded one.
pub(crate) fn insert_faded(document: &mut Document, line: &str, anchor: Anchor) {
    let text = document.text().to_owned();
    let mut lines =
        markdown::lines(&text).skip_while(|line| !line.heading().is_some_and(|(_, heading)| heading.contains(FADED)));
    let Some(heading) = lines.next() else {
        document.append_entry(&format!("## {FADED}\n\n{line}"), anchor);
        return;
    };
    let section: Vec<_> = lines.take_while(|line| line.heading().is_none()).collect();
    let last_bullet = section.iter().rposition(|line| line.bullet().is_some());
    match last_bullet.and_then(|at| markdown::item_end(&section, at)) {
        Some(last) => {
            let newline = if last.next == last.end() { "\n" } else { "" };
            document.insert_lines(last.next, &format!("{newline}{line}"), anchor);
        }
        None => {
            if let Some(placeholder) = section.iter().find(|line| line.is_placeholder()) {
                let entry = line.trim_end();
                document.replace(placeholder.start..placeholder.end(), entry, anchor);
                return;
            }
            let last = section.iter().rev().find(|line| !line.is_blank()).unwrap_or(&heading);
            document.insert_apart(last, line, anchor);
        }
    }
}

/// A comment on one line that holds no sample of a worry, such as `<!-- ===== -->`.
fn is_comment_rule(line: &Line<'_>) -> bool {
    let text = line.text.trim();
    text.starts_with("<!--") && text.ends_with("-->") && !text.contains("[U") && !text.contains("[M")
}
