//! Reads the arguments of a call against the tool's schema: names strictly, types leniently.

use serde_json::{Number, Value};

use super::schema::JsonObject;
use crate::error::{Error, Result};

/// The arguments with each value in its declared type; absent optionals are left out.
///
/// # Errors
///
/// `unknown_argument`, `missing_argument` or `invalid_argument`, naming the place.
pub(super) fn read(schema: &JsonObject, arguments: JsonObject) -> Result<JsonObject> {
    read_object(schema, arguments, "")
}

fn read_object(schema: &JsonObject, arguments: JsonObject, place: &str) -> Result<JsonObject> {
    let none = JsonObject::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&none);
    let required: Vec<&str> = schema
        .get("required")
        .and_then(Value::as_array)
        .map(|names| names.iter().filter_map(Value::as_str).collect())
        .unwrap_or_default();
    let inner = |name: &str| if place.is_empty() { name.to_owned() } else { format!("{place}.{name}") };

    let mut taken = JsonObject::new();
    for (name, value) in arguments {
        let Some(property) = properties.get(&name).and_then(Value::as_object) else {
            return Err(Error::UnknownArgument { place: inner(&name), legal: properties.keys().cloned().collect() });
        };
        let is_required = required.contains(&name.as_str());
        if value.is_null() || (!is_required && value == "") {
            continue;
        }
        let value = read_value(property, value, &inner(&name))?;
        taken.insert(name, value);
    }
    match required.iter().find(|name| !taken.contains_key(**name)) {
        Some(name) => {
            let property = properties.get(*name).and_then(Value::as_object).unwrap_or(&none);
            Err(Error::MissingArgument { place: inner(name), expected: expected(property) })
        }
        None => Ok(taken),
    }
}

fn read_value(schema: &JsonObject, value: Value, place: &str) -> Result<Value> {
    let wrong = |value: &Value| Error::invalid(place, show(value), expected(schema));
    let value = match schema.get("type").and_then(Value::as_str) {
        Some("number") => Value::Number(number(&value).ok_or_else(|| wrong(&value))?),
        Some("integer") => Value::Number(integer(&value).ok_or_else(|| wrong(&value))?),
        Some("boolean") => match value {
            Value::Bool(_) => value,
            Value::String(text) if text == "true" || text == "false" => Value::Bool(text == "true"),
            other => return Err(wrong(&other)),
        },
        Some("string") => match value {
            Value::String(_) => value,
            Value::Number(number) => Value::String(number.to_string()),
            other => return Err(wrong(&other)),
        },
        Some("array") => {
            let items = match parsed(value) {
                Value::Array(items) => items,
                other => return Err(wrong(&other)),
            };
            let item = schema.get("items").and_then(Value::as_object);
            let read = |(index, value)| match item {
                Some(item) => read_value(item, value, &format!("{place}[{index}]")),
                None => Ok(value),
            };
            Value::Array(items.into_iter().enumerate().map(read).collect::<Result<_>>()?)
        }
        Some("object") => match parsed(value) {
            Value::Object(object) => Value::Object(read_object(schema, object, place)?),
            other => return Err(wrong(&other)),
        },
        _ => value,
    };
    if is_within_limits(schema, &value) { Ok(value) } else { Err(wrong(&value)) }
}

/// A list or an object that came as a string of JSON.
fn parsed(value: Value) -> Value {
    match value {
        Value::String(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
        other => other,
    }
}

fn number(value: &Value) -> Option<Number> {
    match value {
        Value::Number(number) => Some(number.clone()),
        // Not `NaN` and not infinite: those have no JSON number.
        Value::String(text) => Number::from_f64(text.trim().parse().ok()?),
        _ => None,
    }
}

#[expect(clippy::cast_possible_truncation, reason = "checked to be a whole number within ±2^53")]
fn integer(value: &Value) -> Option<Number> {
    let number = number(value)?;
    if number.is_i64() || number.is_u64() {
        return Some(number);
    }
    let float = number.as_f64()?;
    (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_992.0).then(|| Number::from(float as i64))
}

fn is_within_limits(schema: &JsonObject, value: &Value) -> bool {
    let limit = |key: &str| schema.get(key).and_then(Value::as_f64);
    let is_listed = schema.get("enum").and_then(Value::as_array).is_none_or(|values| values.contains(value));
    let number = value.as_f64();
    let is_between = number.is_none_or(|number| {
        limit("minimum").is_none_or(|least| number >= least) && limit("maximum").is_none_or(|most| number <= most)
    });
    is_listed && is_between
}

/// A value as an error shows it.
fn show(value: &Value) -> String {
    let shown = value.to_string();
    let start: String = shown.chars().take(60).collect();
    if start.len() < shown.len() { format!("`{start}…`") } else { format!("`{shown}`") }
}

/// What a schema takes, in words.
fn expected(schema: &JsonObject) -> String {
    if let Some(values) = schema.get("enum").and_then(Value::as_array) {
        let values: Vec<_> = values.iter().filter_map(Value::as_str).collect();
        return format!("one of `{}`", values.join("`, `"));
    }
    let name = match schema.get("type").and_then(Value::as_str) {
        Some("number") => "a finite number",
        Some("integer") => "a whole number",
        Some("boolean") => "`true` or `false`",
        Some("string") if schema.contains_key("format") => "a date `YYYY-MM-DD`",
        Some("string") => "a text",
        Some("array") => "a list, in brackets",
        Some("object") => "an object",
        _ => "a value",
    };
    match (schema.get("minimum"), schema.get("maximum")) {
        (Some(least), Some(most)) => format!("{name} from {least} to {most}"),
        (Some(least), None) => format!("{name} from {least}"),
        (None, Some(most)) => format!("{name} up to {most}"),
        (None, None) => name.to_owned(),
    }
}
