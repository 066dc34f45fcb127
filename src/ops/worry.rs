//! What the calls on one worry share: finding it.

use crate::{
    error::{Error, Result},
    format::{
        id,
        text::{enumerate, quote, shorten},
        unresolved::{self, Worry},
    },
};

/// The letter and the number of an id such as `U001`.
pub(super) fn parse_id(place: &str, raw: &str) -> Result<(char, u64)> {
    let letter = if raw.contains(['M', 'm']) { 'M' } else { 'U' };
    match super::id_number(place, letter, raw) {
        Ok(number) => Ok((letter, number)),
        Err(_) => Err(Error::invalid(place, format!("`{}`", shorten(raw)), "an id such as `U001` or `M001`")),
    }
}

/// The one active worry of this id.
pub(super) fn active(text: &str, (letter, number): (char, u64)) -> Result<Worry> {
    let worries = unresolved::parse(text);
    let what = || format!("active worry `{}`", id(letter, number));
    let mut found: Vec<_> = worries
        .iter()
        .filter(|worry| (worry.letter, worry.number) == (letter, number) && worry.active)
        .cloned()
        .collect();
    if found.len() > 1 {
        let places: Vec<_> = found.iter().map(|worry| format!("line {} of `unresolved.md`", worry.line)).collect();
        return Err(Error::Ambiguous { what: what(), count: found.len(), places: enumerate(&places, ", ") });
    }
    found.pop().ok_or_else(|| {
        let active: Vec<_> = worries.iter().filter(|worry| worry.active).map(Worry::id).collect();
        let expected =
            if active.is_empty() { "one, but none is active".to_owned() } else { format!("one of {}", quote(&active)) };
        Error::NotFound { what: what(), expected }
    })
}
