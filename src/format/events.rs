//! `memory/events.md`: events `### [E012] 2026-04-13 · 约定` and last-active marks `### [E000] …`.

use std::{collections::HashMap, ops::Range};

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    document::{Anchor, Document},
    id, id_number, leading_date, markdown, slice,
    text::{comparison_key, escape, shorten, unescape},
};

/// What stands in a due date's place where no day was agreed.
pub const NO_DUE_DATE: &str = "未定";
/// The part of a status by which an event is open.
const OPEN_MARK: &str = "待跟进";
/// What an event's stars are written with.
const STAR: &str = "⭐";

/// What kind of event it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum EventType {
    /// An emotional event.
    情绪事件,
    /// A promise or an appointment.
    约定,
    /// Something the user has to do.
    用户Todo,
    /// Something important that happened.
    重要事件,
}

impl EventType {
    /// The type as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::情绪事件 => "情绪事件",
            Self::约定 => "约定",
            Self::用户Todo => "用户Todo",
            Self::重要事件 => "重要事件",
        }
    }
}

/// Where an event stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum Status {
    /// Still to be followed up: the event is open.
    #[default]
    待跟进,
    /// Followed up.
    已跟进,
    /// Closed.
    已关闭,
}

impl Status {
    /// The status as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::待跟进 => OPEN_MARK,
            Self::已跟进 => "已跟进",
            Self::已关闭 => "已关闭",
        }
    }
}

/// A field of an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Field {
    /// `类型`
    Type,
    /// `内容`
    Content,
    /// `情绪强度`
    Intensity,
    /// `用户状态`
    UserState,
    /// `后续`
    FollowUp,
    /// `状态`
    Status,
    /// `到期日`
    DueDate,
}

impl Field {
    /// Every field, in the order in which they are written.
    const ALL: [Self; 7] =
        [Self::Type, Self::Content, Self::Intensity, Self::UserState, Self::FollowUp, Self::Status, Self::DueDate];

    /// The field's name as it is written.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Type => "类型",
            Self::Content => "内容",
            Self::Intensity => "情绪强度",
            Self::UserState => "用户状态",
            Self::FollowUp => "后续",
            Self::Status => "状态",
            Self::DueDate => "到期日",
        }
    }

    fn line(self, value: &str) -> String {
        format!("**{}**：{}\n", self.name(), escape(value))
    }
}

/// A new event, before it has a number. Texts are folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The day it belongs to.
    pub date: Date,
    /// Its kind.
    pub event_type: EventType,
    /// Its fields but the type, in any order.
    pub fields: Vec<(Field, String)>,
}

impl NewEvent {
    fn field(&self, field: Field) -> Option<&str> {
        self.fields.iter().find(|(name, _)| *name == field).map(|(_, value)| value.as_str())
    }

    fn render(&self, number: u64) -> String {
        let mut entry = format!("### [{}] {} · {}\n", id('E', number), self.date, self.event_type.as_str());
        for field in Field::ALL {
            let value = if field == Field::Type { Some(self.event_type.as_str()) } else { self.field(field) };
            entry.push_str(&value.map(|value| field.line(value)).unwrap_or_default());
        }
        entry
    }
}

/// Stars for an intensity from 1 to 5.
#[must_use]
pub fn stars(intensity: u8) -> String {
    STAR.repeat(intensity.into())
}

/// An event as it stands in the file.
#[derive(Debug, Clone)]
pub struct Event<'t> {
    /// Its number; never 0.
    pub number: u64,
    /// The line of its heading, from 1.
    pub line: usize,
    text: &'t str,
    heading: Range<usize>,
    /// The end of the heading's line, where a first field would go.
    body_start: usize,
    fields: Vec<PlacedField<'t>>,
}

#[derive(Debug, Clone)]
struct PlacedField<'t> {
    name: &'t str,
    line: Range<usize>,
    value: Range<usize>,
}

impl<'t> Event<'t> {
    /// Its id, as `E012`.
    #[must_use]
    pub fn id(&self) -> String {
        id('E', self.number)
    }

