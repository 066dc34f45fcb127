//! `update_event`: fields of an entry in `events.md`, set or dropped where it stands.

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, due_date, event_file, id_number, optional_date, stars, text};
use crate::{
    error::{Error, Result},
    format::{
        MemoryFile,
        events::{self, Event, EventType, Events, Field, NO_DUE_DATE, Status},
        id,
        text::{enumerate, quote},
    },
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<UpdateEvent>();

pub(super) struct UpdateEvent;

/// Changes an event: closes it when it is done, sets or drops fields. What is not named stays. Use it
/// instead of recording the same thing again.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// The event's id, such as E012.
    id: String,
    /// Its day, YYYY-MM-DD: picks one if the id stands twice; not changed.
    #[schemars(extend("format" = "date"))]
    date: Option<String>,
    /// As in append_event.
    status: Option<Status>,
    /// What happened. ≤ 2,000 chars.
    content: Option<String>,
    /// 1 to 5; only 情绪事件.
    #[schemars(range(min = 1, max = 5))]
    intensity: Option<i64>,
    /// The user's state. ≤ 2,000 chars.
    user_state: Option<String>,
    /// The next step. ≤ 2,000 chars.
    follow_up: Option<String>,
    /// YYYY-MM-DD; not for 情绪事件. The words in content stay: give both.
    #[schemars(extend("format" = "date"))]
    due_date: Option<String>,
    /// Fields to drop, as a list; the due date of a 约定 becomes 未定.
    clear: Option<Vec<Droppable>>,
}

#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Droppable {
    Intensity,
    UserState,
    FollowUp,
    DueDate,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The event's id.
    id: String,
    /// The names of the fields that are different now.
    changed: Vec<&'static str>,
}

impl Operation for UpdateEvent {
    const NAME: &'static str = "update_event";
    const TITLE: &'static str = "Change an event";
    const EFFECT: Effect = Effect::Replaces;
    type Params = Params;
    type Reply = Reply;
}

impl Write for UpdateEvent {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        let reply = Self::apply(&params, transaction)?;
        event_file::refresh_index(transaction)?;
        Ok(reply)
    }
}

impl UpdateEvent {
    /// The change without the index, which a larger call refreshes once at its end.
    pub(super) fn apply(params: &Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        let today = transaction.now().date();
        let number = id_number("id", 'E', &params.id)?;
        let date = optional_date("date", params.date.as_deref(), today)?;
        let mut changes = changes(params, today)?;
        let standing = event_file::open(transaction)?;
        let standing = events::parse(&standing);
        let event = choose(&standing, number, date)?;
        let is_emotional = event.event_type().as_deref() == Some(EventType::情绪事件.as_str());
        let is_promise = event.event_type().as_deref() == Some(EventType::约定.as_str());
        changes.retain_mut(|(field, value)| match field {
            Field::Intensity if !is_emotional && value.is_some() => {
                transaction.warn("`intensity` was left out: it belongs to 情绪事件 only");
                false
            }
            Field::DueDate if is_emotional && value.is_some() => {
                transaction.warn("`due_date` was left out: a 情绪事件 has none");
                false
            }
            Field::DueDate if is_promise && value.is_none() => {
                *value = Some(NO_DUE_DATE.to_owned());
                true
            }
            _ => true,
        });
        let changed = events::set_fields(transaction.document(MemoryFile::Events)?, event, &changes);
        Ok(Reply { id: id('E', number), changed: changed.into_iter().map(argument).collect() })
    }
}

/// A field's name as an argument.
fn argument(field: Field) -> &'static str {
    match field {
        Field::Type => "type",
        Field::Content => "content",
        Field::Intensity => "intensity",
        Field::UserState => "user_state",
        Field::FollowUp => "follow_up",
        Field::Status => "status",
        Field::DueDate => "due_date",
    }
}

fn changes(params: &Params, today: Date) -> Result<Vec<(Field, Option<String>)>> {
    let mut changes: Vec<(Field, Option<String>)> = Vec::new();
    let texts = [
        (Field::Content, &params.content),
        (Field::UserState, &params.user_state),
        (Field::FollowUp, &params.follow_up),
    ];
    for (field, raw) in texts {
        if let Some(raw) = raw {
            changes.push((field, Some(text(argument(field), raw)?)));
        }
    }
    if let Some(intensity) = params.intensity {
        changes.push((Field::Intensity, Some(stars(intensity)?)));
    }
    changes.extend(params.status.map(|status| (Field::Status, Some(status.as_str().to_owned()))));
    if params.due_date.is_some() {
        let due = due_date(params.due_date.as_deref(), today)?;
        changes.push((Field::DueDate, due.map(|due| due.to_string())));
    }
    for (index, dropped) in params.clear.iter().flatten().enumerate() {
        let field = match dropped {
            Droppable::Intensity => Field::Intensity,
            Droppable::UserState => Field::UserState,
            Droppable::FollowUp => Field::FollowUp,
            Droppable::DueDate => Field::DueDate,
        };
        if changes.iter().any(|(set, value)| *set == field && value.is_some()) {
            let found = format!("`{}`, which the same call sets", argument(field));
            return Err(Error::invalid(format!("clear[{index}]"), found, "a field that is not set as well"));
        }
        if !changes.iter().any(|(set, _)| *set == field) {
            changes.push((field, None));
        }
    }
    if changes.is_empty() {
        let expected =
            "it, or another change: `content`, `intensity`, `user_state`, `follow_up`, `due_date` or `clear`";
        let expected = expected.to_owned();
        return Err(Error::MissingArgument { place: "status".to_owned(), expected });
    }
    Ok(changes)
}

/// The one event that is meant.
fn choose<'e, 't>(events: &'e Events<'t>, number: u64, date: Option<jiff::civil::Date>) -> Result<&'e Event<'t>> {
    let of_number = events.events.iter().filter(|event| event.number == number);
    let candidates: Vec<_> = of_number.filter(|event| date.is_none_or(|date| event.date() == Some(date))).collect();
    let what = || match date {
        Some(date) => format!("event `{}` of {date}", id('E', number)),
        None => format!("event `{}`", id('E', number)),
    };
    match candidates.as_slice() {
        [event] => Ok(*event),
        [] if events.events.iter().any(|event| event.number == number) => {
            let of_number = events.events.iter().filter(|event| event.number == number);
            let days: Vec<_> = of_number.filter_map(Event::date).map(|day| day.to_string()).collect();
            Err(Error::NotFound { what: what(), expected: format!("one of {}", quote(&days)) })
        }
        [] => {
            let newest = events.largest();
            let expected = if newest == 0 {
                "an event, but there is none yet".to_owned()
            } else {
                format!("an id up to `{}`", id('E', newest))
            };
            Err(Error::NotFound { what: what(), expected })
        }
        many => {
            let places: Vec<_> = many.iter().map(|event| format!("line {} of `events.md`", event.line)).collect();
            Err(Error::Ambiguous { what: what(), count: many.len(), places: enumerate(&places, ", ") })
        }
    }
}
