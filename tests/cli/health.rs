//! `health` exits with 0 only if the server is ready.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::thread::JoinHandle;
use testbed::{CliSandbox, DataDir, ServerProcess, str};

/// Sends this response to one request and then stops listening. The thread returns the request.
fn serve_one_answer(answer: &'static str) -> (SocketAddr, JoinHandle<String>) {
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
    sandbox.write("address", admin);
    sandbox.write("settings.toml", format!("admin_listen = \"{admin}\"\n"));
    // The third command connects to 0.0.0.0, because servers in containers have this listen
    // address. A connection to 0.0.0.0 reaches the loopback interface.
    sandbox.session(str![[r#"
$ store-orders health --admin-listen $(cat address)
http://127.0.0.1:[PORT]/readyz: ready
$ store-orders health --admin-listen $(cat address) --json
{"url":"http://127.0.0.1:[PORT]/readyz","ready":true,"status":200,"reason":"ready"}
$ STORE_ORDERS_ADMIN_LISTEN=0.0.0.0:$(cut -d : -f 2 address) store-orders health
http://0.0.0.0:[PORT]/readyz: ready
$ store-orders health --config settings.toml
http://127.0.0.1:[PORT]/readyz: ready
"#]]);
}

#[test]
fn health_queries_the_server_of_the_data_directory() {
    let sandbox = CliSandbox::new();
    let mut command = sandbox.command(&["serve", "--listen", "127.0.0.1:0"]);
    command.args(["--admin-listen", "127.0.0.1:0"]);
    let server = ServerProcess::start(&mut command, &sandbox.path("log")).unwrap();
    let admin = server.printed_after("admin listener on http://").unwrap();
    let asked = sandbox.run(&["health"]).done();
    assert_eq!(asked, format!("http://{admin}/readyz: ready\n"));
    drop(server);
    let server = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let off = "the admin listener is off; turn it on where the server starts, with --admin-listen \
               HOST:PORT";
    assert_eq!(sandbox.run(&["health"]).error(), off);
    drop(server);
    for data in ["store-orders-data", "missing"] {
        let asked = sandbox.run(&["health", "--data-dir", data, "--timeout", "10ms"]);
        let printed = format!("{}{}", asked.stdout, asked.stderr);
        assert!(printed.contains("http://127.0.0.1:8081/readyz"), "{printed}");
    }
    assert!(!sandbox.path("missing").exists());
}

#[test]
fn a_server_that_is_not_ready_or_does_not_answer_says_why() {
    let sandbox = CliSandbox::new();
    let stopping = "HTTP/1.1 503 Service Unavailable\r\nconnection: close\r\n\r\n\
                    {\"state\":\"unready\",\"reason\":\"stopping\",\"message\":\"the server is stopping\"}";
    let (address, asked) = serve_one_answer(stopping);
    sandbox.write("stopping", address.to_string());
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    sandbox.write("silent", listener.local_addr().unwrap().to_string());
    let (address, _) = serve_one_answer("SSH-2.0-other\r\n");
    sandbox.write("other", address.to_string());
    sandbox.session(str![[r#"
$ store-orders health --admin-listen $(cat stopping) --json
{"url":"http://127.0.0.1:[PORT]/readyz","ready":false,"status":503,"reason":"the server is stopping"}
(1) error: http://127.0.0.1:[PORT]/readyz: not ready: the server is stopping
$ store-orders health --admin-listen $(cat silent) --timeout 50ms
(1) error: http://127.0.0.1:[PORT]/readyz: not ready: no answer within 50ms
$ store-orders health --admin-listen $(cat other)
(1) error: http://127.0.0.1:[PORT]/readyz: not ready: the answer is not HTTP
$ store-orders health --admin-listen off
(1) error: the admin listener is off; turn it on where the server starts, with --admin-listen HOST:PORT
"#]]);
    assert!(asked.join().unwrap().starts_with("GET /readyz HTTP/1.0\r\n"));
}
