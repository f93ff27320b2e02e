//! A page of a live server, as a client of HTTP/1.0 gets it.

use anyhow::{Context, bail};
use std::io::{Read, Write};
use std::net::TcpStream;

/// The head and the body of the response, which must be a 200.
pub(super) fn page(address: &str, path: &str) -> anyhow::Result<(String, String)> {
    let mut connection = TcpStream::connect(address)?;
    write!(connection, "GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n")?;
    let mut response = String::new();
    connection.read_to_string(&mut response)?;
    let (head, body) = response.split_once("\r\n\r\n").context("no HTTP response")?;
    if !head.starts_with("HTTP/1.0 200 ") {
        bail!("{path}: {response}");
    }
    Ok((head.to_string(), body.to_string()))
}
