//! Tests of the counts file. The server must run even if it cannot use the file, and must remove
//! expired entries.

use super::bans::BURST;
use super::windows::assert_admitted;
use std::path::{Path, PathBuf};
use std::time::Duration;
use store_orders::rate_limiter::check_counts_file;
use store_orders::store::sqlite::{SqliteStore, back_up, restore};
use test_server::{CapturedLog, TestSetup};

fn counts_file(setup: &TestSetup) -> PathBuf {
    setup.directory.path().join("limits.snapshot")
}

fn quarantined(setup: &TestSetup) -> Vec<PathBuf> {
    let files = std::fs::read_dir(setup.directory.path()).unwrap();
    let mut quarantined: Vec<_> = files
        .map(|file| file.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            name.starts_with("limits.snapshot.")
        })
        .collect();
    quarantined.sort();
    quarantined
}

fn accounts(setup: &TestSetup) -> usize {
    check_counts_file(setup.directory.path()).unwrap().unwrap()
}

#[tokio::test]
async fn a_damaged_file_is_quarantined_and_the_server_starts() {
    type Spoil = fn(&Path);
    let damages: [(&str, Spoil); 4] = [
        ("something else", |path| std::fs::write(path, b"not the limits at all").unwrap()),
        ("cut off", |path| {
            let bytes = std::fs::read(path).unwrap();
            std::fs::write(path, &bytes[..bytes.len() / 2]).unwrap();
        }),
        ("one bit", |path| {
            let mut bytes = std::fs::read(path).unwrap();
            *bytes.last_mut().unwrap() ^= 1;
            std::fs::write(path, bytes).unwrap();
        }),
        ("a later version's", |path| {
            std::fs::write(path, "store-orders limits 2, crc32 00000000\n").unwrap();
        }),
    ];
    for (damage, spoil) in damages {
        let captured = CapturedLog::new();
        let setup = TestSetup::new().with_log(&captured);
        let key = setup.enterprise_key(100, 1_000);
        let server = setup.serve().await;
        assert_admitted(&server, &key, 10).await;
        let setup = server.stop().await;
        let path = counts_file(&setup);
        setup.close_limits_file();
        spoil(&path);
        let damaged = std::fs::read(&path).unwrap();
        assert_eq!(captured.lines("ERROR").len(), 0, "{damage}");
        let server = setup.restarted().serve().await;
        let errors = captured.lines("ERROR");
        assert_eq!(errors.len(), 1, "{damage}: {errors:?}");
        assert_eq!(errors[0]["msg"], "counts file quarantined", "{damage}");
        let quarantined = quarantined(&server.setup);
        assert_eq!(
            quarantined,
            [PathBuf::from(errors[0]["quarantine"].as_str().unwrap())],
            "{damage}"
        );
        assert_eq!(std::fs::read(&quarantined[0]).unwrap(), damaged, "{damage}");
        assert_eq!(server.list_with(&key).await.rate_limit(), (100, 99, 60), "{damage}");
        let server = server.stop().await.serve().await;
        assert_eq!(server.list_with(&key).await.rate_limit(), (100, 98, 60), "{damage}");
        assert_eq!(captured.lines("ERROR").len(), 1, "{damage}");
    }
}

#[tokio::test]
async fn a_restored_store_inherits_no_window_and_no_ban() {
    let captured = CapturedLog::new();
    let mut setup = TestSetup::new().with_log(&captured);
    let key = setup.enterprise_key(1, 1_000);
    let backup = setup.directory.path().join("backup.sqlite");
    back_up(setup.directory.path(), &backup, &|_, _| (), &|| false).unwrap();
    let banned = setup.enterprise_key(1, 1_000);
    let server = setup.serve().await;
    for key in [&key, &banned] {
        assert_admitted(&server, key, 1).await;
        server.list_with(key).await.assert_limited("rate_limit_exceeded");
        server.setup.clock.advance(BURST);
        server.list_with(key).await.assert_limited("key_banned");
    }
    setup = server.stop().await;
    setup.close_limits_file();
    let counted = std::fs::read(counts_file(&setup)).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(setup.directory.path().join(format!("store.sqlite{suffix}")));
    }
    restore(&backup, setup.directory.path(), &|_, _| ()).unwrap();
    setup.store = SqliteStore::open(setup.directory.path()).unwrap();
    let new = setup.enterprise_key(1, 1_000);
    let server = setup.restarted().serve().await;
    for key in [&key, &new] {
        assert_admitted(&server, key, 1).await;
    }
    let quarantined = quarantined(&server.setup);
    let quarantines = || {
        let lines = captured.lines("WARN").into_iter();
        let msg = "counts file of another store quarantined";
        lines.filter(|line| line["msg"] == msg).collect::<Vec<_>>()
    };
    let lines = quarantines();
    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["quarantine"], quarantined[0].to_str().unwrap());
    assert_eq!(quarantined.len(), 1);
    assert_eq!(std::fs::read(&quarantined[0]).unwrap(), counted);
    let server = server.stop().await.serve().await;
    server.list_with(&new).await.assert_limited("rate_limit_exceeded");
    assert_eq!((quarantines().len(), captured.lines("ERROR").len()), (1, 0));
}

