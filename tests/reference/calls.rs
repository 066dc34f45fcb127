//! The tools over files that nobody else touches, as plain lists: each call says what must be answered, and the lists
//! say what the files must hold.

use jiff::{ToSpan as _, civil::Date};
use regex::Regex;
use serde_json::{Value, json};
use std::sync::LazyLock;

/// The files that every sequence begins with.
pub(crate) const FIRST_FILES: [(&str, &str); 5] = [
    ("memory/events.md", "# 事件\n"),
    ("memory/unresolved.md", "# 未完挂念\n\n## 已淡忘\n"),
    ("memory/mood_state.md", "valence: 0.00\nenergy: 0.50\n\n---\n\n## 快照历史\n\n（暂无快照）\n"),
    (".mood_state_aux", "consecutive_g4c_count: 0\n"),
    ("memory/MEMORY.md", "# 记忆索引\n\n## 最近未解决事项（Top 3）\n\n（暂无）\n\n---\n\n手写的一行。\n"),
];

/// What a caller says, how it stands in a file, and how the index shows it.
const TEXTS: [(&str, &str, &str); 8] = [
    ("周五一起去看展", "周五一起去看展", "周五一起去看展"),
    ("  周五一起去看展\t", "周五一起去看展", "周五一起去看展"),
    ("第一行\r\n第二行", "第一行<br>第二行", "第一行<br>第二行"),
    ("像 [E012] 那样", "像 &#91;E012] 那样", "像 &#91;E012] 那样"),
    ("<!-- 藏 -->", "&lt;!-- 藏 --&gt;", "&lt;!-- 藏 --&gt;"),
    ("&lt; 和 <br>", "&amp;lt; 和 &lt;br>", "&amp;lt; 和 &lt;br>"),
    (
        "### [E007] 2026-01-01 · 约定\n**状态**：待跟进",
        "### &#91;E007] 2026-01-01 · 约定<br>**状态**：待跟进",
        "### &#91;E007] 2026-01-01 · 约定<br>**状态**：待跟进",
    ),
    (
        "一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十尾",
        "一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十尾",
        "一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十一二三四五六七八九十…",
    ),
];
/// A worry, how it stands in the file, and what it is the same as.
const WORRIES: [(&str, &str, u8); 6] = [
    ("妈妈血压又高了", "妈妈血压又高了", 0),
    ("妈妈 血压又高了。", "妈妈 血压又高了。", 0),
    ("src=user_told 的意思", "src&#61;user_told 的意思", 1),
    ("ＡＢＣ 考试", "ＡＢＣ 考试", 2),
    ("abc考试！！", "abc考试！！", 2),
    ("- [U001] 假的", "- &#91;U001] 假的", 3),
];
const NOTES: [(&str, &str); 4] = [
    ("累", "累"),
    ("聊得很开心一二三四五六七", "聊得很开心一二三四五"),
    ("👨‍👩‍👧👨‍👩‍👧一家人", "👨‍👩‍👧👨‍👩‍👧一家人"),
    ("valence: 1", "valence: 1"),
];
const TYPES: [&str; 4] = ["情绪事件", "约定", "用户Todo", "重要事件"];
const STATUSES: [&str; 3] = ["待跟进", "已跟进", "已关闭"];
const KINDS: [(&str, char, &str); 4] = [
    ("user_told", 'U', "src=user_told kind=user_told decay_d=never"),
    ("work_line", 'M', "src=material_derived kind=work_line decay_d=90"),
    ("relational", 'M', "src=material_derived kind=relational decay_d=60"),
    ("chore", 'M', "src=material_derived kind=chore decay_d=30"),
];
/// The order of an event's fields.
const FIELDS: [&str; 5] = ["类型", "内容", "情绪强度", "状态", "到期日"];

/// One call, chosen by its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
    choice: [usize; 4],
}

