//! Reads requests and responses out of the bytes of an HTTP/1.1 connection.
//!
//! What cannot be parsed is left alone: hyper answers it before any of our code
//! runs (`src/handbook/operating.md` lists these answers).

use super::messages::{ReceivedResponse, SentRequest};
use http::{HeaderMap, HeaderName, HeaderValue};
use httparse::{EMPTY_HEADER, Header, Status};
use std::collections::VecDeque;

const MAX_HEADERS: usize = 256;

/// How a body ends.
#[derive(Clone, Copy)]
enum Framing {
    /// After this many bytes.
    Length(usize),
    /// With an empty chunk.
    Chunked,
    /// With the connection.
    UntilEnd,
}

impl Framing {
    /// None if the length is no number.
    fn of(headers: &[Header<'_>], default: Framing) -> Option<Framing> {
        let value = |name| headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        match (value("transfer-encoding"), value("content-length")) {
            (Some(_), _) => Some(Framing::Chunked),
            (None, Some(length)) => {
                std::str::from_utf8(length.value).ok()?.parse().ok().map(Framing::Length)
            }
            (None, None) => Some(default),
        }
    }

    /// The body at the beginning of these bytes and how many of them it takes, if all of it is
    /// there.
    fn body(self, bytes: &[u8], ended: bool) -> Option<(Vec<u8>, usize)> {
        match self {
            Framing::Length(length) => Some((bytes.get(..length)?.to_vec(), length)),
            Framing::UntilEnd => ended.then(|| (bytes.to_vec(), bytes.len())),
            Framing::Chunked => {
                let (mut body, mut taken) = (Vec::new(), 0);
                while let Ok(Status::Complete((start, length))) =
                    httparse::parse_chunk_size(&bytes[taken..])
                {
                    let (start, length) = (taken + start, usize::try_from(length).unwrap());
                    // Each chunk ends with a line break of its own.
                    taken = start.saturating_add(length).saturating_add(2);
                    body.extend_from_slice(&bytes.get(start..taken)?[..length]);
                    if length == 0 {
                        return Some((body, taken));
                    }
                }
                None
            }
        }
    }
}

/// What goes to the server.
#[derive(Default)]
pub struct RequestReader {
    buffer: Vec<u8>,
    body: Option<Framing>,
}

impl RequestReader {
    /// The requests whose heads end in these bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<SentRequest> {
        let mut sent = Vec::new();
        self.buffer.extend_from_slice(bytes);
        loop {
            if let Some(framing) = self.body {
                let Some((_, taken)) = framing.body(&self.buffer, bytes.is_empty()) else { break };
                self.buffer.drain(..taken);
                self.body = None;
            }
            let mut headers = [EMPTY_HEADER; MAX_HEADERS];
            let mut request = httparse::Request::new(&mut headers);
            let Ok(Status::Complete(length)) = request.parse(&self.buffer) else { break };
            self.body = Framing::of(request.headers, Framing::Length(0));
            if self.body.is_none() {
                break;
            }
            let names = request.headers.iter().map(|header| header.name);
            sent.push(SentRequest::new(request.method.unwrap(), request.path.unwrap(), names));
            self.buffer.drain(..length);
        }
        sent
    }
}

/// What comes from the server.
#[derive(Default)]
pub struct ResponseReader {
    buffer: Vec<u8>,
    /// Nothing more is parsed after an answer to what was no request.
    lost: bool,
}

impl ResponseReader {
    /// The responses that end in these bytes, each with its request.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        asked: &mut VecDeque<SentRequest>,
    ) -> Vec<(SentRequest, ReceivedResponse)> {
        let mut received = Vec::new();
        self.buffer.extend_from_slice(bytes);
        while let Some((mut response, framing, length)) = self.head(asked.front()) {
            if (100..200).contains(&response.status) {
                self.buffer.drain(..length);
                continue;
            }
            self.lost = asked.is_empty();
            let body = framing.body(&self.buffer[length..], bytes.is_empty());
            let Some((body, taken)) = body else { break };
            response.body = body;
            self.buffer.drain(..length + taken);
            received.extend(asked.pop_front().map(|sent| (sent, response)));
        }
        received
    }

    /// The status of a response to this request whose body is not complete.
    pub fn unfinished(&self, asked: &SentRequest) -> Option<u16> {
        self.head(Some(asked)).map(|(response, ..)| response.status)
    }

    /// The next response without its body, how that ends, and the length of the head, if all of
    /// the head is there.
    fn head(&self, asked: Option<&SentRequest>) -> Option<(ReceivedResponse, Framing, usize)> {
        if self.lost {
            return None;
        }
        let mut headers = [EMPTY_HEADER; MAX_HEADERS];
        let mut response = httparse::Response::new(&mut headers);
        let Ok(Status::Complete(length)) = response.parse(&self.buffer) else { return None };
        let status = response.code.unwrap();
        let has_no_body =
            asked.is_some_and(|sent| sent.method == "HEAD") || matches!(status, 204 | 304);
        let framing = match has_no_body {
            true => Framing::Length(0),
            false => Framing::of(response.headers, Framing::UntilEnd)?,
        };
        let headers = header_map(response.headers);
        Some((ReceivedResponse { status, headers, body: Vec::new() }, framing, length))
    }
}

fn header_map(headers: &[Header<'_>]) -> HeaderMap {
    let pair = |header: &Header<'_>| {
        let name = HeaderName::from_bytes(header.name.as_bytes()).ok()?;
        Some((name, HeaderValue::from_bytes(header.value).ok()?))
    };
    let mut map = HeaderMap::new();
    for (name, value) in headers.iter().filter_map(pair) {
        map.append(name, value);
    }
    map
}
