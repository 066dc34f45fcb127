//! Files that are mounted by themselves, as containers do it: no rename can replace them, so they are written over where
//! they stand, and a stop or a power cut may come in the middle of that.

use crate::{
    attack::{
        CALL, Choice, FIRST_BOOT, LAST_BOOT, NEXT, NEXT_BOOT, Tally, call_and_worry, can_mount, laid_out, next_worry,
        run,
    },
    disk_model::{Disk, Step},
    power_cuts::cuts_during,
    samples::{Sample, writers},
};

/// Every file that a sample may change.
pub(crate) const MOUNTED: [&str; 4] =
    ["memory/events.md", "memory/MEMORY.md", "memory/unresolved.md", "memory/mood_state.md"];

/// The samples whose workspace has these files.
pub(crate) fn samples_with(files: &[&str]) -> Vec<Sample> {
    writers().into_iter().filter(|sample| files.iter().all(|file| sample.files().contains_key(*file))).collect()
}

#[test]
fn a_stop_while_a_mounted_file_is_written_over_leaves_all_or_nothing() {
    if !can_mount() {
        return;
    }
    let mut tally = Tally::default();
    let mut choice = Choice::among("a stop over a mounted file");
    for sample in samples_with(&MOUNTED) {
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
    for sample in samples_with(&MOUNTED) {
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
