//! `memory/life_log.md` and its archives: the character's own life, `### [L013] 2026-04-12T16:00 · …`.
//! Read only.

use std::collections::HashMap;

use jiff::civil::Date;

use super::{id_number, leading_date, markdown};

/// An entry's number and what its heading says behind it.
fn entries(text: &str) -> impl Iterator<Item = (u64, &str)> {
    markdown::lines(text).filter_map(|line| {
        let (_, heading) = line.heading().filter(|(level, _)| *level == 3)?;
        let (digits, rest) = heading.strip_prefix("[L")?.split_once(']')?;
        Some((id_number(digits)?, rest.trim()))
    })
}

/// The number of the newest entry, which is the largest.
#[must_use]
pub fn newest(text: &str) -> Option<u64> {
    entries(text).map(|(number, _)| number).max()
}

/// The days of the entries that have one, by their numbers; of two of a number, the first counts.
#[must_use]
pub fn dates<'t>(texts: impl IntoIterator<Item = &'t String>) -> HashMap<u64, Date> {
    let mut dates = HashMap::new();
    for (number, rest) in texts.into_iter().flat_map(|text| entries(text)) {
        if let Some(date) = leading_date(rest) {
            dates.entry(number).or_insert(date);
        }
    }
    dates
}
