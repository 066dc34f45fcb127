//! `memory/MEMORY.md`: the index, whose block `最近未解决事项` shows the most pressing open events.

use std::{fmt::Write as _, ops::Range};

use jiff::civil::Date;

use super::{
    document::{Anchor, Document},
    events::{self, Events, Field},
    id_number,
    markdown::{self, Line},
    text::{escape, shown, unescape},
};

/// What the block's heading contains.
const BLOCK: &str = "最近未解决事项";
/// How many events the block shows.
const SHOWN: usize = 3;
/// How much of an event's content the block shows, in user-perceived characters.
const CONTENT_LIMIT: usize = 40;
/// What the block shows where no event is open.
const NONE: &str = "（暂无）";

struct Block {
    /// From the line behind the heading to the next heading or rule.
    body: Range<usize>,
    /// The lines of its items and placeholders.
    items: Vec<Range<usize>>,
    /// Behind the last line that is neither blank nor an item: where items go if there are none.
    after_prose: usize,
}

fn find(text: &str) -> Option<Block> {
    let mut lines = markdown::lines(text);
    let heading = lines.find(|line| is_heading(line) && line.text.contains(BLOCK))?;
    let mut block = Block { body: heading.next..heading.next, items: Vec::new(), after_prose: heading.next };
    let mut in_item = false;
    for line in lines.take_while(|line| !is_heading(line) && !line.is_rule()) {
        in_item = (line.visible && is_item(&line)) || (in_item && line.continues_item());
        if in_item {
            block.items.push(line.start..line.next);
        } else if !line.is_blank() {
            block.after_prose = line.next;
        }
        block.body.end = line.next;
    }
    Some(block)
}

/// A Markdown heading, or a line such as `【最近未解决事项】`.
fn is_heading(line: &Line<'_>) -> bool {
    line.heading().is_some() || (line.visible && line.text.starts_with('【'))
}

fn is_item(line: &Line<'_>) -> bool {
    let after_digits = line.text.trim_start_matches(|c: char| c.is_ascii_digit());
    let is_numbered = after_digits.len() < line.text.len() && after_digits.starts_with(". ");
    line.bullet().is_some() || is_numbered || line.text.trim() == NONE
}

/// The numbers of the events that the block cites.
#[must_use]
pub fn cited(text: &str) -> Vec<u64> {
    let Some(block) = find(text) else { return Vec::new() };
    let items = block.items.iter().map(|item| super::slice(text, item.clone()));
    items
        .flat_map(|item| item.split("[E").skip(1))
        .filter_map(|rest| id_number(rest.split_once(']')?.0))
        .filter(|number| *number > 0)
        .collect()
}

/// What the block shows, an item each.
#[must_use]
pub fn items(text: &str) -> Vec<String> {
    let Some(block) = find(text) else { return Vec::new() };
    let items = block.items.iter().filter_map(|item| super::slice(text, item.clone()).trim().strip_prefix("- "));
    items.map(|item| unescape(item).into_owned()).collect()
}

/// The value of `initialization_status`, empty if there is none.
#[must_use]
pub fn initialization_status(text: &str) -> &str {
    let mut values = text.lines().filter_map(|line| line.trim_start().strip_prefix("initialization_status"));
    let value = values.find_map(|rest| rest.trim_start().strip_prefix([':', '：'])).unwrap_or("");
    let value = value.split('#').next().unwrap_or("");
    value.split_whitespace().next().unwrap_or("").trim_matches(['`', '"', '\'', '*'])
}

/// Whether a status says that the workspace has been set up far enough to be written by a job.
#[must_use]
pub fn is_initialized(status: &str) -> bool {
    matches!(status, "phase1_done" | "phase2_done" | "done")
}

/// Makes the block show the most pressing open events. Answers `false` if there was no block and
/// one was added.
pub fn refresh(document: &mut Document, events: &Events<'_>, today: Date) -> bool {
    let shown: String = render(events, today);
    let text = document.text().to_owned();
    let Some(block) = find(&text) else {
        document.append_entry(&format!("## {BLOCK}（Top {SHOWN}）\n\n{shown}"), Anchor::OpenItems);
        return false;
    };
    let standing = block.items.iter().map(|item| super::slice(&text, item.clone()));
    if standing.flat_map(str::lines).eq(shown.lines()) {
        return true;
    }
    // From the last to the first, so that the places in front stay right.
    for item in block.items.iter().rev() {
        document.replace(item.clone(), "", Anchor::OpenItems);
    }
    match block.items.first() {
        Some(first) => document.insert_lines(first.start, &shown, Anchor::OpenItems),
        None => insert_first_items(document, &text, &block, &shown),
    }
    true
}

/// Puts items into a block without any, a blank line before and after them.
fn insert_first_items(document: &mut Document, text: &str, block: &Block, shown: &str) {
    let mut at = block.after_prose;
    let mut before = if super::slice(text, 0..at).ends_with('\n') { "\n" } else { "\n\n" };
    let blank_len = super::slice(text, at..block.body.end).find('\n').map_or(0, |newline| newline + 1);
    if blank_len > 0 {
        at += blank_len;
        before = "";
    }
    let rest = super::slice(text, at..text.len());
    let after = if rest.is_empty() || rest.starts_with(['\n', '\r']) { "" } else { "\n" };
    document.insert_lines(at, &format!("{before}{shown}{after}"), Anchor::OpenItems);
}

fn render(events: &Events<'_>, today: Date) -> String {
    let pressing = events::most_pressing(events, today, SHOWN);
    if pressing.is_empty() {
        return format!("{NONE}\n");
    }
    let mut items = String::new();
    for event in pressing {
        let content = event.field(Field::Content).map(|content| shown(&content, CONTENT_LIMIT));
        let parts = [event.due_date().map(|due| due.to_string()), event.event_type(), content];
        let parts: Vec<_> =
            parts.into_iter().flatten().filter(|part| !part.is_empty()).map(|part| escape(&part)).collect();
        let _ = writeln!(items, "- [{}] {}", event.id(), parts.join(" · "));
    }
    items
}
