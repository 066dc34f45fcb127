//! `list_events`: the events, newest first.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Read, Tool, event_file, id_number, optional_date, optional_text};
use crate::{
    error::Result,
    format::{
        events::{self, Event, EventType, Field, Status},
        text::{TEXT_LIMIT, has_words, search_key},
    },
    workspace::Reading,
};

pub(super) static TOOL: Tool = Tool::reads::<ListEvents>();

/// How many events a page has if the caller does not say.
const PAGE: usize = 20;
/// How large the events of a page may grow, in bytes.
const PAGE_BYTES: usize = 36_000;

struct ListEvents;

/// Lists events, newest first. Filters are combined. Next page: the last id as before_id.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// Only this state.
    status: Option<Status>,
    /// Only this type.
    #[serde(rename = "type")]
    event_type: Option<EventType>,
    /// Only due by this day, YYYY-MM-DD.
    #[schemars(extend("format" = "date"))]
    due_on_or_before: Option<String>,
    /// Only from this day on, YYYY-MM-DD.
    #[schemars(extend("format" = "date"))]
    since: Option<String>,
    /// Words of its fields, all of them; case and width do not matter.
    query: Option<String>,
    /// How many, 1 to 100. Default 20.
    #[schemars(range(min = 1, max = 100))]
    limit: Option<u8>,
    /// Only older than this one, such as E012.
    before_id: Option<String>,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The events, newest first.
    events: Vec<Listed>,
    /// Whether older events match as well.
    has_more: bool,
}

#[derive(Serialize, JsonSchema)]
struct Listed {
    id: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    date: Option<String>,
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    event_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    intensity: Option<u8>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_state: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    follow_up: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<String>,
    /// The day, or what the field says instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    due_date: Option<String>,
    /// The line of the heading in events.md, from 1.
    line: usize,
}

impl Listed {
    fn new(event: &Event<'_>) -> Self {
        Self {
            id: event.id(),
            date: event.date().map(|date| date.to_string()),
            event_type: event.event_type(),
            content: event.field(Field::Content),
            intensity: event.intensity(),
            user_state: event.field(Field::UserState),
            follow_up: event.field(Field::FollowUp),
            status: event.field(Field::Status),
            due_date: event.due_date().map(|due| due.to_string()).or_else(|| event.field(Field::DueDate)),
            line: event.line,
        }
    }

    /// The same with texts no longer than a call can bring them.
    fn cut(mut self) -> (Self, bool) {
        let texts = [
            &mut self.content,
            &mut self.user_state,
            &mut self.follow_up,
            &mut self.status,
            &mut self.due_date,
            &mut self.event_type,
        ];
        let mut was_cut = false;
        for text in texts.into_iter().flatten() {
            if let Some((end, _)) = text.char_indices().nth(TEXT_LIMIT) {
                text.truncate(end);
                was_cut = true;
            }
        }
        (self, was_cut)
    }

    fn bytes(&self) -> usize {
        serde_json::to_string(self).map_or(0, |json| json.len())
    }
}

impl Operation for ListEvents {
    const NAME: &'static str = "list_events";
    const TITLE: &'static str = "List events";
    const EFFECT: Effect = Effect::Reads;
    type Params = Params;
    type Reply = Reply;
}

impl Read for ListEvents {
    fn run(params: Params, reading: &mut Reading<'_>) -> Result<Reply> {
        let today = reading.now().date();
        let due_by = optional_date("due_on_or_before", params.due_on_or_before.as_deref(), today)?;
        let since = optional_date("since", params.since.as_deref(), today)?;
        let before = params.before_id.as_deref().map(|raw| id_number("before_id", 'E', raw)).transpose()?;
        let query = optional_text("query", params.query.as_deref())?.unwrap_or_default();
        let words: Vec<_> = query.split_whitespace().map(search_key).filter(|word| !word.is_empty()).collect();

        let text = event_file::look(reading)?;
        let parsed = events::parse(&text);
        let mut matching: Vec<_> = parsed
            .events
            .iter()
            .filter(|event| before.is_none_or(|before| event.number < before))
            .filter(|event| since.is_none_or(|day| event.date().is_some_and(|date| date >= day)))
            .filter(|event| {
                params.event_type.is_none_or(|wanted| event.event_type().as_deref() == Some(wanted.as_str()))
            })
            .filter(|event| {
                params.status.is_none_or(|wanted| {
                    event.field(Field::Status).is_some_and(|status| status.contains(wanted.as_str()))
                })
            })
            .filter(|event| words.is_empty() || says(event, &words))
            .collect();
        // An event without a usable due date can be overdue: it is named, though it is not listed.
        let unusable = events::unusable_due_dates(matching.iter().filter(|_| due_by.is_some()).copied());
        matching.retain(|event| due_by.is_none_or(|day| event.due_date().is_some_and(|due| due <= day)));
        matching.sort_by_key(|event| std::cmp::Reverse((event.number, event.line)));

        let (page, has_more, cut) = page(&matching, params.limit.map_or(PAGE, usize::from));
        for id in cut {
            reading.warn(format!("{id} holds texts of more than {TEXT_LIMIT} characters; they are shown cut"));
        }
        let due_dates = events::unusable_due_dates(matching.iter().take(page.len()).copied());
        for problem in event_file::named(
            parsed.problems.iter().map(ToString::to_string).chain(due_dates).chain(unusable).collect(),
        ) {
            reading.warn(problem);
        }
        Ok(Reply { events: page, has_more })
    }
}

fn says(event: &Event<'_>, words: &[String]) -> bool {
    let fields = [Field::Type, Field::Content, Field::UserState, Field::FollowUp, Field::Status, Field::DueDate];
    let values: Vec<_> = fields.into_iter().filter_map(|field| event.field(field)).collect();
    has_words(&values.join("\n"), words)
}

/// The first events that fit a page, whether there are more, and the ids of those that were cut.
fn page(matching: &[&Event<'_>], limit: usize) -> (Vec<Listed>, bool, Vec<String>) {
    let mut page: Vec<Listed> = Vec::new();
    let mut cut = Vec::new();
    let mut bytes = 0;
    for event in matching {
        let (listed, was_cut) = Listed::new(event).cut();
        bytes += listed.bytes();
        // Entries that share an id stay on one page if they fit: the next one begins behind the id.
        let shares_id = page.last().is_some_and(|last| last.id == listed.id);
        if !page.is_empty() && (bytes > PAGE_BYTES || (page.len() >= limit && !shares_id)) {
            return (page, true, cut);
        }
        cut.extend(was_cut.then(|| listed.id.clone()));
        page.push(listed);
    }
    (page, false, cut)
}
