//! The socket that dropshot listens on, for what dropshot does not do: to send
//! without delay, to end connections whose other end takes nothing, and to refuse
//! new ones while the server stops. (Dropshot keeps the socket open until the last
//! request is done; whoever connects meanwhile would wait in vain.)
//!
//! Dropshot hands the socket out to nobody, but Linux tells a process which files
//! it has, gives it another handle to any of them, and lets connections inherit
//! the options of the socket that they were accepted on. Elsewhere, and without
//! /proc, none of it is done, and the log says so.

use slog::{Logger, warn};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// Another handle to a socket of this process.
#[derive(Debug)]
pub struct ListeningSocket {
    #[cfg(target_os = "linux")]
    socket: filedescriptor::FileDescriptor,
}

impl ListeningSocket {
    /// The one that listens at this address, with its connections bounded and
    /// prompt; none where the system does not allow it.
    pub fn prepared(
        address: SocketAddr,
        stalled_after: Duration,
        log: &Logger,
    ) -> Option<ListeningSocket> {
        let socket = ListeningSocket::find(address);
        let done = socket.and_then(|socket| {
            socket.send_promptly()?;
            socket.end_stalled(stalled_after)?;
            Ok(socket)
        });
        if let Err(error) = &done {
            warn!(log, "long lists may be sent with delays, clients that take nothing are not cut \
                off, and while the server stops it refuses no connection: the system keeps it \
                from its own socket";
                "error" => error.to_string());
        }
        done.ok()
    }
}

#[cfg(target_os = "linux")]
impl ListeningSocket {
    /// The one that listens at this address.
    fn find(address: SocketAddr) -> io::Result<ListeningSocket> {
        Ok(ListeningSocket { socket: linux::find(address)? })
    }

    /// On connections that are accepted here from now on no byte waits for the
    /// other end to confirm those before it: a list is sent in many pieces, and
    /// its end waited for 44 ms (RFC 1122, 4.2.3.2 and 4.2.3.4).
    fn send_promptly(&self) -> io::Result<()> {
        Ok(rustix::net::sockopt::set_tcp_nodelay(&self.socket, true)?)
    }

    /// From now on the system ends connections that are accepted here and whose
    /// other end has for so long taken no byte that is waiting for it, or has
    /// vanished without a word.
    fn end_stalled(&self, after: Duration) -> io::Result<()> {
        use rustix::net::sockopt;
        let milliseconds = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
        sockopt::set_tcp_user_timeout(&self.socket, milliseconds)?;
        // Whoever has vanished while nothing waits for him is asked for an answer.
        let asked_after = (after / 2).max(Duration::from_secs(1));
        sockopt::set_tcp_keepidle(&self.socket, asked_after)?;
        sockopt::set_tcp_keepintvl(&self.socket, (asked_after / 4).max(Duration::from_secs(1)))?;
        sockopt::set_socket_keepalive(&self.socket, true)?;
        Ok(())
    }

    /// From now on connections are refused. Whoever has not been accepted yet is
    /// turned away.
    pub fn close(&self) -> io::Result<()> {
        Ok(rustix::net::shutdown(&self.socket, rustix::net::Shutdown::Both)?)
    }
}

#[cfg(not(target_os = "linux"))]
impl ListeningSocket {
    /// There is no way to it.
    fn find(_: SocketAddr) -> io::Result<ListeningSocket> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Not done here.
    fn send_promptly(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Not done here.
    fn end_stalled(&self, _: Duration) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }

    /// Not done here.
    pub fn close(&self) -> io::Result<()> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use filedescriptor::FileDescriptor;
    use rustix::net::{getsockname, sockopt};
    use std::io;
    use std::net::SocketAddr;
    use std::os::fd::RawFd;
    use std::path::Path;

    pub fn find(address: SocketAddr) -> io::Result<FileDescriptor> {
        for entry in std::fs::read_dir("/proc/self/fd")? {
            let entry = entry?;
            // Only sockets: to close another handle to a file of the store would
            // take SQLite's locks away (fcntl(2), "Advisory record locking"), and
            // the next command to end would delete the log that the server writes.
            if !is_socket(&entry.path()) {
                continue;
            }
            let Ok(number) = entry.file_name().to_string_lossy().parse::<RawFd>() else { continue };
            // What was closed meanwhile is not the one.
            let Ok(file) = FileDescriptor::dup(&number) else { continue };
            if listens_at(&file, address) {
                return Ok(file);
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    /// By the link's text, without a handle to what it leads to.
    fn is_socket(entry: &Path) -> bool {
        std::fs::read_link(entry)
            .is_ok_and(|target| target.to_string_lossy().starts_with("socket:"))
    }

    fn listens_at(file: &FileDescriptor, address: SocketAddr) -> bool {
        let own = || SocketAddr::try_from(getsockname(file).ok()?).ok();
        sockopt::socket_acceptconn(file).unwrap_or(false) && own() == Some(address)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::net::{TcpListener, TcpStream};

    #[test]
    fn connections_are_prompt_from_then_on() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let accepted = || {
            let client = TcpStream::connect(address).unwrap();
            (client, listener.accept().unwrap().0)
        };
        assert!(!accepted().1.nodelay().unwrap());
        ListeningSocket::find(address).unwrap().send_promptly().unwrap();
        assert!(accepted().1.nodelay().unwrap());
    }
}
