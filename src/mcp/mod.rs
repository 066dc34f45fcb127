//! Door 1: the Model Context Protocol over stdio, both eras. The only user of rmcp and tokio.

mod line;
mod server;
mod stdio;
mod traffic;

use std::{io, time::Duration};

use rmcp::{ServiceExt as _, service::ServerInitializeError};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use crate::ops::{Context, Toolset};
use server::Server;

/// How long requests that were read may still be worked on, once no more are read.
const GRACE: Duration = Duration::from_millis(1_200);
/// How long calls that wait for the lock may take to give up after that.
const GIVING_UP: Duration = Duration::from_millis(400);
/// How many calls may be at the disk at a time; only one of them writes.
const BLOCKING_THREADS: usize = 16;

/// Serves one client on stdin and stdout until the end of stdin or a signal to end.
///
/// # Errors
///
/// If the runtime cannot be set up, or the client breaks off the handshake.
pub fn serve(context: Context, toolset: Toolset) -> io::Result<()> {
    // One thread: requests are then taken up in the order in which they came.
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().max_blocking_threads(BLOCKING_THREADS).build()?;
    let served = runtime.block_on(run(context, toolset));
    runtime.shutdown_timeout(Duration::from_millis(100));
    served
}

async fn run(context: Context, toolset: Toolset) -> io::Result<()> {
    let closing = CancellationToken::new();
    let stopping = CancellationToken::new();
    end_on_signals(&closing)?;
    let server = Server::new(context, toolset, stopping.clone());
    let (transport, writer) = stdio::Stdio::open(closing.clone());
    let served = async {
        let served = match server.serve(transport).await {
            Ok(service) => service.waiting().await.map(|_| ()).map_err(io::Error::other),
            Err(ServerInitializeError::ConnectionClosed(_)) => Ok(()),
            Err(error) => Err(io::Error::other(error)),
        };
        // What was answered is written before the program ends.
        writer.await.map_err(io::Error::other).and(served)
    };
    let deadline = async {
        closing.cancelled().await;
        sleep(GRACE).await;
        stopping.cancel();
        sleep(GIVING_UP).await;
    };
    tokio::select! {
        served = served => served,
        () = deadline => Ok(()),
    }
}

/// Stops reading requests at SIGTERM and SIGINT.
fn end_on_signals(closing: &CancellationToken) -> io::Result<()> {
    for kind in [SignalKind::terminate(), SignalKind::interrupt()] {
        // Before the task is spawned, so that no signal falls between.
        let mut signals = signal(kind)?;
        let closing = closing.clone();
        tokio::spawn(async move {
            signals.recv().await;
            closing.cancel();
        });
    }
    Ok(())
}
