//! What the calls of a distillation share: the messages that are new, and the lease.

use std::{
    collections::hash_map::RandomState,
    hash::BuildHasher as _,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use jiff::{SignedDuration, Timestamp};

use crate::{
    clock::Moment,
    error::{Error, Result},
    format::{
        MemoryFile,
        distill_state::{self, Cursor, State},
        index,
    },
    messages::{self, Chat, Message, Page, Since, Unavailable},
    workspace::{Hold, Reading, Workspace},
};

/// How long a lease lasts if nobody says otherwise, in seconds.
pub const LEASE_SECONDS: u64 = 15 * 60;
/// Up to how many messages are counted before a distillation.
const PENDING_COUNTED: usize = 200;
/// How far back the first distillation looks.
const FIRST_LOOK: SignedDuration = SignedDuration::from_hours(24);
/// How many of the user's messages of the last seven days are looked at.
const SAID: usize = 100;
/// How far ahead of the clock a timestamp may be.
const AHEAD: SignedDuration = SignedDuration::from_mins(5);

/// The distillation that this process has under way.
#[derive(Debug, Clone)]
pub struct Distillation {
    hold: Arc<Mutex<Option<Hold>>>,
    pub(super) lease_time: Duration,
}

impl Distillation {
    /// None yet; a lease lasts so long.
    #[must_use]
    pub fn new(lease_time: Duration) -> Self {
        Self { hold: Arc::default(), lease_time }
    }

    /// Holds `.distill.lock` from now on for the lease's time, whether this process held it or not.
    ///
    /// # Errors
    ///
    /// `lock_timeout` if another process holds it.
    pub(super) fn hold(&self, workspace: &Workspace, patience: Duration) -> Result<()> {
        let mut hold = self.hold.lock().unwrap_or_else(PoisonError::into_inner);
        // Given free first: this process would wait for itself.
        *hold = None;
        *hold = Some(workspace.hold_distillation(patience, self.lease_time)?);
        Ok(())
    }

    /// Gives `.distill.lock` free.
    pub(super) fn release(&self) {
        *self.hold.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// A name that nobody else gives.
pub(super) fn new_token() -> String {
    let word = |salt: u8| RandomState::new().hash_one(salt);
    format!("{:016x}{:016x}", word(0), word(1))
}

/// Why there is nothing to distill.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// The workspace has not been set up far enough.
    NotInitialized,
    /// Another distillation is under way.
    AlreadyRunning,
    /// Nobody said anything new.
    NoNewMessages,
    /// No session tells where the chat is.
    NoSessionContext,
    /// The chat's database cannot be read.
    DatabaseUnavailable,
}

impl Skip {
    /// The reason as it is answered.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotInitialized => "not_initialized",
            Self::AlreadyRunning => "already_running",
            Self::NoNewMessages => "no_new_messages",
            Self::NoSessionContext => "no_session_context",
            Self::DatabaseUnavailable => "database_unavailable",
        }
    }
}

/// What a distillation begins with.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) page: Page,
    pub(super) state: State,
    pub(super) channel: String,
    pub(super) since: Timestamp,
    /// What the watermark will be, in the user's zone.
    pub(super) timestamp: Moment,
    /// The user's messages of the last seven days, if they were asked for.
    pub(super) said: Vec<Message>,
}

/// Whether a value of `timestamp:` can be taken as one.
pub(super) fn is_usable(now: &Moment) -> impl Fn(&str) -> bool + use<> {
    let now = now.clone();
    move |value| usable(value, &now).is_some()
}

fn usable(value: &str, now: &Moment) -> Option<Timestamp> {
    let latest = now.timestamp().checked_add(AHEAD).unwrap_or(Timestamp::MAX);
    now.parse_instant(value).filter(|instant| *instant <= latest)
}

