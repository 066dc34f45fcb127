//! `init`: a new workspace.

use std::{
    io::{self, Write as _},
    path::Path,
};

use super::Failure;
use crate::workspace;

pub(super) fn run(dir: &Path) -> Result<(), Failure> {
    workspace::init(dir)?;
    writeln!(io::stdout(), "made a workspace in {}", dir.display())?;
    Ok(())
}
