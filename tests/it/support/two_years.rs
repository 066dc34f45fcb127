//! Two years of a companion's memory, made anew for each test: the same bytes every time, and what is in them.

use super::{Workspace, index_with};
use jiff::{ToSpan, civil::date};
use std::fmt::Write;

/// How many days there are.
const DAYS: i32 = 730;

/// The files, and the facts that a test compares answers with.
pub(crate) struct TwoYears {
    pub(crate) workspace: Workspace,
    /// Number, content, whether it is open, due date; in the order of the file.
    pub(crate) events: Vec<(u32, String, bool, Option<String>)>,
    /// Number and text of the active worries, in the order of the file.
    pub(crate) worries: Vec<(u32, String)>,
}

/// A small generator of numbers that never changes.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }

    fn one_of<'a>(&mut self, words: &[&'a str]) -> &'a str {
        words[usize::try_from(self.below(words.len() as u64)).unwrap()]
    }
}

const WHO: [&str; 6] = ["她", "室友", "妈妈", "同事", "甲方", "老同学"];
const WHAT: [&str; 8] =
    ["说起搬家", "约着去看展", "抱怨改稿", "学会了做饭", "想养一只猫", "半夜失眠", "收到了信", "把伞忘在车上"];
const HOW: [&str; 5] = ["很开心", "有点累", "说不清为什么", "笑了半天", "哭了一会儿"];

impl TwoYears {
    pub(crate) fn new() -> Self {
        let mut numbers = Numbers(20_240_401);
        let first = date(2023, 1, 1);
        let mut text = "# 事件记录\n\n> 两年的事，旧账如 [E9999] 只是文字。\n".to_owned();
        let mut log = "# 生活日志\n".to_owned();
        let mut history = "# 最近消息\n\n".to_owned();
        let mut events = Vec::new();
        let mut number = 0;
        for day in 0..DAYS {
            let today = first + day.days();
            for _ in 0..numbers.below(4) {
                number += 1;
                let kind = numbers.one_of(&["情绪事件", "约定", "用户Todo", "重要事件"]);
                let content = format!(
                    "{}{}，{}（第{number}桩）",
                    numbers.one_of(&WHO),
                    numbers.one_of(&WHAT),
                    numbers.one_of(&HOW)
                );
                let open = numbers.below(12) == 0;
                let due = (kind == "约定" && numbers.below(3) > 0)
                    .then(|| (today + i64::try_from(numbers.below(20)).unwrap().days()).to_string());
                write!(text, "\n### [E{number:03}] {today} · {kind}\n**类型**：{kind}\n**内容**：{content}\n").unwrap();
                if kind == "情绪事件" {
                    let stars = usize::try_from(1 + numbers.below(5)).unwrap();
                    writeln!(text, "**情绪强度**：{}", "⭐".repeat(stars)).unwrap();
                }
                writeln!(text, "**状态**：{}", if open { "待跟进" } else { "已关闭" }).unwrap();
                if kind == "约定" {
                    writeln!(text, "**到期日**：{}", due.as_deref().unwrap_or("未定")).unwrap();
                }
                events.push((number, content, open, due));
            }
            for _ in 0..numbers.below(6) {
                let (hour, minute) = (numbers.below(24), numbers.below(60));
                write!(text, "\n### [E000] {today}T{hour:02}:{minute:02} · last_active\n").unwrap();
            }
            if day % 2 == 0 {
                let place = numbers.one_of(&["阳台", "书店", "车站", "河边"]);
                write!(log, "\n### [L{:03}] {today}T16:00 · {place}\n{}。\n", day / 2 + 1, numbers.one_of(&WHAT))
                    .unwrap();
            }
            for _ in 0..10 {
                writeln!(history, "**用户** {}{}", numbers.one_of(&WHO), numbers.one_of(&WHAT)).unwrap();
            }
        }
        let (mut active, mut faded) = (String::new(), String::new());
        let mut worries = Vec::new();
        for number in 1..=150 {
            let line = format!(
                "[U{number:03}] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) {}{}（第{number}件）",
                numbers.one_of(&WHO),
                numbers.one_of(&WHAT)
            );
            if numbers.below(4) == 0 {
                writeln!(active, "- {line}").unwrap();
                worries.push((number, line.rsplit(' ').next().unwrap().to_owned()));
            } else {
                writeln!(faded, "- {line} resolved_by: \"好了\"").unwrap();
            }
        }
        let mut profile = "# 用户档案\n".to_owned();
        for section in ["基本信息", "喜欢（聊得来的）", "不喜欢 / 禁忌话题", "重要关系", "偏好与习惯"]
        {
            write!(profile, "\n## {section}\n\n").unwrap();
            for n in 1..=10 {
                writeln!(profile, "- {section}里的第{n}条：{}", numbers.one_of(&HOW)).unwrap();
            }
        }
        let details: String = (0..400).map(|n| format!("• [{}] 细节{n}\n", first + n.days())).collect();
        let workspace = Workspace::new()
            .file("memory/events.md", text)
            .file("memory/life_log.md", log)
            .file("memory/RECENT_HISTORY.md", history)
            .file("memory/unresolved.md", format!("# 未完挂念\n\n{active}\n## 已淡忘\n\n{faded}"))
            .file("memory/user_profile.md", profile)
            .file("memory/persona.md", format!("# 人物档案\n\nstability: 3\n\n## 在对话中形成的新细节\n\n{details}"))
            .file("memory/mood_state.md", "valence: 0.10\nenergy: 0.50\n\n---\n\n## 快照历史\n\n（暂无快照）\n")
            .file("memory/MEMORY.md", index_with("（暂无）"));
        Self { workspace, events, worries }
    }
}
