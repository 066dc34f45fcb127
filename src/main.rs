//! Chooses a door, and answers an exit code.

use std::process::ExitCode;

use companion_memory::{
    cli::{self, Arguments, Command},
    mcp,
    ops::{Context, Toolset},
};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    log_to_stderr();
    let arguments = match Arguments::read() {
        Ok(arguments) => arguments,
        Err(code) => return ExitCode::from(code),
    };
    let context = match arguments.context() {
        Ok(context) => context,
        Err(error) => {
            return ExitCode::from(cli::wrongly_called(&error));
        }
    };
    let toolset = arguments.toolset();
    match arguments.command {
        None | Some(Command::Serve) => serve(context, toolset),
        Some(command) => ExitCode::from(cli::run(command, toolset, &context)),
    }
}

fn serve(context: Context, toolset: Toolset) -> ExitCode {
    match mcp::serve(context, toolset) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tracing::error!(%error, "the server ended");
            ExitCode::from(70)
        }
    }
}

/// rmcp logs whole requests below `warn`: what is in the memory stays out of the log unless asked for.
fn log_to_stderr() {
    let filter = EnvFilter::try_from_env("COMPANION_MEMORY_LOG").unwrap_or_else(|_| EnvFilter::new("warn"));
    tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).init();
}
