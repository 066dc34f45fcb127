//! What a person wants to see of the memory on one screen.

use super::{
    Context,
    get_overview::{self, Reply},
};
use crate::{
    error::Result,
    format::{MemoryFile, events, mood, passages, unresolved},
    workspace::Workspace,
};

/// The state of the memory.
#[derive(Debug)]
pub struct Status {
    /// What an agent sees too.
    pub overview: Reply,
    /// The valences of the last snapshots, the oldest first.
    pub valences: Vec<f64>,
    /// How many events there are.
    pub events: usize,
    /// How many worries there are, faded ones included.
    pub worries: usize,
    /// How many entries the life log has.
    pub life_log: usize,
    /// What was odd.
    pub warnings: Vec<String>,
}

/// Looks at the memory.
///
/// # Errors
///
/// As for the reading tools.
pub fn look(context: &Context) -> Result<Status> {
    let workspace = Workspace::find(&context.location)?;
    let (mut status, warnings) = workspace.read(&context.clock, |reading| {
        Ok(Status {
            overview: get_overview::look(reading)?,
            valences: mood::valences(reading.document(MemoryFile::Mood)?.text()),
            events: events::parse(reading.document(MemoryFile::Events)?.text()).events.len(),
            worries: unresolved::parse(reading.document(MemoryFile::Unresolved)?.text()).len(),
            life_log: passages::of(MemoryFile::LifeLog, reading.document(MemoryFile::LifeLog)?.text()).len(),
            warnings: Vec::new(),
        })
    })?;
    status.warnings = warnings;
    Ok(status)
}