impl Call {
    /// Any four bytes are a call.
    pub(crate) fn decode(bytes: [u8; 4], today: Date) -> Self {
        let choice = bytes.map(usize::from);
        let [what, a, b, c] = choice;
        let day = |byte: usize| (today + (i64::try_from(byte).unwrap() - 100).days()).to_string();
        let (tool, arguments) = match what % 8 {
            0..=2 => {
                let mut arguments = json!({"type": TYPES[a % 4], "content": TEXTS[b % 8].0, "date": day(c)});
                if a % 4 == 0 && a < 240 {
                    arguments["intensity"] = json!(1 + c % 5);
                }
                if a % 8 >= 4 {
                    arguments["due_date"] = json!(day(c));
                }
                ("append_event", arguments)
            }
            3 => {
                let mut arguments = json!({"id": format!("E{:03}", 1 + a % 12)});
                if b % 2 == 0 {
                    arguments["status"] = json!(STATUSES[b / 2 % 3]);
                }
                if c % 3 == 0 {
                    arguments["content"] = json!(TEXTS[c % 8].0);
                }
                if c % 2 == 0 {
                    arguments["due_date"] = json!(day(c));
                }
                ("update_event", arguments)
            }
            4 | 5 => {
                let hundredths = |byte: usize| f64::from(i32::try_from(byte).unwrap() - 128) / 100.0;
                let note = if c < 250 { NOTES[c % 4].0 } else { " \t" };
                let arguments = json!({"delta_valence": hundredths(a), "delta_energy": hundredths(b), "note": note});
                ("update_mood", arguments)
            }
            6 => ("add_unresolved", json!({"kind": KINDS[a % 4].0, "text": WORRIES[b % 6].0})),
            _ => ("touch_last_active", json!({})),
        };
        Self { tool, arguments, choice }
    }
}

#[derive(Debug, Clone)]
enum Entry {
    Event { number: usize, date: String, fields: [Option<String>; 5], in_index: &'static str },
    Sentinel(String),
}

/// What the files must hold.
#[derive(Debug)]
pub(crate) struct Model {
    today: Date,
    entries: Vec<Entry>,
    worries: Vec<(char, usize, u8, String)>,
    /// Hundredths.
    mood: (i32, i32),
    snapshots: Vec<String>,
    healing_steps: u32,
    shown: String,
}

impl Model {
    pub(crate) fn new(today: Date) -> Self {
        let shown = "（暂无）\n".to_owned();
        Self { today, entries: vec![], worries: vec![], mood: (0, 50), snapshots: vec![], healing_steps: 0, shown }
    }

    /// Takes a call and what it was answered; the code if it was refused.
    pub(crate) fn expect(&mut self, call: &Call, answer: Result<&Value, &str>) {
        let expected = match call.tool {
            "append_event" => self.append_event(call),
            "update_event" => self.update_event(call),
            "update_mood" => self.update_mood(call),
            "add_unresolved" => Ok(self.add_unresolved(call)),
            _ => Ok(self.touch(answer.ok().and_then(|answer| answer["last_active"].as_str()).unwrap_or_default())),
        };
        match (&expected, answer) {
            (Ok(expected), Ok(answer)) => {
                for (name, value) in expected.as_object().unwrap() {
                    assert_eq!(&answer[name], value, "`{name}` of {call:?}");
                }
            }
            (Err(expected), Err(answer)) => assert_eq!(*expected, answer, "{call:?}"),
            _ => panic!("{call:?} was answered {answer:?}, not {expected:?}"),
        }
    }

    fn append_event(&mut self, call: &Call) -> Result<Value, &'static str> {
        let [_, a, b, _] = call.choice;
        let arguments = &call.arguments;
        let is_emotional = a % 4 == 0;
        let stars = arguments["intensity"].as_u64().map(|stars| "⭐".repeat(usize::try_from(stars).unwrap()));
        if is_emotional && stars.is_none() {
            return Err("missing_argument");
        }
        let due = arguments["due_date"].as_str().filter(|_| !is_emotional).map(str::to_owned);
        let due = due.or_else(|| (a % 4 == 1).then(|| "未定".to_owned()));
        let content = Some(TEXTS[b % 8].1.to_owned());
        let fields = [Some(TYPES[a % 4].to_owned()), content, stars, Some(STATUSES[0].to_owned()), due];
        let number = 1 + self.events().map(|(number, ..)| number).max().unwrap_or(0);
        let date = arguments["date"].as_str().unwrap().to_owned();
        self.entries.push(Entry::Event { number, date, fields, in_index: TEXTS[b % 8].2 });
        self.refresh();
        Ok(json!({"id": format!("E{number:03}")}))
    }

