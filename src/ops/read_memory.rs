//! `read_memory`: a memory file as it stands, page by page.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Read, Tool};
use crate::{
    error::{Error, Result},
    format::{
        MemoryFile, sections,
        text::{quote, shorten},
    },
    workspace::Reading,
};

pub(super) static TOOL: Tool = Tool::reads::<ReadMemory>();

/// How much text a page has at most, in bytes.
const PAGE_BYTES: usize = 16_000;

struct ReadMemory;

/// Reads a memory file or a section of it as it stands, 16 kB at a time. `<br>` is a line break.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// index: MEMORY.md. history: RECENT_HISTORY.md. summary: session_summary.md.
    file: ReadableFile,
    /// Only this heading's section. Default the whole file.
    section: Option<String>,
    /// In bytes: next_offset of the page before. Default 0.
    #[schemars(range(min = 0))]
    offset: Option<u64>,
}

/// A memory file, as a caller names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(super) enum ReadableFile {
    Events,
    Mood,
    Unresolved,
    Persona,
    Profile,
    Index,
    LifeLog,
    History,
    Summary,
}

impl ReadableFile {
    pub(super) const ALL: [Self; 9] = [
        Self::Events,
        Self::Mood,
        Self::Unresolved,
        Self::Persona,
        Self::Profile,
        Self::Index,
        Self::LifeLog,
        Self::History,
        Self::Summary,
    ];

    pub(super) fn as_str(self) -> &'static str {
        match self {
            Self::Events => "events",
            Self::Mood => "mood",
            Self::Unresolved => "unresolved",
            Self::Persona => "persona",
            Self::Profile => "profile",
            Self::Index => "index",
            Self::LifeLog => "life_log",
            Self::History => "history",
            Self::Summary => "summary",
        }
    }
}

impl From<ReadableFile> for MemoryFile {
    fn from(file: ReadableFile) -> Self {
        match file {
            ReadableFile::Events => Self::Events,
            ReadableFile::Mood => Self::Mood,
            ReadableFile::Unresolved => Self::Unresolved,
            ReadableFile::Persona => Self::Persona,
            ReadableFile::Profile => Self::Profile,
            ReadableFile::Index => Self::Index,
            ReadableFile::LifeLog => Self::LifeLog,
            ReadableFile::History => Self::History,
            ReadableFile::Summary => Self::Summary,
        }
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The text.
    text: String,
    /// Where the next page begins, in bytes; absent at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    next_offset: Option<usize>,
}

impl Operation for ReadMemory {
    const NAME: &'static str = "read_memory";
    const TITLE: &'static str = "Read a memory file";
    const EFFECT: Effect = Effect::Reads;
    type Params = Params;
    type Reply = Reply;
}

impl Read for ReadMemory {
    fn run(params: Params, reading: &mut Reading<'_>) -> Result<Reply> {
        let file = MemoryFile::from(params.file);
        if !reading.exists(file)? {
            return Err(Error::NotFound {
                what: format!("`{}`", file.path()),
                expected: "a file that is there".to_owned(),
            });
        }
        let document = reading.document(file)?;
        let is_text = document.is_valid_utf8();
        let whole = document.text().to_owned();
        let part = match params.section.as_deref().map(str::trim) {
            None => whole.as_str(),
            Some(name) => {
                let place = sections::find(&whole, name).ok_or_else(|| Error::NotFound {
                    what: format!("section `{}` of `{}`", shorten(name), file.path()),
                    expected: match sections::names(&whole).as_slice() {
                        [] => "none: the file has no headings".to_owned(),
                        names => format!("one of {}", quote(names)),
                    },
                })?;
                whole.get(place).unwrap_or("")
            }
        };
        if !is_text {
            reading.warn(format!("`{}` holds bytes that are no text; they are shown as U+FFFD", file.path()));
        }
        let start = usize::try_from(params.offset.unwrap_or(0)).unwrap_or(usize::MAX);
        let (text, next_offset) = page(part, start)?;
        Ok(Reply { text: if is_text { text.to_owned() } else { text.replace('\u{1a}', "\u{fffd}") }, next_offset })
    }
}

/// The whole lines from a place on that fit a page, and where the next page begins. A line that is
/// longer than a page is cut.
fn page(text: &str, start: usize) -> Result<(&str, Option<usize>)> {
    let Some(rest) = text.get(start..) else {
        return Err(Error::invalid(
            "offset",
            format!("`{start}`"),
            format!("0 or the `next_offset` of the page before, up to {}", text.len()),
        ));
    };
    // Measured as JSON writes it: a control character takes six bytes there.
    let mut room = PAGE_BYTES;
    let fits_len = rest.char_indices().find_map(|(at, c)| {
        let len = if c.is_control() && !matches!(c, '\n' | '\r' | '\t') { 6 } else { c.len_utf8() };
        let is_full = len > room;
        room = room.saturating_sub(len);
        is_full.then_some(at)
    });
    let Some(fits) = fits_len.and_then(|len| rest.get(..len)) else { return Ok((rest, None)) };
    let lines_end = fits.rfind('\n').map_or(fits.len(), |newline| newline + 1);
    Ok((fits.get(..lines_end).unwrap_or(fits), Some(start + lines_end)))
}
