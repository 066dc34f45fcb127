//! A change over several files: all of it or nothing, safe before it is answered.
//!
//! The order of the steps is argued in ARCHITECTURE.md.

use std::{
    borrow::Cow,
    cell::Cell,
    collections::{BTreeMap, btree_map::Entry},
    fs::File,
    io,
    path::{Path, PathBuf},
};

use super::{
    Workspace,
    apply::{self, Applied},
    disk,
    journal::{Digest, End, FileChange, Journal},
};
use crate::{
    clock::Moment,
    error::{Error, Result},
    format::{
        MemoryFile,
        document::{self, Document},
    },
};

/// Up to this size a replaced file's new text is kept in the journal; a larger one is synced before
/// its rename.
const TEXT_IN_JOURNAL: usize = 64 * 1024;

/// The files that a call has read.
#[derive(Debug)]
pub(super) struct Files<'w> {
    workspace: &'w Workspace,
    opened: BTreeMap<MemoryFile, Opened>,
}

#[derive(Debug)]
struct Opened {
    path: PathBuf,
    stamp: Option<disk::Stamp>,
    /// What the file held, if it was written so shortly before it was read that its stamp does not
    /// tell the next change.
    fresh_digest: Option<Digest>,
    document: Document,
}

impl<'w> Files<'w> {
    pub(super) fn new(workspace: &'w Workspace) -> Self {
        Self { workspace, opened: BTreeMap::new() }
    }

    fn open(&mut self, file: MemoryFile) -> Result<&mut Opened> {
        match self.opened.entry(file) {
            Entry::Occupied(entry) => Ok(entry.into_mut()),
            Entry::Vacant(entry) => {
                let path = self.workspace.path_of(file.path())?;
                let (bytes, stamp) =
                    disk::read(&path)?.map_or((Vec::new(), None), |(bytes, stamp)| (bytes, Some(stamp)));
                let fresh_digest = stamp.filter(disk::Stamp::is_fresh).map(|_| Digest::of(&bytes));
                Ok(entry.insert(Opened { path, stamp, fresh_digest, document: Document::new(bytes) }))
            }
        }
    }

    /// A file's document, empty if there is no file.
    pub(super) fn document(&mut self, file: MemoryFile) -> Result<&mut Document> {
        Ok(&mut self.open(file)?.document)
    }

    pub(super) fn exists(&mut self, file: MemoryFile) -> Result<bool> {
        Ok(self.open(file)?.stamp.is_some())
    }

    pub(super) fn life_log_archives(&self) -> Result<Vec<(String, String)>> {
        self.workspace.life_log_archives()
    }

    pub(super) fn path(&self, file: MemoryFile) -> Result<PathBuf> {
        self.workspace.path_of(file.path())
    }

    /// A file that another program changed since it was read.
    fn overtaken(&self) -> Result<Option<PathBuf>> {
        for opened in self.opened.values() {
            if opened.is_overtaken()? {
                return Ok(Some(opened.path.clone()));
            }
        }
        Ok(None)
    }
}

impl Opened {
    fn is_overtaken(&self) -> Result<bool> {
        if disk::stamp(&self.path)? != self.stamp {
            return Ok(true);
        }
        // Within one tick of the clock, a file can be rewritten and keep its stamp.
        let Some(digest) = &self.fresh_digest else { return Ok(false) };
        Ok(disk::read(&self.path)?.map(|(bytes, _)| Digest::of(&bytes)).as_ref() != Some(digest))
    }
}

/// The files of a workspace under its lock, and the changes that a call makes to them.
#[derive(Debug)]
pub struct Transaction<'w> {
    files: Files<'w>,
    now: Moment,
    warnings: Vec<String>,
}

/// What came of a commit.
pub(super) enum Commit {
    /// There was nothing to write.
    Unchanged,
    /// All of it is in the files; they still have to be synced.
    Applied(Vec<Applied>),
    /// Another program changed this file meanwhile.
    Overtaken(PathBuf),
}

impl<'w> Transaction<'w> {
    pub(super) fn new(workspace: &'w Workspace, now: Moment, warnings: Vec<String>) -> Self {
        Self { files: Files::new(workspace), now, warnings }
    }

    /// A file's document, empty if there is no file.
    ///
    /// # Errors
    ///
    /// `unreadable` if something is there that cannot be read as a file.
    pub fn document(&mut self, file: MemoryFile) -> Result<&mut Document> {
        self.files.document(file)
    }

    /// A copy of a file's present text, empty if there is no file.
    ///
    /// # Errors
    ///
    /// `unreadable` if something is there that cannot be read as a file.
    pub fn text(&mut self, file: MemoryFile) -> Result<String> {
        Ok(self.files.document(file)?.text().to_owned())
    }