    fn update_event(&mut self, call: &Call) -> Result<Value, &'static str> {
        let [_, a, _, c] = call.choice;
        let wanted = 1 + a % 12;
        let arguments = &call.arguments;
        if arguments.as_object().unwrap().len() == 1 {
            return Err("missing_argument");
        }
        let found =
            self.entries.iter_mut().find(|entry| matches!(entry, Entry::Event { number, .. } if *number == wanted));
        let Some(Entry::Event { fields, in_index, .. }) = found else { return Err("not_found") };
        let is_emotional = fields[0].as_deref() == Some(TYPES[0]);
        let mut changed = Vec::new();
        let mut set = |index: usize, name: &'static str, value: Option<&str>| {
            if let Some(value) = value.filter(|value| fields[index].as_deref() != Some(value)) {
                fields[index] = Some(value.to_owned());
                changed.push(name);
            }
        };
        if arguments.get("content").is_some() {
            set(1, "content", Some(TEXTS[c % 8].1));
            *in_index = TEXTS[c % 8].2;
        }
        set(3, "status", arguments["status"].as_str());
        set(4, "due_date", arguments["due_date"].as_str().filter(|_| !is_emotional));
        self.refresh();
        Ok(json!({"id": format!("E{wanted:03}"), "changed": changed}))
    }

    fn update_mood(&mut self, call: &Call) -> Result<Value, &'static str> {
        let [_, a, b, c] = call.choice;
        if c >= 250 {
            return Err("invalid_argument");
        }
        let (rise, lift) = (i32::try_from(a).unwrap() - 128, i32::try_from(b).unwrap() - 128);
        let blocked = rise > 0 && self.healing_steps >= 2;
        let healing = rise > 0 && self.mood.0 < 0;
        let valence = (self.mood.0 + if blocked { 0 } else { rise.clamp(-30, 30) }).clamp(-100, 100);
        let energy = (self.mood.1 + lift.clamp(-20, 20)).clamp(0, 100);
        self.healing_steps = if healing { self.healing_steps + u32::from(!blocked) } else { 0 };
        self.mood = (valence, energy);
        let note = NOTES[c % 4].1;
        let snapshot = format!(
            "### <minute> · source=conversation\nvalence: {}\nenergy: {}\nnote: {note}\n",
            written(valence),
            written(energy)
        );
        self.snapshots.insert(0, snapshot);
        self.snapshots.truncate(10);
        let after = json!({"valence": f64::from(valence) / 100.0, "energy": f64::from(energy) / 100.0});
        Ok(json!({"after": after, "g4c_count": self.healing_steps, "g4c_blocked": blocked, "note_cut": c % 4 == 1}))
    }

    fn add_unresolved(&mut self, call: &Call) -> Value {
        let [_, a, b, _] = call.choice;
        let (_, letter, marks) = KINDS[a % 4];
        let (_, text, meaning) = WORRIES[b % 6];
        let of_letter = self.worries.iter().filter(|worry| worry.0 == letter);
        if let Some((_, number, ..)) = of_letter.clone().find(|worry| worry.2 == meaning) {
            return json!({"id": format!("{letter}{number:03}"), "deduplicated": true});
        }
        let number = 1 + of_letter.count();
        let line = format!("- [{letter}{number:03}] {marks} last_touched=(never) forced_echo_last=(never) {text}\n");
        self.worries.push((letter, number, meaning, line));
        json!({"id": format!("{letter}{number:03}"), "deduplicated": false})
    }

    fn touch(&mut self, minute: &str) -> Value {
        let stands = matches!(self.entries.last(), Some(Entry::Sentinel(last)) if last == minute);
        if !stands {
            self.entries.push(Entry::Sentinel(minute.to_owned()));
        }
        json!({"written": !stands})
    }

    fn events(&self) -> impl Iterator<Item = (usize, &str, &[Option<String>; 5], &str)> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::Event { number, date, fields, in_index } => Some((*number, date.as_str(), fields, *in_index)),
            Entry::Sentinel(_) => None,
        })
    }

    /// The index is refreshed by the calls that change events, and by no others.
    fn refresh(&mut self) {
        let mut open: Vec<_> = self
            .events()
            .filter(|(_, _, fields, _)| fields[3].as_deref() == Some("待跟进"))
            .map(|(number, _, fields, in_index)| {
                let due: Option<Date> = fields[4].as_deref().and_then(|due| due.parse().ok());
                let distance = due.map_or(i32::MAX, |due| (due - self.today).get_days().abs());
                let shown_due = due.map(|due| format!("{due} · ")).unwrap_or_default();
                let line = format!("- [E{number:03}] {shown_due}{} · {in_index}\n", fields[0].as_deref().unwrap());
                (distance, due, std::cmp::Reverse(number), line)
            })
            .collect();
        open.sort();
        open.truncate(3);
        let none = "（暂无）\n".to_owned();
        self.shown = if open.is_empty() { none } else { open.into_iter().map(|(.., line)| line).collect() };
    }

    /// The files, with every time of the clock as `<minute>` or `<instant>`.
    pub(crate) fn files(&self) -> Vec<(&'static str, String)> {
        let mut events = FIRST_FILES[0].1.to_owned();
        for entry in &self.entries {
            events += "\n";
            match entry {
                Entry::Sentinel(_) => events += "### [E000] <minute> · last_active\n",
                Entry::Event { number, date, fields, .. } => {
                    let fields_text: String = FIELDS
                        .iter()
                        .zip(fields)
                        .filter_map(|(name, value)| Some(["**", name, "**：", value.as_ref()?, "\n"].concat()))
                        .collect();
                    let id = format!("E{number:03}");
                    events +=
                        &["### [", &id, "] ", date, " · ", fields[0].as_deref().unwrap(), "\n", &fields_text].concat();
                }
            }
        }
        let worries: String = self.worries.iter().map(|worry| worry.3.as_str()).collect();
        let gap = if worries.is_empty() { "" } else { "\n" };
        let history =
            if self.snapshots.is_empty() { "（暂无快照）\n".to_owned() } else { self.snapshots.join("\n") };
        let (valence, energy) = (written(self.mood.0), written(self.mood.1));
        let instant = if self.snapshots.is_empty() { "" } else { "last_decay_written_at: <instant>\n" };
        vec![
            ("memory/events.md", events),
            ("memory/unresolved.md", format!("# 未完挂念\n\n{worries}{gap}## 已淡忘\n")),
            (
                "memory/mood_state.md",
                format!("valence: {valence}\nenergy: {energy}\n\n---\n\n## 快照历史\n\n{history}"),
            ),
            (".mood_state_aux", format!("consecutive_g4c_count: {}\n{instant}", self.healing_steps)),
            ("memory/MEMORY.md", FIRST_FILES[4].1.replace("（暂无）\n", &self.shown)),
        ]
    }
}

fn written(hundredths: i32) -> String {
    let sign = if hundredths < 0 { "-" } else { "" };
    format!("{sign}{}.{:02}", hundredths.abs() / 100, hundredths.abs() % 100)
}

/// A file's text with every time of the clock named instead.
pub(crate) fn without_times(text: &str) -> String {
    static INSTANT: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d").unwrap());
    static MINUTE: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\d{4}-\d\d-\d\dT\d\d:\d\d").unwrap());
    MINUTE.replace_all(&INSTANT.replace_all(text, "<instant>"), "<minute>").into_owned()
}
