//! The shared grammar: which lines of a file are real Markdown, which are headings, rules, fields.

use std::ops::Range;

use memchr::memmem;

use super::{PLACEHOLDER, bom_len, slice, without_bom};

/// One line of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Line<'t> {
    /// Where the line begins, in bytes.
    pub(crate) start: usize,
    /// Where the next line begins, in bytes: behind the line's ending.
    pub(crate) next: usize,
    /// The line without its ending.
    pub(crate) text: &'t str,
    /// Whether the line begins outside of comments and closed fences.
    pub(crate) visible: bool,
    /// Whether the line begins inside a comment.
    pub(crate) in_comment: bool,
    /// Whether a comment begins in the line that ends in a later one.
    pub(crate) opens_comment: bool,
}

impl<'t> Line<'t> {
    /// A visible line, whatever stands around it.
    pub(crate) fn alone(start: usize, text: &'t str, next: usize) -> Self {
        Self { start, next, text, visible: true, in_comment: false, opens_comment: false }
    }

    /// Whether the line belongs to the item above it: it is indented, or in a comment that begins in the
    /// item. A comment that begins below the item is its own.
    pub(crate) fn continues_item(&self) -> bool {
        self.in_comment || (self.text.starts_with([' ', '\t']) && !self.is_blank() && !self.opens_comment)
    }

    /// Where the line's text ends, in bytes.
    pub(crate) fn end(&self) -> usize {
        self.start + self.text.len()
    }

    /// The level and the text of a visible heading.
    pub(crate) fn heading(&self) -> Option<(usize, &'t str)> {
        if !self.visible {
            return None;
        }
        let rest = self.text.trim_start_matches('#');
        let level = self.text.len() - rest.len();
        let is_heading = (1..=6).contains(&level) && (rest.is_empty() || rest.starts_with([' ', '\t']));
        is_heading.then(|| (level, rest.trim()))
    }

    /// Whether this is a visible `---` (or `***`, `___`).
    pub(crate) fn is_rule(&self) -> bool {
        let marks: String = self.text.split_whitespace().collect();
        self.visible && marks.len() >= 3 && ["-", "*", "_"].iter().any(|mark| marks.split(mark).all(str::is_empty))
    }

    /// Whether this is a visible `（暂无）`, which gives way to a first entry.
    pub(crate) fn is_placeholder(&self) -> bool {
        self.visible && self.text.trim_start_matches(['-', '*', '+', ' ']).trim_start().starts_with(PLACEHOLDER)
    }

    /// Whether the line is empty or only white space.
    pub(crate) fn is_blank(&self) -> bool {
        self.text.trim().is_empty()
    }

    /// The text of a visible top-level bullet.
    pub(crate) fn bullet(&self) -> Option<&'t str> {
        let rest = self.text.strip_prefix(['-', '*', '+', '•'])?;
        (self.visible && rest.starts_with([' ', '\t'])).then(|| rest.trim())
    }

    /// The name and the value's place of a visible `**name**：value` line.
    pub(crate) fn field(&self) -> Option<(&'t str, Range<usize>)> {
        if !self.visible {
            return None;
        }
        let body = self.text.strip_prefix("**")?;
        // By bytes: this is asked of every line, and a search for a string takes longer to set up.
        let mark = memchr::memchr_iter(b'*', body.as_bytes()).find(|at| body.as_bytes().get(at + 1) == Some(&b'*'))?;
        let (name, rest) = (slice(body, 0..mark), slice(body, mark + 2..body.len()));
        // People also write `**name：** value`; looked at first, since the value may begin with a colon.
        let (name, value) = match name.strip_suffix(['：', ':']) {
            Some(name) => (name, rest),
            None => (name, rest.trim_start().strip_prefix(['：', ':'])?),
        };
        let start = self.end() - value.trim_start().len();
        Some((name.trim(), start..start + value.trim().len()))
    }
}

/// The last line of the item that begins at an index of these lines.
pub(crate) fn item_end<'l, 't>(lines: &'l [Line<'t>], at: usize) -> Option<&'l Line<'t>> {
    let continued = lines.iter().skip(at + 1).take_while(|line| line.continues_item()).count();
    lines.get(at + continued)
}

/// A code fence's mark, where its line begins and how long it is.
struct Closer {
    start: usize,
    length: usize,
    /// The longest mark of this kind from here to the end of the text.
    longest_from_here: usize,
}

/// Walks over the lines of a text and tells for each whether it is real Markdown: not in a comment
/// and not in a closed fence. A comment or fence that is never closed hides nothing.
pub(crate) struct Lines<'t> {
    text: &'t str,
    at: usize,
    hidden_until: usize,
    comment_until: usize,
    /// Where the next `<!--` is, searched once and not for each line.
    next_comment: usize,
    backtick_closers: Vec<Closer>,
    tilde_closers: Vec<Closer>,
}

/// The lines of a text. A byte order mark belongs to no line.
pub(crate) fn lines(text: &str) -> Lines<'_> {
    Lines {
        text,
        at: bom_len(text),
        hidden_until: 0,
        comment_until: 0,
        next_comment: find_from(text, 0, "<!--"),
        backtick_closers: closers(text, '`'),
        tilde_closers: closers(text, '~'),
    }
}

