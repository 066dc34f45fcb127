//! The only code that touches the workspace's files: finding it, the lock, transactions, recovery,
//! and the calls to the disk in an order that survives a power cut.

mod apply;
mod contexts;
mod disk;
mod faults;
mod health;
mod init;
mod journal;
mod lease;
mod lock;
mod reading;
mod recovery;
mod transaction;

use std::{
    fmt::Write as _,
    fs,
    path::{Path, PathBuf},
};

use crate::{
    clock::{Clock, Moment},
    error::{Error, Result},
    format::{
        MemoryFile,
        document::{Document, Hunk},
    },
};

pub use init::init;
pub use lease::{Hold, Lease};
pub use lock::{Cancel, Wait};
pub use reading::Reading;
pub use transaction::Transaction;

use apply::Applied;
use journal::Journal;
use lock::Lock;
use transaction::Commit;

/// The folder that holds the memory.
const MEMORY: &str = "memory";
const LOCK: &str = ".memory.lock";
const JOURNAL: &str = ".memory_journal";
const CONFLICTS: &str = ".memory_conflicts";

/// How often a call decides anew because a program that takes no lock was faster.
const ATTEMPTS: usize = 4;

/// Where a workspace is looked for.
#[derive(Debug, Clone)]
pub enum Location {
    /// In this folder.
    Named(PathBuf),
    /// In this folder, or else in the nearest parent that has a `memory` folder.
    Around(PathBuf),
}

/// A workspace: the folder that holds `memory/` and the lock beside it.
#[derive(Debug, Clone)]
pub struct Workspace {
    root: PathBuf,
}

/// A change that is in the files, and safe; the files themselves still have to be synced.
#[derive(Debug)]
pub struct Committed<T> {
    /// What the call answers.
    pub value: T,
    /// What was odd.
    pub warnings: Vec<String>,
    /// What is left to do once the answer is out.
    pub settling: Settling,
}

/// Syncs what a change wrote, ends its record, and gives the lock free.
#[derive(Debug)]
#[must_use = "the lock is held, and the record open, until this is done"]
pub struct Settling {
    _lock: Lock,
    journal: Journal,
    applied: Vec<Applied>,
}

impl Settling {
    /// Makes the files safe.
    ///
    /// # Errors
    ///
    /// `io`: the record stays open, and the next call brings the files to safety or fails itself.
    pub fn settle(mut self) -> Result<()> {
        disk::answered();
        if self.applied.is_empty() { Ok(()) } else { apply::settle(&self.applied, &mut self.journal) }
    }

    /// The same, of a call that was answered: the answer stands, since the journal holds the change and
    /// the next call brings it to safety.
    pub fn settle_answered(self) {
        if let Err(error) = self.settle() {
            tracing::error!(%error, "the files of an answered call could not be made safe; the journal still holds it");
        }
    }
}

impl Workspace {
    /// Finds the workspace.
    ///
    /// # Errors
    ///
    /// `no_workspace` if there is no `memory` folder. Nothing is made.
    pub fn find(location: &Location) -> Result<Self> {
        match location {
            Location::Named(path) => Self::at(path).ok_or_else(|| Error::NoWorkspace { path: path.clone() }),
            Location::Around(path) => {
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                path.ancestors().find_map(Self::at).ok_or_else(|| Error::NoWorkspace { path: path.clone() })
            }
        }
    }

    fn at(root: &Path) -> Option<Self> {
        root.join(MEMORY).is_dir().then(|| Self { root: root.to_owned() })
    }

