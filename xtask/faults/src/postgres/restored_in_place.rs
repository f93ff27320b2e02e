//! Tests that a server notices a restore that PostgreSQL does not report. The restore loses five
//! changes. Five other changes follow, so the last change number is as before.
//!
//! The server must detect that a change is missing from the journal, and read everything again.

use super::setup::{READY_WITHIN, expect_agreement};
use crate::replicas::{Replica, StoreUnderTest, blocking};
use crate::scenario::Tools;
use anyhow::{Context, bail};
use testbed::postgres::{Cluster, Postgres};
use testbed::relay::{Fault, Relay};
use testbed::{Key, Report};

const ORDERS: i64 = 20;

struct Scene {
    store: StoreUnderTest,
    replica: Replica,
    key: Key,
    /// A key that is revoked after the restore.
    leaked: Key,
}

pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    let primary = cluster.primary("primary", &[]).await?;
    let created = StoreUnderTest::create(&tools.program, &primary.url(), ORDERS).await?;
    let (key, leaked) = (created.key("clients").await?, created.key("leaked").await?);
    let port = primary.port;
    primary.kill()?;
    cluster.copy("primary", "backup")?;
    let primary = cluster.start_at("primary", port, &[]).await?;
    let relay = Relay::to(port)?;
    let store = StoreUnderTest::open(&tools.program, &Postgres::url_at(relay.port))?;
    let scene = Scene::open(store, key, leaked).await?;
    let lost = scene.change_and_lose().await?;
    relay.set(Fault::Reset);
    primary.kill()?;
    let restored = cluster.start_at("backup", port, &[]).await?;
    scene.expect_restored_state(&restored, &lost, &relay, report).await
}

impl Scene {
    async fn open(store: StoreUnderTest, key: Key, leaked: Key) -> anyhow::Result<Scene> {
        let replica = store.replica("replica", &store.url, &[]).await?;
        replica.ready(READY_WITHIN).await?;
        Ok(Scene { store, replica, key, leaked })
    }

    /// Makes changes that the backup lacks. Returns the key that the restore loses, and the entity
    /// tag of the server's list after the changes.
    async fn change_and_lose(&self) -> anyhow::Result<(Key, String)> {
        let lost = self.store.key("lost").await?;
        for id in 1..=3 {
            let status = self.replica.cancel(&lost, id).await?;
            if status != 204 {
                bail!("a cancellation was answered {status}");
            }
        }
        let (_, tag) = self.replica.list_unless(&self.key, "").await?;
        Ok((lost, tag))
    }

    /// Makes five changes while the server cannot reach the restored primary. The restore lost five
    /// changes, so the last change number is again the one that the server knows. Then checks that
    /// the reconnected server serves the restored state with the new changes.
    async fn expect_restored_state(
        &self,
        primary: &Postgres,
        (lost, lost_tag): &(Key, String),
        relay: &Relay,
        report: &mut Report,
    ) -> anyhow::Result<()> {
        let (operator, leaked) = (self.store.operator(&primary.url()), self.leaked.id.clone());
        blocking(move || {
            for id in ["4", "5", "6"] {
                operator.run(&["orders", "ship", id])?;
            }
            operator.run(&["keys", "revoke", &leaked])?;
            operator.run(&["keys", "unban", &leaked])
        })
        .await?;
        relay.set(Fault::None);
        let ready_after = self.replica.ready(READY_WITHIN).await?;
        report.time("ready once the primary was reachable", ready_after, READY_WITHIN);
        for (key, what) in [(&self.leaked, "revoked"), (lost, "lost")] {
            let status = self.replica.key_status(&key.text).await?;
            let text = || format!("the {what} key: {status}");
            report.expect(matches!(status, 401 | 503), text);
            report.expect_unless_stalled(status == 401, text);
        }
        let (status, tag) = self.replica.list_unless(&self.key, lost_tag).await?;
        report.expect(status == 200, || format!("the tag of the lost list is answered {status}"));
        let list = String::from_utf8(self.replica.list(&self.key).await?)?;
        let listed = (1..=ORDERS).filter(|id| list.contains(&format!("{{\"id\":{id},"))).count();
        report.expect(listed == usize::try_from(ORDERS)?, || format!("{listed} orders are listed"));
        let fresh = self.store.replica("fresh", &primary.url(), &[]).await?;
        let fresh_list = fresh.list(&self.key).await.context("a new server")?;
        report.expect(fresh_list == list.as_bytes(), || {
            "the list differs from a new server's".to_string()
        });
        let (status, _) = fresh.list_unless(&self.key, &tag).await?;
        report.expect(status == 304, || format!("the tag is answered {status} by a new server"));
        expect_agreement(std::slice::from_ref(&self.replica), &self.key, report).await
    }
}
