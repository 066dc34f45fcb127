//! A distillation under way: `.distill.lock` held by flock, and its lease in `.distill_lease`, which
//! outlives the process that began it.

use std::{
    path::PathBuf,
    sync::mpsc::{self, RecvTimeoutError, Sender},
    thread::{self, JoinHandle},
    time::Duration,
};

use serde::{Deserialize, Serialize};

use super::{
    Workspace, disk,
    lock::{Cancel, Lock, Wait},
};
use crate::{
    error::{Error, Result},
    format::distill_state::Cursor,
};

pub(super) const DISTILL_LOCK: &str = ".distill.lock";
pub(super) const LEASE: &str = ".distill_lease";

/// What a distillation may commit, and until when.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Lease {
    /// Names it.
    pub token: String,
    /// The `timestamp:` and `cursor:` lines as they stood at its beginning.
    pub seen: Vec<String>,
    /// The chat's key.
    pub channel: String,
    /// The id of the last message that was examined.
    pub message_id: String,
    /// Its row.
    pub row: i64,
    /// The timestamp to write.
    pub timestamp: String,
    /// When it runs out, in Unix milliseconds.
    pub expires_at_ms: i64,
}

impl Lease {
    /// The cursor to write.
    #[must_use]
    pub fn cursor(&self) -> Cursor {
        let Self { channel, message_id, row, timestamp, .. } = self.clone();
        Cursor { channel, message_id, row, timestamp }
    }
}

/// `.distill.lock`, held until this value is dropped or its time is over.
///
/// A thread of its own holds it, so that it is given free in time even if nobody calls again.
#[derive(Debug)]
pub struct Hold {
    release: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Drop for Hold {
    fn drop(&mut self) {
        self.release = None;
        if let Some(thread) = self.thread.take() {
            // It only waits, so it cannot have panicked.
            let _ = thread.join();
        }
    }
}

impl Workspace {
    /// Takes `.distill.lock` for a time, waiting no longer than `patience` for another holder.
    ///
    /// # Errors
    ///
    /// `lock_timeout` if another process holds it.
    pub fn hold_distillation(&self, patience: Duration, time: Duration) -> Result<Hold> {
        let lock = Lock::acquire(&self.path_of(DISTILL_LOCK)?, &Wait { limit: patience, cancel: Cancel::default() })?;
        let (release, released) = mpsc::channel::<()>();
        let thread = thread::Builder::new()
            .name("distillation".to_owned())
            .spawn(move || {
                let _lock = lock;
                let ended = released.recv_timeout(time);
                debug_assert!(matches!(ended, Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)));
            })
            .map_err(disk::failed("hold", &self.root))?;
        Ok(Hold { release: Some(release), thread: Some(thread) })
    }

    fn lease_path(&self) -> Result<PathBuf> {
        self.path_of(LEASE)
    }

    /// The lease that was kept last, if it can be read.
    ///
    /// # Errors
    ///
    /// `unreadable` if something else stands in its place.
    pub fn lease(&self) -> Result<Option<Lease>> {
        let bytes = disk::read(&self.lease_path()?)?.map(|(bytes, _)| bytes);
        Ok(bytes.and_then(|bytes| serde_json::from_slice(&bytes).ok()))
    }

    /// Keeps a lease in the place of any other.
    ///
    /// What a stop leaves of it is no lease, and stands for a token that nobody was given.
    ///
    /// # Errors
    ///
    /// `io` if it cannot be written.
    pub fn keep_lease(&self, lease: &Lease) -> Result<()> {
        let bytes = serde_json::to_vec(lease).map_err(|error| Error::Internal { detail: error.to_string() })?;
        let path = self.lease_path()?;
        let file = disk::open_or_create(&path)?;
        disk::truncate(&file, &path, 0)?;
        disk::write_at(&file, &path, &bytes, 0)
    }

    /// Removes the lease.
    ///
    /// # Errors
    ///
    /// `io` if it cannot be removed.
    pub fn remove_lease(&self) -> Result<()> {
        disk::remove(&self.lease_path()?)
    }
}
