//! The program stops before any one of its steps to the disk. Whoever calls next finds all of the change or nothing of
//! it, and all of it where it was answered.

use crate::{
    attack::{
        Act, CALL, Choice, FIRST_BOOT, NEXT, NEXT_BOOT, Numbers, Outcomes, Tally, bash_appends, call_and_worry,
        laid_out, look, next_event, next_worry, run, stops,
    },
    samples::writers,
    support::missing,
};

#[test]
fn after_a_stop_the_next_call_finds_all_or_nothing() {
    let mut tally = Tally::default();
    let mut choice = Choice::among("a stop");
    for sample in writers() {
        let outcomes = call_and_worry(&sample);
        let nexts = [(look(), 0), (next_worry(), NEXT)];
        for stop in stops(&sample) {
            if !choice.one_in(2, 1) {
                continue;
            }
            let in_boots = nexts.iter().flat_map(|next| [(next, FIRST_BOOT), (next, NEXT_BOOT)]);
            for ((next, bit), boot) in choice.some_of(in_boots.collect()) {
                tally.attempt(&format!("{}, {stop}, then {} in boot `{boot}`", sample.name(), next.tool), || {
                    let workspace = laid_out(sample.files());
                    let stopped = run(&workspace, &sample.call).with_fault(&stop).now();
                    assert_eq!(stopped.status, None, "no step to stop before: {stop}");
                    run(&workspace, next).in_boot(boot).succeeds()?;
                    outcomes.check(&workspace, stopped.answered(CALL) | bit)
                });
            }
        }
    }
    tally.end("crash points");
}

#[test]
fn a_second_stop_during_the_recovery_changes_nothing_of_that() {
    let mut tally = Tally::default();
    let mut choice = Choice::among("a second stop");
    for sample in writers() {
        let next = next_worry();
        let outcomes = call_and_worry(&sample);
        for stop in stops(&sample) {
            if !choice.one_in(5, 1) {
                continue;
            }
            let mut is_stopped = true;
            for second in (1..).flat_map(|step| [format!("stop:{step}"), format!("tear:{step}")]) {
                if !choice.one_in(40, 10) {
                    continue;
                }
                let boot = choice.some_of(vec![FIRST_BOOT, NEXT_BOOT])[0];
                tally.attempt(&format!("{}, {stop}, then {second} in boot `{boot}`", sample.name()), || {
                    let workspace = laid_out(sample.files());
                    let first = run(&workspace, &sample.call).with_fault(&stop).now();
                    let second = run(&workspace, &next).with_fault(&second).in_boot(boot).now();
                    is_stopped = second.status.is_none();
                    run(&workspace, &look()).in_boot(boot).succeeds()?;
                    outcomes.check(&workspace, first.answered(CALL) | second.answered(NEXT))
                });
                // Beyond its last step nothing stops it any more.
                if !is_stopped {
                    break;
                }
            }
        }
    }
    tally.end("crash points with a second one in the recovery");
}

/// The acts of the next scenario behind the sample's call.
const BASH: usize = 0b10;
const EVENT: usize = 0b100;

#[test]
fn a_bash_procedure_between_the_stop_and_the_recovery_loses_nothing_and_nothing_is_lost_to_it() {
    if missing(&["bash", "flock", "grep"]) {
        return;
    }
    let mut tally = Tally::default();
    let mut choice = Choice::among("a bash procedure");
    for sample in writers() {
        let next = next_event();
        let acts = [Act::Call(sample.call.clone()), Act::Bash, Act::Call(next.clone())];
        let outcomes = Outcomes::of(sample.files(), &acts, Numbers::AreTheirOwn);
        for stop in stops(&sample) {
            if !choice.one_in(3, 1) {
                continue;
            }
            for boot in choice.some_of(vec![FIRST_BOOT, NEXT_BOOT]) {
                tally.attempt(&format!("{}, {stop}, then bash, then an event in boot `{boot}`", sample.name()), || {
                    let workspace = laid_out(sample.files());
                    let stopped = run(&workspace, &sample.call).with_fault(&stop).now();
                    bash_appends(&workspace);
                    run(&workspace, &next).in_boot(boot).succeeds()?;
                    outcomes.check(&workspace, stopped.answered(CALL) | BASH | EVENT)
                });
            }
        }
    }
    tally.end("crash points with another writer before the recovery");
}
