//! `memory/user_profile.md`: the user, in sections of at most ten entries, each of a tier.

use std::ops::Range;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{
    document::Anchor,
    markdown::{self, Line},
    sections::is_called,
    text::{comparison_key, unescape},
};

/// How many entries a section may have (`memory_write`, step 2).
pub const ENTRY_LIMIT: usize = 10;
/// The key that other programs route messages by: never changed, never counted.
pub(super) const ROUTING_KEY: &str = "routing_key";
const RELATIONS: &str = "重要关系";
const ONGOING: &str = "正在经历的重要事情";
/// What a key of the core contains: how the user is called.
const NAME_KEYS: [&str; 4] = ["称呼", "昵称", "姓名", "名字"];
const HALF_CORE_KEYS: [&str; 5] = ["职业", "身份", "城市", "年龄", "时区"];
/// Words for a partner, a parent or a child.
pub(super) const CLOSEST: [&str; 46] = [
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
    pub(super) line: Range<usize>,
    /// All of its lines.
    pub(super) place: Range<usize>,
    /// The value's place.
    pub(super) value: Range<usize>,
}

impl Entry {
    /// Whether it says how the user is called.
    pub(super) fn is_name(&self) -> bool {
        self.keyed.as_ref().is_some_and(|(key, _)| NAME_KEYS.iter().any(|name| key.contains(name)))
    }

    pub(super) fn is_routing(&self) -> bool {
        self.keyed.as_ref().map_or(self.text.as_str(), |(key, _)| key).contains(ROUTING_KEY)
    }

    /// Whether it is a bullet of the template without anything in it.
    pub(super) fn is_blank(&self) -> bool {
        let said = self.keyed.as_ref().map_or(self.text.as_str(), |(_, value)| value);
        said.is_empty() || said.starts_with("（暂无")
    }

    /// Whether it says this, asterisks aside.
    pub(super) fn says(&self, text: &str) -> bool {
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
    pub(super) bullets: Vec<Entry>,
    /// The place of a `（暂无）` that is no bullet.
    pub(super) placeholder: Option<Range<usize>>,
    /// Behind the last line of prose, where a first entry goes.
    pub(super) prose_end: Range<usize>,
}

impl Section {
    /// The entries that count.
    pub fn entries(&self) -> impl Iterator<Item = &Entry> {
        self.bullets.iter().filter(|entry| !entry.is_blank() && !entry.is_routing())
    }

    pub(super) fn anchor(&self) -> Anchor {
        Anchor::Entry(self.heading_line.clone())
    }

    pub(super) fn by_key(&self, key: &str) -> Option<&Entry> {
        let keys = |entry: &&Entry| entry.keyed.as_ref().is_some_and(|(found, _)| found == key);
        let parts = |entry: &&Entry| entry.keyed.as_ref().is_some_and(|(found, _)| is_called(found, key));
        self.bullets.iter().find(keys).or_else(|| self.bullets.iter().find(parts))
    }

    pub(super) fn default_tier(&self, key: Option<&str>, text: &str) -> Tier {
        let contains = |names: &[&str]| key.is_some_and(|key| names.iter().any(|name| key.contains(name)));
        let names_closest = || {
            let text = NOT_CLOSEST.iter().fold(text.to_lowercase(), |text, word| text.replace(word, ""));
            CLOSEST.iter().any(|word| names(&text, word))
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

/// Whether a text names somebody: English words only whole, since `Jason` is no `son`.
fn names(text: &str, word: &str) -> bool {
    if !word.is_ascii() {
        return text.contains(word);
    }
    text.split(|c: char| !c.is_ascii_alphabetic()).any(|found| found == word || found.strip_suffix('s') == Some(word))
}

/// Reads the sections: every heading below the title.
#[must_use]
pub fn parse(text: &str) -> Vec<Section> {
    let mut sections: Vec<Section> = Vec::new();
    let mut in_title = false;
    let mut had_heading = false;
    let mut in_entry = false;
    for (line, number) in markdown::lines(text).zip(1..) {
        if let Some((level, heading)) = line.heading() {
            in_entry = false;
            in_title = level == 1 && !had_heading;
            had_heading = true;
            if !in_title {
                sections.push(Section {
                    name: heading.to_owned(),
                    line: number,
                    heading_line: line.text.to_owned(),
                    bullets: Vec::new(),
                    placeholder: None,
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
        } else if line.is_placeholder() {
            section.placeholder.get_or_insert(line.start..line.end());
        } else if line.is_blank() {
            in_entry = false;
        } else if in_entry && line.continues_item() {
            if let Some(entry) = section.bullets.last_mut() {
                entry.place.end = line.next;
            }
        } else {
            in_entry = false;
            if section.bullets.is_empty() && line.visible && line.text.starts_with('>') {
                section.prose_end = line.end()..line.next;
            }
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
    let keyed = keyed.map(|(key, value)| (unescape(key).into_owned(), unescape(value).into_owned()));
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
pub(super) fn split_key(body: &str) -> Option<(&str, &str)> {
    let (key, rest) = body.strip_prefix("**")?.split_once("**")?;
    if let Some(key) = key.strip_suffix(['：', ':']) {
        return Some((key.trim(), rest.trim()));
    }
    let colon = rest.find(['：', ':'])?;
    let (suffix, value) = rest.split_at_checked(colon)?;
    let is_suffix = suffix.is_empty() || suffix.starts_with(['（', '(']);
    is_suffix.then_some((key.trim(), value.strip_prefix(['：', ':']).unwrap_or(value).trim()))
}

/// The section of this name: the exact name, then the text before `（` or one `/`-part.
#[must_use]
pub fn find<'s>(sections: &'s [Section], name: &str) -> Option<&'s Section> {
    let exact = sections.iter().find(|section| section.name == name);
    exact.or_else(|| sections.iter().find(|section| is_called(&section.name, name)))
}
