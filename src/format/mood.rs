//! `memory/mood_state.md` and `.mood_state_aux`: the mood now, its last snapshots, the healing guard.

use std::{fmt, ops::Range};

use super::{
    bom_len,
    document::{Anchor, Document},
    leading_date, markdown, slice,
    text::{escape, shorten},
};

/// The heading of the snapshots.
const HISTORY: &str = "快照历史";
/// How many snapshots stay, whoever wrote them.
const SNAPSHOTS_KEPT: usize = 10;
/// How much the valence may move in one call, in thousandths.
const VALENCE_STEP: i32 = 300;
/// How much the energy may move in one call, in thousandths.
const ENERGY_STEP: i32 = 200;
/// After how many healing steps in a row a further rise is blocked.
const HEALING_STEPS: u64 = 2;
const LAST_DECAY: &str = "last_decay_written_at";
const HEALING_COUNT: &str = "consecutive_g4c_count";

/// A valence or an energy, in thousandths: no float noise, no negative zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Level(i32);

impl Level {
    /// The nearest level; beyond ±1000 the bound.
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the value lies within ±1,000,000")]
    pub fn from_f64(value: f64) -> Self {
        Self((value.clamp(-1_000.0, 1_000.0) * 1_000.0).round() as i32)
    }

    /// The level as a number.
    #[must_use]
    pub fn to_f64(self) -> f64 {
        f64::from(self.0) / 1_000.0
    }

    fn parse(text: &str) -> Option<Self> {
        let value: f64 = text.parse().ok()?;
        value.is_finite().then(|| Self::from_f64(value))
    }
}

impl fmt::Display for Level {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let precision = if self.0 % 10 == 0 { 2 } else { 3 };
        write!(f, "{:.precision$}", self.to_f64())
    }
}

/// A mood: valence from -1 to 1, energy from 0 to 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mood {
    /// How good it feels.
    pub valence: Level,
    /// How much drive there is.
    pub energy: Level,
}

/// The mood of a workspace where none was written.
const NEUTRAL: Mood = Mood { valence: Level(0), energy: Level(500) };

/// What a requested change comes to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The mood before.
    pub before: Mood,
    /// What was really added.
    pub applied: Mood,
    /// The mood after.
    pub after: Mood,
    /// Whether a bound cut the change.
    pub clamped: bool,
    /// Whether the healing guard held the valence back.
    pub blocked: bool,
    /// The healing steps in a row, this one included.
    pub healing_count: u64,
}

/// Decides what a requested change comes to (`memory_write`, step 1.5): the bounds of one step, the
/// bounds of a mood, and the guard against healing loops.
///
/// `delta_valence` and `delta_energy` are finite. `healing_count` is the number of healing steps
/// that were made in a row before.
#[must_use]
pub fn step(before: Mood, delta_valence: f64, delta_energy: f64, healing_count: u64) -> Step {
    let wanted = Mood { valence: Level::from_f64(delta_valence), energy: Level::from_f64(delta_energy) };
    let is_rise = delta_valence > 0.0;
    let is_healing = is_rise && before.valence < Level(0);
    let blocked = is_rise && healing_count >= HEALING_STEPS;
    let valence_step = if blocked { 0 } else { wanted.valence.0.clamp(-VALENCE_STEP, VALENCE_STEP) };
    let energy_step = wanted.energy.0.clamp(-ENERGY_STEP, ENERGY_STEP);
    let after = Mood {
        valence: Level((before.valence.0 + valence_step).clamp(-1_000, 1_000)),
        energy: Level((before.energy.0 + energy_step).clamp(0, 1_000)),
    };
    let applied =
        Mood { valence: Level(after.valence.0 - before.valence.0), energy: Level(after.energy.0 - before.energy.0) };
    Step {
        before,
        applied,
        after,
        clamped: (!blocked && applied.valence != wanted.valence) || applied.energy != wanted.energy,
        blocked,
        healing_count: match (is_healing, blocked) {
            (true, false) => healing_count + 1,
            (true, true) => healing_count,
            (false, _) => 0,
        },
    }
}

/// One snapshot's place and values.
struct Snapshot {
    /// From its heading to the end of its last line; a blank line or a comment ends it.
    place: Range<usize>,
    heading: Range<usize>,
    valence: Option<Level>,
    energy: Option<Level>,
}

