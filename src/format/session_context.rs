//! `sessions/**/SESSION_CONTEXT.md`: which chat a workspace belongs to. Read only.

use super::markdown;

/// What a session's context says.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SessionContext {
    /// The workspace, if it is named.
    pub workspace: Option<String>,
    /// The chat's key; empty for tasks of the system.
    pub channel_key: String,
    /// The database with its messages.
    pub db_path: Option<String>,
}

/// Reads a session's context.
#[must_use]
pub fn parse(text: &str) -> SessionContext {
    let mut context = SessionContext::default();
    for line in markdown::lines(text) {
        let Some((name, value)) = line.bullet().and_then(|bullet| bullet.split_once([':', '：'])) else { continue };
        let value = value.trim().trim_matches('`').to_owned();
        match name.trim_matches(['*', ' ']).to_ascii_lowercase().as_str() {
            "workspace" if !value.is_empty() => context.workspace = Some(value),
            "channel key" => context.channel_key = value,
            "db path" if !value.is_empty() => context.db_path = Some(value),
            _ => {}
        }
    }
    context
}