/// Looks for messages that were not distilled yet.
///
/// # Errors
///
/// `unreadable` if a memory file cannot be read.
pub(super) fn look(
    workspace: &Workspace,
    reading: &mut Reading<'_>,
    limit: usize,
    wants_week: bool,
) -> Result<Result<Found, Skip>> {
    let now = reading.now().clone();
    let status = index::initialization_status(reading.document(MemoryFile::Index)?.text()).to_owned();
    if !index::is_initialized(&status) {
        return Ok(Err(Skip::NotInitialized));
    }
    let Some((context, db_path)) = workspace.session_context() else { return Ok(Err(Skip::NoSessionContext)) };
    let state = distill_state::parse(reading.document(MemoryFile::DistillState)?.text(), is_usable(&now));
    if state.entries > 1 {
        reading.warn(format!("`distill_state.md` has {} entries `[D000]`; the last usable one counts", state.entries));
    }
    let watermark = usable(&state.timestamp, &now);
    if watermark.is_none() && !state.timestamp.is_empty() {
        reading.warn(
            "`distill_state.md` has a `timestamp:` that is no instant in the past; the last 24 hours are taken instead",
        );
    }
    let channel = context.channel_key;
    let week_ago = now.timestamp().checked_sub(SignedDuration::from_hours(7 * 24)).unwrap_or(Timestamp::MIN);
    let read = messages::read(&db_path, &channel, &now, |chat| {
        let since = since(chat, &state, &channel, watermark, &now)?;
        let page = chat.page(&since, limit)?;
        let said = if wants_week { chat.said_by_user(week_ago, SAID)? } else { Vec::new() };
        Ok((page, since, said))
    });
    let (page, since, said) = match read {
        Ok(read) => read,
        Err(error) => {
            tracing::warn!(%error, "no distillation");
            return Ok(Err(Skip::DatabaseUnavailable));
        }
    };
    if page.unreadable > 0 {
        reading.warn(format!("{} messages have no readable time and were left out", page.unreadable));
    }
    let Some(newest) = page.messages.iter().map(|message| message.at).max() else {
        return Ok(Err(Skip::NoNewMessages));
    };
    let newest = newest.min(now.timestamp());
    let timestamp = now.at(watermark.map_or(newest, |watermark| watermark.max(newest)));
    let since = match since {
        Since::Instant(instant) => instant,
        Since::Row(..) => watermark.unwrap_or(newest),
    };
    Ok(Ok(Found { page, state, channel, since, timestamp, said }))
}

/// What is new in a channel: behind its cursor while that is sound, else after the watermark.
fn since(
    chat: &Chat<'_>,
    state: &State,
    channel: &str,
    watermark: Option<Timestamp>,
    now: &Moment,
) -> Result<Since, Unavailable> {
    let first_look = now.timestamp().checked_sub(FIRST_LOOK).unwrap_or(Timestamp::MIN);
    let Some(cursor) = state.cursors.iter().find(|cursor| cursor.channel == channel) else {
        let is_first = state.cursors.is_empty();
        return Ok(Since::Instant(watermark.filter(|_| is_first).unwrap_or(first_look)));
    };
    // Moved by hand or by the old procedure, the timestamp is none of those written with a cursor.
    let is_ours = |cursor: &Cursor| cursor.timestamp == state.timestamp;
    if state.cursors.iter().any(is_ours)
        && let Some(row) = chat.row_of(&cursor.message_id)?
    {
        return Ok(Since::Row(cursor.row.min(row), cursor.message_id.clone()));
    }
    Ok(Since::Instant(watermark.unwrap_or(first_look)))
}

/// Whether there is something to distill; without a lock, and nothing is written.
///
/// # Errors
///
/// `no_workspace`, `unreadable`.
pub fn pending(context: &super::Context) -> Result<Result<usize, Skip>> {
    let workspace = Workspace::find(&context.location)?;
    let found = workspace.peek(&context.clock, |reading| look(&workspace, reading, PENDING_COUNTED, false))?;
    Ok(found.map(|found| found.page.messages.len()))
}

/// Refuses a token that means nothing any more.
pub(super) fn lease_of(workspace: &Workspace, token: &str, now: &Moment) -> Result<crate::workspace::Lease> {
    let lease = workspace.lease()?.filter(|lease| lease.token == token);
    let lease = lease.ok_or(Error::TokenInvalid {
        reason: "is not that of the last distillation: it was committed, aborted or overtaken",
    })?;
    if lease.expires_at_ms <= now.timestamp().as_millisecond() {
        return Err(Error::TokenInvalid { reason: "has run out" });
    }
    Ok(lease)
}
