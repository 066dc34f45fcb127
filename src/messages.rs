//! The chat's messages, in the SQLite database of another program. The only code that touches it:
//! read only, rows copied out, everything closed before anything is answered.

pub mod sample;

use std::{
    fmt::Write as _,
    fs::File,
    io::Read as _,
    path::{Path, PathBuf},
    time::Duration,
};

use jiff::Timestamp;
use rusqlite::{Connection, OpenFlags, Row, types::ValueRef};

use crate::clock::Moment;

/// How long to wait for the program that writes.
const BUSY_TIMEOUT: Duration = Duration::from_secs(2);
/// How long a message's text may be, in characters; a longer one is cut.
const CONTENT_LIMIT: usize = 4_000;
/// How large the messages of a page may be together as JSON, in bytes.
const PAGE_BYTES: usize = 20_000;

/// What a message takes as JSON beside its texts, in bytes.
const FRAME: usize = 90;

/// Every message of the channel behind a row, in row order: SQLite commits in that order.
const BEHIND: &str = "SELECT m.rowid, m.id, m.role, m.content, m.created_at \
    FROM messages m JOIN sessions s ON m.session_id = s.id \
    WHERE s.channel_key = ?1 COLLATE BINARY AND m.content IS NOT NULL AND m.content != '' AND m.rowid > ?2 \
    ORDER BY m.rowid";

const ROW_OF: &str = "SELECT m.rowid FROM messages m JOIN sessions s ON m.session_id = s.id \
    WHERE s.channel_key = ?1 COLLATE BINARY AND (m.id = ?2 OR m.id = CAST(?2 AS INTEGER)) AND CAST(m.id AS TEXT) = ?2 \
    LIMIT 1";

const BY_USER: &str = "SELECT m.rowid, m.id, m.role, m.content, m.created_at \
    FROM messages m JOIN sessions s ON m.session_id = s.id \
    WHERE s.channel_key = ?1 COLLATE BINARY AND m.role = 'user' AND m.content IS NOT NULL AND m.content != '' \
    ORDER BY m.rowid DESC";

/// The database cannot be read now; why, for the log.
#[derive(Debug, thiserror::Error)]
#[error("the chat's database cannot be read: {0}")]
pub struct Unavailable(#[from] rusqlite::Error);

/// A message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its id, as text.
    pub id: String,
    /// Its row.
    pub row: i64,
    /// Who spoke.
    pub role: String,
    /// What was said, cut if it is very long.
    pub content: String,
    /// When.
    pub at: Timestamp,
}

impl Message {
    /// About how many bytes it takes as JSON.
    fn json_len(&self) -> usize {
        let content = serde_json::to_string(&self.content).map_or(0, |json| json.len());
        content + self.id.len() + self.role.len() + FRAME
    }
}

/// Which messages are new.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Since {
    /// Those behind a row, without the message of this id.
    Row(i64, String),
    /// Those strictly after an instant.
    Instant(Timestamp),
}

/// New messages, as many as fit a page.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Page {
    /// In the order of their instants.
    pub messages: Vec<Message>,
    /// The id and the row of the last message that was examined, readable or not.
    pub last: Option<(String, i64)>,
    /// How many had no readable time.
    pub unreadable: usize,
    /// Whether there are more.
    pub has_more: bool,
}

/// The chat of one channel.
#[derive(Debug)]
pub struct Chat<'c> {
    connection: Connection,
    channel: &'c str,
    now: &'c Moment,
}

