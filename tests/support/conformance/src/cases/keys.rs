//! Tests the commands for keys. Also tests that a store records bans and uses of keys.

use crate::ServedStore;
use crate::engine::Engine;
use crate::listing::{keys as changed_keys, keys_since, last_changes};
use crate::records::{NOW_MS, account_and_key, import, new_key, now, refusal};
use anyhow::{Context, ensure};
use std::collections::HashSet;
use std::time::Duration;
use store_orders::api_key::{ApiKey, Digest, Environment};
use store_orders::rate_limiter::{KeyBan, NewBan};
use store_orders::store::{
    IssuedKey, Key, KeyRecord, MIN_USE_INTERVAL_MS, NewKey, OperatorStore, Position, Rotation,
};
use store_orders_api::plans::Plan;

fn issue(commands: &dyn OperatorStore, expires_after: Option<u64>) -> anyhow::Result<IssuedKey> {
    let expires_after = expires_after.map(Duration::from_secs);
    Ok(commands.issue_key(&NewKey { expires_after, ..new_key("acme") }, NOW_MS)?)
}

fn record(commands: &dyn OperatorStore, id: &str) -> anyhow::Result<Key> {
    let mut records = commands.key_records()?.into_iter().map(|record| record.key);
    records.find(|key| *key.id == *id).context("no record")
}

/// Reads the key in both ways in which a server reads it: by its digest, and among the changed
/// keys. Fails unless both reads return the same row.
fn served(store: &ServedStore, digest: &Digest) -> anyhow::Result<Key> {
    let mut keys = store.look_up_keys(&[*digest])?.keys;
    let row = keys.pop().context("the key is not served")?;
    ensure!(row.key.digest == *digest && keys.is_empty(), "another key is served");
    ensure!(
        changed_keys(store)?.remove(digest).as_ref() == Some(&row),
        "a change returns another row"
    );
    Ok(row.key)
}

pub fn a_key_is_issued_and_served(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let first = account_and_key(&*commands)?;
    let second = issue(&*commands, Some(60))?;
    let first_row = served(&store, &first.key.digest())?;
    let second_row = served(&store, &second.key.digest())?;
    ensure!(first_row.row < second_row.row);
    let (account, _) = commands.account("acme", NOW_MS)?;
    let expected = |key: &Key, issued: &IssuedKey, expires_at| KeyRecord {
        key: Key {
            row: key.row,
            id: issued.id.as_str().into(),
            account: account.id,
            environment: Environment::Production,
            digest: issued.key.digest(),
            label: None,
            issued_at: NOW_MS,
            expires_at,
            revoked_at: None,
            used_at: None,
            successor: None,
            ban: KeyBan::default(),
        },
        account: account.clone(),
    };
    let expected =
        [expected(&first_row, &first, None), expected(&second_row, &second, Some(NOW_MS + 60_000))];
    ensure!([first_row, second_row] == expected.clone().map(|record| record.key));
    let records = commands.key_records()?;
    ensure!(records == expected, "{records:?}");
    for (issued, record) in [&first, &second].into_iter().zip(records) {
        ensure!(commands.key_record(&issued.key.digest())? == Some(record));
    }
    let unknown = ApiKey::generate(Environment::Production).digest();
    ensure!(commands.key_record(&unknown)?.is_none());
    let digests = [unknown, second.key.digest(), first.key.digest()];
    let looked_up = store.look_up_keys(&digests)?;
    ensure!(
        looked_up.keys.into_iter().map(|record| record.key.digest).collect::<HashSet<_>>() == {
            HashSet::from([first.key.digest(), second.key.digest()])
        }
    );
    ensure!(looked_up.polled.last_changes == last_changes(&store)?);
    ensure!(store.look_up_keys(&[])?.keys.is_empty());
    Ok(())
}

