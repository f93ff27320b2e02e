//! Reads requests and responses out of the bytes of an HTTP/1.1 connection.
//!
//! What cannot be parsed is left alone: hyper answers it before any of our code
//! runs (`src/handbook/operating.md` lists these answers).

use super::messages::{ReceivedResponse, SentRequest};
use http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::VecDeque;

/// How a body ends.
enum Framing {
    /// After this many bytes.
    Length(usize),
    /// With an empty chunk; what came before it so far.
    Chunked(Vec<u8>),
    /// With the connection.
    UntilEnd,
}

/// The bytes of one direction that are not yet parsed.
#[derive(Default)]
struct Unparsed {
    buffer: Vec<u8>,
    /// Nothing more is parsed once something could not be.
    lost: bool,
}

impl Unparsed {
    /// The body, if all of it is there.
    fn body(&mut self, framing: &mut Framing, ended: bool) -> Option<Vec<u8>> {
        match framing {
            Framing::Length(length) if self.buffer.len() >= *length => {
                Some(self.buffer.drain(..*length).collect())
            }
            Framing::Length(_) => None,
            Framing::UntilEnd => ended.then(|| std::mem::take(&mut self.buffer)),
            Framing::Chunked(read) => {
                while let Ok(httparse::Status::Complete((start, length))) =
                    httparse::parse_chunk_size(&self.buffer)
                {
                    let length = usize::try_from(length).unwrap();
                    // Each chunk ends with a line break of its own.
                    if self.buffer.len() < start + length + 2 {
                        return None;
                    }
                    read.extend_from_slice(&self.buffer[start..start + length]);
                    self.buffer.drain(..start + length + 2);
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
pub struct RequestReader {
    bytes: Unparsed,
    body: Option<Framing>,
}

impl RequestReader {
    /// The requests whose heads end in these bytes.
    pub fn feed(&mut self, bytes: &[u8]) -> Vec<SentRequest> {
        let mut sent = Vec::new();
        self.bytes.buffer.extend_from_slice(bytes);
        while !self.bytes.lost {
            if let Some(framing) = &mut self.body {
                if self.bytes.body(framing, bytes.is_empty()).is_none() {
                    break;
                }
                self.body = None;
            }
            let mut headers = [httparse::EMPTY_HEADER; 256];
            let mut request = httparse::Request::new(&mut headers);
            match request.parse(&self.bytes.buffer) {
                Ok(httparse::Status::Complete(length)) => {
                    let headers = header_map(request.headers);
                    let Some(framing) = framing(&headers, Framing::Length(0)) else {
                        self.bytes.lost = true;
                        break;
                    };
                    let names = request.headers.iter().map(|header| header.name);
                    sent.push(SentRequest::new(
                        request.method.unwrap(),
                        request.path.unwrap(),
                        names,
                    ));
                    self.bytes.buffer.drain(..length);
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
pub struct ResponseReader {
    bytes: Unparsed,
    begun: Option<(SentRequest, ReceivedResponse, Framing)>,
}

impl ResponseReader {
    /// The responses that end in these bytes, each with its request.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        asked: &mut VecDeque<SentRequest>,
    ) -> Vec<(SentRequest, ReceivedResponse)> {
        let mut received = Vec::new();
        self.bytes.buffer.extend_from_slice(bytes);
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

    /// The request and the status of a response whose body is not complete.
    pub fn unfinished(&self) -> Option<(&SentRequest, u16)> {
        self.begun.as_ref().map(|(sent, response, _)| (sent, response.status))
    }

    /// Reads the head of the next response, if all of it is there.
    fn begin(&mut self, asked: &mut VecDeque<SentRequest>) -> bool {
        let mut headers = [httparse::EMPTY_HEADER; 256];
        let mut response = httparse::Response::new(&mut headers);
        let Ok(parsed) = response.parse(&self.bytes.buffer) else {
            self.bytes.lost = true;
            return false;
        };
        let httparse::Status::Complete(length) = parsed else { return false };
        let status = response.code.unwrap();
        let headers = header_map(response.headers);
        self.bytes.buffer.drain(..length);
        if (100..200).contains(&status) {
            return true;
        }
        // An answer to what was no request.
        let Some(sent) = asked.pop_front() else {
            self.bytes.lost = true;
            return false;
        };
        let has_no_body = sent.method == "HEAD" || matches!(status, 204 | 304);
        let framing = match has_no_body {
            true => Some(Framing::Length(0)),
            false => framing(&headers, Framing::UntilEnd),
        };
        let Some(framing) = framing else {
            self.bytes.lost = true;
            return false;
        };
        self.begun = Some((sent, ReceivedResponse { status, headers, body: Vec::new() }, framing));
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

/// None if the length is no number.
fn framing(headers: &HeaderMap, default: Framing) -> Option<Framing> {
    let text = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    match (text("transfer-encoding"), text("content-length")) {
        (Some(_), _) => Some(Framing::Chunked(Vec::new())),
        (None, Some(length)) => length.parse().ok().map(Framing::Length),
        (None, None) => Some(default),
    }
}
