//! What every call on `events.md` does: refuse a damaged file, tell what is odd, keep the index true.

use std::path::PathBuf;

use crate::{
    error::{Error, Result},
    format::{
        self, LARGEST_ID, MemoryFile,
        events::{self, Events},
        id, index,
    },
    workspace::{Reading, Transaction},
};

/// How many oddities of the file a result names.
const NAMED_PROBLEMS: usize = 5;

/// Opens `events.md` to change it.
///
/// # Errors
///
/// `damaged` if it is empty or gone while `MEMORY.md` cites events.
pub(super) fn open(transaction: &mut Transaction<'_>) -> Result<String> {
    let text = transaction.text(MemoryFile::Events)?;
    let cited = index::cited(transaction.document(MemoryFile::Index)?.text());
    refuse_damage(&text, &cited, || transaction.path(MemoryFile::Events))?;
    Ok(text)
}

/// Opens `events.md` to read it.
///
/// # Errors
///
/// `damaged` if it is empty or gone while `MEMORY.md` cites events.
pub(super) fn look(reading: &mut Reading<'_>) -> Result<String> {
    let text = reading.document(MemoryFile::Events)?.text().to_owned();
    if format::is_empty(&text) {
        let cited = index::cited(reading.document(MemoryFile::Index)?.text());
        refuse_damage(&text, &cited, || reading.path(MemoryFile::Events))?;
    }
    Ok(text)
}

fn refuse_damage(text: &str, cited: &[u64], path: impl FnOnce() -> Result<PathBuf>) -> Result<()> {
    if cited.is_empty() || !format::is_empty(text) {
        return Ok(());
    }
    Err(Error::Damaged { path: path()?, cited: cited.iter().map(|number| id('E', *number)).collect() })
}

/// The number of the next event: behind every event of the file and every one that the index cites.
pub(super) fn next_number(transaction: &mut Transaction<'_>, events: &Events<'_>) -> Result<u64> {
    let cited = index::cited(transaction.document(MemoryFile::Index)?.text());
    // One that nothing can follow is a slip in the index.
    let cited = cited.into_iter().filter(|number| *number < LARGEST_ID);
    let largest = cited.fold(events.largest(), u64::max);
    free_behind(largest, 'E', || transaction.path(MemoryFile::Events))
}

/// The number behind the largest one.
///
/// # Errors
///
/// `unreadable` if there is none: somebody wrote a number by hand that none can follow.
pub(super) fn free_behind(largest: u64, letter: char, path: impl FnOnce() -> Result<PathBuf>) -> Result<u64> {
    if largest < LARGEST_ID {
        return Ok(largest + 1);
    }
    let reason = format!("holds `{}`, behind which there is no number", id(letter, largest));
    Err(Error::Unreadable { path: path()?, reason })
}

/// Makes the index show the events as they are now, and tells what is odd about them.
pub(super) fn refresh_index(transaction: &mut Transaction<'_>) -> Result<()> {
    let text = transaction.text(MemoryFile::Events)?;
    show_in_index(transaction, &events::parse(&text))
}

/// The same, of events that were read already.
pub(super) fn show_in_index(transaction: &mut Transaction<'_>, events: &Events<'_>) -> Result<()> {
    let today = transaction.now().date();
    let due_dates = events::unusable_due_dates(events.events.iter().filter(|event| event.is_open()));
    for problem in named(events.problems.iter().map(ToString::to_string).chain(due_dates).collect()) {
        transaction.warn(problem);
    }
    let index = transaction.document(MemoryFile::Index)?;
    let is_new = index.text().is_empty();
    if !index::refresh(index, events, today) && !is_new {
        transaction.warn("`MEMORY.md` had no block `最近未解决事项`; one was added at its end");
    }
    Ok(())
}

/// The first few of many oddities, and how many more there are.
pub(super) fn named(mut problems: Vec<String>) -> Vec<String> {
    let more = problems.len().saturating_sub(NAMED_PROBLEMS);
    problems.truncate(NAMED_PROBLEMS);
    if more > 0 {
        problems.push(format!("`events.md` has {more} more oddities of this kind"));
    }
    problems
}
