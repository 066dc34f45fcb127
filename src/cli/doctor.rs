//! `doctor`: what is wrong or odd in a workspace, one line each.

use std::{
    io::{self, Write as _},
    time::Duration,
};

use similar::TextDiff;

use super::Failure;
use crate::{
    format::MemoryFile,
    ops::{Context, doctor},
    workspace::{Cancel, Wait, Workspace},
};

/// How long a repair waits for the lock.
const LOCK_WAIT: Duration = Duration::from_secs(10);
/// What `unreadable` and `damaged` exit with.
const UNREADABLE: u8 = 4;

/// Answers the exit code: 4 if calls fail until somebody has helped.
pub(super) fn run(context: &Context, fix: bool, dry_run: bool) -> Result<u8, Failure> {
    let workspace = Workspace::find(&context.location)?;
    let mut health = report(&workspace, context)?;
    if health == Health::Well {
        writeln!(io::stdout(), "nothing is wrong or odd")?;
        return Ok(0);
    }
    if fix || dry_run {
        let proposed = workspace.rehearse(&context.clock, |transaction| {
            doctor::repair(transaction)?;
            Ok(transaction.proposed())
        })?;
        show(&proposed)?;
    }
    if fix && !dry_run {
        let wait = Wait { limit: LOCK_WAIT, cancel: Cancel::default() };
        let committed = workspace.change(&context.clock, &wait, doctor::repair)?;
        committed.settling.settle()?;
        for warning in &committed.warnings {
            writeln!(io::stdout(), "\n{warning}")?;
        }
        // Among them what the repair itself could not place of a crash.
        let conflicts = workspace.conflicts()?;
        if let Some(conflicts) = &conflicts {
            writeln!(io::stdout(), "\nthese changes are no longer kept:\n{conflicts}")?;
        }
        workspace.clear_leftovers(&context.clock, &wait, conflicts.as_deref())?;
        writeln!(io::stdout(), "\nwhat could be repaired is; what is left:")?;
        health = report(&workspace, context)?;
    }
    Ok(if health == Health::Grave { UNREADABLE } else { 0 })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Health {
    Well,
    Odd,
    /// Calls fail.
    Grave,
}

/// Prints what is wrong or odd.
fn report(workspace: &Workspace, context: &Context) -> Result<Health, Failure> {
    let mut out = io::stdout();
    let ailments = workspace.ailments();
    for ailment in &ailments {
        writeln!(out, "{}: {}; {}", ailment.path.display(), ailment.what, ailment.remedy)?;
    }
    let is_grave = ailments.iter().any(|ailment| ailment.is_grave);
    let findings = match workspace.peek(&context.clock, doctor::examine) {
        Ok(findings) => findings,
        // What the memory says was not looked at: that is no good health.
        Err(_) if is_grave => return Ok(Health::Grave),
        Err(error) => {
            writeln!(out, "{}", error.report())?;
            return Ok(Health::Grave);
        }
    };
    for finding in &findings {
        let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
        writeln!(out, "{}{line}: {}; {}", finding.file.path(), finding.what, finding.remedy)?;
    }
    Ok(if is_grave || findings.iter().any(|finding| finding.is_grave) {
        Health::Grave
    } else if ailments.is_empty() && findings.is_empty() {
        Health::Well
    } else {
        Health::Odd
    })
}

fn show(proposed: &[(MemoryFile, String, String)]) -> io::Result<()> {
    let mut out = io::stdout();
    for (file, before, after) in proposed {
        let diff = TextDiff::from_lines(before, after);
        write!(out, "\n{}", diff.unified_diff().header(file.path(), file.path()))?;
    }
    Ok(())
}
