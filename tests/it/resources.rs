//! What the server offers beside the tools: resources, templates, prompts, completions, instructions; and which tools
//! each `--toolset` shows, and how many bytes of them.

use crate::support::{Server, Workspace, index_with};
use serde_json::{Value, json};

fn workspace() -> Workspace {
    Workspace::new()
        .file("memory/events.md", "# 事件\n\n### [E001] 2026-04-10 · 约定\n**类型**：约定\n**内容**：看展\n**状态**：待跟进\n\n### [E002] 2026-04-11 · 用户Todo\n**内容**：买伞\n**状态**：已关闭\n\n### [E010] 2026-04-12 · 用户Todo\n**内容**：还书\n**状态**：待跟进\n\n### [E000] 2026-04-12T20:00 · last_active\n")
        .file("memory/mood_state.md", "valence: 0.10\nenergy: 0.50\n")
        .file("memory/unresolved.md", "# 挂念\n\n- [U001] src=user_told kind=user_told decay_d=never 妈妈的血压\n- [M002] src=material_derived kind=chore decay_d=30 last_touched=(never) 绿植\n\n## 已淡忘\n\n- [U003] src=user_told kind=user_told decay_d=never 旧事\n")
        .file("memory/persona.md", "# 人物\n\n慢热。\n")
        .file("memory/user_profile.md", "# 用户\n\n## 喜欢（聊得来的）\n\n- 茶\n\n## 不喜欢 / 禁忌话题\n\n- 前任\n\n```\n## 示例\n```\n")
        .file("memory/MEMORY.md", index_with("（暂无）"))
}

const FILES: [(&str, &str); 6] = [
    ("events", "events.md"),
    ("mood", "mood_state.md"),
    ("unresolved", "unresolved.md"),
    ("persona", "persona.md"),
    ("profile", "user_profile.md"),
    ("index", "MEMORY.md"),
];

fn contents(answer: &Value) -> String {
    let contents = answer["result"]["contents"].as_array().unwrap_or_else(|| panic!("{answer}"));
    assert_eq!(contents.len(), 1, "{answer}");
    assert_eq!(contents[0]["mimeType"], "text/markdown", "{answer}");
    contents[0]["text"].as_str().unwrap().to_owned()
}

#[test]
fn the_resources_of_the_contract_are_listed() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let listed = server.ask("resources/list", json!({}));
    let resources = listed["result"]["resources"].as_array().unwrap();
    let uris: Vec<_> = resources.iter().map(|r| r["uri"].as_str().unwrap()).collect();
    let expected =
        ["overview", "events", "mood", "unresolved", "persona", "profile", "index"].map(|n| format!("memory://{n}"));
    assert_eq!(uris, expected);
    for resource in resources {
        assert_eq!(resource["mimeType"], "text/markdown", "{resource}");
        assert!(!resource["name"].as_str().unwrap().is_empty(), "{resource}");
    }
}

#[test]
fn a_resource_is_its_file() {
    let workspace = workspace();
    let before = workspace.tree();
    let mut server = Server::start(&workspace);
    for (name, file) in FILES {
        let answer = server.ask("resources/read", json!({"uri": format!("memory://{name}")}));
        assert_eq!(contents(&answer), workspace.read(&format!("memory/{file}")));
    }
    let overview = contents(&server.ask("resources/read", json!({"uri": "memory://overview"})));
    for told in ["看展", "还书", "妈妈的血压", "喜欢（聊得来的）", "2026-04-12T20:00"] {
        assert!(overview.contains(told), "no {told} in {overview}");
    }
    for closed in ["买伞", "旧事"] {
        assert!(!overview.contains(closed), "{closed} in {overview}");
    }
    assert_eq!(workspace.tree(), before, "reading changes nothing");
}

#[test]
fn a_resource_of_an_empty_workspace_is_no_failure() {
    let workspace = Workspace::new();
    let mut server = Server::start(&workspace);
    for (name, _) in FILES {
        let answer = server.ask("resources/read", json!({"uri": format!("memory://{name}")}));
        assert!(answer.get("error").is_some() || contents(&answer).is_empty(), "{answer}");
    }
    assert!(contents(&server.ask("resources/read", json!({"uri": "memory://overview"}))).contains("0.5"));
    assert_eq!(workspace.memory_names(), Vec::<String>::new());
}

