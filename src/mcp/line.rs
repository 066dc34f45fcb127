//! One line of input: a message, or the answer to what is none.

use std::sync::LazyLock;

use regex::bytes::Regex;
use rmcp::model::{ClientJsonRpcMessage, RequestId};
use serde_json::{Value, json};

/// The longest line that is taken, in bytes.
pub(super) const LINE_LIMIT: usize = 4 * 1024 * 1024;

const PARSE_ERROR: i32 = -32_700;
const INVALID_REQUEST: i32 = -32_600;

/// What a line comes to.
pub(super) enum Read {
    Message(Box<ClientJsonRpcMessage>),
    /// The answer to something that is no message.
    Refusal(String),
    /// Nothing: a blank line, or a notification that is not of this protocol.
    Nothing,
}

/// Reads a line, without its ending.
pub(super) fn read(line: &[u8]) -> Read {
    let line = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(line).trim_ascii();
    if line.is_empty() {
        return Read::Nothing;
    }
    let error = match serde_json::from_slice(line) {
        Ok(message) => return Read::Message(Box::new(message)),
        Err(error) => error,
    };
    match serde_json::from_slice::<Value>(line) {
        Ok(Value::Object(object)) if object.contains_key("method") && !object.contains_key("id") => Read::Nothing,
        Ok(value) => Read::Refusal(refusal(
            INVALID_REQUEST,
            "this is no request: expected one JSON-RPC 2.0 object",
            &id_of(&value),
        )),
        Err(_) => {
            Read::Refusal(refusal(PARSE_ERROR, &format!("this line is no JSON: {error}"), &id_despite_errors(line)))
        }
    }
}

/// The answer to a line that is too long, of which the beginning and the end are known.
pub(super) fn too_long(start: &[u8], end: &[u8]) -> String {
    refusal(
        INVALID_REQUEST,
        &format!("this line is too long: expected at most {LINE_LIMIT} bytes"),
        &id_at_the_ends(start, end),
    )
}

/// The id of a request that cannot be read as a whole, if it stands first or last in it.
fn id_at_the_ends(start: &[u8], end: &[u8]) -> Value {
    static FIRST: LazyLock<Option<Regex>> = LazyLock::new(|| {
        Regex::new(r#"^\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?"id"\s*:\s*("[^"\\]*"|-?\d+)\s*,"#).ok()
    });
    static LAST: LazyLock<Option<Regex>> =
        LazyLock::new(|| Regex::new(r#""id"\s*:\s*("[^"\\]*"|-?\d+)\s*\}\s*$"#).ok());
    let found = |regex: &Option<Regex>, text: &[u8]| {
        let id = serde_json::from_slice(regex.as_ref()?.captures(text)?.get(1)?.as_bytes()).ok()?;
        is_id(&id).then_some(id)
    };
    found(&FIRST, start).or_else(|| found(&LAST, end)).unwrap_or(Value::Null)
}

/// The answer to a request whose id another one without an answer has.
pub(super) fn id_in_use(id: &RequestId) -> String {
    // Without that id: it would be taken for the answer to the other one.
    refusal(INVALID_REQUEST, &format!("a request of id `{id}` is still without an answer"), &Value::Null)
}

fn refusal(code: i32, message: &str, id: &Value) -> String {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}}).to_string()
}

fn id_of(value: &Value) -> Value {
    value.get("id").filter(|id| is_id(id)).cloned().unwrap_or(Value::Null)
}

fn is_id(value: &Value) -> bool {
    value.is_string() || value.is_i64() || value.is_u64()
}

/// The id of a request that a strict parser refuses. A lone surrogate and bytes that are no UTF-8 are
/// replaced, only to read it; whatever else is wrong, it may stand first.
fn id_despite_errors(line: &[u8]) -> Value {
    static SURROGATE: LazyLock<Option<Regex>> = LazyLock::new(|| Regex::new(r"\\u[dD][89a-fA-F][0-9a-fA-F]{2}").ok());
    let text = String::from_utf8_lossy(line);
    let Some(surrogate) = SURROGATE.as_ref() else { return Value::Null };
    let mended = surrogate.replace_all(text.as_bytes(), "\u{fffd}".as_bytes());
    let id = serde_json::from_slice(&mended).map_or_else(|_| id_at_the_ends(line, b""), |value| id_of(&value));
    // An id that was mended itself is not the one that was sent.
    if id.as_str().is_some_and(|id| id.contains('\u{fffd}')) { Value::Null } else { id }
}
