//! One order, cancelled 64 times at once through one server, again and again: exactly one
//! 204, whatever batches they come into.

use super::setup::OnPrimary;
use futures::future::join_all;
use reqwest::Client;
use testbed::postgres::Installed;
use testbed::{Program, Report};

const ROUNDS: i64 = 40;
const AT_ONCE: usize = 64;

/// Runs it.
pub async fn run(
    installed: &Installed,
    program: &Program,
    report: &mut Report,
) -> anyhow::Result<()> {
    let OnPrimary { cluster: _cluster, primary: _primary, store, key } =
        OnPrimary::start(installed, program, ROUNDS).await?;
    let replica = store.replica("replica", &store.url, &[]).await?;
    let http = Client::new();
    let mut others = 0;
    for id in 1..=ROUNDS {
        let url = format!("{}/store/orders/{id}", replica.server.base_url());
        let requests = (0..AT_ONCE).map(|_| http.delete(&url).bearer_auth(&key.text).send());
        let mut statuses = Vec::new();
        for answer in join_all(requests).await {
            statuses.push(answer?.status().as_u16());
        }
        let done = statuses.iter().filter(|status| **status == 204).count();
        others += statuses.iter().filter(|status| **status == 404).count();
        report.expect(done == 1, || format!("order {id} has {done} answers 204"));
    }
    let expected = (AT_ONCE - 1) * usize::try_from(ROUNDS)?;
    report.expect(others == expected, || format!("{others} answers 404 instead of {expected}"));
    report.figure(format!("{ROUNDS} orders, {AT_ONCE} requests each"));
    Ok(())
}
