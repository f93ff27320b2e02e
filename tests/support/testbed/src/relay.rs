//! A TCP relay to a server or a database. The relay can simulate network faults. A test can read
//! and change the bytes that pass through the relay.

use parking_lot::Mutex;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until};

/// The maximum number of undelivered chunks in each direction of a connection. A chunk has at most
/// about 64 KiB.
const MAX_IN_TRANSIT: usize = 64;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    None,
    Delay(Duration),
    /// Nothing is delivered in either direction until the fault ends, but connections stay open.
    Silent,
    /// Requests are delivered immediately, but responses only when the fault ends.
    NoAnswers,
    /// Open connections are closed, and new ones are closed immediately.
    Reset,
    /// The relay drops PostgreSQL's reply to a COMMIT and closes the connection. So the client does
    /// not learn whether the transaction was committed.
    CutAtCommit,
}

/// Reads, and may change, the bytes of one connection before the relay forwards them. A method gets
/// an empty buffer when the sender has ended its direction of the connection. If a method empties
/// its buffer, the relay closes the connection.
pub trait ReadAlong: Send + 'static {
    fn request(&mut self, _bytes: &mut Vec<u8>) {}

    /// Called with bytes from the server.
    fn answer(&mut self, _bytes: &mut Vec<u8>) {}
}

/// Replaces strings that clients send, such as parts of statements. The client then sees a server
/// that executes statements wrongly. A new string must not be longer than the old string. Only the
/// first occurrence in each chunk is replaced.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tampering(pub &'static [(&'static str, &'static str)]);

impl ReadAlong for Tampering {
    fn request(&mut self, bytes: &mut Vec<u8>) {
        for (from, to) in self.0 {
            let position = bytes.windows(from.len()).position(|part| part == from.as_bytes());
            let Some(place) = position.and_then(|start| bytes.get_mut(start..start + from.len()))
            else {
                continue;
            };
            let filled = to.bytes().chain(std::iter::repeat(b' '));
            place.iter_mut().zip(filled).for_each(|(byte, new)| *byte = new);
        }
    }
}

type Readers = Arc<dyn Fn() -> Box<dyn ReadAlong> + Send + Sync>;

/// A running relay. Dropping it closes its port and all its connections.
pub struct Relay {
    fault: watch::Sender<Fault>,
    target: watch::Sender<u16>,
    has_cut: Arc<AtomicBool>,
    /// The port on the loopback interface at which the relay accepts connections.
    pub port: u16,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Relay {
    /// Starts a relay to the port `target`. Must be called inside a tokio runtime.
    pub fn to(target: u16) -> anyhow::Result<Relay> {
        Relay::tampering(target, Tampering::default())
    }

    pub fn tampering(target: u16, tampering: Tampering) -> anyhow::Result<Relay> {
        Relay::read_along(target, move || tampering)
    }

    /// Starts a relay to the port `target`. Each connection gets its own [`ReadAlong`] from
    /// `reader`.
    pub fn read_along<R: ReadAlong>(
        target: u16,
        reader: impl Fn() -> R + Send + Sync + 'static,
    ) -> anyhow::Result<Relay> {
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        listener.set_nonblocking(true)?;
        let listener = TcpListener::from_std(listener)?;
        let port = listener.local_addr()?.port();
        let (fault, faults) = watch::channel(Fault::None);
        let (target, targets) = watch::channel(target);
        let has_cut = Arc::new(AtomicBool::new(false));
        let cut = Arc::clone(&has_cut);
        let readers: Readers = Arc::new(move || Box::new(reader()));
        let task = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let (targets, faults) = (targets.clone(), faults.clone());
                tokio::spawn(relay(client, targets, faults, readers.clone(), cut.clone()));
            }
        });
        Ok(Relay { fault, target, has_cut, port, task })
    }

    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// Sets the fault of all connections, including open ones.
    pub fn set(&self, fault: Fault) {
        self.has_cut.store(false, Ordering::SeqCst);
        self.fault.send_replace(fault);
    }

    /// True if [`Fault::CutAtCommit`] has closed a connection since the last call of
    /// [`Relay::set`].
    pub fn has_cut(&self) -> bool {
        self.has_cut.load(Ordering::SeqCst)
    }

    /// Changes the target's port. If the port differs, open connections are closed, as if a virtual
    /// address moved.
    pub fn retarget(&self, port: u16) {
        self.target.send_if_modified(|target| std::mem::replace(target, port) != port);
    }
}

