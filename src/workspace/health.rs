//! What can be wrong with a workspace's files themselves, whatever they say.

use std::{path::PathBuf, time::Duration};

use super::{
    CONFLICTS, Cancel, JOURNAL, LOCK, Lock, Wait, Workspace, disk,
    journal::Journal,
    lease::{DISTILL_LOCK, LEASE},
};
use crate::{
    clock::Clock,
    error::Result,
    format::{MemoryFile, document::Document},
};

/// Something wrong with a file, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ailment {
    /// The file.
    pub path: PathBuf,
    /// What is wrong.
    pub what: String,
    /// What to do.
    pub remedy: &'static str,
    /// Whether calls fail until then.
    pub is_grave: bool,
}

/// How long a look waits for a change that is under way.
const PATIENCE: Duration = Duration::from_millis(200);

impl Workspace {
    /// Looks at the files themselves.
    #[must_use]
    pub fn ailments(&self) -> Vec<Ailment> {
        let mut ailments = Vec::new();
        let mut add = |path: PathBuf, what: String, remedy, is_grave| {
            ailments.push(Ailment { path, what, remedy, is_grave });
        };
        for name in [LOCK, DISTILL_LOCK] {
            let path = self.root.join(name);
            match path.metadata() {
                Ok(metadata) if !metadata.is_file() => {
                    add(path, "is no regular file".to_owned(), "remove it; every program makes it again", true);
                }
                Ok(metadata) if metadata.permissions().readonly() => add(
                    path,
                    "cannot be written".to_owned(),
                    "give every program that shares it the right to open it",
                    false,
                ),
                Err(error) if path.is_symlink() => add(
                    path,
                    format!("is a link that leads nowhere: {error}"),
                    "remove it; every program makes it again",
                    true,
                ),
                _ => {}
            }
        }
        let memory = MemoryFile::ALL.map(|file| (file.path(), "make it a readable file inside the workspace"));
        let ours = [JOURNAL, CONFLICTS, LEASE].map(|name| (name, "move it away; this program makes its own"));
        for (name, remedy) in memory.into_iter().chain(ours) {
            let document =
                self.path_of(name).and_then(|path| Ok(disk::read(&path)?.map(|(bytes, _)| Document::new(bytes))));
            let path = self.root.join(name);
            match document {
                Err(error) => add(path, error.to_string(), remedy, true),
                Ok(Some(document)) if !document.is_valid_utf8() => {
                    let what = "holds bytes that are no UTF-8".to_owned();
                    add(path, what, "open it in an editor and save it as UTF-8", false);
                }
                Ok(_) => {}
            }
        }
        if self.has_open_record() {
            add(
                self.root.join(JOURNAL),
                "holds a change that a crash left open".to_owned(),
                "any call that writes brings it to its end",
                false,
            );
        }
        for path in self.leftovers() {
            let what = "is the copy of a change that was not finished".to_owned();
            add(path, what, "`doctor --fix` removes it", false);
        }
        let conflicts = self.root.join(CONFLICTS);
        if conflicts.exists() {
            add(
                conflicts,
                "keeps changes that could not be placed after a crash".to_owned(),
                "carry over by hand what is still right, then `doctor --fix` removes it",
                false,
            );
        }
        ailments
    }

    /// Whether a crash left a change open: not one that another process has in hand.
    fn has_open_record(&self) -> bool {
        let journal = self.root.join(JOURNAL);
        if !Journal::glance(&journal).is_open {
            return false;
        }
        let wait = Wait { limit: PATIENCE, cancel: Cancel::default() };
        self.path_of(LOCK)
            .and_then(|lock| Lock::acquire(&lock, &wait))
            .is_ok_and(|_lock| Journal::glance(&journal).is_open)
    }

    /// The changes that a recovery could not place, as they are kept.
    ///
    /// # Errors
    ///
    /// `unreadable` if they cannot be read.
    pub fn conflicts(&self) -> Result<Option<String>> {
        let bytes = disk::read(&self.path_of(CONFLICTS)?)?.map(|(bytes, _)| bytes);
        Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
    }

    /// Removes leftovers, and the kept conflicts unless there are others than were `shown`.
    ///
    /// # Errors
    ///
    /// `lock_timeout`; `io` if the disk refuses.
    pub fn clear_leftovers(&self, clock: &Clock, wait: &Wait, shown: Option<&str>) -> Result<()> {
        let _lock = Lock::acquire(&self.path_of(LOCK)?, wait)?;
        // A copy beside a file is its backup for as long as a record is open.
        self.recovered_journal(&clock.now())?;
        for path in self.leftovers() {
            disk::remove(&path)?;
        }
        if self.conflicts()?.as_deref() == shown { disk::remove(&self.path_of(CONFLICTS)?) } else { Ok(()) }
    }

    /// The copies that stand beside our own files; nobody else's.
    fn leftovers(&self) -> Vec<PathBuf> {
        let files = MemoryFile::ALL.map(MemoryFile::path).into_iter().chain([CONFLICTS]);
        let mut leftovers = Vec::new();
        for name in files {
            let Ok(path) = self.path_of(name) else { continue };
            let copy = disk::copy_of(&path);
            if copy.is_file() {
                leftovers.push(copy);
            }
        }
        leftovers
    }
}
