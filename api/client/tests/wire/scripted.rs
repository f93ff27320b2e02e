//! A server that sends one reply of a script for each request. The server uses plain sockets,
//! because HTTP libraries refuse to send invalid HTTP.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// The response to one request, if any, and how the connection ends afterwards.
#[derive(Clone, Debug)]
pub struct Reply {
    head: Vec<String>,
    body: String,
    content_length: Option<usize>,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum End {
    Close,
    Reset,
    Silence,
}

impl Reply {
    pub fn json(status: u16, body: &str) -> Self {
        Self {
            head: vec![
                format!("HTTP/1.1 {status} Scripted"),
                "Content-Type: application/json".to_string(),
                "Connection: close".to_string(),
            ],
            body: body.to_string(),
            content_length: (status != 204).then_some(body.len()),
            end: End::Close,
        }
    }

    /// Returns an HTML response with this status. A proxy sends such a response if the service does
    /// not respond.
    pub fn html(status: u16) -> Self {
        let mut reply = Self::json(status, "<html><h1>No upstream</h1></html>");
        reply.head[1] = "Content-Type: text/html".to_string();
        reply
    }

    pub fn header(mut self, line: &str) -> Self {
        self.head.push(line.to_string());
        self
    }

    /// Cuts the body, but keeps `Content-Length` as it was.
    pub fn cut_at(mut self, length: usize) -> Self {
        self.body.truncate(length);
        self
    }

    pub fn cut_without_length_at(mut self, length: usize) -> Self {
        self.content_length = None;
        self.cut_at(length)
    }

    pub fn close() -> Self {
        Self { head: Vec::new(), body: String::new(), content_length: None, end: End::Close }
    }

    pub fn reset() -> Self {
        Self { end: End::Reset, ..Self::close() }
    }

    pub fn silence() -> Self {
        Self { end: End::Silence, ..Self::close() }
    }

    pub fn to_http1(&self) -> String {
        if self.head.is_empty() {
            return String::new();
        }
        let length = self.content_length.map(|length| format!("\r\nContent-Length: {length}"));
        format!("{}{}\r\n\r\n{}", self.head.join("\r\n"), length.unwrap_or_default(), self.body)
    }
}

/// A scripted server. It runs until its replies are used up, or until the test's tokio runtime is
/// dropped.
pub struct ScriptedServer {
    /// The base URL, which ends in `/v1`.
    pub base_url: String,
    requests: Arc<Mutex<Vec<String>>>,
}

impl ScriptedServer {
    /// Starts a server that sends these replies and then accepts no more connections.
    pub async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let base_url = format!("http://{}/v1", listener.local_addr().unwrap());
        let requests = Arc::new(Mutex::new(Vec::new()));
        let mut replies: VecDeque<Reply> = replies.into_iter().collect();
        let log = requests.clone();
        tokio::spawn(async move {
            while let Some(reply) = replies.pop_front() {
                let (socket, _) = listener.accept().await.unwrap();
                answer(socket, &reply, &log).await;
            }
        });
        Self { base_url, requests }
    }

    pub fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

pub async fn read_request(socket: &mut (impl AsyncRead + Unpin)) -> String {
    let mut request = Vec::new();
    while !request.ends_with(b"\r\n\r\n") {
        let mut buffer = [0; 4096];
        match socket.read(&mut buffer).await.unwrap() {
            0 => panic!("the client disconnected in the middle of a request"),
            length => request.extend(buffer.iter().take(length)),
        }
    }
    String::from_utf8(request).unwrap()
}

async fn answer(mut socket: TcpStream, reply: &Reply, log: &Mutex<Vec<String>>) {
    let request = read_request(&mut socket).await;
    log.lock().unwrap().push(request);
    socket.write_all(reply.to_http1().as_bytes()).await.unwrap();
    match reply.end {
        End::Close => {}
        // With a linger time of zero, closing a socket resets the connection.
        End::Reset => socket.set_zero_linger().unwrap(),
        End::Silence => drop(tokio::spawn(async move {
            let _open = socket;
            std::future::pending::<()>().await;
        })),
    }
}
