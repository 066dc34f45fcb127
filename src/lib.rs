//! A memory for companion agents that never loses anything.
//!
//! The map, bottom layer first; each may use those above it in this list and no others:
//!
//! - [`mod@format`]: pure text to values and back, one file for each kind of memory file.
//! - [`error`]: everything that a user can be told.
//! - [`clock`]: time in the user's zone.
//! - [`messages`]: the only code that touches SQLite.
//! - [`workspace`]: the only code that touches the workspace's files.
//! - [`ops`]: one file a tool, and the one table of all tools.
//! - [`mcp`] and [`cli`]: the two doors; they do not know each other.

pub mod format;

pub mod error;

pub mod clock;

pub mod messages;
pub mod workspace;

pub mod ops;

pub mod cli;
pub mod mcp;
