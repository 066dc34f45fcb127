//! `correct_persona`: the character corrected where it stands (`memory_write`, step 2).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, text};
use crate::{
    error::{Error, Result},
    format::{
        MemoryFile,
        persona::{self, Refusal},
        text::enumerate,
    },
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<CorrectPersona>();

pub(super) struct CorrectPersona;

/// Corrects the character's persona in place: a text that stands exactly once, within one line.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// The wrong words, exactly, without bullet and date; standing only once. ≤ 2,000 chars.
    old_text: String,
    /// What is to stand there. ≤ 2,000 chars.
    new_text: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The line of persona.md, from 1.
    line: usize,
}

impl Operation for CorrectPersona {
    const NAME: &'static str = "correct_persona";
    const TITLE: &'static str = "Correct the character";
    const EFFECT: Effect = Effect::Replaces;
    type Params = Params;
    type Reply = Reply;
}

impl Write for CorrectPersona {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        let old = text("old_text", &params.old_text)?;
        let new = text("new_text", &params.new_text)?;
        let corrected = persona::correct(transaction.document(MemoryFile::Persona)?, &old, &new);
        let line = corrected.map_err(|refusal| match refusal {
            Refusal::NotFound => Error::NotFound {
                what: "`old_text`".to_owned(),
                expected: "a text that stands in one line of `persona.md`".to_owned(),
            },
            Refusal::Ambiguous(lines) => Error::Ambiguous {
                what: "`old_text`".to_owned(),
                count: lines.len(),
                places: enumerate(
                    &lines.iter().map(|line| format!("line {line} of `persona.md`")).collect::<Vec<_>>(),
                    ", ",
                ),
            },
            Refusal::Forges => Error::invalid(
                "new_text",
                "a text that would turn the line into something else",
                "one that makes no heading, rule, fence, quote, comment mark or id, and leaves the heading of the details theirs",
            ),
        })?;
        Ok(Reply { line })
    }
}
