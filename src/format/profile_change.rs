//! Changes to the user's profile: what may come, what has to leave for it, and what is protected.

use std::ops::Range;

use super::{
    document::Document,
    markdown::Line,
    profile::{CLOSEST, ENTRY_LIMIT, Entry, ROUTING_KEY, Section, Tier, split_key},
    slice,
    text::{comparison_key, escape},
};

/// What is to be done to a section. Texts are folded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// A new entry, or the new value of a key that the text names.
    Add(String),
    /// The value of a key.
    Set {
        /// The key.
        key: String,
        /// Its new value.
        value: String,
    },
    /// An entry in the place of another.
    Replace {
        /// What the old one says.
        old: String,
        /// What the new one says.
        new: String,
    },
    /// An entry goes.
    Remove(String),
}

impl Change {
    /// What it would write.
    fn new_texts(&self) -> impl Iterator<Item = &String> {
        let texts = match self {
            Self::Add(text) | Self::Replace { new: text, .. } => [Some(text), None],
            Self::Set { key, value } => [Some(key), Some(value)],
            Self::Remove(_) => [None, None],
        };
        texts.into_iter().flatten()
    }
}

/// Why a change to the profile cannot be made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refusal {
    /// No entry says so; these are there.
    NotFound(Vec<String>),
    /// More than one entry says so.
    Ambiguous(Vec<String>),
    /// The section has its entries, and none of them may be replaced.
    Full(Vec<(String, Tier)>),
    /// An entry of the core would be lost or changed, and the user did not say so.
    Core(String),
    /// `routing_key` is never changed.
    Routing,
}

/// What a change came to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Outcome {
    /// What had to go.
    pub removed: Option<String>,
    /// Whether anything was written.
    pub written: bool,
}

/// Who may be touched by a change.
#[derive(Debug, Clone, Copy, Default)]
pub struct Terms<'t> {
    /// The tier that the caller gives the entry.
    pub tier: Option<Tier>,
    /// Whether the user said so, in the user's own words.
    pub user_said: bool,
    /// Texts that the same call wrote and that must not leave for it.
    pub fresh: &'t [String],
}

/// Makes a change to a section of the present text.
///
/// # Errors
///
/// A [`Refusal`]; the document is unchanged.
pub fn change(
    document: &mut Document,
    section: &Section,
    change: &Change,
    terms: Terms<'_>,
) -> Result<Outcome, Refusal> {
    if change.new_texts().any(|text| text.contains(ROUTING_KEY)) {
        return Err(Refusal::Routing);
    }
    match change {
        Change::Add(text) => match existing_key(section, text) {
            Some((entry, value)) => set_value(document, section, entry, &value, terms),
            None => add(document, section, text, terms),
        },
        Change::Set { key, value } => match section.by_key(key) {
            Some(entry) => set_value(document, section, entry, value, terms),
            None => add(document, section, &format!("**{key}**：{value}"), terms),
        },
        Change::Replace { old, new } => {
            let entry = meant(section, old)?;
            let keeps_person = first_word(&entry.text) == first_word(new);
            if entry.tier == Tier::核心 && !terms.user_said && (entry.is_name() || !keeps_person) && !entry.says(new)
            {
                return Err(Refusal::Core(entry.text.clone()));
            }
            let new = match existing_key(section, new) {
                Some((keyed, value)) if keyed == entry => return set_value(document, section, entry, &value, terms),
                _ => new,
            };
            rewrite(document, section, entry, new, terms)
        }
        Change::Remove(old) => {
            let entry = meant(section, old)?;
            if entry.tier == Tier::核心 && !terms.user_said {
                return Err(Refusal::Core(entry.text.clone()));
            }
            document.replace(entry.place.clone(), "", section.anchor());
            Ok(Outcome { removed: Some(entry.text.clone()), written: true })
        }
    }
}

