//! stdin and stdout as a transport: on the reactor whatever the client hands over, lines bounded,
//! nothing that was asked left without an answer.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileTypeExt as _,
    },
};

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, JsonRpcMessage},
    service::TxJsonRpcMessage,
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader},
    sync::mpsc,
    task::JoinHandle,
};
use tokio_util::sync::CancellationToken;

use super::line::{self, LINE_LIMIT, Read};

type Input = Box<dyn AsyncRead + Send + Unpin>;
type Output = Box<dyn AsyncWrite + Send + Unpin>;

/// How many answers may wait to be written.
const OUTPUT_QUEUE: usize = 64;
/// How much of a line that is too long is kept to find its id, from its end.
const TAIL: usize = 256;

/// The transport.
pub(super) struct Stdio {
    input: BufReader<Input>,
    /// The line that is being read.
    line: Vec<u8>,
    /// The end of a line that is longer than it may be.
    overflow: Option<Vec<u8>>,
    /// An answer that is to be queued before anything else is read.
    refusal: Option<String>,
    /// rmcp ends the service if anything but a request comes first.
    had_request: bool,
    at_end: bool,
    output: Option<mpsc::Sender<Vec<u8>>>,
    writer: JoinHandle<()>,
    closing: CancellationToken,
}

impl Stdio {
    /// Opens stdin and stdout. No more is read once `closing` is cancelled, which the end of stdin
    /// does too.
    pub(super) fn open(closing: CancellationToken) -> Self {
        let (input, output) = streams();
        let (sender, receiver) = mpsc::channel(OUTPUT_QUEUE);
        Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            overflow: None,
            refusal: None,
            had_request: false,
            at_end: false,
            output: Some(sender),
            writer: tokio::spawn(write_all(output, receiver)),
            closing,
        }
    }

    /// Reads up to the end of a line. Answers `false` once there is no more. Loses nothing if it is
    /// dropped while it waits.
    async fn read_line(&mut self) -> bool {
        loop {
            let available = tokio::select! {
                biased;
                () = self.closing.cancelled() => return false,
                available = self.input.fill_buf() => available.unwrap_or_default(),
            };
            if available.is_empty() {
                self.at_end = true;
                return !self.line.is_empty();
            }
            let newline = memchr::memchr(b'\n', available);
            let taken = available.get(..newline.unwrap_or(available.len())).unwrap_or(&[]);
            if self.line.len() + taken.len() <= LINE_LIMIT && self.overflow.is_none() {
                self.line.extend_from_slice(taken);
            } else {
                let tail = self.overflow.get_or_insert_default();
                tail.extend_from_slice(taken);
                tail.drain(..tail.len().saturating_sub(TAIL));
            }
            let consumed = newline.map_or(available.len(), |at| at + 1);
            self.input.consume(consumed);
            if newline.is_some() {
                return true;
            }
        }
    }

    /// What the line that was read comes to.
    fn take_line(&mut self) -> Read {
        let read = match self.overflow.take() {
            Some(tail) => Read::Refusal(line::too_long(self.line.get(..TAIL).unwrap_or(&[]), &tail)),
            None => line::read(&self.line),
        };
        self.line.clear();
        self.line.shrink_to(64 * 1024);
        read
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let output = self.output.clone();
        async move {
            let bytes = serde_json::to_vec(&item)?;
            let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
            output.ok_or_else(closed)?.send(bytes).await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.refusal.is_some() {
                let room = self.output.as_ref()?.reserve().await.ok()?;
                room.send(self.refusal.take()?.into_bytes());
            }
            if self.at_end || !self.read_line().await {
                self.closing.cancel();
                return None;
            }
            match self.take_line() {
                Read::Message(message) => {
                    self.had_request |= matches!(*message, JsonRpcMessage::Request(_));
                    if self.had_request {
                        return Some(*message);
                    }
                }
                Read::Refusal(refusal) => self.refusal = Some(refusal),
                Read::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        (&mut self.writer).await.map_err(io::Error::other)
    }
}

/// Writes the answers, as many at once as are there.
async fn write_all(mut output: Output, mut answers: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut bytes) = answers.recv().await {
        bytes.push(b'\n');
        while let Ok(more) = answers.try_recv() {
            bytes.extend_from_slice(&more);
            bytes.push(b'\n');
        }
        let written = async {
            output.write_all(&bytes).await?;
            output.flush().await
        };
        if let Err(error) = written.await {
            tracing::warn!(%error, "the client no longer reads");
            return;
        }
    }
}

/// stdin and stdout: FIFOs and UNIX sockets on the reactor, anything else on blocking threads.
fn streams() -> (Input, Output) {
    if let (Some(input), Some(output)) = (socket(io::stdin()), socket(io::stdout())) {
        return (Box::new(input), Box::new(output));
    }
    let (input, output) = rmcp::transport::io::stdio_pipes();
    (Box::new(input), Box::new(output))
}

fn socket(stream: impl AsFd) -> Option<tokio::net::UnixStream> {
    let own: OwnedFd = stream.as_fd().try_clone_to_owned().ok()?;
    let file = File::from(own);
    if !file.metadata().ok()?.file_type().is_socket() {
        return None;
    }
    // The flag lands on the description that descriptors 0 and 1 share: nothing else reads or writes
    // them.
    let stream = std::os::unix::net::UnixStream::from(OwnedFd::from(file));
    stream.set_nonblocking(true).ok()?;
    tokio::net::UnixStream::from_std(stream).ok()
}
