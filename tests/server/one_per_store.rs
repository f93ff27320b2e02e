//! An embedded store has at most one server. Commands work while the server runs.

use testbed::CliSandbox;

#[test]
fn a_second_server_is_rejected_and_commands_work_alongside_the_first() {
    let sandbox = CliSandbox::new();
    let first = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    let address = first.address().unwrap();
    let error = sandbox.run(&["serve", "--listen", "127.0.0.1:0"]).failed_server();
    let pid = first.process().pid().unwrap();
    let holder = format!("a server (pid {pid}, {address}, admin off) has the store in ");
    assert!(error.starts_with(&holder), "{error}");

    sandbox.write("orders.csv", "id,petId,quantity\n7,1,1\n");
    sandbox.run(&["orders", "import", "orders.csv"]).done();
    let orders = sandbox.run(&["orders", "list", "--json"]).json();
    assert_eq!(orders[0]["id"], 7);

    // Remove the file that describes the first server. A second server still cannot start, because
    // the lock is on the directory.
    std::fs::remove_file(sandbox.path("store-orders-data/server.pid")).unwrap();
    let error = sandbox.run(&["serve", "--listen", "127.0.0.1:0"]).failed_server();
    assert!(error.starts_with("a server has the store in "), "{error}");

    // The OS releases the lock of a killed server, so the next server can start.
    let log = first.kill().unwrap();
    assert!(log.contains(r#""msg":"new store created""#), "{log}");
    let second = sandbox.serve(&["--listen", "127.0.0.1:0"]);
    second.kill().unwrap();
    assert!(sandbox.path("store-orders-data/server.pid").exists());
    sandbox.serve(&["--listen", "127.0.0.1:0"]);
}
