//! Free text: how it is cleaned, written into a line, read back, measured and compared.

use std::{borrow::Cow, ops::Range};

use unicode_normalization::{IsNormalized, UnicodeNormalization as _, is_nfkc_quick};
use unicode_segmentation::UnicodeSegmentation;

/// The longest free text a call may bring, in Unicode scalar values.
pub const TEXT_LIMIT: usize = 2_000;

/// How much of a text errors and warnings quote, in characters.
const QUOTED: usize = 60;
/// How many names errors and warnings list.
const LISTED: usize = 20;

/// The `name=` marks of a worry's line; other programs substitute what follows them.
pub(crate) const WORRY_FIELDS: [&str; 5] = ["src", "kind", "decay_d", "last_touched", "forced_echo_last"];

/// What stands for each character that is written in another form.
const ESCAPES: [(&str, char); 6] =
    [("<br>", '\n'), ("&lt;", '<'), ("&gt;", '>'), ("&amp;", '&'), ("&#91;", '['), ("&#61;", '=')];

/// Cleans a text as it comes from a caller: line breaks of every kind become `\n`, tabs spaces,
/// other control characters go, and so does white space at both ends.
#[must_use]
pub fn fold(raw: &str) -> String {
    let mut folded = String::with_capacity(raw.len());
    let mut chars = raw.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\r' => {
                chars.next_if_eq(&'\n');
                folded.push('\n');
            }
            '\n' | '\u{b}' | '\u{c}' | '\u{85}' | '\u{2028}' | '\u{2029}' => folded.push('\n'),
            '\t' => folded.push(' '),
            c if c.is_control() => {}
            c => folded.push(c),
        }
    }
    folded.trim().to_owned()
}

/// Writes folded text so that it fits on one line and forges nothing: no entry, comment or id.
#[must_use]
pub fn escape(text: &str) -> String {
    escape_where(text, |_| false)
}

/// Like [`escape`], for a worry's line, where `=` after a field name is escaped as well.
#[must_use]
pub fn escape_worry(text: &str) -> String {
    escape_where(text, |before| WORRY_FIELDS.iter().any(|field| before.ends_with(field)))
}

fn escape_where(text: &str, is_field_before: impl Fn(&str) -> bool) -> String {
    let mut escaped = String::with_capacity(text.len());
    for (at, c) in text.char_indices() {
        let (before, rest) = text.split_at(at);
        let after = rest.strip_prefix(c).unwrap_or("");
        match c {
            '\n' => escaped.push_str("<br>"),
            '<' if after.starts_with("!--") || after.starts_with("br>") => escaped.push_str("&lt;"),
            '>' if before.ends_with("--") => escaped.push_str("&gt;"),
            '[' if starts_with_id(after) => escaped.push_str("&#91;"),
            '=' if is_field_before(before) => escaped.push_str("&#61;"),
            '&' if ["lt;", "gt;", "amp;", "#91;", "#61;"].iter().any(|name| after.starts_with(name)) => {
                escaped.push_str("&amp;");
            }
            c => escaped.push(c),
        }
    }
    escaped
}

/// Whether a `[` in front of this would begin an id. Digits of every script count: some programs'
/// `\d` matches them too.
fn starts_with_id(text: &str) -> bool {
    let Some(rest) = text.strip_prefix(['E', 'U', 'M', 'L', 'D']) else { return false };
    let after_digits = rest.trim_start_matches(char::is_numeric);
    after_digits.len() < rest.len() && after_digits.starts_with(']')
}

/// Gives back what [`escape`] or [`escape_worry`] was given, in one pass.
#[must_use]
pub fn unescape(line: &str) -> Cow<'_, str> {
    if !line.contains(['&', '<']) {
        return Cow::Borrowed(line);
    }
    Cow::Owned(unescaped_chars(line).map(|(_, c)| c).collect())
}

/// The characters that a line is read as, each with the place where it is written.
pub(super) fn unescaped_chars(line: &str) -> impl Iterator<Item = (Range<usize>, char)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = line.get(at..)?;
        let first = rest.chars().next()?;
        let escape = ESCAPES.iter().find(|(form, _)| rest.starts_with(form));
        let (len, meant) = escape.map_or((first.len_utf8(), first), |(form, meant)| (form.len(), *meant));
        let place = at..at + len;
        at += len;
        Some((place, meant))
    })
}

/// Whether an id such as `[E012]` stands at the place of a `[`.
pub(super) fn is_id_at(text: &str, at: usize) -> bool {
    text.get(at + 1..).is_some_and(starts_with_id)
}

/// A text as errors and warnings quote it: its beginning, on one line.
#[must_use]
pub fn shorten(text: &str) -> String {
    let line = text.lines().next().unwrap_or("");
    let start: String = line.chars().take(QUOTED).collect();
    if start.len() < text.len() { format!("{start}…") } else { start }
}