impl<'t> Iterator for Lines<'t> {
    type Item = Line<'t>;

    fn next(&mut self) -> Option<Line<'t>> {
        let start = self.at;
        if start >= self.text.len() {
            return None;
        }
        let rest = slice(self.text, start..self.text.len());
        let next = memchr::memchr(b'\n', rest.as_bytes()).map_or(self.text.len(), |at| start + at + 1);
        let whole = slice(self.text, start..next);
        let text = whole.strip_suffix('\n').map_or(whole, |line| line.strip_suffix('\r').unwrap_or(line));
        self.at = next;

        let visible_before = start >= self.hidden_until;
        if visible_before && let Some(fence_end) = self.fence_end(text, next) {
            self.hidden_until = fence_end;
        }
        let visible = start >= self.hidden_until;
        let in_comment = start < self.comment_until;
        self.hide_comments(start.max(self.hidden_until), next);
        let opens_comment = !in_comment && self.comment_until > next;
        Some(Line { start, next, text, visible, in_comment, opens_comment })
    }
}

impl Lines<'_> {
    /// Where the fence that this line opens ends, if it is closed.
    fn fence_end(&self, line: &str, next: usize) -> Option<usize> {
        let (mark, length, info) = fence_mark(line)?;
        if mark == '`' && info.contains('`') {
            return None;
        }
        let closers = if mark == '`' { &self.backtick_closers } else { &self.tilde_closers };
        let later = closers.get(closers.partition_point(|closer| closer.start < next)..)?;
        if later.first()?.longest_from_here < length {
            return None;
        }
        let closer = later.iter().find(|closer| closer.length >= length)?;
        let rest = slice(self.text, closer.start..self.text.len());
        Some(memchr::memchr(b'\n', rest.as_bytes()).map_or(self.text.len(), |at| closer.start + at + 1))
    }

    /// Hides what closed comments that begin between `from` and `until` cover.
    fn hide_comments(&mut self, from: usize, until: usize) {
        if self.next_comment < from {
            self.next_comment = find_from(self.text, from, "<!--");
        }
        while self.next_comment < until {
            let inside = self.next_comment + "<!--".len();
            self.next_comment = find_from(self.text, inside, "<!--");
            // A comment that meets another opening mark first counts as never closed.
            let close = slice(self.text, inside..self.next_comment).find("-->");
            if let Some(len) = close {
                self.comment_until = inside + len + "-->".len();
                self.hidden_until = self.comment_until;
            }
        }
    }
}

/// Where something is next, or the end of the text.
fn find_from(text: &str, from: usize, wanted: &str) -> usize {
    let rest = slice(text, from.min(text.len())..text.len());
    memmem::find(rest.as_bytes(), wanted.as_bytes()).map_or(text.len(), |at| from + at)
}

/// The place of a line, or of the next one that does not begin inside a comment: what is inserted
/// there can be read.
pub(crate) fn outside_comments(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return at;
    }
    let mut later = lines(text).skip_while(|line| line.start < at);
    match later.next() {
        Some(line) if line.in_comment => later.find(|line| !line.in_comment).map_or(text.len(), |line| line.start),
        _ => at,
    }
}

/// The last line of a text, if it has any. Its visibility is not looked at.
pub(crate) fn last_line(text: &str) -> Option<Line<'_>> {
    let body = text.strip_suffix('\n').unwrap_or(text);
    let first = bom_len(text);
    let start = body.rfind('\n').map_or(first, |newline| newline + 1);
    let line = slice(body, start..body.len());
    let line = if body.len() < text.len() { line.strip_suffix('\r').unwrap_or(line) } else { line };
    (!without_bom(text).is_empty()).then_some(Line::alone(start, line, text.len()))
}

/// A fence's mark, its length and what follows it, if the line is one.
fn fence_mark(line: &str) -> Option<(char, usize, &str)> {
    let indented = line.trim_start_matches(' ');
    let mark = indented.chars().next().filter(|c| matches!(c, '`' | '~'))?;
    let info = indented.trim_start_matches(mark);
    let length = indented.len() - info.len();
    (line.len() - indented.len() <= 3 && length >= 3).then_some((mark, length, info))
}

/// Every line that may close a fence of this mark.
fn closers(text: &str, mark: char) -> Vec<Closer> {
    let needle = [mark; 3].iter().collect::<String>();
    let mut found = Vec::new();
    let mut from = 0;
    while let Some(at) = text.get(from..).and_then(|rest| memmem::find(rest.as_bytes(), needle.as_bytes())) {
        let at = from + at;
        let start = slice(text, 0..at).rfind('\n').map_or(0, |newline| newline + 1);
        let line = slice(text, start..text.len()).lines().next().unwrap_or("");
        if let Some((found_mark, length, info)) = fence_mark(line)
            && found_mark == mark
            && info.trim().is_empty()
        {
            found.push(Closer { start, length, longest_from_here: length });
        }
        from = (start + line.len()).max(at + needle.len());
    }
    let mut longest = 0;
    for closer in found.iter_mut().rev() {
        longest = longest.max(closer.length);
        closer.longest_from_here = longest;
    }
    found
}
