//! Pure text to values and back: no file, clock or environment is touched here.
//!
//! One file for each kind of memory file, and the grammar they share.

pub mod distill_state;
pub mod document;
pub mod events;
pub mod index;
pub mod life_log;
mod markdown;
pub mod mood;
pub mod passages;
pub mod persona;
pub mod profile;
pub mod profile_change;
pub mod replay;
pub mod sections;
pub mod session_context;
pub mod summary;
pub mod text;
pub mod unresolved;

use std::ops::Range;

use jiff::civil::Date;

/// The files of a workspace that hold memory, in the order in which a change is applied to them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MemoryFile {
    /// What happened and what was promised.
    Events,
    /// What is still on somebody's mind.
    Unresolved,
    /// The mood now and its last snapshots.
    Mood,
    /// When the mood was written last, and the healing steps in a row.
    MoodAux,
    /// The character.
    Persona,
    /// The user.
    Profile,
    /// The character's own life. Read only.
    LifeLog,
    /// The last messages. Read only.
    History,
    /// The summary of the conversations. Read only.
    Summary,
    /// How far the distillation has come.
    DistillState,
    /// The index that every conversation begins with. Always last: it cites the others.
    Index,
}

impl MemoryFile {
    /// Every file.
    pub const ALL: [Self; 11] = [
        Self::Events,
        Self::Unresolved,
        Self::Mood,
        Self::MoodAux,
        Self::Persona,
        Self::Profile,
        Self::LifeLog,
        Self::History,
        Self::Summary,
        Self::DistillState,
        Self::Index,
    ];

    /// The file's place below the workspace.
    #[must_use]
    pub fn path(self) -> &'static str {
        match self {
            Self::Events => "memory/events.md",
            Self::Unresolved => "memory/unresolved.md",
            Self::Mood => "memory/mood_state.md",
            Self::MoodAux => ".mood_state_aux",
            Self::Persona => "memory/persona.md",
            Self::Profile => "memory/user_profile.md",
            Self::LifeLog => "memory/life_log.md",
            Self::History => "memory/RECENT_HISTORY.md",
            Self::Summary => "memory/session_summary.md",
            Self::DistillState => "memory/distill_state.md",
            Self::Index => "memory/MEMORY.md",
        }
    }
}

/// The part of a text at a place that the text itself gave; nothing where it is not one.
pub(crate) fn slice(text: &str, place: Range<usize>) -> &str {
    text.get(place).unwrap_or("")
}

/// A text without its byte order mark, if it begins with one; a second one is text.
#[must_use]
pub fn without_bom(text: &str) -> &str {
    text.strip_prefix('\u{feff}').unwrap_or(text)
}

/// Whether a text says nothing: white space, perhaps behind a byte order mark.
#[must_use]
pub fn is_empty(text: &str) -> bool {
    without_bom(text).trim().is_empty()
}

/// How a line begins that stands in for a first entry, such as `（暂无）` or `（暂无快照）`.
pub const PLACEHOLDER: &str = "（暂无";

/// Where a text begins behind its byte order mark.
pub(crate) fn bom_len(text: &str) -> usize {
    text.len() - without_bom(text).len()
}

/// The date at the beginning of a value, `YYYY-MM-DD` or `YYYY/M/D`, if there is such a day.
#[must_use]
pub fn leading_date(value: &str) -> Option<Date> {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let (year, rest) = value.split_at_checked(digits(value)).filter(|(year, _)| year.len() == 4)?;
    let separator = rest.chars().next().filter(|c| matches!(c, '-' | '/'))?;
    let rest = rest.strip_prefix(separator)?;
    let (month, rest) = rest.split_at_checked(digits(rest))?;
    let rest = rest.strip_prefix(separator)?;
    let (day, _) = rest.split_at_checked(digits(rest))?;
    let width = if separator == '-' { 2..=2 } else { 1..=2 };
    if !width.contains(&month.len()) || !width.contains(&day.len()) {
        return None;
    }
    Date::new(year.parse().ok()?, month.parse().ok()?, day.parse().ok()?).ok()
}

/// How many digits a number may have.
const ID_DIGITS: usize = 12;
/// The largest number that can be given out.
pub(crate) const LARGEST_ID: u64 = 999_999_999_999;

/// The number of an id such as `E012` behind its letter: ASCII digits, not too many of them.
pub(crate) fn id_number(digits: &str) -> Option<u64> {
    let is_number = (1..=ID_DIGITS).contains(&digits.len()) && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

/// Writes an id with at least three digits.
#[must_use]
pub fn id(letter: char, number: u64) -> String {
    format!("{letter}{number:03}")
}
