//! `distill_abort`: a distillation that is given up.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Beside, Context, Effect, Operation, Tool, distillation};
use crate::{error::Result, workspace::Workspace};

pub(super) static TOOL: Tool = Tool::besides::<DistillAbort>();

struct DistillAbort;

/// Gives a distillation up. Nothing is written; its messages are handed out again.
#[derive(Deserialize, JsonSchema)]
pub(super) struct Params {
    /// What distill_begin answered.
    token: String,
}

#[derive(Serialize, JsonSchema)]
pub(super) struct Reply {}

impl Operation for DistillAbort {
    const NAME: &'static str = "distill_abort";
    const TITLE: &'static str = "Abort a distillation";
    const EFFECT: Effect = Effect::AddsOnce;
    type Params = Params;
    type Reply = Reply;
}

impl Beside for DistillAbort {
    fn run(params: Params, context: &Context) -> Result<(Reply, Vec<String>)> {
        let workspace = Workspace::find(&context.location)?;
        distillation::lease_of(&workspace, params.token.trim(), &context.clock.now())?;
        workspace.remove_lease()?;
        context.distillation.release();
        Ok((Reply {}, Vec::new()))
    }
}
