//! A workspace in a temporary folder, and the command line on it.

use super::{Answer, Refusal, Server, clock};
use serde_json::Value;
use std::{
    collections::BTreeMap,
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};
use tempfile::TempDir;

/// The zone of every test that does not say otherwise.
pub(crate) const ZONE: &str = "Asia/Shanghai";

pub(crate) struct Workspace {
    folder: TempDir,
}

/// What one run of the command line left behind.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Outcome {
    pub(crate) status: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Workspace {
    /// A workspace whose `memory/` is empty.
    pub(crate) fn new() -> Self {
        let workspace = Self::without_memory();
        fs::create_dir(workspace.path("memory")).unwrap();
        workspace
    }

    /// A folder that is no workspace.
    pub(crate) fn without_memory() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    /// The same on a file system in memory, where there is one: for tests that count the steps to the disk, and need
    /// no disk to wait for.
    pub(crate) fn in_memory() -> Self {
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        fs::create_dir(folder.path().join("memory")).unwrap();
        Self { folder }
    }

    pub(crate) fn file(self, path: &str, content: impl AsRef<[u8]>) -> Self {
        self.write(path, content);
        self
    }

    pub(crate) fn root(&self) -> &Path {
        self.folder.path()
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub(crate) fn write(&self, path: &str, content: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    pub(crate) fn bytes(&self, path: &str) -> Vec<u8> {
        fs::read(self.path(path)).unwrap_or_else(|e| panic!("{path}: {e}"))
    }

    pub(crate) fn read(&self, path: &str) -> String {
        String::from_utf8(self.bytes(path)).unwrap()
    }

    pub(crate) fn events(&self) -> String {
        self.read("memory/events.md")
    }

    pub(crate) fn index(&self) -> String {
        self.read("memory/MEMORY.md")
    }

    /// Everything that a refused call must leave as it is: names and contents below `memory/`, and the mood's side file.
    pub(crate) fn tree(&self) -> BTreeMap<String, String> {
        let mut tree = BTreeMap::new();
        let mut folders = vec![self.path("memory")];
        while let Some(folder) = folders.pop() {
            let Ok(entries) = fs::read_dir(&folder) else { continue };
            for entry in entries {
                let path = entry.unwrap().path();
                if path.is_dir() && !path.is_symlink() {
                    folders.push(path.clone());
                }
                tree.insert(path.strip_prefix(self.root()).unwrap().display().to_string(), describe(&path));
            }
        }
        let aux = self.path(".mood_state_aux");
        if aux.exists() {
            tree.insert(".mood_state_aux".to_owned(), describe(&aux));
        }
        tree
    }

    /// The names below `memory/`, sorted: no temporary file may stay there.
    pub(crate) fn memory_names(&self) -> Vec<String> {
        let mut names: Vec<_> =
            fs::read_dir(self.path("memory")).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }

    /// The program on this workspace in the tests' zone, with nothing of the caller's environment that it reads.
    pub(crate) fn command(&self) -> Command {
        let mut command = program();
        command.arg("--workspace").arg(self.root()).args(["--timezone", ZONE]);
        command
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Outcome {
        let mut command = self.command();
        command.args(arguments);
        Outcome::of(command, None)
    }

    pub(crate) fn call(&self, tool: &str, arguments: Value) -> Outcome {
        self.run(&["call", tool, &arguments.to_string()])
    }

    /// The result of a call that must succeed.
    pub(crate) fn ok(&self, tool: &str, arguments: Value) -> Value {
        self.call(tool, arguments.clone()).answer().unwrap_or_else(|e| panic!("{tool} {arguments}: {e:?}"))
    }

    /// The refusal of a call that must be refused, and that must leave every file as it was.
    pub(crate) fn refused(&self, tool: &str, arguments: Value) -> Refusal {
        let before = self.tree();
        let refusal = match self.call(tool, arguments.clone()).answer() {
            Ok(result) => panic!("{tool} {arguments} answered {result}"),
            Err(refusal) => refusal,
        };
        assert_eq!(self.tree(), before, "a refused call wrote something");
        refusal
    }
}

impl Outcome {
    pub(crate) fn of(mut command: Command, stdin: Option<&str>) -> Self {
        command.stdin(if stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if let Some(text) = stdin {
            child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
        }
        let output = child.wait_with_output().unwrap();
        Self {
            status: output.status.code(),
            stdout: String::from_utf8(output.stdout).unwrap(),
            stderr: String::from_utf8(output.stderr).unwrap(),
        }
    }

    pub(crate) fn answer(&self) -> Answer {
        if self.status == Some(0) {
            return Ok(serde_json::from_str(&self.stdout).unwrap_or_else(|e| panic!("{e}: {self:?}")));
        }
        Err(Refusal::parse(&self.stderr))
    }
}

/// The program without arguments, and with nothing of the caller's environment that it reads.
pub(crate) fn program() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_companion-memory"));
    for name in ["WORKSPACE_DIR", "TZ", "RUST_LOG"] {
        command.env_remove(name);
    }
    command
}

/// The same call over the command line and over stdio, each on its own copy of the workspace. Both must answer the
/// same and leave the same files; the second copy is returned. A minute that passes between them is no difference.
pub(crate) fn both_doors(prepare: impl Fn() -> Workspace, tool: &str, arguments: Value) -> (Answer, Workspace) {
    for _ in 0..3 {
        let start = clock::second();
        let (by_command, by_server) = (prepare(), prepare());
        let printed = neutral(by_command.call(tool, arguments.clone()).answer(), &by_command);
        let answered = neutral(Server::start(&by_server).call(tool, arguments.clone()), &by_server);
        if start != clock::second() && (printed != answered || by_command.tree() != by_server.tree()) {
            continue;
        }
        assert_eq!(printed, answered, "the two doors answer differently");
        assert_eq!(by_command.tree(), by_server.tree(), "the two doors write differently");
        return (answered, by_server);
    }
    panic!("no two calls of {tool} within one second agreed");
}

fn neutral(answer: Answer, workspace: &Workspace) -> Answer {
    let root = workspace.root().to_str().unwrap();
    answer.map_err(|e| Refusal { message: e.message.replace(root, "W"), hint: e.hint.replace(root, "W"), ..e })
}

fn describe(path: &Path) -> String {
    if path.is_symlink() {
        return format!("link to {}", fs::read_link(path).unwrap().display());
    }
    if !path.is_file() {
        return "no file".to_owned();
    }
    match fs::read(path) {
        Ok(bytes) => String::from_utf8(bytes).unwrap_or_else(|e| format!("{:?}", e.into_bytes())),
        Err(error) => error.to_string(),
    }
}
