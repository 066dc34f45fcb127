//! The programs that work beside ours: bash procedures, and whoever holds the lock.

use super::{Workspace, ZONE};
use std::{
    io::{BufRead, BufReader},
    path::Path,
    process::{Child, Command, Stdio},
};

/// Whether a program is absent that a test needs; says so, and the test returns.
pub(crate) fn missing(programs: &[&str]) -> bool {
    let absent = |name: &&&str| {
        let found = Command::new("sh").args(["-c", "command -v \"$1\"", "sh", name]).stdout(Stdio::null()).status();
        !found.is_ok_and(|status| status.success())
    };
    let lacking: Vec<_> = programs.iter().filter(absent).collect();
    if !lacking.is_empty() {
        eprintln!("skipped: no {lacking:?} here");
    }
    !lacking.is_empty()
}

/// A bash script in the workspace, as the procedures run.
pub(crate) fn bash(workspace: &Workspace, script: &str) -> Command {
    let mut command = Command::new("bash");
    command.args(["-euo", "pipefail", "-c", script]).current_dir(workspace.root());
    command.env("WORKSPACE_DIR", workspace.root()).env("TZ", ZONE).env("LC_ALL", "C.UTF-8");
    command
}

/// `.memory.lock`, held by a bash with util-linux `flock` until this is dropped.
pub(crate) struct OutsideLock {
    holder: Child,
}

impl OutsideLock {
    pub(crate) fn hold(workspace: &Workspace) -> Self {
        Self::hold_file(workspace, &workspace.path(".memory.lock"))
    }

    pub(crate) fn hold_file(workspace: &Workspace, lock: &Path) -> Self {
        // `exec cat` ends with its stdin, so the lock cannot outlive the test. `9>>` opens the file as the procedures'
        // `9>` does, but shows if somebody writes to it.
        let mut holder = bash(workspace, "exec 9>>\"$LOCK\"; flock -x -w 60 9; echo held; exec cat")
            .env("LOCK", lock)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(holder.stdout.take().unwrap()).read_line(&mut line).unwrap();
        assert_eq!(line, "held\n");
        Self { holder }
    }
}

impl Drop for OutsideLock {
    fn drop(&mut self) {
        drop(self.holder.stdin.take());
        let _ = self.holder.wait();
    }
}
