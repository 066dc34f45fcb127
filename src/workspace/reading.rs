//! Reading without writing, and without the lock unless a change is in hand.

use std::{mem, path::PathBuf, time::Duration};

use super::{Cancel, Clock, JOURNAL, Journal, LOCK, Lock, Wait, Workspace, transaction::Files};
use crate::{
    clock::Moment,
    error::{Error, Result},
    format::{MemoryFile, document::Document},
};

/// How long a reader waits for the lock while a change is in hand.
const PATIENCE: Duration = Duration::from_millis(200);
/// How often a reader begins anew because a change came between.
const ATTEMPTS: usize = 3;

/// The files of a workspace as one moment shows them.
#[derive(Debug)]
pub struct Reading<'w> {
    files: Files<'w>,
    now: Moment,
    warnings: Vec<String>,
}

impl Reading<'_> {
    /// A file's document, empty if there is no file.
    ///
    /// # Errors
    ///
    /// `unreadable` if something is there that cannot be read as a file.
    pub fn document(&mut self, file: MemoryFile) -> Result<&Document> {
        Ok(self.files.document(file)?)
    }

    /// Whether there is such a file.
    ///
    /// # Errors
    ///
    /// `unreadable` if something is there that cannot be read as a file.
    pub fn exists(&mut self, file: MemoryFile) -> Result<bool> {
        self.files.exists(file)
    }

    /// The names and texts of the life log's archives.
    ///
    /// # Errors
    ///
    /// `unreadable` if one of them cannot be read.
    pub fn life_log_archives(&self) -> Result<Vec<(String, String)>> {
        self.files.life_log_archives()
    }

    /// Where a file is.
    ///
    /// # Errors
    ///
    /// `unreadable` if it is a link that leads out of the workspace.
    pub fn path(&self, file: MemoryFile) -> Result<PathBuf> {
        self.files.path(file)
    }

    /// The moment of the reading.
    #[must_use]
    pub fn now(&self) -> &Moment {
        &self.now
    }

    /// Tells the caller of something odd that did not stop the call.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }
}

impl Workspace {
    /// Reads files. Waits for nobody, unless a change is open: then 200 ms at most.
    ///
    /// Answers what `look` answers, and the warnings.
    ///
    /// # Errors
    ///
    /// `unreadable`, and whatever `look` refuses.
    pub fn read<T>(
        &self,
        clock: &Clock,
        mut look: impl FnMut(&mut Reading<'_>) -> Result<T>,
    ) -> Result<(T, Vec<String>)> {
        let journal = self.path_of(JOURNAL)?;
        let mut warnings = Vec::new();
        for attempt in 1..=ATTEMPTS {
            let glance = Journal::glance(&journal);
            let lock =
                if glance.is_open || attempt == ATTEMPTS { self.lock_to_recover(clock, &mut warnings)? } else { None };
            warnings.extend(self.kept_conflicts());
            let mut reading = Reading { files: Files::new(self), now: clock.now(), warnings: mem::take(&mut warnings) };
            let value = look(&mut reading)?;
            let is_one_moment = lock.is_some() || (!glance.is_open && Journal::glance(&journal) == glance);
            let was_waited_for = glance.is_open && lock.is_none();
            if is_one_moment || was_waited_for || attempt == ATTEMPTS {
                return Ok((value, reading.warnings));
            }
        }
        Err(Error::Internal { detail: "a reading had no last attempt".to_owned() })
    }

    /// Reads files without a lock and without ending what a crash left.
    ///
    /// # Errors
    ///
    /// `unreadable`, and whatever `look` refuses.
    pub fn peek<T>(&self, clock: &Clock, look: impl FnOnce(&mut Reading<'_>) -> Result<T>) -> Result<T> {
        look(&mut Reading { files: Files::new(self), now: clock.now(), warnings: Vec::new() })
    }

    /// Takes the lock for a moment and ends what a crash left open; without it, warns.
    fn lock_to_recover(&self, clock: &Clock, warnings: &mut Vec<String>) -> Result<Option<Lock>> {
        let wait = Wait { limit: PATIENCE, cancel: Cancel::default() };
        let recovered = Lock::acquire(&self.path_of(LOCK)?, &wait)
            .and_then(|lock| self.recovered_journal(&clock.now()).map(|(_, warnings)| (lock, warnings)));
        match recovered {
            Ok((lock, found)) => {
                *warnings = found;
                Ok(Some(lock))
            }
            Err(error @ Error::Damaged { .. }) => Err(error),
            Err(error) => {
                warnings.push(format!(
                    "a change is in hand and could not be waited for, so this may show half of it ({})",
                    error.code()
                ));
                Ok(None)
            }
        }
    }
}
