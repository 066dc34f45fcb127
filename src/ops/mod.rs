//! The tools: one file each, and the one table that feeds the server, the command line, the
//! schema files and the README.
//!
//! An operation reads and parses, decides, and stages its change; the lock spans all three.

mod add_persona_detail;
mod add_unresolved;
mod append_event;
mod arguments;
mod correct_persona;
mod distill_abort;
mod distill_begin;
mod distill_commit;
pub mod distillation;
pub mod doctor;
mod event_file;
mod fade_unresolved;
pub mod get_overview;
mod list_events;
mod read_memory;
mod record_conversation;
mod resolve_unresolved;
pub mod resources;
pub mod schema;
mod search_memory;
pub mod status;
mod touch_last_active;
mod touch_unresolved;
mod update_event;
mod update_mood;
mod update_profile;
mod worry;

use std::sync::LazyLock;

use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::{
    clock::Clock,
    error::{Error, Result},
    format::{
        self,
        text::{TEXT_LIMIT, fold, shorten},
    },
    workspace::{Location, Reading, Settling, Transaction, Wait, Workspace},
};
use distillation::Distillation;
use schema::JsonObject;

/// How many warnings a result brings.
const WARNINGS: usize = 20;
/// How long a warning may be, in characters, whatever it quotes.
const WARNING_LIMIT: usize = 400;

/// Every tool, in the order in which they are listed.
pub static TOOLS: [&Tool; 19] = [
    &append_event::TOOL,
    &update_event::TOOL,
    &list_events::TOOL,
    &update_mood::TOOL,
    &touch_last_active::TOOL,
    &add_unresolved::TOOL,
    &touch_unresolved::TOOL,
    &resolve_unresolved::TOOL,
    &fade_unresolved::TOOL,
    &add_persona_detail::TOOL,
    &correct_persona::TOOL,
    &update_profile::TOOL,
    &record_conversation::TOOL,
    &distill_begin::TOOL,
    &distill_commit::TOOL,
    &distill_abort::TOOL,
    &get_overview::TOOL,
    &read_memory::TOOL,
    &search_memory::TOOL,
];

/// Which tools a server lists and calls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Toolset {
    /// Every tool.
    #[default]
    All,
    /// What an agent needs in a conversation.
    Write,
    /// What the hourly distillation needs.
    Distill,
    /// What changes nothing.
    Read,
}

impl Toolset {
    /// The tools of the set, in the order in which they are listed.
    pub fn tools(self) -> impl Iterator<Item = &'static Tool> {
        TOOLS.into_iter().filter(move |tool| self.has(tool.name))
    }

    /// Whether the tool of this name is in the set.
    #[must_use]
    pub fn has(self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Write => !matches!(name, "touch_unresolved" | "fade_unresolved") && !name.starts_with("distill_"),
            Self::Distill => {
                matches!(name, "get_overview" | "read_memory" | "search_memory") || name.starts_with("distill_")
            }
            Self::Read => find(name).is_some_and(Tool::is_read_only),
        }
    }
}

/// The tool of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Tool> {
    TOOLS.into_iter().find(|tool| tool.name == name)
}

/// Where and when calls take place.
#[derive(Debug, Clone)]
pub struct Context {
    /// Where the workspace is.
    pub location: Location,
    /// The time in the user's zone.
    pub clock: Clock,
    /// The distillation that this process has under way.
    pub distillation: Distillation,
}

/// What a call answers, and what is left to do once the answer is out.
#[derive(Debug)]
pub struct Answer {
    /// The result.
    pub result: JsonObject,
    /// The lock and the files that still have to be synced, after a change.
    pub settling: Option<Settling>,
}

/// A tool: what it is called, what it takes and answers, and how it is done.
#[derive(Debug)]
pub struct Tool {
    /// Its name on every door.
    pub name: &'static str,
    /// Its name for people.
    pub title: &'static str,
    effect: Effect,
    schemas: LazyLock<Schemas>,
    run: Run,
}

