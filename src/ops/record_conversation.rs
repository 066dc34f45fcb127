//! `record_conversation`: the whole `memory_write` procedure in one change.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Effect, Operation, Tool, Write,
    add_persona_detail::{self, AddPersonaDetail},
    add_unresolved::{self, AddUnresolved},
    append_event,
    correct_persona::{self, CorrectPersona},
    event_file,
    resolve_unresolved::{self, ResolveUnresolved},
    touch_last_active::{self, TouchLastActive},
    update_event::{self, UpdateEvent},
    update_mood::{self, UpdateMood},
    update_profile,
};
use crate::{
    error::{Error, Result},
    format::{MemoryFile, index, mood},
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<RecordConversation>();

struct RecordConversation;

/// Records a whole conversation in one change, and that the user was here. Leave out what did not
/// happen. A malformed item refuses the whole call; what the files do not allow is listed in skipped.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// As update_mood takes it.
    mood: Option<update_mood::Params>,
    #[serde(flatten)]
    facts: Facts,
}

/// What a conversation brought up, a mood aside.
#[derive(Default, Deserialize, JsonSchema)]
pub(super) struct Facts {
    /// As add_persona_detail takes it, a text each.
    #[serde(default)]
    persona_details: Vec<String>,
    /// As correct_persona takes them.
    #[serde(default)]
    persona_corrections: Vec<correct_persona::Params>,
    /// As update_profile takes them.
    #[serde(default)]
    profile: Vec<update_profile::Params>,
    /// As append_event takes them.
    #[serde(default)]
    events: Vec<append_event::Params>,
    /// As update_event takes them.
    #[serde(default)]
    event_updates: Vec<update_event::Params>,
    /// As add_unresolved takes them.
    #[serde(default)]
    unresolved: Vec<add_unresolved::Params>,
    /// As resolve_unresolved takes them.
    #[serde(default)]
    resolved: Vec<resolve_unresolved::Params>,
}

impl Facts {
    /// The lists, each with its number of items.
    fn sizes(&self) -> [(&'static str, usize); 7] {
        let Self { persona_details, persona_corrections, profile, events, event_updates, unresolved, resolved } = self;
        [
            ("persona_details", persona_details.len()),
            ("persona_corrections", persona_corrections.len()),
            ("profile", profile.len()),
            ("events", events.len()),
            ("event_updates", event_updates.len()),
            ("unresolved", unresolved.len()),
            ("resolved", resolved.len()),
        ]
    }
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The ids of the new events, in the order of the call.
    events: Vec<String>,
    /// The ids of the worries, in the order of the call.
    unresolved: Vec<String>,
    /// What update_mood answers, if a mood was given.
    #[serde(skip_serializing_if = "Option::is_none")]
    mood: Option<update_mood::Reply>,
    /// The minute, YYYY-MM-DDTHH:MM in local time.
    last_active: String,
    /// The most pressing open events, as MEMORY.md shows them.
    open_items: Vec<String>,
    /// What the files did not allow.
    skipped: Vec<Skipped>,
}

/// An item that was left out.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Skipped {
    /// Its place in the call, such as `profile[0]`.
    place: String,
    /// The error's code.
    code: &'static str,
    /// What was found and expected.
    message: String,
}

/// What became of the facts.
#[derive(Default)]
pub(super) struct Recorded {
    pub(super) events: Vec<String>,
    pub(super) unresolved: Vec<String>,
    pub(super) skipped: Vec<Skipped>,
}

impl Operation for RecordConversation {
    const NAME: &'static str = "record_conversation";
    const TITLE: &'static str = "Record a conversation";
    const EFFECT: Effect = Effect::Records;
    type Params = Params;
    type Reply = Reply;
}

impl Write for RecordConversation {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        event_file::open(transaction)?;
        let mood = match params.mood {
            Some(mood) => Some(
                UpdateMood::run(mood, transaction).map_err(|error| error.placed(|place| format!("mood.{place}")))?,
            ),
            None => {
                mood::end_healing(transaction.document(MemoryFile::MoodAux)?);
                None
            }
        };
        let recorded = record(params.facts, transaction, false)?;
        let touched = TouchLastActive::run(touch_last_active::Params {}, transaction)?;
        event_file::refresh_index(transaction)?;
        let open_items = index::items(transaction.document(MemoryFile::Index)?.text());
        let Recorded { events, unresolved, skipped } = recorded;
        Ok(Reply { events, unresolved, mood, last_active: touched.last_active, open_items, skipped })
    }
}

/// Records the facts, in the procedure's order. Events that an open one says already are left out if
/// `skip_twins`.
pub(super) fn record(facts: Facts, transaction: &mut Transaction<'_>, skip_twins: bool) -> Result<Recorded> {
    let sizes = facts.sizes();
    let count: usize = sizes.iter().map(|(_, len)| len).sum();
    if let Some((longest, _)) = sizes.iter().max_by_key(|(_, len)| len).filter(|_| count > ITEMS) {
        let found = format!("the longest of lists of {count} items together");
        let expected = format!("at most {ITEMS}; the rest goes into a call of its own");
        return Err(Error::invalid(*longest, found, expected));
    }
    let mut recorded = Recorded::default();
    let skipped = &mut recorded.skipped;
    each("persona_corrections", facts.persona_corrections, skipped, |item| CorrectPersona::run(item, transaction))?;
    each("persona_details", facts.persona_details, skipped, |detail| {
        AddPersonaDetail::run(add_persona_detail::Params { detail }, transaction)
    })?;
    let mut fresh = Vec::new();
    each("profile", facts.profile, skipped, |item| update_profile::apply(item, transaction, &mut fresh))?;
    each("event_updates", facts.event_updates, skipped, |item| UpdateEvent::apply(&item, transaction))?;
    let events = each("events", facts.events, skipped, |item| append_event::apply(item, transaction, skip_twins))?;
    each("resolved", facts.resolved, skipped, |item| ResolveUnresolved::run(item, transaction))?;
    let worries = each("unresolved", facts.unresolved, skipped, |item| AddUnresolved::run(item, transaction))?;
    recorded.events = events.into_iter().map(|reply| reply.id).collect();
    recorded.unresolved = worries.into_iter().map(|reply| reply.id).collect();
    Ok(recorded)
}

/// How many items all lists of a call may have.
const ITEMS: usize = 200;
/// How long the messages of all that was skipped may grow in an answer, in bytes.
const SKIPPED_BYTES: usize = 8_000;

/// Does each item of a list. What only the state of the files forbids is left out and noted; anything
/// else refuses the whole call, naming the item's place.
fn each<P, R>(
    name: &str,
    items: Vec<P>,
    skipped: &mut Vec<Skipped>,
    mut run: impl FnMut(P) -> Result<R>,
) -> Result<Vec<R>> {
    let mut replies = Vec::new();
    for (index, item) in items.into_iter().enumerate() {
        let place = format!("{name}[{index}]");
        match run(item) {
            Ok(reply) => replies.push(reply),
            Err(error) if error.is_about_state() => {
                let bytes: usize = skipped.iter().map(|skipped| skipped.message.len()).sum();
                let message = if bytes < SKIPPED_BYTES { error.to_string() } else { "as those before".to_owned() };
                skipped.push(Skipped { place, code: error.code(), message });
            }
            // A detail is a text and no object: its place is that of the item.
            Err(error) if name == "persona_details" => return Err(error.placed(|_| place)),
            Err(error) => return Err(error.placed(|inner| format!("{place}.{inner}"))),
        }
    }
    Ok(replies)
}