#[test]
fn a_large_resource_is_cut_at_a_line() {
    let events: String = (1..=3000)
        .map(|n| format!("### [E{n:03}] 2026-04-10 · 用户Todo\n**内容**：第{n}件事，说来话长\n**状态**：待跟进\n\n"))
        .collect();
    let workspace = workspace().file("memory/events.md", &events);
    let mut server = Server::start(&workspace);
    let text = contents(&server.ask("resources/read", json!({"uri": "memory://events"})));
    assert!(text.len() <= 40_960, "{} bytes", text.len());
    // The newest events are the ones that matter.
    assert!(text.contains("[E3000]"), "the end is missing");
    let lines: Vec<_> = events.lines().collect();
    let first = text.lines().find(|line| line.starts_with("### [E")).unwrap();
    assert!(lines.contains(&first), "{first} is no whole line");
}

#[test]
fn there_is_nothing_but_the_memory() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    for uri in [
        "memory://diary",
        "memory://",
        "memory://../events",
        "memory://events/../../etc/passwd",
        "memory://profile/没有的",
        "memory://events/E099",
        "memory://events/E000",
        "memory://unresolved/U099",
        "file:///etc/passwd",
        "events",
        "",
    ] {
        let answer = server.ask("resources/read", json!({"uri": uri}));
        let code = answer["error"]["code"].as_i64().unwrap_or_else(|| panic!("{uri}: {answer}"));
        assert!([-32002, -32602].contains(&code), "{uri}: {answer}");
    }
}

#[test]
fn the_templates_read_one_section_event_or_worry() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let listed = server.ask("resources/templates/list", json!({}));
    let templates = listed["result"]["resourceTemplates"].as_array().unwrap();
    let uris: Vec<_> = templates.iter().map(|t| t["uriTemplate"].as_str().unwrap()).collect();
    assert_eq!(uris, ["memory://profile/{section}", "memory://events/{id}", "memory://unresolved/{id}"]);
    for (uri, told, not_told) in [
        ("memory://profile/喜欢", "- 茶", "前任"),
        // As a client fills a template, and as a person writes it.
        ("memory://profile/%E5%96%9C%E6%AC%A2", "- 茶", "前任"),
        ("memory://profile/不喜欢%20%2F%20禁忌话题", "- 前任", "茶"),
        ("memory://events/E002", "买伞", "看展"),
        ("memory://unresolved/U001", "妈妈的血压", "绿植"),
        ("memory://unresolved/M002", "绿植", "妈妈"),
    ] {
        let text = contents(&server.ask("resources/read", json!({"uri": uri})));
        assert!(text.contains(told) && !text.contains(not_told), "{uri}: {text}");
    }
}

