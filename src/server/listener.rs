//! Sets options of dropshot's listening socket, so that responses are sent without delay and
//! stalled connections end.
//!
//! Also closes the socket early in a shutdown, because dropshot keeps the socket open until the
//! last request is done. Until then, new clients could connect, but would only wait.
//!
//! Closing a listening socket resets the connections that are established but not yet accepted.
//! Their clients may have sent requests, and cannot know that nobody read them. So the socket first
//! ignores SYN packets for a moment, while the process accepts the established connections. An
//! ignored client repeats its SYN after a second, and is refused before it sends a request.
//!
//! Dropshot does not expose the socket. On Linux, this module finds and duplicates the socket
//! through /proc. Without /proc and on other systems, the options are not set, and the log has a
//! warning.

use filedescriptor::FileDescriptor;
use rustix::net::{Shutdown, sockopt};
use slog::{Logger, warn};
use sockets::{count_open, find, ignore_syn_packets};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The number of connections that may wait to be accepted.
const ACCEPT_QUEUE_LENGTH: i32 = 4_096;

/// The listening socket, as a duplicate of dropshot's file descriptor.
#[derive(Debug)]
pub struct ListeningSocket(FileDescriptor);

/// Returns the number of open connections that were accepted at this address, or `None` if the
/// system does not report them.
pub fn open_connections(address: SocketAddr) -> Option<usize> {
    count_open(address).ok()
}

impl ListeningSocket {
    /// Finds the socket that listens at this address, and sets the socket's options. Returns `None`
    /// if the socket cannot be found, for example without /proc. Logs a warning if either step
    /// fails.
    pub fn find_and_configure(
        address: SocketAddr,
        stall_timeout: Duration,
        log: &Logger,
    ) -> Option<ListeningSocket> {
        let socket = find(address).inspect_err(|error| {
            warn!(log, "listening socket not found"; "error" => %error,
                "effect" => "long lists may be delayed, stalled clients are not cut off, and \
                    connections are accepted during shutdown",
                "fix" => "run on Linux with /proc mounted");
        });
        let socket = ListeningSocket(socket.ok()?);
        let options = socket
            .set_nodelay()
            .and_then(|()| socket.set_stall_timeout(stall_timeout))
            .and_then(|()| socket.lengthen_accept_queue());
        if let Err(error) = options {
            warn!(log, "listening socket options not set"; "error" => %error,
                "effect" => "long lists may be delayed, and stalled clients are not cut off");
        }
        Some(socket)
    }

    /// Disables Nagle's algorithm on connections that are accepted from now on. The algorithm
    /// delayed the end of a long list by 44 ms (RFC 1122, 4.2.3.2 and 4.2.3.4).
    fn set_nodelay(&self) -> io::Result<()> {
        Ok(sockopt::set_tcp_nodelay(&self.0, true)?)
    }

    /// Makes the operating system end the connections of vanished clients after `timeout`. On
    /// Linux, this includes clients that take no bytes. Affects only connections that are accepted
    /// after this call.
    fn set_stall_timeout(&self, timeout: Duration) -> io::Result<()> {
        #[cfg(target_os = "linux")]
        sockopt::set_tcp_user_timeout(&self.0, timeout.as_millis().try_into().unwrap_or(u32::MAX))?;
        // The user timeout above needs a sent byte that stays unacknowledged. On an idle connection
        // there is none, so keep-alive probes detect a vanished client.
        let idle = (timeout / 2).max(Duration::from_secs(1));
        sockopt::set_tcp_keepidle(&self.0, idle)?;
        sockopt::set_tcp_keepintvl(&self.0, (idle / 4).max(Duration::from_secs(1)))?;
        Ok(sockopt::set_socket_keepalive(&self.0, true)?)
    }

