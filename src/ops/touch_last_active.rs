//! `touch_last_active`: the mark `### [E000]` at the end of `events.md` (`memory_write`, step 3).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, event_file};
use crate::{
    error::Result,
    format::{MemoryFile, events},
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<TouchLastActive>();

pub(super) struct TouchLastActive;

/// Marks that the user was here. Call it at the end of every conversation that record_conversation
/// does not record.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The minute, YYYY-MM-DDTHH:MM in local time.
    pub(super) last_active: String,
    /// Whether a mark was written; not if the file already ends with this minute's.
    written: bool,
}

impl Operation for TouchLastActive {
    const NAME: &'static str = "touch_last_active";
    const TITLE: &'static str = "Mark the user as active";
    const EFFECT: Effect = Effect::AddsOnce;
    type Params = Params;
    type Reply = Reply;
}

impl Write for TouchLastActive {
    fn run(Params {}: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        event_file::open(transaction)?;
        let last_active = transaction.now().minute();
        let written = events::append_last_active(transaction.document(MemoryFile::Events)?, &last_active);
        Ok(Reply { last_active, written })
    }
}
