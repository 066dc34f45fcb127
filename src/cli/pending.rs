//! `pending`: whether a job has something to distill.

use std::io::{self, Write as _};

use super::Failure;
use crate::ops::{
    Context,
    distillation::{self, Skip},
};

/// The exit code if there is nothing to distill.
const NOTHING: u8 = 10;

pub(super) fn run(context: &Context) -> Result<u8, Failure> {
    match distillation::pending(context)? {
        Ok(count) => {
            writeln!(io::stdout(), "{count} new messages to distill, or more")?;
            Ok(0)
        }
        Err(skip) => {
            let remedy = match skip {
                Skip::NotInitialized => "; set `initialization_status: done` in `memory/MEMORY.md` once it is set up",
                _ => "",
            };
            writeln!(io::stdout(), "nothing to distill: {}{remedy}", skip.as_str())?;
            Ok(NOTHING)
        }
    }
}
