//! Instants as other programs write them.

use jiff::{
    SignedDuration, Timestamp,
    civil::{Date, DateTime, Time},
    tz::{Offset, TimeZone},
};

/// Reads an instant; without an offset it is in the zone.
pub(super) fn parse(written: &str, zone: &TimeZone) -> Option<Timestamp> {
    unix_seconds(written).or_else(|| date_and_time(written, zone))
}

fn unix_seconds(written: &str) -> Option<Timestamp> {
    let (seconds, fraction) = written.split_once('.').unwrap_or((written, ""));
    let digits = seconds.strip_prefix('-').unwrap_or(seconds);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let whole = Timestamp::from_second(seconds.parse().ok()?).ok()?;
    let part = SignedDuration::from_nanos(i64::from(nanoseconds(fraction)?));
    whole.checked_add(if seconds.starts_with('-') { -part } else { part }).ok()
}

/// Up to nine digits of a second; further ones are dropped.
fn nanoseconds(fraction: &str) -> Option<i32> {
    let digits = fraction.bytes().map(|byte| byte.is_ascii_digit().then(|| i32::from(byte - b'0')));
    let digits: Option<Vec<i32>> = digits.collect();
    Some(digits?.into_iter().chain(std::iter::repeat(0)).take(9).fold(0, |sum, digit| sum * 10 + digit))
}

fn date_and_time(written: &str, zone: &TimeZone) -> Option<Timestamp> {
    let (date, rest) = written.split_at_checked(10)?;
    let rest = rest.strip_prefix(['T', 't', ' '])?;
    let time_len = rest.bytes().take_while(|byte| byte.is_ascii_digit() || matches!(byte, b':' | b'.' | b',')).count();
    let (time, offset) = rest.split_at_checked(time_len)?;
    let local = DateTime::from_parts(parse_date(date)?, parse_time(time)?);
    match offset.trim() {
        "" => Some(zone.to_timestamp(local).ok()?),
        "Z" | "z" | "UTC" => Offset::UTC.to_timestamp(local).ok(),
        offset => parse_offset(offset)?.to_timestamp(local).ok(),
    }
}

fn number<T: std::str::FromStr>(digits: &str, len: usize) -> Option<T> {
    let is_number = digits.len() == len && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().ok())?
}

fn parse_date(date: &str) -> Option<Date> {
    let mut parts = date.split('-');
    let date = Date::new(number(parts.next()?, 4)?, number(parts.next()?, 2)?, number(parts.next()?, 2)?).ok()?;
    parts.next().is_none().then_some(date)
}

fn parse_time(time: &str) -> Option<Time> {
    let (time, fraction) = time.split_once(['.', ',']).unwrap_or((time, ""));
    let mut parts = time.split(':');
    let (hour, minute) = (number(parts.next()?, 2)?, number(parts.next()?, 2)?);
    let second = parts.next().map_or(Some(0), |second| number(second, 2))?;
    if parts.next().is_some() {
        return None;
    }
    Time::new(hour, minute, second, nanoseconds(fraction)?).ok()
}

/// `+08:00`, `+0800` or `+08`, and what some programs write behind it.
fn parse_offset(offset: &str) -> Option<Offset> {
    let offset = offset.split_whitespace().next()?;
    let (sign, digits) = match (offset.strip_prefix('+'), offset.strip_prefix('-')) {
        (Some(digits), _) => (1, digits),
        (_, Some(digits)) => (-1, digits),
        _ => return None,
    };
    let digits = digits.replace(':', "");
    let (hours, minutes) = digits.split_at_checked(2)?;
    let minutes: i32 = if minutes.is_empty() { 0 } else { number(minutes, 2)? };
    let seconds = number::<i32>(hours, 2)? * 3_600 + minutes * 60;
    Offset::from_seconds(sign * seconds).ok()
}
