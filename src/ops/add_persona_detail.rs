//! `add_persona_detail`: a detail of the character that the conversation brought up (`memory_write`,
//! step 2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, text};
use crate::{
    error::Result,
    format::{MemoryFile, persona},
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<AddPersonaDetail>();

pub(super) struct AddPersonaDetail;

/// Adds a new detail of the character, such as a habit, with today's date. What is in the persona and
/// wrong: correct_persona.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// One sentence. ≤ 2,000 chars.
    pub(super) detail: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The day that was written with it, YYYY-MM-DD.
    date: String,
    /// Whether it was written; not if the same text is there already.
    written: bool,
}

impl Operation for AddPersonaDetail {
    const NAME: &'static str = "add_persona_detail";
    const TITLE: &'static str = "Add a detail of the character";
    const EFFECT: Effect = Effect::AddsOnce;
    type Params = Params;
    type Reply = Reply;
}

impl Write for AddPersonaDetail {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        let detail = text("detail", &params.detail)?;
        let date = transaction.now().date();
        let written = persona::add_detail(transaction.document(MemoryFile::Persona)?, date, &detail);
        Ok(Reply { date: date.to_string(), written })
    }
}
