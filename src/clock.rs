//! Time in the zone of the person whose memory this is.

#![expect(clippy::disallowed_methods, reason = "this is the room that tells the time")]

mod instant;

use jiff::{Timestamp, ZonedDateTime, civil::Date, tz::TimeZone};

use crate::error::{Error, Result};

/// Tells the time in one zone.
#[derive(Debug, Clone)]
pub struct Clock {
    zone: TimeZone,
}

impl Clock {
    /// A clock in the zone of this name, or in the process's local one, as `date` has it.
    ///
    /// # Errors
    ///
    /// `invalid_argument` if no zone is called so.
    pub fn new(zone: Option<&str>) -> Result<Self> {
        let zone = match zone {
            Some(name) => TimeZone::get(name).map_err(|_| {
                Error::invalid("--timezone", format!("`{name}`"), "a zone's name such as `Asia/Shanghai`")
            })?,
            None => TimeZone::system(),
        };
        Ok(Self { zone })
    }

    /// The present moment.
    #[must_use]
    pub fn now(&self) -> Moment {
        Moment(Timestamp::now().to_zoned_datetime(self.zone.clone()))
    }
}

/// A moment, in the forms in which it is written.
#[derive(Debug, Clone)]
pub struct Moment(ZonedDateTime);

impl Moment {
    /// The day.
    #[must_use]
    pub fn date(&self) -> Date {
        self.0.date()
    }

    /// `YYYY-MM-DDTHH:MM`
    #[must_use]
    pub fn minute(&self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M").to_string()
    }

    /// `YYYY-MM-DDTHH:MM` with an offset.
    #[must_use]
    pub fn minute_with_offset(&self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M%:z").to_string()
    }

    /// The zone's offset at this moment, as `+08`.
    #[must_use]
    pub fn offset(&self) -> jiff::tz::Offset {
        self.0.offset()
    }

    /// The offset at this moment in another zone, by its name or as `UTC+8`.
    #[must_use]
    pub fn offset_in(&self, zone: &str) -> Option<jiff::tz::Offset> {
        let hours = zone.trim_start_matches("UTC").trim_start_matches("GMT");
        if hours.starts_with(['+', '-']) {
            return hours.parse::<i8>().ok().and_then(|hours| jiff::tz::Offset::from_hours(hours).ok());
        }
        TimeZone::get(zone).ok().map(|zone| zone.to_offset(self.0.timestamp()))
    }

    /// The hours since a moment, written RFC 3339 or, in this zone, `YYYY-MM-DDTHH:MM`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "hours are shown, not counted with")]
    pub fn hours_since(&self, written: &str) -> Option<f64> {
        let then = self.parse_instant(written)?;
        Some((self.0.timestamp().as_second() - then.as_second()) as f64 / 3_600.0)
    }

    /// RFC 3339 with an offset, as exact as the moment is known.
    #[must_use]
    pub fn exact(&self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%S%.f%:z").to_string()
    }

    /// The same instant on the time line.
    #[must_use]
    pub fn timestamp(&self) -> Timestamp {
        self.0.timestamp()
    }

    /// Another instant in the same zone.
    #[must_use]
    pub fn at(&self, instant: Timestamp) -> Self {
        Self(instant.to_zoned_datetime(self.0.time_zone().clone()))
    }

    /// Reads an instant as other programs write it: a date and a time with a space or `T` between
    /// them, up to nine digits of a second, `Z` or an offset or neither (then in this zone), or Unix
    /// seconds.
    #[must_use]
    pub fn parse_instant(&self, written: &str) -> Option<Timestamp> {
        instant::parse(written.trim(), self.0.time_zone())
    }

    /// RFC 3339 with an offset, in seconds.
    #[must_use]
    pub fn instant(&self) -> String {
        self.0.strftime("%Y-%m-%dT%H:%M:%S%:z").to_string()
    }
}