#[tokio::test]
async fn counting_goes_on_without_a_file_and_is_saved_once_the_file_can_be_written() {
    let captured = CapturedLog::new();
    let setup = TestSetup::new().with_log(&captured);
    let key = setup.enterprise_key(100, 1_000);
    let path = counts_file(&setup);
    setup.close_limits_file();
    std::fs::create_dir(&path).unwrap();
    let server = setup.restarted().serve().await;
    assert_admitted(&server, &key, 10).await;
    for _ in 0..3 {
        server.setup.write_counts();
    }
    let errors = captured.lines("ERROR");
    assert_eq!(errors.len(), 1, "it is logged once: {errors:?}");
    assert_eq!(errors[0]["msg"], "counts file unavailable");
    std::fs::remove_dir(&path).unwrap();
    server.setup.write_counts();
    assert_eq!(server.list_with(&key).await.rate_limit(), (100, 89, 60));
    let server = server.crash().await.serve().await;
    assert_eq!(server.list_with(&key).await.rate_limit(), (100, 89, 60), "all but the last");
    assert_eq!(captured.lines("ERROR").len(), 1);
}

#[tokio::test]
async fn saved_counts_are_added_to_those_from_before_the_file_could_be_opened() {
    let captured = CapturedLog::new();
    let setup = TestSetup::new().with_log(&captured);
    let [busy, idle] = [(); 2].map(|()| setup.enterprise_key(100, 1_000));
    let banned = setup.enterprise_key(1, 1_000);
    let server = setup.serve().await;
    assert_admitted(&server, &busy, 10).await;
    assert_admitted(&server, &idle, 20).await;
    assert_admitted(&server, &banned, 1).await;
    server.list_with(&banned).await.assert_limited("rate_limit_exceeded");
    server.setup.clock.advance(BURST);
    server.list_with(&banned).await.assert_limited("key_banned");
    server.setup.write_counts();
    let setup = server.stop().await;
    setup.close_limits_file();

    let (path, aside) = (counts_file(&setup), setup.directory.path().join("aside"));
    std::fs::rename(&path, &aside).unwrap();
    std::fs::create_dir(&path).unwrap();
    setup.clock.advance(Duration::from_secs(18));
    let server = setup.restarted().serve().await;
    assert_admitted(&server, &busy, 3).await;
    assert_eq!(server.list_with(&busy).await.rate_limit(), (100, 96, 80), "from zero");
    server.setup.write_counts();
    std::fs::remove_dir(&path).unwrap();
    std::fs::rename(&aside, &path).unwrap();
    server.setup.write_counts();
    assert_eq!(captured.lines("ERROR").len(), 1);

    let crashed = server.crash().await;
    let server = crashed.serve().await;
    assert_eq!(server.list_with(&busy).await.rate_limit(), (100, 85, 60));
    assert_eq!(server.list_with(&idle).await.rate_limit(), (100, 79, 60));
    assert_eq!(server.list_with(&banned).await.assert_limited("key_banned"), 282);
}

#[tokio::test]
async fn expired_entries_are_removed_from_the_file() {
    let setup = TestSetup::new();
    let keys: Vec<_> = (0..5).map(|_| setup.enterprise_key(1, 1_000)).collect();
    setup.write_counts();
    let length = |setup: &TestSetup| std::fs::metadata(counts_file(setup)).unwrap().len();
    let empty = length(&setup);
    let server = setup.serve().await;
    for key in &keys {
        assert_admitted(&server, key, 1).await;
    }
    for code in ["rate_limit_exceeded", "key_banned"] {
        server.list_with(&keys[0]).await.assert_limited(code);
        server.setup.clock.advance(BURST);
    }
    server.setup.write_counts();
    assert_eq!(accounts(&server.setup), 5);
    server.setup.clock.advance(Duration::from_secs(86_400));
    assert_admitted(&server, &keys[1], 1).await;
    server.setup.write_counts();
    assert_eq!(accounts(&server.setup), 1);
    let server = server.crash().await.serve().await;
    assert_admitted(&server, &keys[0], 1).await;
    server.list_with(&keys[0]).await.assert_limited("rate_limit_exceeded");
    server.setup.clock.advance(BURST);
    let banned = server.list_with(&keys[0]).await.assert_limited("key_banned");
    assert_eq!(banned, 600, "the first ban is remembered");
    server.setup.clock.advance(Duration::from_secs(600));
    let setup = server.stop().await;
    setup.clock.advance(Duration::from_secs(86_400));
    let setup = setup.restarted();
    setup.write_counts();
    assert_eq!(accounts(&setup), 0);
    // The file has no accounts again, but its timestamp may take more bytes than before.
    assert!(length(&setup) < empty + 16, "{} {empty}", length(&setup));
}

#[tokio::test]
async fn the_next_write_saves_what_a_failed_write_did_not() {
    let captured = CapturedLog::new();
    let setup = TestSetup::new().with_log(&captured);
    let key = setup.enterprise_key(100, 1_000);
    let server = setup.serve().await;
    assert_admitted(&server, &key, 5).await;
    server.setup.write_counts();
    assert_admitted(&server, &key, 5).await;
    // The server writes the counts to `limits.new` before it renames the file. A directory of this
    // name makes the write fail.
    let new = server.setup.directory.path().join("limits.new");
    std::fs::create_dir(&new).unwrap();
    server.setup.write_counts();
    server.setup.write_counts();
    assert_eq!(captured.lines("ERROR").len(), 1);
    std::fs::remove_dir(&new).unwrap();
    server.setup.write_counts();
    let server = server.crash().await.serve().await;
    assert_eq!(server.list_with(&key).await.rate_limit(), (100, 89, 60));
    assert_eq!(captured.lines("ERROR").len(), 1);
}
