//! Runs calls that are stopped or whose steps fail, and compares what they leave with what undisturbed ones leave.

use crate::{
    disk_model::Step,
    samples::Sample,
    starts::Files,
    support::{Dice, Outcome, Refusal, Workspace, bash, missing},
};
use regex::bytes::Regex;
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fmt::Write as _,
    fs, iter,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, LazyLock, Mutex},
};

/// One call of a tool.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) tool: &'static str,
    pub(crate) arguments: Value,
}

/// What may change a workspace.
#[derive(Clone, Debug)]
pub(crate) enum Act {
    Call(Call),
    /// A bash procedure adds an event under the lock.
    Bash,
}

/// The boot in which calls are made, unless a test says otherwise.
pub(crate) const FIRST_BOOT: &str = "first";
pub(crate) const NEXT_BOOT: &str = "next";
pub(crate) const LAST_BOOT: &str = "last";

/// A read, which recovers and changes nothing else.
pub(crate) fn look() -> Call {
    Call { tool: "list_events", arguments: json!({}) }
}

/// A write that leaves the events and the index alone, so that these show what recovery made of them.
pub(crate) fn next_worry() -> Call {
    Call { tool: "add_unresolved", arguments: json!({"text": "下一件事"}) }
}

/// The bits of a scenario's first two acts among its [`Outcomes`]: the sample's call, and the call that comes after.
pub(crate) const CALL: usize = 0b1;
pub(crate) const NEXT: usize = 0b10;

/// A write that brings the index up to date with what a bash procedure added.
pub(crate) fn next_event() -> Call {
    let arguments = json!({"type": "约定", "content": "下一个约定", "date": "2026-04-14", "due_date": "2026-05-02"});
    Call { tool: "append_event", arguments }
}

const BASH_APPENDS: &str = r#"
exec 9>"$WORKSPACE_DIR/.memory.lock"
flock -x -w 30 9
last=$(grep -aoP '^### \[E\K[0-9]+(?=\])' memory/events.md 2>/dev/null | sed 's/^0*//' | sort -n | tail -n 1 || true)
next=$(printf '%03d' $((10#${last:-0} + 1)))
printf '\n### [E%s] 2026-04-13 · 约定\n**类型**：约定\n**内容**：外面写的\n**状态**：待跟进\n**到期日**：2026-05-01\n' "$next" >> memory/events.md
"#;

pub(crate) fn bash_appends(workspace: &Workspace) {
    let output = bash(workspace, BASH_APPENDS).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

/// A call that is about to be made.
pub(crate) struct Run<'r> {
    workspace: &'r Workspace,
    call: &'r Call,
    fault: Option<String>,
    boot: &'r str,
    is_traced: bool,
    mounted: &'r [&'r str],
}

/// What a call did.
#[derive(Debug)]
pub(crate) struct Ran {
    /// `None` if it was stopped.
    pub(crate) status: Option<i32>,
    /// What it answered, whatever happened to it afterwards.
    pub(crate) answer: Option<Value>,
    pub(crate) refusal: Option<Refusal>,
    /// The steps that it made, if it was traced.
    pub(crate) steps: Vec<Step>,
}

impl Ran {
    /// The call's bit among the acts of its scenario, if it was answered.
    pub(crate) fn answered(&self, bit: usize) -> usize {
        if self.answer.is_some() { bit } else { 0 }
    }
}

pub(crate) fn run<'r>(workspace: &'r Workspace, call: &'r Call) -> Run<'r> {
    Run { workspace, call, fault: None, boot: FIRST_BOOT, is_traced: false, mounted: &[] }
}

impl<'r> Run<'r> {
    /// As the seam takes it: `stop:3`, `eio:3-`.
    pub(crate) fn with_fault(self, fault: impl Into<String>) -> Self {
        Self { fault: Some(fault.into()), ..self }
    }

    pub(crate) fn in_boot(self, boot: &'r str) -> Self {
        Self { boot, ..self }
    }

    pub(crate) fn traced(self) -> Self {
        Self { is_traced: true, ..self }
    }

    /// With each of these files mounted by itself, so that no rename can replace it.
    pub(crate) fn with_mounted(self, mounted: &'r [&'r str]) -> Self {
        Self { mounted, ..self }
    }

    pub(crate) fn now(self) -> Ran {
        let trace = self.workspace.path(TRACE);
        let mut command = self.workspace.command();
        // A warning in the log is no part of the refusal.
        command.env("COMPANION_MEMORY_BOOT", self.boot).env("RUST_LOG", "off");
        command.envs(self.fault.map(|fault| ("COMPANION_MEMORY_FAULT", fault)));
        command.envs(self.is_traced.then_some(("COMPANION_MEMORY_TRACE", &trace)));
        command.args(["call", self.call.tool, &self.call.arguments.to_string()]);
        if !self.mounted.is_empty() {
            command = in_mounts(&command, self.mounted.iter().map(|file| self.workspace.path(file)));
        }
        let outcome = Outcome::of(command, None);
        assert_ne!(outcome.status, Some(70), "{outcome:?}");
        let refused = outcome.status.is_some_and(|status| status != 0);
        let ran = Ran {
            status: outcome.status,
            answer: serde_json::from_str(&outcome.stdout).ok(),
            refusal: refused.then(|| Refusal::parse(&outcome.stderr)),
            steps: read_trace(&trace, self.workspace.root()),
        };
        let _ = fs::remove_file(trace);
        ran
    }

    /// A call that nothing may keep from succeeding.
    pub(crate) fn succeeds(self) -> Result<Ran, String> {
        let tool = self.call.tool;
        let ran = self.now();
        if ran.status == Some(0) {
            Ok(ran)
        } else {
            Err(format!("  `{tool}` ended with {:?}: {:?}", ran.status, ran.refusal))
        }
    }

    /// The same, where nothing is being tried out.
    pub(crate) fn undisturbed(self) -> Ran {
        self.succeeds().unwrap_or_else(|failure| panic!("undisturbed: {failure}"))
    }
}

/// A command in a mount namespace of its own, where these files are mounted by themselves.
fn in_mounts(command: &Command, files: impl Iterator<Item = PathBuf>) -> Command {
    const SCRIPT: &str = r#"while [ "$1" != -- ]; do mount --bind "$1" "$1"; shift; done; shift; exec "$@""#;
    let mut mounting = Command::new("unshare");
    mounting.args(["--mount", "sh", "-euc", SCRIPT, "sh"]).args(files).arg("--");
    mounting.arg(command.get_program()).args(command.get_args());
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => mounting.env(name, value),
            None => mounting.env_remove(name),
        };
    }
    mounting
}

