//! The workspaces that sample calls start from.

use crate::{
    attack::{Call, JOURNAL, files_of, laid_out, run},
    support::{Workspace, program},
};
use jiff::Timestamp;
use rusqlite::Connection;
use serde_json::json;
use std::{collections::BTreeMap, sync::LazyLock};

/// Files by their place below the workspace's folder.
pub(crate) type Files = BTreeMap<String, Vec<u8>>;

const EVENTS: &str = "# 事件记录\n\n<!--\n### [E<编号>] <日期> · <类型>\n-->\n\n\
    ### [E001] 2026-04-01 · 情绪事件\n**类型**：情绪事件\n**内容**：面试没过\n**情绪强度**：⭐⭐⭐⭐\n**用户状态**：低落\n**状态**：已跟进\n\n\
    ### [E000] 2026-04-01T21:05 · last_active\n\n\
    ### [E002] 2026-04-02 · 约定\n**类型**：约定\n**内容**：周五一起去看展\n**备注**：手写的一行\n**状态**：待跟进\n**到期日**：2026-04-17\n\n\
    ### [E003] 2026-04-03 · 用户Todo\n**类型**：用户Todo\n**内容**：交房租\n**状态**：待跟进\n\n\
    ### [E000] 2026-04-03T08:00 · last_active\n";
const INDEX: &str = "# 记忆索引\n\n```yaml\ninitialization_status: done   # pending / done\n```\n\n\
    ## 最近未解决事项（Top 3）\n\n> 每次写入后自动刷新。\n\n- [E002] 2026-04-17 · 约定 · 周五一起去看展\n- [E003] 用户Todo · 交房租\n\n---\n\n## 其他\n\n手写的一行。\n";
const UNRESOLVED: &str = "# 未完挂念\n\n\
    - [U001] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 妈妈血压又高了\n\
    - [M001] src=material_derived kind=work_line decay_d=90 last_touched=L010 forced_echo_last=(never) 剧本里那句别扭的对白\n\
    - [M002] src=material_derived kind=chore decay_d=30 last_touched=L001 forced_echo_last=(never) 阳台的灯泡\n\n\
    ## 已淡忘\n\n\
    - [U002] src=user_told kind=user_told decay_d=never last_touched=(never) forced_echo_last=(never) 猫走丢了 resolved_by: \"找到了\"\n";
const LIFE_LOG: &str = "# 生活日志\n\n### [L001] 2025-11-02T10:00 · 换灯泡\n想着要换。\n\n### [L010] 2026-04-12T16:00 · 改剧本\n改了一下午。\n";
const PERSONA: &str = "# 人物档案\n\n## 性格\n\nstability: 3\n\n## 在对话中形成的新细节\n\n- **[2026-04-01]** 喜欢下雨天\n- **[2026-04-02]** 怕打雷\n";
const PROFILE: &str = "# 用户档案\n\n## 基本信息\n\n- **称呼**：小林\n- **年龄段**（大致）：三十出头\n- **职业/身份**：编剧\n- **城市**：\n\n\
    ## 喜欢（聊得来的）\n\n- 老电影\n- 爵士乐\n- 骑车\n- 看展\n- 做饭\n- 咖啡\n- 夜跑\n- 推理小说\n- 海边\n- 旧书店\n\n\
    ## 不喜欢 / 禁忌话题\n\n- 别提前任\n\n## 重要关系\n\n- 妈妈：血压高\n- 同事阿哲：一起写本子\n\n## 正在经历的重要事情\n\n- \n";
const DISTILL_STATE: &str = "# 提炼进度\n\n### [D000] · last_distillation\ntimestamp: 2026-04-13T08:40:12.300000001+08:00\nlast_decay_scan: 2026-04-10\n";
const AUX: &str = "last_decay_written_at: 2026-04-12T20:00:00+08:00\nconsecutive_g4c_count: 1\nfuture_field: 留着\n";

/// What commits or aborts the distillation that `distilling` has begun.
pub(crate) static TOKEN: LazyLock<String> = LazyLock::new(|| LEASE.0.clone());