    /// The texts of the life log's archives.
    ///
    /// # Errors
    ///
    /// `unreadable` if one of them cannot be read.
    pub fn life_log_archives(&self) -> Result<Vec<String>> {
        let archives = self.files.life_log_archives()?;
        Ok(archives.into_iter().map(|(_, text)| text).collect())
    }

    /// Where a file is.
    ///
    /// # Errors
    ///
    /// `unreadable` if it is a link that leads out of the workspace.
    pub fn path(&self, file: MemoryFile) -> Result<PathBuf> {
        self.files.path(file)
    }

    /// The moment of the change.
    #[must_use]
    pub fn now(&self) -> &Moment {
        &self.now
    }

    /// Tells the caller of something odd that did not stop the call.
    pub fn warn(&mut self, warning: impl Into<String>) {
        let warning = warning.into();
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// What the call would write: the files, each with its text before and after.
    #[must_use]
    pub fn proposed(&self) -> Vec<(MemoryFile, String, String)> {
        let changed = self.files.opened.iter().filter(|(_, opened)| !opened.document.hunks().is_empty());
        changed
            .map(|(file, Opened { document, .. })| {
                let before = document::revert(document.bytes(), document.hunks()).unwrap_or_default();
                (*file, String::from_utf8_lossy(&before).into_owned(), document.text().to_owned())
            })
            .collect()
    }

    pub(super) fn into_warnings(self) -> Vec<String> {
        self.warnings
    }

    /// Writes the record, which is the commit point, then applies it to the files.
    pub(super) fn commit(&self, journal: &mut Journal) -> Result<Commit> {
        let mut plans = Vec::new();
        for (file, opened) in &self.files.opened {
            if opened.document.hunks().is_empty() {
                continue;
            }
            let Some(plan) = Plan::new(*file, opened)? else { return Ok(Commit::Overtaken(opened.path.clone())) };
            plans.push(plan);
        }
        if plans.is_empty() {
            return Ok(Commit::Unchanged);
        }
        if let Some(path) = self.files.overtaken()? {
            return Ok(Commit::Overtaken(path));
        }
        let mut applied = Vec::new();
        let written = journal.write(plans.iter().map(Plan::record).collect());
        let outcome = match written.and_then(|()| apply_all(&plans, &mut applied)) {
            Ok(None) => return Ok(Commit::Applied(applied)),
            Ok(Some(overtaken)) => Ok(Commit::Overtaken(overtaken)),
            Err(error) => Err(error),
        };
        drop(applied);
        let mut taken_back = Ok(());
        for plan in plans.iter().rev().filter(|plan| plan.begun.get()) {
            taken_back = plan.take_back().and(taken_back);
        }
        if taken_back.is_err() {
            // A sync among it may have failed: the pages prove nothing from now on.
            let _ = journal.end(End::Lost);
        }
        taken_back.and_then(|()| journal.end(End::Void))?;
        outcome
    }
}

/// Applies the plans, looking at each file once more directly before. Answers the file that another
/// program changed, if there is one.
fn apply_all(plans: &[Plan<'_>], applied: &mut Vec<Applied>) -> Result<Option<PathBuf>> {
    for plan in plans {
        if plan.opened.is_overtaken()? {
            return Ok(Some(plan.path.to_owned()));
        }
        plan.begun.set(true);
        let Some(done) = plan.apply()? else {
            plan.begun.set(false);
            return Ok(Some(plan.path.to_owned()));
        };
        applied.push(done);
        if plan.missed() {
            return Ok(Some(plan.path.to_owned()));
        }
    }
    Ok(None)
}

/// How one file is changed.
struct Plan<'t> {
    file: MemoryFile,
    opened: &'t Opened,
    path: &'t Path,
    document: &'t Document,
    /// What the file holds now; `None` if there is no file.
    before: Option<Cow<'t, [u8]>>,
    /// The file, opened to add to it, where all that the change does is to add.
    append_to: Option<File>,
    /// Whether the file may hold something of the change.
    begun: Cell<bool>,
}

impl<'t> Plan<'t> {
    /// `None` if the file is gone to which it would add.
    fn new(file: MemoryFile, opened: &'t Opened) -> Result<Option<Self>> {
        let Opened { path, stamp, document, .. } = opened;
        if document.touched_invalid_utf8() {
            let reason = "is not valid UTF-8 in the place that this call would change".to_owned();
            return Err(Error::Unreadable { path: path.clone(), reason });
        }
        let bytes = document.bytes();
        let appended: usize = document.hunks().iter().map(|hunk| hunk.new.len()).sum();
        let appends = stamp.is_some() && document.only_appends();
        let before = match stamp {
            None => None,
            Some(_) if appends => bytes.get(..bytes.len() - appended).map(Cow::Borrowed),
            Some(_) => document::revert(bytes, document.hunks()).map(Cow::Owned),
        };
        let append_to = if appends { disk::open_to_append(path)? } else { None };
        let is_gone = appends && append_to.is_none();
        Ok((!is_gone).then_some(Self { file, opened, path, document, before, append_to, begun: Cell::new(false) }))
    }