/// Whether this user may mount a file by itself.
pub(crate) fn can_mount() -> bool {
    let workspace = Workspace::in_memory().file("file", "");
    let command = in_mounts(&Command::new("true"), std::iter::once(workspace.path("file")));
    !missing(&["unshare", "mount"]) && Outcome::of(command, None).status == Some(0)
}

pub(crate) const JOURNAL: &str = ".memory_journal";
/// Where a traced call leaves its steps.
const TRACE: &str = ".trace";

fn read_trace(trace: &Path, root: &Path) -> Vec<Step> {
    let Ok(lines) = fs::read_to_string(trace) else { return Vec::new() };
    let mut steps: Vec<Step> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for path in steps.iter_mut().flat_map(Step::paths) {
        *path = Path::new(&path).strip_prefix(root).unwrap().to_str().unwrap().to_owned();
    }
    steps
}

/// Every file below a folder but the locks and the trace.
pub(crate) fn all_files_of(root: &Path) -> Files {
    let mut files = Files::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            if ![".memory.lock", ".distill.lock", TRACE].contains(&name) {
                files.insert(name.to_owned(), fs::read(&path).unwrap());
            }
        }
    }
    files
}

/// The same without the journal and the lease of a distillation: the memory, and whatever else lies there.
pub(crate) fn files_of(root: &Path) -> Files {
    only_memory(all_files_of(root))
}

pub(crate) fn only_memory(mut files: Files) -> Files {
    files.remove(JOURNAL);
    files.remove(".distill_lease");
    files
}

/// A workspace with these files.
pub(crate) fn laid_out(files: &Files) -> Workspace {
    files.iter().fold(Workspace::in_memory(), |workspace, (name, bytes)| workspace.file(name, bytes))
}

/// How many steps a call makes if nothing goes wrong.
pub(crate) fn count_steps(start: &Files, call: &Call, mounted: &[&str]) -> usize {
    let ran = run(&laid_out(start), call).with_mounted(mounted).traced().undisturbed();
    ran.steps.iter().filter(|step| step.is_made()).count()
}