    /// The whole entry as it stands, up to its last field.
    #[must_use]
    pub fn entry(&self) -> &'t str {
        let end = self.fields.last().map_or(self.heading.end, |field| field.line.end);
        slice(self.text, self.heading.start..end)
    }

    fn heading_line(&self) -> &'t str {
        slice(self.text, self.heading.clone())
    }

    /// What the heading says behind the id.
    fn heading_rest(&self) -> &'t str {
        self.heading_line().split_once(']').map_or("", |(_, rest)| rest.trim())
    }

    /// The day in the heading, if it is one.
    #[must_use]
    pub fn date(&self) -> Option<Date> {
        leading_date(self.heading_rest())
    }

    /// The type: the field, or what the heading says.
    #[must_use]
    pub fn event_type(&self) -> Option<String> {
        let in_heading = || self.heading_rest().split_once('·').map(|(_, name)| unescape(name.trim()).into_owned());
        self.field(Field::Type).or_else(in_heading).filter(|name| !name.is_empty())
    }

    /// Where a field goes that the event does not have: behind those that come before it.
    fn place_for(&self, field: Field) -> usize {
        let is_earlier =
            |placed: &&PlacedField<'t>| Field::ALL.iter().any(|known| known.name() == placed.name && *known < field);
        self.fields.iter().rev().find(is_earlier).map_or(self.body_start, |placed| placed.line.end)
    }

    fn placed(&self, field: Field) -> Option<&PlacedField<'t>> {
        self.fields.iter().find(|placed| placed.name == field.name())
    }

    /// A field's value as it was given, if the event has the field.
    #[must_use]
    pub fn field(&self, field: Field) -> Option<String> {
        self.placed(field).map(|placed| unescape(slice(self.text, placed.value.clone())).into_owned())
    }

    /// The stars, counted, or a digit.
    #[must_use]
    pub fn intensity(&self) -> Option<u8> {
        let value = self.field(Field::Intensity)?;
        let counted = u8::try_from(value.matches('⭐').count()).ok().filter(|count| *count > 0);
        counted.or_else(|| value.parse().ok()).filter(|stars| (1..=5).contains(stars))
    }

    /// Whether the status contains `待跟进`.
    #[must_use]
    pub fn is_open(&self) -> bool {
        let status = self.placed(Field::Status).map_or("", |status| slice(self.text, status.value.clone()));
        status.as_bytes().windows(OPEN_MARK.len()).any(|window| window == OPEN_MARK.as_bytes())
    }

    /// The due date, if it is a real day.
    #[must_use]
    pub fn due_date(&self) -> Option<Date> {
        self.placed(Field::DueDate).and_then(|due| leading_date(slice(self.text, due.value.clone())))
    }

    /// The due date's text where it is neither a day nor `未定`.
    #[must_use]
    pub fn unusable_due_date(&self) -> Option<&'t str> {
        let value = slice(self.text, self.placed(Field::DueDate)?.value.clone());
        (leading_date(value).is_none() && !value.is_empty() && !value.starts_with(NO_DUE_DATE)).then_some(value)
    }
}

/// Everything that a call needs to know of `events.md`.
#[derive(Debug, Clone, Default)]
pub struct Events<'t> {
    /// The events in the order in which they stand.
    pub events: Vec<Event<'t>>,
    /// The last `### [E000]` heading, without its id.
    pub last_active: Option<&'t str>,
    /// What is odd.
    pub problems: Vec<Problem>,
}

/// Something odd in the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// The line, from 1.
    pub line: usize,
    /// What is odd.
    pub what: String,
}

impl std::fmt::Display for Problem {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "`events.md` line {}: {}", self.line, self.what)
    }
}

/// Reads `events.md`.
#[must_use]
pub fn parse(text: &str) -> Events<'_> {
    let mut parsed = Events::default();
    let mut in_event = false;
    for (line, number) in markdown::lines(text).zip(1..) {
        if let Some((level, heading)) = line.heading() {
            in_event = false;
            let Some(rest) = heading.strip_prefix("[E").filter(|_| level == 3) else { continue };
            let found = rest.split_once(']').and_then(|(digits, rest)| Some((id_number(digits)?, rest)));
            match found {
                Some((0, rest)) => parsed.last_active = Some(rest.trim()),
                Some((id, _)) => {
                    in_event = true;
                    parsed.events.push(Event {
                        number: id,
                        line: number,
                        text,
                        heading: line.start..line.end(),
                        body_start: line.next,
                        fields: Vec::with_capacity(Field::ALL.len()),
                    });
                }
                None => {
                    let what = format!("`{}` has no usable number and is no event", shorten(line.text.trim()));
                    parsed.problems.push(Problem { line: number, what });
                }
            }
        } else if in_event && let (Some((name, value)), Some(event)) = (line.field(), parsed.events.last_mut()) {
            event.fields.push(PlacedField { name, line: line.start..line.next, value });
        }
    }
    if parsed.events.is_sorted_by(|earlier, later| earlier.number < later.number) {
        return parsed;
    }
    let mut lines_of: HashMap<u64, usize> = HashMap::with_capacity(parsed.events.len());
    for event in &parsed.events {
        if let Some(first) = lines_of.insert(event.number, event.line) {
            let what = format!("{} stands twice, in lines {first} and {}", event.id(), event.line);
            parsed.problems.push(Problem { line: event.line, what });
        }
    }
    parsed
}

