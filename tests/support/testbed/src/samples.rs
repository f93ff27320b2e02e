//! Runs samples from the documents against a server: the programs of one language, or the curl
//! commands. Some programs also run through a proxy that refuses requests or loses responses.

use crate::child_process;
use crate::command_output::CommandOutput;
use crate::data_dir::DataDir;
use crate::program::Program;
use crate::server_process::ServerProcess;
use anyhow::{Context, bail};
use parking_lot::Mutex;
use serde_json::json;
use std::collections::BTreeSet;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// The largest id that an order can have.
const LARGE: i64 = (1 << 53) - 1;
const SHIPPED: i64 = 2;
const MISSING: i64 = 999_999;
/// Ids of orders of pet 7, enough for more than two pages. Only [`SHIPPED`] is not pending.
const SMALL: std::ops::RangeInclusive<i64> = 1..=250;
/// The id of an order that is not for pet 7, and the id of its pet.
const OTHER_PET: (i64, i64) = (1043, 8);

/// A key gets no strikes within 2 s of its first 429. So [`Samples::ban`] waits longer before it
/// provokes a strike.
const BURST: Duration = Duration::from_millis(2_100);
/// The time within which a sample must end after an error. The limit detects a sample that waits
/// for the end of a ban, because a ban takes 5 minutes.
const STOPS_WITHIN: Duration = Duration::from_secs(30);
/// The `Retry-After` of the proxy's refusals. It is longer than a sample's own first wait, so that
/// a test shows whether the sample obeys the header.
const RETRY_AFTER: Duration = Duration::from_secs(3);

/// The effect that a proxy ([`start_faulty_proxy`]) has on a request.
#[derive(Clone, Copy)]
enum SampleFault {
    None,
    Refusal(u16, &'static str),
    /// The client receives an error with an incomplete body.
    CutOff,
    /// The server executes the request, but the client does not get the response.
    LostResponse,
}

const LIMITED: SampleFault = SampleFault::Refusal(429, "rate_limit_exceeded");
const UNAVAILABLE: SampleFault = SampleFault::Refusal(503, "service_unavailable");

/// Runs the samples of one language, also with faults and wrong settings. `samples` contains the
/// API version and the operation of each sample; `command` returns a sample's command. Fails if a
/// sample reacts wrongly, or never succeeds.
pub fn run_samples(
    program: &Program,
    samples: &[(&str, &str)],
    command: impl Fn(&str, &str) -> anyhow::Result<Command> + Sync,
) -> anyhow::Result<()> {
    let directory = tempfile::tempdir()?;
    let data = data_dir(program, &directory)?;
    let (key, limited) = (
        data.issue_enterprise_key("roomy", 1_000, 1_000_000)?.text,
        data.issue_enterprise_key("limited", 1, 1_000_000)?.text,
    );
    let server = data.serve(&[])?;
    let cases =
        Samples { samples, command: &command, server: &server, key, succeeded: Mutex::default() };
    cases.run(&limited)
}

/// Runs these curl commands. Each tuple contains the name of a version, the name of an operation,
/// and the command. A command must be one line and get a 2xx response. If `BASE_URL` or `API_KEY`
/// is not set, the command must fail and name the missing variable.
pub fn run_curl_commands(
    program: &Program,
    commands: &[(&str, String, String)],
) -> anyhow::Result<()> {
    for (version, operation, text) in commands {
        let name = format!("the command of {operation} of {version}");
        if text.trim_end().contains('\n') {
            bail!("{name} has more than one line");
        }
        // Each command gets its own store, because the commands of both versions cancel the same
        // order.
        let directory = tempfile::tempdir()?;
        let data = data_dir(program, &directory)?;
        let key = data.issue_enterprise_key("curl", 10, 10)?.text;
        let server = data.serve(&[])?;
        let run = |variables: &[(&str, &str)]| {
            let mut command = Command::new("sh");
            command.args(["-c", text]).env_remove("BASE_URL").env_remove("API_KEY");
            command.envs(variables.iter().copied()).env("no_proxy", "127.0.0.1");
            CommandOutput::new(child_process::output(&mut command, b"")?)
        };
        let base_url = ("BASE_URL", &*format!("http://{}/{version}", server.address()?));
        let key = ("API_KEY", &*key);
        for (set, missing) in [(base_url, key.0), (key, base_url.0)] {
            let output = run(&[set])?;
            if output.status == 0 || !output.stderr.contains(missing) {
                bail!("{name} does not say that {missing} is not set: {}", output.stderr);
            }
        }
        let printed = run(&[base_url, key])?.success().context(name.clone())?;
        if !printed.starts_with("HTTP/1.1 2") {
            bail!("{name} gets {printed}");
        }
    }
    Ok(())
}

/// Creates a store with the orders and pets that the samples name.
fn data_dir(program: &Program, directory: &TempDir) -> anyhow::Result<DataDir> {
    let data = DataDir::at(program, &directory.path().join("data"));
    let orders = SMALL.chain([1042, LARGE - 1, LARGE]).map(|id| {
        let status = if id == SHIPPED { "shipped" } else { "pending" };
        json!({ "id": id, "petId": 7, "quantity": 1, "status": status })
    });
    let (id, pet) = OTHER_PET;
    let other = json!({ "id": id, "petId": pet, "quantity": 1, "status": "pending" });
    let orders: Vec<_> = orders.chain([other]).collect();
    data.run_with_input(&["orders", "import", "-"], json!(orders).to_string().as_bytes())?;
    let pets = json!([{ "id": 7, "name": "Rex" }]).to_string();
    data.run_with_input(&["pets", "import", "-"], pets.as_bytes())?;
    Ok(data)
}

struct Samples<'a> {
    samples: &'a [(&'a str, &'a str)],
    command: &'a (dyn Fn(&str, &str) -> anyhow::Result<Command> + Sync),
    server: &'a ServerProcess,
    key: String,
    succeeded: Mutex<BTreeSet<(String, String)>>,
}