    fn after(&self) -> &'t [u8] {
        self.document.bytes()
    }

    /// Whether the journal can hold the whole new text; if not, a copy of it is synced first.
    fn fits_journal(&self) -> bool {
        self.document.is_valid_utf8() && self.after().len() <= TEXT_IN_JOURNAL
    }

    fn record(&self) -> FileChange {
        let is_kept = self.append_to.is_none() && self.fits_journal();
        FileChange {
            file: self.file,
            before: self.before.as_deref().map(Digest::of),
            after: Digest::of(self.after()),
            hunks: self.document.hunks().to_vec(),
            appends: self.append_to.is_some(),
            text: is_kept.then(|| self.document.text().to_owned()),
        }
    }

    /// `None` if the file was not there, and another program has made it meanwhile.
    fn apply(&self) -> Result<Option<Applied>> {
        let sync_first = !self.fits_journal();
        match (&self.append_to, &self.before) {
            (_, None) => apply::create(self.path, self.after(), sync_first),
            (Some(file), Some(before)) => {
                let added = self.after().get(before.len()..).unwrap_or(&[]);
                let file = file.try_clone().map_err(disk::failed("open", self.path))?;
                apply::append(self.path, file, added).map(Some)
            }
            (None, Some(_)) => {
                apply::replace(self.path, self.after(), sync_first, || Ok(!self.opened.is_overtaken()?))
            }
        }
    }

    /// Whether the lines were added to a file that had lost its name meanwhile.
    fn missed(&self) -> bool {
        self.append_to.as_ref().is_some_and(|file| !disk::is_same_file(file, self.path))
    }

    /// Makes the file again what it was, whether the change has reached it or not, and makes that
    /// safe. What another program put there stays.
    fn take_back(&self) -> Result<()> {
        let standing = disk::read(self.path)?.map(|(bytes, _)| bytes);
        if self.missed() || standing.as_deref() == self.before.as_deref() {
            return self.tidy();
        }
        let Some(standing) = standing else { return self.tidy() };
        let backup = disk::read(&disk::copy_of(self.path)).ok().flatten();
        let is_written_over = backup.is_some_and(|(backup, _)| backup == self.after());
        // The record stays open: the next call brings the change forward, once.
        let cannot = || {
            let source = io::Error::other("another program wrote behind it");
            Error::Io { path: self.path.to_owned(), doing: "take back the change of", source }
        };
        match (&self.before, &self.append_to) {
            (None, _) if is_part(&standing, self.after()) => disk::remove(self.path)?,
            (Some(before), Some(file)) if standing.len() > before.len() && is_part(&standing, self.after()) => {
                disk::truncate(file, self.path, before.len() as u64)?;
                disk::sync(file, self.path)?;
            }
            // As it was applied: if this stops half-way, the file is still whole, or its backup is.
            (Some(before), None) if is_written_over && is_mixture(&standing, self.after(), before) => {
                apply::write_over(self.path, before)?.sync()?;
            }
            (Some(before), None) if standing == self.after() => {
                let stands = || Ok(disk::read(self.path)?.is_some_and(|(bytes, _)| bytes == standing));
                apply::replace(self.path, before, true, stands)?.ok_or_else(cannot)?.sync()?;
            }
            _ => return Err(cannot()),
        }
        self.tidy()
    }

    /// Removes the copy beside the file.
    fn tidy(&self) -> Result<()> {
        disk::remove(&disk::copy_of(self.path))?;
        disk::sync_folder_of(self.path)
    }
}

/// Whether these bytes are a beginning of the text, with NULs where it was never written.
pub(super) fn is_part(bytes: &[u8], text: &[u8]) -> bool {
    is_mixture(bytes, text, &[])
}

/// Whether every byte is of the new text, of the old one, or was never written: what is left of a file
/// that was being written over.
pub(super) fn is_mixture(bytes: &[u8], new: &[u8], old: &[u8]) -> bool {
    bytes.len() <= new.len().max(old.len())
        && bytes
            .iter()
            .enumerate()
            .all(|(at, byte)| *byte == 0 || new.get(at) == Some(byte) || old.get(at) == Some(byte))
}
