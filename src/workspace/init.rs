//! A new workspace: every file that the programs around it expect.

#![expect(clippy::disallowed_methods, reason = "the new files are written here")]

use std::{fs, path::Path};

use super::{
    LOCK, MEMORY,
    disk::{self, failed},
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
/// The files beside `memory/`.
const BESIDE: [(&str, &str); 3] = [(LOCK, ""), (".distill.lock", ""), (".mood_state_aux", "")];

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
    let names = BESIDE.iter().map(|(name, _)| *name).chain([MEMORY, "sessions"]);
    for name in names {
        let path = folder.join(name);
        if path.symlink_metadata().is_ok() {
            let found = format!("a folder that already has `{name}`");
            return Err(Error::invalid(folder.display().to_string(), found, "a new or empty folder"));
        }
    }
    fs::create_dir_all(folder).map_err(failed("create", folder))?;
    // `memory` appears last and whole: until then there is no workspace.
    let unfinished = folder.join(".memory.init");
    make_folder(&unfinished)?;
    for (name, text) in TEMPLATES {
        write(&unfinished.join(name), text)?;
    }
    make_folder(&folder.join("sessions"))?;
    for (name, text) in BESIDE {
        write(&folder.join(name), text)?;
    }
    let memory = folder.join(MEMORY);
    disk::sync_folder_of(&unfinished.join(MEMORY))?;
    fs::rename(&unfinished, &memory).map_err(failed("create", &memory))?;
    // What the first call builds on is safe: its name, and that of the folder.
    disk::sync_folder_of(&memory)?;
    disk::sync_folder_of(folder)
}

fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir(path).map_err(failed("create", path))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(failed("write", path))?;
    disk::sync_as_it_is(path)
}