/// Forwards a connection until both directions have ended. Closes the connection earlier in these
/// cases:
///
/// - A fault such as [`Fault::Reset`] closes connections.
/// - The connection's [`ReadAlong`] removes all bytes of a chunk.
/// - The relay gets a new target or is dropped.
async fn relay(
    client: TcpStream,
    mut targets: watch::Receiver<u16>,
    faults: watch::Receiver<Fault>,
    readers: Readers,
    cut: Arc<AtomicBool>,
) {
    if *faults.borrow() == Fault::Reset {
        return;
    }
    let target = SocketAddr::from(([127, 0, 0, 1], *targets.borrow_and_update()));
    let Ok(server) = TcpStream::connect(target).await else { return };
    // Ignore errors, because these calls fail only if the socket is already closed.
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let (from_client, to_client) = client.into_split();
    let (from_server, to_server) = server.into_split();
    let reader = Mutex::new(readers());
    let direction =
        |is_answer| Direction { is_answer, faults: faults.clone(), reader: &reader, cut: &cut };
    let (requests, answers) = (direction(false), direction(true));
    let mut watched = faults.clone();
    tokio::select! {
        _ = async {
            tokio::try_join!(
                requests.forward(from_client, to_server),
                answers.forward(from_server, to_client),
            )
        } => {}
        _ = watched.wait_for(|fault| *fault == Fault::Reset) => {}
        _ = targets.changed() => {}
    }
}

struct Direction<'a> {
    is_answer: bool,
    faults: watch::Receiver<Fault>,
    reader: &'a Mutex<Box<dyn ReadAlong>>,
    /// Becomes true when [`Fault::CutAtCommit`] closes a connection.
    cut: &'a AtomicBool,
}

/// Bytes in transit, with the time at which they must arrive at the recipient.
type Sent = (Instant, Vec<u8>);

/// The error that closes both directions of the connection.
struct Cut;

impl Direction<'_> {
    async fn forward(self, from: OwnedReadHalf, to: OwnedWriteHalf) -> Result<(), Cut> {
        // Keep reading while bytes are delayed, so that delays do not add up.
        let (sender, receiver) = mpsc::channel(MAX_IN_TRANSIT);
        let deliver = async {
            deliver(receiver, to).await;
            Ok(())
        };
        tokio::try_join!(self.receive(from, sender), deliver).map(drop)
    }

    /// Reads chunks and applies the current fault to each chunk. Passes each chunk to `sender`,
    /// with the time at which it must arrive at the recipient. Fails if both directions of the
    /// connection must be closed.
    async fn receive(
        mut self,
        mut from: OwnedReadHalf,
        sender: mpsc::Sender<Sent>,
    ) -> Result<(), Cut> {
        loop {
            let mut bytes = Vec::with_capacity(64 * 1024);
            // A connection that has failed counts as one that has ended.
            if from.read_buf(&mut bytes).await.unwrap_or(0) == 0 {
                self.read(&mut bytes);
                return Ok(());
            }
            let (fault, mut arrives) = (*self.faults.borrow_and_update(), Instant::now());
            match fault {
                Fault::None => {}
                Fault::Delay(delay) => arrives += delay,
                Fault::Reset => return Err(Cut),
                Fault::NoAnswers if !self.is_answer => {}
                Fault::CutAtCommit if !self.is_answer || !contains_commit(&bytes) => {}
                Fault::CutAtCommit => {
                    self.cut.store(true, Ordering::SeqCst);
                    return Err(Cut);
                }
                Fault::Silent | Fault::NoAnswers => {
                    // When the fault is over, deliver the bytes that were sent during it, as TCP
                    // does after an outage.
                    let over = |fault: &Fault| !matches!(fault, Fault::Silent | Fault::NoAnswers);
                    match self.faults.wait_for(over).await {
                        Ok(fault) if *fault != Fault::Reset => {}
                        _ => return Err(Cut),
                    }
                }
            }
            self.read(&mut bytes);
            if bytes.is_empty() {
                return Err(Cut);
            }
            if sender.send((arrives, bytes)).await.is_err() {
                return Ok(());
            }
        }
    }

    fn read(&self, bytes: &mut Vec<u8>) {
        match self.is_answer {
            true => self.reader.lock().answer(bytes),
            false => self.reader.lock().request(bytes),
        }
    }
}

