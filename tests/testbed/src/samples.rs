//! The programs to copy that the documents have for callers, in one language: each runs against a
//! server, one of them also through a proxy that loses a response.

use crate::child_process;
use crate::command_output::CommandOutput;
use crate::data_dir::DataDir;
use crate::program::Program;
use crate::server_process::ServerProcess;
use anyhow::{Context, bail};
use serde_json::json;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

/// The versions and operations whose samples [`run_samples`] runs.
pub const SAMPLES: [(&str, &str); 6] = [
    ("v1", "listOrders"),
    ("v1", "cancelOrder"),
    ("v1", "getPet"),
    ("v2", "listOrders"),
    ("v2", "getOrder"),
    ("v2", "cancelOrder"),
];

/// JavaScript rounds it to the order before it.
const LARGE: i64 = (1 << 53) + 1;
const SHIPPED: i64 = 2;
const MISSING: i64 = 999_999;
/// More pending orders of pet 7 than two pages have.
const SMALL: std::ops::RangeInclusive<i64> = 1..=250;
/// The pet of one more order.
const OTHER_PET: (i64, i64) = (1043, 8);

/// After this time, the service takes no further refusal for a part of the burst that began with
/// the first.
const BURST: Duration = Duration::from_millis(2_100);
/// Less than the 5 minutes of a ban.
const STOPS_WITHIN: Duration = Duration::from_secs(30);
const RETRY_AFTER: Duration = Duration::from_secs(1);

/// Runs the samples of one language: `command` is that of a version and an operation. An error names
/// the sample that does something else than it should.
pub fn run_samples(
    program: &Program,
    command: impl Fn(&str, &str) -> anyhow::Result<Command>,
) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let data = DataDir::at(program, &directory.path().join("data"));
    let orders = SMALL.chain([1042, LARGE - 1, LARGE, LARGE + 1]).map(|id| {
        let status = if id == SHIPPED { "shipped" } else { "pending" };
        json!({ "id": id, "petId": 7, "quantity": 1, "status": status })
    });
    let (id, pet) = OTHER_PET;
    let other = json!({ "id": id, "petId": pet, "quantity": 1, "status": "pending" });
    let orders: Vec<_> = orders.chain([other]).collect();
    data.run_with_input(&["orders", "import", "-"], json!(orders).to_string().as_bytes())?;
    let pets = json!([{ "id": 7, "name": "Rex" }]).to_string();
    data.run_with_input(&["pets", "import", "-"], pets.as_bytes())?;
    let (key, limited) = (
        data.issue_enterprise_key("roomy", 1_000, 1_000_000)?.text,
        data.issue_enterprise_key("limited", 1, 1_000_000)?.text,
    );
    let server = data.serve(&[])?;
    Samples { command: &command, server: &server, key }.run(&limited)
}

struct Samples<'a> {
    command: &'a dyn Fn(&str, &str) -> anyhow::Result<Command>,
    server: &'a ServerProcess,
    key: String,
}

