//! Counts the requests of several servers in PostgreSQL, so that a plan holds for all of them
//! together: if 200 requests reach four servers at once, a plan of 60 per minute admits 60.
//!
//! The obvious solution reads an account's count, decides, and writes the new count. Server A reads
//! 59, server B reads 59, and both admit a 60th request. Locking the row until the server has
//! decided avoids that, but takes two round trips, and a server that is suspended in between blocks
//! the account everywhere. If each server enforces a quarter of the plan, a client that talks to
//! only one server gets a quarter of what it pays for.
//!
//! So the update of the row decides how many requests are admitted. `count.sql` is one `INSERT … ON
//! CONFLICT DO UPDATE`, and a transaction of its own. PostgreSQL locks the account's row and
//! computes the new counts from the row's last committed version, even if another server committed
//! it after this statement began ([Read Committed]). If the account has no row yet, one batch
//! inserts it, and the others update it. Batches that count the same account therefore take effect
//! one after the other, and each starts from the result of the one before.
//!
//! ```mermaid
//! sequenceDiagram
//!     participant A as Server A
//!     participant P as PostgreSQL
//!     participant B as Server B
//!     A->>P: count 3 requests of account 7, limit 60
//!     B->>P: count 2 requests of account 7, limit 60
//!     Note over P: A's statement locks the row and raises 58 to 60
//!     P-->>A: 58 before the batch, so 2 are admitted and 1 gets 429
//!     Note over P: B's statement has waited for the row, and finds 60
//!     P-->>B: 60 before the batch, so both get 429
//! ```
//!
//! Requests that wait at one server are counted as one batch. The statement counts as many requests
//! of the batch as fit into both windows. The row also stores how many requests the last batch has
//! counted (`admitted`). So for each account, the statement can return the new counts minus this
//! number, which are the counts before the batch. It also returns the time at which it has counted.
//! From these, the server decides on one request after the other with [`AccountWindows::admit`],
//! the function that the limiter in memory uses. So if the answer arrives in time, the server
//! admits exactly as many requests as PostgreSQL has counted.
//! `xtask/faults/src/limits/agreement.rs` compares both limiters on 100,000 random requests.
//!
//! What is always true:
//!
//! - No request is admitted that PostgreSQL has not counted. After an error, or 2 s without an
//!   answer, a request gets 503. Its batch is not sent again, because PostgreSQL may have counted
//!   it (`Counter::count`). So a lost answer can cost an account requests, but never gives it any.
//! - Each batch brings the limits of its accounts. For up to a second after the operator changed a
//!   plan, two servers may send different limits. Each then admits up to its own limit, but both
//!   add to the same counts.
//! - Batches of several accounts cannot deadlock, because each batch locks the rows in the order of
//!   their accounts. A suspended server holds no lock: its batch is one statement, and the answer
//!   fits into the buffers of the connection (`MAX_ACCOUNTS`). So PostgreSQL can send the answer
//!   and commit, even if the server does not read.
//! - Windows follow only the database's clock. A batch reads the clock before it waits for a row.
//!   If another batch has counted at a later time by then, the waiting batch uses the later time
//!   (`counted_at`).
//! - Each server counts the strikes of the 429s that it sends. So with four servers, a client may
//!   get four times as many refusals before it is banned. A ban takes effect on all servers,
//!   because it is written to the key's row.
//!
//! What happens when something fails:
//!
//! - A failover can lose counts, because their commits do not wait for the disk or a standby. But
//!   the session's heartbeat waits for the standby, which then has everything that the cluster
//!   wrote before. Without a confirmed heartbeat, the session's [`lease`] expires within a second,
//!   and requests get 503. So with a synchronous standby, at most the counts of a second are lost.
//!   If the standby is asynchronous, all counts that it has not received are lost.
//! - A server that is killed loses its strikes, because each server counts strikes in its memory.
//!
//! Each batch leaves dead versions of its rows, and PostgreSQL keeps them as long as a snapshot of
//! the same database may need them ([routine vacuuming]). During a `pg_dump` of the store, each
//! batch would have to read thousands of versions of one row. So counts have a database of their
//! own, in the store's cluster, and `owner` ties it to the store. On one core, this limiter
//! admitted 4,000 requests a second when 1 request waited, 105,000 when 64 waited, and 130,000 when
//! 256 waited.
//!
//! Counts were once in Redis, a second system to run although each request needs PostgreSQL anyway.
//!
//! [`lease`]: crate::store::agreement::lease
//! [`AccountWindows::admit`]: crate::rate_limiter::AccountWindows::admit
//! [Read Committed]: https://www.postgresql.org/docs/current/transaction-iso.html
//! [routine vacuuming]: https://www.postgresql.org/docs/current/routine-vacuuming.html

mod admission;
mod limiter;
pub(super) mod owner;

pub use admission::{Admission, remove_expired};
pub(super) use admission::{in_u32, timestamp};
pub use limiter::PostgresRateLimiter;