/// The first few of many names, as errors and warnings list them.
#[must_use]
pub fn enumerate(names: &[String], separator: &str) -> String {
    listed(names, separator, shorten)
}

/// The same, each name as it is to be written.
#[must_use]
pub fn quote(names: &[String]) -> String {
    listed(names, ", ", |name| format!("`{}`", shorten(name)))
}

fn listed(names: &[String], separator: &str, write: impl Fn(&str) -> String) -> String {
    let shown: Vec<_> = names.iter().take(LISTED).map(|name| write(name)).collect();
    let shown = shown.join(separator);
    if names.len() > LISTED { format!("{shown} and {} more", names.len() - LISTED) } else { shown }
}

/// The first `limit` user-perceived characters, or `None` if the text has no more than that.
#[must_use]
pub fn cut(text: &str, limit: usize) -> Option<&str> {
    // No character that is perceived as one has less than one.
    text.chars().nth(limit)?;
    let (end, _) = text.grapheme_indices(true).nth(limit)?;
    text.get(..end)
}

/// The same, with a sign where it was cut; a shorter text whole.
#[must_use]
pub fn shown(text: &str, limit: usize) -> String {
    cut(text, limit).map_or_else(|| text.to_owned(), |start| format!("{start}…"))
}

/// What a search key writes for a character, if that is the same whatever stands beside it: true of
/// ASCII and its full-width forms, of Chinese, and of what commonly stands between them.
fn plain_key(c: char) -> Option<char> {
    match c {
        '\n' | ' '..='~' => Some(c.to_ascii_lowercase()),
        '！'..='～' => {
            char::from_u32(u32::from(c) - u32::from('！') + u32::from('!')).map(|c| c.to_ascii_lowercase())
        }
        '·' | '–' | '—' | '‘'..='”' | '⭐' | '、'..='】' | '\u{4e00}'..='\u{9fff}' => Some(c),
        _ => None,
    }
}

/// Whether all the words, which are search keys, stand in a text.
#[must_use]
pub fn has_words(text: &str, words: &[String]) -> bool {
    let has_all = |text: &str| words.iter().all(|word| text.contains(word.as_str()));
    has_all(text) || has_all(&search_key(text))
}

/// So many user-perceived characters of a text, around the first place where one of the words stands.
///
/// The words are search keys.
#[must_use]
pub fn excerpt(text: &str, words: &[String], limit: usize) -> String {
    let Some(start) = cut(text, limit) else { return text.to_owned() };
    let is_shown = |text: &str| words.iter().any(|word| search_key(text).contains(word));
    if is_shown(start) {
        return format!("{start}…");
    }
    let graphemes: Vec<&str> = text.graphemes(true).collect();
    let windows = graphemes.windows(limit).enumerate().step_by(limit / 2);
    let shown = windows.map(|(_, window)| window.concat()).find(|window| is_shown(window));
    let end = || graphemes.get(graphemes.len().saturating_sub(limit)..).unwrap_or(&[]).concat();
    format!("…{}…", shown.unwrap_or_else(end))
}

/// A form in which texts are equal that differ only in white space, width, case, zero-width
/// characters or the punctuation at their end. A text of punctuation alone keeps it.
#[must_use]
pub fn comparison_key(text: &str) -> String {
    let mut key = search_key(text);
    key.retain(|c| !c.is_whitespace());
    match key.trim_end_matches(is_closing).len() {
        0 => {}
        len => key.truncate(len),
    }
    key
}

/// A form in which a search finds words whatever their case and width.
#[must_use]
pub fn search_key(text: &str) -> String {
    if let Some(key) = text.chars().map(plain_key).collect() {
        return key;
    }
    if is_nfkc_quick(text.chars()) == IsNormalized::Yes {
        return text.chars().flat_map(char::to_lowercase).filter(|c| !is_zero_width(*c)).collect();
    }
    text.nfkc().flat_map(char::to_lowercase).filter(|c| !is_zero_width(*c)).collect()
}

fn is_zero_width(c: char) -> bool {
    matches!(c, '\u{ad}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{2064}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}')
}

/// What ends a sentence, a quotation or a parenthesis. Signs such as `+`, `-` and `#` say something.
fn is_closing(c: char) -> bool {
    matches!(
        c,
        '.' | ','
            | ';'
            | ':'
            | '!'
            | '?'
            | '~'
            | '"'
            | '\''
            | ')'
            | ']'
            | '}'
            | '、'
            | '。'
            | '》'
            | '」'
            | '』'
            | '】'
            | '〉'
            | '”'
            | '’'
            | '—'
            | '…'
            | '〜'
    )
}
