//! `distill_begin`: what was said since the last distillation (`memory_distill`, steps 0 to 2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    Beside, Context, Effect, Operation, Tool,
    distillation::{self, Found, Skip},
    fade_unresolved,
};
use crate::{
    clock::Moment,
    error::{Error, Result},
    format::{
        MemoryFile,
        events::{self, Field},
        passages, persona, profile, text, unresolved,
    },
    workspace::{Lease, Reading, Workspace},
};

pub(super) static TOOL: Tool = Tool::besides::<DistillBegin>();

/// How many messages are handed out if the caller does not say.
const MESSAGES: usize = 200;
/// How large what is known may grow as JSON, names and brackets aside, in bytes.
const KNOWN_BYTES: usize = 11_500;
/// How much of a text is shown, in user-perceived characters.
const TEXT_SHOWN: usize = 80;
/// How many entries of the life log are shown.
const LIFE_LOG_SHOWN: usize = 10;

struct DistillBegin;

/// Begins an hourly distillation: the messages not distilled yet, what is known already, and a token
/// for distill_commit. If status is skipped there is nothing to do: stop silently.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// How many messages, 1 to 1,000. Default 200.
    #[schemars(range(min = 1, max = 1_000))]
    limit: Option<u16>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// begun or skipped.
    status: &'static str,
    /// Why it was skipped: not_initialized, already_running, no_new_messages, no_session_context or
    /// database_unavailable.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'static str>,
    /// What distill_commit takes.
    #[serde(skip_serializing_if = "Option::is_none")]
    token: Option<String>,
    /// The instant up to which was distilled before.
    #[serde(skip_serializing_if = "Option::is_none")]
    since: Option<String>,
    /// The instant up to which this goes.
    #[serde(skip_serializing_if = "Option::is_none")]
    until: Option<String>,
    /// What was said, in order.
    messages: Vec<Said>,
    /// Whether there is more for another distillation right after this one.
    has_more: bool,
    /// What the memory knows already.
    #[serde(skip_serializing_if = "Option::is_none")]
    known: Option<Known>,
}

#[derive(Serialize, JsonSchema)]
struct Said {
    id: String,
    role: String,
    content: String,
    at: String,
}

/// What need not be recorded again.
#[derive(Default, Serialize, JsonSchema)]
struct Known {
    /// Active worries, each with its id.
    unresolved: Vec<String>,
    /// Open events, each with its id.
    open_events: Vec<String>,
    /// Entries of the profile, each with its section.
    profile: Vec<String>,
    /// Details of the character.
    persona: Vec<String>,
    /// The last entries of the character's life, each with its id.
    life_log: Vec<String>,
    /// Once a week: what the user said in the last seven days, to see which worries have closed.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    said_this_week: Vec<String>,
}

impl Operation for DistillBegin {
    const NAME: &'static str = "distill_begin";
    const TITLE: &'static str = "Begin a distillation";
    const EFFECT: Effect = Effect::AddsOnce;
    type Params = Params;
    type Reply = Reply;
}

impl Beside for DistillBegin {
    fn run(params: Params, context: &Context) -> Result<(Reply, Vec<String>)> {
        let workspace = Workspace::find(&context.location)?;
        // Before the lock is held: the token runs out first.
        let began = context.clock.now();
        match context.distillation.hold(&workspace, std::time::Duration::ZERO) {
            Err(Error::LockTimeout { .. }) => return Ok((Reply::skipped(Skip::AlreadyRunning), Vec::new())),
            held => held?,
        }
        let begun = begin(&workspace, context, &began, params.limit.map_or(MESSAGES, usize::from));
        if !matches!(&begun, Ok((Reply { token: Some(_), .. }, _))) {
            context.distillation.release();
        }
        begun
    }
}

