//! `memory/life_log.md` and its archives: the character's own life, `### [L013] 2026-04-12T16:00 · …`.
//! Read only.

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

/// The day of an entry, if it is there and has one.
#[must_use]
pub fn date_of(text: &str, number: u64) -> Option<Date> {
    entries(text).find(|(found, _)| *found == number).and_then(|(_, rest)| leading_date(rest))
}
