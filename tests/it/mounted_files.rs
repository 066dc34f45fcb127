//! Files that are mounted by themselves, as containers do it: no rename can replace them, so they are written over where
//! they stand, and a stop or a power cut may come in the middle of that.

use crate::{
    attack::{
        CALL, Choice, FIRST_BOOT, LAST_BOOT, NEXT, NEXT_BOOT, Tally, call_and_worry, can_mount, laid_out, look,
        next_worry, run,
    },
    disk_model::{Disk, Step},
    power_cuts::cuts_during,
    samples::{Sample, writers},
};

/// Every file that a sample may change.
const MOUNTED: [&str; 4] = ["memory/events.md", "memory/MEMORY.md", "memory/unresolved.md", "memory/mood_state.md"];

fn samples() -> Vec<Sample> {
    let starts = ["lived_in", "crlf", "broken_bytes", "large"];
    writers().into_iter().filter(|sample| starts.contains(&sample.start)).collect()
}

#[test]
fn a_stop_while_a_mounted_file_is_written_over_leaves_all_or_nothing() {
    if !can_mount() {
        return;
    }
    let mut tally = Tally::default();
    let mut choice = Choice::among("a stop over a mounted file");
    for sample in samples() {
        let outcomes = call_and_worry(&sample);
        let ran = run(&laid_out(sample.files()), &sample.call).with_mounted(&MOUNTED).traced().undisturbed();
        let steps = ran.steps.iter().filter(|step| step.is_made()).zip(1..);
        let stops = steps.map(|(step, number)| match step {
            Step::Write { .. } => format!("tear:{number}"),
            _ => format!("stop:{number}"),
        });
        for stop in stops {
            if !choice.one_in(5, 1) {
                continue;
            }
            for boot in choice.some_of(vec![FIRST_BOOT, NEXT_BOOT]) {
                tally.attempt(&format!("{}, mounted, {stop}, then a worry in boot `{boot}`", sample.name()), || {
                    let workspace = laid_out(sample.files());
                    let stopped = run(&workspace, &sample.call).with_mounted(&MOUNTED).with_fault(&stop).now();
                    run(&workspace, &next_worry()).with_mounted(&MOUNTED).in_boot(boot).succeeds()?;
                    outcomes.check(&workspace, stopped.answered(CALL) | NEXT)
                });
            }
        }
    }
    tally.end("crash points over mounted files");
}

#[test]
fn a_power_cut_while_a_mounted_file_is_written_over_loses_nothing_that_was_answered() {
    if !can_mount() {
        return;
    }
    let mut tally = Tally::default();
    let mut choice = Choice::among("a power cut over a mounted file");
    for sample in samples() {
        let outcomes = call_and_worry(&sample);
        let ran = run(&laid_out(sample.files()), &sample.call).with_mounted(&MOUNTED).traced().undisturbed();
        for (answered, image) in cuts_during(&mut Disk::of(sample.files()), &ran, 0, CALL, &mut choice, (100, 3)) {
            tally.attempt(&format!("{}, mounted, a cut, then a worry", sample.name()), || {
                let workspace = laid_out(&image);
                run(&workspace, &next_worry()).with_mounted(&MOUNTED).in_boot(LAST_BOOT).succeeds()?;
                outcomes.check(&workspace, answered | NEXT)
            });
        }
    }
    tally.end("power-cut images over mounted files");
}

/// What may befall a call's `step`-th step: the program stops there, or the step fails, alone or with all that follow.
fn mishaps(step: usize) -> [String; 5] {
    [
        format!("stop:{step}"),
        format!("tear:{step}"),
        format!("short:{step}"),
        format!("eio:{step}"),
        format!("short:{step}-"),
    ]
}

#[test]
fn a_second_mishap_over_a_mounted_file_leaves_all_or_nothing() {
    if !can_mount() {
        return;
    }
    let mut tally = Tally::default();
    let mut choice = Choice::among("a second mishap over a mounted file");
    for sample in samples() {
        let outcomes = call_and_worry(&sample);
        let ran = run(&laid_out(sample.files()), &sample.call).with_mounted(&MOUNTED).traced().undisturbed();
        let count = ran.steps.iter().filter(|step| step.is_made()).count();
        for first in (1..=count).flat_map(mishaps) {
            // A recovery takes about as many steps as the call.
            for second in (1..=count).flat_map(mishaps) {
                if !choice.one_in(3_000, 40) {
                    continue;
                }
                let boot = choice.some_of(vec![FIRST_BOOT, NEXT_BOOT])[0];
                tally.attempt(&format!("{}, mounted, {first}, then {second} in boot `{boot}`", sample.name()), || {
                    let workspace = laid_out(sample.files());
                    let (next, look) = (next_worry(), look());
                    let mounted = |call| run(&workspace, call).with_mounted(&MOUNTED);
                    let answered = mounted(&sample.call).with_fault(&first).now().answered(CALL);
                    let answered = answered | mounted(&next).in_boot(boot).with_fault(&second).now().answered(NEXT);
                    mounted(&look).in_boot(boot).succeeds()?;
                    outcomes.check(&workspace, answered)
                });
            }
        }
    }
    tally.end("two mishaps over mounted files");
}

#[test]
fn a_power_cut_after_a_mishap_over_a_mounted_file_loses_nothing_that_was_answered() {
    if !can_mount() {
        return;
    }
    let mut tally = Tally::default();
    let mut choice = Choice::among("a power cut after a mishap over a mounted file");
    for sample in samples() {
        let outcomes = call_and_worry(&sample);
        let ran = run(&laid_out(sample.files()), &sample.call).with_mounted(&MOUNTED).traced().undisturbed();
        let count = ran.steps.iter().filter(|step| step.is_made()).count();
        for first in (1..=count).flat_map(mishaps) {
            if !choice.one_in(40, 2) {
                continue;
            }
            let workspace = laid_out(sample.files());
            let mut disk = Disk::of(sample.files());
            let next = next_worry();
            let mounted = |call| run(&workspace, call).with_mounted(&MOUNTED).traced();
            let call = mounted(&sample.call).with_fault(&first).now();
            call.steps.iter().for_each(|step| disk.make(step));
            let next = mounted(&next).undisturbed();
            for (answered, image) in cuts_during(&mut disk, &next, call.answered(CALL), NEXT, &mut choice, (200, 60)) {
                tally.attempt(&format!("{}, mounted, {first}, then a cut in a worry", sample.name()), || {
                    let workspace = laid_out(&image);
                    run(&workspace, &look()).with_mounted(&MOUNTED).in_boot(LAST_BOOT).succeeds()?;
                    outcomes.check(&workspace, answered)
                });
            }
        }
    }
    tally.end("power-cut images after a mishap over mounted files");
}