/// The place and the value of a `name: value` line.
fn field(line: &markdown::Line<'_>, name: &str) -> Option<Range<usize>> {
    let rest = line.text.strip_prefix(name)?.strip_prefix([':', '：'])?;
    let value = rest.trim_start();
    let start = line.end() - value.len();
    Some(start..start + value.split_whitespace().next().unwrap_or("").len())
}

fn is_snapshot(line: &markdown::Line<'_>) -> bool {
    line.heading().is_some_and(|(level, heading)| level == 3 && leading_date(heading).is_some())
}

fn snapshots(text: &str) -> Vec<Snapshot> {
    let mut found: Vec<Snapshot> = Vec::new();
    let mut in_snapshot = false;
    for line in markdown::lines(text) {
        if is_snapshot(&line) {
            in_snapshot = true;
            found.push(Snapshot {
                place: line.start..line.next,
                heading: line.start..line.end(),
                valence: None,
                energy: None,
            });
            continue;
        }
        let ends = line.is_blank() || line.is_rule() || line.heading().is_some() || line.opens_comment;
        in_snapshot &= line.visible && !ends;
        let Some(snapshot) = found.last_mut().filter(|_| in_snapshot) else { continue };
        snapshot.place.end = line.next;
        let level = |name| field(&line, name).and_then(|place| Level::parse(slice(text, place)));
        snapshot.valence = snapshot.valence.or(level("valence"));
        snapshot.energy = snapshot.energy.or(level("energy"));
    }
    found
}

/// The first line of this name above the snapshots, as the place of its value.
fn head_field(text: &str, name: &str) -> Option<Range<usize>> {
    let is_history = |line: &markdown::Line<'_>| line.heading().is_some_and(|(_, heading)| heading.contains(HISTORY));
    let head = markdown::lines(text).take_while(|line| !is_snapshot(line) && !is_history(line));
    head.filter(|line| !line.in_comment).find_map(|line| field(&line, name))
}

/// Reads the mood, and what is odd about it.
#[must_use]
pub fn parse(text: &str) -> (Mood, Vec<String>) {
    let mut problems = Vec::new();
    let mut read = |name: &str, missing: Level, least: i32, of_snapshot: fn(&Snapshot) -> Option<Level>| {
        let Some(place) = head_field(text, name) else { return missing };
        let value = slice(text, place);
        let found = Level::parse(value);
        let newest = || snapshots(text).iter().find_map(of_snapshot).unwrap_or(missing);
        let taken = Level(found.unwrap_or_else(newest).0.clamp(least, 1_000));
        if found != Some(taken) {
            let expected = format!("expected a number from {} to 1; {taken} was taken instead", least / 1_000);
            problems.push(format!("`mood_state.md` has `{name}: {}`, {expected}", shorten(value)));
        }
        taken
    };
    let mood = Mood {
        valence: read("valence", NEUTRAL.valence, -1_000, |snapshot| snapshot.valence),
        energy: read("energy", NEUTRAL.energy, 0, |snapshot| snapshot.energy),
    };
    (mood, problems)
}

/// The valences of the snapshots, the oldest first.
#[must_use]
pub fn valences(text: &str) -> Vec<f64> {
    snapshots(text).iter().rev().filter_map(|snapshot| snapshot.valence).map(Level::to_f64).collect()
}

/// Writes a mood to the head of `mood_state.md` and a snapshot in front of the others, of which the
/// ten newest stay.
///
/// `minute` is written `YYYY-MM-DDTHH:MM`; `note` is folded and cut.
pub fn write(document: &mut Document, mood: Mood, minute: &str, note: &str) {
    write_head(document, mood);
    let Mood { valence, energy } = mood;
    let snapshot =
        format!("### {minute} · source=conversation\nvalence: {valence}\nenergy: {energy}\nnote: {}\n", escape(note));
    insert_snapshot(document, &snapshot);
    let kept_from = snapshots(document.text());
    for pair in kept_from.windows(2).skip(SNAPSHOTS_KEPT - 1).rev() {
        let [previous, oldest] = pair else { continue };
        // The blank lines in front go along, unless something else stands between.
        let between = slice(document.text(), previous.place.end..oldest.place.start);
        let start = if between.trim().is_empty() { previous.place.end } else { oldest.place.start };
        let anchor = Anchor::Entry(slice(document.text(), oldest.heading.clone()).to_owned());
        document.replace(start..oldest.place.end, "", anchor);
    }
}

