//! JSON schemas that every client takes: flat, without references, unions or integer formats.

use schemars::{
    JsonSchema, Schema,
    generate::SchemaSettings,
    transform::{Transform, transform_subschemas},
};
use serde_json::{Map, Value, json};

/// A schema as an object.
pub type JsonObject = Map<String, Value>;

/// Rewrites what schemars derives into what the pickiest clients accept.
#[derive(Debug, Clone)]
struct Flat;

impl Transform for Flat {
    fn transform(&mut self, schema: &mut Schema) {
        transform_subschemas(self, schema);
        let Some(object) = schema.as_object_mut() else { return };
        keep_one_type(object);
        for key in ["anyOf", "oneOf"] {
            if let Some(Value::Array(arms)) = object.remove(key) {
                join_arms(object, arms);
            }
        }
        // The formats of Rust's numbers say nothing to a client.
        if object.get("format").is_some_and(|format| format != "date") {
            object.remove("format");
        }
        // A bound that only says how wide the Rust type is.
        if object.get("minimum") == Some(&json!(0)) && object.get("maximum") == Some(&json!(255)) {
            object.remove("minimum");
            object.remove("maximum");
        }
        // Absence says it already.
        object.shift_remove("default");
    }
}

/// `"type": ["string", "null"]` becomes `"type": "string"`: that it is optional, `required` says.
fn keep_one_type(object: &mut JsonObject) {
    let Some(Value::Array(types)) = object.get("type") else { return };
    if let Some(kept) = types.iter().find(|name| *name != "null").cloned() {
        object.insert("type".to_owned(), kept);
    }
    if let Some(Value::Array(values)) = object.get_mut("enum") {
        values.retain(|value| !value.is_null());
    }
}

/// An optional type's arms become that type; the documented variants of an enum one list of values.
fn join_arms(object: &mut JsonObject, arms: Vec<Value>) {
    let mut values = Vec::new();
    for arm in arms {
        let Value::Object(arm) = arm else { continue };
        match (arm.get("const"), arm.get("enum"), arm.get("type")) {
            (Some(value), _, _) => values.push(value.clone()),
            (None, Some(Value::Array(more)), _) => values.extend(more.iter().cloned()),
            (None, None, Some(kind)) if kind == "null" => {}
            _ => arm.into_iter().for_each(|(key, value)| {
                object.entry(key).or_insert(value);
            }),
        }
    }
    if !values.is_empty() {
        object.insert("type".to_owned(), json!("string"));
        object.insert("enum".to_owned(), Value::Array(values));
    }
}

fn build<T: JsonSchema>(settings: SchemaSettings) -> JsonObject {
    let settings = settings.with(|settings| {
        settings.inline_subschemas = true;
        settings.meta_schema = None;
    });
    let schema = settings.with_transform(Flat).into_generator().into_root_schema_for::<T>();
    let mut object = match schema.to_value() {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    };
    object.remove("title");
    object.entry("properties").or_insert_with(|| json!({}));
    object
}

/// The schema of what a tool takes, and the description of the tool that its type's docs give.
#[must_use]
pub fn input<T: JsonSchema>() -> (JsonObject, String) {
    let mut schema = build::<T>(SchemaSettings::draft2020_12());
    let description = schema.remove("description").and_then(|text| text.as_str().map(unwrap_lines)).unwrap_or_default();
    schema.insert("additionalProperties".to_owned(), Value::Bool(false));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        for property in properties.values_mut() {
            tidy_description(property);
            // Of what stands within, the single tool tells the rest.
            if let Some(items) = property.get_mut("items") {
                bare(items);
            }
            if let Some(Value::Object(inner)) = property.get_mut("properties") {
                inner.values_mut().for_each(bare);
            }
        }
    }
    (schema, description)
}

/// The schema of what a tool answers, with the warnings that every answer may bring: types and names
/// only, since no model reads it.
#[must_use]
pub fn output<T: JsonSchema>() -> JsonObject {
    let mut schema = Value::Object(build::<T>(SchemaSettings::draft2020_12().for_serialize()));
    bare(&mut schema);
    let Value::Object(mut schema) = schema else { return JsonObject::new() };
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.insert("warnings".to_owned(), json!({"type": "array", "items": {"type": "string"}}));
    }
    schema
}

/// Leaves types, values and required names.
fn bare(schema: &mut Value) {
    let Value::Object(schema) = schema else { return };
    schema.retain(|key, _| matches!(key.as_str(), "type" | "enum" | "properties" | "required" | "items"));
    if let Some(Value::Object(properties)) = schema.get_mut("properties") {
        properties.values_mut().for_each(bare);
    }
    if let Some(items) = schema.get_mut("items") {
        bare(items);
    }
}

fn tidy_description(property: &mut Value) {
    if let Some(text) = property.get("description").and_then(Value::as_str).map(unwrap_lines) {
        property["description"] = Value::String(text);
    }
}

/// Doc comments are wrapped; a description is not.
fn unwrap_lines(text: &str) -> String {
    text.split("\n\n").map(|paragraph| paragraph.replace('\n', " ")).collect::<Vec<_>>().join("\n\n")
}
