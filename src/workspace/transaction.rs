//! A change over several files: all of it or nothing, safe before it is answered.
//!
//! The order of the steps is argued in ARCHITECTURE.md.

use std::{
    borrow::Cow,
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
                Ok(entry.insert(Opened { path, stamp, document: Document::new(bytes) }))
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

    pub(super) fn path(&self, file: MemoryFile) -> Result<PathBuf> {
        self.workspace.path_of(file.path())
    }

    /// A file that another program changed since it was read.
    fn overtaken(&self) -> Result<Option<PathBuf>> {
        for opened in self.opened.values() {
            if disk::stamp(&opened.path)? != opened.stamp {
                return Ok(Some(opened.path.clone()));
            }
        }
        Ok(None)
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
        self.warnings.push(warning.into());
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
            plans.push(Plan::new(*file, opened)?);
        }
        if plans.is_empty() {
            return Ok(Commit::Unchanged);
        }
        if let Some(path) = self.files.overtaken()? {
            return Ok(Commit::Overtaken(path));
        }
        let applied = journal
            .write(plans.iter().map(Plan::record).collect())
            .and_then(|()| plans.iter().map(Plan::apply).collect::<Result<Vec<_>>>());
        applied.map(Commit::Applied).or_else(|error| {
            plans.iter().rev().try_for_each(Plan::take_back)?;
            journal.end(End::Void)?;
            Err(error)
        })
    }
}

/// How one file is changed.
struct Plan<'t> {
    file: MemoryFile,
    path: &'t Path,
    document: &'t Document,
    /// What the file holds now; `None` if there is no file.
    before: Option<Cow<'t, [u8]>>,
    /// The file, opened to add to it, where all that the change does is to add.
    append_to: Option<File>,
}

impl<'t> Plan<'t> {
    fn new(file: MemoryFile, opened: &'t Opened) -> Result<Self> {
        let Opened { path, stamp, document } = opened;
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
        let append_to = if appends { Some(disk::open_to_append(path)?) } else { None };
        Ok(Self { file, path, document, before, append_to })
    }

    fn after(&self) -> &'t [u8] {
        self.document.bytes()
    }

    fn record(&self) -> FileChange {
        let is_kept =
            self.append_to.is_none() && self.document.is_valid_utf8() && self.after().len() <= TEXT_IN_JOURNAL;
        FileChange {
            file: self.file,
            before: self.before.as_deref().map(Digest::of),
            after: Digest::of(self.after()),
            hunks: self.document.hunks().to_vec(),
            appends: self.append_to.is_some(),
            text: is_kept.then(|| self.document.text().to_owned()),
        }
    }

    fn apply(&self) -> Result<Applied> {
        match (&self.append_to, &self.before) {
            (Some(file), Some(before)) => {
                let added = self.after().get(before.len()..).unwrap_or(&[]);
                let file = file.try_clone().map_err(disk::failed("open", self.path))?;
                apply::append(self.path, file, added)
            }
            _ => {
                let is_kept = self.document.is_valid_utf8() && self.after().len() <= TEXT_IN_JOURNAL;
                apply::replace(self.path, self.after(), !is_kept)
            }
        }
    }

    /// Makes the file again what it was, whether the change has reached it or not, and makes that
    /// safe.
    fn take_back(&self) -> Result<()> {
        disk::remove(&disk::copy_of(self.path))?;
        let standing = disk::read(self.path)?.map(|(bytes, _)| bytes);
        if standing.as_deref() == self.before.as_deref() {
            return Ok(());
        }
        match (&self.before, &self.append_to) {
            (None, _) => {
                disk::remove(self.path)?;
                disk::sync_folder_of(self.path)
            }
            // Behind another program's lines it cannot be cut off: the record stays open for recovery.
            (Some(_), Some(_)) if !standing.is_some_and(|standing| self.after().starts_with(&standing)) => {
                let source = io::Error::other("another program added to it meanwhile");
                Err(disk::failed("take the change back from", self.path)(source))
            }
            (Some(before), Some(file)) => {
                disk::truncate(file, self.path, before.len() as u64)?;
                disk::sync(file, self.path)
            }
            (Some(before), None) => {
                let file = disk::overwrite(self.path, before)?;
                disk::sync(&file, self.path)
            }
        }
    }
}
