//! The tool list is the product: flat schemas that every client takes, the same in `tools/list`, in `tools/` and in what
//! the program accepts.

use crate::support::{Server, Workspace, index_with};
use serde_json::{Map, Value, json};
use std::{collections::BTreeMap, fs, path::Path};

fn workspace() -> Workspace {
    Workspace::new().file("memory/events.md", "# 事件记录\n").file("memory/MEMORY.md", index_with("（暂无）"))
}

fn listed() -> Vec<Value> {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let answer = server.ask("tools/list", json!({}));
    assert!(answer["result"].get("nextCursor").is_none(), "one page");
    answer["result"]["tools"].as_array().unwrap().clone()
}

fn name(tool: &Value) -> &str {
    tool["name"].as_str().unwrap()
}

/// Calls `check` with every schema in a schema, and the way to it.
fn each_schema(schema: &Map<String, Value>, way: &str, check: &mut impl FnMut(&Map<String, Value>, &str)) {
    check(schema, way);
    if let Some(Value::Object(properties)) = schema.get("properties") {
        for (key, inner) in properties {
            each_schema(inner.as_object().unwrap(), &format!("{way}.{key}"), check);
        }
    }
    if let Some(Value::Object(items)) = schema.get("items") {
        each_schema(items, &format!("{way}[]"), check);
    }
}

#[test]
fn the_tools_of_the_contract_are_listed() {
    let expected: [(&str, &[&str], &[&str]); 7] = [
        (
            "append_event",
            &["type", "content", "intensity", "user_state", "follow_up", "due_date", "date", "status"],
            &["type", "content"],
        ),
        (
            "update_event",
            &["id", "date", "status", "content", "intensity", "user_state", "follow_up", "due_date", "clear"],
            &["id"],
        ),
        ("list_events", &["status", "type", "due_on_or_before", "since", "query", "limit", "before_id"], &[]),
        ("update_mood", &["delta_valence", "delta_energy", "note"], &["note"]),
        ("touch_last_active", &[], &[]),
        ("add_unresolved", &["text", "kind", "life_log_id"], &["text"]),
        ("read_memory", &["file", "section", "offset"], &["file"]),
    ];
    let tools = listed();
    for (tool, arguments, required) in expected {
        let schema = &tools.iter().find(|t| name(t) == tool).unwrap_or_else(|| panic!("no {tool}"))["inputSchema"];
        let sorted = |names: Vec<String>| {
            let mut names = names;
            names.sort();
            names
        };
        let declared = schema["properties"].as_object().map(|p| p.keys().cloned().collect()).unwrap_or_default();
        assert_eq!(sorted(declared), sorted(arguments.iter().map(|&a| a.to_owned()).collect()), "{tool}");
        let needed = schema["required"].as_array().map(|r| r.iter().map(|v| v.as_str().unwrap().to_owned()).collect());
        assert_eq!(
            sorted(needed.unwrap_or_default()),
            sorted(required.iter().map(|&r| r.to_owned()).collect()),
            "{tool}"
        );
    }
}

#[test]
fn every_schema_is_flat() {
    for tool in listed() {
        for side in ["inputSchema", "outputSchema"] {
            let schema = tool[side].as_object().unwrap_or_else(|| panic!("{} has no {side}", name(&tool)));
            assert_eq!(schema["type"], "object", "{} {side}", name(&tool));
            assert!(schema["properties"].is_object(), "{} {side} has no properties", name(&tool));
            each_schema(schema, &format!("{} {side}", name(&tool)), &mut |inner, way| {
                for banned in
                    ["$ref", "$defs", "definitions", "$schema", "$id", "const", "oneOf", "anyOf", "allOf", "not", "if"]
                {
                    assert!(!inner.contains_key(banned), "{way} has {banned}");
                }
                assert!(inner.get("type").is_some_and(Value::is_string), "{way} has no single type");
                if let Some(format) = inner.get("format") {
                    assert_eq!(format, "date", "{way}");
                }
                if inner["type"] == "array" {
                    assert!(inner.get("items").is_some_and(Value::is_object), "{way} has no items");
                }
                assert!(!inner.get("default").is_some_and(Value::is_null), "{way} has a null default");
                if let Some(Value::Array(values)) = inner.get("enum") {
                    assert!(inner["type"] == "string" && values.iter().all(Value::is_string), "{way}");
                }
            });
        }
    }
}