/// Opens the database, reads what is asked for, and closes it. A file that is not there is not made.
///
/// # Errors
///
/// If it cannot be read.
pub fn read<T>(
    path: &Path,
    channel: &str,
    now: &Moment,
    look: impl Fn(&Chat<'_>) -> Result<T, Unavailable>,
) -> Result<T, Unavailable> {
    let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    // Without a log, nobody has a database in WAL mode open, and it can be read as it is: SQLite would
    // leave a log behind, and cannot make one where we may not write.
    if is_in_wal_mode(&path) && !has_log(&path) {
        let found = look(&Chat { connection: connect(&path, true)?, channel, now });
        if !has_log(&path) {
            return found;
        }
    }
    let connection = connect(&path, false)?;
    // All that is read is of one moment.
    connection.execute_batch("BEGIN DEFERRED")?;
    look(&Chat { connection, channel, now })
}

impl Chat<'_> {
    /// The row in which a message stands now, if it is still there.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn row_of(&self, message_id: &str) -> Result<Option<i64>, Unavailable> {
        let mut statement = self.connection.prepare(ROW_OF)?;
        let mut rows = statement.query((self.channel, message_id))?;
        Ok(rows.next()?.map(|row| row.get(0)).transpose()?)
    }

    /// The new messages, `limit` at most.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn page(&self, since: &Since, limit: usize) -> Result<Page, Unavailable> {
        let (behind, known) = match since {
            Since::Row(row, id) => (*row, id.as_str()),
            Since::Instant(_) => (i64::MIN, ""),
        };
        let mut page = Page::default();
        let mut bytes = 0;
        let mut statement = self.connection.prepare(BEHIND)?;
        let mut rows = statement.query((self.channel, behind))?;
        while let Some(row) = rows.next()? {
            let last = (text(row.get_ref(1)?), row.get(0)?);
            // The one that was examined last may have been written again, behind others.
            if matches!(since, Since::Row(..)) && last.0 == known {
                page.last = Some(last);
                continue;
            }
            let at = self.instant(row.get_ref(4)?);
            let is_new = match (since, at) {
                (Since::Instant(instant), Some(at)) => at > *instant,
                (Since::Row(..), at) => at.is_some(),
                (Since::Instant(_), None) => false,
            };
            if is_new && let Some(message) = message(row, at)? {
                bytes += message.json_len();
                if page.messages.len() >= limit || (bytes > PAGE_BYTES && !page.messages.is_empty()) {
                    page.has_more = true;
                    break;
                }
                page.messages.push(message);
            }
            page.unreadable += usize::from(at.is_none());
            page.last = Some(last);
        }
        page.messages.sort_by_key(|message| (message.at, message.row));
        Ok(page)
    }

    /// What the user said after an instant, the newest first, `limit` messages at most.
    ///
    /// # Errors
    ///
    /// If the database cannot be read.
    pub fn said_by_user(&self, since: Timestamp, limit: usize) -> Result<Vec<Message>, Unavailable> {
        let mut said = Vec::new();
        let mut statement = self.connection.prepare(BY_USER)?;
        let mut rows = statement.query([self.channel])?;
        while said.len() < limit
            && let Some(row) = rows.next()?
        {
            let at = self.instant(row.get_ref(4)?).filter(|at| *at > since);
            said.extend(message(row, at)?);
        }
        Ok(said)
    }

    fn instant(&self, written: ValueRef<'_>) -> Option<Timestamp> {
        match written {
            ValueRef::Integer(seconds) => Timestamp::from_second(seconds).ok(),
            ValueRef::Real(seconds) => self.now.parse_instant(&format!("{seconds:.6}")),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => self.now.parse_instant(std::str::from_utf8(bytes).ok()?),
            ValueRef::Null => None,
        }
    }
}

/// A row as a message; `None` without an instant or without anything in it.
fn message(row: &Row<'_>, at: Option<Timestamp>) -> rusqlite::Result<Option<Message>> {
    let content = text(row.get_ref(3)?);
    let Some(at) = at.filter(|_| !content.is_empty()) else { return Ok(None) };
    Ok(Some(Message {
        id: text(row.get_ref(1)?),
        row: row.get(0)?,
        role: text(row.get_ref(2)?),
        content: cut(content),
        at,
    }))
}

/// A value as text; what is none becomes replacement characters.
fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Null => String::new(),
        ValueRef::Integer(number) => number.to_string(),
        ValueRef::Real(number) => number.to_string(),
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => String::from_utf8_lossy(bytes).replace('\0', "\u{fffd}"),
    }
}

fn cut(content: String) -> String {
    match content.char_indices().nth(CONTENT_LIMIT) {
        Some((end, _)) => {
            let len = content.chars().count();
            format!("{}… (cut, {len} characters)", content.get(..end).unwrap_or(""))
        }
        None => content,
    }
}

fn connect(path: &Path, is_immutable: bool) -> Result<Connection, rusqlite::Error> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
    let mut uri = String::from("file:");
    for byte in std::os::unix::ffi::OsStrExt::as_bytes(path.as_os_str()) {
        match byte {
            b'?' | b'#' | b'%' | 128.. => {
                let _ = write!(uri, "%{byte:02x}");
            }
            byte => uri.push(char::from(*byte)),
        }
    }
    uri.push_str(if is_immutable { "?mode=ro&immutable=1" } else { "?mode=ro" });
    let connection = Connection::open_with_flags(uri, flags)?;
    connection.busy_timeout(BUSY_TIMEOUT)?;
    // Opening reads nothing yet: this does.
    connection.query_row("SELECT count(*) FROM sqlite_schema", [], |_| Ok(()))?;
    Ok(connection)
}

/// Whether the file's header says so.
#[expect(clippy::disallowed_methods, reason = "the database's header says what SQLite would do")]
fn is_in_wal_mode(path: &Path) -> bool {
    let mut header = [0; 20];
    let read = path.is_file() && File::open(path).and_then(|mut file| file.read_exact(&mut header)).is_ok();
    read && header.starts_with(b"SQLite format 3\0") && header.ends_with(&[2, 2])
}

/// Whether a log stands beside the database: another program has it open, or crashed.
fn has_log(path: &Path) -> bool {
    ["-wal", "-journal"].iter().any(|suffix| with_suffix(path, suffix).exists())
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}
