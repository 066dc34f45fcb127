//! Everything that a user can be told: a code, what was found and expected, what to do next, and
//! the exit code of the command line.

use std::{io, path::PathBuf};

use crate::format::text::{enumerate, quote, shorten};

/// How long a message may be, in characters, whatever it quotes.
const REPORT_LIMIT: usize = 4_000;

/// What a call answers.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a call was refused or failed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An argument is not what the tool takes.
    #[error("`{place}` is {found}, expected {expected}")]
    InvalidArgument {
        /// The argument's place, such as `events[1].due_date`.
        place: String,
        /// What was found there.
        found: String,
        /// What would be right.
        expected: String,
    },
    /// An argument that the tool does not have.
    #[error("`{place}` is no argument of this tool, expected {}", list(legal))]
    UnknownArgument {
        /// The argument's place.
        place: String,
        /// The arguments that there are.
        legal: Vec<String>,
    },
    /// A required argument was not given.
    #[error("`{place}` is missing, expected {expected}")]
    MissingArgument {
        /// The argument's place.
        place: String,
        /// What it should be.
        expected: String,
    },
    /// Nothing in the memory is called so.
    #[error("{what} was not found, expected {expected}")]
    NotFound {
        /// What was looked for.
        what: String,
        /// What there is.
        expected: String,
    },
    /// More than one thing in the memory is called so.
    #[error("{what} stands {count} times ({places}), expected one")]
    Ambiguous {
        /// What was looked for.
        what: String,
        /// How often it stands.
        count: usize,
        /// Where.
        places: String,
    },
    /// A section of the profile has its entries, and none of them may be replaced.
    #[error("section `{section}` has {} entries and none that is 可替换: {}", entries.len(), enumerate(entries, "; "))]
    SectionFull {
        /// The section's name.
        section: String,
        /// Its entries, each with its tier.
        entries: Vec<String>,
    },
    /// An entry of the core would be lost or changed, and the user did not say so.
    #[error("`{}` is 核心 and stands in the way, expected the user's own words in `user_said`", shorten(existing))]
    CoreConflict {
        /// What stands there.
        existing: String,
    },
    /// An open event says the same.
    #[error("`{id}` already says the same for the same day and is open")]
    Duplicate {
        /// The event that stands there.
        id: String,
    },
    /// The token of a distillation means nothing any more.
    #[error("the token {reason}")]
    TokenInvalid {
        /// Why not.
        reason: &'static str,
    },
    /// Another program holds the lock.
    #[error("`{}` was held by another program for {waited_ms} ms, expected it to be free", path.display())]
    LockTimeout {
        /// The lock file.
        path: PathBuf,
        /// How long was waited, in milliseconds.
        waited_ms: u128,
    },
    /// A program that takes no lock changed the file between reading and writing, again and again.
    #[error("`{}` was changed by another program while this call was deciding, four times", path.display())]
    ChangedMeanwhile {
        /// The file.
        path: PathBuf,
    },
    /// A file is there but cannot be taken as it is.
    #[error("`{}` {reason}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        reason: String,
    },
    /// The memory has lost something.
    #[error("`{}` is empty or gone, but `MEMORY.md` cites {}", path.display(), enumerate(cited, ", "))]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What is cited.
        cited: Vec<String>,
    },
    /// There is no workspace.
    #[error("`{}` has no `memory` folder, expected a workspace", path.display())]
    NoWorkspace {
        /// Where it was looked for.
        path: PathBuf,
    },
    /// The disk refused.
    #[error("could not {doing} `{}`: {source}", path.display())]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// What was being done, as a verb.
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A fault of this program.
    #[error("{detail}")]
    Internal {
        /// What happened.
        detail: String,
    },
}

impl Error {
    /// An [`Error::InvalidArgument`].
    pub fn invalid(place: impl Into<String>, found: impl Into<String>, expected: impl Into<String>) -> Self {
        Self::InvalidArgument { place: place.into(), found: found.into(), expected: expected.into() }
    }

    /// The same, of an argument whose place is derived from the present one.
    #[must_use]
    pub fn placed(mut self, derive: impl FnOnce(&str) -> String) -> Self {
        match &mut self {
            Self::InvalidArgument { place, .. }
            | Self::UnknownArgument { place, .. }
            | Self::MissingArgument { place, .. } => *place = derive(place),
            _ => {}
        }
        self
    }

