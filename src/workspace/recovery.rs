//! What a crash left: brought forward to all of the change, or to none of it.
//!
//! ARCHITECTURE.md argues the cases.

use std::path::PathBuf;

use super::{
    Workspace, apply, disk,
    journal::{Digest, End, FileChange, Journal, Record},
    transaction::{is_mixture, is_part},
};
use crate::{
    clock::Moment,
    error::{Error, Result},
    format::{
        MemoryFile,
        document::{self, Anchor, Document, Hunk},
        events, index, is_empty,
        replay::{Outcome, replay, shows_any},
    },
};

/// One file of an open record, as it is found.
struct Found<'r> {
    change: &'r FileChange,
    path: PathBuf,
    bytes: Option<Vec<u8>>,
    standing: Standing,
    /// The copy beside it, if that holds all of the change.
    backup: Option<Vec<u8>>,
}

/// What a file holds, measured by the record.
enum Standing {
    /// All of the change.
    After,
    /// Nothing of it.
    Before,
    /// A part of it that only the crash can have made, and what it was to become.
    Torn(Vec<u8>),
    /// Something else: another program's hand was there. Of a torn change, what was left is cut away.
    Foreign { document: Document, was_torn: bool },
}

/// Brings the open record to its end. Answers what the caller should be told.
///
/// # Errors
///
/// `damaged`, the record left open, if the events are gone that `MEMORY.md` cites; `io`, the record
/// left open, if the files could not be made safe.
pub(super) fn recover(
    workspace: &Workspace,
    journal: &mut Journal,
    record: &Record,
    now: &Moment,
) -> Result<Vec<String>> {
    let is_same_boot = journal.is_of_this_boot(record);
    let mut found = Vec::new();
    for change in &record.files {
        let path = workspace.path_of(change.file.path())?;
        let bytes = disk::read(&path)?.map(|(bytes, _)| bytes);
        let copy = disk::read(&disk::copy_of(&path)).ok().flatten().map(|(bytes, _)| bytes);
        let backup = copy.filter(|copy| Digest::of(copy) == change.after);
        let standing = classify(change, bytes.as_deref(), backup.as_deref(), is_same_boot);
        found.push(Found { change, path, bytes, standing, backup });
    }
    // In the boot that goes on, the files hold whatever was written to them. Nothing of ours in any
    // of them: it was never answered, or somebody took it back.
    if is_same_boot && !found.iter().any(Found::shows_ours) {
        // Void only once it is safe that nothing of it is there.
        let synced = apply::sync_as_they_are(found.iter().map(|found| found.path.as_path()));
        if synced.is_err() {
            // The pages prove nothing from now on.
            let _ = journal.end(End::Lost);
        }
        synced?;
        journal.end(End::Void)?;
        return Ok(Vec::new());
    }
    refuse_damage(workspace, &found)?;

    let mut warnings = Vec::new();
    let mut conflicts = Vec::new();
    let mut applied = Vec::new();
    let mut events_text = None;
    for found in &found {
        let mut document = found.brought_forward(&mut warnings, &mut conflicts);
        conflicts.extend(found.backup_to_keep());
        match found.change.file {
            MemoryFile::Events => events_text = Some(document.text().to_owned()),
            MemoryFile::Index => {
                let text = match events_text.take() {
                    Some(text) => text,
                    None => workspace.text_of(MemoryFile::Events)?,
                };
                let mut refreshed = document.clone();
                index::refresh(&mut refreshed, &events::parse(&text), now.date());
                // Bytes that are no text stay; the next call that would change them is refused.
                if !refreshed.touched_invalid_utf8() {
                    document = refreshed;
                }
            }
            _ => {}
        }
        // Always a synced copy: after a failed sync the pages of the file itself prove nothing.
        let done = match found.bytes {
            Some(_) if found.was_written_over() && !found.stands()? => None,
            Some(_) if found.was_written_over() => Some(apply::write_over(&found.path, document.bytes())?),
            Some(_) => apply::replace(&found.path, document.bytes(), true, || found.stands())?,
            // What was gone when it was looked at, and is back, is not overwritten.
            None => apply::create(&found.path, document.bytes(), true)?,
        };
        applied.push(done.ok_or_else(|| Error::ChangedMeanwhile { path: found.path.clone() })?);
    }
    for warning in &warnings {
        // Not every caller can be told.
        tracing::warn!("{warning}");
    }
    workspace.keep_conflicts(&conflicts, now)?;
    apply::settle(&applied, journal)?;
    Ok(warnings)
}