/// Every place where a sample may be stopped: before each step, and in the middle of each write.
pub(crate) fn stops(sample: &Sample) -> Vec<String> {
    let ran = run(&laid_out(sample.files()), &sample.call).traced().undisturbed();
    let steps = ran.steps.iter().filter(|step| step.is_made()).zip(1..);
    let stops = steps.flat_map(|(step, number)| {
        let tear = matches!(step, Step::Write { .. }).then(|| format!("tear:{number}"));
        iter::once(format!("stop:{number}")).chain(tear)
    });
    stops.collect()
}

/// What undisturbed runs make of a workspace, for every choice among some acts, done in their order.
pub(crate) struct Outcomes {
    start: Files,
    /// The times that stood in the files before.
    start_times: BTreeSet<Vec<u8>>,
    /// By the acts that were done: bit n for the n-th.
    by_choice: Vec<Files>,
    numbers: Numbers,
}

static TIMES: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}[+-]\d{2}:\d{2})?").unwrap());
static NUMBERS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"\[E0*[1-9]\d*\]").unwrap());
static HEADINGS: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^### \[E0*([1-9]\d*)\]").unwrap());

/// Whether the files must agree in the numbers of their events, and the order in which they stand.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Numbers {
    Agree,
    /// Another program gave out numbers meanwhile: each entry must be there, under a number of its own. The lines of
    /// an entry may stand in another order.
    AreTheirOwn,
}

impl Outcomes {
    pub(crate) fn of(start: &Files, acts: &[Act], numbers: Numbers) -> Self {
        let start_times = only_memory(start.clone())
            .values()
            .flat_map(|text| TIMES.find_iter(text).map(|time| time.as_bytes().to_vec()).collect::<Vec<_>>())
            .collect();
        let mut outcomes = Self { start: start.clone(), start_times, by_choice: Vec::new(), numbers };
        for choice in 0..1_usize << acts.len() {
            let workspace = laid_out(start);
            for (_, act) in (0..).zip(acts).filter(|(bit, _)| choice >> bit & 1 == 1) {
                match act {
                    Act::Call(call) => drop(run(&workspace, call).undisturbed()),
                    Act::Bash => bash_appends(&workspace),
                }
            }
            let files = outcomes.comparable(&files_of(workspace.root()));
            outcomes.by_choice.push(files);
        }
        outcomes
    }

    /// Whether the files are as one of the choices leaves them that contain at least the acts `done`. Says what differs.
    pub(crate) fn check(&self, workspace: &Workspace, done: usize) -> Result<(), String> {
        let found = files_of(workspace.root());
        if self.numbers == Numbers::AreTheirOwn {
            numbers_are_unique(&found)?;
        }
        let found = self.comparable(&found);
        let allowed: Vec<_> = (0..self.by_choice.len()).filter(|choice| choice & done == done).collect();
        if allowed.iter().any(|choice| self.by_choice[*choice] == found) {
            return Ok(());
        }
        let differences = allowed.iter().map(|choice| difference(*choice, &self.by_choice[*choice], &found));
        Err(differences.collect::<Vec<_>>().join("\n"))
    }

    fn comparable(&self, files: &Files) -> Files {
        let text = |name: &String, bytes: &Vec<u8>| {
            if self.start.get(name) == Some(bytes) { bytes.clone() } else { self.comparable_text(bytes) }
        };
        files.iter().map(|(name, bytes)| (name.clone(), text(name, bytes))).collect()
    }

    /// The time at which a call was made is no difference.
    fn comparable_text(&self, bytes: &[u8]) -> Vec<u8> {
        let text = TIMES.replace_all(bytes, |time: &regex::bytes::Captures<'_>| {
            if self.start_times.contains(&time[0]) { time[0].to_vec() } else { b"NOW".to_vec() }
        });
        if self.numbers == Numbers::Agree {
            return text.into_owned();
        }
        let text = String::from_utf8_lossy(&NUMBERS.replace_all(&text, b"[E#]".as_slice())).into_owned();
        let text = format!("\n{}", text.trim_start());
        let mut entries: Vec<Vec<_>> = text.split("\n### ").map(|entry| entry.trim_end().lines().collect()).collect();
        entries[1..].iter_mut().for_each(|lines| lines.sort_unstable());
        entries[1..].sort_unstable();
        entries.concat().join("\n").into_bytes()
    }
}

