//! A keep-alive connection of the load generator: HTTP/1.1 without pipelining. Bodies are not
//! stored, so that the generator uses less processor time than the measured server.

use anyhow::{Context, bail, ensure};
use bytes::{Buf, BytesMut};
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const BUFFER_BYTES: usize = 256 * 1024;
/// More headers than any of the measured servers sends.
const MAX_HEADERS: usize = 32;
/// The time limit for [`block_on`]. Without a limit, a server that stops responding would hang the
/// benchmark.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

pub struct Connection {
    stream: TcpStream,
    buffer: BytesMut,
}

/// Runs requests on the calling thread, because the benchmark pins this thread to a core. Fails
/// after [`ANSWER_TIMEOUT`].
pub fn block_on<T>(requests: impl Future<Output = anyhow::Result<T>>) -> anyhow::Result<T> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let requests = tokio::time::timeout(ANSWER_TIMEOUT, requests).await;
        requests.context("a server does not answer")?
    })
}

impl Connection {
    pub async fn open(address: SocketAddr) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(address).await?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: BytesMut::with_capacity(BUFFER_BYTES) })
    }

    /// Sends a request and reads the response, which must have the given status. Calls `body` with
    /// each part of the response's body.
    pub async fn exchange(
        &mut self,
        request: &[u8],
        status: u16,
        mut body: impl FnMut(&[u8]),
    ) -> anyhow::Result<()> {
        self.stream.write_all(request).await?;
        let (received, mut remaining) = loop {
            match parse_head(&self.buffer)? {
                Some((head_length, status, body_length)) => {
                    self.buffer.advance(head_length);
                    break (status, body_length);
                }
                None => self.read().await?,
            }
        };
        ensure!(received == status, "an answer was {received} where {status} was expected");
        loop {
            let part = self.buffer.get(..remaining).unwrap_or(&self.buffer);
            body(part);
            let length = part.len();
            self.buffer.advance(length);
            remaining -= length;
            if remaining == 0 {
                return Ok(());
            }
            self.read().await?;
        }
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        // `reserve` reuses the space of bytes that have been parsed, so the buffer does not grow.
        self.buffer.reserve(BUFFER_BYTES / 2);
        let read = self.stream.read_buf(&mut self.buffer).await?;
        ensure!(read > 0, "a connection was closed before its answer had ended");
        Ok(())
    }
}

/// Returns the length of the head, the status, and the length of the body. Returns `None` if the
/// head is incomplete. Fails if a response other than a 204 has no `Content-Length`.
fn parse_head(bytes: &[u8]) -> anyhow::Result<Option<(usize, u16, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let httparse::Status::Complete(head_length) = response.parse(bytes)? else { return Ok(None) };
    let status = response.code.unwrap_or_default();
    let lengths = response.headers.iter();
    let mut lengths = lengths.filter(|header| header.name.eq_ignore_ascii_case("content-length"));
    let body_length = match lengths.next() {
        Some(length) => std::str::from_utf8(length.value)?.parse()?,
        None if status == 204 => 0,
        None => bail!("an answer of status {status} has no length"),
    };
    Ok(Some((head_length, status, body_length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    const ANSWERS: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\
        HTTP/1.1 204 No Content\r\n\r\n\
        HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n\
        HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc";

    #[test]
    fn answers_are_separated_however_they_are_split() {
        for piece in [1, 2, 7, 1_000] {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            let server = std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                stream.set_nodelay(true).unwrap();
                let _ = stream.read(&mut [0; 64]).unwrap();
                for part in ANSWERS.chunks(piece) {
                    stream.write_all(part).unwrap();
                    std::thread::yield_now();
                }
                // Keeps the connection open until the client closes it.
                let _ = stream.read_to_end(&mut Vec::new());
            });
            let bodies = block_on(async {
                let mut connection = Connection::open(address).await?;
                let mut bodies = Vec::new();
                for status in [200, 204, 429, 200] {
                    let mut body = Vec::new();
                    let keep = |part: &[u8]| body.extend_from_slice(part);
                    connection.exchange(b"GET / HTTP/1.1\r\n\r\n", status, keep).await?;
                    bodies.push(String::from_utf8(body)?);
                }
                Ok(bodies)
            });
            assert_eq!(bodies.unwrap(), ["hello", "", "", "abc"], "in pieces of {piece}");
            server.join().unwrap();
        }
    }

    #[test]
    fn an_answer_without_a_length_is_refused() {
        assert!(parse_head(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(parse_head(b"HTTP/1.1 200 OK\r\nContent-Le").unwrap().is_none());
        assert!(parse_head(b"SSH-2.0-something\r\n\r\n").is_err());
    }
}
