//! `status`: the state of the memory on one screen.

use std::io::{self, Write as _};

use super::Failure;
use crate::ops::{
    Context,
    status::{self, Status},
};

/// The heights of the mood's small history, from the worst to the best.
const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

pub(super) fn run(context: &Context) -> Result<(), Failure> {
    let Status { overview, valences, events, worries, life_log, warnings } = status::look(context)?;
    let mut out = io::stdout();
    let mood = &overview.mood;
    let history: String = valences.iter().map(|valence| bar(*valence)).collect();
    writeln!(
        out,
        "mood         valence {} (now {}), energy {}  {history}",
        mood.valence, mood.decayed_valence, mood.energy
    )?;
    match (&overview.last_active, overview.hours_since_last_active) {
        (Some(minute), Some(hours)) => writeln!(out, "last active  {minute}, {hours} hours ago")?,
        (Some(minute), None) => writeln!(out, "last active  {minute}")?,
        (None, _) => writeln!(out, "last active  never")?,
    }
    let status = if overview.initialization_status.is_empty() { "not said" } else { &overview.initialization_status };
    writeln!(out, "set up       {status}")?;
    writeln!(out, "counts       {events} events, {worries} worries, {life_log} life log entries\n")?;
    writeln!(out, "open events")?;
    for event in &overview.open_events {
        let due = event.due_date.as_deref().unwrap_or("          ");
        writeln!(out, "  {due}  {}  {}", event.id, event.content.replace('\n', " "))?;
    }
    writeln!(out, "\nworries")?;
    for worry in &overview.unresolved {
        writeln!(out, "  {}  {}", worry.id, worry.text.replace('\n', " "))?;
    }
    writeln!(out, "\nprofile")?;
    for section in &overview.sections {
        writeln!(out, "  {:2}  {}", section.entries, section.name)?;
    }
    for warning in warnings {
        writeln!(out, "\nwarning: {warning}")?;
    }
    Ok(())
}

/// A valence from -1 to 1 as a bar.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the value lies between 0 and 7")]
fn bar(valence: f64) -> char {
    let height = ((valence.clamp(-1.0, 1.0) + 1.0) * 3.5).round() as usize;
    BARS.get(height).copied().unwrap_or('█')
}
