//! `get_overview`: what an agent reads before it speaks.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Read, Tool, event_file};
use crate::{
    error::Result,
    format::{
        MemoryFile,
        events::{self, Field},
        index, mood, persona, profile, text, unresolved,
    },
    workspace::Reading,
};

pub(super) static TOOL: Tool = Tool::reads::<GetOverview>();

/// How large the open events, the worries and the sections may grow, in bytes; the whole stays below
/// 8 kB.
const LIST_BYTES: usize = 2_000;
/// How much of a text is shown, in user-perceived characters.
const TEXT_SHOWN: usize = 60;

struct GetOverview;

/// What to know before speaking: mood, when the user was last here, what is due and open, the
/// profile's sections.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {}

/// The state of the memory in a few lines.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Reply {
    /// How far the workspace has been set up, as MEMORY.md says.
    pub initialization_status: String,
    /// Whether that is far enough for the hourly distillation.
    pub initialized: bool,
    /// The mood.
    pub mood: Mood,
    /// When the user was here last, YYYY-MM-DDTHH:MM; absent if never.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_active: Option<String>,
    /// The hours since then.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hours_since_last_active: Option<f64>,
    /// The open events, the most pressing first.
    pub open_events: Vec<OpenEvent>,
    /// The active worries, the newest first.
    pub unresolved: Vec<ActiveWorry>,
    /// The sections of the profile.
    pub sections: Vec<SectionCount>,
}

/// The mood now.
#[derive(Debug, Serialize, JsonSchema)]
pub struct Mood {
    /// −1 to 1, as it was written last.
    pub valence: f64,
    /// 0 to 1.
    pub energy: f64,
    /// The valence as it has calmed down since then.
    pub decayed_valence: f64,
}

/// An open event.
#[derive(Debug, Serialize, JsonSchema)]
pub struct OpenEvent {
    /// Its id.
    pub id: String,
    /// Its type.
    #[serde(rename = "type", skip_serializing_if = "Option::is_none")]
    pub event_type: Option<String>,
    /// What it is about, cut.
    pub content: String,
    /// The day that was agreed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub due_date: Option<String>,
}

/// An active worry.
#[derive(Debug, Serialize, JsonSchema)]
pub struct ActiveWorry {
    /// Its id.
    pub id: String,
    /// What it is about, cut.
    pub text: String,
}

/// A section of the profile.
#[derive(Debug, Serialize, JsonSchema)]
pub struct SectionCount {
    /// Its name.
    pub name: String,
    /// How many entries it has.
    pub entries: usize,
}

impl Operation for GetOverview {
    const NAME: &'static str = "get_overview";
    const TITLE: &'static str = "Look at the memory";
    const EFFECT: Effect = Effect::Reads;
    type Params = Params;
    type Reply = Reply;
}

impl Read for GetOverview {
    fn run(Params {}: Params, reading: &mut Reading<'_>) -> Result<Reply> {
        look(reading)
    }
}

/// Looks at the whole memory.
pub(super) fn look(reading: &mut Reading<'_>) -> Result<Reply> {
    let now = reading.now().clone();
    let events_text = event_file::look(reading)?;
    let parsed = events::parse(&events_text);
    let status = index::initialization_status(reading.document(MemoryFile::Index)?.text()).to_owned();
    let last_active = parsed.last_active.and_then(|mark| mark.split_whitespace().next()).map(str::to_owned);
    let hours = last_active.as_deref().and_then(|minute| now.hours_since(minute));

    let (worries, sections) = (active_worries(reading)?, section_counts(reading)?);
    let pressing = events::most_pressing(&parsed, now.date(), usize::MAX);
    let open_events = pressing.iter().map(|event| OpenEvent {
        id: event.id(),
        event_type: event.event_type().as_deref().map(shown),
        content: shown(event.field(Field::Content).as_deref().unwrap_or("")),
        due_date: event.due_date().map(|due| due.to_string()),
    });
    Ok(Reply {
        initialized: index::is_initialized(&status),
        initialization_status: shown(&status),
        mood: mood_now(reading)?,
        hours_since_last_active: hours.map(|hours| (hours * 10.0).round() / 10.0),
        last_active: last_active.as_deref().map(shown),
        open_events: fitting(open_events, "open events; list_events has them", reading),
        unresolved: fitting(worries.into_iter(), "active worries; read_memory has them", reading),
        sections: fitting(sections.into_iter(), "sections; read_memory has them", reading),
    })
}

fn mood_now(reading: &mut Reading<'_>) -> Result<Mood> {
    let (mood, problems) = mood::parse(reading.document(MemoryFile::Mood)?.text());
    for problem in problems {
        reading.warn(shown(&problem));
    }
    let stability = persona::stability(reading.document(MemoryFile::Persona)?.text());
    let written = mood::last_decay(reading.document(MemoryFile::MoodAux)?.text()).map(str::to_owned);
    let hours = written.and_then(|instant| reading.now().hours_since(&instant)).unwrap_or(0.0);
    Ok(Mood {
        valence: mood.valence.to_f64(),
        energy: mood.energy.to_f64(),
        decayed_valence: mood::decayed(mood.valence, hours, stability),
    })
}

fn active_worries(reading: &mut Reading<'_>) -> Result<Vec<ActiveWorry>> {
    let worries = unresolved::parse(reading.document(MemoryFile::Unresolved)?.text());
    let active = worries.into_iter().rev().filter(|worry| worry.active);
    Ok(active.map(|worry| ActiveWorry { id: worry.id(), text: shown(&worry.text) }).collect())
}

fn section_counts(reading: &mut Reading<'_>) -> Result<Vec<SectionCount>> {
    let sections = profile::parse(reading.document(MemoryFile::Profile)?.text());
    let counts = sections
        .into_iter()
        .map(|section| SectionCount { entries: section.entries().count(), name: shown(&section.name) });
    Ok(counts.collect())
}

/// A text as the overview shows it.
fn shown(text: &str) -> String {
    text::shown(text, TEXT_SHOWN)
}

/// The first items that fit, and a warning that says how many do not.
fn fitting<T: Serialize>(items: impl Iterator<Item = T>, what: &str, reading: &mut Reading<'_>) -> Vec<T> {
    let mut fitting = Vec::new();
    let (mut bytes, mut more) = (0, 0);
    for item in items {
        bytes += serde_json::to_string(&item).map_or(0, |json| json.len());
        if bytes <= LIST_BYTES {
            fitting.push(item);
        } else {
            more += 1;
        }
    }
    if more > 0 {
        reading.warn(format!("{more} more {what}"));
    }
    fitting
}
