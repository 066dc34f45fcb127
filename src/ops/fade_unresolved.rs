//! `fade_unresolved`: worries of the character's own life that nothing touched for long
//! (`memory_distill`, step 3.6).

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write};
use crate::{
    error::Result,
    format::{MemoryFile, distill_state, life_log, unresolved},
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<FadeUnresolved>();

/// How often the scan is due, in days.
const SCAN_EVERY: i32 = 7;

struct FadeUnresolved;

/// Moves the character's own worries that nothing touched for 30, 60 or 90 days to 已淡忘, once in
/// seven days. What the user told never fades.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Run even if seven days have not passed. Default false.
    force: Option<bool>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// Whether it ran.
    pub(super) ran: bool,
    /// The ids of the worries that faded.
    pub(super) faded: Vec<String>,
    /// The ids of those whose life log entry has no day to count from; they stay.
    pub(super) unanchored: Vec<String>,
}

impl Operation for FadeUnresolved {
    const NAME: &'static str = "fade_unresolved";
    const TITLE: &'static str = "Let old worries fade";
    const EFFECT: Effect = Effect::AddsOnce;
    type Params = Params;
    type Reply = Reply;
}

impl Write for FadeUnresolved {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        apply(params.force.unwrap_or(false), transaction)
    }
}

/// Whether the scan is due on a day, by what `distill_state.md` says.
pub(super) fn is_due(distill_state: &str, today: Date) -> bool {
    distill_state::last_scan(distill_state).is_none_or(|last| (today - last).get_days() >= SCAN_EVERY)
}

/// Makes the scan, if it is due or forced.
pub(super) fn apply(force: bool, transaction: &mut Transaction<'_>) -> Result<Reply> {
    let today = transaction.now().date();
    let is_due = is_due(transaction.document(MemoryFile::DistillState)?.text(), today);
    let mut reply = Reply { ran: force || is_due, faded: Vec::new(), unanchored: Vec::new() };
    if !reply.ran {
        return Ok(reply);
    }
    let mut logs = transaction.life_log_archives()?;
    logs.push(transaction.text(MemoryFile::LifeLog)?);
    let dates = life_log::dates(&logs);
    let worries = unresolved::parse(transaction.document(MemoryFile::Unresolved)?.text());
    for worry in worries.iter().filter(|worry| worry.active && worry.is_fading()) {
        let touched = worry.last_touched().and_then(|number| dates.get(&number).copied());
        let (Some(touched), Some(decay_days)) = (touched, worry.decay_days()) else {
            reply.unanchored.push(worry.id());
            continue;
        };
        if (today - touched).get_days() > decay_days {
            let document = transaction.document(MemoryFile::Unresolved)?;
            // Read again: those that faded before it have moved the lines.
            let now =
                unresolved::parse(document.text()).into_iter().find(|now| now.active && now.entry() == worry.entry());
            if let Some(worry) = now {
                unresolved::fade(document, &worry, None);
                reply.faded.push(worry.id());
            }
        }
    }
    distill_state::set_last_scan(transaction.document(MemoryFile::DistillState)?, today);
    Ok(reply)
}