    /// Lengthens the queue of connections that wait to be accepted. With std's length of 128, a
    /// third of 1,000 simultaneous clients had to wait a second and retry. `net.core.somaxconn` may
    /// impose a lower limit.
    fn lengthen_accept_queue(&self) -> io::Result<()> {
        Ok(rustix::net::listen(&self.0, ACCEPT_QUEUE_LENGTH)?)
    }

    /// Ignores new connections from now on. Handshakes that a client has already begun can still
    /// complete.
    pub fn ignore_new_connections(&self, log: &Logger) {
        if let Err(error) = ignore_syn_packets(&self.0) {
            warn!(log, "new connections cannot be ignored before the stop"; "error" => %error,
                "effect" => "connections that are opened while the server stops may be reset",
                "fix" => "take the server out of the proxy before the stop");
        }
    }

    /// Refuses new connections, and resets those that are established but not accepted yet.
    pub fn close(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.0, Shutdown::Both)?)
    }
}

#[cfg(target_os = "linux")]
mod sockets {
    use filedescriptor::FileDescriptor;
    use procfs::ProcResult;
    use procfs::net::{TcpNetEntry, TcpState};
    use procfs::process::{FDTarget, Process};
    use rustix::net::getsockname;
    use rustix::net::sockopt::socket_acceptconn;
    use socket2::{SockFilter, SockRef};
    use std::io;
    use std::net::SocketAddr;

    /// Drops the packets that begin connections: they have the TCP flag SYN but not ACK. Offsets
    /// count from the start of the TCP header. bpf(4) describes the instructions, and
    /// <linux/bpf_common.h> their values.
    const DROP_SYN: [SockFilter; 5] = [
        // Load the byte at offset 13 of the TCP header, which has the flags.
        SockFilter::new(0x30, 0, 0, 13),
        // Keep only the bits of the flags SYN and ACK.
        SockFilter::new(0x54, 0, 0, 0x12),
        // For a SYN without ACK, which opens a connection, skip to the drop.
        SockFilter::new(0x15, 1, 0, 0x02),
        // Pass the whole packet.
        SockFilter::new(0x06, 0, 0, u32::MAX),
        // Drop the packet.
        SockFilter::new(0x06, 0, 0, 0),
    ];

    pub fn ignore_syn_packets(socket: &FileDescriptor) -> io::Result<()> {
        SockRef::from(socket).attach_filter(&DROP_SYN)
    }

    /// Counts the open connections that were accepted at this address, in this network namespace.
    /// Reads the TCP tables in /proc/self/net, because systemd's `ProcSubset=pid` hides /proc/net.
    /// Without IPv6, the table tcp6 is missing and counts as empty.
    pub fn count_open(address: SocketAddr) -> ProcResult<usize> {
        let process = Process::myself()?;
        let is_open = |socket: &TcpNetEntry| {
            // A listener at the unspecified address, such as 0.0.0.0, accepts connections to every
            // local address.
            let is_address = address.ip().is_unspecified()
                || socket.local_address.ip().to_canonical() == address.ip().to_canonical();
            // The inode is 0 before this process accepts a connection, and after this process
            // closes the connection.
            let has_file = socket.inode != 0 && socket.state != TcpState::Listen;
            has_file && is_address && socket.local_address.port() == address.port()
        };
        Ok(process
            .tcp()?
            .into_iter()
            .chain(process.tcp6().unwrap_or_default())
            .filter(is_open)
            .count())
    }

    /// Finds the socket that listens at `address`. Searches only the open files of this process,
    /// because the table of all sockets is long on a busy machine.
    pub fn find(address: SocketAddr) -> io::Result<FileDescriptor> {
        let files =
            Process::myself().and_then(|process| process.fd()).map_err(io::Error::other)?.flatten();
        // Duplicate only sockets. Closing a duplicate of one of SQLite's files would release
        // SQLite's locks on that file (fcntl(2), "Advisory record locking").
        let sockets = files.filter(|file| matches!(file.target, FDTarget::Socket(_)));
        let mut sockets = sockets.filter_map(|file| FileDescriptor::dup(&file.fd).ok());
        let listens = |socket: &FileDescriptor| {
            let local = getsockname(socket).ok().and_then(|name| SocketAddr::try_from(name).ok());
            local == Some(address) && socket_acceptconn(socket) == Ok(true)
        };
        sockets.find(listens).ok_or_else(|| io::ErrorKind::NotFound.into())
    }
}

