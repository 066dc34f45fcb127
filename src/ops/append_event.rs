//! `append_event`: a new entry in `events.md` (`memory_write`, step 2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, date, due_date, event_file, optional_text, stars, text};
use crate::{
    error::{Error, Result},
    format::{
        MemoryFile,
        events::{self, EventType, Field, NO_DUE_DATE, NewEvent, Status},
        id,
    },
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<AppendEvent>();

struct AppendEvent;

/// Records something with a place in time, in the user's language, in one or two sentences.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// 情绪事件: strong feelings. 约定: a promise or appointment. 用户Todo: what the user has to do.
    /// 重要事件: anything else of weight.
    #[serde(rename = "type")]
    event_type: EventType,
    /// What happened or was agreed. ≤ 2,000 chars.
    content: String,
    /// Strength of the feeling, 1 (slight) to 5 (overwhelming). 情绪事件 must have it, only they do.
    #[schemars(range(min = 1, max = 5))]
    intensity: Option<i64>,
    /// How the user was then. ≤ 2,000 chars.
    user_state: Option<String>,
    /// How to come back to it. ≤ 2,000 chars.
    follow_up: Option<String>,
    /// The day agreed, due or of the event, YYYY-MM-DD. Give it whenever there is one; not for 情绪事件.
    #[schemars(extend("format" = "date"))]
    due_date: Option<String>,
    /// The day it came up, YYYY-MM-DD. Default today.
    #[schemars(extend("format" = "date"))]
    date: Option<String>,
    /// Default 待跟进 (open). 已跟进: asked about, may go on. 已关闭: done or off.
    status: Option<Status>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The new event's id, such as E012.
    pub(super) id: String,
}

impl Operation for AppendEvent {
    const NAME: &'static str = "append_event";
    const TITLE: &'static str = "Record an event";
    const EFFECT: Effect = Effect::Adds;
    type Params = Params;
    type Reply = Reply;
}

impl Write for AppendEvent {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        apply(params, transaction, false)
    }
}

/// Records the event; one that an open event says already is refused or only warned of.
pub(super) fn apply(params: Params, transaction: &mut Transaction<'_>, refuse_twin: bool) -> Result<Reply> {
    let (event, superfluous) = new_event(params, transaction)?;
    for warning in superfluous {
        transaction.warn(warning);
    }
    let text = event_file::open(transaction)?;
    let mut standing = events::parse(&text);
    if let Some(twin) = standing.open_twin(&event) {
        if refuse_twin {
            return Err(Error::Duplicate { id: twin.id() });
        }
        transaction.warn(format!(
            "{} already says the same for the same day and is open; this was recorded beside it",
            twin.id()
        ));
    }
    let number = event_file::next_number(transaction, &standing)?;
    let document = transaction.document(MemoryFile::Events)?;
    events::append(document, number, &event);
    // Of a long file, only what was added is read again.
    let added = document.text().get(text.len()..).unwrap_or("").to_owned();
    standing.events.extend(events::parse(&added).events);
    event_file::show_in_index(transaction, &standing)?;
    Ok(Reply { id: id('E', number) })
}

/// The event that the arguments describe, and a warning for each that was dropped.
fn new_event(params: Params, transaction: &Transaction<'_>) -> Result<(NewEvent, Vec<String>)> {
    let today = transaction.now().date();
    let is_emotional = params.event_type == EventType::情绪事件;
    let mut superfluous = Vec::new();
    let mut fields = vec![(Field::Content, text("content", &params.content)?)];
    match params.intensity {
        Some(intensity) if is_emotional => fields.push((Field::Intensity, stars(intensity)?)),
        None if is_emotional => {
            let expected = "how strong the feeling was, 1 to 5, for a 情绪事件".to_owned();
            return Err(Error::MissingArgument { place: "intensity".to_owned(), expected });
        }
        Some(_) => superfluous.push("`intensity` was left out: it belongs to 情绪事件 only".to_owned()),
        None => {}
    }
    let texts = [(Field::UserState, "user_state", params.user_state), (Field::FollowUp, "follow_up", params.follow_up)];
    for (field, place, raw) in texts {
        fields.extend(optional_text(place, raw.as_deref())?.map(|value| (field, value)));
    }
    fields.push((Field::Status, params.status.unwrap_or_default().as_str().to_owned()));
    match due_date(params.due_date.as_deref(), today)? {
        Some(_) if is_emotional => superfluous.push("`due_date` was left out: a 情绪事件 has none".to_owned()),
        Some(due) => fields.push((Field::DueDate, due.to_string())),
        None if params.event_type == EventType::约定 => fields.push((Field::DueDate, NO_DUE_DATE.to_owned())),
        None => {}
    }
    let date = match params.date {
        Some(raw) => date("date", &raw, today)?,
        None => today,
    };
    Ok((NewEvent { date, event_type: params.event_type, fields }, superfluous))
}
