//! `add_unresolved`: a worry in `unresolved.md` (`memory_distill`, step 3.5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, event_file::free_behind, id_number, text};
use crate::{
    error::Result,
    format::{
        MemoryFile, id, life_log,
        unresolved::{self, Kind},
    },
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<AddUnresolved>();

/// What stands in the place of an anchor that there is not.
const NEVER: &str = "(never)";

pub(super) struct AddUnresolved;

/// Keeps what is not closed: a worry or wish of the user, or what the character's own life left open.
/// Nothing with a day (append_event). If an active one says the same, its id is answered.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// One short sentence. ≤ 2,000 chars.
    text: String,
    /// user_told (default): the user's; never fades. work_line, relational, chore: the character's own;
    /// fade after 90, 60, 30 days untouched.
    kind: Option<Kind>,
    /// The life log entry it comes from (L010); not for user_told. Default the newest.
    life_log_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The worry's id, such as U001 or M001.
    pub(super) id: String,
    /// Whether it was there already; then nothing was written.
    deduplicated: bool,
}

impl Operation for AddUnresolved {
    const NAME: &'static str = "add_unresolved";
    const TITLE: &'static str = "Keep a worry";
    const EFFECT: Effect = Effect::AddsOnce;
    type Params = Params;
    type Reply = Reply;
}

impl Write for AddUnresolved {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        let text = text("text", &params.text)?;
        let kind = params.kind.unwrap_or_default();
        let named = params.life_log_id.as_deref().map(|raw| id_number("life_log_id", 'L', raw)).transpose()?;

        let worries = unresolved::parse(transaction.document(MemoryFile::Unresolved)?.text());
        if let Some(twin) = unresolved::active_twin(&worries, kind.letter(), &text) {
            return Ok(Reply { id: twin.id(), deduplicated: true });
        }
        let last_touched = match (kind, named) {
            (Kind::UserTold, Some(_)) => {
                transaction.warn("`life_log_id` was left out: what the user told is not of the character's life");
                None
            }
            (Kind::UserTold, None) => None,
            (_, Some(number)) => Some(number),
            (_, None) => life_log::newest(transaction.document(MemoryFile::LifeLog)?.text()),
        };
        let last_touched = last_touched.map_or_else(|| NEVER.to_owned(), |number| id('L', number));
        let largest = unresolved::largest(&worries, kind.letter());
        let number = free_behind(largest, kind.letter(), || transaction.path(MemoryFile::Unresolved))?;
        unresolved::add(transaction.document(MemoryFile::Unresolved)?, kind, number, &last_touched, &text);
        Ok(Reply { id: id(kind.letter(), number), deduplicated: false })
    }
}
