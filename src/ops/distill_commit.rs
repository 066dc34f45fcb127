//! `distill_commit`: what the model found in the messages, in one change (`memory_distill`, steps 3.5
//! to 5).

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Answer, Context, Effect, Operation, Tool, distillation, event_file, fade_unresolved,
    record_conversation::{self, Facts, Recorded, Skipped},
};
use crate::{
    error::{Error, Result},
    format::{MemoryFile, distill_state, index, summary, text::enumerate},
    workspace::{Lease, Transaction, Wait, Workspace},
};

pub(super) static TOOL: Tool = Tool::commits::<DistillCommit>(run);

/// How long the commit waits for `.memory.lock` (`memory_distill`, step 4).
const LOCK_WAIT: Duration = Duration::from_secs(5);

struct DistillCommit;

/// Commits a distillation in one change: what is new in the messages. With the token alone if nothing
/// is. Leave out what is known.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// What distill_begin answered.
    token: String,
    #[serde(flatten)]
    facts: Facts,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The ids of the new events, in the order of the call.
    events: Vec<String>,
    /// The ids of the worries, in the order of the call.
    unresolved: Vec<String>,
    /// The most pressing open events, as MEMORY.md shows them.
    open_items: Vec<String>,
    /// The ids of the worries that faded.
    faded: Vec<String>,
    /// The instant up to which is distilled now.
    watermark: String,
    /// Whether a summary of the conversations is due.
    summary_due: bool,
    /// What the files did not allow.
    skipped: Vec<Skipped>,
}

impl Operation for DistillCommit {
    const NAME: &'static str = "distill_commit";
    const TITLE: &'static str = "Commit a distillation";
    const EFFECT: Effect = Effect::Replaces;
    type Params = Params;
    type Reply = Reply;
}

fn run(arguments: &super::schema::JsonObject, context: &Context, wait: &Wait) -> Result<Answer> {
    let token = super::params::<Params>(arguments)?.token;
    let workspace = Workspace::find(&context.location)?;
    let lease = distillation::lease_of(&workspace, token.trim(), &context.clock.now())?;
    context.distillation.hold(&workspace, LOCK_WAIT)?;
    let wait = Wait { limit: wait.limit.min(LOCK_WAIT), cancel: wait.cancel.clone() };
    let committed = workspace.change(&context.clock, &wait, |transaction| {
        commit(super::params::<Params>(arguments)?.facts, &lease, transaction)
    });
    let ended = match &committed {
        Ok(_) => workspace.remove_lease(),
        Err(_) => Ok(()),
    };
    context.distillation.release();
    let mut committed = committed?;
    // The lines that it saw are gone: it could not be committed twice anyway.
    if let Err(error) = ended {
        committed.warnings.push(format!("the lease of this distillation stays: {error}"));
    }
    super::answer(super::reply(&committed.value)?, &committed.warnings, Some(committed.settling))
}

fn commit(facts: Facts, lease: &Lease, transaction: &mut Transaction<'_>) -> Result<Reply> {
    let now = transaction.now().clone();
    let is_usable = distillation::is_usable(&now);
    let state = distill_state::parse(transaction.document(MemoryFile::DistillState)?.text(), &is_usable);
    if state.lines != lease.seen {
        return Err(Error::TokenInvalid {
            reason: "was overtaken: `distill_state.md` says something else than at its beginning",
        });
    }
    event_file::open(transaction)?;
    let Recorded { events, unresolved, skipped } = record_conversation::record(facts, transaction, true)?;
    let fade_unresolved::Reply { faded, unanchored, .. } = fade_unresolved::apply(false, transaction)?;
    if !unanchored.is_empty() {
        let ids = enumerate(&unanchored, ", ");
        transaction
            .warn(format!("{ids} never fade: the life log entry that touched them has no day; touch_unresolved helps"));
    }
    event_file::refresh_index(transaction)?;
    distill_state::advance(transaction.document(MemoryFile::DistillState)?, &lease.cursor(), &is_usable);

    let open_items = index::items(transaction.document(MemoryFile::Index)?.text());
    let history = transaction.text(MemoryFile::History)?;
    let summary_due = summary::is_due(&history, transaction.document(MemoryFile::Summary)?.text());
    Ok(Reply { events, unresolved, open_items, faded, watermark: lease.timestamp.clone(), summary_due, skipped })
}
