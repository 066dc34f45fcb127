//! When a summary of the conversations is due (`memory_distill`, step 4.5). Read only.

/// How many messages there must be at least, and more.
const MESSAGES: usize = 30;
/// How many of them the last summary must leave uncovered at least.
const UNCOVERED: usize = 20;

/// Whether a summary is due: over 30 messages in `RECENT_HISTORY.md`, 20 or more of them behind the
/// start of the last `covered_range` in `session_summary.md`.
#[must_use]
pub fn is_due(history: &str, summary: &str) -> bool {
    let messages = history.lines().filter(|line| line.starts_with("**")).count();
    let covered = summary.lines().rev().find_map(covered_from).unwrap_or(0);
    messages > MESSAGES && messages.saturating_sub(covered) >= UNCOVERED
}

/// The first number of `covered_range: L<a> - L<b>`.
fn covered_from(line: &str) -> Option<usize> {
    let (_, range) = line.rsplit_once("covered_range: L")?;
    let (from, rest) = range.split_at_checked(range.bytes().take_while(u8::is_ascii_digit).count())?;
    let to = rest.strip_prefix(" - L")?;
    to.starts_with(|c: char| c.is_ascii_digit()).then(|| from.parse().ok())?
}
