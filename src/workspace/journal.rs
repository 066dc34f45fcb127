//! The redo record of the last change, in `.memory_journal`.
//!
//! One record, written over the one before: a header of one line, whose state word is changed in
//! place, and the record as JSON. A record counts only if it is open and its checksum holds; a torn
//! one was never committed.

use std::{
    fs::File,
    path::{Path, PathBuf},
};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::disk;
use crate::{
    error::{Error, Result},
    format::{MemoryFile, document::Hunk},
};

const MAGIC: &str = "companion-memory journal 1 ";
/// Where the state word stands in the header.
const STATE_AT: usize = MAGIC.len();
const STATE_LEN: usize = 4;
/// Magic, state, serial number, length, checksum, with a space behind each and a newline at the end.
const HEADER_LEN: usize = STATE_AT + STATE_LEN + 1 + 16 + 1 + 16 + 1 + 32 + 1;

/// A file's length and hash.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Digest {
    pub(super) len: usize,
    hash: String,
}

impl Digest {
    pub(super) fn of(bytes: &[u8]) -> Self {
        Self { len: bytes.len(), hash: format!("{:032x}", xxh3_128(bytes)) }
    }
}

/// What a change makes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FileChange {
    pub(super) file: MemoryFile,
    /// `None` if there was no file.
    pub(super) before: Option<Digest>,
    pub(super) after: Digest,
    pub(super) hunks: Vec<Hunk>,
    /// Whether the file is added to where it stands, not replaced.
    pub(super) appends: bool,
    /// The whole new text of a file that is replaced, if it is small.
    pub(super) text: Option<String>,
}

/// One change over all the files that it touches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Record {
    /// The boot in which it was written, if the system tells: what was written since then and not
    /// synced is lost in another.
    pub(super) boot: Option<String>,
    pub(super) files: Vec<FileChange>,
}

/// How a record ended, or why it did not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    /// All of it is safe on disk.
    Done,
    /// None of it is there.
    Void,
    /// It stays open, and a sync failed: the pages of its files prove nothing, as after a power cut.
    Lost,
}

/// What a reader needs to know without the lock.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Glance {
    pub(super) is_open: bool,
    serial: u64,
}

struct Header {
    glance: Glance,
    is_done: bool,
    is_lost: bool,
    len: usize,
    checksum: u128,
}

impl Header {
    fn parse(bytes: &[u8]) -> Option<Self> {
        let line = std::str::from_utf8(bytes.get(..HEADER_LEN)?).ok()?;
        let mut words = line.strip_prefix(MAGIC)?.trim_end().split(' ');
        let state = words.next()?;
        let serial = u64::from_str_radix(words.next()?, 16).ok()?;
        let len = usize::from_str_radix(words.next()?, 16).ok()?;
        let checksum = u128::from_str_radix(words.next()?, 16).ok()?;
        Some(Self {
            glance: Glance { is_open: matches!(state, "open" | "lost"), serial },
            is_done: state == "done",
            is_lost: state == "lost",
            len,
            checksum,
        })
    }
}

/// The journal of a workspace whose lock is held.
#[derive(Debug)]
pub(super) struct Journal {
    path: PathBuf,
    serial: u64,
    /// Whether its own name is known to be safe: a record was done, so one was written before.
    is_named: bool,
    file: Option<File>,
    boot: Option<String>,
}

impl Journal {
    /// Opens the journal, and reads the record that a crash left open.
    pub(super) fn open(path: PathBuf) -> Result<(Self, Option<Record>)> {
        let bytes = disk::read(&path)?.map(|(bytes, _)| bytes).unwrap_or_default();
        let header = Header::parse(&bytes);
        let serial = header.as_ref().map_or(0, |header| header.glance.serial);
        let is_named = header.as_ref().is_some_and(|header| header.is_done);
        let is_open = header.as_ref().is_some_and(|header| header.glance.is_open);
        let record = header.filter(|header| header.glance.is_open).and_then(|header| {
            let body = bytes.get(HEADER_LEN..HEADER_LEN.checked_add(header.len)?)?;
            let is_whole = checksum(header.glance.serial, body) == header.checksum;
            let record: Record = is_whole.then(|| serde_json::from_slice(body).ok())??;
            Some(Record { boot: record.boot.filter(|_| !header.is_lost), ..record })
        });
        // Absent where there is no /proc; then every record counts as one of another boot.
        let boot = disk::boot_id();
        let is_torn = is_open && record.is_none();
        let mut journal = Self { path, serial, is_named, file: None, boot };
        if is_torn {
            // It was never committed. If it cannot be said, every reader finds out anew.
            let _ = journal.end(End::Void);
        }
        Ok((journal, record))
    }

    /// What stands in the header now.
    pub(super) fn glance(path: &Path) -> Glance {
        let header = disk::read_start(path, HEADER_LEN).and_then(|bytes| Header::parse(&bytes));
        header.map_or_else(Glance::default, |header| header.glance)
    }

    /// Whether a record was written in the boot that goes on.
    pub(super) fn is_of_this_boot(&self, record: &Record) -> bool {
        self.boot.is_some() && self.boot == record.boot
    }

    /// Writes a record and makes it safe: the commit point.
    pub(super) fn write(&mut self, files: Vec<FileChange>) -> Result<()> {
        let record = Record { boot: self.boot.clone(), files };
        let body = serde_json::to_vec(&record).map_err(|error| Error::Internal { detail: error.to_string() })?;
        self.serial += 1;
        let header =
            format!("{MAGIC}open {:016x} {:016x} {:032x}\n", self.serial, body.len(), checksum(self.serial, &body));
        let mut bytes = header.into_bytes();
        bytes.extend_from_slice(&body);
        let file = self.file.insert(disk::open_or_create(&self.path)?);
        disk::write_at(file, &self.path, &bytes, 0)?;
        disk::sync(file, &self.path)?;
        if !self.is_named {
            disk::sync_folder_of(&self.path)?;
            self.is_named = true;
        }
        Ok(())
    }

    /// Marks the record as ended and makes that safe.
    pub(super) fn end(&mut self, end: End) -> Result<()> {
        let word = match end {
            End::Done => b"done",
            End::Void => b"void",
            End::Lost => b"lost",
        };
        let file = match &mut self.file {
            Some(file) => file,
            none => none.insert(disk::open_or_create(&self.path)?),
        };
        disk::write_at(file, &self.path, word, STATE_AT as u64)?;
        disk::sync(file, &self.path)
    }
}

fn checksum(serial: u64, body: &[u8]) -> u128 {
    xxh3_128(body) ^ u128::from(serial)
}
