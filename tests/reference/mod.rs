//! What the program must come to, written a second time in the plainest way: slow, and from the contract alone.

#![allow(dead_code, clippy::indexing_slicing, clippy::string_slice, reason = "each user needs a part of it")]

pub(crate) mod calls;

/// A line of a text: its number from 1, what it says, and whether it is real Markdown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    pub(crate) number: usize,
    pub(crate) text: &'t str,
    pub(crate) visible: bool,
}

/// Walks over every line, and for each that may open something over all that follow.
pub(crate) fn lines(text: &str) -> Vec<Line<'_>> {
    let start = if text.starts_with('\u{feff}') { 3 } else { 0 };
    let mut places = Vec::new();
    let mut at = start;
    for line in text[start..].split_inclusive('\n') {
        let bare = line.strip_suffix('\n').map_or(line, |line| line.strip_suffix('\r').unwrap_or(line));
        places.push((at, at + line.len(), bare));
        at += line.len();
    }
    let mut lines = Vec::new();
    let mut hidden_until = 0;
    for (index, &(start, next, bare)) in places.iter().enumerate() {
        if start >= hidden_until
            && let Some((mark, length)) = opening_fence(bare)
            && let Some(closer) = places[index + 1..].iter().find(|(_, _, line)| closes_fence(line, mark, length))
        {
            hidden_until = closer.1;
        }
        lines.push(Line { number: index + 1, text: bare, visible: start >= hidden_until });
        let mut from = start.max(hidden_until);
        while from < next {
            let Some(open) = text[from..next].find("<!--") else { break };
            let inside = from + open + 4;
            let rest = &text[inside..];
            from = match (rest.find("-->"), rest.find("<!--")) {
                (Some(end), again) if again.is_none_or(|again| end + 3 <= again) => {
                    hidden_until = hidden_until.max(inside + end + 3);
                    inside + end + 3
                }
                _ => inside,
            };
        }
    }
    lines
}

fn fence(line: &str) -> Option<(char, usize, &str)> {
    let indent = line.chars().take_while(|c| *c == ' ').count();
    let mark = line[indent..].chars().next().filter(|c| "`~".contains(*c))?;
    let length = line[indent..].chars().take_while(|c| *c == mark).count();
    (indent <= 3 && length >= 3).then(|| (mark, length, &line[indent + length..]))
}

fn opening_fence(line: &str) -> Option<(char, usize)> {
    let (mark, length, info) = fence(line)?;
    (mark == '~' || !info.contains('`')).then_some((mark, length))
}

fn closes_fence(line: &str, opened_by: char, at_least: usize) -> bool {
    fence(line).is_some_and(|(mark, length, rest)| mark == opened_by && length >= at_least && rest.trim().is_empty())
}

/// The level and the text of a visible heading.
pub(crate) fn heading<'t>(line: &Line<'t>) -> Option<(usize, &'t str)> {
    let level = line.text.chars().take_while(|c| *c == '#').count();
    let rest = &line.text[level..];
    let is_heading = line.visible && (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
    is_heading.then(|| (level, rest.trim()))
}

/// The events `### [E012] …` of a text: number and line; the sentinels `[E000]` left out.
pub(crate) fn events(text: &str) -> Vec<(u64, usize)> {
    let number_of = |line: &Line<'_>| {
        let (level, text) = heading(line)?;
        let (digits, _) = text.strip_prefix("[E")?.split_once(']')?;
        let is_number = !digits.is_empty() && digits.len() <= 12 && digits.chars().all(|c| c.is_ascii_digit());
        (level == 3 && is_number).then(|| digits.parse::<u64>().ok())?
    };
    let numbered = lines(text).into_iter().filter_map(|line| Some((number_of(&line)?, line.number)));
    numbered.filter(|(number, _)| *number != 0).collect()
}
