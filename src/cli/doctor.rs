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

pub(super) fn run(context: &Context, fix: bool, dry_run: bool) -> Result<(), Failure> {
    let workspace = Workspace::find(&context.location)?;
    let count = report(&workspace, context)?;
    if count == 0 {
        writeln!(io::stdout(), "nothing is wrong or odd")?;
        return Ok(());
    }
    if fix || dry_run {
        let proposed = workspace.rehearse(&context.clock, |transaction| {
            doctor::repair(transaction)?;
            Ok(transaction.proposed())
        })?;
        show(&proposed)?;
    }
    if fix && !dry_run {
        if let Some(conflicts) = workspace.conflicts()? {
            writeln!(io::stdout(), "\nthese changes are no longer kept:\n{conflicts}")?;
        }
        let wait = Wait { limit: LOCK_WAIT, cancel: Cancel::default() };
        let committed = workspace.change(&context.clock, &wait, doctor::repair)?;
        workspace.clear_leftovers()?;
        committed.settling.settle()?;
        writeln!(io::stdout(), "\nwhat could be repaired is; what is left:")?;
        report(&workspace, context)?;
    }
    Ok(())
}

/// Prints what is odd, and answers how much it is.
fn report(workspace: &Workspace, context: &Context) -> Result<usize, Failure> {
    let mut out = io::stdout();
    let ailments = workspace.ailments()?;
    for ailment in &ailments {
        writeln!(out, "{}: {}; {}", ailment.path.display(), ailment.what, ailment.remedy)?;
    }
    let findings = match workspace.peek(&context.clock, doctor::examine) {
        Ok(findings) => findings,
        // What the memory says was not looked at: that is no good health.
        Err(error) => {
            writeln!(out, "{}", error.report())?;
            return Ok(ailments.len() + 1);
        }
    };
    for finding in &findings {
        let line = finding.line.map_or(String::new(), |line| format!(":{line}"));
        writeln!(out, "{}{line}: {}; {}", finding.file.path(), finding.what, finding.remedy)?;
    }
    Ok(ailments.len() + findings.len())
}

fn show(proposed: &[(MemoryFile, String, String)]) -> io::Result<()> {
    let mut out = io::stdout();
    for (file, before, after) in proposed {
        let diff = TextDiff::from_lines(before, after);
        write!(out, "\n{}", diff.unified_diff().header(file.path(), file.path()))?;
    }
    Ok(())
}