impl Samples<'_> {
    fn run(&self, limited: &str) -> anyhow::Result<()> {
        let pending: Vec<i64> = SMALL.filter(|id| *id != SHIPPED).collect();
        let pending = [pending, vec![1042, LARGE - 1, LARGE]].concat();
        let mut all: Vec<i64> = pending.iter().copied().chain([SHIPPED, OTHER_PET.0]).collect();
        all.sort_unstable();
        let address = self.server.address()?;
        let wrong_key = self.key.replace("_live_", "_test_");
        run_concurrently(&[
            &|| {
                // The proxy refuses the request for the second page once.
                let faults = &[SampleFault::None, LIMITED];
                let (limiting, requests) = start_faulty_proxy(address, faults)?;
                self.check_list("v2", &pending, limiting)?;
                check_waits(&requests, faults).context("the sample of listOrders of v2")
            },
            &|| {
                self.check_list("v1", &all, address)?;
                self.check_output("v1", "getPet", &[], &["Rex"])?;
                self.check_output("v2", "getOrder", &[], &["1042", "pending"])
            },
            &|| {
                self.samples.iter().try_for_each(|&(version, operation)| {
                    let base_url = format!("http://{address}/{version}");
                    let words = ["unauthorized", "check digits"];
                    self.check_failure(version, operation, &base_url, &wrong_key, &words)?;
                    let wrong_url = format!("http://{address}/wrong/{version}");
                    let words = ["not_found", "There is no such path"];
                    self.check_failure(version, operation, &wrong_url, &self.key, &words)?;
                    self.check_missing_variables(version, operation, &base_url)
                })
            },
            &|| {
                self.ban(limited)?;
                ["v1", "v2"].into_iter().try_for_each(|version| {
                    let base_url = format!("http://{address}/{version}");
                    self.check_failure(
                        version,
                        "cancelOrder",
                        &base_url,
                        limited,
                        &["key_banned", "is banned"],
                    )
                })
            },
        ])?;
        run_concurrently(&[
            &|| {
                let ids = [3, SHIPPED, MISSING, LARGE];
                let (cancelled, large) =
                    ("order 3: cancelled\n", format!("order {LARGE}: cancelled\n"));
                let expected = [cancelled, &large, "already shipped", "no order 999999"];
                self.check_output("v1", "cancelOrder", &ids, &expected)?;
                let cancelled = "order 1042: cancelled\n";
                let expected = [cancelled, "no order 999999"];
                self.check_output("v2", "cancelOrder", &[1042, MISSING], &expected)?;
                self.check_output("v2", "getOrder", &[], &["1042", "cancelled"])
            },
            &|| self.check_retries("v1", 4, &[LIMITED, SampleFault::LostResponse, UNAVAILABLE]),
            &|| {
                self.check_retries(
                    "v2",
                    5,
                    &[SampleFault::CutOff, SampleFault::LostResponse, LIMITED],
                )
            },
        ])?;
        let cancelled = [3, 4, 5, 1042, LARGE];
        all.retain(|id| !cancelled.contains(id));
        self.check_list("v1", &all, address)?;
        let succeeded = self.succeeded.lock();
        let is_missing = |(version, operation): &&(&str, &str)| {
            !succeeded.contains(&((*version).to_string(), (*operation).to_string()))
        };
        match self.samples.iter().find(is_missing) {
            Some((version, operation)) => bail!(
                "no case runs the sample of {operation} of {version}: add one to \
                 tests/support/testbed/src/samples.rs"
            ),
            None => Ok(()),
        }
    }

    fn output(
        &self,
        version: &str,
        operation: &str,
        ids: &[i64],
        base_url: &str,
        key: &str,
    ) -> anyhow::Result<CommandOutput> {
        let mut command = (self.command)(version, operation)?;
        command.args(ids.iter().map(ToString::to_string));
        command.env("BASE_URL", base_url).env("API_KEY", key);
        command.env("NO_PROXY", "127.0.0.1").env("no_proxy", "127.0.0.1");
        let output = CommandOutput::new(child_process::output(&mut command, b"")?)?;
        if output.status == 0 {
            self.succeeded.lock().insert((version.to_string(), operation.to_string()));
        }
        Ok(output)
    }

    fn check_output(
        &self,
        version: &str,
        operation: &str,
        ids: &[i64],
        texts: &[&str],
    ) -> anyhow::Result<()> {
        let name = format!("the sample of {operation} of {version}");
        let base_url = format!("http://{}/{version}", self.server.address()?);
        let output = self.output(version, operation, ids, &base_url, &self.key)?;
        let printed = output.success().context(name.clone())?;
        match texts.iter().find(|text| !printed.contains(**text)) {
            Some(text) => bail!("{name} does not print {text:?}, but {printed}"),
            None => Ok(()),
        }
    }

    /// Checks that the sample for `listOrders` prints exactly the orders `ids`, in that sequence.
    fn check_list(&self, version: &str, ids: &[i64], address: SocketAddr) -> anyhow::Result<()> {
        let name = format!("the sample of listOrders of {version}");
        let base_url = format!("http://{address}/{version}");
        let output = self.output(version, "listOrders", &[], &base_url, &self.key)?;
        let printed = output.success().context(name.clone())?;
        // Most samples print a line for each order, but the shell sample prints the JSON list.
        let prefix = if printed.starts_with("order ") { "order " } else { "\"id\":" };
        let digits = |text: &str| {
            text.split(|letter: char| !letter.is_ascii_digit()).next().map(str::to_string)
        };
        let listed: Vec<_> = printed.split(prefix).skip(1).filter_map(digits).collect();
        let expected: Vec<_> = ids.iter().map(ToString::to_string).collect();
        if listed != expected {
            let odd = listed.iter().zip(&expected).find(|(listed, expected)| listed != expected);
            bail!("{name} lists {} orders of {}: {odd:?}", listed.len(), expected.len());
        }
        Ok(())
    }

    /// Runs the sample with this base URL and key. The sample must fail within [`STOPS_WITHIN`] and
    /// print all of `words`, such as the error's code.
    fn check_failure(
        &self,
        version: &str,
        operation: &str,
        base_url: &str,
        key: &str,
        words: &[&str],
    ) -> anyhow::Result<()> {
        let name = format!("the sample of {operation} of {version}");
        let began = Instant::now();
        let output = self.output(version, operation, &[6], base_url, key)?;
        if output.status == 0 || began.elapsed() > STOPS_WITHIN {
            bail!("{name} goes on after an error: {}", output.stdout);
        }
        let printed = format!("{}{}", output.stdout, output.stderr);
        if !words.iter().all(|word| printed.contains(word)) {
            bail!("{name} does not say {words:?}, but {printed}");
        }
        Ok(())
    }

    /// Runs the sample twice, each time without one of its two variables. The sample must fail and
    /// name the missing variable.
    fn check_missing_variables(
        &self,
        version: &str,
        operation: &str,
        base_url: &str,
    ) -> anyhow::Result<()> {
        for (missing, set, value) in
            [("BASE_URL", "API_KEY", &*self.key), ("API_KEY", "BASE_URL", base_url)]
        {
            let mut command = (self.command)(version, operation)?;
            command.arg("6").env_remove(missing).env(set, value);
            let output = CommandOutput::new(child_process::output(&mut command, b"")?)?;
            if output.status == 0 || !output.stderr.contains(missing) {
                let printed = output.stderr;
                bail!("the sample of {operation} of {version} does not name {missing}: {printed}");
            }
        }
        Ok(())
    }

    /// Checks that the sample waits as long as `Retry-After` says. If the response to a
    /// cancellation is lost, the sample must send the cancellation again. The second response is a
    /// 404, because the order is already cancelled. The sample must treat this 404 as success.
    fn check_retries(
        &self,
        version: &str,
        id: i64,
        faults: &'static [SampleFault],
    ) -> anyhow::Result<()> {
        let name = format!("the sample of cancelOrder of {version}");
        let (address, requests) = start_faulty_proxy(self.server.address()?, faults)?;
        let base_url = format!("http://{address}/{version}");
        let output = self.output(version, "cancelOrder", &[id], &base_url, &self.key)?;
        let printed = output.success().context(name.clone())?;
        if !printed.starts_with(&format!("order {id}: ")) {
            bail!("{name} does not say what became of order {id}, but {printed}");
        }
        check_waits(&requests, faults).context(name)
    }

    /// Makes the server ban the key. The limit of the key's account must be one request a minute.
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

