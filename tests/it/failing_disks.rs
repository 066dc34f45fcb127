//! The disk is full, or broken, at any one of the program's steps, or from there on. The caller is told `io`, or has its
//! answer already and keeps what it was promised; the files stay whole, and later calls work.

use crate::{
    attack::{
        CALL, Choice, FIRST_BOOT, LAST_BOOT, NEXT, NEXT_BOOT, Ran, Tally, call_and_worry, count_steps, laid_out, look,
        next_worry, run,
    },
    disk_model::{Disk, Step},
    power_cuts::cuts_during,
    samples::{Sample, writers},
    support::Workspace,
};

/// A call with a fault was answered, refused with `io`, or both if its files could not be made safe afterwards.
fn is_honest(ran: &Ran) -> Result<(), String> {
    let code = ran.refusal.as_ref().map(|refusal| refusal.code.as_str());
    match (ran.status, &ran.answer, code) {
        (Some(0), Some(_), None) | (Some(4), _, Some("io")) => Ok(()),
        _ => Err(format!("  neither answered nor `io`: {ran:?}")),
    }
}

#[test]
fn a_step_that_fails_is_told_and_leaves_all_or_nothing() {
    let mut tally = Tally::default();
    let mut choice = Choice::among("a failing step");
    for sample in writers() {
        let outcomes = call_and_worry(&sample);
        for step in 1..=count_steps(sample.files(), &sample.call, &[]) {
            if !choice.one_in(2, 1) {
                continue;
            }
            for fault in choice.some_of(vec!["enospc", "eio", "short"]) {
                tally.attempt(&format!("{}, {fault}:{step}", sample.name()), || {
                    let workspace = laid_out(sample.files());
                    let failed = run(&workspace, &sample.call).with_fault(format!("{fault}:{step}")).now();
                    is_honest(&failed)?;
                    if failed.answer.is_none() {
                        // One failure is taken back at once: whoever reads the files without us finds them whole.
                        outcomes.check(&workspace, 0)?;
                    }
                    run(&workspace, &next_worry()).succeeds()?;
                    outcomes.check(&workspace, failed.answered(CALL) | NEXT)
                });
            }
        }
    }
    tally.end("faults at one step");
}

#[test]
fn a_disk_that_fails_from_some_step_on_is_told_again_and_again_until_it_is_well() {
    let mut tally = Tally::default();
    let mut choice = Choice::among("a failing disk");
    for sample in writers() {
        let outcomes = call_and_worry(&sample);
        for step in 1..=count_steps(sample.files(), &sample.call, &[]) {
            if !choice.one_in(4, 1) {
                continue;
            }
            for fault in choice.some_of(vec!["enospc", "eio", "short"]) {
                let boot = choice.some_of(vec![FIRST_BOOT, NEXT_BOOT])[0];
                tally.attempt(&format!("{}, {fault}:{step}-, then in boot `{boot}`", sample.name()), || {
                    let workspace = laid_out(sample.files());
                    let failed = run(&workspace, &sample.call).with_fault(format!("{fault}:{step}-")).now();
                    is_honest(&failed)?;
                    let again = run(&workspace, &next_worry()).with_fault(format!("{fault}:1-")).in_boot(boot).now();
                    assert_eq!(again.answer, None, "a write on a disk that takes none");
                    is_honest(&again)?;
                    // A read needs no disk that takes writes, though it may show half of a change and say so.
                    run(&workspace, &look()).with_fault(format!("{fault}:1-")).in_boot(boot).succeeds()?;
                    run(&workspace, &next_worry()).in_boot(boot).succeeds()?;
                    outcomes.check(&workspace, failed.answered(CALL) | NEXT)
                });
            }
        }
    }
    tally.end("faults from a step on");
}

/// A call whose `step`-th step failed, with that step put back into its trace where it was a sync.
fn fail_a_sync(workspace: &Workspace, sample: &Sample, step: usize, undisturbed: &[Step]) -> Ran {
    let mut ran = run(workspace, &sample.call).with_fault(format!("eio:{step}")).traced().now();
    let place =
        |steps: &[Step]| steps.iter().enumerate().filter(|(_, step)| step.is_made()).map(|(at, _)| at).nth(step - 1);
    if let Step::Sync { path } = &undisturbed[place(undisturbed).unwrap()] {
        let at = place(&ran.steps).unwrap_or(ran.steps.len());
        ran.steps.insert(at, Step::FailedSync { path: path.clone() });
    }
    ran
}

