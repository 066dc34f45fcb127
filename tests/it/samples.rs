//! Sample calls of every tool, each with the workspace that it starts from. What attacks the durability runs over all
//! of them, so a new tool is attacked as soon as its samples stand here.

use crate::{
    attack::{Call, all_files_of, files_of, laid_out, only_memory, run},
    disk_model::Step,
    starts::{Files, STARTS, TOKEN},
    support::program,
};
use serde_json::{Value, json};
use std::{collections::BTreeSet, fs};

/// What a call does if nothing goes wrong.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Effect<'c> {
    Writes,
    /// It succeeds, and the files stay as they are.
    Nothing,
    Refused(&'c str),
}

pub(crate) struct Sample {
    pub(crate) call: Call,
    /// Which of the workspaces in `starts.rs` it starts from.
    pub(crate) start: &'static str,
    pub(crate) effect: Effect<'static>,
}

impl Sample {
    pub(crate) fn files(&self) -> &'static Files {
        &STARTS[self.start]
    }

    pub(crate) fn name(&self) -> String {
        let arguments: String = self.call.arguments.to_string().chars().take(80).collect();
        format!("{} {arguments} from `{}`", self.call.tool, self.start)
    }
}

/// The samples as they are collected: first what a call does, then the tool, where it starts from, and its arguments.
#[derive(Default)]
struct Samples(Vec<Sample>);

impl Samples {
    fn add(&mut self, effect: Effect<'static>, tool: &'static str, start: &'static str, arguments: Value) {
        self.0.push(Sample { call: Call { tool, arguments }, start, effect });
    }

    fn writes(&mut self, tool: &'static str, starts: &[&'static str], arguments: Value) {
        for start in starts {
            self.add(Effect::Writes, tool, start, arguments.clone());
        }
    }

    fn nothing(&mut self, tool: &'static str, start: &'static str, arguments: Value) {
        self.add(Effect::Nothing, tool, start, arguments);
    }

    fn refused(&mut self, code: &'static str, tool: &'static str, start: &'static str, arguments: Value) {
        self.add(Effect::Refused(code), tool, start, arguments);
    }
}

pub(crate) fn samples() -> Vec<Sample> {
    let mut samples = Samples::default();
    events(&mut samples);
    mood_and_presence(&mut samples);
    worries(&mut samples);
    persona_and_profile(&mut samples);
    whole_conversations(&mut samples);
    reads(&mut samples);
    samples.0
}

const EVERYWHERE: [&str; 6] = ["bare", "new", "lived_in", "crlf", "ragged", "broken_bytes"];
const EVERYWHERE_AND_LARGE: [&str; 7] = ["bare", "new", "lived_in", "crlf", "ragged", "broken_bytes", "large"];
const LIKED: &str = "喜欢（聊得来的）";

fn promise() -> Value {
    json!({"type": "约定", "content": "周六一起做饭", "date": "2026-04-13", "due_date": "2026-04-18"})
}

fn events(samples: &mut Samples) {
    let tool = "append_event";
    samples.writes(tool, &EVERYWHERE_AND_LARGE, promise());
    // One line of more than a page.
    let long = json!({"type": "重要事件", "content": "长文，".repeat(600), "date": "2026-04-13"});
    samples.writes(tool, &["lived_in"], long);
    let odd = json!({
        "type": "情绪事件",
        "content": "一行\n### [E999] 2026-04-13 · 约定\n<!-- 没有结束\n[E001]",
        "intensity": 5,
        "user_state": "激动",
        "follow_up": "明天再问",
        "date": "2026-04-13",
    });
    samples.writes(tool, &["lived_in"], odd);
    samples.refused("missing_argument", tool, "lived_in", json!({"type": "情绪事件", "content": "难过"}));
    samples.refused("invalid_argument", tool, "new", json!({"type": "约定", "content": " \n "}));

    let tool = "update_event";
    let closed = json!({"id": "E002", "status": "已关闭", "follow_up": "问她好不好看"});
    samples.writes(tool, &["lived_in", "crlf", "ragged", "broken_bytes", "large"], closed);
    samples.writes(tool, &["lived_in"], json!({"id": "E001", "clear": ["user_state", "intensity"]}));
    samples.writes(tool, &["lived_in"], json!({"id": "E003", "content": "交房租和水电", "due_date": "2026-04-30"}));
    samples.nothing(tool, "lived_in", json!({"id": "E002", "status": "待跟进"}));
    samples.refused("not_found", tool, "lived_in", json!({"id": "E777", "status": "已关闭"}));
}

