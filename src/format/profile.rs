//! `memory/user_profile.md`: the user, in sections of at most ten entries, each of a tier.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    document::{Anchor, Document},
    markdown::{self, Line},
    sections::is_called,
    slice,
    text::{comparison_key, escape, unescape},
};

/// How many entries a section may have (`memory_write`, step 2).
pub const ENTRY_LIMIT: usize = 10;
/// The key that other programs route messages by: never changed, never counted.
const ROUTING_KEY: &str = "routing_key";
const RELATIONS: &str = "重要关系";
const ONGOING: &str = "正在经历的重要事情";
/// What a key of the core contains: how the user is called.
const NAME_KEYS: [&str; 4] = ["称呼", "昵称", "姓名", "名字"];
const HALF_CORE_KEYS: [&str; 5] = ["职业", "身份", "城市", "年龄", "时区"];
/// Words for a partner, a parent or a child.
const CLOSEST: [&str; 46] = [
    "妈妈",
    "母亲",
    "老妈",
    "爸爸",
    "父亲",
    "老爸",
    "父母",
    "爸妈",
    "妈",
    "爸",
    "伴侣",
    "老公",
    "老婆",
    "丈夫",
    "妻子",
    "爱人",
    "配偶",
    "男朋友",
    "女朋友",
    "男友",
    "女友",
    "对象",
    "未婚夫",
    "未婚妻",
    "先生",
    "太太",
    "儿子",
    "女儿",
    "孩子",
    "宝宝",
    "闺女",
    "小孩",
    "mother",
    "father",
    "mom",
    "mum",
    "dad",
    "parent",
    "husband",
    "wife",
    "partner",
    "boyfriend",
    "girlfriend",
    "son",
    "daughter",
    "child",
];
/// Words that contain one of those and mean somebody else.
const NOT_CLOSEST: [&str; 12] = [
    "姑妈",
    "姨妈",
    "舅妈",
    "干妈",
    "大妈",
    "干爸",
    "大爸",
    "孩子们的老师",
    "grandmother",
    "grandfather",
    "person",
    "season",
];

/// How easily an entry gives way to another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
pub enum Tier {
    /// May be replaced.
    可替换,
    /// Only where it is very old.
    半核心,
    /// Only if the user said so.
    核心,
}

impl Tier {
    const ALL: [Self; 3] = [Self::可替换, Self::半核心, Self::核心];

    /// The tier as it is written.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::可替换 => "可替换",
            Self::半核心 => "半核心",
            Self::核心 => "核心",
        }
    }
}

/// An entry of a section.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// What it says, without bullet, tier mark and escapes.
    pub text: String,
    /// Its key and its value, if it has the form `**key**：value`.
    pub keyed: Option<(String, String)>,
    /// Its tier: its mark's, or else the one that its section and key give it.
    pub tier: Tier,
    /// The first line, without its ending.
    line: Range<usize>,
    /// All of its lines.
    place: Range<usize>,
    /// The value's place.
    value: Range<usize>,
}

impl Entry {
    /// Whether it says how the user is called.
    fn is_name(&self) -> bool {
        self.keyed.as_ref().is_some_and(|(key, _)| NAME_KEYS.iter().any(|name| key.contains(name)))
    }

    fn is_routing(&self) -> bool {
        self.keyed.as_ref().map_or(self.text.as_str(), |(key, _)| key).contains(ROUTING_KEY)
    }

    /// Whether it is a bullet of the template without anything in it.
    fn is_blank(&self) -> bool {
        self.keyed.as_ref().map_or(self.text.as_str(), |(_, value)| value).is_empty()
    }

    /// Whether it says this, asterisks aside.
    fn says(&self, text: &str) -> bool {
        comparison_key(&self.text.replace("**", "")) == comparison_key(&text.replace("**", ""))
    }
}

/// A section and its own entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Section {
    /// The heading's text.
    pub name: String,
    /// The heading's line, from 1.
    pub line: usize,
    heading_line: String,
    bullets: Vec<Entry>,
    /// Behind the last line of prose, where a first entry goes.
    prose_end: Range<usize>,
}

impl Section {
    /// The entries that count.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.bullets.iter().filter(|entry| !entry.is_blank() && !entry.is_routing())
    }

    fn anchor(&self) -> Anchor {
        Anchor::Entry(self.heading_line.clone())
    }

    fn by_key(&self, key: &str) -> Option<&Entry> {
        let keys = |entry: &&Entry| entry.keyed.as_ref().is_some_and(|(found, _)| found == key);
        let parts = |entry: &&Entry| entry.keyed.as_ref().is_some_and(|(found, _)| is_called(found, key));
        self.bullets.iter().find(keys).or_else(|| self.bullets.iter().find(parts))
    }

    fn default_tier(&self, key: Option<&str>, text: &str) -> Tier {
        let contains = |names: &[&str]| key.is_some_and(|key| names.iter().any(|name| key.contains(name)));
        let names_closest = || {
            let text = NOT_CLOSEST.iter().fold(text.to_lowercase(), |text, word| text.replace(word, ""));
            CLOSEST.iter().any(|word| text.contains(word))
        };
        if contains(&NAME_KEYS) || self.name.contains("禁忌") {
            Tier::核心
        } else if self.name.contains(RELATIONS) {
            if names_closest() { Tier::核心 } else { Tier::半核心 }
        } else if contains(&HALF_CORE_KEYS) || self.name.contains(ONGOING) {
            Tier::半核心
        } else {
            Tier::可替换
        }
    }
}