    /// The workspace's folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Changes files under the lock: reads, decides and writes, all or nothing.
    ///
    /// `decide` is called again if a program that takes no lock changed a file meanwhile.
    ///
    /// # Errors
    ///
    /// `lock_timeout`, `changed_meanwhile`, `unreadable` and whatever `decide` refuses: nothing was
    /// written. `io`: the change is not promised.
    pub fn change<T>(
        &self,
        clock: &Clock,
        wait: &Wait,
        mut decide: impl FnMut(&mut Transaction<'_>) -> Result<T>,
    ) -> Result<Committed<T>> {
        let lock = Lock::acquire(&self.path_of(LOCK)?, wait)?;
        let (mut journal, mut warnings) = self.recovered_journal(&clock.now())?;
        warnings.extend(self.kept_conflicts());
        let mut overtaken_by = PathBuf::new();
        for _ in 0..ATTEMPTS {
            let mut transaction = Transaction::new(self, clock.now(), warnings.clone());
            let value = decide(&mut transaction)?;
            let applied = match transaction.commit(&mut journal)? {
                Commit::Unchanged => Vec::new(),
                Commit::Applied(applied) => applied,
                Commit::Overtaken(path) => {
                    overtaken_by = path;
                    continue;
                }
            };
            let settling = Settling { _lock: lock, journal, applied };
            return Ok(Committed { value, warnings: transaction.into_warnings(), settling });
        }
        Err(Error::ChangedMeanwhile { path: overtaken_by })
    }

    /// Decides what a change would write, without a lock and without writing it.
    ///
    /// # Errors
    ///
    /// As for [`Workspace::change`].
    pub fn rehearse<T>(&self, clock: &Clock, decide: impl FnOnce(&mut Transaction<'_>) -> Result<T>) -> Result<T> {
        decide(&mut Transaction::new(self, clock.now(), Vec::new()))
    }

    /// Opens the journal and ends what a crash left open. The lock is held.
    fn recovered_journal(&self, now: &Moment) -> Result<(Journal, Vec<String>)> {
        let (mut journal, record) = Journal::open(self.path_of(JOURNAL)?)?;
        let warnings = match record {
            Some(record) => recovery::recover(self, &mut journal, &record, now)?,
            None => Vec::new(),
        };
        Ok((journal, warnings))
    }

    /// A warning, if something is kept that a recovery could not place.
    fn kept_conflicts(&self) -> Option<String> {
        let conflicts = self.root.join(CONFLICTS);
        conflicts.exists().then(|| {
            let conflicts = conflicts.display();
            format!(
                "a change that could not be placed after a crash is kept in `{conflicts}`; somebody should look at it"
            )
        })
    }

    /// Where a file is: a link inside the workspace is followed.
    fn path_of(&self, name: &str) -> Result<PathBuf> {
        let path = self.root.join(name);
        if !path.is_symlink() {
            return Ok(path);
        }
        let refuse = |reason: String| Error::Unreadable { path: path.clone(), reason };
        let target =
            fs::canonicalize(&path).map_err(|error| refuse(format!("is a link that leads nowhere: {error}")))?;
        // `memory` itself may be a link that the operator made.
        let homes = [self.root.clone(), self.root.join(MEMORY)];
        let is_inside =
            homes.iter().filter_map(|home| fs::canonicalize(home).ok()).any(|home| target.starts_with(home));
        if is_inside { Ok(target) } else { Err(refuse("is a link that leads out of the workspace".to_owned())) }
    }

    /// The names and texts of `life_log_archive_*.md`.
    fn life_log_archives(&self) -> Result<Vec<(String, String)>> {
        let mut archives = Vec::new();
        for name in disk::names_in(&self.root.join(MEMORY))? {
            if name.strip_prefix("life_log_archive_").and_then(|rest| rest.strip_suffix(".md")).is_some() {
                let bytes = disk::read(&self.path_of(&format!("{MEMORY}/{name}"))?)?.map(|(bytes, _)| bytes);
                archives.push((name, Document::new(bytes.unwrap_or_default()).text().to_owned()));
            }
        }
        archives.sort();
        Ok(archives)
    }

    /// A file's text, empty if there is no file.
    fn text_of(&self, file: MemoryFile) -> Result<String> {
        let bytes = disk::read(&self.path_of(file.path())?)?.map(|(bytes, _)| bytes).unwrap_or_default();
        Ok(Document::new(bytes).text().to_owned())
    }

    /// Keeps what a recovery could not place.
    fn keep_conflicts(&self, conflicts: &[(MemoryFile, Hunk)], now: &Moment) -> Result<()> {
        if conflicts.is_empty() {
            return Ok(());
        }
        let path = self.path_of(CONFLICTS)?;
        let kept = disk::read(&path)?.map(|(bytes, _)| bytes).unwrap_or_default();
        let mut kept = String::from_utf8_lossy(&kept).into_owned();
        for (file, hunk) in conflicts {
            let entry = format!("file: {}\nwas: {}\nnow: {}\n", file.path(), hunk.old.trim(), hunk.new.trim());
            // A second crash during the recovery must not keep the same change twice.
            if !kept.contains(&entry) {
                let _ = writeln!(kept, "found: {}\n{entry}", now.instant());
            }
        }
        let applied = apply::replace(&path, kept.as_bytes(), true, || Ok(true))?;
        apply::sync_all(applied.as_slice())
    }
}
