//! The power goes at any moment, and with it whatever was not synced, in any mix that a file system may leave. Recovery in
//! the next boot finds every answered call whole, and no other half done.
//!
//! What the cut leaves is worked out from the program's own trace of its steps.

use crate::{
    attack::{
        CALL, Call, Choice, FIRST_BOOT, LAST_BOOT, NEXT, NEXT_BOOT, Outcomes, Ran, Tally, call_and_worry, files_of,
        laid_out, look, next_worry, only_memory, run, stops,
    },
    disk_model::{Disk, Step},
    samples::writers,
    starts::Files,
};
use std::collections::BTreeSet;

/// What a cut left, and the calls that were answered before it.
pub(crate) type Left = (usize, Files);

/// What cuts during one call leave, one in `times` of them, in the long form one in `long`; the disk is then as the call left it.
pub(crate) fn cuts_during(
    disk: &mut Disk,
    ran: &Ran,
    mut answered: usize,
    this: usize,
    choice: &mut Choice,
    (times, long): (u64, u64),
) -> BTreeSet<Left> {
    let mut left = BTreeSet::new();
    for step in &ran.steps {
        if matches!(step, Step::Answer) {
            answered |= this;
        }
        disk.make(step);
        let random = choice.few_or_many(2, 20);
        for cut in disk.cuts(random, choice.dice()) {
            if choice.one_in(times, long) {
                left.insert((answered, disk.after(&cut)));
            }
        }
    }
    left
}

/// Recovers from one cut by a write or a read, in the boot that follows.
fn check((answered, image): &Left, outcomes: &Outcomes, next: &Call) -> Result<(), String> {
    let workspace = laid_out(image);
    let is_write = next.tool == next_worry().tool;
    let recovered = run(&workspace, next).in_boot(LAST_BOOT).succeeds();
    let checked = recovered.and_then(|_| outcomes.check(&workspace, answered | if is_write { NEXT } else { 0 }));
    checked.map_err(|failure| format!("{failure}\n  image: {}", told(image)))
}

/// What there is after a cut: names, lengths, and what a file begins with.
fn told(image: &Files) -> String {
    let of = |(name, bytes): (&String, &Vec<u8>)| {
        let start: String = String::from_utf8_lossy(bytes).chars().take(12).collect();
        format!("{name} ({} bytes: {start:?}…)", bytes.len())
    };
    image.iter().map(of).collect::<Vec<_>>().join(", ")
}

#[test]
fn a_power_cut_loses_nothing_that_was_answered_and_leaves_nothing_half_done() {
    let mut tally = Tally::default();
    let mut choice = Choice::among("a power cut");
    for sample in writers() {
        let outcomes = call_and_worry(&sample);
        let ran = run(&laid_out(sample.files()), &sample.call).traced().undisturbed();
        for left in cuts_during(&mut Disk::of(sample.files()), &ran, 0, CALL, &mut choice, (30, 1)) {
            for next in choice.some_of(vec![look(), next_worry()]) {
                tally.attempt(&format!("{}, a cut, then {}", sample.name(), next.tool), || {
                    check(&left, &outcomes, &next)
                });
            }
        }
    }
    tally.end("power-cut images");
}

#[test]
fn a_power_cut_after_a_stop_and_a_further_call_loses_neither() {
    let mut tally = Tally::default();
    let mut choice = Choice::among("a power cut after a stop");
    for sample in writers() {
        let outcomes = call_and_worry(&sample);
        for stop in stops(&sample) {
            if !choice.one_in(4, 1) {
                continue;
            }
            let workspace = laid_out(sample.files());
            let mut disk = Disk::of(sample.files());
            let first = run(&workspace, &sample.call).with_fault(&stop).traced().now();
            first.steps.iter().for_each(|step| disk.make(step));
            let second = run(&workspace, &next_worry()).in_boot(FIRST_BOOT).traced().undisturbed();
            for left in cuts_during(&mut disk, &second, first.answered(CALL), NEXT, &mut choice, (400, 60)) {
                let context = format!("{}, {stop}, then a worry and a cut", sample.name());
                tally.attempt(&context, || check(&left, &outcomes, &look()));
            }
        }
    }
    tally.end("power-cut images after a stop and a further call");
}

#[test]
fn a_second_power_cut_during_the_recovery_changes_nothing_of_that() {
    let mut tally = Tally::default();
    let mut choice = Choice::among("a second power cut");
    for sample in writers() {
        let outcomes = call_and_worry(&sample);
        let ran = run(&laid_out(sample.files()), &sample.call).traced().undisturbed();
        for (answered, image) in cuts_during(&mut Disk::of(sample.files()), &ran, 0, CALL, &mut choice, (150, 20)) {
            let recovery = run(&laid_out(&image), &next_worry()).in_boot(NEXT_BOOT).traced().undisturbed();
            for left in cuts_during(&mut Disk::of(&image), &recovery, answered, NEXT, &mut choice, (400, 60)) {
                let context = format!("{}, a cut, then a cut in a worry", sample.name());
                tally.attempt(&context, || check(&left, &outcomes, &look()));
            }
        }
    }
    tally.end("power-cut images during a recovery");
}

#[test]
fn the_trace_that_the_cuts_are_made_from_leads_to_what_the_call_left() {
    let mut choice = Choice::among("nothing");
    for sample in writers() {
        let workspace = laid_out(sample.files());
        let ran = run(&workspace, &sample.call).traced().undisturbed();
        let mut disk = Disk::of(sample.files());
        ran.steps.iter().for_each(|step| disk.make(step));
        // All of it is safe by now, so there is one end only.
        let cuts = disk.cuts(10, choice.dice());
        let left: BTreeSet<_> = cuts.iter().map(|cut| only_memory(disk.after(cut))).collect();
        assert_eq!(left, BTreeSet::from([files_of(workspace.root())]), "{}", sample.name());
    }
}
