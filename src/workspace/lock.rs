//! The exclusive flock(2) that every program sharing the workspace takes before it writes.

#![expect(clippy::disallowed_methods, reason = "the lock file is opened here, and the wait has a deadline")]

use std::{
    fs::{File, OpenOptions},
    io,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use super::disk;
use crate::error::{Error, Result};

/// Tells a call that waits for the lock to give up.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Makes the call give up waiting.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the call should give up waiting.
    #[must_use]
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// How long a call waits for the lock.
#[derive(Debug, Clone, Default)]
pub struct Wait {
    /// The longest time.
    pub limit: Duration,
    /// Ends the wait earlier.
    pub cancel: Cancel,
}

/// The lock, held until this value is dropped.
#[derive(Debug)]
pub(super) struct Lock {
    _file: File,
}

impl Lock {
    /// Waits for the lock. The file is made if it is not there, and never written, renamed or removed.
    pub(super) fn acquire(path: &Path, wait: &Wait) -> Result<Self> {
        let began = Instant::now();
        let mut pause = Duration::from_micros(100);
        loop {
            let found = Self::try_acquire(path)?;
            let waited = began.elapsed();
            // A call that was cancelled while it waited is not done, though the lock is free by now.
            let is_cancelled = wait.cancel.is_cancelled();
            if let Some(lock) = found.filter(|_| !is_cancelled) {
                return Ok(lock);
            }
            if waited >= wait.limit || is_cancelled {
                return Err(Error::LockTimeout { path: path.to_owned(), waited_ms: waited.as_millis() });
            }
            // A blocking flock could be neither limited nor cancelled.
            thread::sleep(pause.min(wait.limit.saturating_sub(waited)));
            pause = (pause * 2).min(Duration::from_millis(4));
        }
    }

    fn try_acquire(path: &Path) -> Result<Option<Self>> {
        let file = open(path)?;
        match fs2::FileExt::try_lock_exclusive(&file) {
            // Another program may have put another file in its place: then this is no lock.
            Ok(()) => Ok(disk::is_same_file(&file, path).then_some(Self { _file: file })),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(disk::failed("lock", path)(error)),
        }
    }
}

fn open(path: &Path) -> Result<File> {
    if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
        return Err(Error::Unreadable {
            path: path.to_owned(),
            reason: "is no regular file, expected the lock file".to_owned(),
        });
    }
    match OpenOptions::new().read(true).write(true).create(true).truncate(false).open(path) {
        // Another user's lock file: reading it is enough to lock it.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => File::open(path),
        opened => opened,
    }
    .map_err(disk::failed("open", path))
}
