//! A small chat, as another program would keep it: what the demo distills.

use std::path::Path;

use jiff::SignedDuration;
use rusqlite::Connection;

use super::Unavailable;
use crate::clock::Moment;

const TABLES: &str = "CREATE TABLE sessions (id TEXT PRIMARY KEY, channel_key TEXT NOT NULL);
    CREATE TABLE messages (id TEXT PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, created_at TEXT);";

/// Makes a database with one channel and these messages (role and content), one a minute up to now.
///
/// # Errors
///
/// If it cannot be made.
pub fn make(path: &Path, channel: &str, messages: &[(&str, &str)], now: &Moment) -> Result<(), Unavailable> {
    let connection = Connection::open(path)?;
    connection.execute_batch(TABLES)?;
    connection.execute("INSERT INTO sessions VALUES ('s1', ?1)", [channel])?;
    for (number, (role, content)) in messages.iter().enumerate() {
        let minutes = i64::try_from(messages.len() - number).unwrap_or(0);
        let at = now.timestamp().checked_sub(SignedDuration::from_mins(minutes)).unwrap_or(now.timestamp());
        let row = (format!("m{number}"), role, content, now.at(at).exact());
        connection.execute("INSERT INTO messages VALUES (?1, 's1', ?2, ?3, ?4)", row)?;
    }
    Ok(())
}
