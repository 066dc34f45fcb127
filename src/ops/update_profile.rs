//! `update_profile`: what is known of the user, in sections of at most ten entries (`memory_write`,
//! step 2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, optional_text, text};
use crate::{
    error::{Error, Result},
    format::{
        MemoryFile, PLACEHOLDER,
        profile::{self, Tier},
        profile_change::{self, Change, Refusal, Terms},
        text::{enumerate, quote, shorten},
    },
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<UpdateProfile>();

pub(super) struct UpdateProfile;

/// Changes what is known of the user. A section has at most ten entries; one more makes the topmost
/// 可替换 leave. 核心 (how the user is called, partner, parents, children, taboos) changes only with
/// user_said.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// add an entry; set a key's value; replace one entry by another; remove one.
    action: Action,
    /// Its heading, such as 喜欢; get_overview lists them.
    section: String,
    /// set: the key alone, such as 称呼; no * or colon.
    key: Option<String>,
    /// What it is to say; set: the value alone. ≤ 2,000 chars.
    text: Option<String>,
    /// replace, remove: the entry meant, or a part that only it has.
    old_text: Option<String>,
    /// Default by section and key.
    tier: Option<Tier>,
    /// The user's own words, to change 核心. News of the same person (妈妈：…) needs none.
    user_said: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Action {
    Add,
    Set,
    Replace,
    Remove,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The section's full name.
    section: String,
    /// How many entries it has now.
    entries: usize,
    /// What had to go.
    #[serde(skip_serializing_if = "Option::is_none")]
    removed: Option<String>,
    /// Whether anything was written; not if it stood so already.
    written: bool,
}

impl Operation for UpdateProfile {
    const NAME: &'static str = "update_profile";
    const TITLE: &'static str = "Update the user's profile";
    const EFFECT: Effect = Effect::Replaces;
    type Params = Params;
    type Reply = Reply;
}

impl Write for UpdateProfile {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        apply(params, transaction, &mut Vec::new())
    }
}

/// Makes the change. `fresh` are the texts that the same call wrote: they do not leave for it.
pub(super) fn apply(params: Params, transaction: &mut Transaction<'_>, fresh: &mut Vec<String>) -> Result<Reply> {
    let wanted = text("section", &params.section)?;
    let user_said = optional_text("user_said", params.user_said.as_deref())?.is_some();
    for name in superfluous(&params) {
        transaction.warn(format!("`{name}` was left out: this action takes none"));
    }
    let (tier, change) = (params.tier, change(params)?);
    let terms = Terms { tier, user_said, fresh };

    let document = transaction.document(MemoryFile::Profile)?;
    let sections = profile::parse(document.text());
    let section = profile::find(&sections, &wanted).ok_or_else(|| {
        let names: Vec<_> = sections.iter().map(|section| section.name.clone()).collect();
        Error::NotFound {
            what: format!("section `{}`", shorten(&wanted)),
            expected: if names.is_empty() {
                "a section, but `user_profile.md` has none: a person has to write its headings".to_owned()
            } else {
                format!("one of {}", quote(&names))
            },
        }
    })?;
    let outcome =
        profile_change::change(document, section, &change, terms).map_err(|refusal| refused(refusal, &section.name))?;

    let now = profile::parse(document.text());
    let entries = profile::find(&now, &section.name).map_or(0, |section| section.entries().count());
    let stood = |text: &String| section.entries().any(|entry| entry.text == *text);
    let texts =
        profile::find(&now, &section.name).into_iter().flat_map(profile::Section::entries).map(|entry| &entry.text);
    fresh.extend(texts.filter(|text| !stood(text)).cloned());
    Ok(Reply { section: section.name.clone(), entries, removed: outcome.removed, written: outcome.written })
}

/// The arguments that an action does not look at.
fn superfluous(params: &Params) -> Vec<&'static str> {
    let given = [("key", &params.key), ("text", &params.text), ("old_text", &params.old_text)];
    let taken: &[&str] = match params.action {
        Action::Add | Action::Set => &["key", "text"],
        Action::Replace => &["text", "old_text"],
        Action::Remove => &["old_text"],
    };
    given.into_iter().filter(|(name, value)| value.is_some() && !taken.contains(name)).map(|(name, _)| name).collect()
}

fn change(params: Params) -> Result<Change> {
    let key = optional_text("key", params.key.as_deref())?;
    if let Some(key) = key.as_ref().filter(|key| key.contains(['*', '：', ':'])) {
        return Err(Error::invalid("key", format!("`{}`", shorten(key)), "a key without `*`, `：` and `:`"));
    }
    if let Some(text) = params.text.as_deref().filter(|text| text.trim_start().starts_with(PLACEHOLDER)) {
        let expected = format!("a text that does not begin like the placeholder `{PLACEHOLDER}）`, which gives way");
        return Err(Error::invalid("text", format!("`{}`", shorten(text)), expected));
    }
    let required = |place: &str, raw: Option<String>| {
        let missing =
            || Error::MissingArgument { place: place.to_owned(), expected: "a text for this action".to_owned() };
        text(place, &raw.ok_or_else(missing)?)
    };
    match (params.action, key) {
        // A key says where the text belongs, whatever the action is called.
        (Action::Add | Action::Set, Some(key)) => Ok(Change::Set { key, value: required("text", params.text)? }),
        (Action::Add, None) => Ok(Change::Add(required("text", params.text)?)),
        // `城市：重庆` names the key itself.
        (Action::Set, None) if params.text.as_deref().is_some_and(|text| text.contains(['：', ':'])) => {
            Ok(Change::Add(required("text", params.text)?))
        }
        (Action::Set, None) => {
            Err(Error::MissingArgument { place: "key".to_owned(), expected: "the key whose value is set".to_owned() })
        }
        (Action::Replace, _) => {
            Ok(Change::Replace { old: required("old_text", params.old_text)?, new: required("text", params.text)? })
        }
        (Action::Remove, _) => Ok(Change::Remove(required("old_text", params.old_text)?)),
    }
}

fn refused(refusal: Refusal, section: &str) -> Error {
    match refusal {
        Refusal::NotFound(entries) => Error::NotFound {
            what: format!("`old_text` in section `{section}`"),
            expected: if entries.is_empty() {
                "an entry, but it has none".to_owned()
            } else {
                format!("one of {}", quote(&entries))
            },
        },
        Refusal::Ambiguous(entries) => Error::Ambiguous {
            what: format!("`old_text` in section `{section}`"),
            count: entries.len(),
            places: enumerate(&entries, "; "),
        },
        Refusal::Full(entries) => Error::SectionFull {
            section: section.to_owned(),
            entries: entries.into_iter().map(|(text, tier)| format!("{text} ({})", tier.as_str())).collect(),
        },
        Refusal::Core(existing) => Error::CoreConflict { existing },
        Refusal::Routing => {
            Error::invalid("text", "a `routing_key`", "anything else: other programs route messages by it")
        }
    }
}
