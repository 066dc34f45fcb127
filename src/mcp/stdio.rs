//! stdin and stdout as a transport: on the reactor whatever the client hands over, lines bounded,
//! nothing that was asked left without an answer.

use std::{
    fs::File,
    io,
    os::{
        fd::{AsFd, OwnedFd},
        unix::fs::FileTypeExt as _,
    },
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use rmcp::{
    RoleServer,
    model::{ClientJsonRpcMessage, ClientNotification, ClientRequest, GetMeta as _, JsonRpcMessage, ProtocolVersion},
    service::TxJsonRpcMessage,
    transport::Transport,
};
use tokio::{
    io::{AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader, Interest, ReadBuf},
    net::{UnixStream, unix::pipe},
    sync::mpsc,
    task::JoinHandle,
    time::sleep,
};
use tokio_util::sync::CancellationToken;

use super::{
    line::{self, LINE_LIMIT, Read},
    traffic::Traffic,
};

/// How much of a line that is too long is kept to find its id, from its end.
const TAIL: usize = 256;
/// How often a client that reads nothing is looked at, whether it has closed its end.
const HANG_UP_CHECK: Duration = Duration::from_millis(100);

/// The transport.
pub(super) struct Stdio {
    input: BufReader<Input>,
    /// The line that is being read.
    line: Vec<u8>,
    /// The end of a line that is longer than it may be.
    overflow: Option<Vec<u8>>,
    /// Whether the client has chosen a protocol era: rmcp ends the service if anything but a request
    /// comes before that.
    chose_era: bool,
    at_end: bool,
    output: Option<mpsc::UnboundedSender<Vec<u8>>>,
    traffic: Arc<Traffic>,
    closing: CancellationToken,
}

impl Stdio {
    /// Opens stdin and stdout. No more is read once `closing` is cancelled, which the end of stdin
    /// does too. The task ends when all that was sent is written.
    pub(super) fn open(closing: CancellationToken) -> (Self, JoinHandle<()>) {
        let (input, output) = streams();
        let (sender, receiver) = mpsc::unbounded_channel();
        let traffic = Arc::<Traffic>::default();
        let writer = tokio::spawn(write_all(output, receiver, Arc::clone(&traffic)));
        let stdio = Self {
            input: BufReader::with_capacity(64 * 1024, input),
            line: Vec::new(),
            overflow: None,
            chose_era: false,
            at_end: false,
            output: Some(sender),
            traffic,
            closing,
        };
        (stdio, writer)
    }

    /// Reads up to the end of a line. Answers `false` once there is no more. Loses nothing if it is
    /// dropped while it waits.
    async fn read_line(&mut self) -> bool {
        loop {
            tokio::select! {
                biased;
                () = self.closing.cancelled() => return false,
                () = self.traffic.room() => {}
                () = self.input.get_ref().hung_up() => return false,
            }
            let available = tokio::select! {
                biased;
                () = self.closing.cancelled() => return false,
                available = self.input.fill_buf() => available.unwrap_or_default(),
            };
            if available.is_empty() {
                self.at_end = true;
                return !self.line.is_empty() || self.overflow.is_some();
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
        match read {
            Read::Message(message) => self.admit(message),
            other => other,
        }
    }

    /// Notes what is under way, and drops what rmcp would end the service for.
    fn admit(&mut self, message: Box<ClientJsonRpcMessage>) -> Read {
        match &*message {
            JsonRpcMessage::Request(request) => {
                if !self.traffic.begin(request.id.clone(), self.line.len()) {
                    return Read::Refusal(line::id_in_use(&request.id));
                }
                self.chose_era |= chooses_era(&request.request);
                Read::Message(message)
            }
            _ if !self.chose_era => Read::Nothing,
            JsonRpcMessage::Notification(notification) => {
                if let ClientNotification::CancelledNotification(cancelled) = &notification.notification
                    && let Some(id) = &cancelled.params.request_id
                {
                    self.traffic.end(id);
                }
                Read::Message(message)
            }
            _ => Read::Message(message),
        }
    }

    fn send_bytes(&self, bytes: Vec<u8>) -> io::Result<()> {
        let closed = || io::Error::from(io::ErrorKind::BrokenPipe);
        let output = self.output.as_ref().ok_or_else(closed)?;
        self.traffic.queue(&bytes);
        output.send(bytes).map_err(|_| closed())
    }
}

/// Whether rmcp leaves its handshake with this request.
fn chooses_era(request: &ClientRequest) -> bool {
    match request {
        ClientRequest::InitializeRequest(_) => true,
        ClientRequest::PingRequest(_) | ClientRequest::DiscoverRequest(_) => false,
        request => request.get_meta().missing_required_keys(&ProtocolVersion::V_2026_07_28).is_empty(),
    }
}

impl Transport<RoleServer> for Stdio {
    type Error = io::Error;

    fn send(&mut self, item: TxJsonRpcMessage<RoleServer>) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let id = match &item {
            JsonRpcMessage::Response(response) => Some(&response.id),
            JsonRpcMessage::Error(error) => error.id.as_ref(),
            _ => None,
        };
        if let Some(id) = id {
            self.traffic.end(id);
        }
        let sent = serde_json::to_vec(&item).map_err(io::Error::from).and_then(|bytes| self.send_bytes(bytes));
        std::future::ready(sent)
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        loop {
            if self.at_end || !self.read_line().await {
                self.closing.cancel();
                return None;
            }
            let read = self.take_line();
            self.line.clear();
            self.line.shrink_to(64 * 1024);
            match read {
                Read::Message(message) => return Some(*message),
                Read::Refusal(refusal) => self.send_bytes(refusal.into_bytes()).ok()?,
                Read::Nothing => {}
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        self.output = None;
        Ok(())
    }
}

/// Writes the answers, as many at once as are there.
async fn write_all(mut output: Output, mut answers: mpsc::UnboundedReceiver<Vec<u8>>, traffic: Arc<Traffic>) {
    let mut batch = Vec::new();
    while answers.recv_many(&mut batch, 64).await > 0 {
        let mut bytes = Vec::with_capacity(batch.iter().map(|answer| answer.len() + 1).sum());
        for answer in &batch {
            bytes.extend_from_slice(answer);
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
        traffic.written(&batch);
        batch.clear();
    }
}

/// stdin: a pipe or a socket on the reactor, anything else on a blocking thread.
enum Input {
    Pipe(pipe::Receiver),
    Socket(UnixStream),
    Other(tokio::io::Stdin),
}

type Output = Box<dyn AsyncWrite + Send + Unpin>;

impl Input {
    /// Waits until the client closes its end, whatever it left unread before that.
    async fn hung_up(&self) {
        loop {
            let ready = match self {
                Self::Pipe(pipe) => pipe.ready(Interest::READABLE).await,
                Self::Socket(socket) => socket.ready(Interest::READABLE).await,
                Self::Other(_) => return std::future::pending().await,
            };
            if ready.is_ok_and(tokio::io::Ready::is_read_closed) {
                return;
            }
            sleep(HANG_UP_CHECK).await;
        }
    }
}

impl AsyncRead for Input {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Pipe(pipe) => Pin::new(pipe).poll_read(context, buffer),
            Self::Socket(socket) => Pin::new(socket).poll_read(context, buffer),
            Self::Other(stdin) => Pin::new(stdin).poll_read(context, buffer),
        }
    }
}

/// FIFOs are opened anew, so that their flags stay private; a socket's are shared with whoever else
/// holds it, and nothing else here reads or writes descriptors 0 and 1.
fn streams() -> (Input, Output) {
    let input = pipe::OpenOptions::new().open_receiver("/proc/self/fd/0").map(Input::Pipe);
    let input = input.ok().or_else(|| socket(io::stdin()).map(Input::Socket));
    let output = pipe::OpenOptions::new().open_sender("/proc/self/fd/1").map(|pipe| Box::new(pipe) as Output);
    let output = output.ok().or_else(|| socket(io::stdout()).map(|socket| Box::new(socket) as Output));
    (input.unwrap_or_else(|| Input::Other(tokio::io::stdin())), output.unwrap_or_else(|| Box::new(tokio::io::stdout())))
}

fn socket(stream: impl AsFd) -> Option<UnixStream> {
    let own: OwnedFd = stream.as_fd().try_clone_to_owned().ok()?;
    let file = File::from(own);
    if !file.metadata().ok()?.file_type().is_socket() {
        return None;
    }
    let stream = std::os::unix::net::UnixStream::from(OwnedFd::from(file));
    stream.set_nonblocking(true).ok()?;
    UnixStream::from_std(stream).ok()
}
