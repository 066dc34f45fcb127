//! How much is under way between the client and the server, so that neither direction grows without
//! bound: while too much is, no more is read.

use std::{
    collections::HashMap,
    sync::{Mutex, MutexGuard, PoisonError},
};

use rmcp::model::RequestId;
use tokio::sync::Notify;

/// How large the requests without an answer may be together, in bytes, each with its line and with
/// the largest answer that it may get.
const REQUEST_BYTES: usize = 32 * 1024 * 1024;
/// The largest answer to a request, in bytes.
const LARGEST_ANSWER: usize = 40 * 1024;
/// What a small answer takes while it waits, in bytes.
const SMALLEST_ANSWER: usize = 256;
/// How large the answers that the client has not read may be together, in bytes.
const ANSWER_BYTES: usize = 8 * 1024 * 1024;

/// What is under way.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    state: Mutex<State>,
    less: Notify,
}

#[derive(Debug, Default)]
struct State {
    /// The requests without an answer, each with its size.
    requests: HashMap<RequestId, usize>,
    request_bytes: usize,
    answer_bytes: usize,
}

impl Traffic {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes a request. Answers `false` if one of this id has no answer yet.
    pub(super) fn begin(&self, id: RequestId, line_len: usize) -> bool {
        let bytes = line_len + LARGEST_ANSWER;
        let mut state = self.state();
        if state.requests.contains_key(&id) {
            return false;
        }
        state.requests.insert(id, bytes);
        state.request_bytes += bytes;
        true
    }

    /// Notes that a request has its answer, or was cancelled.
    pub(super) fn end(&self, id: &RequestId) {
        let mut state = self.state();
        if let Some(bytes) = state.requests.remove(id) {
            state.request_bytes -= bytes;
            self.less.notify_one();
        }
    }

    /// Notes an answer that waits to be written.
    pub(super) fn queue(&self, answer: &[u8]) {
        self.state().answer_bytes += answer.len().max(SMALLEST_ANSWER);
    }

    /// Notes that some of them were written.
    pub(super) fn written(&self, answers: &[Vec<u8>]) {
        let bytes: usize = answers.iter().map(|answer| answer.len().max(SMALLEST_ANSWER)).sum();
        self.state().answer_bytes -= bytes;
        self.less.notify_one();
    }

    fn has_room(&self) -> bool {
        let state = self.state();
        state.request_bytes < REQUEST_BYTES && state.answer_bytes < ANSWER_BYTES
    }

    /// Waits until more may be read.
    pub(super) async fn room(&self) {
        while !self.has_room() {
            self.less.notified().await;
        }
    }
}