fn mood_and_presence(samples: &mut Samples) {
    let tool = "update_mood";
    samples.writes(tool, &EVERYWHERE, json!({"delta_valence": 0.1, "delta_energy": 0.05, "note": "被安慰到了"}));
    let cut = json!({"delta_valence": -0.25, "delta_energy": -0.2, "note": "一句太长太长太长的话"});
    samples.writes(tool, &["lived_in"], cut);
    samples.refused("missing_argument", tool, "lived_in", json!({"delta_valence": 0.1}));

    let tool = "touch_last_active";
    samples.writes(tool, &["bare", "new", "lived_in", "crlf", "ragged"], json!({}));
    samples.refused("unknown_argument", tool, "new", json!({"when": "now"}));
}

fn worries(samples: &mut Samples) {
    let tool = "add_unresolved";
    samples.writes(tool, &EVERYWHERE, json!({"text": "爸爸的体检报告还没出"}));
    samples.writes(tool, &["lived_in"], json!({"text": "结尾怎么写", "kind": "work_line"}));
    samples.nothing(tool, "lived_in", json!({"text": "妈妈血压又高了。"}));
    let no_life_log = json!({"text": "灯泡", "kind": "chore", "life_log_id": "E1"});
    samples.refused("invalid_argument", tool, "new", no_life_log);

    let starts = ["lived_in", "crlf", "ragged"];
    let touched = json!({"id": "M001", "life_log_id": "L013", "forced_echo": true});
    samples.writes("touch_unresolved", &starts, touched);
    samples.refused("not_found", "touch_unresolved", "new", json!({"id": "M009", "life_log_id": "L013"}));

    samples.writes("resolve_unresolved", &starts, json!({"id": "U001", "resolved_by": "已经\"好了\""}));
    samples.refused("not_found", "resolve_unresolved", "new", json!({"id": "U009", "resolved_by": "好了"}));

    samples.writes("fade_unresolved", &starts, json!({"force": true}));
    // Nothing fades, but the scan is noted.
    samples.writes("fade_unresolved", &["new"], json!({}));
}

fn persona_and_profile(samples: &mut Samples) {
    let tool = "add_persona_detail";
    samples.writes(tool, &EVERYWHERE, json!({"detail": "会把伞借给陌生人"}));
    samples.nothing(tool, "lived_in", json!({"detail": "怕打雷"}));
    samples.refused("missing_argument", tool, "new", json!({}));

    let tool = "correct_persona";
    let corrected = json!({"old_text": "喜欢下雨天", "new_text": "喜欢下雪天"});
    samples.writes(tool, &["lived_in", "crlf", "large"], corrected);
    samples.refused("not_found", tool, "lived_in", json!({"old_text": "喜欢刮风", "new_text": "怕刮风"}));

    let tool = "update_profile";
    // The eleventh entry: the topmost gives way.
    let eleventh = json!({"action": "add", "section": LIKED, "text": "天文馆"});
    samples.writes(tool, &["lived_in", "crlf", "ragged"], eleventh);
    let city = json!({"action": "set", "section": "基本信息", "key": "城市", "text": "上海"});
    samples.writes(tool, &["lived_in"], city);
    samples.writes(tool, &["ragged"], json!({"action": "remove", "section": LIKED, "old_text": "骑车"}));
    samples.writes(tool, &["new"], json!({"action": "add", "section": LIKED, "text": "老电影"}));
    samples.nothing(tool, "lived_in", json!({"action": "add", "section": LIKED, "text": "爵士乐"}));
    let name = json!({"action": "set", "section": "基本信息", "key": "称呼", "text": "老林"});
    samples.refused("core_conflict", tool, "lived_in", name);
}

