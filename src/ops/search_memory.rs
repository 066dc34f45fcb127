//! `search_memory`: finds words in all memory files.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Read, Tool, read_memory::ReadableFile, text};
use crate::{
    error::{Error, Result},
    format::{
        MemoryFile,
        passages::{self, Passage},
        text::{excerpt, has_words, search_key},
    },
    workspace::Reading,
};

pub(super) static TOOL: Tool = Tool::reads::<SearchMemory>();

/// How many hits are answered if the caller does not say.
const HITS: usize = 10;
/// How much of a text a hit shows, in user-perceived characters.
const TEXT_SHOWN: usize = 200;
/// How large all hits may grow, in bytes.
const HIT_BYTES: usize = 36_000;

struct SearchMemory;

/// Finds words in all memory files: profile and worries first, then by day, newest first. Several
/// words mean all of them.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Short words (妈妈 血压), no sentence. ≤ 2,000 chars.
    query: String,
    /// Only these files. Default all.
    #[serde(default)]
    files: Vec<ReadableFile>,
    /// How many hits, 1 to 50. Default 10.
    #[schemars(range(min = 1, max = 50))]
    limit: Option<u8>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// What was found.
    hits: Vec<Hit>,
}

#[derive(Serialize, JsonSchema)]
struct Hit {
    /// The file, as read_memory calls it, or the name of an archive of the life log.
    file: String,
    /// The entry's id, if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    /// Otherwise the section that it stands in.
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    /// The line of the file, from 1.
    line: usize,
    /// The text, cut.
    text: String,
}

impl Operation for SearchMemory {
    const NAME: &'static str = "search_memory";
    const TITLE: &'static str = "Search the memory";
    const EFFECT: Effect = Effect::Reads;
    type Params = Params;
    type Reply = Reply;
}

/// Where a hit comes in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Now,
    Dated(std::cmp::Reverse<Date>),
    Undated,
}

impl Read for SearchMemory {
    fn run(params: Params, reading: &mut Reading<'_>) -> Result<Reply> {
        let query = text("query", &params.query)?;
        let words: Vec<_> = query.split_whitespace().map(search_key).filter(|word| !word.is_empty()).collect();
        if words.is_empty() {
            return Err(Error::invalid("query", "empty", "a text"));
        }
        let files = if params.files.is_empty() { ReadableFile::ALL.to_vec() } else { params.files };

        let mut found: Vec<(Rank, Hit)> = Vec::new();
        for file in files {
            let mut texts = vec![(file.as_str().to_owned(), reading.document(file.into())?.text().to_owned())];
            if file == ReadableFile::LifeLog {
                texts.extend(reading.life_log_archives()?);
            }
            for (name, text) in texts {
                let passages =
                    passages::of(file.into(), &text).into_iter().filter(|passage| has_words(&passage.text, &words));
                // Later in the file is newer.
                found.extend(
                    passages.rev().map(|passage| (rank(file.into(), &passage), Hit::new(&name, passage, &words))),
                );
            }
        }
        found.sort_by_key(|(rank, _)| *rank);

        let mut bytes = 0;
        let hits = found.into_iter().map(|(_, hit)| hit).take(params.limit.map_or(HITS, usize::from));
        let fitting = hits.take_while(|hit| {
            bytes += serde_json::to_string(hit).map_or(0, |json| json.len());
            bytes <= HIT_BYTES
        });
        Ok(Reply { hits: fitting.collect() })
    }
}

fn rank(file: MemoryFile, passage: &Passage) -> Rank {
    match (passage.date, file) {
        (Some(date), _) => Rank::Dated(std::cmp::Reverse(date)),
        (None, MemoryFile::Profile | MemoryFile::Unresolved | MemoryFile::Persona) => Rank::Now,
        (None, _) => Rank::Undated,
    }
}

impl Hit {
    fn new(file: &str, passage: Passage, words: &[String]) -> Self {
        let Passage { id, section, line, text, .. } = passage;
        let text = excerpt(&text, words, TEXT_SHOWN);
        let section = section.filter(|_| id.is_none());
        Self { file: file.to_owned(), id, section, line, text }
    }
}
