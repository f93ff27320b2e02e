//! Options of dropshot's listening socket: send without delay, end stalled
//! connections, and refuse new ones during shutdown. (Dropshot keeps the socket open
//! until the last request is done; clients that connect meanwhile would wait.)
//!
//! Dropshot does not expose the socket, but on Linux /proc lists the files of a
//! process, a file can be duplicated by its number, and connections inherit the
//! options of the socket that accepted them. On other systems, and without /proc,
//! the options are not set, and the log says so.

use slog::{Logger, warn};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// How many connections may wait to be accepted.
#[cfg(target_os = "linux")]
const ACCEPT_QUEUE: i32 = 4_096;

/// A duplicate of dropshot's socket.
#[derive(Debug)]
pub struct ListeningSocket {
    #[cfg(target_os = "linux")]
    socket: filedescriptor::FileDescriptor,
}

/// How many connections that were accepted at this address are open; `None` where the system
/// does not say.
#[cfg(target_os = "linux")]
pub fn open_connections(address: SocketAddr) -> Option<usize> {
    linux::count_open(address).ok()
}

/// How many connections that were accepted at this address are open; `None` where the system
/// does not say.
#[cfg(not(target_os = "linux"))]
pub fn open_connections(_: SocketAddr) -> Option<usize> {
    None
}

impl ListeningSocket {
    /// Finds the socket that listens at this address and sets its options; `None`
    /// where the system does not allow it.
    pub fn prepared(
        address: SocketAddr,
        stalled_after: Duration,
        log: &Logger,
    ) -> Option<ListeningSocket> {
        let found = ListeningSocket::find(address).inspect_err(|error| {
            warn!(log, "listening socket not found"; "error" => %error,
                "effect" => "long lists may be delayed, stalled clients are not cut off, and \
                    connections are accepted during shutdown",
                "fix" => "run on Linux with /proc mounted");
        });
        let socket = found.ok()?;
        let options = socket
            .set_nodelay()
            .and_then(|()| socket.set_stall_timeout(stalled_after))
            .and_then(|()| socket.lengthen_accept_queue());
        if let Err(error) = options {
            warn!(log, "listening socket options not set"; "error" => %error,
                "effect" => "long lists may be delayed, and stalled clients are not cut off");
        }
        Some(socket)
    }
}

#[cfg(target_os = "linux")]
impl ListeningSocket {
    fn find(address: SocketAddr) -> io::Result<ListeningSocket> {
        Ok(ListeningSocket { socket: linux::find(address)? })
    }

    /// Disables Nagle's algorithm on connections accepted from now on: it held back
    /// the end of a list, sent in many pieces, for 44 ms (RFC 1122, 4.2.3.2 and
    /// 4.2.3.4).
    fn set_nodelay(&self) -> io::Result<()> {
        Ok(rustix::net::sockopt::set_tcp_nodelay(&self.socket, true)?)
    }

    /// Ends connections accepted from now on whose client has taken no pending byte
    /// for this long, or has vanished.
    fn set_stall_timeout(&self, timeout: Duration) -> io::Result<()> {
        use rustix::net::sockopt;
        let milliseconds = u32::try_from(timeout.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(&self.socket, milliseconds)?;
        // With no byte pending, keep-alive probes find out whether it has vanished.
        let idle = (timeout / 2).max(Duration::from_secs(1));
        sockopt::set_tcp_keepidle(&self.socket, idle)?;
        sockopt::set_tcp_keepintvl(&self.socket, (idle / 4).max(Duration::from_secs(1)))?;
        sockopt::set_socket_keepalive(&self.socket, true)?;
        Ok(())
    }

    /// Lets more connections wait to be accepted than the 128 that mio asks for: of
    /// 1,000 clients at once, a third had to wait a second and try again. The system
    /// may have a lower limit (`net.core.somaxconn`).
    fn lengthen_accept_queue(&self) -> io::Result<()> {
        Ok(rustix::net::listen(&self.socket, ACCEPT_QUEUE)?)
    }

    /// Refuses new connections, and those that are not accepted yet.
    pub fn close(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both)?)
    }
}