fn is_sync(step: &Step) -> bool {
    matches!(step, Step::Sync { .. } | Step::SyncFolder { .. })
}

/// The numbers of the steps that are syncs, from 1.
fn syncs(steps: &[Step]) -> Vec<usize> {
    let made = steps.iter().filter(|step| step.is_made());
    made.zip(1..).filter(|(step, _)| is_sync(step)).map(|(_, number)| number).collect()
}

#[test]
fn after_a_failed_sync_nothing_is_taken_for_safe_that_is_not() {
    let mut tally = Tally::default();
    let mut choice = Choice::among("a power cut after a failed sync");
    for sample in writers() {
        let outcomes = call_and_worry(&sample);
        let undisturbed = run(&laid_out(sample.files()), &sample.call).traced().undisturbed().steps;
        for step in syncs(&undisturbed) {
            if !choice.one_in(3, 1) {
                continue;
            }
            let workspace = laid_out(sample.files());
            let mut disk = Disk::of(sample.files());
            let failed = fail_a_sync(&workspace, &sample, step, &undisturbed);
            failed.steps.iter().for_each(|step| disk.make(step));
            let next = run(&workspace, &next_worry()).traced().undisturbed();
            for (answered, image) in cuts_during(&mut disk, &next, failed.answered(CALL), NEXT, &mut choice, (400, 40))
            {
                tally.attempt(&format!("{}, eio:{step}, then a cut in a worry", sample.name()), || {
                    let workspace = laid_out(&image);
                    run(&workspace, &look()).in_boot(LAST_BOOT).succeeds()?;
                    outcomes.check(&workspace, answered)
                });
            }
        }
    }
    tally.end("power-cut images after a failed sync");
}

/// The system takes pages whose sync failed for clean. It may drop them, and what it reads in their place is what the
/// disk has.
#[test]
fn pages_that_are_dropped_after_a_failed_sync_take_no_answered_call_with_them() {
    let mut tally = Tally::default();
    let mut choice = Choice::among("dropped pages");
    for sample in writers() {
        let outcomes = call_and_worry(&sample);
        let undisturbed = run(&laid_out(sample.files()), &sample.call).traced().undisturbed().steps;
        for step in syncs(&undisturbed) {
            if !choice.one_in(3, 1) {
                continue;
            }
            let workspace = laid_out(sample.files());
            let mut disk = Disk::of(sample.files());
            let failed = fail_a_sync(&workspace, &sample, step, &undisturbed);
            failed.steps.iter().for_each(|step| disk.make(step));
            for image in disk.images_without_doomed_pages() {
                tally.attempt(&format!("{}, eio:{step}, then its pages are dropped", sample.name()), || {
                    let workspace = laid_out(&image);
                    run(&workspace, &next_worry()).succeeds()?;
                    outcomes.check(&workspace, failed.answered(CALL) | NEXT)
                });
            }
        }
    }
    tally.end("pages dropped after a failed sync");
}

/// A call was answered, the program killed, and only then the system found that the disk takes no more.
#[test]
fn pages_that_are_dropped_behind_a_killed_program_take_no_answered_call_with_them() {
    let mut tally = Tally::default();
    for sample in writers() {
        let outcomes = call_and_worry(&sample);
        let steps = run(&laid_out(sample.files()), &sample.call).traced().undisturbed().steps;
        let mut disk = Disk::of(sample.files());
        steps.iter().take_while(|step| !matches!(step, Step::Answer)).for_each(|step| disk.make(step));
        for image in disk.images_without_pending_pages() {
            tally.attempt(&format!("{}, killed at its answer, then its pages are dropped", sample.name()), || {
                let workspace = laid_out(&image);
                run(&workspace, &next_worry()).succeeds()?;
                outcomes.check(&workspace, CALL | NEXT)
            });
        }
    }
    tally.end("pages dropped behind a killed program");
}
