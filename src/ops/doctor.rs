//! Everything that is wrong or odd in what the memory says, and the repairs that are safe.

use std::collections::BTreeMap;

use crate::{
    clock::Moment,
    error::Result,
    format::{
        MemoryFile, distill_state,
        events::{self},
        index, is_empty, life_log, profile, unresolved,
    },
    ops::distillation::is_usable,
    workspace::{Reading, Transaction},
};

/// Something odd: where, what, and what to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// The file.
    pub file: MemoryFile,
    /// The line, from 1, if it is one line's.
    pub line: Option<usize>,
    /// What is odd.
    pub what: String,
    /// What to do.
    pub remedy: &'static str,
    /// Whether calls fail until then.
    pub is_grave: bool,
}

impl Finding {
    fn new(file: MemoryFile, line: Option<usize>, what: String, remedy: &'static str) -> Self {
        Self { file, line, what, remedy, is_grave: false }
    }
}

/// Looks for what is odd.
///
/// # Errors
///
/// `unreadable` if a file cannot be read.
pub fn examine(reading: &mut Reading<'_>) -> Result<Vec<Finding>> {
    let mut findings = Vec::new();
    examine_events(reading, &mut findings)?;
    examine_worries(reading, &mut findings)?;
    examine_profile(reading, &mut findings)?;
    let now = reading.now().clone();
    let state = distill_state::parse(reading.document(MemoryFile::DistillState)?.text(), is_usable(&now));
    if state.entries > 1 {
        let what = format!("has {} entries `[D000]`; the last usable one counts", state.entries);
        findings.push(Finding::new(MemoryFile::DistillState, None, what, "`doctor --fix` keeps that one"));
    }
    Ok(findings)
}

fn examine_events(reading: &mut Reading<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let file = MemoryFile::Events;
    let text = reading.document(file)?.text().to_owned();
    let parsed = events::parse(&text);
    for problem in &parsed.problems {
        let remedy = "give one of them a free number by hand, or make it no heading; nothing is renumbered by itself";
        findings.push(Finding::new(file, Some(problem.line), problem.what.clone(), remedy));
    }
    for event in &parsed.events {
        if let Some(due) = event.unusable_due_date() {
            let what = format!(
                "{} has the due date `{}`, expected `YYYY-MM-DD` or 未定",
                event.id(),
                crate::format::text::shorten(due)
            );
            findings.push(Finding::new(file, Some(event.line), what, "set it with update_event"));
        }
    }
    let index = reading.document(MemoryFile::Index)?.text().to_owned();
    let cited = index::cited(&index);
    if is_empty(&text) && !cited.is_empty() {
        let what = format!("is empty or gone, but `MEMORY.md` cites {} events", cited.len());
        let remedy = "bring it back from a copy before anything is written";
        findings.push(Finding { is_grave: true, ..Finding::new(file, None, what, remedy) });
        return Ok(());
    }
    let mut document = crate::format::document::Document::new(index.into_bytes());
    index::refresh(&mut document, &parsed, reading.now().date());
    if !document.hunks().is_empty() {
        let what = "does not show the most pressing open events".to_owned();
        findings.push(Finding::new(
            MemoryFile::Index,
            None,
            what,
            "`doctor --fix` writes them, as the next call on an event does",
        ));
    }
    Ok(())
}

fn examine_worries(reading: &mut Reading<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let file = MemoryFile::Unresolved;
    let worries = unresolved::parse(reading.document(file)?.text());
    let mut logs: Vec<_> = reading.life_log_archives()?.into_iter().map(|(_, text)| text).collect();
    logs.push(reading.document(MemoryFile::LifeLog)?.text().to_owned());
    let dates = life_log::dates(&logs);
    let mut lines_of = BTreeMap::new();
    for worry in &worries {
        if let Some(first) = lines_of.insert(worry.id(), worry.line) {
            let what = format!("{} stands twice, in lines {first} and {}", worry.id(), worry.line);
            findings.push(Finding::new(file, Some(worry.line), what, "give one of them a free number by hand"));
        }
        let is_anchored = worry.last_touched().is_some_and(|number| dates.contains_key(&number));
        if worry.active && worry.is_fading() && !is_anchored {
            let what = format!(
                "{} was last touched by no entry of the life log that has a day, so it never fades",
                worry.id()
            );
            findings.push(Finding::new(file, Some(worry.line), what, "touch it with touch_unresolved"));
        }
    }
    Ok(())
}

fn examine_profile(reading: &mut Reading<'_>, findings: &mut Vec<Finding>) -> Result<()> {
    let file = MemoryFile::Profile;
    let now = reading.now().clone();
    let sections = profile::parse(reading.document(file)?.text());
    if sections.is_empty() {
        let what = "has no sections, so nothing can be kept in it".to_owned();
        findings.push(Finding::new(file, None, what, "write its headings, such as `## 基本信息`"));
    }
    let mut values: BTreeMap<String, String> = BTreeMap::new();
    for section in &sections {
        let count = section.entries().count();
        if count > profile::ENTRY_LIMIT {
            let what =
                format!("section `{}` has {count} entries, expected at most {}", section.name, profile::ENTRY_LIMIT);
            findings.push(Finding::new(
                file,
                Some(section.line),
                what,
                "remove what matters least with update_profile",
            ));
        }
        for (key, value) in section.entries().filter_map(|entry| entry.keyed.as_ref()) {
            if let Some(other) = values.insert(key.clone(), value.clone()).filter(|other| other != value) {
                let what = format!("`{key}` is both `{other}` and `{value}`");
                findings.push(Finding::new(file, Some(section.line), what, "remove the wrong one with update_profile"));
            }
            if key.contains("时区") && is_other_zone(value, &now) {
                let what = format!("`{key}` is `{value}`, but this program's clock is at UTC{}", now.offset());
                findings.push(Finding::new(
                    file,
                    Some(section.line),
                    what,
                    "set TZ or pass `--timezone`, if the user lives there",
                ));
            }
        }
    }
    Ok(())
}

/// Whether a zone as people write it is surely not that of the clock.
fn is_other_zone(written: &str, now: &Moment) -> bool {
    let name =
        written.split(|c: char| !(c.is_ascii_alphanumeric() || "/_+-:".contains(c))).find(|word| !word.is_empty());
    name.and_then(|name| now.offset_in(name)).is_some_and(|offset| offset != now.offset())
}

/// Repairs what can be repaired safely.
///
/// # Errors
///
/// `unreadable` if a file cannot be read.
pub fn repair(transaction: &mut Transaction<'_>) -> Result<()> {
    let now = transaction.now().clone();
    let events = super::event_file::open(transaction)?;
    let parsed = events::parse(&events);
    index::refresh(transaction.document(MemoryFile::Index)?, &parsed, now.date());
    distill_state::keep_one(transaction.document(MemoryFile::DistillState)?, is_usable(&now));
    Ok(())
}
