//! Door 2: the command line. The only user of clap and stdout.

mod call;
mod demo;
mod doctor;
mod init;
mod pending;
mod status;
mod tools;

use std::{env, path::PathBuf, time::Duration};

use clap::{Parser, Subcommand, ValueEnum};

use crate::{
    clock::Clock,
    error::{Error, Result},
    ops::{
        Context, Toolset,
        distillation::{Distillation, LEASE_SECONDS},
    },
    workspace::Location,
};

/// The exit code of a command that was called wrongly.
const USAGE: u8 = 2;

/// A memory for companion agents that never loses anything: an MCP server over stdio, and the same
/// operations as commands.
#[derive(Debug, Parser)]
#[command(
    name = "companion-memory",
    version,
    after_help = "Exit codes: 0 done, 1 refused, 2 usage, 3 busy (try again), 4 unreadable or I/O, 10 nothing to distill (`pending`), 70 internal."
)]
pub struct Arguments {
    /// The workspace: the folder that holds `memory/`. Default: `WORKSPACE_DIR`, else the current
    /// folder; of these two, the nearest parent that has a `memory` folder will do.
    #[arg(long, global = true, value_name = "DIR")]
    workspace: Option<PathBuf>,
    /// The time zone, such as `Asia/Shanghai`. Default: the local one, as `date` has it.
    #[arg(long, global = true, value_name = "NAME")]
    timezone: Option<String>,
    /// Which tools can be called.
    #[arg(long, global = true, value_enum, default_value_t, value_name = "SET")]
    toolset: ServedTools,
    /// How long a distillation may take between begin and commit, in seconds.
    #[arg(long, global = true, default_value_t = LEASE_SECONDS, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..=86_400))]
    distill_lease: u64,
    /// What to do. Default: serve.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Which tools a server lists and calls.
#[derive(Debug, Clone, Copy, Default, ValueEnum)]
enum ServedTools {
    /// Every tool.
    #[default]
    All,
    /// What an agent needs in a conversation.
    Write,
    /// What the hourly distillation needs.
    Distill,
    /// What changes nothing.
    Read,
}

/// What the program can do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Serve the tools over MCP on stdin and stdout. This is also done without a subcommand.
    Serve,
    /// Make a new workspace.
    Init {
        /// The folder, new or without a workspace.
        dir: PathBuf,
    },
    /// Call a tool once and print its result as JSON.
    Call {
        /// The tool's name; `tools` lists them.
        tool: String,
        /// The arguments as a JSON object, or `-` to read them from stdin. Default: none.
        #[arg(value_name = "JSON")]
        arguments: Option<String>,
    },
    /// Print the table of tools, or write their schemas.
    Tools {
        /// Write one file a tool into this folder: what `tools/list` publishes for it.
        #[arg(long, value_name = "DIR")]
        write: Option<PathBuf>,
    },
    /// Show the state of the memory on one screen.
    Status,
    /// Tell everything that is wrong or odd in a workspace.
    Doctor {
        /// Repair what can be repaired safely; the difference is shown first.
        #[arg(long)]
        fix: bool,
        /// Show what `--fix` would change, and change nothing.
        #[arg(long)]
        dry_run: bool,
    },
    /// Tell whether there is something to distill: exit code 0 if so, 10 if not. Takes no lock.
    Pending,
    /// Show it all in a temporary workspace: a real conversation over MCP beside a bash writer.
    Demo,
}

impl Arguments {
    /// The program's arguments.
    ///
    /// # Errors
    ///
    /// The exit code, once usage or help has been printed.
    pub fn read() -> Result<Self, u8> {
        Self::try_parse().map_err(|error| {
            // Nothing can be done if stderr is closed.
            let _ = error.print();
            u8::try_from(error.exit_code()).unwrap_or(USAGE)
        })
    }

    /// Which tools a server lists and calls.
    #[must_use]
    pub fn toolset(&self) -> Toolset {
        match self.toolset {
            ServedTools::All => Toolset::All,
            ServedTools::Write => Toolset::Write,
            ServedTools::Distill => Toolset::Distill,
            ServedTools::Read => Toolset::Read,
        }
    }

    /// Where and when the calls take place; the only use of the environment.
    ///
    /// # Errors
    ///
    /// `invalid_argument` for a zone that there is not.
    #[expect(clippy::disallowed_methods, reason = "a door passes the environment in")]
    pub fn context(&self) -> Result<Context> {
        let location = match (&self.workspace, env::var_os("WORKSPACE_DIR").filter(|dir| !dir.is_empty())) {
            (Some(named), _) => Location::Named(named.clone()),
            (None, Some(dir)) => Location::Around(dir.into()),
            (None, None) => Location::Around(PathBuf::from(".")),
        };
        let distillation = Distillation::new(Duration::from_secs(self.distill_lease));
        Ok(Context { location, clock: Clock::new(self.timezone.as_deref())?, distillation })
    }
}

/// Does what a command says, other than serving, and answers the exit code.
#[must_use]
pub fn run(command: Command, toolset: Toolset, context: &Context) -> u8 {
    let done = match command {
        Command::Serve => Ok(()),
        Command::Init { dir } => init::run(&dir),
        Command::Call { tool, arguments } => call::run(&tool, arguments.as_deref(), toolset, context),
        Command::Tools { write } => tools::run(write.as_deref()),
        Command::Status => status::run(context),
        Command::Doctor { fix, dry_run } => return code(doctor::run(context, fix, dry_run)),
        Command::Pending => return code(pending::run(context)),
        Command::Demo => demo::run(context),
    };
    code(done.map(|()| 0))
}

/// Tells that the program was called wrongly, and answers the exit code.
#[must_use]
pub fn wrongly_called(error: &Error) -> u8 {
    Failure::Usage(error.to_string()).report()
}

/// The exit code, once a failure has been told.
fn code(done: Result<u8, Failure>) -> u8 {
    done.unwrap_or_else(|failure| failure.report())
}

/// Why a command did not do what it was to do.
enum Failure {
    /// It was called wrongly.
    Usage(String),
    /// The operation was refused or failed.
    Refused(Error),
    /// Something around it failed: a pipe, a child process.
    Io(std::io::Error),
}

impl Failure {
    /// Says it on stderr, and answers the exit code.
    #[expect(clippy::print_stderr, reason = "this is what tells the user")]
    fn report(&self) -> u8 {
        match self {
            Self::Usage(message) => {
                eprintln!("usage: {message}");
                USAGE
            }
            Self::Refused(error) => {
                eprintln!("{}", error.report());
                error.exit_code()
            }
            Self::Io(error) => {
                eprintln!("io: {error}");
                4
            }
        }
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self::Refused(error)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::Io(error)
    }
}
