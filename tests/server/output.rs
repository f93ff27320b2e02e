//! A server whose output cannot be written.

use super::data_with;
use std::fs::OpenOptions;
use std::process::Stdio;
use testbed::{ChildProcess, wait_until};

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_full_standard_output_does_not_end_the_server() {
    let (data, _) = data_with(1);
    let log = data.path().join("log");
    let full = OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = data.command();
    command.args(["serve", "--listen", "127.0.0.1:0", "--admin-listen", "off"]);
    command.stdin(Stdio::null()).stdout(full).stderr(std::fs::File::create(&log).unwrap());
    let server = ChildProcess::new(command.spawn().unwrap(), "store-orders");
    let logged = || std::fs::read_to_string(&log).unwrap();
    wait_until("the error is logged", || async {
        logged().contains("standard output cannot be written")
    })
    .await;
    assert!(logged().contains(r#""url":"http://127.0.0.1:"#), "{}", logged());
    assert_eq!(server.stop().unwrap().code(), Some(0), "{}", logged());
}