    /// Whether only the state of the files stands in the way, not what was asked for.
    #[must_use]
    pub fn is_about_state(&self) -> bool {
        matches!(
            self,
            Self::NotFound { .. }
                | Self::Ambiguous { .. }
                | Self::SectionFull { .. }
                | Self::CoreConflict { .. }
                | Self::Duplicate { .. }
        )
    }

    /// The stable code that a caller can branch on.
    #[must_use]
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidArgument { .. } => "invalid_argument",
            Self::UnknownArgument { .. } => "unknown_argument",
            Self::MissingArgument { .. } => "missing_argument",
            Self::NotFound { .. } => "not_found",
            Self::Ambiguous { .. } => "ambiguous",
            Self::SectionFull { .. } => "section_full",
            Self::CoreConflict { .. } => "core_conflict",
            Self::Duplicate { .. } => "duplicate",
            Self::TokenInvalid { .. } => "token_invalid",
            Self::LockTimeout { .. } => "lock_timeout",
            Self::ChangedMeanwhile { .. } => "changed_meanwhile",
            Self::Unreadable { .. } => "unreadable",
            Self::Damaged { .. } => "damaged",
            Self::NoWorkspace { .. } => "no_workspace",
            Self::Io { .. } => "io",
            Self::Internal { .. } => "internal",
        }
    }

    /// What to do next.
    #[must_use]
    pub fn hint(&self) -> &'static str {
        match self {
            Self::InvalidArgument { .. } => "nothing was written; correct this argument and call again",
            Self::UnknownArgument { .. } => "nothing was written; leave it out, or use a name that the tool has",
            Self::MissingArgument { .. } => "nothing was written; call again with this argument",
            Self::NotFound { .. } => "look at what there is with the reading tools and call again; nothing was written",
            Self::Ambiguous { .. } => {
                "nothing was written; say more exactly which one is meant: an event by its `date`, a text by more of it; what has the same id and day only a person can renumber"
            }
            Self::SectionFull { .. } => {
                "not written; name the entry that may go with action `replace` and its `old_text`: a 半核心 one only if it is very old, a 核心 one only with the user's own words in `user_said`"
            }
            Self::CoreConflict { .. } => {
                "not written; find out in the conversation what the user means, then call again with the user's own words as `user_said`"
            }
            Self::Duplicate { .. } => "not written; change the event that stands there, if it is to be changed",
            Self::TokenInvalid { .. } => "nothing was written; begin again: what was not committed is handed out again",
            Self::LockTimeout { .. } => "nothing was written; another program is writing, call again in a moment",
            Self::ChangedMeanwhile { .. } => "nothing was written; call again once the other program is done",
            Self::Unreadable { .. } => "nothing was written; a person has to make the file readable again",
            Self::Damaged { .. } => {
                "nothing was written; a person has to bring the file back from a copy, or empty the open items of `MEMORY.md` if the events are really gone"
            }
            Self::NoWorkspace { .. } => {
                "name the workspace with `--workspace DIR`, or make one with `companion-memory init DIR`"
            }
            Self::Io { .. } => {
                "the change is not promised: it may be there or not; see that the disk is well and has space, look at the memory, then call again"
            }
            Self::Internal { .. } => "this is a fault of companion-memory; please report it",
        }
    }

    /// The exit code of the command line: 1 refused, 3 busy, 4 unreadable or I/O, 70 internal.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::InvalidArgument { .. }
            | Self::UnknownArgument { .. }
            | Self::MissingArgument { .. }
            | Self::NotFound { .. }
            | Self::Ambiguous { .. }
            | Self::SectionFull { .. }
            | Self::CoreConflict { .. }
            | Self::Duplicate { .. }
            | Self::TokenInvalid { .. } => 1,
            Self::LockTimeout { .. } | Self::ChangedMeanwhile { .. } => 3,
            Self::Unreadable { .. } | Self::Damaged { .. } | Self::NoWorkspace { .. } | Self::Io { .. } => 4,
            Self::Internal { .. } => 70,
        }
    }

    /// The two lines in which a caller is told.
    #[must_use]
    pub fn report(&self) -> String {
        let message: String = self.to_string().replace('\n', " ").chars().take(REPORT_LIMIT).collect();
        format!("{}: {message}\nhint: {}", self.code(), self.hint())
    }
}

fn list(names: &[String]) -> String {
    match names {
        [] => "none".to_owned(),
        [one] => format!("`{}`", shorten(one)),
        many => format!("one of {}", quote(many)),
    }
}
