//! Sections: the parts of a file below a heading, found by the heading's text.

use std::ops::Range;

use super::markdown;

struct Heading<'t> {
    level: usize,
    text: &'t str,
    start: usize,
}

fn headings(text: &str) -> Vec<Heading<'_>> {
    markdown::lines(text)
        .filter_map(|line| line.heading().map(|(level, text)| Heading { level, text, start: line.start }))
        .collect()
}

/// The names of a file's sections: every heading's text.
#[must_use]
pub fn names(text: &str) -> Vec<String> {
    headings(text).into_iter().map(|heading| heading.text.to_owned()).collect()
}

/// The place of a section, heading included, up to the next heading that is not below it.
///
/// The exact name is tried first, then the text before `（` or one `/`-part, then the id that an
/// entry's heading begins with; never a bare substring.
#[must_use]
pub fn find(text: &str, name: &str) -> Option<Range<usize>> {
    let headings = headings(text);
    let exact = headings.iter().position(|heading| heading.text == name);
    let of_id = || headings.iter().position(|heading| id_of(heading.text) == Some(name));
    let index = exact.or_else(|| headings.iter().position(|heading| is_called(heading.text, name))).or_else(of_id)?;
    let (_, rest) = headings.split_at_checked(index)?;
    let (found, later) = rest.split_first()?;
    let end = later.iter().find(|heading| heading.level <= found.level).map_or(text.len(), |next| next.start);
    Some(found.start..end)
}

fn id_of(heading: &str) -> Option<&str> {
    heading.strip_prefix('[')?.split_once(']').map(|(id, _)| id)
}

/// Whether a heading or key is called so: the text before `（`, or one `/`-part of it.
pub(super) fn is_called(heading: &str, name: &str) -> bool {
    let before_parenthesis = heading.split(['（', '(']).next().unwrap_or("").trim();
    before_parenthesis == name || before_parenthesis.split(['/', '／']).any(|part| part.trim() == name)
}
