//! Parses requests and responses from the bytes of an HTTP/1.1 connection.
//!
//! Ignores a request that cannot be parsed, because hyper responds before our code sees the
//! request. `src/handbook/operating.md` lists hyper's responses.

use super::messages::{ReceivedResponse, SentRequest};
use http::{HeaderMap, HeaderName, HeaderValue};
use httparse::{EMPTY_HEADER, Header, Status};
use std::collections::VecDeque;

const MAX_HEADERS: usize = 256;

/// The rule for finding the end of a body.
#[derive(Clone, Copy)]
enum Framing {
    Length(usize),
    /// The body ends with an empty chunk.
    Chunked,
    /// The body ends when the connection is closed.
    UntilEnd,
}

impl Framing {
    fn from_headers(headers: &[Header<'_>], default: Framing) -> Option<Framing> {
        let value = |name| headers.iter().find(|header| header.name.eq_ignore_ascii_case(name));
        match (value("transfer-encoding"), value("content-length")) {
            (Some(_), _) => Some(Framing::Chunked),
            (None, Some(length)) => {
                std::str::from_utf8(length.value).ok()?.parse().ok().map(Framing::Length)
            }
            (None, None) => Some(default),
        }
    }

    /// Returns the body at the start of `bytes`, and the number of bytes that the body and its
    /// framing take. Returns `None` if the body is incomplete. `ended` is true if no more bytes
    /// will arrive.
    fn body(self, bytes: &[u8], ended: bool) -> Option<(Vec<u8>, usize)> {
        match self {
            Framing::Length(length) => Some((bytes.get(..length)?.to_vec(), length)),
            Framing::UntilEnd => ended.then(|| (bytes.to_vec(), bytes.len())),
            Framing::Chunked => {
                let (mut body, mut consumed) = (Vec::new(), 0);
                while let Ok(Status::Complete((start, length))) =
                    httparse::parse_chunk_size(&bytes[consumed..])
                {
                    let (start, length) = (consumed + start, usize::try_from(length).unwrap());
                    // Each chunk ends with a line break of two bytes.
                    consumed = start.saturating_add(length).saturating_add(2);
                    body.extend_from_slice(&bytes.get(start..consumed)?[..length]);
                    if length == 0 {
                        return Some((body, consumed));
                    }
                }
                None
            }
        }
    }
}

#[derive(Default)]
pub struct RequestReader {
    buffer: Vec<u8>,
    body: Option<Framing>,
}

impl RequestReader {
    /// Takes the next bytes from the client. Returns the requests whose headers are now complete.
    /// An empty slice means that the client has sent everything.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<SentRequest> {
        let mut sent = Vec::new();
        self.buffer.extend_from_slice(bytes);
        loop {
            if let Some(framing) = self.body {
                let Some((_, consumed)) = framing.body(&self.buffer, bytes.is_empty()) else {
                    break;
                };
                self.buffer.drain(..consumed);
                self.body = None;
            }
            let mut headers = [EMPTY_HEADER; MAX_HEADERS];
            let mut request = httparse::Request::new(&mut headers);
            let Ok(Status::Complete(length)) = request.parse(&self.buffer) else { break };
            self.body = Framing::from_headers(request.headers, Framing::Length(0));
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

#[derive(Default)]
pub struct ResponseReader {
    buffer: Vec<u8>,
    /// True after a response whose request could not be parsed. Later responses are ignored,
    /// because their requests are unknown.
    is_desynchronised: bool,
}

impl ResponseReader {
    /// Adds these bytes to the buffer, and returns the responses that are now complete. Moves the
    /// request of each response out of `asked`. Empty `bytes` mean that the connection has ended,
    /// which completes a body without a length.
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
            self.is_desynchronised = asked.is_empty();
            let body = framing.body(&self.buffer[length..], bytes.is_empty());
            let Some((body, consumed)) = body else { break };
            response.body = body;
            self.buffer.drain(..length + consumed);
            received.extend(asked.pop_front().map(|sent| (sent, response)));
        }
        received
    }

    /// Returns the status if the response to `asked` has started but not ended.
    pub fn unfinished(&self, asked: &SentRequest) -> Option<u16> {
        self.head(Some(asked)).map(|(response, ..)| response.status)
    }

    /// Parses the head of the next response. Returns the response with an empty body, the framing
    /// of its body, and the length of the head in bytes.
    ///
    /// Returns `None` if the head is incomplete or invalid, or if responses can no longer be
    /// matched with requests.
    fn head(&self, asked: Option<&SentRequest>) -> Option<(ReceivedResponse, Framing, usize)> {
        if self.is_desynchronised {
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
            false => Framing::from_headers(response.headers, Framing::UntilEnd)?,
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
