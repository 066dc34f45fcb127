//! Black-box tests: the real binary, over the command line and over stdio, against files as other programs leave them.
//!
//! Each file is one area of the contract; `support` is what they share. Expected texts are written out here,
//! never produced by the code under test.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::print_stderr,
    clippy::disallowed_methods,
    clippy::disallowed_types,
    clippy::needless_pass_by_value,
    clippy::format_collect,
    clippy::float_cmp,
    reason = "a test stops at the first surprise and may touch the disk, the clock and the environment; numbers are compared as exactly as they are printed"
)]

mod abuse;
mod attack;
mod command_line;
mod concurrency;
mod conversations;
mod crash;
mod crash_points;
mod disk_model;
mod distill;
mod distill_database;
mod distill_locks;
mod distill_messages;
mod distill_state;
mod doctor;
mod durability;
mod event_changes;
mod events;
mod failing_disks;
mod foreign_files;
mod foreign_hands;
mod forging;
mod golden;
mod index_block;
mod killer;
mod leniency;
mod lock;
mod looking;
mod mishaps;
mod mood;
mod mounted_files;
mod pending;
mod persona;
mod places;
mod power_cuts;
mod profile;
mod profile_files;
mod profile_tiers;
mod protocol;
mod random_calls;
mod read_memory;
mod readme;
mod recovery;
mod recovery_torn;
#[path = "../reference/mod.rs"]
mod reference;
mod resources;
mod samples;
mod schemas;
mod starts;
mod support;
mod unresolved;
mod worries;
