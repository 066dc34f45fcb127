//! What the areas share: a workspace, the two doors to the program, other programs, and the clock.

mod answer;
pub(crate) mod chat;
pub(crate) mod clock;
mod dice;
mod outside;
mod server;
mod two_years;
mod workspace;

pub(crate) use answer::{Answer, Refusal};
pub(crate) use dice::Dice;
pub(crate) use outside::{OutsideLock, bash, missing};
pub(crate) use server::{ANSWER_DEADLINE, Server};
pub(crate) use two_years::TwoYears;
pub(crate) use workspace::{Outcome, Workspace, ZONE, both_doors, program};

/// An index with one block, as `memory/MEMORY.md` usually looks; `items` stands where the program keeps its items.
pub(crate) fn index_with(items: &str) -> String {
    format!(
        "# 记忆索引\n\n```yaml\ninitialization_status: done   # pending / phase1_done / phase2_done / done\n```\n\n\
         ## 最近未解决事项（Top 3）\n\n> 每次写入后自动刷新。\n\n{items}\n\n---\n\n## 其他\n\n手写的一行。\n"
    )
}

/// The numbers of the headings `### [E…]` in file order, sentinels left out; panics where one is no number.
pub(crate) fn event_numbers(events: &str) -> Vec<u32> {
    events
        .lines()
        .filter_map(|line| line.strip_prefix("### [E"))
        .map(|rest| rest.split(']').next().unwrap().parse().unwrap())
        .filter(|number| *number != 0)
        .collect()
}