#[cfg(not(target_os = "linux"))]
mod sockets {
    use filedescriptor::FileDescriptor;
    use std::io;
    use std::net::SocketAddr;

    pub fn count_open(_: SocketAddr) -> io::Result<usize> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn find(_: SocketAddr) -> io::Result<FileDescriptor> {
        Err(io::ErrorKind::Unsupported.into())
    }

    pub fn ignore_syn_packets(_: &FileDescriptor) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use procfs::net::{TcpNetEntry, TcpState};
    use procfs::process::Process;
    use rustix::net::{AddressFamily, SocketType, bind, listen, socket};
    use std::io::{Read, Write};
    use std::net::{TcpListener, TcpStream};
    use std::thread;

    #[test]
    fn the_accept_queue_is_lengthened() {
        let short = socket(AddressFamily::INET, SocketType::STREAM, None).unwrap();
        bind(&short, &SocketAddr::from(([127, 0, 0, 1], 0))).unwrap();
        listen(&short, 1).unwrap();
        let listener = TcpListener::from(short);
        let address = listener.local_addr().unwrap();
        let connect = || TcpStream::connect_timeout(&address, Duration::from_millis(300));
        let waiting: Vec<_> =
            std::iter::repeat_with(connect).map_while(Result::ok).take(9).collect();
        assert!(waiting.len() < 9, "the queue is not short");
        ListeningSocket(find(address).unwrap()).lengthen_accept_queue().unwrap();
        let more: Vec<_> = (0..150).map(|_| connect().unwrap()).collect();
        drop((waiting, more));
    }

    /// The system ignores the SYN of a client that connects shortly before the socket closes. The
    /// client repeats the SYN after the close and is refused, so it knows that no request was
    /// executed.
    ///
    /// If the system completed the connection, the close would reset it. The client could not know
    /// whether its request was executed.
    #[test]
    fn new_connections_are_ignored_until_the_socket_closes() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let established = TcpStream::connect(address).unwrap();
        ignore_syn_packets(&find(address).unwrap()).unwrap();
        let ignored = TcpStream::connect_timeout(&address, Duration::from_millis(300));
        assert_eq!(ignored.unwrap_err().kind(), io::ErrorKind::TimedOut);
        let (mut accepted, _) = listener.accept().unwrap();
        accepted.write_all(b"x").unwrap();
        (&established).read_exact(&mut [0]).unwrap();
        let client = thread::spawn(move || TcpStream::connect(address));
        let is_connecting = || {
            let sockets = Process::myself().unwrap().tcp().unwrap();
            let to = |socket: TcpNetEntry| {
                socket.remote_address == address && socket.state == TcpState::SynSent
            };
            sockets.into_iter().any(to)
        };
        while !is_connecting() {
            thread::yield_now();
        }
        drop(listener);
        let refused = client.join().unwrap();
        assert_eq!(refused.unwrap_err().kind(), io::ErrorKind::ConnectionRefused);
    }

    #[test]
    fn open_connections_are_counted() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        assert_eq!(open_connections(address), Some(0));
        let client = TcpStream::connect(address).unwrap();
        let accepted = listener.accept().unwrap();
        assert_eq!(open_connections(address), Some(1));
        let unspecified = SocketAddr::from(([0, 0, 0, 0], address.port()));
        assert_eq!(open_connections(unspecified), Some(1));
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
        ListeningSocket(find(address).unwrap()).set_nodelay().unwrap();
        assert!(accepted().1.nodelay().unwrap());
    }
}