/// What a call does to the memory, as clients are told before they allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Effect {
    /// Nothing.
    Reads,
    /// Each call adds something.
    Adds,
    /// Adds something once: the same call again changes nothing.
    AddsOnce,
    /// Puts something in the place of something else; the same call again changes nothing.
    Replaces,
    /// Adds something and puts something in the place of something else.
    Records,
}

#[derive(Debug)]
struct Schemas {
    description: String,
    input: JsonObject,
    output: JsonObject,
}

#[derive(Debug, Clone, Copy)]
enum Run {
    /// Looks at the files.
    Read(fn(&JsonObject, &mut Reading<'_>) -> Result<Value>),
    /// Changes the files under the lock.
    Write(fn(&JsonObject, &mut Transaction<'_>) -> Result<Value>),
    /// Does something beside the memory files, and waits for nobody.
    Beside(fn(&JsonObject, &Context) -> Result<Answer>),
    /// Changes the files as part of something larger.
    Commit(fn(&JsonObject, &Context, &Wait) -> Result<Answer>),
}

/// What the files in this folder define.
trait Operation {
    const NAME: &'static str;
    const TITLE: &'static str;
    const EFFECT: Effect;
    /// What it takes; the docs are the descriptions that a model reads.
    type Params: DeserializeOwned + JsonSchema;
    /// What it answers, warnings aside.
    type Reply: Serialize + JsonSchema;
}

trait Read: Operation {
    fn run(params: Self::Params, reading: &mut Reading<'_>) -> Result<Self::Reply>;
}

trait Write: Operation {
    fn run(params: Self::Params, transaction: &mut Transaction<'_>) -> Result<Self::Reply>;
}

trait Beside: Operation {
    fn run(params: Self::Params, context: &Context) -> Result<(Self::Reply, Vec<String>)>;
}

impl Tool {
    const fn new<O: Operation>(run: Run) -> Self {
        let schemas = || {
            let (input, description) = schema::input::<O::Params>();
            Schemas { description, input, output: schema::output::<O::Reply>() }
        };
        Self { name: O::NAME, title: O::TITLE, effect: O::EFFECT, schemas: LazyLock::new(schemas), run }
    }

    const fn reads<O: Read>() -> Self {
        Self::new::<O>(Run::Read(|arguments, reading| reply(&O::run(params(arguments)?, reading)?)))
    }

    const fn writes<O: Write>() -> Self {
        Self::new::<O>(Run::Write(|arguments, transaction| reply(&O::run(params(arguments)?, transaction)?)))
    }

    const fn besides<O: Beside>() -> Self {
        Self::new::<O>(Run::Beside(|arguments, context| {
            let (answered, warnings) = O::run(params(arguments)?, context)?;
            answer(reply(&answered)?, &warnings, None)
        }))
    }

    const fn commits<O: Operation>(run: fn(&JsonObject, &Context, &Wait) -> Result<Answer>) -> Self {
        Self::new::<O>(Run::Commit(run))
    }

    /// Whether a call changes memory files: such calls are made one after the other.
    #[must_use]
    pub fn changes_memory(&self) -> bool {
        matches!(self.run, Run::Write(_) | Run::Commit(_))
    }

    /// What it is for, as a model reads it.
    #[must_use]
    pub fn description(&self) -> &str {
        &self.schemas.description
    }

    /// The schema of its arguments.
    #[must_use]
    pub fn input_schema(&self) -> &JsonObject {
        &self.schemas.input
    }

    /// The schema of its result.
    #[must_use]
    pub fn output_schema(&self) -> &JsonObject {
        &self.schemas.output
    }

    /// Whether it changes nothing.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.effect == Effect::Reads
    }

    /// Whether it may put something in the place of something else.
    #[must_use]
    pub fn is_destructive(&self) -> bool {
        matches!(self.effect, Effect::Replaces | Effect::Records)
    }

    /// Whether the same call again changes nothing.
    #[must_use]
    pub fn is_idempotent(&self) -> bool {
        !matches!(self.effect, Effect::Adds | Effect::Records)
    }

    /// Makes a call.
    ///
    /// # Errors
    ///
    /// Every error but `io` means that nothing was written.
    pub fn call(&self, context: &Context, wait: &Wait, arguments: JsonObject) -> Result<Answer> {
        let arguments = arguments::read(self.input_schema(), arguments)?;
        let workspace = Workspace::find(&context.location)?;
        match self.run {
            Run::Read(run) => {
                let (result, warnings) = workspace.read(&context.clock, |reading| run(&arguments, reading))?;
                answer(result, &warnings, None)
            }
            Run::Write(run) => {
                let committed = workspace.change(&context.clock, wait, |transaction| run(&arguments, transaction))?;
                answer(committed.value, &committed.warnings, Some(committed.settling))
            }
            Run::Beside(run) => run(&arguments, context),
            Run::Commit(run) => run(&arguments, context, wait),
        }
    }
}

/// A result with its warnings.
fn answer(result: Value, warnings: &[String], settling: Option<Settling>) -> Result<Answer> {
    let Value::Object(mut result) = result else {
        return Err(Error::Internal { detail: format!("a result is no object: {result}") });
    };
    if !warnings.is_empty() {
        let shown =
            warnings.iter().take(WARNINGS).map(|warning| warning.chars().take(WARNING_LIMIT).collect::<String>());
        result.insert("warnings".to_owned(), shown.collect::<Vec<_>>().into());
    }
    Ok(Answer { result, settling })
}

fn params<P: DeserializeOwned>(arguments: &JsonObject) -> Result<P> {
    P::deserialize(Value::Object(arguments.clone())).map_err(|error| Error::Internal { detail: error.to_string() })
}

fn reply(reply: &impl Serialize) -> Result<Value> {
    serde_json::to_value(reply).map_err(|error| Error::Internal { detail: error.to_string() })
}

/// A free text, cleaned, not empty and not too long.
fn text(place: &str, raw: &str) -> Result<String> {
    let folded = fold(raw);
    let len = folded.chars().count();
    match len {
        0 => Err(Error::invalid(place, "empty", "a text")),
        1..=TEXT_LIMIT => Ok(folded),
        _ => Err(Error::invalid(place, format!("{len} characters long"), format!("at most {TEXT_LIMIT} characters"))),
    }
}

/// A free text that may be absent.
fn optional_text(place: &str, raw: Option<&str>) -> Result<Option<String>> {
    raw.map(|raw| text(place, raw)).transpose()
}

/// Stars for an intensity.
fn stars(intensity: i64) -> Result<String> {
    let count = u8::try_from(intensity).ok().filter(|count| (1..=5).contains(count));
    let count =
        count.ok_or_else(|| Error::invalid("intensity", format!("`{intensity}`"), "a whole number from 1 to 5"))?;
    Ok(format::events::stars(count))
}

/// A day, written `YYYY-MM-DD`. Whoever wrote another is told what day it is.
fn date(place: &str, raw: &str, today: Date) -> Result<Date> {
    let raw = raw.trim();
    let date = format::leading_date(raw).filter(|date| date.to_string() == raw);
    date.ok_or_else(|| {
        let expected = format!("a real day, written `YYYY-MM-DD` (today is `{today}`)");
        Error::invalid(place, format!("`{}`", shorten(raw)), expected)
    })
}

/// A due date that may be absent, as it is where none was agreed.
fn due_date(raw: Option<&str>, today: Date) -> Result<Option<Date>> {
    optional_date("due_date", raw.filter(|raw| raw.trim() != format::events::NO_DUE_DATE), today)
}

/// A day that may be absent.
fn optional_date(place: &str, raw: Option<&str>, today: Date) -> Result<Option<Date>> {
    raw.map(|raw| date(place, raw, today)).transpose()
}

/// The number of an id such as `E012`, also as the files show it, in brackets.
fn id_number(place: &str, letter: char, raw: &str) -> Result<u64> {
    let raw = raw.trim();
    let id = raw.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(raw);
    let digits = id.strip_prefix([letter, letter.to_ascii_lowercase()]);
    let number = digits.and_then(format::id_number).filter(|number| *number > 0);
    number.ok_or_else(|| Error::invalid(place, format!("`{}`", shorten(raw)), format!("an id such as `{letter}012`")))
}
