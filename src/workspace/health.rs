//! What can be wrong with a workspace's files themselves, whatever they say.

use std::path::PathBuf;

use super::{CONFLICTS, JOURNAL, LOCK, Workspace, disk, journal::Journal};
use crate::{
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
}

impl Workspace {
    /// Looks at the files themselves.
    ///
    /// # Errors
    ///
    /// `unreadable` if the folder cannot be listed.
    pub fn ailments(&self) -> Result<Vec<Ailment>> {
        let mut ailments = Vec::new();
        let mut found = |path: PathBuf, what: String, remedy| ailments.push(Ailment { path, what, remedy });
        for name in [LOCK, ".distill.lock"] {
            let path = self.root.join(name);
            match path.metadata() {
                Ok(metadata) if !metadata.is_file() => {
                    found(path, "is no regular file".to_owned(), "remove it; every program makes it again");
                }
                Ok(metadata) if metadata.permissions().readonly() => found(
                    path,
                    "cannot be written".to_owned(),
                    "give every program that shares it the right to open it",
                ),
                Err(error) if path.is_symlink() => found(
                    path,
                    format!("is a link that leads nowhere: {error}"),
                    "remove it; every program makes it again",
                ),
                _ => {}
            }
        }
        for file in MemoryFile::ALL {
            let document = self
                .path_of(file.path())
                .and_then(|path| Ok(disk::read(&path)?.map(|(bytes, _)| Document::new(bytes))));
            match document {
                Err(error) => found(
                    self.root.join(file.path()),
                    error.to_string(),
                    "make it a readable file inside the workspace",
                ),
                Ok(Some(document)) if !document.is_valid_utf8() => {
                    found(
                        self.root.join(file.path()),
                        "holds bytes that are no UTF-8".to_owned(),
                        "open it in an editor and save it as UTF-8",
                    );
                }
                Ok(_) => {}
            }
        }
        if Journal::glance(&self.root.join(JOURNAL)).is_open {
            found(
                self.root.join(JOURNAL),
                "holds a change that a crash left open".to_owned(),
                "any call that writes brings it to its end",
            );
        }
        for path in self.leftovers() {
            found(path, "is the copy of a change that was not finished".to_owned(), "`doctor --fix` removes it");
        }
        let conflicts = self.root.join(CONFLICTS);
        if conflicts.exists() {
            found(
                conflicts,
                "keeps changes that could not be placed after a crash".to_owned(),
                "carry over by hand what is still right, then `doctor --fix` removes it",
            );
        }
        Ok(ailments)
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

    /// Removes leftovers and the kept conflicts.
    ///
    /// # Errors
    ///
    /// `io` if the disk refuses.
    pub fn clear_leftovers(&self) -> Result<()> {
        for path in self.leftovers() {
            disk::remove(&path)?;
        }
        disk::remove(&self.path_of(CONFLICTS)?)
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