impl Samples<'_> {
    fn run(&self, limited: &str) -> anyhow::Result<()> {
        let pending: Vec<i64> = SMALL.filter(|id| *id != SHIPPED).collect();
        let pending = [pending, vec![1042, LARGE - 1, LARGE, LARGE + 1]].concat();
        let mut all: Vec<i64> = pending.iter().copied().chain([SHIPPED, OTHER_PET.0]).collect();
        all.sort_unstable();
        self.lists("v1", &all)?;
        self.lists("v2", &pending)?;
        self.prints("v1", "getPet", &[], &["Rex"])?;
        self.prints("v2", "getOrder", &[], &["1042", "pending"])?;

        let ids = [3, SHIPPED, MISSING, LARGE];
        let (cancelled, large) = ("order 3: cancelled\n", format!("order {LARGE}: cancelled\n"));
        let expected = [cancelled, &large, "already shipped", "no order 999999"];
        self.prints("v1", "cancelOrder", &ids, &expected)?;
        let cancelled = "order 1042: cancelled\n";
        self.prints("v2", "cancelOrder", &[1042, MISSING], &[cancelled, "no order 999999"])?;
        self.prints("v2", "getOrder", &[], &["1042", "cancelled"])?;
        self.repeats("v1", 4)?;
        self.repeats("v2", 5)?;
        let gone = [3, 4, 5, 1042, LARGE];
        all.retain(|id| !gone.contains(id));
        self.lists("v1", &all)?;

        for (version, operation) in SAMPLES {
            self.fails(version, operation, &self.key.replace("_live_", "_test_"), &["401", "key"])?;
        }
        self.ban(limited)?;
        self.fails("v1", "cancelOrder", limited, &["banned"])?;
        self.fails("v2", "cancelOrder", limited, &["banned"])
    }

    /// Runs a sample with these ids as arguments.
    fn output(
        &self,
        version: &str,
        operation: &str,
        ids: &[i64],
        address: SocketAddr,
        key: &str,
    ) -> anyhow::Result<CommandOutput> {
        let mut command = (self.command)(version, operation)?;
        command.args(ids.iter().map(ToString::to_string));
        command.env("BASE_URL", format!("http://{address}/{version}")).env("API_KEY", key);
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        CommandOutput::new(child_process::output(&mut command, b"")?)
    }

    /// It succeeds and prints these texts.
    fn prints(
        &self,
        version: &str,
        operation: &str,
        ids: &[i64],
        texts: &[&str],
    ) -> anyhow::Result<()> {
        let name = format!("the sample of {operation} of {version}");
        let output = self.output(version, operation, ids, self.server.address()?, &self.key)?;
        let printed = output.success().context(name.clone())?;
        match texts.iter().find(|text| !printed.contains(**text)) {
            Some(text) => bail!("{name} does not print {text:?}, but {printed}"),
            None => Ok(()),
        }
    }

    /// It prints these orders and no other, in this order.
    fn lists(&self, version: &str, ids: &[i64]) -> anyhow::Result<()> {
        let name = format!("the sample of listOrders of {version}");
        let output = self.output(version, "listOrders", &[], self.server.address()?, &self.key)?;
        let printed = output.success().context(name.clone())?;
        // A program prints a line for each, and curl the list itself.
        let prefix = if printed.starts_with("order ") { "order " } else { "\"id\":" };
        let digits = |text: &str| {
            text.split(|letter: char| !letter.is_ascii_digit()).next().map(str::to_string)
        };
        let found: Vec<_> = printed.split(prefix).skip(1).filter_map(digits).collect();
        let expected: Vec<_> = ids.iter().map(ToString::to_string).collect();
        if found != expected {
            let odd = found.iter().zip(&expected).find(|(found, expected)| found != expected);
            bail!("{name} lists {} orders of {}: {odd:?}", found.len(), expected.len());
        }
        Ok(())
    }

    /// With this key it fails soon, and says why.
    fn fails(
        &self,
        version: &str,
        operation: &str,
        key: &str,
        words: &[&str],
    ) -> anyhow::Result<()> {
        let name = format!("the sample of {operation} of {version}");
        let began = Instant::now();
        let output = self.output(version, operation, &[6], self.server.address()?, key)?;
        if output.status == 0 || began.elapsed() > STOPS_WITHIN {
            bail!("{name} goes on after an error: {}", output.stdout);
        }
        if !words.iter().any(|word| output.stderr.contains(word)) {
            bail!("{name} does not say {words:?}, but {}", output.stderr);
        }
        Ok(())
    }

    /// An order whose cancellation got no response is cancelled again, at the times that the service
    /// asks for, and that it is not there any more is no failure.
    fn repeats(&self, version: &str, id: i64) -> anyhow::Result<()> {
        let name = format!("the sample of cancelOrder of {version}");
        let (front, attempts) = failing_front(self.server.address()?)?;
        let output = self.output(version, "cancelOrder", &[id], front, &self.key)?;
        let printed = output.success().context(name.clone())?;
        if !printed.starts_with(&format!("order {id}: ")) {
            bail!("{name} does not say what became of order {id}, but {printed}");
        }
        let attempts: Vec<_> = attempts.try_iter().collect();
        let waits = attempts.windows(2).skip(1).filter_map(|pair| match pair {
            [before, after] => Some(*after - *before),
            _ => None,
        });
        let waits: Vec<_> = waits.collect();
        if waits.len() != 2 || waits.iter().any(|wait| *wait < RETRY_AFTER) {
            bail!("{name} does not wait for Retry-After: {waits:?}");
        }
        Ok(())
    }

    /// Sends requests until the key is banned.
    fn ban(&self, key: &str) -> anyhow::Result<()> {
        let address = self.server.address()?;
        let send = || -> anyhow::Result<Vec<u8>> {
            let head =
                format!("GET /v1/store/orders HTTP/1.0\r\nAuthorization: Bearer {key}\r\n\r\n");
            let mut answer = Vec::new();
            let mut server = TcpStream::connect(address)?;
            server.write_all(head.as_bytes())?;
            server.read_to_end(&mut answer)?;
            Ok(answer)
        };
        send()?;
        send()?;
        std::thread::sleep(BURST);
        send()?;
        let banned = send()?;
        if !String::from_utf8_lossy(&banned).contains("key_banned") {
            bail!("the key is not banned: {}", String::from_utf8_lossy(&banned));
        }
        Ok(())
    }
}

/// A proxy before the server, and when a request arrived. The first is carried out and gets no
/// response, the next two get 503 and 429, and then the server answers.
fn failing_front(server: SocketAddr) -> anyhow::Result<(SocketAddr, Receiver<Instant>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (sender, attempts) = channel();
    // It ends with this program: the next connection may never come.
    std::thread::spawn(move || -> std::io::Result<()> {
        for (number, client) in listener.incoming().enumerate() {
            let mut client = client?;
            let request = message(&client)?;
            if sender.send(Instant::now()).is_err() {
                break;
            }
            let response = match number {
                1 => refusal(503, "service_unavailable"),
                2 => refusal(429, "rate_limit_exceeded"),
                _ => {
                    let mut server = TcpStream::connect(server)?;
                    server.write_all(&request)?;
                    message(&server)?
                }
            };
            if number > 0 {
                client.write_all(&response)?;
            }
        }
        Ok(())
    });
    Ok((address, attempts))
}

fn refusal(status: u16, code: &str) -> Vec<u8> {
    let body = json!({ "code": code, "message": "Later.", "status": status }).to_string();
    let (seconds, length) = (RETRY_AFTER.as_secs(), body.len());
    format!(
        "HTTP/1.1 {status} Later\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Retry-After: {seconds}\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A request or a response, as it came.
fn message(socket: &TcpStream) -> std::io::Result<Vec<u8>> {
    let mut reader = BufReader::new(socket);
    let (mut bytes, mut length) = (Vec::new(), 0);
    loop {
        let mut line = String::new();
        reader.read_line(&mut line)?;
        bytes.extend_from_slice(line.as_bytes());
        if line.trim().is_empty() {
            break;
        }
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
    }
    reader.take(length).read_to_end(&mut bytes)?;
    Ok(bytes)
}
