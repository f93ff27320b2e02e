//! What an operator gets wrong: each has one clear line, and no password in it.

use crate::replicas::{StoreUnderTest, blocking};
use crate::scenario::Tools;
use serde_json::Value;
use std::time::Duration;
use testbed::Report;
use testbed::postgres::{Cluster, DATABASE, Postgres, USER};
use tokio_postgres::NoTls;

/// Never shown.
const PASSWORD: &str = "ZmFsc2NoZXMgUGFzc3dvcnQ";

/// Runs it.
pub async fn run(tools: &Tools, report: &mut Report) -> anyhow::Result<()> {
    let cluster = Cluster::create(&tools.postgres()?)?;
    // Three connections are kept for the superuser.
    let primary = cluster.primary("primary", &[("max_connections", "12")]).await?;
    let store = StoreUnderTest::create(&tools.program, &primary.url(), 10).await?;
    let admin = primary.admin(DATABASE).await?;
    let roles = format!(
        "CREATE ROLE stranger LOGIN; CREATE ROLE guarded LOGIN PASSWORD '{PASSWORD}';
         CREATE DATABASE empty; CREATE DATABASE foreigners"
    );
    for statement in roles.split(';') {
        admin.batch_execute(statement).await?;
    }
    let foreign = primary.admin("foreigners").await?;
    foreign.batch_execute("CREATE TABLE customers (id int)").await?;
    drop(foreign);
    let hba = cluster.path().join("primary/pg_hba.conf");
    let rules = std::fs::read_to_string(&hba)?;
    std::fs::write(&hba, format!("host all guarded 127.0.0.1/32 scram-sha-256\n{rules}"))?;
    admin.batch_execute("SELECT pg_reload_conf()").await?;
    drop(admin);
    let guarded = format!("host=127.0.0.1 port={} user=guarded dbname={DATABASE}", primary.port);
    // The server reads its rules some time after it was told to.
    while tokio_postgres::connect(&guarded, NoTls).await.is_ok() {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }

    let port = primary.port;
    let of = |user: &str, database: &str| {
        Postgres::url_at(port)
            .replace(&format!("//{USER}@"), &format!("//{user}@"))
            .replace(&format!("/{DATABASE}"), &format!("/{database}"))
    };
    let wrong = format!("guarded:{PASSWORD}x");
    let closed = Postgres::url_at(1);
    let cases: [(&str, String, &[&str]); 7] = [
        ("a wrong password", of(&wrong, DATABASE), &["password authentication failed"]),
        ("no password", of("guarded", DATABASE), &["password"]),
        ("no such database", of(USER, "nothing"), &["\"nothing\" does not exist"]),
        (
            "a missing grant",
            of("stranger", DATABASE),
            &["permission denied", "migrate --print-grants"],
        ),
        ("an empty database", of(USER, "empty"), &["no store", "store-orders migrate"]),
        ("a database of another program", of(USER, "foreigners"), &["no store"]),
        ("a closed port", closed, &["127.0.0.1:1", "refused"]),
    ];
    for (what, url, words) in cases {
        expect_refusal(&store, what, &url, words, report).await?;
    }
    // The superuser may have the last connections, others not.
    let owner = primary.admin(DATABASE).await?;
    owner.batch_execute("GRANT ALL ON ALL TABLES IN SCHEMA public TO stranger").await?;
    let mut taken = Vec::new();
    for _ in 0..6 {
        taken.push(primary.admin(DATABASE).await?);
    }
    let few = of("stranger", DATABASE);
    let words = ["remaining connection slots", "too many"];
    expect_one_of(&store, "too few connections", &few, &words, report).await?;
    drop(taken);
    Ok(())
}

async fn expect_refusal(
    store: &StoreUnderTest,
    what: &str,
    url: &str,
    words: &[&str],
    report: &mut Report,
) -> anyhow::Result<()> {
    let said = refusal(store, url).await?;
    let is_clear = words.iter().all(|word| said.contains(word));
    report.expect(is_clear && !said.contains(PASSWORD), || format!("{what}: {said}"));
    Ok(())
}

async fn expect_one_of(
    store: &StoreUnderTest,
    what: &str,
    url: &str,
    words: &[&str],
    report: &mut Report,
) -> anyhow::Result<()> {
    let said = refusal(store, url).await?;
    let is_clear = words.iter().any(|word| said.contains(word));
    report.expect(is_clear, || format!("{what}: {said}"));
    Ok(())
}

/// The error that `serve` logs in its one line, when it does not start.
async fn refusal(store: &StoreUnderTest, url: &str) -> anyhow::Result<String> {
    let operator = store.operator(url);
    let output = blocking(move || {
        let mut command = operator.command();
        command.args(["serve", "--listen", "127.0.0.1:0"]);
        Ok(command.args(["--admin-listen", "off", "--log-level", "off"]).output()?)
    })
    .await?;
    let said = String::from_utf8_lossy(&output.stderr).trim().to_string();
    let logged = serde_json::from_str::<Value>(&said).ok();
    let error = logged.as_ref().and_then(|line| line.get("error")?.as_str());
    Ok(match (output.status.success(), said.lines().count()) {
        (false, 1) => error.unwrap_or(&said).to_string(),
        (true, _) => "it started".to_string(),
        (false, lines) => format!("{lines} lines: {said}"),
    })
}