pub fn a_rotated_key_overlaps_with_its_successor(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let old = account_and_key(&*commands)?;
    let limited = issue(&*commands, Some(3_600))?;
    let rotate = |key_id: &str, hours: u64, now_ms| {
        let overlap = Duration::from_secs(hours * 3_600);
        commands.rotate_key(Rotation { key_id, overlap, label: None }, now_ms)
    };
    let refused = refusal(rotate(&old.id, 7 * 24 + 1, NOW_MS))?;
    ensure!(refused == "a rotated key can stay valid for at most 7 days", "{refused}");
    let new = rotate(&old.id, 24, NOW_MS)?;
    ensure!(served(&store, &old.key.digest())?.expires_at == Some(NOW_MS + 86_400_000));
    ensure!(served(&store, &new.key.digest())?.expires_at.is_none());
    ensure!(record(&*commands, &old.id)?.successor.as_deref() == Some(&*new.id));

    // The overlap does not extend the expiry of the old key. The new key gets the full lifetime
    // with which the old key was issued.
    let next = rotate(&limited.id, 24, NOW_MS + 600_000)?;
    ensure!(served(&store, &limited.key.digest())?.expires_at == Some(NOW_MS + 3_600_000));
    ensure!(served(&store, &next.key.digest())?.expires_at == Some(NOW_MS + 4_200_000));
    let refused = refusal(rotate(&next.id, 1, NOW_MS + 4_200_000))?;
    ensure!(refused.ends_with("has expired; issue a new key instead"), "{refused}");
    ensure!(commands.key_records()?.len() == 4);
    Ok(())
}

pub fn a_rotation_keeps_the_label_unless_a_new_one_is_given(
    engine: &dyn Engine,
) -> anyhow::Result<()> {
    let commands = engine.commands()?;
    commands.create_account("acme", Plan::Free, None, now())?;
    let issue =
        |label: Option<&str>| commands.issue_key(&NewKey { label, ..new_key("acme") }, NOW_MS);
    let rotate = |key_id: &str, label: Option<&str>| {
        let rotation = Rotation { key_id, overlap: Duration::ZERO, label };
        commands.rotate_key(rotation, NOW_MS)
    };
    let label =
        |id: &str| -> anyhow::Result<Option<Box<str>>> { Ok(record(&*commands, id)?.label) };
    let longest = "ö".repeat(64);
    let first = issue(Some(&format!("  {longest} ")))?;
    ensure!(label(&first.id)?.as_deref() == Some(&*longest));
    let second = rotate(&first.id, None)?;
    ensure!(label(&second.id)?.as_deref() == Some(&*longest));
    for refused in [refusal(issue(Some(" ")))?, refusal(rotate(&second.id, Some(" ")))?] {
        ensure!(refused == "the label of a key is empty", "{refused}");
    }
    let third = rotate(&second.id, Some("web shop"))?;
    ensure!(label(&third.id)?.as_deref() == Some("web shop"));
    ensure!(label(&second.id)?.as_deref() == Some(&*longest));
    let fourth = issue(None)?;
    ensure!(label(&rotate(&fourth.id, None)?.id)?.is_none());
    ensure!(commands.key_records()?.len() == 5, "a refused key was issued");
    Ok(())
}

pub fn a_key_is_revoked_once_and_for_good(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let key = account_and_key(&*commands)?;
    commands.revoke_key(&key.id, NOW_MS + 5)?;
    let row = served(&store, &key.key.digest())?;
    ensure!(row.revoked_at == Some(NOW_MS + 5), "{row:?}");
    commands.revoke_key(&key.id, NOW_MS + 9)?;
    ensure!(record(&*commands, &key.id)?.revoked_at == Some(NOW_MS + 5));
    ensure!(commands.account("acme", NOW_MS)?.1 == 0);
    Ok(())
}

/// If two servers decide on the same ban, the second decision must not extend the ban.
pub fn a_ban_is_stored_once_and_can_be_lifted(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let (key, other) = (account_and_key(&*commands)?, issue(&*commands, None)?);
    let row = |issued: &IssuedKey| served(&store, &issued.key.digest());
    let (key_row, other_row) = (row(&key)?.row, row(&other)?.row);
    let ban = |seconds: u32, number| KeyBan {
        ends_at_ms: NOW_MS + i64::from(seconds) * 1_000,
        seconds,
        number,
    };
    let write = |key: i64, ban: KeyBan| store.record_bans(&[NewBan { key, ban }]);
    let before = last_changes(&store)?.keys;
    write(key_row, ban(300, 1))?;
    // A server that reads changes gets only the changed key.
    let ((_, changed), reached) = keys_since(&store, before)?;
    ensure!(changed.len() == 1 && reached.number > before.number, "{changed:?}");
    ensure!(row(&key)?.ban == ban(300, 1) && row(&other)?.ban == KeyBan::default());
    write(key_row, ban(301, 1))?;
    ensure!(
        record(&*commands, &key.id)?.ban == ban(300, 1),
        "a concurrent ban replaced the first one"
    );
    store.record_bans(&[
        NewBan { key: key_row, ban: ban(600, 2) },
        NewBan { key: other_row, ban: ban(300, 2) },
        NewBan { key: i64::MAX, ban: ban(300, 1) },
    ])?;
    ensure!(row(&key)?.ban == ban(600, 2) && row(&other)?.ban == ban(300, 2));
    let banned = last_changes(&store)?.keys;
    commands.unban_key(&key.id)?;
    ensure!(keys_since(&store, banned)?.0.1.len() == 1);
    let lifted = KeyBan { number: 3, ..KeyBan::default() };
    write(key_row, ban(1_200, 3))?;
    ensure!(
        row(&key)?.ban == lifted,
        "a ban was stored that was decided before the last one was lifted"
    );
    ensure!(record(&*commands, &key.id)?.ban == lifted);
    ensure!(commands.check()?.problems.is_empty());
    refusal(commands.unban_key("key_none")).map(drop)
}

