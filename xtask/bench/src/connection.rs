//! A keep-alive connection of the load generator: HTTP/1.1 without pipelining. It
//! keeps no body, so that the generator costs less than what it measures.

use anyhow::{Context, bail};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

const READ_BYTES: usize = 256 * 1024;
/// More headers than any of the measured servers sends.
const MAX_HEADERS: usize = 32;
/// An answer that takes longer ends the benchmark instead of hanging it.
const ANSWER_TIMEOUT: Duration = Duration::from_secs(60);

/// A connection and what it has read ahead.
pub struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    start: usize,
    end: usize,
}

/// The head of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Head {
    /// The status code.
    pub status: u16,
    /// Whether the body is gzip.
    pub gzip: bool,
    /// How the body ends.
    pub framing: Framing,
}

/// How a body ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Framing {
    /// After this many bytes.
    Length(u64),
    /// With an empty chunk.
    Chunked,
}

impl Connection {
    /// Connects.
    pub async fn open(address: SocketAddr) -> anyhow::Result<Connection> {
        let stream = TcpStream::connect(address)
            .await
            .with_context(|| format!("cannot connect to {address}"))?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: vec![0; READ_BYTES], start: 0, end: 0 })
    }

    /// Sends a whole request.
    pub async fn send(&mut self, request: &[u8]) -> anyhow::Result<()> {
        self.stream.write_all(request).await.context("cannot send a request")
    }

    /// Receives an answer; `body` gets its bytes as they come.
    pub async fn receive(&mut self, body: &mut impl FnMut(&[u8])) -> anyhow::Result<Head> {
        tokio::time::timeout(ANSWER_TIMEOUT, async {
            let head = self.head().await?;
            match head.framing {
                _ if head.status == 204 => {}
                Framing::Length(length) => self.exactly(length, body).await?,
                Framing::Chunked => self.chunks(body).await?,
            }
            Ok(head)
        })
        .await
        .context("no answer within a minute")?
    }

    async fn head(&mut self) -> anyhow::Result<Head> {
        loop {
            if let Some((head, length)) = parse_head(self.unread())? {
                self.start += length;
                return Ok(head);
            }
            self.read().await?;
        }
    }

    /// Receives `left` bytes.
    async fn exactly(&mut self, mut left: u64, body: &mut impl FnMut(&[u8])) -> anyhow::Result<()> {
        while left > 0 {
            if self.unread().is_empty() {
                self.read().await?;
            }
            let unread = self.unread();
            let part = unread.get(..left as usize).unwrap_or(unread);
            body(part);
            left -= part.len() as u64;
            self.start += part.len();
        }
        Ok(())
    }

    async fn chunks(&mut self, body: &mut impl FnMut(&[u8])) -> anyhow::Result<()> {
        loop {
            let size = loop {
                match httparse::parse_chunk_size(self.unread()) {
                    Ok(httparse::Status::Complete((line, size))) => {
                        self.start += line;
                        break size;
                    }
                    Ok(httparse::Status::Partial) => self.read().await?,
                    Err(_) => bail!("an answer has a chunk without a size"),
                }
            };
            self.exactly(size, body).await?;
            // What follows a chunk; behind the last one there are no trailers.
            self.exactly(2, &mut |_| {}).await?;
            if size == 0 {
                return Ok(());
            }
        }
    }

    fn unread(&self) -> &[u8] {
        self.buffer.get(self.start..self.end).unwrap_or_default()
    }

    async fn read(&mut self) -> anyhow::Result<()> {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        } else if self.end == self.buffer.len() {
            self.buffer.copy_within(self.start..self.end, 0);
            (self.start, self.end) = (0, self.end - self.start);
        }
        let room = self.buffer.get_mut(self.end..).unwrap_or_default();
        let read = self.stream.read(room).await.context("cannot read an answer")?;
        if read == 0 {
            return Err(io::Error::from(io::ErrorKind::UnexpectedEof))
                .context("the connection was closed before the answer had ended");
        }
        self.end += read;
        Ok(())
    }
}

/// The head, if all of it is there, and its length in bytes.
fn parse_head(bytes: &[u8]) -> anyhow::Result<Option<(Head, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut response = httparse::Response::new(&mut headers);
    let length = match response.parse(bytes).context("an answer is no HTTP/1.1")? {
        httparse::Status::Complete(length) => length,
        httparse::Status::Partial => return Ok(None),
    };
    let status = response.code.unwrap_or_default();
    let (mut gzip, mut framing) = (false, None);
    for header in response.headers.iter() {
        if header.name.eq_ignore_ascii_case("content-length") {
            let digits = std::str::from_utf8(header.value)?;
            framing = Some(Framing::Length(digits.parse().context("a length is no number")?));
        } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
            framing = Some(Framing::Chunked);
        } else if header.name.eq_ignore_ascii_case("content-encoding") {
            gzip = header.value == b"gzip";
        }
    }
    let framing = match framing {
        None if status == 204 => Framing::Length(0),
        None => bail!("an answer of status {status} has no length"),
        Some(framing) => framing,
    };
    Ok(Some((Head { status, gzip, framing }, length)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};
    use std::net::TcpListener;

    /// What the generator reads when the server sends `answers` in pieces of
    /// `piece` bytes.
    fn received(answers: &'static [u8], piece: usize, count: usize) -> Vec<(u16, bool, Vec<u8>)> {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let server = std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            stream.set_nodelay(true).unwrap();
            let _ = stream.read(&mut [0; 64]).unwrap();
            for part in answers.chunks(piece) {
                stream.write_all(part).unwrap();
                std::thread::yield_now();
            }
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let read = runtime.block_on(async {
            let mut connection = Connection::open(address).await.unwrap();
            connection.send(b"GET / HTTP/1.1\r\n\r\n").await.unwrap();
            let mut read = Vec::new();
            for _ in 0..count {
                let mut body = Vec::new();
                let head =
                    connection.receive(&mut |bytes| body.extend_from_slice(bytes)).await.unwrap();
                read.push((head.status, head.gzip, body));
            }
            read
        });
        server.join().unwrap();
        read
    }

    #[test]
    fn answers_are_told_apart_however_they_are_cut() {
        let answers = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello\
            HTTP/1.1 204 No Content\r\n\r\n\
            HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Encoding: gzip\r\n\r\n\
            3\r\nabc\r\nb\r\nhello world\r\n0\r\n\r\n\
            HTTP/1.1 429 Too Many Requests\r\ncontent-length: 0\r\n\r\n";
        for piece in [1, 2, 7, 1_000] {
            assert_eq!(
                received(answers, piece, 4),
                [
                    (200, false, b"hello".to_vec()),
                    (204, false, vec![]),
                    (200, true, b"abchello world".to_vec()),
                    (429, false, vec![]),
                ],
                "in pieces of {piece}"
            );
        }
    }

    #[test]
    fn an_answer_without_a_length_is_refused() {
        assert!(parse_head(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
        assert!(parse_head(b"HTTP/1.1 200 OK\r\nContent-Le").unwrap().is_none());
        assert!(parse_head(b"SSH-2.0-something\r\n\r\n").is_err());
    }
}
