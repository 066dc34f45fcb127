//! Two mishaps in a row, each a stop or a failing step, and power cuts after one: over plain files, and over files that
//! are mounted by themselves.

use crate::{
    attack::{
        CALL, Choice, FIRST_BOOT, LAST_BOOT, NEXT, NEXT_BOOT, Tally, call_and_worry, can_mount, count_steps, laid_out,
        look, next_worry, run,
    },
    disk_model::Disk,
    mounted_files::{MOUNTED, samples_with},
    power_cuts::cuts_during,
};

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

fn two_mishaps_leave_all_or_nothing(mounted: &[&str], what: &str) {
    let mut tally = Tally::default();
    let mut choice = Choice::among(what);
    for sample in samples_with(mounted) {
        let outcomes = call_and_worry(&sample);
        let count = count_steps(sample.files(), &sample.call, mounted);
        for first in (1..=count).flat_map(mishaps) {
            // A recovery takes about as many steps as the call.
            for second in (1..=count).flat_map(mishaps) {
                if !choice.one_in(4_000, 250) {
                    continue;
                }
                let boot = choice.some_of(vec![FIRST_BOOT, NEXT_BOOT])[0];
                tally.attempt(&format!("{}, {first}, then {second} in boot `{boot}`", sample.name()), || {
                    let workspace = laid_out(sample.files());
                    let (next, look) = (next_worry(), look());
                    let run = |call| run(&workspace, call).with_mounted(mounted);
                    let answered = run(&sample.call).with_fault(&first).now().answered(CALL);
                    let answered = answered | run(&next).in_boot(boot).with_fault(&second).now().answered(NEXT);
                    run(&look).in_boot(boot).succeeds()?;
                    outcomes.check(&workspace, answered)
                });
            }
        }
    }
    tally.end(what);
}

fn a_cut_after_a_mishap_loses_nothing_that_was_answered(mounted: &[&str], what: &str) {
    let mut tally = Tally::default();
    let mut choice = Choice::among(what);
    for sample in samples_with(mounted) {
        let outcomes = call_and_worry(&sample);
        let count = count_steps(sample.files(), &sample.call, mounted);
        for first in (1..=count).flat_map(mishaps) {
            if !choice.one_in(80, 12) {
                continue;
            }
            let workspace = laid_out(sample.files());
            let mut disk = Disk::of(sample.files());
            let call = run(&workspace, &sample.call).with_mounted(mounted).with_fault(&first).traced().now();
            call.steps.iter().for_each(|step| disk.make(step));
            let next = run(&workspace, &next_worry()).with_mounted(mounted).traced().undisturbed();
            for (answered, image) in cuts_during(&mut disk, &next, call.answered(CALL), NEXT, &mut choice, (300, 60)) {
                tally.attempt(&format!("{}, {first}, then a cut in a worry", sample.name()), || {
                    let workspace = laid_out(&image);
                    run(&workspace, &look()).with_mounted(mounted).in_boot(LAST_BOOT).succeeds()?;
                    outcomes.check(&workspace, answered)
                });
            }
        }
    }
    tally.end(what);
}

#[test]
fn two_mishaps_leave_all_or_nothing_of_plain_files() {
    two_mishaps_leave_all_or_nothing(&[], "two mishaps");
}

#[test]
fn two_mishaps_leave_all_or_nothing_of_mounted_files() {
    if can_mount() {
        two_mishaps_leave_all_or_nothing(&MOUNTED, "two mishaps over mounted files");
    }
}

#[test]
fn a_power_cut_after_a_mishap_loses_nothing_of_plain_files() {
    a_cut_after_a_mishap_loses_nothing_that_was_answered(&[], "power-cut images after a mishap");
}

#[test]
fn a_power_cut_after_a_mishap_loses_nothing_of_mounted_files() {
    if can_mount() {
        a_cut_after_a_mishap_loses_nothing_that_was_answered(
            &MOUNTED,
            "power-cut images after a mishap over mounted files",
        );
    }
}