fn write_head(document: &mut Document, mood: Mood) {
    // Energy first: a line that is missing goes to the very top, valence above energy.
    for (name, level) in [("energy", mood.energy), ("valence", mood.valence)] {
        let anchor = Anchor::Field(name.to_owned());
        match head_field(document.text(), name) {
            Some(place) => {
                let is_bare = slice(document.text(), 0..place.start).ends_with([':', '：']);
                let value = if is_bare { format!(" {level}") } else { level.to_string() };
                document.replace_in_line(place, &value, anchor);
            }
            None => {
                document.insert_lines(bom_len(document.text()), &format!("{name}: {level}\n"), anchor);
            }
        }
    }
}

/// Inserts a snapshot in front of the others.
pub(crate) fn insert_snapshot(document: &mut Document, snapshot: &str) {
    let text = document.text().to_owned();
    if let Some(first) = snapshots(&text).first() {
        document.insert_lines(first.place.start, &format!("{snapshot}\n"), Anchor::NewSnapshot);
        return;
    }
    let mut lines =
        markdown::lines(&text).skip_while(|line| !line.heading().is_some_and(|(_, name)| name.contains(HISTORY)));
    let Some(heading) = lines.next() else {
        document.append_entry(&format!("---\n\n## {HISTORY}\n\n{snapshot}"), Anchor::NewSnapshot);
        return;
    };
    let section = lines.take_while(|line| line.heading().is_none() && !line.is_rule());
    let placeholder = section.into_iter().find(markdown::Line::is_placeholder);
    if let Some(line) = placeholder {
        // In place of its text, so that the line keeps its ending.
        let entry = snapshot
            .trim_end()
            .replace('\n', if slice(&text, line.end()..line.next) == "\r\n" { "\r\n" } else { "\n" });
        document.replace(line.start..line.end(), &entry, Anchor::NewSnapshot);
        return;
    }
    let rest = slice(&text, heading.next..text.len());
    let newline = if heading.next == heading.end() { "\n" } else { "" };
    let after = if rest.is_empty() || rest.starts_with(['\n', '\r']) { "" } else { "\n" };
    document.insert_lines(heading.next, &format!("{newline}\n{snapshot}{after}"), Anchor::NewSnapshot);
}

/// The healing steps in a row that the aux file counts, and what is odd about it.
#[must_use]
pub fn healing_count(aux: &str) -> (u64, Option<String>) {
    let Some(place) = head_field(aux, HEALING_COUNT) else { return (0, None) };
    let value = slice(aux, place);
    value.parse().map_or_else(
        |_| {
            (
                0,
                Some(format!(
                    "`.mood_state_aux` has `{HEALING_COUNT}: {}`, which is no count; 0 was taken instead",
                    shorten(value)
                )),
            )
        },
        |count| (count, None),
    )
}

/// Ends a row of healing steps without a change of the mood.
pub fn end_healing(document: &mut Document) {
    if healing_count(document.text()) != (0, None) {
        write_field(document, HEALING_COUNT, "0");
    }
}

/// How the valence has faded since it was written; only shown, never stored.
///
/// `hours` is the time since then, `stability` the character's, 1 to 5.
#[must_use]
pub fn decayed(valence: Level, hours: f64, stability: u8) -> f64 {
    let rate = 0.05 + (5.0 - f64::from(stability)) * 0.037_5;
    Level::from_f64(valence.to_f64() * (1.0 - rate).powf(hours.max(0.0))).to_f64()
}

/// The instant at which the mood was written last, as the aux file has it.
#[must_use]
pub fn last_decay(aux: &str) -> Option<&str> {
    head_field(aux, LAST_DECAY).map(|place| slice(aux, place)).filter(|value| !value.is_empty())
}

/// Writes the instant and the count into the aux file; its other lines stay.
///
/// `instant` is RFC 3339 with an offset, in seconds.
pub fn write_aux(document: &mut Document, instant: &str, healing_count: u64) {
    write_field(document, LAST_DECAY, instant);
    write_field(document, HEALING_COUNT, &healing_count.to_string());
}

fn write_field(document: &mut Document, name: &str, value: &str) {
    let anchor = Anchor::Field(name.to_owned());
    let text = document.text().to_owned();
    let standing = markdown::lines(&text).find(|line| !line.in_comment && field(line, name).is_some());
    match standing {
        Some(line) => document.replace(line.start..line.end(), &format!("{name}: {value}"), anchor),
        None => {
            let newline = if text.is_empty() || text.ends_with('\n') { "" } else { "\n" };
            document.insert_lines(text.len(), &format!("{newline}{name}: {value}\n"), anchor);
        }
    }
}
