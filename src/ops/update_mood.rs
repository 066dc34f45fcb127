//! `update_mood`: the mood after a turn, its snapshot and the healing guard (`memory_write`,
//! step 1.5).

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Effect, Operation, Tool, Write, text};
use crate::{
    error::Result,
    format::{
        MemoryFile,
        mood::{self, Mood},
        text::cut,
    },
    workspace::Transaction,
};

pub(super) static TOOL: Tool = Tool::writes::<UpdateMood>();

/// How long a note may be, in user-perceived characters.
const NOTE_LIMIT: usize = 10;

pub(super) struct UpdateMood;

/// Moves the character's mood, once a turn, by the strongest line. Valence / energy: good news or a happy talk +0.05…+0.20 /
/// +0.05…+0.10; stress, worry, mildly negative −0.05…−0.15 / −0.05…−0.10; breakdown, strongly negative
/// (4–5 stars) −0.15…−0.30 / −0.10…−0.20; the character comforts successfully or a bond forms
/// +0.05…+0.10 / 0; ordinary talk 0 / 0. A third comforting step in a row is blocked.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// −1 bad to 1 good; clamped to ±0.30. Default 0.
    delta_valence: Option<f64>,
    /// 0 to 1; clamped to ±0.20. Default 0.
    delta_energy: Option<f64>,
    /// This turn in ≤ 10 characters; more is cut.
    note: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {
    /// The mood before.
    before: Values,
    /// What the call asked for.
    requested: Values,
    /// What was really added.
    applied: Values,
    /// The mood after.
    after: Values,
    /// Whether a bound cut the change.
    clamped: bool,
    /// Comforting steps in a row, this one included.
    g4c_count: u64,
    /// Whether the rise was held back because two comforting steps in a row went before.
    g4c_blocked: bool,
    /// Whether the note was cut.
    note_cut: bool,
}

#[derive(Serialize, JsonSchema)]
struct Values {
    valence: f64,
    energy: f64,
}

impl From<Mood> for Values {
    fn from(mood: Mood) -> Self {
        Self { valence: mood.valence.to_f64(), energy: mood.energy.to_f64() }
    }
}

impl Operation for UpdateMood {
    const NAME: &'static str = "update_mood";
    const TITLE: &'static str = "Update the mood";
    const EFFECT: Effect = Effect::Adds;
    type Params = Params;
    type Reply = Reply;
}

impl Write for UpdateMood {
    fn run(params: Params, transaction: &mut Transaction<'_>) -> Result<Reply> {
        let note = text("note", &params.note)?;
        let note_start = cut(&note, NOTE_LIMIT).map(str::trim_end);
        let (delta_valence, delta_energy) = (params.delta_valence.unwrap_or(0.0), params.delta_energy.unwrap_or(0.0));

        let (before, problems) = mood::parse(transaction.document(MemoryFile::Mood)?.text());
        let (healing_count, problem) = mood::healing_count(transaction.document(MemoryFile::MoodAux)?.text());
        problems.into_iter().chain(problem).for_each(|problem| transaction.warn(problem));
        let step = mood::step(before, delta_valence, delta_energy, healing_count);

        let minute = transaction.now().minute();
        let instant = transaction.now().instant();
        mood::write(transaction.document(MemoryFile::Mood)?, step.after, &minute, note_start.unwrap_or(&note));
        mood::write_aux(transaction.document(MemoryFile::MoodAux)?, &instant, step.healing_count);
        Ok(Reply {
            before: step.before.into(),
            requested: Values { valence: delta_valence, energy: delta_energy },
            applied: step.applied.into(),
            after: step.after.into(),
            clamped: step.clamped,
            g4c_count: step.healing_count,
            g4c_blocked: step.blocked,
            note_cut: note_start.is_some(),
        })
    }
}
