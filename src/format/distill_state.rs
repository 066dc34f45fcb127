//! `memory/distill_state.md`: how far the distillation has come, `### [D000] · last_distillation`.

use jiff::civil::Date;

use super::{
    document::{Anchor, Document},
    leading_date,
    markdown::{self, Line},
};

const HEADING: &str = "### [D000] · last_distillation";
const LAST_SCAN: &str = "last_decay_scan";

/// The lines of the last `[D000]` entry, its heading first.
fn entry(text: &str) -> Vec<Line<'_>> {
    let mut entry = Vec::new();
    let mut in_entry = false;
    for line in markdown::lines(text) {
        if let Some((_, heading)) = line.heading() {
            in_entry = heading.starts_with("[D000]");
            if in_entry {
                entry.clear();
            }
        }
        if in_entry {
            entry.push(line);
        }
    }
    entry
}

fn value<'t>(line: &Line<'t>, name: &str) -> Option<&'t str> {
    line.text.strip_prefix(name)?.strip_prefix([':', '：']).map(str::trim)
}

/// The day of the last scan for what has faded, if there was one.
#[must_use]
pub fn last_scan(text: &str) -> Option<Date> {
    entry(text).iter().find_map(|line| value(line, LAST_SCAN)).and_then(leading_date)
}

/// Writes the day of the last scan.
pub fn set_last_scan(document: &mut Document, date: Date) {
    let text = document.text().to_owned();
    let anchor = Anchor::Field(LAST_SCAN.to_owned());
    let entry = entry(&text);
    let new = format!("{LAST_SCAN}: {date}");
    if let Some(line) = entry.iter().find(|line| value(line, LAST_SCAN).is_some()) {
        document.replace(line.start..line.end(), &new, anchor);
    } else if let Some(last) = entry.iter().rev().find(|line| !line.is_blank()) {
        let newline = if last.next == last.end() { "\n" } else { "" };
        document.insert_lines(last.next, &format!("{newline}{new}\n"), anchor);
    } else {
        document.append_entry(&format!("{HEADING}\ntimestamp:\n{new}\n"), anchor);
    }
}
