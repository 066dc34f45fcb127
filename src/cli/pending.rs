//! `pending`: whether a job has something to distill.

use std::io::{self, Write as _};

use super::Failure;
use crate::ops::{Context, distillation};

/// The exit code if there is nothing to distill.
const NOTHING: u8 = 10;

pub(super) fn run(context: &Context) -> Result<u8, Failure> {
    match distillation::pending(context)? {
        Ok(count) => {
            writeln!(io::stdout(), "{count} new messages to distill, or more")?;
            Ok(0)
        }
        Err(skip) => {
            writeln!(io::stdout(), "nothing to distill: {}", skip.as_str())?;
            Ok(NOTHING)
        }
    }
}