#[test]
fn every_tool_and_every_argument_is_described() {
    for tool in listed() {
        let label = name(&tool).to_owned();
        assert!(!tool["title"].as_str().unwrap_or_default().is_empty(), "{label} has no title");
        assert!(tool["description"].as_str().is_some_and(|d| d.len() > 20), "{label} has no description");
        assert!(tool["annotations"].is_object(), "{label} has no annotations");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{label}");
        for (argument, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            let description = schema["description"].as_str().unwrap_or_default();
            assert!(!description.trim().is_empty(), "{label}.{argument} has no description");
        }
        // One client refuses longer ones, with its own name of the server in front.
        assert!(label.len() <= 40 && label.chars().all(|c| c.is_ascii_lowercase() || c == '_'), "{label}");
        assert_eq!(
            tool["annotations"]["readOnlyHint"] == true,
            ["list_events", "read_memory", "get_overview", "search_memory"].contains(&label.as_str()),
            "{label}"
        );
    }
}

#[test]
fn a_freetext_argument_states_its_limit() {
    let tools = listed();
    for (tool, argument) in [
        ("append_event", "content"),
        ("append_event", "user_state"),
        ("append_event", "follow_up"),
        ("update_event", "content"),
        ("add_unresolved", "text"),
    ] {
        let schema = &tools.iter().find(|t| name(t) == tool).unwrap()["inputSchema"]["properties"][argument];
        let text = schema["description"].as_str().unwrap();
        assert!(
            schema["maxLength"] == 2000 || text.contains("2,000") || text.contains("2000"),
            "{tool}.{argument}: {schema}"
        );
    }
}

// The committed files