/// The token and the lease of a distillation that was begun, and waits for its commit.
static LEASE: LazyLock<(String, Vec<u8>)> = LazyLock::new(|| {
    let workspace = Workspace::in_memory()
        .file("memory/MEMORY.md", INDEX)
        .file("memory/distill_state.md", DISTILL_STATE)
        .file("sessions/a/SESSION_CONTEXT.md", "- Channel key: p2p:demo\n- DB path: messages.db\n");
    let messages = Connection::open(workspace.path("messages.db")).unwrap();
    let sent_at = Timestamp::now().to_string();
    messages
        .execute_batch(&format!(
            "CREATE TABLE sessions (id, channel_key);
             CREATE TABLE messages (id, session_id, role, content, created_at);
             INSERT INTO sessions VALUES ('s', 'p2p:demo');
             INSERT INTO messages VALUES ('m1', 's', 'user', '爸爸的体检报告还没出', '{sent_at}');"
        ))
        .unwrap();
    // Longer than any test takes.
    let begun = workspace.run(&["--distill-lease", "86400", "call", "distill_begin"]).answer().unwrap();
    let token = begun["token"].as_str().unwrap_or_else(|| panic!("not begun: {begun}"));
    (token.to_owned(), workspace.bytes(".distill_lease"))
});

/// Ten snapshots: one more pushes the oldest out.
fn mood() -> String {
    let snapshots = (0..10).rev().map(|n| {
        format!("\n### 2026-04-1{n}T21:05 · source=conversation\nvalence: -0.20\nenergy: 0.55\nnote: 第{n}次\n")
    });
    format!("valence: -0.20\nenergy: 0.55\n\n---\n\n## 快照历史\n{}", snapshots.collect::<String>())
}

fn changed(files: &Files, change: impl Fn(&str) -> String) -> Files {
    files.iter().map(|(name, text)| (name.clone(), change(std::str::from_utf8(text).unwrap()).into_bytes())).collect()
}

/// The journal of an earlier call beside the files, as a workspace in use has it.
fn with_journal(mut files: Files) -> Files {
    let workspace = laid_out(&files);
    run(&workspace, &Call { tool: "touch_last_active", arguments: json!({}) }).undisturbed();
    files.insert(JOURNAL.to_owned(), workspace.bytes(JOURNAL));
    files
}

/// The workspaces that samples start from. All but the first two have been written to before.
pub(crate) static STARTS: LazyLock<BTreeMap<&'static str, Files>> = LazyLock::new(|| {
    let folder = tempfile::tempdir().unwrap();
    let made = program().arg("init").arg(folder.path()).output().unwrap();
    assert!(made.status.success(), "{made:?}");
    let new = files_of(folder.path());

    let texts = [
        ("memory/events.md", EVENTS),
        ("memory/MEMORY.md", INDEX),
        ("memory/unresolved.md", UNRESOLVED),
        ("memory/life_log.md", LIFE_LOG),
        ("memory/persona.md", PERSONA),
        ("memory/user_profile.md", PROFILE),
        ("memory/distill_state.md", DISTILL_STATE),
        ("memory/mood_state.md", &mood()),
        (".mood_state_aux", AUX),
    ];
    let lived_in: Files = texts.map(|(name, text)| (name.to_owned(), text.as_bytes().to_vec())).into();

    // As an editor on Windows leaves it, and as one that forgets the last newline does.
    let crlf = changed(&lived_in, |text| text.replace('\n', "\r\n"));
    let ragged = changed(&lived_in, |text| format!("\u{feff}{}", text.trim_end()));

    let mut broken_bytes = lived_in.clone();
    for text in broken_bytes.values_mut() {
        let middle = text.windows(2).position(|pair| pair == b"\n\n").unwrap_or(0);
        text.splice(middle..middle, b"\n<!-- \xff\xfe -->".iter().copied());
    }

    // Beyond what the journal keeps of a file that is replaced.
    let filler = format!("<!-- {} -->\n\n", "旧".repeat(22_000));
    let mut large = changed(&lived_in, |text| match text.split_once("\n\n") {
        Some((head, rest)) => format!("{head}\n\n{filler}{rest}"),
        None => text.to_owned(),
    });

    for read_only in ["memory/life_log.md", "memory/distill_state.md"] {
        large.insert(read_only.to_owned(), lived_in[read_only].clone());
    }

    // A distillation has begun, and waits for its commit.
    let distilling = [&lived_in, &crlf].map(|files| {
        let mut files = files.clone();
        files.insert(".distill_lease".to_owned(), LEASE.1.clone());
        files
    });

    let [distilling, distilling_crlf] = distilling.map(with_journal);
    let written_to = [lived_in, crlf, ragged, broken_bytes, large].map(with_journal);
    ["lived_in", "crlf", "ragged", "broken_bytes", "large"]
        .into_iter()
        .zip(written_to)
        .chain([("bare", Files::new()), ("new", new), ("distilling", distilling), ("distilling_crlf", distilling_crlf)])
        .collect()
});
