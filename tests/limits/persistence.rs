//! Counts survive a restart, a crash and a change of the wall clock.

use super::windows::assert_admitted;
use std::time::Duration;
use test_server::{NOON, TestSetup};

const YEAR: Duration = Duration::from_secs(365 * 86_400);

#[tokio::test]
async fn both_windows_survive_a_restart() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(10, 13);
    let server = setup.serve().await;
    assert_admitted(&server, &key, 4).await;
    let setup = server.stop().await;
    setup.clock.advance(Duration::from_millis(20_001));
    let server = setup.restarted().serve().await;
    assert_eq!(server.list_with(&key).await.rate_limit(), (10, 5, 60));
    server.setup.clock.advance(Duration::from_millis(39_998));
    assert_eq!(server.list_with(&key).await.rate_limit(), (10, 4, 60), "a millisecond before");
    let server = server.stop().await.serve().await;
    server.setup.clock.advance(Duration::from_millis(1));
    assert_eq!(server.list_with(&key).await.rate_limit(), (13, 6, 86_400), "at the reset");
    let setup = server.stop().await;
    setup.clock.advance(Duration::from_secs(86_400 - 60));
    let server = setup.restarted().serve().await;
    assert_eq!(server.list_with(&key).await.rate_limit(), (10, 9, 86_460));
}

#[tokio::test]
async fn a_crash_loses_only_the_counts_since_the_last_write() {
    let setup = TestSetup::new();
    let key = setup.enterprise_key(100, 1_000);
    let server = setup.serve().await;
    assert_admitted(&server, &key, 10).await;
    server.setup.write_limits();
    assert_admitted(&server, &key, 3).await;
    let server = server.crash().await.serve().await;
    assert_eq!(server.list_with(&key).await.rate_limit(), (100, 89, 60));
}

#[tokio::test]
async fn setting_the_wall_clock_over_a_restart_prolongs_no_window() {
    for (wall, remaining, reset_in) in [
        (NOON - YEAR / 4, 0, 60),
        (NOON + Duration::from_secs(30), 0, 30),
        (NOON + Duration::from_secs(60), 1, 60),
        (NOON + YEAR, 1, 60),
    ] {
        let setup = TestSetup::new();
        let key = setup.enterprise_key(2, 1_000);
        let server = setup.serve().await;
        assert_admitted(&server, &key, 2).await;
        let setup = server.stop().await;
        setup.clock.set_wall(wall);
        let server = setup.restarted().serve().await;
        let answer = server.list_with(&key).await;
        assert_eq!(answer.number("x-ratelimit-remaining"), remaining, "{wall:?}");
        let now = store_orders::clock::Clock::now(&*server.setup.clock).wall.as_secs();
        assert_eq!(answer.number("x-ratelimit-reset") - now, reset_in, "{wall:?}");
    }
}