pub fn a_use_is_recorded_once_a_minute(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let (key, other) = (account_and_key(&*commands)?, issue(&*commands, None)?);
    let row = served(&store, &key.key.digest())?.row;
    let before = last_changes(&store)?;
    let after = |uses: &[i64]| -> anyhow::Result<Option<i64>> {
        let uses: Vec<_> = uses.iter().map(|at| (row, *at)).collect();
        store.record_last_used(&uses)?;
        Ok(record(&*commands, &key.id)?.used_at)
    };
    let minute = MIN_USE_INTERVAL_MS;
    ensure!(after(&[])?.is_none());
    ensure!(after(&[NOW_MS])? == Some(NOW_MS));
    ensure!(after(&[NOW_MS + minute - 1])? == Some(NOW_MS));
    ensure!(after(&[NOW_MS + minute])? == Some(NOW_MS + minute));
    // An earlier time is stored as well, because the wall clock may have been set back.
    ensure!(after(&[NOW_MS - minute])? == Some(NOW_MS - minute));
    store.record_last_used(&[(i64::MAX, NOW_MS)])?;
    ensure!(served(&store, &key.key.digest())?.used_at == Some(NOW_MS - minute));
    ensure!(record(&*commands, &other.id)?.used_at.is_none());
    ensure!(last_changes(&store)? == before, "a use counts as a change");
    ensure!(commands.check()?.problems.is_empty());
    Ok(())
}

/// Changing an account changes only the account's row, so servers need not read the rows of its
/// keys.
pub fn only_changed_keys_and_accounts_are_read(engine: &dyn Engine) -> anyhow::Result<()> {
    let (store, commands) = (engine.server_store()?, engine.commands()?);
    let first = account_and_key(&*commands)?;
    let mut last_known =
        keys_since(&store, Position::beginning(last_changes(&store)?.keys.history))?.1;
    let mut changed = |account: Option<i64>, expected: &[&IssuedKey]| -> anyhow::Result<()> {
        let ((accounts, keys), reached) = keys_since(&store, last_known)?;
        ensure!(accounts.keys().copied().eq(account), "{accounts:?}");
        let digests: HashSet<_> = expected.iter().map(|key| key.key.digest()).collect();
        ensure!(keys.keys().copied().collect::<HashSet<_>>() == digests, "{keys:?}");
        ensure!(reached == last_changes(&store)?.keys, "{reached:?}");
        last_known = reached;
        Ok(())
    };
    changed(None, &[])?;
    commands.create_account("globex", Plan::Free, None, now())?;
    changed(Some(2), &[])?;
    let second = issue(&*commands, Some(60))?;
    changed(None, &[&second])?;
    commands.unban_key(&first.id)?;
    changed(None, &[&first])?;
    let rotation = Rotation { key_id: &first.id, overlap: Duration::ZERO, label: None };
    let third = commands.rotate_key(rotation, NOW_MS)?;
    changed(None, &[&first, &third])?;
    commands.revoke_key(&third.id, NOW_MS)?;
    changed(None, &[&third])?;
    commands.set_plan("acme", Plan::Pro, None)?;
    changed(Some(1), &[])?;
    commands.rename_account("globex", "initech")?;
    changed(Some(2), &[])?;
    ensure!(
        last_changes(&store)?.orders.is_beginning(),
        "a change of keys counts as a change of orders"
    );
    import(&*commands, [1])?;
    store.record_last_used(&[(1, NOW_MS)])?;
    changed(None, &[])?;
    ensure!(commands.close_account("acme", now())? == 2);
    changed(Some(1), &[])?;
    ensure!(commands.check()?.problems.is_empty());
    Ok(())
}