/// Runs the parts of a scenario concurrently, because samples mostly wait.
fn run_concurrently(parts: &[&(dyn Fn() -> anyhow::Result<()> + Sync)]) -> anyhow::Result<()> {
    std::thread::scope(|threads| {
        let parts: Vec<_> = parts.iter().map(|part| threads.spawn(part)).collect();
        let panicked = |_| bail!("a part of the scenario panicked");
        parts.into_iter().try_for_each(|part| part.join().unwrap_or_else(panicked))
    })
}

/// Checks that after each [`SampleFault::Refusal`], the sample waited as long as `Retry-After` says
/// and then sent another request.
fn check_waits(requests: &Receiver<Instant>, faults: &[SampleFault]) -> anyhow::Result<()> {
    let times: Vec<_> = requests.try_iter().collect();
    let waits: Vec<_> = times.iter().zip(times.iter().skip(1)).map(|(a, b)| *b - *a).collect();
    for (number, fault) in faults.iter().enumerate() {
        let has_waited = waits.get(number).is_some_and(|wait| *wait >= RETRY_AFTER);
        if matches!(fault, SampleFault::Refusal(..)) && !has_waited {
            bail!("it does not wait for Retry-After: {waits:?}");
        }
    }
    Ok(())
}

/// Starts a proxy to the server. The first requests get one fault each, in order. Returns the
/// proxy's address and the arrival times of requests.
fn start_faulty_proxy(
    server: SocketAddr,
    faults: &'static [SampleFault],
) -> anyhow::Result<(SocketAddr, Receiver<Instant>)> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    let (sender, requests) = channel();
    // Do not join the thread, because it may wait for another connection forever. It ends with this
    // program.
    std::thread::spawn(move || -> std::io::Result<()> {
        let faults = faults.iter().copied().chain(std::iter::repeat(SampleFault::None));
        for (client, fault) in listener.incoming().zip(faults) {
            let mut client = client?;
            let request = read_request(&client)?;
            if sender.send(Instant::now()).is_err() {
                break;
            }
            let response = match fault {
                SampleFault::Refusal(status, code) => refusal(status, code),
                SampleFault::CutOff => {
                    let mut response = refusal(503, "service_unavailable");
                    response.pop();
                    response
                }
                SampleFault::None | SampleFault::LostResponse => forward(server, &request)?,
            };
            if !matches!(fault, SampleFault::LostResponse) {
                client.write_all(&response)?;
            }
        }
        Ok(())
    });
    Ok((address, requests))
}

/// Forwards a request to the server, and returns the response. Asks the server to close the
/// connection, because the end of the connection marks the end of the response.
fn forward(server: SocketAddr, request: &[u8]) -> std::io::Result<Vec<u8>> {
    let mut server = TcpStream::connect(server)?;
    let head = request.strip_suffix(b"\r\n").unwrap_or(request);
    server.write_all(&[head, b"Connection: close\r\n\r\n"].concat())?;
    let mut response = Vec::new();
    server.read_to_end(&mut response)?;
    Ok(response)
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

/// Reads the head of a request. No operation accepts a body, so the request ends with its head.
fn read_request(client: &TcpStream) -> std::io::Result<Vec<u8>> {
    let (mut reader, mut head) = (BufReader::new(client), Vec::new());
    while !head.ends_with(b"\r\n\r\n") && reader.read_until(b'\n', &mut head)? > 0 {}
    Ok(head)
}