/// Delivers each chunk at its arrival time, and then the end of the stream. If the recipient no
/// longer reads, only this direction ends, because the recipient may still send.
async fn deliver(mut receiver: mpsc::Receiver<Sent>, mut to: OwnedWriteHalf) {
    while let Some((arrives, bytes)) = receiver.recv().await {
        // Do not sleep unnecessarily, because even a sleep of length zero takes up to a
        // millisecond.
        if arrives > Instant::now() {
            sleep_until(arrives).await;
        }
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
    // Ignore the error. The shutdown fails only if the connection has already ended.
    let _ = to.shutdown().await;
}

/// True if the bytes contain PostgreSQL's message that a COMMIT has completed: `C`, the message's
/// length, and the tag.
fn contains_commit(bytes: &[u8]) -> bool {
    const DONE: &[u8] = b"C\0\0\0\x0bCOMMIT\0";
    bytes.windows(DONE.len()).any(|window| window == DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Starts a relay to a server that replies to each byte with the next higher byte.
    async fn relay() -> (Relay, TcpStream) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut socket, _)) = listener.accept().await {
                tokio::spawn(async move {
                    while let Ok(byte) = socket.read_u8().await {
                        socket.write_u8(byte + 1).await.unwrap();
                    }
                });
            }
        });
        let relay = Relay::to(port).unwrap();
        let client = TcpStream::connect(("127.0.0.1", relay.port)).await.unwrap();
        (relay, client)
    }

    #[tokio::test]
    async fn bytes_are_delivered_after_a_silence_but_not_after_a_reset() {
        let (relay, mut client) = relay().await;
        client.write_u8(1).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 2);
        relay.set(Fault::Silent);
        client.write_u8(3).await.unwrap();
        let waited = tokio::time::timeout(Duration::from_millis(50), client.read_u8()).await;
        assert!(waited.is_err());
        relay.set(Fault::None);
        assert_eq!(client.read_u8().await.unwrap(), 4);
        relay.set(Fault::Reset);
        client.read_u8().await.unwrap_err();
        let mut refused = TcpStream::connect(("127.0.0.1", relay.port)).await.unwrap();
        refused.read_u8().await.unwrap_err();
    }

    #[tokio::test]
    async fn open_connections_are_closed_when_the_target_changes() {
        let ((relay, mut client), (other, _)) = (relay().await, super::tests::relay().await);
        client.write_u8(1).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 2);
        relay.retarget(other.port);
        client.read_u8().await.unwrap_err();
        let mut client = TcpStream::connect(("127.0.0.1", relay.port)).await.unwrap();
        client.write_u8(1).await.unwrap();
        assert_eq!(client.read_u8().await.unwrap(), 2);
    }

    #[tokio::test]
    async fn delays_do_not_add_up() {
        let (relay, mut client) = relay().await;
        relay.set(Fault::Delay(Duration::from_millis(50)));
        let sent = Instant::now();
        for byte in 1..=10 {
            client.write_u8(byte).await.unwrap();
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for byte in 2..=11 {
            assert_eq!(client.read_u8().await.unwrap(), byte);
        }
        let waited = sent.elapsed();
        assert!(waited >= Duration::from_millis(145), "{waited:?}");
        assert!(waited < Duration::from_millis(900), "{waited:?}: delays add up");
    }
}
