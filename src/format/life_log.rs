//! `memory/life_log.md`: the character's own life, `### [L013] 2026-04-12T16:00 · …`. Read only.

use super::{id_number, markdown};

/// The number of the newest entry, which is the largest.
#[must_use]
pub fn newest(text: &str) -> Option<u64> {
    markdown::lines(text)
        .filter_map(|line| line.heading().filter(|(level, _)| *level == 3))
        .filter_map(|(_, heading)| id_number(heading.strip_prefix("[L")?.split_once(']')?.0))
        .max()
}
