//! The memory as resources: what a client may attach to a conversation, as Markdown.

use std::fmt::Write as _;

use super::{Context, get_overview};
use crate::{
    error::{Error, Result},
    format::{MemoryFile, distill_state::percent_decoded, events, profile, sections, unresolved},
    workspace::{Reading, Workspace},
};

/// How large a resource may be, in bytes.
const LIMIT: usize = 40_000;

/// A resource: its name in `memory://NAME`, its title and what it is.
#[derive(Debug, Clone, Copy)]
pub struct Resource {
    /// The part behind `memory://`.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    /// What it is.
    pub description: &'static str,
    file: Option<MemoryFile>,
}

/// Every resource, in the order in which they are listed.
pub const RESOURCES: [Resource; 7] = [
    Resource {
        name: "overview",
        title: "Overview",
        description: "The mood, what is due and what is open, in a few lines.",
        file: None,
    },
    Resource {
        name: "events",
        title: "Events",
        description: "events.md; of a large one, its end.",
        file: Some(MemoryFile::Events),
    },
    Resource {
        name: "mood",
        title: "Mood",
        description: "mood_state.md: the mood and its last snapshots.",
        file: Some(MemoryFile::Mood),
    },
    Resource {
        name: "unresolved",
        title: "Worries",
        description: "unresolved.md: what is still on somebody's mind.",
        file: Some(MemoryFile::Unresolved),
    },
    Resource { name: "persona", title: "Character", description: "persona.md.", file: Some(MemoryFile::Persona) },
    Resource { name: "profile", title: "User", description: "user_profile.md.", file: Some(MemoryFile::Profile) },
    Resource {
        name: "index",
        title: "Index",
        description: "MEMORY.md, which every conversation begins with.",
        file: Some(MemoryFile::Index),
    },
];

/// The parts of resources: the resource, the name of the variable, and what it is.
pub const TEMPLATES: [(&str, &str, &str); 3] = [
    ("profile", "section", "One section of the profile."),
    ("events", "id", "One event."),
    ("unresolved", "id", "One worry."),
];

/// The text of the resource behind `memory://`; `None` if there is no such resource.
///
/// # Errors
///
/// As for the reading tools.
pub fn read(context: &Context, name: &str) -> Result<Option<String>> {
    let workspace = Workspace::find(&context.location)?;
    let (text, _) = workspace.read(&context.clock, |reading| match name.split_once('/') {
        Some((name, part)) => part_of(reading, name, part),
        None => match RESOURCES.iter().find(|resource| resource.name == name) {
            None => Ok(None),
            Some(Resource { file: None, .. }) => overview(reading).map(Some),
            Some(Resource { file: Some(file), .. }) => Ok(Some(limited(*file, reading.document(*file)?.text()))),
        },
    })?;
    Ok(text)
}

/// What can stand for a template's variable and begins so.
///
/// # Errors
///
/// As for the reading tools.
pub fn complete(context: &Context, name: &str, start: &str) -> Result<Vec<String>> {
    let workspace = Workspace::find(&context.location)?;
    let (mut values, _) = workspace.read(&context.clock, |reading| {
        Ok(match name {
            "profile" => profile::parse(reading.document(MemoryFile::Profile)?.text())
                .into_iter()
                .map(|section| section.name)
                .collect(),
            "events" => {
                let parsed = events::parse(reading.document(MemoryFile::Events)?.text());
                parsed.events.iter().rev().filter(|event| event.is_open()).map(events::Event::id).collect()
            }
            "unresolved" => {
                let worries = unresolved::parse(reading.document(MemoryFile::Unresolved)?.text());
                worries.iter().filter(|worry| worry.active).map(unresolved::Worry::id).collect()
            }
            _ => Vec::new(),
        })
    })?;
    values.retain(|value: &String| value.starts_with(start));
    Ok(values)
}

fn part_of(reading: &mut Reading<'_>, name: &str, part: &str) -> Result<Option<String>> {
    let part = percent_decoded(part);
    match name {
        "profile" => {
            let text = reading.document(MemoryFile::Profile)?.text();
            Ok(sections::find(text, &part).and_then(|place| text.get(place)).map(str::to_owned))
        }
        "events" => {
            let parsed = events::parse(reading.document(MemoryFile::Events)?.text());
            Ok(parsed.events.iter().rev().find(|event| event.id() == part).map(|event| event.entry().to_owned()))
        }
        "unresolved" => {
            let worries = unresolved::parse(reading.document(MemoryFile::Unresolved)?.text());
            Ok(worries.iter().find(|worry| worry.id() == part).map(|worry| worry.entry().to_owned()))
        }
        _ => Ok(None),
    }
}

/// A file's text, cut to the limit: the end of the events, the beginning of any other.
fn limited(file: MemoryFile, text: &str) -> String {
    if text.len() <= LIMIT {
        return text.to_owned();
    }
    let note = "<!-- not all of it: read_memory has the rest -->\n";
    if file == MemoryFile::Events {
        let from = text.ceil_char_boundary(text.len() - LIMIT);
        let end = text.get(from..).unwrap_or("");
        // From the first whole entry on.
        let lines = end.find("\n### [").or_else(|| end.find('\n')).and_then(|newline| end.get(newline + 1..));
        return format!("{note}{}", lines.unwrap_or(end));
    }
    let start = text.get(..text.floor_char_boundary(LIMIT)).unwrap_or("");
    format!("{}\n{note}", start.rsplit_once('\n').map_or(start, |(lines, _)| lines))
}

/// The overview for people.
fn overview(reading: &mut Reading<'_>) -> Result<String> {
    let seen = get_overview::look(reading)?;
    let mut text = String::from("# Memory\n\n");
    let write = |text: &mut String| -> std::fmt::Result {
        let mood = &seen.mood;
        writeln!(text, "- Mood: valence {} (now {}), energy {}", mood.valence, mood.decayed_valence, mood.energy)?;
        match (&seen.last_active, seen.hours_since_last_active) {
            (Some(minute), Some(hours)) => writeln!(text, "- Last active: {minute}, {hours} hours ago")?,
            (Some(minute), None) => writeln!(text, "- Last active: {minute}")?,
            (None, _) => writeln!(text, "- Last active: never")?,
        }
        writeln!(text, "- Set up: {}\n\n## Open events\n", seen.initialization_status)?;
        for event in &seen.open_events {
            let due = event.due_date.as_ref().map_or(String::new(), |due| format!(" (due {due})"));
            writeln!(text, "- {}{due} {}", event.id, event.content.replace('\n', " "))?;
        }
        writeln!(text, "\n## Worries\n")?;
        for worry in &seen.unresolved {
            writeln!(text, "- {} {}", worry.id, worry.text.replace('\n', " "))?;
        }
        writeln!(text, "\n## Profile\n")?;
        for section in &seen.sections {
            writeln!(text, "- {}: {}", section.name, section.entries)?;
        }
        Ok(())
    };
    write(&mut text).map_err(|error| Error::Internal { detail: error.to_string() })?;
    Ok(text)
}