/// Reads the sections: every heading below the title.
#[must_use]
pub fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut in_title = false;
    let mut in_entry = false;
    for (line, number) in markdown::lines(text).zip(1..) {
        if let Some((level, heading)) = line.heading() {
            in_entry = false;
            in_title = level == 1 && sections.is_empty();
            if !in_title {
                sections.push(Section {
                    name: heading.to_owned(),
                    line: number,
                    heading_line: line.text.to_owned(),
                    bullets: Vec::new(),
                    prose_end: line.end()..line.next,
                });
            }
            continue;
        }
        let Some(section) = sections.last_mut().filter(|_| !in_title) else { continue };
        if let Some(bullet) = bullet(&line) {
            in_entry = true;
            let entry = read_entry(section, &line, bullet);
            section.bullets.push(entry);
        } else if line.is_blank() {
            in_entry = false;
        } else if in_entry && line.text.starts_with([' ', '\t']) {
            if let Some(entry) = section.bullets.last_mut() {
                entry.place.end = line.next;
            }
        } else if section.bullets.is_empty() && line.visible && line.text.starts_with('>') {
            section.prose_end = line.end()..line.next;
            in_entry = false;
        }
    }
    sections
}

/// The text of a bullet, a bare one included.
fn bullet<'t>(line: &Line<'t>) -> Option<&'t str> {
    line.bullet().or_else(|| (line.visible && matches!(line.text, "-" | "*" | "+")).then_some(""))
}

fn read_entry(section: &Section, line: &Line<'_>, bullet: &str) -> Entry {
    let (body, mark) = split_tier(bullet);
    let start = line.start + line.text.trim_end().len() - bullet.len();
    let keyed = split_key(body);
    let value = keyed.map_or(body, |(_, value)| value);
    let value_start = start + body.len() - value.len();
    let text = unescape(body).into_owned();
    let keyed = keyed.map(|(key, value)| (key.to_owned(), unescape(value).into_owned()));
    let tier = mark.unwrap_or_else(|| section.default_tier(keyed.as_ref().map(|(key, _)| key.as_str()), &text));
    Entry {
        text,
        keyed,
        tier,
        line: line.start..line.end(),
        place: line.start..line.next,
        value: value_start..value_start + value.len(),
    }
}

/// An entry's body and the tier that its trailing mark gives it.
fn split_tier(bullet: &str) -> (&str, Option<Tier>) {
    let marked = bullet.strip_suffix("-->").and_then(|rest| rest.rsplit_once("<!--"));
    let tier = marked.and_then(|(body, name)| {
        Some((body.trim_end(), Tier::ALL.into_iter().find(|tier| tier.as_str() == name.trim())?))
    });
    tier.map_or((bullet, None), |(body, tier)| (body, Some(tier)))
}

/// The key and the value of `**key**：value`; a suffix before the colon belongs to the key.
fn split_key(body: &str) -> Option<(&str, &str)> {
    let (key, rest) = body.strip_prefix("**")?.split_once("**")?;
    if let Some(key) = key.strip_suffix(['：', ':']) {
        return Some((key.trim(), rest.trim()));
    }
    let colon = rest.find(['：', ':'])?;
    let (suffix, value) = rest.split_at_checked(colon)?;
    let is_suffix = suffix.is_empty() || suffix.starts_with(['（', '(']);
    is_suffix.then_some((key.trim(), value.trim_start_matches(['：', ':']).trim()))
}

/// The section of this name: the exact name, then the text before `（` or one `/`-part.
#[must_use]
pub fn find<'s>(sections: &'s [Section], name: &str) -> Option<&'s Section> {
    let exact = sections.iter().find(|section| section.name == name);
    exact.or_else(|| sections.iter().find(|section| is_called(&section.name, name)))
}

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
    match change {
        Change::Add(text) => match existing_key(section, text) {
            Some((entry, value)) => set_value(document, section, entry, &value, terms),
            None => add(document, section, text, terms),
        },
        Change::Set { key, value } => match section.by_key(key) {
            Some(entry) => set_value(document, section, entry, value, terms),
            None if key.contains(ROUTING_KEY) => Err(Refusal::Routing),
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
    let is_core_change = entry.is_name() && old != value && !old.is_empty();
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
    let removed = (written && !old.is_empty() && old != value).then(|| entry.text.clone());
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
    let bare = section.bullets.iter().find(|entry| entry.keyed.is_none() && entry.text.is_empty() && key.is_none());
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
        (None, None) => {
            let Range { start, end } = section.prose_end;
            let behind = Line { start, next: end, text: "", visible: true };
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