fn begin(workspace: &Workspace, context: &Context, began: &Moment, limit: usize) -> Result<(Reply, Vec<String>)> {
    let (found, warnings) = workspace.read(&context.clock, |reading| {
        let today = reading.now().date();
        let is_scan_due = fade_unresolved::is_due(reading.document(MemoryFile::DistillState)?.text(), today);
        let found = distillation::look(workspace, reading, limit, is_scan_due)?;
        found
            .map(|found| Ok((known(reading, &found)?, found)))
            .map_or_else(|skip| Ok(Err(skip)), |known: Result<_>| known.map(Ok))
    })?;
    let (known, found) = match found {
        Ok(found) => found,
        Err(skip) => return Ok((Reply::skipped(skip), warnings)),
    };
    let now = context.clock.now();
    let (message_id, row) = found.page.last.clone().unwrap_or_default();
    let lease_ms = i64::try_from(context.distillation.lease_time.as_millis()).unwrap_or(i64::MAX);
    let lease = Lease {
        token: distillation::new_token(),
        seen: found.state.lines,
        channel: found.channel,
        message_id,
        row,
        timestamp: found.timestamp.exact(),
        expires_at_ms: began.timestamp().as_millisecond().saturating_add(lease_ms),
    };
    workspace.keep_lease(&lease)?;
    let messages = found.page.messages.into_iter().map(|message| Said {
        id: message.id,
        role: message.role,
        content: message.content,
        at: now.at(message.at).exact(),
    });
    let reply = Reply {
        status: "begun",
        reason: None,
        token: Some(lease.token),
        since: Some(now.at(found.since).exact()),
        until: Some(lease.timestamp),
        messages: messages.collect(),
        has_more: found.page.has_more,
        known: Some(known),
    };
    Ok((reply, warnings))
}

impl Reply {
    fn skipped(skip: Skip) -> Self {
        Self {
            status: "skipped",
            reason: Some(skip.as_str()),
            token: None,
            since: None,
            until: None,
            messages: Vec::new(),
            has_more: false,
            known: None,
        }
    }
}

/// What the memory knows, as far as it fits.
fn known(reading: &mut Reading<'_>, found: &Found) -> Result<Known> {
    let now = reading.now().clone();
    let worries = unresolved::parse(reading.document(MemoryFile::Unresolved)?.text());
    let active = worries.iter().rev().filter(|worry| worry.active);
    let unresolved = active.map(|worry| format!("{} {}", worry.id(), shown(&worry.text))).collect();

    let parsed = events::parse(reading.document(MemoryFile::Events)?.text());
    let pressing = events::most_pressing(&parsed, now.date(), usize::MAX);
    let open_events = pressing.iter().map(|event| {
        let due = event.due_date().map_or(String::new(), |due| format!(" ({due})"));
        format!("{}{due} {}", event.id(), shown(&event.field(Field::Content).unwrap_or_default()))
    });
    let open_events = open_events.collect();

    let sections = profile::parse(reading.document(MemoryFile::Profile)?.text());
    let entries = sections
        .iter()
        .flat_map(|section| section.entries().map(|entry| format!("{}: {}", section.name, shown(&entry.text))));
    let profile = entries.collect();

    let details = persona::details(reading.document(MemoryFile::Persona)?.text());
    let persona = details.iter().rev().map(|detail| shown(detail)).collect();

    let log = passages::of(MemoryFile::LifeLog, reading.document(MemoryFile::LifeLog)?.text());
    let last = log.iter().rev().take(LIFE_LOG_SHOWN);
    let life_log = last.map(|entry| format!("{} {}", entry.id.as_deref().unwrap_or(""), shown(&entry.text))).collect();

    let said = found.said.iter().map(|message| format!("{} {}", now.at(message.at).minute(), shown(&message.content)));
    let [unresolved, open_events, profile, persona, life_log, said_this_week] =
        shared([unresolved, open_events, profile, persona, life_log, said.collect()]);
    Ok(Known { unresolved, open_events, profile, persona, life_log, said_this_week })
}

/// What fits of several lists: one of each in turn, so that no list takes the room of another.
fn shared(lists: [Vec<String>; 6]) -> [Vec<String>; 6] {
    let mut fitting = [const { Vec::new() }; 6];
    let mut room = KNOWN_BYTES;
    let mut lists = lists.map(Vec::into_iter);
    loop {
        let mut is_done = true;
        for (list, fitting) in lists.iter_mut().zip(&mut fitting) {
            let Some(item) = list.next() else { continue };
            is_done = false;
            let bytes = serde_json::to_string(&item).map_or(0, |json| json.len() + 1);
            if bytes <= room {
                room -= bytes;
                fitting.push(item);
            }
        }
        if is_done {
            return fitting;
        }
    }
}

fn shown(text: &str) -> String {
    text::shown(text, TEXT_SHOWN).replace('\n', " ")
}
