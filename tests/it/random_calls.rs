//! Any sequence of calls over both doors answers and leaves what a plain model of the tools says.

use crate::{
    reference::calls::{Call, FIRST_FILES, Model, without_times},
    support::{Answer, Server, Workspace, clock},
};
use jiff::civil::Date;
use proptest::{prelude::*, test_runner::TestRunner};
use std::path::PathBuf;

fn run(calls: &[[u8; 4]], mut ask: impl FnMut(&Workspace, &Call) -> Answer) {
    // What is shown depends on today, and every day of a call on how it was chosen.
    for _ in 0..2 {
        let today: Date = clock::today().parse().unwrap();
        let workspace = FIRST_FILES.iter().fold(Workspace::new(), |workspace, (path, text)| workspace.file(path, text));
        let mut model = Model::new(today);
        let answers: Vec<_> = calls
            .iter()
            .map(|bytes| Call::decode(*bytes, today))
            .map(|call| (ask(&workspace, &call), call, workspace.tree()))
            .collect();
        if clock::today() != today.to_string() {
            continue;
        }
        for (answer, call, tree) in &answers {
            model.expect(call, answer.as_ref().map_err(|refusal| refusal.code.as_str()));
            for (path, expected) in model.files() {
                assert_eq!(without_times(&tree[path]), expected, "`{path}` after {call:?}");
            }
        }
        return;
    }
    panic!("midnight passed twice");
}

/// One server for all calls of a sequence.
#[derive(Default)]
struct OneServer(Option<(PathBuf, Server)>);

impl OneServer {
    fn on(&mut self, workspace: &Workspace) -> &mut Server {
        let root = workspace.root().to_owned();
        let running = self.0.take().filter(|(of, _)| *of == root);
        &mut self.0.insert(running.unwrap_or_else(|| (root, Server::start(workspace)))).1
    }
}

fn config(cases: u32) -> ProptestConfig {
    ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(cases) }
}

#[test]
fn a_server_answers_and_leaves_what_the_model_says() {
    let calls = prop::collection::vec(any::<[u8; 4]>(), 1..60);
    TestRunner::new(config(24))
        .run(&calls, |calls| {
            let mut server = OneServer::default();
            run(&calls, |workspace, call| server.on(workspace).call(call.tool, call.arguments.clone()));
            Ok(())
        })
        .unwrap();
}

#[test]
fn the_command_line_answers_and_leaves_what_the_model_says() {
    let calls = prop::collection::vec(any::<[u8; 4]>(), 1..30);
    TestRunner::new(config(12))
        .run(&calls, |calls| {
            run(&calls, |workspace, call| workspace.call(call.tool, call.arguments.clone()).answer());
            Ok(())
        })
        .unwrap();
}

#[test]
fn calls_through_either_door_in_turn_are_one_sequence() {
    let calls = prop::collection::vec((any::<[u8; 4]>(), any::<bool>()), 1..40);
    TestRunner::new(config(8))
        .run(&calls, |calls| {
            let doors: Vec<bool> = calls.iter().map(|(_, door)| *door).collect();
            let calls: Vec<_> = calls.iter().map(|(call, _)| *call).collect();
            let mut doors = doors.into_iter().cycle();
            let mut server = OneServer::default();
            run(&calls, |workspace, call| match doors.next() {
                Some(true) => server.on(workspace).call(call.tool, call.arguments.clone()),
                _ => workspace.call(call.tool, call.arguments.clone()).answer(),
            });
            Ok(())
        })
        .unwrap();
}