impl Found<'_> {
    /// Whether the change has begun to be written where the file stands, which its backup waits for.
    fn was_written_over(&self) -> bool {
        self.backup.is_some() && matches!(self.standing, Standing::After | Standing::Torn(_))
    }

    /// The backup's text, if it may be all that is whole: the power went while the file was written over,
    /// and another program added to what was left.
    fn backup_to_keep(&self) -> Option<(MemoryFile, Hunk)> {
        let (whole, bytes) = (self.backup.as_deref()?, self.bytes.as_deref()?);
        let old = document::revert(whole, &self.change.hunks)?;
        let (both, _) = bytes.split_at_checked(whole.len().min(old.len()))?;
        let is_torn = is_mixture(both, whole, &old) && !old.starts_with(both);
        let is_needed = is_torn && matches!(self.standing, Standing::Foreign { .. });
        let new = String::from_utf8_lossy(whole).into_owned();
        is_needed.then_some((self.change.file, Hunk { at: 0, old: String::new(), new, anchor: Anchor::Line }))
    }

    /// Whether the file is still as it was found.
    fn stands(&self) -> Result<bool> {
        Ok(disk::read(&self.path)?.map(|(bytes, _)| bytes) == self.bytes)
    }

    fn shows_ours(&self) -> bool {
        match &self.standing {
            Standing::After | Standing::Torn(_) | Standing::Foreign { was_torn: true, .. } => true,
            Standing::Before => false,
            Standing::Foreign { document, .. } => shows_any(self.change.file, document, &self.change.hunks),
        }
    }

    /// The file with the change in it.
    fn brought_forward(&self, warnings: &mut Vec<String>, conflicts: &mut Vec<(MemoryFile, Hunk)>) -> Document {
        let bytes = self.bytes.clone().unwrap_or_default();
        let mut document = match &self.standing {
            Standing::After => return Document::new(bytes),
            Standing::Torn(whole) => return Document::new(whole.clone()),
            Standing::Before => match document::apply(&bytes, &self.change.hunks) {
                Some(bytes) => return Document::new(bytes),
                None => Document::new(bytes),
            },
            Standing::Foreign { document, .. } => document.clone(),
        };
        // Where a worry goes is looked at once it has left, wherever that place stands.
        let (faded, others): (Vec<_>, Vec<_>) =
            self.change.hunks.iter().partition(|hunk| matches!(hunk.anchor, Anchor::Faded(..)));
        for hunk in others.into_iter().chain(faded) {
            match replay(self.change.file, &mut document, hunk) {
                Outcome::Present | Outcome::Applied => {}
                Outcome::Renumbered { from, to } => warnings.push(format!(
                    "{from} was given out by another program before a crash was recovered; what this program had written under it is now {to}"
                )),
                Outcome::Conflict => conflicts.push((self.change.file, hunk.clone())),
            }
        }
        document
    }
}

fn classify(change: &FileChange, bytes: Option<&[u8]>, backup: Option<&[u8]>, is_same_boot: bool) -> Standing {
    let digest = bytes.map(Digest::of);
    if digest.as_ref() == Some(&change.after) {
        return Standing::After;
    }
    if digest == change.before {
        return Standing::Before;
    }
    let bytes = bytes.unwrap_or(&[]);
    if change.appends {
        return classify_append(change, bytes);
    }
    // Another program may have added lines since.
    let split = |len: usize| bytes.split_at(len.min(bytes.len()));
    // Written over in place: the backup says what it was to become.
    if let Some(whole) = backup {
        let old = document::revert(whole, &change.hunks).unwrap_or_default();
        let (torn, rest) = split(whole.len().max(old.len()));
        // While the system runs, writing over makes no file shorter than both.
        let is_cut = is_same_boot && bytes.len() < whole.len().min(old.len());
        if !is_cut && is_mixture(torn, whole, &old) && (rest.is_empty() || ![whole, &old].contains(&torn)) {
            return Standing::Torn([whole, rest].concat());
        }
    }
    // Replaced: a rename is all or nothing while the system runs, but pages that never reached the disk
    // are missing after a power cut, and NULs after a disk has failed.
    if let Some(text) = change.text.as_deref().map(str::as_bytes) {
        let (torn, rest) = split(text.len());
        let is_explained = torn.contains(&0) || (!is_same_boot && rest.is_empty());
        if is_explained && is_part(torn, text) {
            return Standing::Torn([text, rest].concat());
        }
    }
    foreign(bytes.to_vec())
}

