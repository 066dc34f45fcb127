//! Dates and minutes as the program must see them, and what to do when one of them passes during a test.

use super::ZONE;
use jiff::{Timestamp, ToSpan, ZonedDateTime};

fn now() -> ZonedDateTime {
    Timestamp::now().in_tz(ZONE).unwrap()
}

/// `2026-04-13`
pub(crate) fn today() -> String {
    now().strftime("%Y-%m-%d").to_string()
}

/// `2026-04-13`, so many days after today (or before, if negative).
pub(crate) fn day(offset: i32) -> String {
    (now().date() + offset.days()).to_string()
}

/// `2026-04-13T21:05`
pub(crate) fn minute() -> String {
    now().strftime("%Y-%m-%dT%H:%M").to_string()
}

/// `2026-04-13T21:05:09+08:00`
pub(crate) fn second() -> String {
    now().strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
}

/// The first match of `pattern`'s group in `text`: a time that must lie between `start` and now.
/// Times of one zone and one format compare as text.
pub(crate) fn stamp_since(start: &str, end: &str, pattern: &str, text: &str) -> String {
    let found = regex::Regex::new(pattern).unwrap().captures(text).unwrap_or_else(|| panic!("no {pattern} in {text}"));
    let stamp = found[1].to_owned();
    assert!(start <= stamp.as_str() && stamp.as_str() <= end, "{stamp} is not between {start} and {end}");
    stamp
}

/// Runs `attempt` again if midnight passed meanwhile, so that what depends on today is compared within one day.
pub(crate) fn within_one_day<T: PartialEq + std::fmt::Debug>(attempt: impl Fn() -> (T, T)) {
    for _ in 0..2 {
        let before = today();
        let (found, expected) = attempt();
        if before == today() {
            assert_eq!(found, expected);
            return;
        }
    }
    panic!("midnight passed twice");
}
