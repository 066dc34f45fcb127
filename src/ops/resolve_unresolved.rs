//! `resolve_unresolved`: a worry that has closed (`memory_distill`, step 3.6).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, text, worry};
use crate::{
    error::Result,
    format::{MemoryFile, unresolved},
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<ResolveUnresolved>();

pub(super) struct ResolveUnresolved;

/// Closes a worry that the user said is over (我妈好了). It moves to 已淡忘.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// The worry's id, such as U001.
    id: String,
    /// The user's words in short. ≤ 2,000 chars.
    resolved_by: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The worry's id.
    id: String,
}

impl Operation for ResolveUnresolved {
    const NAME: &'static str = "resolve_unresolved";
    const TITLE: &'static str = "Close a worry";
    const EFFECT: Effect = Effect::Replaces;
    type Params = Params;
    type Reply = Reply;
}

impl Write for ResolveUnresolved {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        let wanted = worry::parse_id("id", &params.id)?;
        let resolved_by = text("resolved_by", &params.resolved_by)?;
        let document = transaction.document(MemoryFile::Unresolved)?;
        let worry = worry::active(document.text(), wanted)?;
        unresolved::fade(document, &worry, Some(&resolved_by));
        Ok(Reply { id: worry.id() })
    }
}