fn foreign(bytes: Vec<u8>) -> Standing {
    Standing::Foreign { document: Document::new(bytes), was_torn: false }
}

/// What was there, then perhaps a part of what we added, then perhaps another program's lines.
fn classify_append(change: &FileChange, bytes: &[u8]) -> Standing {
    let Some(before) = &change.before else { return foreign(bytes.to_vec()) };
    let Some((head, tail)) = bytes.split_at_checked(before.len) else { return foreign(bytes.to_vec()) };
    if Digest::of(head) != *before {
        return foreign(bytes.to_vec());
    }
    let ours: Vec<u8> = change.hunks.iter().flat_map(|hunk| hunk.new.bytes()).collect();
    if tail.starts_with(&ours) {
        return foreign(bytes.to_vec());
    }
    let alike = tail.iter().zip(&ours).take_while(|(found, ours)| found == ours || **found == 0).count();
    // What another program adds begins on a new line, with a heading or a blank line. It may begin as
    // ours would have gone on.
    let begins_anew = |rest: &[u8]| {
        rest.is_empty() || rest.starts_with(b"\n#") || rest.starts_with(b"\n\n") || rest.starts_with(b"\r\n")
    };
    // Newlines alone may be anybody's. Where all of ours is NULs, what follows began behind it.
    let is_cut = |(torn, rest): &(&[u8], &[u8])| {
        torn.iter().any(|byte| !b"\r\n".contains(byte)) && (torn.len() == ours.len() || begins_anew(rest))
    };
    let Some((torn, rest)) = (1..=alike).rev().filter_map(|len| tail.split_at_checked(len)).find(is_cut) else {
        return foreign(bytes.to_vec());
    };
    if rest.is_empty() {
        return Standing::Torn([head, &ours].concat());
    }
    // Entries that are whole stay where they are.
    let mut whole = 0;
    for hunk in &change.hunks {
        let end = whole + hunk.new.len();
        if torn.get(..end) != ours.get(..end) {
            break;
        }
        whole = end;
    }
    let mut kept = [head, torn.get(..whole).unwrap_or(&[])].concat();
    if !kept.ends_with(b"\n") && !rest.starts_with(b"\n") && !rest.starts_with(b"\r\n") {
        kept.push(b'\n');
    }
    kept.extend_from_slice(rest);
    Standing::Foreign { document: Document::new(kept), was_torn: true }
}

/// A workspace whose events are gone is left alone: the record may be all that is left of them.
fn refuse_damage(workspace: &Workspace, found: &[Found<'_>]) -> Result<()> {
    let of = |file| found.iter().find(|found| found.change.file == file);
    let is_gone = match (of(MemoryFile::Events), of(MemoryFile::Index)) {
        (Some(events), _) => {
            let is_blank = is_empty(&String::from_utf8_lossy(events.bytes.as_deref().unwrap_or(&[])));
            is_blank && !matches!(events.standing, Standing::Torn(_) | Standing::Before)
        }
        // The index would be refreshed from them.
        (None, Some(_)) => is_empty(&workspace.text_of(MemoryFile::Events)?),
        (None, None) => false,
    };
    if !is_gone {
        return Ok(());
    }
    let cited = index::cited(&workspace.text_of(MemoryFile::Index)?);
    if cited.is_empty() {
        return Ok(());
    }
    let cited = cited.into_iter().map(|number| crate::format::id('E', number)).collect();
    Err(Error::Damaged { path: workspace.path_of(MemoryFile::Events.path())?, cited })
}