/// The outcomes of a sample's call and of the worry that comes after it, which most scenarios compare with.
pub(crate) fn call_and_worry(sample: &Sample) -> Arc<Outcomes> {
    static KNOWN: Mutex<BTreeMap<String, Arc<Outcomes>>> = Mutex::new(BTreeMap::new());
    let name = format!("{} {} {}", sample.call.tool, sample.call.arguments, sample.start);
    if let Some(outcomes) = KNOWN.lock().unwrap().get(&name) {
        return Arc::clone(outcomes);
    }
    let acts = [sample.call.clone(), next_worry()].map(Act::Call);
    let outcomes = Arc::new(Outcomes::of(sample.files(), &acts, Numbers::Agree));
    KNOWN.lock().unwrap().insert(name, Arc::clone(&outcomes));
    outcomes
}

fn numbers_are_unique(files: &Files) -> Result<(), String> {
    let Some(events) = files.get("memory/events.md") else { return Ok(()) };
    let mut seen = BTreeSet::new();
    match HEADINGS.captures_iter(events).find(|found| !seen.insert(found[1].to_vec())) {
        Some(twice) => Err(format!("{} stands twice", String::from_utf8_lossy(&twice[0]))),
        None => Ok(()),
    }
}

/// Each file that differs, from a little before the first byte that does.
fn difference(choice: usize, expected: &Files, found: &Files) -> String {
    let mut text = format!("  not as after the acts {choice:#b}:");
    let names: BTreeSet<_> = expected.keys().chain(found.keys()).collect();
    for name in names.into_iter().filter(|name| expected.get(*name) != found.get(*name)) {
        let [expected, found] = [expected, found].map(|files| files.get(name).map_or(&b"(no file)"[..], Vec::as_slice));
        let same = expected.iter().zip(found).take_while(|(one, other)| one == other).count();
        let shown = |bytes: &[u8]| {
            String::from_utf8_lossy(&bytes[same.saturating_sub(60)..bytes.len().min(same + 240)]).into_owned()
        };
        let _ = write!(
            text,
            "\n    {name} from byte {same}:\n      expected {:?}\n      found    {:?}",
            shown(expected),
            shown(found)
        );
    }
    text
}

/// What went wrong in a long row of attempts: all of it is counted, and the first few are shown.
#[derive(Default)]
pub(crate) struct Tally {
    attempts: usize,
    failures: Vec<String>,
}

impl Tally {
    pub(crate) fn attempt(&mut self, context: &str, attempt: impl FnOnce() -> Result<(), String>) {
        self.attempts += 1;
        if let Err(failure) = attempt() {
            self.failures.push(format!("{context}\n{failure}"));
        }
    }

    /// How many failures so far begin with a word.
    pub(crate) fn failures(&self, word: &str) -> usize {
        let begins = |failure: &&String| failure.lines().any(|line| line.trim_start().starts_with(word));
        self.failures.iter().filter(begins).count()
    }

    /// Prints what was tried, in the form that `soak.sh` makes a table of, and stops the test if anything went wrong.
    pub(crate) fn end(self, what: &str) {
        count(what, self.attempts);
        count(&format!("{what}: wrong"), self.failures.len());
        let shown = self.failures.iter().take(8).cloned().collect::<Vec<_>>().join("\n\n");
        assert!(self.failures.is_empty(), "{} of {} went wrong:\n{shown}", self.failures.len(), self.attempts);
    }
}

/// Prints a number for the table.
pub(crate) fn count(what: &str, number: usize) {
    eprintln!("tally: {what}: {number}");
}

/// Which of many attempts a test makes: as many as it has time for; with `CRASH_ALL` all of them, and of pairs a share.
pub(crate) struct Choice {
    dice: Dice,
    all: bool,
}

impl Choice {
    pub(crate) fn among(what: &str) -> Self {
        Self { dice: Dice::thrown_for(what), all: std::env::var_os("CRASH_ALL").is_some() }
    }

    /// One of them, or all.
    pub(crate) fn some_of<T>(&mut self, mut of: Vec<T>) -> Vec<T> {
        let chosen = self.dice.below(of.len() as u64);
        if self.all { of } else { vec![of.swap_remove(usize::try_from(chosen).unwrap())] }
    }

    /// True once in `times`; in the long form once in `long`.
    pub(crate) fn one_in(&mut self, times: u64, long: u64) -> bool {
        let times = if self.all { long } else { times };
        self.dice.below(times) == 0
    }

    /// `few`, or `many`.
    pub(crate) fn few_or_many(&self, few: usize, many: usize) -> usize {
        if self.all { many } else { few }
    }

    pub(crate) fn dice(&mut self) -> &mut Dice {
        &mut self.dice
    }
}
