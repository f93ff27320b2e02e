//! Connections whose other end takes nothing: what the system can do about them.
//!
//! Dropshot owns the listening socket and bounds nothing of this. But on Linux a
//! connection inherits its options from the socket that it was accepted on, and
//! the system hands a process another handle to a socket of its own, so that they
//! can be set all the same. Elsewhere, and where a sandbox forbids it, nothing is
//! bounded, and the log says so.

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// From now on the system ends connections, accepted by whoever listens at this
/// address in this process, whose other end has for so long taken no byte that
/// is waiting for it, or has vanished without a word.
#[cfg(target_os = "linux")]
pub fn end_stalled(listener: SocketAddr, after: Duration) -> io::Result<()> {
    use rustix::net::sockopt;
    let socket = linux::listening_socket(listener)?;
    let milliseconds = u32::try_from(after.as_millis()).unwrap_or(u32::MAX);
    sockopt::set_tcp_user_timeout(&socket, milliseconds)?;
    // Whoever has vanished while nothing waits for him is asked for an answer.
    let asked_after = (after / 2).max(Duration::from_secs(1));
    sockopt::set_tcp_keepidle(&socket, asked_after)?;
    sockopt::set_tcp_keepintvl(&socket, (asked_after / 4).max(Duration::from_secs(1)))?;
    sockopt::set_socket_keepalive(&socket, true)?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn end_stalled(_: SocketAddr, _: Duration) -> io::Result<()> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(target_os = "linux")]
mod linux {
    use rustix::net::{getsockname, sockopt};
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};
    use std::io;
    use std::net::SocketAddr;
    use std::os::fd::OwnedFd;

    /// Another handle to the socket of this process that listens there.
    pub fn listening_socket(address: SocketAddr) -> io::Result<OwnedFd> {
        let process = pidfd_open(getpid(), PidfdFlags::empty())?;
        for entry in std::fs::read_dir("/proc/self/fd")? {
            let Ok(number) = entry?.file_name().to_string_lossy().parse() else { continue };
            // What was closed meanwhile is not the one.
            match pidfd_getfd(&process, number, PidfdGetfdFlags::empty()) {
                Ok(file) if listens_at(&file, address) => return Ok(file),
                Ok(_) | Err(rustix::io::Errno::BADF) => {}
                Err(error) => return Err(error.into()),
            }
        }
        Err(io::ErrorKind::NotFound.into())
    }

    fn listens_at(file: &OwnedFd, address: SocketAddr) -> bool {
        let own = || SocketAddr::try_from(getsockname(file).ok()?).ok();
        sockopt::socket_acceptconn(file).unwrap_or(false) && own() == Some(address)
    }
}