#[cfg(not(target_os = "linux"))]
impl ListeningSocket {
    fn find(_: SocketAddr) -> io::Result<ListeningSocket> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_nodelay(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn set_stall_timeout(&self, _: Duration) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn lengthen_accept_queue(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Not supported.
    pub fn close(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use filedescriptor::FileDescriptor;
    use rustix::net::{getpeername, getsockname, sockopt};
    use std::io;
    use std::net::SocketAddr;
    use std::os::fd::RawFd;
    use std::path::Path;

    /// How many connections that were accepted at this address are open.
    pub fn count_open(address: SocketAddr) -> io::Result<usize> {
        let mut open = 0;
        each_socket(|socket| {
            // A listener has no peer, whether it listens or was closed to stop.
            let has_peer = getpeername(&socket).is_ok();
            // A listener at all addresses accepts at each of them.
            let local = local_address(&socket).filter(|_| has_peer);
            open += usize::from(local.is_some_and(|local| {
                let is_there = address.ip().is_unspecified() || local.ip() == address.ip();
                is_there && local.port() == address.port()
            }));
            None::<()>
        })?;
        Ok(open)
    }

    pub fn find(address: SocketAddr) -> io::Result<FileDescriptor> {
        each_socket(|socket| {
            let is_listening = sockopt::socket_acceptconn(&socket).unwrap_or(false);
            (is_listening && local_address(&socket) == Some(address)).then_some(socket)
        })?
        .ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    /// Gives a duplicate of each of the process's sockets, until one is chosen.
    fn each_socket<T>(
        mut choose: impl FnMut(FileDescriptor) -> Option<T>,
    ) -> io::Result<Option<T>> {
        for entry in std::fs::read_dir("/proc/self/fd")? {
            let entry = entry?;
            if !is_socket(&entry.path()) {
                continue;
            }
            let Ok(number) = entry.file_name().to_string_lossy().parse::<RawFd>() else { continue };
            // It may have been closed meanwhile, and its number given to another file.
            let Ok(file) = FileDescriptor::dup(&number) else { continue };
            // Closing a duplicate of one of SQLite's files would release its locks
            // (fcntl(2), "Advisory record locking"), and the next command to exit
            // would delete the WAL that the server still writes to. So what is no
            // socket stays open.
            if sockopt::socket_type(&file).is_err() {
                std::mem::forget(file);
                continue;
            }
            if let Some(chosen) = choose(file) {
                return Ok(Some(chosen));
            }
        }
        Ok(None)
    }

    /// Reads the link's text, without opening the file.
    fn is_socket(entry: &Path) -> bool {
        std::fs::read_link(entry)
            .is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    }

    fn local_address(socket: &FileDescriptor) -> Option<SocketAddr> {
        SocketAddr::try_from(getsockname(socket).ok()?).ok()
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn more_connections_wait_than_a_short_queue_holds() {
        let short = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&short, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&short, 1).unwrap();
        let listener = TcpListener::from(short);
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(300));
        let waiting: Vec<_> =
            std::iter::repeat_with(connect).map_while(Result::ok).take(9).collect();
        assert!(waiting.len() < 9, "the queue is not short");
        ListeningSocket::find(address).unwrap().lengthen_accept_queue().unwrap();
        let more: Vec<_> = (0..100).map(|_| connect().unwrap()).collect();
        drop((waiting, more));
    }

    #[test]
    fn open_connections_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(open_connections(address), Some(0));
        let client = TcpStream::connect(address).unwrap();
        let accepted = listener.accept().unwrap();
        assert_eq!(open_connections(address), Some(1));
        let at_all = SocketAddr::from(([0, 0, 0, 0], address.port()));
        assert_eq!(open_connections(at_all), Some(1));
        drop((client, accepted));
        assert_eq!(open_connections(address), Some(0));
    }

    #[test]
    fn accepted_connections_inherit_nodelay() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = || {
            let client = TcpStream::connect(address).unwrap();
            (client, listener.accept().unwrap().0)
        };
        assert!(!accepted().1.nodelay().unwrap());
        ListeningSocket::find(address).unwrap().set_nodelay().unwrap();
        assert!(accepted().1.nodelay().unwrap());
    }
}
