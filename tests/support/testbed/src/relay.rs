//! A TCP relay between a server and its database, or its clients: with the faults of a network, and
//! with what reads along.

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

/// How many reads are on their way at once in one direction, of up to 64 KiB each.
const MOST_ON_THE_WAY: usize = 64;

/// What the network does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// It delivers.
    None,
    /// It delivers this much later.
    Delay(Duration),
    /// It delivers nothing, in either direction, and says nothing.
    Silent,
    /// It delivers what is sent, and no answer.
    NoAnswers,
    /// It has closed every connection, and refuses new ones.
    Reset,
    /// It closes every connection as soon as an answer to a COMMIT comes, which it keeps.
    CutAtCommit,
}

/// What sees the bytes of one connection before they go on, and may change them. One that takes all
/// of them cuts the connection. When a direction ends, there are none.
pub trait ReadAlong: Send + 'static {
    /// From the client.
    fn request(&mut self, _bytes: &mut Vec<u8>) {}

    /// From the server.
    fn answer(&mut self, _bytes: &mut Vec<u8>) {}
}

/// Replaces these texts that clients send, such as statements to prepare, by others that are not
/// longer: what a damaged server would do, done from outside.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tampering(pub &'static [(&'static str, &'static str)]);

impl ReadAlong for Tampering {
    /// Spaces fill what is shorter, so that no message has another length.
    fn request(&mut self, bytes: &mut Vec<u8>) {
        for (from, to) in self.0 {
            let found = bytes.windows(from.len()).position(|part| part == from.as_bytes());
            let Some(place) = found.and_then(|at| bytes.get_mut(at..at + from.len())) else {
                continue;
            };
            let filled = to.bytes().chain(std::iter::repeat(b' '));
            place.iter_mut().zip(filled).for_each(|(byte, new)| *byte = new);
        }
    }
}

/// Makes what reads a new connection along.
type Readers = Arc<dyn Fn() -> Box<dyn ReadAlong> + Send + Sync>;

/// A relay. It ends when this is dropped.
pub struct Relay {
    fault: watch::Sender<Fault>,
    target: watch::Sender<u16>,
    has_cut: Arc<AtomicBool>,
    /// Where it listens on the loopback.
    pub port: u16,
    task: tokio::task::JoinHandle<()>,
}

impl Drop for Relay {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl Relay {
    /// A relay to this port. Needs a tokio runtime around it.
    pub fn to(target: u16) -> anyhow::Result<Relay> {
        Relay::tampering(target, Tampering::default())
    }

    /// A relay to this port that falsifies what it carries.
    pub fn tampering(target: u16, tampering: Tampering) -> anyhow::Result<Relay> {
        Relay::read_along(target, move || tampering)
    }

    /// A relay to this port; what `reader` makes reads each connection along.
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

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        SocketAddr::from(([127, 0, 0, 1], self.port))
    }

    /// From now on the network does this, also to connections that are open.
    pub fn set(&self, fault: Fault) {
        self.has_cut.store(false, Ordering::SeqCst);
        self.fault.send_replace(fault);
    }

    /// Whether the last fault that was set has closed a connection at a COMMIT.
    pub fn has_cut(&self) -> bool {
        self.has_cut.load(Ordering::SeqCst)
    }

    /// From now on it leads to this port, and what was open is closed, as a virtual address
    /// does that moves.
    pub fn retarget(&self, port: u16) {
        self.target.send_if_modified(|target| std::mem::replace(target, port) != port);
    }
}

/// Carries a connection until both directions have ended, or it is cut.
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
    // Either fails only on a socket that is closed already.
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

/// One direction of a connection.
struct Direction<'a> {
    is_answer: bool,
    faults: watch::Receiver<Fault>,
    reader: &'a Mutex<Box<dyn ReadAlong>>,
    /// Set when it closes a connection at a COMMIT.
    cut: &'a AtomicBool,
}

/// What is on its way, and when it arrives.
type Sent = (Instant, Vec<u8>);

/// The connection is closed in both directions.
struct Cut;

impl Direction<'_> {
    /// Delivers it until it ends.
    async fn forward(self, from: OwnedReadHalf, to: OwnedWriteHalf) -> Result<(), Cut> {
        // What is late holds up nothing that comes after it for longer than itself.
        let (sender, receiver) = mpsc::channel(MOST_ON_THE_WAY);
        let deliver = async {
            deliver(receiver, to).await;
            Ok(())
        };
        tokio::try_join!(self.take(from, sender), deliver).map(drop)
    }

    /// Takes what comes, and applies the network's faults to it.
    async fn take(
        mut self,
        mut from: OwnedReadHalf,
        sender: mpsc::Sender<Sent>,
    ) -> Result<(), Cut> {
        loop {
            let mut bytes = Vec::with_capacity(64 * 1024);
            // A connection that fails has ended.
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
                Fault::CutAtCommit if !self.is_answer || !holds_commit(&bytes) => {}
                Fault::CutAtCommit => {
                    self.cut.store(true, Ordering::SeqCst);
                    return Err(Cut);
                }
                Fault::Silent | Fault::NoAnswers => {
                    // What came meanwhile is delivered late, as TCP does after an outage.
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

/// Delivers each when it arrives, and then the end. Who reads no more may still be sending.
async fn deliver(mut receiver: mpsc::Receiver<Sent>, mut to: OwnedWriteHalf) {
    while let Some((arrives, bytes)) = receiver.recv().await {
        // A timer would be up to a millisecond late.
        if arrives > Instant::now() {
            sleep_until(arrives).await;
        }
        if to.write_all(&bytes).await.is_err() {
            return;
        }
    }
    // It fails where the connection has ended.
    let _ = to.shutdown().await;
}

/// Whether the bytes hold the message that a COMMIT was done: `C`, its length, its tag.
fn holds_commit(bytes: &[u8]) -> bool {
    const DONE: &[u8] = b"C\0\0\0\x0bCOMMIT\0";
    bytes.windows(DONE.len()).any(|window| window == DONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A relay to a server that answers each byte with the next one.
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
    async fn what_is_silent_is_delivered_later_and_what_is_reset_never() {
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
    async fn what_is_open_is_closed_when_it_leads_elsewhere() {
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
    async fn what_is_delayed_delays_nothing_else() {
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
        assert!(waited < Duration::from_millis(900), "{waited:?}: one after the other");
    }
}