/// The entry whose key a text of the form `key：value` names, and the value.
fn existing_key<'s>(section: &'s Section, text: &str) -> Option<(&'s Entry, String)> {
    let (key, value) =
        split_key(text).or_else(|| text.split_once(['：', ':']).map(|(key, value)| (key.trim(), value.trim())))?;
    let entry = section.by_key(key)?;
    (!value.is_empty()).then(|| (entry, value.to_owned()))
}

/// The one entry that a text means: what it says, or else the only one that contains it.
fn meant<'s>(section: &'s Section, text: &str) -> Result<&'s Entry, Refusal> {
    let wanted = comparison_key(&text.replace("**", ""));
    let contains = |entry: &&Entry| comparison_key(&entry.text.replace("**", "")).contains(&wanted);
    let exact: Vec<_> = section.bullets.iter().filter(|entry| !entry.is_blank() && entry.says(text)).collect();
    let found = if exact.is_empty() {
        section.bullets.iter().filter(|entry| !entry.is_blank()).filter(contains).collect()
    } else {
        exact
    };
    match found.as_slice() {
        [] => Err(Refusal::NotFound(section.entries().map(|entry| entry.text.clone()).collect())),
        [entry] if entry.is_routing() => Err(Refusal::Routing),
        [entry] => Ok(*entry),
        many => Err(Refusal::Ambiguous(many.iter().map(|entry| entry.text.clone()).collect())),
    }
}

fn set_value(
    document: &mut Document,
    section: &Section,
    entry: &Entry,
    value: &str,
    terms: Terms<'_>,
) -> Result<Outcome, Refusal> {
    if entry.is_routing() {
        return Err(Refusal::Routing);
    }
    let old = entry.keyed.as_ref().map_or(entry.text.as_str(), |(_, value)| value);
    let is_core_change = entry.is_name() && old != value && !entry.is_blank();
    if (is_core_change || lowers(entry, terms)) && !terms.user_said {
        return Err(Refusal::Core(entry.text.clone()));
    }
    let prefix = slice(document.text(), entry.line.start..entry.value.start).to_owned();
    let key = entry.keyed.as_ref().map(|(key, _)| key.as_str());
    let tier = terms.tier.unwrap_or(entry.tier);
    let mark = tier_mark(section, key, &format!("{}{value}", key.unwrap_or("")), tier);
    let line = format!("{prefix}{}{mark}", escape(value));
    let written = slice(document.text(), entry.line.clone()) != line
        && !(old == value && terms.tier.is_none_or(|tier| tier == entry.tier));
    if written {
        document.replace(entry.line.clone(), &line, section.anchor());
    }
    let removed = (written && !entry.is_blank() && old != value).then(|| entry.text.clone());
    Ok(Outcome { removed, written })
}

fn lowers(entry: &Entry, terms: Terms<'_>) -> bool {
    entry.tier == Tier::核心 && !entry.is_blank() && terms.tier.is_some_and(|tier| tier < Tier::核心)
}

fn rewrite(
    document: &mut Document,
    section: &Section,
    entry: &Entry,
    new: &str,
    terms: Terms<'_>,
) -> Result<Outcome, Refusal> {
    if entry.says(new) && terms.tier.is_none_or(|tier| tier == entry.tier) {
        return Ok(Outcome::default());
    }
    if lowers(entry, terms) && !terms.user_said {
        return Err(Refusal::Core(entry.text.clone()));
    }
    let bullet = slice(document.text(), entry.line.clone()).chars().next().unwrap_or('-');
    let line = entry_line(section, bullet, new, terms.tier.unwrap_or(entry.tier));
    let ending = slice(document.text(), entry.line.end..entry.place.end);
    let ending = if ending.starts_with("\r\n") {
        "\r\n"
    } else if ending.is_empty() {
        ""
    } else {
        "\n"
    };
    document.replace(entry.place.clone(), &format!("{line}{ending}"), section.anchor());
    Ok(Outcome { removed: Some(entry.text.clone()), written: true })
}

