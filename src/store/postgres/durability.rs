//! Whether a failover could lose what the store acknowledged, told at the start.

use slog::{Logger, warn};
use tokio_postgres::Client;

/// Warns unless a standby confirms every commit.
pub async fn warn_if_commits_can_be_lost(client: &Client, log: &Logger) {
    let query = "SELECT current_setting('synchronous_standby_names') <> '',
                        current_setting('fsync') = 'on',
                        current_setting('full_page_writes') = 'on'";
    let settings = client.query_one(query, &[]).await.and_then(|row| {
        Ok((row.try_get::<_, bool>(0)?, row.try_get::<_, bool>(1)?, row.try_get::<_, bool>(2)?))
    });
    let Ok((has_standby, has_fsync, has_full_pages)) = settings else {
        return warn!(log, "the store's durability is not known");
    };
    if !has_standby {
        warn!(log, "no synchronous standby confirms commits";
            "effect" => "a failover can lose acknowledged cancellations, and a primary that was \
                         replaced is not noticed",
            "fix" => "set synchronous_standby_names on the primary");
    }
    if !has_fsync || !has_full_pages {
        warn!(log, "the database does not write commits to its disk";
            "effect" => "a power cut can lose acknowledged cancellations or the whole store",
            "fix" => "set fsync and full_page_writes to on");
    }
}
