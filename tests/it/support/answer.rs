//! What a call answers, the same for both doors.

use serde_json::Value;

/// The result of a call, or what it was refused with.
pub(crate) type Answer = Result<Value, Refusal>;

/// The two lines of an error.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) code: String,
    pub(crate) message: String,
    pub(crate) hint: String,
}

const CODES: [&str; 15] = [
    "invalid_argument",
    "unknown_argument",
    "missing_argument",
    "not_found",
    "ambiguous",
    "section_full",
    "core_conflict",
    "lock_timeout",
    "changed_meanwhile",
    "unreadable",
    "damaged",
    "no_workspace",
    "token_invalid",
    "io",
    "internal",
];

impl Refusal {
    /// Reads the two lines; anything else is a broken contract and stops the test.
    pub(crate) fn parse(text: &str) -> Self {
        let lines: Vec<&str> = text.trim_end_matches('\n').lines().collect();
        assert_eq!(lines.len(), 2, "an error is two lines, this is: {text:?}");
        let (code, message) = lines[0].split_once(": ").unwrap_or_else(|| panic!("no code in {text:?}"));
        assert!(CODES.contains(&code), "`{code}` is no code of the contract: {text:?}");
        let hint = lines[1].strip_prefix("hint: ").unwrap_or_else(|| panic!("no hint in {text:?}"));
        assert!(!message.trim().is_empty() && !hint.trim().is_empty(), "an empty line in {text:?}");
        Self { code: code.to_owned(), message: message.to_owned(), hint: hint.to_owned() }
    }

    /// Reads the answer to `tools/call`: a protocol error stops the test, a result must be the same in both its forms.
    pub(crate) fn or_result(message: &Value) -> Answer {
        let result = message.get("result").unwrap_or_else(|| panic!("a protocol error: {message}"));
        let blocks = result["content"].as_array().unwrap_or_else(|| panic!("no content: {message}"));
        assert_eq!(blocks.len(), 1, "one text block: {message}");
        let text = blocks[0]["text"].as_str().unwrap_or_else(|| panic!("no text: {message}"));
        if result["isError"] == Value::Bool(true) {
            // A client that checks structured content against the output schema would throw the error away.
            assert!(result.get("structuredContent").is_none(), "an error is text only: {message}");
            return Err(Self::parse(text));
        }
        let from_text: Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e} in {text:?}"));
        assert_eq!(result["structuredContent"], from_text, "the structured result is the text's JSON");
        Ok(from_text)
    }
}