impl<'t> Events<'t> {
    /// The largest number, 0 if there is no event.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.events.iter().map(|event| event.number).max().unwrap_or(0)
    }

    /// The open event that says the same on the same day, with the same type and due date.
    #[must_use]
    pub fn open_twin(&self, new: &NewEvent) -> Option<&Event<'t>> {
        let content = comparison_key(new.field(Field::Content).unwrap_or(""));
        let due = new.field(Field::DueDate).and_then(leading_date);
        self.events.iter().rev().find(|event| {
            event.is_open()
                && event.date() == Some(new.date)
                && event.due_date() == due
                && event.event_type().as_deref() == Some(new.event_type.as_str())
                && comparison_key(&event.field(Field::Content).unwrap_or_default()) == content
        })
    }
}

/// Adds an event at the end.
pub fn append(document: &mut Document, number: u64, event: &NewEvent) {
    document.append_entry(&event.render(number), Anchor::NewEvent(number));
}

/// Where a field's line goes in the event with this heading line, if that does not have the field.
pub(super) fn place_of_field(text: &str, heading: &str, line: &str) -> Option<usize> {
    let (name, _) = markdown::lines(line).next()?.field()?;
    let field = Field::ALL.into_iter().find(|field| field.name() == name)?;
    let events = parse(text).events;
    events.iter().find(|event| event.heading_line() == heading).map(|event| event.place_for(field))
}

/// Adds a last-active mark at the end, unless the file already ends with this very one.
///
/// `minute` is written `YYYY-MM-DDTHH:MM`. Answers whether it was written.
pub fn append_last_active(document: &mut Document, minute: &str) -> bool {
    let mark = format!("### [E000] {minute} · last_active");
    let stands = document.text().trim_end().rsplit('\n').next() == Some(mark.as_str());
    if !stands {
        document.append_entry(&format!("{mark}\n"), Anchor::NewSentinel);
    }
    !stands
}

/// Sets fields of an event of the document's present text, `None` to drop one, and answers which of
/// them changed.
pub fn set_fields(document: &mut Document, event: &Event<'_>, changes: &[(Field, Option<String>)]) -> Vec<Field> {
    let mut changes: Vec<_> = changes.iter().collect();
    changes.sort_by_key(|(field, _)| *field);
    let mut changed = Vec::new();
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    for (field, value) in changes {
        match (event.placed(*field), value) {
            (Some(placed), Some(value)) => {
                let value = escape(value);
                if slice(event.text, placed.value.clone()) == value {
                    continue;
                }
                edits.push((placed.value.clone(), value));
            }
            (Some(placed), None) => edits.push((placed.line.clone(), String::new())),
            (None, Some(value)) => {
                let at = event.place_for(*field);
                let line = field.line(value);
                // The file's last line may lack its newline.
                let is_open = !slice(event.text, 0..at).ends_with('\n');
                edits.push((at..at, if is_open { format!("\n{}", line.trim_end()) } else { line }));
            }
            (None, None) => continue,
        }
        changed.push(*field);
    }
    // From the end to the beginning, so that the places in front stay right.
    edits.sort_by_key(|(place, _)| place.start);
    for (place, new) in edits.into_iter().rev() {
        let anchor = Anchor::Entry(event.heading_line().to_owned());
        if place.is_empty() && new.contains('\n') {
            document.insert_lines(place.start, &new, anchor);
        } else if new.is_empty() {
            document.replace(place, "", anchor);
        } else {
            document.replace_in_line(place, &new, anchor);
        }
    }
    changed
}

/// The open events that the index shows: those due nearest to today, then those without a day, the
/// newest first.
#[must_use]
pub fn most_pressing<'e, 't>(events: &'e Events<'t>, today: Date, count: usize) -> Vec<&'e Event<'t>> {
    let mut open: Vec<_> = events.events.iter().filter(|event| event.is_open()).collect();
    open.sort_by_key(|event| {
        let due = event.due_date();
        let distance = due.map(|due| (due - today).get_days().unsigned_abs());
        (due.is_none(), distance, due, std::cmp::Reverse((event.number, event.line)))
    });
    open.truncate(count);
    open
}

/// A warning for each open event whose due date is neither a day nor `未定`.
#[must_use]
pub fn unusable_due_dates<'e>(events: impl Iterator<Item = &'e Event<'e>>) -> Vec<String> {
    let mut warnings = Vec::new();
    for event in events {
        if let Some(value) = event.unusable_due_date() {
            let found = shorten(value);
            let place = format!("{} (`events.md` line {})", event.id(), event.line);
            let warning = format!("{place} has no usable due date: found `{found}`, expected `YYYY-MM-DD`");
            warnings.push(warning);
        }
    }
    warnings
}
