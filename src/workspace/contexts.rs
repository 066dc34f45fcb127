//! Finds the newest context of a session that belongs to this workspace.

use std::{
    fs,
    path::{Path, PathBuf},
    time::SystemTime,
};

use super::Workspace;
use crate::format::session_context::{self, SessionContext};

const SESSIONS: &str = "sessions";
const FILE: &str = "SESSION_CONTEXT.md";
/// How deep the folders of sessions are searched.
const DEPTH: usize = 8;

impl Workspace {
    /// The newest context that names a channel and this workspace, or none; with the database's path.
    #[must_use]
    pub fn session_context(&self) -> Option<(SessionContext, PathBuf)> {
        let mut files = Vec::new();
        find(&self.root.join(SESSIONS), DEPTH, &mut files);
        files.sort_by_key(|(written, path)| std::cmp::Reverse((*written, path.clone())));
        files.into_iter().find_map(|(_, path)| {
            let context = session_context::parse(&String::from_utf8_lossy(&super::disk::read(&path).ok()??.0));
            let is_here = context.workspace.as_ref().is_none_or(|named| self.is_at(Path::new(named)));
            if context.channel_key.is_empty() || !is_here {
                return None;
            }
            let db_path = self.root.join(context.db_path.as_ref()?);
            Some((context, db_path))
        })
    }

    fn is_at(&self, named: &Path) -> bool {
        match (fs::canonicalize(self.root.join(named)), fs::canonicalize(&self.root)) {
            (Ok(named), Ok(own)) => named == own,
            _ => false,
        }
    }
}

fn find(folder: &Path, depth: usize, files: &mut Vec<(SystemTime, PathBuf)>) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let Ok(kind) = entry.file_type() else { continue };
        if kind.is_dir() && depth > 0 {
            find(&entry.path(), depth - 1, files);
        } else if kind.is_file() && entry.file_name() == FILE {
            let written = entry.metadata().and_then(|metadata| metadata.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
            files.push((written, entry.path()));
        }
    }
}