fn whole_conversations(samples: &mut Samples) {
    let tool = "record_conversation";
    let conversation = json!({
        "mood": {"delta_valence": 0.1, "note": "聊得开心"},
        "persona_details": ["会把伞借给陌生人"],
        "profile": [{"action": "add", "section": LIKED, "text": "天文馆"}],
        "events": [promise(), {"type": "用户Todo", "content": "买票", "date": "2026-04-13"}],
        "event_updates": [{"id": "E003", "status": "已跟进"}],
        "unresolved": [{"text": "爸爸的体检报告还没出"}],
        "resolved": [{"id": "U001", "resolved_by": "降下来了"}],
    });
    samples.writes(tool, &EVERYWHERE_AND_LARGE, conversation);
    samples.writes(tool, &["lived_in"], json!({}));
    let malformed = json!({"events": [promise(), {"type": "约定", "content": "无期", "due_date": "2026-13-01"}]});
    samples.refused("invalid_argument", tool, "lived_in", malformed);

    let tool = "distill_commit";
    let distilled = json!({
        "token": *TOKEN,
        "persona_details": ["会把伞借给陌生人"],
        "events": [promise()],
        "unresolved": [{"text": "爸爸的体检报告还没出"}],
        "resolved": [{"id": "U001", "resolved_by": "降下来了"}],
    });
    samples.writes(tool, &["distilling", "distilling_crlf"], distilled);
    samples.writes(tool, &["distilling"], json!({"token": *TOKEN}));
    samples.refused("token_invalid", tool, "lived_in", json!({"token": *TOKEN}));

    samples.nothing("distill_begin", "lived_in", json!({}));
    samples.nothing("distill_abort", "distilling", json!({"token": *TOKEN}));
    samples.refused("token_invalid", "distill_abort", "lived_in", json!({"token": *TOKEN}));
}

fn reads(samples: &mut Samples) {
    samples.nothing("list_events", "lived_in", json!({}));
    samples.nothing("list_events", "bare", json!({"status": "待跟进", "limit": 1}));
    samples.refused("invalid_argument", "list_events", "new", json!({"limit": 0}));

    samples.nothing("read_memory", "lived_in", json!({"file": "index"}));
    samples.refused("not_found", "read_memory", "bare", json!({"file": "events"}));
    samples.refused("invalid_argument", "read_memory", "new", json!({"file": "secrets"}));

    samples.nothing("get_overview", "lived_in", json!({}));
    samples.nothing("get_overview", "bare", json!({}));

    samples.nothing("search_memory", "lived_in", json!({"query": "看展"}));
    samples.refused("missing_argument", "search_memory", "new", json!({}));
}

/// The samples that change files; with `CRASH_ONLY`, those whose name contains it.
pub(crate) fn writers() -> Vec<Sample> {
    let only = std::env::var("CRASH_ONLY").unwrap_or_default();
    samples().into_iter().filter(|sample| sample.effect == Effect::Writes && sample.name().contains(&only)).collect()
}

#[test]
fn every_tool_has_samples_and_one_that_writes_has_such_a_sample() {
    let folder = tempfile::tempdir().unwrap();
    assert!(program().args(["tools", "--write"]).arg(folder.path()).status().unwrap().success());
    let (mut tools, mut writing_tools) = (BTreeSet::new(), BTreeSet::new());
    for file in fs::read_dir(folder.path()).unwrap() {
        let schema: Value = serde_json::from_slice(&fs::read(file.unwrap().path()).unwrap()).unwrap();
        let name = schema["name"].as_str().unwrap().to_owned();
        if schema["annotations"]["readOnlyHint"] == false {
            writing_tools.insert(name.clone());
        }
        tools.insert(name);
    }
    let named =
        |samples: Vec<Sample>| samples.iter().map(|sample| sample.call.tool.to_owned()).collect::<BTreeSet<_>>();
    assert_eq!(named(samples()), tools, "the samples in `samples.rs` and the tools differ");
    // These two keep a lease, and change no memory.
    writing_tools.retain(|tool| !["distill_begin", "distill_abort"].contains(&tool.as_str()));
    assert_eq!(named(writers()), writing_tools, "a tool that writes has no sample that writes");
}

#[test]
fn every_sample_does_what_it_says_and_makes_no_step_without_need() {
    for sample in samples() {
        let workspace = laid_out(sample.files());
        let run = run(&workspace, &sample.call).traced().now();
        let is_untouched = all_files_of(workspace.root()) == *sample.files();
        let left_alone = files_of(workspace.root()) == only_memory(sample.files().clone());
        let effect = match (&run.refusal, left_alone) {
            (None, false) => Effect::Writes,
            (None, true) => Effect::Nothing,
            (Some(refusal), _) => Effect::Refused(&refusal.code),
        };
        assert_eq!(effect, sample.effect, "{}: {:?}", sample.name(), run.refusal);
        assert_eq!(run.steps.iter().any(Step::is_made), !is_untouched, "{}", sample.name());
    }
}
