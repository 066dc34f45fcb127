//! Puts new bytes in a file's place, and makes them safe.

use std::{
    collections::BTreeSet,
    fs::File,
    path::{Path, PathBuf},
};

use super::{
    disk,
    journal::{End, Journal},
};
use crate::error::Result;

/// A file that holds its change, and still has to be synced.
#[derive(Debug)]
pub(super) struct Applied {
    path: PathBuf,
    file: File,
    /// A copy of what the file was written over with; it stays until the file is safe.
    backup: Option<PathBuf>,
}

impl Applied {
    /// Makes the file's content safe.
    pub(super) fn sync(&self) -> Result<()> {
        disk::sync(&self.file, &self.path)
    }
}

/// Adds bytes to a file that was opened for it.
pub(super) fn append(path: &Path, file: File, bytes: &[u8]) -> Result<Applied> {
    disk::append(&file, path, bytes)?;
    Ok(Applied { path: path.to_owned(), file, backup: None })
}

/// Makes a file that was not there, whole or not at all, synced first if asked for. `None` if another
/// program has made it meanwhile: that one stays.
pub(super) fn create(path: &Path, bytes: &[u8], sync_first: bool) -> Result<Option<Applied>> {
    let copy = disk::copy_of(path);
    let (file, _) = disk::write_copy(&copy, bytes, path)?;
    if sync_first {
        disk::sync_copy(&file, &copy)?;
    }
    if disk::rename_new(&copy, path)? {
        return Ok(Some(Applied { path: path.to_owned(), file, backup: None }));
    }
    give_up(&copy)
}

/// Replaces a file by a copy, which is synced first if asked for. A file that cannot be replaced,
/// because it is mounted by itself or belongs to somebody else, is written over where it stands,
/// with the synced copy beside it as a backup.
///
/// A sync takes long enough for another program to save the file: `None` if it no longer `stands` as
/// it did.
pub(super) fn replace(
    path: &Path,
    bytes: &[u8],
    sync_first: bool,
    stands: impl Fn() -> Result<bool>,
) -> Result<Option<Applied>> {
    let copy = disk::copy_of(path);
    let (file, keeps_owner) = disk::write_copy(&copy, bytes, path)?;
    if sync_first {
        disk::sync_copy(&file, &copy)?;
        if !stands()? {
            return give_up(&copy);
        }
    }
    if keeps_owner && disk::rename(&copy, path)? {
        return Ok(Some(Applied { path: path.to_owned(), file, backup: None }));
    }
    if !sync_first {
        disk::sync_copy(&file, &copy)?;
    }
    disk::sync_folder_of(&copy)?;
    if !stands()? {
        return give_up(&copy);
    }
    write_over(path, bytes).map(Some)
}

fn give_up(copy: &Path) -> Result<Option<Applied>> {
    disk::remove(copy)?;
    disk::sync_folder_of(copy)?;
    Ok(None)
}

/// Writes over a file where it stands. Its synced copy stands beside it.
pub(super) fn write_over(path: &Path, bytes: &[u8]) -> Result<Applied> {
    let file = disk::overwrite(path, bytes)?;
    Ok(Applied { path: path.to_owned(), file, backup: Some(disk::copy_of(path)) })
}

/// Makes all that was applied safe, and marks the record as done.
///
/// If this fails, the record stays open, and whoever opens the workspace next replaces each file by
/// a synced copy: syncing the same pages again would prove nothing.
pub(super) fn settle(applied: &[Applied], journal: &mut Journal) -> Result<()> {
    let settled = sync_all(applied).and_then(|()| journal.end(End::Done));
    if settled.is_err() {
        // Nothing more can be done if this fails as well.
        let _ = journal.end(End::Lost);
    }
    settled
}

/// Makes all that was applied safe.
pub(super) fn sync_all(applied: &[Applied]) -> Result<()> {
    applied.iter().try_for_each(Applied::sync)?;
    // A backup has served once its file is safe, and goes while the record still knows of it.
    applied.iter().filter_map(|applied| applied.backup.as_deref()).try_for_each(disk::remove)?;
    sync_folders(applied.iter().map(|applied| applied.path.as_path()))
}

/// Makes files that were not changed safe as they are, and removes the copies beside them.
pub(super) fn sync_as_they_are<'p>(files: impl Iterator<Item = &'p Path> + Clone) -> Result<()> {
    files.clone().try_for_each(disk::sync_as_it_is)?;
    files.clone().map(disk::copy_of).try_for_each(|copy| disk::remove(&copy))?;
    sync_folders(files)
}

/// Makes the names of files safe, each folder once.
pub(super) fn sync_folders<'p>(files: impl Iterator<Item = &'p Path>) -> Result<()> {
    let mut folders = BTreeSet::new();
    for path in files {
        if folders.insert(path.parent()) {
            disk::sync_folder_of(path)?;
        }
    }
    Ok(())
}