/// A bullet with an entry and, where the tier is not what it would be anyway, its mark.
fn entry_line(section: &Section, bullet: char, text: &str, tier: Tier) -> String {
    let key = split_key(text).map(|(key, _)| key);
    format!("{bullet} {}{}", escape(text), tier_mark(section, key, text, tier))
}

fn tier_mark(section: &Section, key: Option<&str>, text: &str, tier: Tier) -> String {
    if tier == section.default_tier(key, text) { String::new() } else { format!(" <!-- {} -->", tier.as_str()) }
}

fn add(document: &mut Document, section: &Section, text: &str, terms: Terms<'_>) -> Result<Outcome, Refusal> {
    if let Some(twin) = section.entries().find(|entry| entry.says(text)) {
        // The same text with another tier only moves the tier.
        return match terms.tier {
            Some(tier) if tier != twin.tier => {
                rewrite(document, section, twin, &twin.text, terms).map(|outcome| Outcome { removed: None, ..outcome })
            }
            _ => Ok(Outcome::default()),
        };
    }
    let key = split_key(text).map(|(key, _)| key);
    let tier = terms.tier.unwrap_or_else(|| section.default_tier(key, text));
    let leaving = if section.entries().count() >= ENTRY_LIMIT {
        let replaceable =
            section.entries().find(|entry| entry.tier == Tier::可替换 && !terms.fresh.contains(&entry.text));
        let entries = || section.entries().map(|entry| (entry.text.clone(), entry.tier)).collect();
        Some(replaceable.ok_or_else(|| Refusal::Full(entries()))?)
    } else {
        None
    };
    // A bare bullet of the template is filled, unless the text has a key of its own.
    let bare = section.bullets.iter().find(|entry| entry.keyed.is_none() && entry.is_blank() && key.is_none());
    let last = section.bullets.iter().rev().find(|entry| !entry.is_routing()).or(section.bullets.last());
    let bullet = last.and_then(|entry| slice(document.text(), entry.line.clone()).chars().next()).unwrap_or('-');
    let line = entry_line(section, bullet, text, tier);
    let removed = leaving.map(|entry| entry.text.clone());
    // From the end to the beginning, so that the places in front stay right.
    let leaving = leaving.map(|entry| entry.place.clone());
    match (bare, last) {
        (Some(bare), _) => {
            let filled = (bare.line.clone(), line);
            let mut edits: Vec<_> = leaving.map(|place| (place, String::new())).into_iter().chain([filled]).collect();
            edits.sort_by_key(|(place, _)| std::cmp::Reverse(place.start));
            for (place, new) in edits {
                document.replace(place, &new, section.anchor());
            }
        }
        (None, Some(last)) => {
            let newline = if slice(document.text(), last.place.clone()).ends_with('\n') { "" } else { "\n" };
            document.insert_lines(last.place.end, &format!("{newline}{line}\n"), section.anchor());
            if let Some(place) = leaving {
                document.replace(place, "", section.anchor());
            }
        }
        (None, None) if section.placeholder.is_some() => {
            document.replace(section.placeholder.clone().unwrap_or_default(), &line, section.anchor());
        }
        (None, None) => {
            let Range { start, end } = section.prose_end;
            let behind = Line::alone(start, "", end);
            document.insert_apart(&behind, &format!("{line}\n"), section.anchor());
        }
    }
    Ok(Outcome { removed, written: true })
}

/// The word that an entry begins with: whom it is about.
fn first_word(text: &str) -> String {
    let text = text.replace("**", "");
    let text = text.trim();
    let ends_word = |c: char| c.is_whitespace() || c.is_ascii_punctuation() || "：，。、；（）".contains(c);
    let closest = CLOSEST.iter().copied().find(|word| text.starts_with(word));
    let word = closest.or_else(|| text.split(ends_word).next()).unwrap_or("");
    comparison_key(word)
}
