//! `health` exits with 0 only if the server is ready.

use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use testbed::{CliSandbox, DataDir};

/// Gives one answer, then listens no more.
fn answering(answer: &'static str) -> (SocketAddr, JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let thread = std::thread::spawn(move || {
        let (mut connection, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let length = connection.read(&mut request).unwrap();
        connection.write_all(answer.as_bytes()).unwrap();
        String::from_utf8_lossy(&request[..length]).into_owned()
    });
    (address, thread)
}

#[test]
fn a_running_server_is_ready() {
    let data = DataDir::temporary().unwrap();
    let server = data.serve(&["--admin-listen", "127.0.0.1:0"]).unwrap();
    let admin = server.printed_after("admin listener on http://").unwrap();
    let sandbox = CliSandbox::new();
    let text = sandbox.run(&["health", "--admin-listen", admin]).done();
    assert_eq!(text, format!("http://{admin}/readyz: ready\n"));
    let url = format!("http://{admin}/readyz");
    let ready = sandbox.run(&["health", "--json", "--admin-listen", admin]).json();
    assert_eq!(ready, json!({ "url": url, "ready": true, "status": 200, "reason": "ready" }));
    // A container names every address, and the port alone matters.
    let port = admin.rsplit_once(':').unwrap().1;
    let every = format!("0.0.0.0:{port}");
    sandbox.run_with(&["health"], &[("STORE_ORDERS_ADMIN_LISTEN", &every)]).done();
    let file = format!("admin_listen = \"{admin}\"\n");
    sandbox.write("settings.toml", file);
    sandbox.run(&["health", "--config", "settings.toml"]).done();
}

#[test]
fn a_server_that_is_not_ready_says_why() {
    let sandbox = CliSandbox::new();
    let stopping = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n\
                    {\"state\":\"unready\",\"reason\":\"stopping\",\"message\":\"the server is stopping\"}";
    let (address, asked) = answering(stopping);
    let error = sandbox.run(&["health", "--admin-listen", &address.to_string()]).error();
    assert_eq!(error, format!("http://{address}/readyz: not ready: the server is stopping"));
    assert!(asked.join().unwrap().starts_with("GET /readyz HTTP/1.0\r\n"));

    let (address, asked) = answering(stopping);
    let output = sandbox.run(&["health", "--json", "--admin-listen", &address.to_string()]);
    let json: Value = serde_json::from_str(&output.stdout).unwrap();
    assert_eq!((output.status, &json["ready"], &json["status"]), (1, &json!(false), &json!(503)));
    asked.join().unwrap();
}

#[test]
fn without_an_answer_a_server_is_not_ready() {
    let sandbox = CliSandbox::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let silent = ["health", "--admin-listen", &address, "--timeout", "50ms"];
    let error = sandbox.run(&silent).error();
    assert!(error.ends_with("not ready: no answer within 50ms"), "{error}");
    drop(listener);
    let error = sandbox.run(&["health", "--admin-listen", &address]).error();
    assert!(error.contains("not ready: cannot connect: Connection refused"), "{error}");
    let (address, asked) = answering("SSH-2.0-other\r\n");
    let error = sandbox.run(&["health", "--admin-listen", &address.to_string()]).error();
    assert!(error.contains("the answer is not HTTP"), "{error}");
    asked.join().unwrap();
    let error = sandbox.run(&["health", "--admin-listen", "off"]).error();
    assert!(error.contains("the admin listener is off"), "{error}");
}
