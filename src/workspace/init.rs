//! A new workspace: every file that the programs around it expect.

#![expect(clippy::disallowed_methods, reason = "the new files are written here")]

use std::{fs, path::Path};

use super::{
    CONFLICTS, JOURNAL, LOCK, MEMORY,
    disk::{self, failed},
    lease::{DISTILL_LOCK, LEASE},
};
use crate::error::{Error, Result};

/// The files of `memory/`.
const TEMPLATES: [(&str, &str); 10] = [
    ("MEMORY.md", include_str!("template/MEMORY.md")),
    ("events.md", include_str!("template/events.md")),
    ("mood_state.md", include_str!("template/mood_state.md")),
    ("unresolved.md", include_str!("template/unresolved.md")),
    ("persona.md", include_str!("template/persona.md")),
    ("user_profile.md", include_str!("template/user_profile.md")),
    ("distill_state.md", include_str!("template/distill_state.md")),
    ("life_log.md", include_str!("template/life_log.md")),
    ("RECENT_HISTORY.md", include_str!("template/RECENT_HISTORY.md")),
    ("session_summary.md", include_str!("template/session_summary.md")),
];
/// The files beside `memory/`, empty at first.
const BESIDE: [&str; 3] = [LOCK, DISTILL_LOCK, ".mood_state_aux"];

const SESSIONS: &str = "sessions";
/// The name of `memory` until it is whole.
const UNFINISHED: &str = ".memory.init";

/// Makes a workspace in a folder, which is made if it is not there.
///
/// # Errors
///
/// `invalid_argument` if the folder already holds something of a workspace: nothing is touched.
/// `io` if the disk refuses.
pub fn init(folder: &Path) -> Result<()> {
    if folder.metadata().is_ok_and(|metadata| !metadata.is_dir()) {
        return Err(Error::invalid(folder.display().to_string(), "a file", "a new or empty folder"));
    }
    let unfinished = folder.join(UNFINISHED);
    // What an `init` that was stopped has made may be made again.
    let was_stopped = unfinished.is_dir() && !folder.join(MEMORY).exists();
    let made = BESIDE.into_iter().chain([SESSIONS]).filter(|_| !was_stopped);
    for name in [MEMORY, JOURNAL, CONFLICTS, LEASE].into_iter().chain(made) {
        let path = folder.join(name);
        if path.symlink_metadata().is_ok() {
            let found = format!("a folder that already has `{name}`");
            return Err(Error::invalid(folder.display().to_string(), found, "a new or empty folder"));
        }
    }
    let folder = &std::path::absolute(folder).map_err(failed("find", folder))?;
    let new_folders: Vec<_> = folder.ancestors().take_while(|folder| !folder.exists()).collect();
    fs::create_dir_all(folder).map_err(failed("create", folder))?;
    if was_stopped {
        fs::remove_dir_all(&unfinished).map_err(failed("remove", &unfinished))?;
    }
    // `memory` appears last and whole: until then there is no workspace.
    make_folder(&unfinished)?;
    for (name, text) in TEMPLATES {
        write(&unfinished.join(name), text)?;
    }
    if !folder.join(SESSIONS).is_dir() {
        make_folder(&folder.join(SESSIONS))?;
    }
    for name in BESIDE {
        // Another `init` may have been faster, and a call after it: what it wrote stays.
        let path = folder.join(name);
        fs::OpenOptions::new().append(true).create(true).open(&path).map_err(failed("create", &path))?;
        disk::sync_as_it_is(&path)?;
    }
    let memory = folder.join(MEMORY);
    disk::sync_folder_of(&unfinished.join(MEMORY))?;
    fs::rename(&unfinished, &memory).map_err(failed("create", &memory))?;
    // What the first call builds on is safe: its name, and those of the folders above it.
    disk::sync_folder_of(&memory)?;
    disk::sync_folder_of(folder)?;
    new_folders.into_iter().try_for_each(disk::sync_folder_of)
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir(path).map_err(failed("create", path))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(failed("write", path))?;
    disk::sync_as_it_is(path)
}
