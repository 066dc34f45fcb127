//! The seam below the transaction, in debug builds only: it counts the steps that change the disk,
//! and stops the program or fails a step where a test says so. A release build does none of it.
//!
//! `COMPANION_MEMORY_FAULT` is `KIND:N`, for step N alone, or `KIND:N-`, for it and all that follow:
//!
//! - `stop`: the program ends before the step, as at `kill -9`.
//! - `tear`: a write of more than a word stops half-way and the program ends; any other step as with `stop`.
//! - `enospc`, `eio`: the step fails so and does nothing.
//! - `panic`: the call panics before the step.
//! - `short`: a write of more than a word stops half-way and fails; any other step fails as on a full disk.
//!
//! `COMPANION_MEMORY_TRACE` is a file that gets a line of JSON for each step that was made, with all
//! that it takes to make it again elsewhere: what a power cut leaves can be worked out from it.
//! `COMPANION_MEMORY_BOOT` is taken for the boot of the system.

#[cfg(not(debug_assertions))]
use std::io;
use std::path::Path;

/// A step that changes the disk.
#[derive(Debug, Clone, Copy)]
#[cfg_attr(not(debug_assertions), expect(dead_code, reason = "only the seam looks into a step"))]
#[cfg_attr(debug_assertions, derive(serde::Serialize), serde(rename_all = "snake_case", tag = "step"))]
pub(super) enum Step<'s> {
    /// A new, empty file.
    Create { path: &'s Path },
    /// A file's mode or owner.
    SetMode { path: &'s Path },
    /// Bytes at a place of a file; at its end if there is none.
    Write { path: &'s Path, at: Option<u64>, bytes: &'s [u8] },
    /// A file's length.
    Truncate { path: &'s Path, len: u64 },
    /// A name.
    Rename { from: &'s Path, to: &'s Path },
    /// A name that goes.
    Remove { path: &'s Path },
    /// A file's content is made safe.
    Sync { path: &'s Path },
    /// The names in a folder are made safe.
    SyncFolder { path: &'s Path },
    /// Not a step: the caller has its answer.
    Answer,
}

/// Makes a step, unless a test has it stopped or failed.
#[cfg(not(debug_assertions))]
#[inline]
pub(super) fn make<T>(step: Step<'_>, act: impl FnOnce(Step<'_>) -> io::Result<T>) -> io::Result<T> {
    act(step)
}

#[cfg(debug_assertions)]
pub(super) use planned::{boot_id, make};

#[cfg(debug_assertions)]
#[expect(clippy::disallowed_methods, reason = "a test reaches the seam through the environment")]
mod planned {
    use std::{
        env,
        fs::OpenOptions,
        io::{self, Write as _},
        process,
        sync::{
            LazyLock,
            atomic::{AtomicUsize, Ordering},
        },
    };

    use super::Step;

    const ENOSPC: i32 = 28;
    const EIO: i32 = 5;

    struct Plan {
        kind: String,
        step: usize,
        goes_on: bool,
    }

    static PLAN: LazyLock<Option<Plan>> = LazyLock::new(|| {
        let fault = env::var("COMPANION_MEMORY_FAULT").ok()?;
        let (kind, step) = fault.split_once(':')?;
        let goes_on = step.ends_with('-');
        Some(Plan { kind: kind.to_owned(), step: step.trim_end_matches('-').parse().ok()?, goes_on })
    });
    static STEPS: AtomicUsize = AtomicUsize::new(0);

    pub(in super::super) fn boot_id() -> Option<String> {
        env::var("COMPANION_MEMORY_BOOT").ok()
    }

    pub(in super::super) fn make<T>(step: Step<'_>, act: impl FnOnce(Step<'_>) -> io::Result<T>) -> io::Result<T> {
        if matches!(step, Step::Answer) {
            return act(step).inspect(|_| trace(step));
        }
        let number = STEPS.fetch_add(1, Ordering::SeqCst) + 1;
        let plan = PLAN.as_ref().filter(|plan| plan.step == number || (plan.goes_on && plan.step < number));
        let Some(plan) = plan else { return act(step).inspect(|_| trace(step)) };
        let half = match step {
            Step::Write { path, at, bytes } if can_be_torn(bytes) && matches!(plan.kind.as_str(), "tear" | "short") => {
                Some(Step::Write { path, at, bytes: bytes.get(..bytes.len() / 2).unwrap_or(bytes) })
            }
            _ => None,
        };
        if let Some(half) = half {
            act(half)?;
            trace(half);
        }
        match plan.kind.as_str() {
            "stop" | "tear" => process::abort(),
            #[expect(clippy::panic, reason = "a test asks for it")]
            "panic" => panic!("a test asks for it"),
            "enospc" | "short" => Err(io::Error::from_raw_os_error(ENOSPC)),
            _ => Err(io::Error::from_raw_os_error(EIO)),
        }
    }

    /// A state word within one sector is written whole or not at all.
    fn can_be_torn(bytes: &[u8]) -> bool {
        bytes.len() > 4
    }

    fn trace(step: Step<'_>) {
        let Ok(path) = env::var("COMPANION_MEMORY_TRACE") else { return };
        let line = serde_json::to_string(&step).unwrap_or_default() + "\n";
        let traced = OpenOptions::new()
            .append(true)
            .create(true)
            .open(path)
            .and_then(|mut file| file.write_all(line.as_bytes()));
        if traced.is_err() {
            process::abort();
        }
    }
}