#[test]
fn the_two_procedures_are_prompts_in_terms_of_the_tools() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let listed = server.ask("prompts/list", json!({}));
    let names: Vec<_> = listed["result"]["prompts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|p| p["name"].as_str().unwrap().to_owned())
        .collect();
    assert_eq!(names, ["memory_write", "memory_distill"]);
    let mut text = |name: &str| {
        let answer = server.ask("prompts/get", json!({"name": name}));
        let messages = answer["result"]["messages"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
        messages.iter().map(|m| m["content"]["text"].as_str().unwrap()).collect::<String>()
    };
    let write = text("memory_write");
    for told in
        ["record_conversation", "update_profile", "情绪事件", "约定", "due_date", "user_said", "核心", "intensity"]
    {
        assert!(
            write.contains(told) || (told == "update_profile" && write.contains("profile")),
            "no {told} in {write}"
        );
    }
    // The table of moods, number by number.
    for number in ["0.05", "0.10", "0.15", "0.20", "0.30"] {
        assert!(write.contains(number), "no {number} in {write}");
    }
    let distill = text("memory_distill");
    for told in
        ["distill_begin", "distill_commit", "skipped", "user_told", "work_line", "relational", "chore", "has_more"]
    {
        assert!(distill.contains(told), "no {told} in {distill}");
    }
    // No lock, no shell: that is over.
    for over in ["flock", "bash", "grep", "printf"] {
        assert!(!write.contains(over) && !distill.contains(over), "{over}");
    }
    let unknown = server.ask("prompts/get", json!({"name": "memory_read"}));
    assert!(unknown["error"]["code"].is_i64(), "{unknown}");
}

fn complete(server: &mut Server, reference: Value, argument: &str, value: &str) -> Vec<String> {
    let answer =
        server.ask("completion/complete", json!({"ref": reference, "argument": {"name": argument, "value": value}}));
    let values = answer["result"]["completion"]["values"].as_array().unwrap_or_else(|| panic!("{answer}")).clone();
    values.iter().map(|v| v.as_str().unwrap().to_owned()).collect()
}

#[test]
fn sections_and_open_ids_are_completed() {
    let workspace = workspace();
    let mut server = Server::start(&workspace);
    let template = |uri: &str| json!({"type": "ref/resource", "uri": uri});
    for (uri, argument, value, expected) in [
        ("memory://profile/{section}", "section", "", &["喜欢（聊得来的）", "不喜欢 / 禁忌话题"][..]),
        ("memory://profile/{section}", "section", "喜", &["喜欢（聊得来的）"]),
        ("memory://profile/{section}", "section", "没有", &[]),
        ("memory://events/{id}", "id", "E", &["E001", "E010"]),
        ("memory://events/{id}", "id", "E01", &["E010"]),
        ("memory://unresolved/{id}", "id", "", &["U001", "M002"]),
        ("memory://unresolved/{id}", "id", "M", &["M002"]),
        ("memory://diary/{id}", "id", "", &[]),
    ] {
        let mut found = complete(&mut server, template(uri), argument, value);
        let mut expected: Vec<_> = expected.iter().map(|e| (*e).to_owned()).collect();
        found.sort();
        expected.sort();
        assert_eq!(found, expected, "{uri} {value}");
    }
    let prompt = json!({"type": "ref/prompt", "name": "memory_write"});
    assert_eq!(complete(&mut server, prompt, "anything", ""), Vec::<String>::new());
}

#[test]
fn completions_are_a_hundred_at_most() {
    let events: String = (1..=300).map(|n| format!("### [E{n:03}] 2026-04-10 · 约定\n**状态**：待跟进\n\n")).collect();
    let workspace = workspace().file("memory/events.md", events);
    let mut server = Server::start(&workspace);
    let found = complete(&mut server, json!({"type": "ref/resource", "uri": "memory://events/{id}"}), "id", "E");
    assert!((1..=100).contains(&found.len()), "{}", found.len());
}

#[test]
fn the_instructions_say_that_memory_is_silent() {
    let workspace = workspace();
    let mut server = Server::spawn(workspace.command());
    let result = server.initialize("2025-11-25");
    let text = result["instructions"].as_str().unwrap();
    assert!(text.chars().count() < 2000 && text.len() < 2048, "{} bytes", text.len());
    for told in ["silent", "record_conversation", "get_overview", "user"] {
        assert!(text.contains(told), "no {told} in {text}");
    }
    let capabilities = result["capabilities"].as_object().unwrap();
    for offered in ["tools", "prompts", "resources", "completions"] {
        assert!(capabilities.contains_key(offered), "{capabilities:?}");
    }
    assert!(!capabilities.contains_key("logging"), "{capabilities:?}");
}

#[test]
fn the_instructions_name_only_tools_that_are_there() {
    for set in ["write", "distill", "read", "all"] {
        let (_workspace, mut server, result) = with_toolset(set);
        let listed = names(&tools(&mut server));
        let text = result["instructions"].as_str().unwrap();
        for tool in SETS.iter().flat_map(|(_, tools)| tools.iter()).chain(&REST) {
            if listed.iter().any(|name| name == tool) {
                continue;
            }
            assert!(!text.contains(tool), "`{set}` speaks of {tool}");
        }
    }
}

// Toolsets

const SETS: [(&str, &[&str]); 3] = [
    (
        "write",
        &[
            "append_event",
            "update_event",
            "list_events",
            "update_mood",
            "touch_last_active",
            "add_unresolved",
            "resolve_unresolved",
            "add_persona_detail",
            "correct_persona",
            "update_profile",
            "record_conversation",
            "get_overview",
            "read_memory",
            "search_memory",
        ],
    ),
    ("distill", &["distill_begin", "distill_commit", "distill_abort", "get_overview", "read_memory", "search_memory"]),
    ("read", &["list_events", "get_overview", "read_memory", "search_memory"]),
];

/// In `all` alone.
const REST: [&str; 2] = ["touch_unresolved", "fade_unresolved"];

fn with_toolset(set: &str) -> (Workspace, Server, Value) {
    let workspace = workspace();
    let mut command = workspace.command();
    command.args(["--toolset", set]);
    let mut server = Server::spawn(command);
    let result = server.initialize("2025-06-18");
    (workspace, server, result)
}

fn tools(server: &mut Server) -> Vec<Value> {
    server.ask("tools/list", json!({}))["result"]["tools"].as_array().unwrap().clone()
}

fn names(tools: &[Value]) -> Vec<String> {
    tools.iter().map(|t| t["name"].as_str().unwrap().to_owned()).collect()
}

fn sorted(mut names: Vec<String>) -> Vec<String> {
    names.sort();
    names
}

#[test]
fn a_toolset_limits_what_is_listed_and_callable() {
    let (_workspace, mut server, _) = with_toolset("all");
    let all = names(&tools(&mut server));
    let every: Vec<_> = SETS.iter().flat_map(|(_, tools)| tools.iter()).chain(&REST).map(|t| (*t).to_owned()).collect();
    let mut every = sorted(every);
    every.dedup();
    assert_eq!(sorted(all.clone()), every);
    for (set, expected) in SETS {
        let (_workspace, mut server, _) = with_toolset(set);
        let listed = names(&tools(&mut server));
        assert_eq!(sorted(listed.clone()), sorted(expected.iter().map(|t| (*t).to_owned()).collect()), "{set}");
        for tool in &all {
            let answer = server.ask("tools/call", json!({"name": tool, "arguments": {"no_such_argument": 1}}));
            let is_protocol_error = answer.get("error").is_some();
            assert_eq!(is_protocol_error, !listed.contains(tool), "{set}: {tool}: {answer}");
        }
    }
}

#[test]
fn an_unknown_toolset_is_a_usage_error() {
    let workspace = workspace();
    assert_eq!(workspace.run(&["--toolset", "everything", "serve"]).status, Some(2));
}

#[test]
fn the_published_schemas_stay_small() {
    for (set, published, for_the_model) in [("write", 20_000, 12_000), ("all", 32_000, 17_000)] {
        let (_workspace, mut server, _) = with_toolset(set);
        let tools = tools(&mut server);
        let bytes = Value::Array(tools.clone()).to_string().len();
        assert!(bytes <= published, "`{set}` publishes {bytes} bytes, expected at most {published}");
        let seen: usize = tools
            .iter()
            .map(|t| json!({"name": t["name"], "description": t["description"], "inputSchema": t["inputSchema"]}))
            .map(|t| t.to_string().len())
            .sum();
        assert!(seen <= for_the_model, "a model reads {seen} bytes of `{set}`, expected at most {for_the_model}");
    }
}

#[test]
fn items_in_lists_carry_types_enums_and_required_names_only() {
    let (_workspace, mut server, _) = with_toolset("all");
    for tool in tools(&mut server) {
        if !["record_conversation", "distill_commit"].contains(&tool["name"].as_str().unwrap()) {
            continue;
        }
        for (list, schema) in tool["inputSchema"]["properties"].as_object().unwrap() {
            assert!(schema["description"].is_string(), "{list}");
            if let Some(items) = schema.get("items") {
                only_bones(items, list);
            }
        }
    }
}

fn only_bones(schema: &Value, way: &str) {
    let bones = ["type", "properties", "required", "enum", "items", "additionalProperties"];
    for (word, value) in schema.as_object().unwrap() {
        assert!(bones.contains(&word.as_str()), "{way} carries `{word}`");
        if word == "properties" {
            for (name, inner) in value.as_object().unwrap() {
                only_bones(inner, &format!("{way}.{name}"));
            }
        }
        if word == "items" {
            only_bones(value, &format!("{way}[]"));
        }
    }
}

#[test]
fn each_list_names_the_tool_whose_items_it_takes() {
    let (_workspace, mut server, _) = with_toolset("write");
    let tools = tools(&mut server);
    let record = tools.iter().find(|t| t["name"] == "record_conversation").unwrap();
    for (argument, tool) in [
        ("mood", "update_mood"),
        ("persona_details", "add_persona_detail"),
        ("persona_corrections", "correct_persona"),
        ("profile", "update_profile"),
        ("events", "append_event"),
        ("event_updates", "update_event"),
        ("unresolved", "add_unresolved"),
        ("resolved", "resolve_unresolved"),
    ] {
        let description = record["inputSchema"]["properties"][argument]["description"].as_str().unwrap();
        assert!(description.contains(tool), "{argument}: {description}");
    }
}
