//! Reads requests and responses out of the bytes of an HTTP/1.1 connection.
//!
//! What cannot be read is left alone: what the server says to it, it says
//! before anything of the contract (the README lists these answers).

use http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::VecDeque;

/// A request, without its body: no operation takes one.
#[derive(Clone, Debug)]
pub struct Sent {
    pub method: String,
    pub target: String,
}

/// A response.
#[derive(Debug)]
pub struct Received {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// How a body ends.
enum Framing {
    /// After this many bytes.
    Length(usize),
    /// With an empty chunk; what was read of it so far.
    Chunked(Vec<u8>),
    /// With the connection.
    UntilEnd,
}

/// The bytes of one direction that are not yet read.
#[derive(Default)]
struct Bytes {
    unread: Vec<u8>,
    /// Nothing more is read once something could not be.
    lost: bool,
}

impl Bytes {
    /// The body, if all of it is there.
    fn body(&mut self, framing: &mut Framing, ended: bool) -> Option<Vec<u8>> {
        match framing {
            Framing::Length(length) if self.unread.len() >= *length => {
                Some(self.unread.drain(..*length).collect())
            }
            Framing::Length(_) => None,
            Framing::UntilEnd => ended.then(|| std::mem::take(&mut self.unread)),
            Framing::Chunked(read) => {
                while let Ok(httparse::Status::Complete((start, length))) =
                    httparse::parse_chunk_size(&self.unread)
                {
                    let length = usize::try_from(length).unwrap();
                    // Each chunk ends with a line break of its own.
                    if self.unread.len() < start + length + 2 {
                        return None;
                    }
                    read.extend_from_slice(&self.unread[start..start + length]);
                    self.unread.drain(..start + length + 2);
                    if length == 0 {
                        return Some(std::mem::take(read));
                    }
                }
                None
            }
        }
    }
}

/// What goes to the server.
#[derive(Default)]
pub struct Outgoing {
    bytes: Bytes,
    body: Option<Framing>,
}

impl Outgoing {
    /// The requests whose heads end in these bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<Sent> {
        let mut sent = Vec::new();
        self.bytes.unread.extend_from_slice(bytes);
        while !self.bytes.lost {
            if let Some(framing) = &mut self.body {
                if self.bytes.body(framing, bytes.is_empty()).is_none() {
                    break;
                }
                self.body = None;
            }
            let mut headers = [httparse::EMPTY_HEADER; 256];
            let mut request = httparse::Request::new(&mut headers);
            match request.parse(&self.bytes.unread) {
                Ok(httparse::Status::Complete(length)) => {
                    sent.push(Sent {
                        method: request.method.unwrap().to_string(),
                        target: request.path.unwrap().to_string(),
                    });
                    let framing = framing(&header_map(request.headers), Framing::Length(0));
                    self.bytes.unread.drain(..length);
                    self.body = Some(framing);
                }
                Ok(httparse::Status::Partial) => break,
                Err(_) => self.bytes.lost = true,
            }
        }
        sent
    }
}

/// What comes from the server.
#[derive(Default)]
pub struct Incoming {
    bytes: Bytes,
    begun: Option<(Sent, Received, Framing)>,
}

impl Incoming {
    /// The responses that end in these bytes, each with its request.
    pub fn feed(&mut self, bytes: &[u8], asked: &mut VecDeque<Sent>) -> Vec<(Sent, Received)> {
        let mut received = Vec::new();
        self.bytes.unread.extend_from_slice(bytes);
        while !self.bytes.lost {
            if let Some((sent, mut response, mut framing)) = self.begun.take() {
                match self.bytes.body(&mut framing, bytes.is_empty()) {
                    Some(body) => {
                        response.body = body;
                        received.push((sent, response));
                    }
                    None => {
                        self.begun = Some((sent, response, framing));
                        break;
                    }
                }
            }
            if !self.begin(asked) {
                break;
            }
        }
        received
    }

    /// Reads the head of the next response, if all of it is there.
    fn begin(&mut self, asked: &mut VecDeque<Sent>) -> bool {
        let mut headers = [httparse::EMPTY_HEADER; 256];
        let mut response = httparse::Response::new(&mut headers);
        let Ok(parsed) = response.parse(&self.bytes.unread) else {
            self.bytes.lost = true;
            return false;
        };
        let httparse::Status::Complete(length) = parsed else { return false };
        let status = response.code.unwrap();
        let headers = header_map(response.headers);
        self.bytes.unread.drain(..length);
        if (100..200).contains(&status) {
            return true;
        }
        // An answer to what was no request.
        let Some(sent) = asked.pop_front() else {
            self.bytes.lost = true;
            return false;
        };
        let bodiless = sent.method == "HEAD" || matches!(status, 204 | 304);
        let framing =
            if bodiless { Framing::Length(0) } else { framing(&headers, Framing::UntilEnd) };
        self.begun = Some((sent, Received { status, headers, body: Vec::new() }, framing));
        true
    }
}

fn header_map(headers: &[httparse::Header<'_>]) -> HeaderMap {
    let pair = |header: &httparse::Header<'_>| {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(header.value).ok()?))
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter().filter_map(pair) {
        map.append(name, value);
    }
    map
}

fn framing(headers: &HeaderMap, unsaid: Framing) -> Framing {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    match (text("transfer-encoding"), text("content-length")) {
        (Some(_), _) => Framing::Chunked(Vec::new()),
        (None, Some(length)) => length.parse().map_or(unsaid, Framing::Length),
        (None, None) => unsaid,
    }
}
