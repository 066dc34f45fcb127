//! `touch_unresolved`: a worry that the character's life touched again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, id_number, worry};
use crate::{
    error::Result,
    format::{MemoryFile, id, unresolved},
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<TouchUnresolved>();

struct TouchUnresolved;

/// Notes that an entry of the life log touched a worry again, so that it fades later.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// The worry's id, such as M001.
    id: String,
    /// The life log entry, such as L013. It need not be in the log yet.
    life_log_id: String,
    /// The character was made to think of it: notes this minute too. Default false.
    forced_echo: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The worry's id.
    id: String,
}

impl Operation for TouchUnresolved {
    const NAME: &'static str = "touch_unresolved";
    const TITLE: &'static str = "Touch a worry";
    const EFFECT: Effect = Effect::Replaces;
    type Params = Params;
    type Reply = Reply;
}

impl Write for TouchUnresolved {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        let wanted = worry::parse_id("id", &params.id)?;
        let life_log_id = id('L', id_number("life_log_id", 'L', &params.life_log_id)?);
        let forced_echo = params.forced_echo.unwrap_or(false).then(|| transaction.now().minute_with_offset());
        let document = transaction.document(MemoryFile::Unresolved)?;
        let worry = worry::active(document.text(), wanted)?;
        unresolved::touch(document, &worry, &life_log_id, forced_echo.as_deref());
        Ok(Reply { id: worry.id() })
    }
}