fn json_files(folder: &Path) -> BTreeMap<String, Vec<u8>> {
    fs::read_dir(folder)
        .unwrap_or_else(|e| panic!("{}: {e}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .map(|path| (path.file_name().unwrap().to_str().unwrap().to_owned(), fs::read(path).unwrap()))
        .collect()
}

#[test]
fn tools_write_makes_one_file_a_tool_as_listed() {
    let folder = tempfile::tempdir().unwrap();
    let workspace = Workspace::without_memory();
    let outcome = workspace.run(&["tools", "--write", folder.path().to_str().unwrap()]);
    assert_eq!(outcome.status, Some(0), "{outcome:?}");
    let written = json_files(folder.path());
    let expected: BTreeMap<_, _> = listed().into_iter().map(|t| (format!("{}.json", name(&t)), t)).collect();
    assert_eq!(written.keys().collect::<Vec<_>>(), expected.keys().collect::<Vec<_>>());
    for (file, bytes) in &written {
        assert_eq!(serde_json::from_slice::<Value>(bytes).unwrap(), expected[file], "{file}");
        assert_eq!(bytes.last(), Some(&b'\n'), "{file} ends as a text file does");
    }

    let committed = json_files(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tools"));
    assert_eq!(committed.keys().collect::<Vec<_>>(), written.keys().collect::<Vec<_>>(), "tools/ is stale");
    for (file, bytes) in &committed {
        assert_eq!(String::from_utf8_lossy(bytes), String::from_utf8_lossy(&written[file]), "tools/{file} is stale");
    }
}

// What the schemas promise holds

#[test]
fn results_are_what_the_output_schema_says() {
    let schemas: BTreeMap<_, _> =
        listed().into_iter().map(|t| (name(&t).to_owned(), t["outputSchema"].clone())).collect();
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    for (tool, arguments) in [
        ("append_event", json!({"type": "约定", "content": "看展", "due_date": "2026-04-17", "intensity": 2})),
        (
            "append_event",
            json!({"type": "情绪事件", "content": "哭了", "intensity": 5, "user_state": "难过", "follow_up": "问问"}),
        ),
        ("update_event", json!({"id": "E001", "status": "已跟进"})),
        ("update_event", json!({"id": "E001", "status": "已跟进"})),
        ("list_events", json!({})),
        ("update_mood", json!({"delta_valence": 5, "note": "比十个字要长得多的一句话"})),
        ("update_mood", json!({"note": "一轮"})),
        ("touch_last_active", json!({})),
        ("touch_last_active", json!({})),
        ("add_unresolved", json!({"text": "甲"})),
        ("add_unresolved", json!({"text": "甲"})),
        ("read_memory", json!({"file": "events"})),
        ("read_memory", json!({"file": "index", "offset": 0})),
    ] {
        let result = server.call(tool, arguments.clone()).unwrap_or_else(|e| panic!("{tool} {arguments}: {e:?}"));
        conforms(&result, &schemas[tool], tool);
    }
}

/// The part of JSON Schema that flat schemas use.
fn conforms(value: &Value, schema: &Value, way: &str) {
    let fits = match schema["type"].as_str().unwrap() {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        other => panic!("{way}: type {other}"),
    };
    assert!(fits, "{way}: {value} is no {}", schema["type"]);
    if let Some(values) = schema["enum"].as_array() {
        assert!(values.contains(value), "{way}: {value} is none of {values:?}");
    }
    for required in schema["required"].as_array().into_iter().flatten() {
        assert!(value.get(required.as_str().unwrap()).is_some(), "{way}: no {required} in {value}");
    }
    for (key, inner) in value.as_object().into_iter().flatten() {
        let declared = &schema["properties"][key];
        assert!(declared.is_object(), "{way}: {key} is not declared");
        conforms(inner, declared, &format!("{way}.{key}"));
    }
    for inner in value.as_array().into_iter().flatten() {
        conforms(inner, &schema["items"], &format!("{way}[]"));
    }
}

#[test]
fn types_are_read_leniently() {
    // tool, strict, lenient: both must write the same
    let cases = [
        (
            "append_event",
            json!({"type": "情绪事件", "content": "哭了", "intensity": 3}),
            json!({"type": "情绪事件", "content": "哭了", "intensity": 3.0}),
        ),
        (
            "append_event",
            json!({"type": "情绪事件", "content": "哭了", "intensity": 3}),
            json!({"type": "情绪事件", "content": "哭了", "intensity": "3"}),
        ),
        (
            "append_event",
            json!({"type": "用户Todo", "content": "买伞"}),
            json!({"type": "用户Todo", "content": "买伞", "intensity": null, "user_state": "", "follow_up": null, "due_date": "", "date": "", "status": null}),
        ),
        (
            "update_mood",
            json!({"delta_valence": 0.1, "note": "一轮"}),
            json!({"delta_valence": "0.10", "delta_energy": "", "note": "一轮"}),
        ),
        (
            "update_mood",
            json!({"delta_energy": -0.1, "note": "一轮"}),
            json!({"delta_valence": null, "delta_energy": " -0.1 ", "note": "一轮"}),
        ),
        ("add_unresolved", json!({"text": "甲"}), json!({"text": "甲", "kind": null, "life_log_id": ""})),
        ("list_events", json!({"limit": 1}), json!({"limit": "1", "status": "", "type": null, "query": ""})),
        (
            "update_event",
            json!({"id": "E001", "clear": ["user_state"]}),
            json!({"id": "E001", "clear": "[\"user_state\"]", "status": "", "content": null}),
        ),
        ("update_event", json!({"id": "E001", "intensity": 4}), json!({"id": "E001", "intensity": "4.0"})),
    ];
    for (tool, strict, lenient) in cases {
        let start = "### [E001] 2026-04-10 · 情绪事件\n**类型**：情绪事件\n**内容**：气\n**情绪强度**：⭐\n**用户状态**：气\n**状态**：待跟进\n";
        for _ in 0..3 {
            let before = crate::support::clock::second();
            let (one, other) =
                (workspace().file("memory/events.md", start), workspace().file("memory/events.md", start));
            let expected = one.ok(tool, strict.clone());
            let found = other.ok(tool, lenient.clone());
            if before != crate::support::clock::second() {
                continue;
            }
            assert_eq!(found, expected, "{tool} {lenient}");
            assert_eq!(other.tree(), one.tree(), "{tool} {lenient}");
            break;
        }
    }
}

#[test]
fn what_is_no_number_is_not_taken_for_one() {
    let workspace = workspace();
    for (tool, arguments) in [
        ("append_event", json!({"type": "情绪事件", "content": "哭了", "intensity": "三"})),
        ("append_event", json!({"type": "情绪事件", "content": "哭了", "intensity": 3.5})),
        ("append_event", json!({"type": "情绪事件", "content": "哭了", "intensity": "NaN"})),
        ("append_event", json!({"type": "情绪事件", "content": "哭了", "intensity": 1e300})),
        ("append_event", json!({"type": "情绪事件", "content": "哭了", "intensity": true})),
        ("list_events", json!({"limit": "无限"})),
        ("list_events", json!({"limit": 1.5})),
        ("list_events", json!({"since": "2026-13-01"})),
        ("list_events", json!({"before_id": "第三"})),
        ("update_event", json!({"id": "E001", "clear": "user_state, follow_up {"})),
        ("update_event", json!({"id": "E001", "clear": {"user_state": true}})),
        ("read_memory", json!({"file": "diary"})),
    ] {
        let refusal = workspace.refused(tool, arguments.clone());
        assert_eq!(refusal.code, "invalid_argument", "{tool} {arguments}: {refusal:?}");
    }
}

#[test]
fn an_unknown_argument_is_named_with_the_legal_ones() {
    let tools = listed();
    let workspace = workspace();
    for tool in &tools {
        let refusal = workspace.refused(name(tool), json!({"bogus_argument": 1}));
        if refusal.code == "missing_argument" {
            continue; // Whichever is said first; the next loop leaves no choice.
        }
        assert_eq!(refusal.code, "unknown_argument", "{refusal:?}");
    }
    for (tool, arguments) in [
        ("append_event", json!({"type": "用户Todo", "content": "买伞", "Content": "买伞"})),
        ("update_event", json!({"id": "E001", "state": "已关闭"})),
        ("list_events", json!({"max": 3})),
        ("update_mood", json!({"note": "一轮", "valence": 0.1})),
        ("touch_last_active", json!({"now": true})),
        ("add_unresolved", json!({"text": "甲", "content": "乙"})),
        ("read_memory", json!({"file": "events", "path": "/etc/passwd"})),
    ] {
        let refusal = workspace.refused(tool, arguments.clone());
        assert_eq!(refusal.code, "unknown_argument", "{arguments}: {refusal:?}");
        let text = format!("{} {}", refusal.message, refusal.hint);
        let legal = tools.iter().find(|t| name(t) == tool).unwrap()["inputSchema"]["properties"].as_object().unwrap();
        for argument in legal.keys() {
            assert!(text.contains(argument.as_str()), "{tool} does not list {argument}: {text}");
        }
        let unknown = arguments.as_object().unwrap().keys().find(|k| !legal.contains_key(*k)).unwrap();
        assert!(refusal.message.contains(unknown.as_str()), "{refusal:?}");
    }
}

#[test]
fn a_missing_argument_is_named() {
    let workspace = workspace();
    for tool in listed() {
        let Some(required) = tool["inputSchema"]["required"].as_array() else { continue };
        let Some(first) = required.first() else { continue };
        // A null is as good as absent, and so is nothing at all.
        for arguments in [json!({}), json!({first.as_str().unwrap(): null})] {
            let refusal = workspace.refused(name(&tool), arguments.clone());
            assert_eq!(refusal.code, "missing_argument", "{} {arguments}: {refusal:?}", name(&tool));
            assert!(required.iter().any(|r| refusal.message.contains(r.as_str().unwrap())), "{refusal:?}");
        }
    }
}

#[test]
fn two_thousand_characters_are_the_limit_whatever_their_bytes() {
    let seed = "### [E001] 2026-04-10 · 用户Todo\n**类型**：用户Todo\n**内容**：甲\n**状态**：待跟进\n";
    let longest = "🌧".repeat(2000);
    let cases: [(&str, Value, &str); 7] = [
        ("append_event", json!({"type": "用户Todo", "content": "甲"}), "content"),
        ("append_event", json!({"type": "用户Todo", "content": "甲"}), "user_state"),
        ("append_event", json!({"type": "用户Todo", "content": "甲"}), "follow_up"),
        ("update_event", json!({"id": "E001"}), "content"),
        ("update_event", json!({"id": "E001"}), "user_state"),
        ("update_event", json!({"id": "E001"}), "follow_up"),
        ("add_unresolved", json!({}), "text"),
    ];
    for (tool, mut arguments, argument) in cases {
        let workspace = workspace().file("memory/events.md", seed);
        arguments[argument] = json!(format!("{longest}多"));
        let refusal = workspace.refused(tool, arguments.clone());
        assert_eq!(refusal.code, "invalid_argument", "{tool}.{argument}: {refusal:?}");
        let text = format!("{} {}", refusal.message, refusal.hint).replace(',', "");
        assert!(text.contains("2000") && text.contains(argument), "{refusal:?}");
        arguments[argument] = json!(longest);
        workspace.ok(tool, arguments);
    }
}

#[test]
fn a_call_that_adds_each_time_is_not_said_to_change_nothing_the_second_time() {
    let mut server = Server::start(&Workspace::new());
    let listed = server.ask("tools/list", json!({}));
    for tool in listed["result"]["tools"].as_array().unwrap() {
        let adds = ["append_event", "update_mood", "record_conversation"].contains(&tool["name"].as_str().unwrap());
        assert_eq!(tool["annotations"]["idempotentHint"], json!(!adds), "{tool}");
    }
}
