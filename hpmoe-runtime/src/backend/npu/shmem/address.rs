//! The meeting point of the SHMEM library's processes: a socket of rank 0.

use std::env;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener, ToSocketAddrs as _};
use std::os::fd::IntoRawFd as _;

use super::ShmemError;

/// A socket on which rank 0 already listens, so that no other program can take its port.
pub(super) struct Address {
    listener: TcpListener,
    at: SocketAddr,
}

impl Address {
    /// Listens on `MASTER_ADDR`, or on this machine's loopback interface.
    pub(super) fn of_this_rank() -> Result<Self, ShmemError> {
        let listen = || {
            let listener = TcpListener::bind((host().as_str(), 0))?;
            let at = listener.local_addr()?;
            Ok(Self { listener, at })
        };
        listen().map_err(|cause: io::Error| ShmemError::Address { rank: 0, cause: cause.to_string() })
    }

    pub(super) const fn port(&self) -> u16 {
        self.at.port()
    }

    /// The socket's URL and file descriptor, for the library, which owns the descriptor from now on.
    pub(super) fn given_away(self) -> (String, i32) {
        (url(self.at), self.listener.into_raw_fd())
    }
}

/// The URL of rank 0's socket, which listens on `port`.
pub(super) fn of_rank_0(rank: usize, port: u16) -> Result<String, ShmemError> {
    let failed = |cause: String| ShmemError::Address { rank, cause };
    let found = (host().as_str(), port).to_socket_addrs().map_err(|error| failed(error.to_string()))?.next();
    found.map(url).ok_or_else(|| failed(format!("`{}` has no address", host())))
}

/// The host of rank 0: `MASTER_ADDR`, or the loopback interface.
fn host() -> String {
    env::var("MASTER_ADDR").ok().filter(|name| !name.is_empty()).unwrap_or_else(|| "127.0.0.1".to_owned())
}

fn url(at: SocketAddr) -> String {
    match at.ip() {
        IpAddr::V4(ip) => format!("tcp://{ip}:{}", at.port()),
        IpAddr::V6(ip) => format!("tcp6://[{ip}]:{}", at.port()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_as_the_library_reads_them() {
        let texts = ["10.1.2.3:4000", "[::1]:4000"].map(|at| url(at.parse().unwrap()));
        assert_eq!(texts, ["tcp://10.1.2.3:4000", "tcp6://[::1]:4000"]);
        let longest = url("[1111:2222:3333:4444:5555:6666:7777:8888]:65535".parse().unwrap());
        assert!(longest.len() < super::super::ACLSHMEM_MAX_IP_PORT_LEN as usize, "{longest}");
    }
}
