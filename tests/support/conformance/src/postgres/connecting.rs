//! Which certificates a connection takes, and which passwords a server.

use super::database::{Database, PostgresUnderTest};
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use store_orders::store::postgres::{PostgresCommands, PostgresUrl};
use store_orders::store::{OperatorStore, StoreError};
use testbed::postgres::Installed;
use testbed::{Authority, WAIT_TIMEOUT, wait_blocking};

/// The name in a certificate, which is not where the server listens.
const OTHER_NAME: &str = "db.example.com";

/// Never shown.
const PASSWORD: &str = "ZmFsc2NoZXMgUGFzc3dvcnQ";

/// Where the server keeps this.
fn path_of(database: &Database<'_>, setting: &str) -> anyhow::Result<PathBuf> {
    Ok(database.value::<String>("SELECT current_setting($1)", &[&setting])?.into())
}

pub fn each_sslmode_takes_the_certificates_that_it_should(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let directory = path_of(&database, "data_directory")?;
    let (authority, stranger) = (Authority::new()?, Authority::new()?);
    let [ca, strange] = ["ca.pem", "stranger.pem"].map(|name| directory.join(name));
    std::fs::write(&ca, &authority.certificate)?;
    std::fs::write(&strange, &stranger.certificate)?;
    let tried =
        [("localhost", true), (OTHER_NAME, false)].into_iter().try_for_each(|certificate| {
            let (host, is_right) = certificate;
            serve_with(&database, &authority, host, &directory)?;
            let (ca, strange) = (ca.display(), strange.display());
            for (query, is_taken) in [
                ("sslmode=disable".to_string(), true),
                ("sslmode=require".to_string(), true),
                (format!("sslmode=require&sslrootcert={strange}"), false),
                (format!("sslmode=verify-ca&sslrootcert={ca}"), true),
                (format!("sslmode=verify-ca&sslrootcert={strange}"), false),
                (format!("sslmode=verify-full&sslrootcert={ca}"), is_right),
                (format!("sslmode=verify-full&sslrootcert={strange}"), false),
                // The system does not trust our authorities.
                ("sslmode=verify-full".to_string(), false),
            ] {
                let url = format!("{}?{query}", database.url().replace("127.0.0.1", "localhost"));
                let url: PostgresUrl = url.parse()?;
                let taken = PostgresCommands::connect(&url).and_then(|store| store.id());
                ensure!(taken.is_ok() == is_taken, "certificate of {host}, {query}: {taken:?}");
            }
            Ok(())
        });
    database.execute("ALTER SYSTEM RESET ssl")?;
    database.execute("SELECT pg_reload_conf()")?;
    tried
}

/// From now on the server shows a certificate for this host.
fn serve_with(
    database: &Database<'_>,
    authority: &Authority,
    host: &str,
    directory: &Path,
) -> anyhow::Result<()> {
    let issued = authority.issue(host)?;
    let [certificate, key] = ["pem", "key"].map(|end| directory.join(format!("{host}.{end}")));
    std::fs::write(&certificate, issued.certificate)?;
    std::fs::write(&key, issued.key)?;
    Installed::find()?.own(&key)?;
    for (setting, value) in [("ssl_cert_file", &certificate), ("ssl_key_file", &key)] {
        database.execute(&format!("ALTER SYSTEM SET {setting} = '{}'", value.display()))?;
    }
    database.execute("ALTER SYSTEM SET ssl = on")?;
    database.execute("SELECT pg_reload_conf()")?;
    let with_tls = format!("{}?sslmode=require", database.url()).parse()?;
    wait_blocking("the server shows the certificate", WAIT_TIMEOUT, || {
        let is_read = path_of(database, "ssl_cert_file").ok()? == certificate;
        (is_read && PostgresCommands::connect(&with_tls).is_ok()).then_some(())
    })
}

pub fn a_wrong_or_missing_password_is_refused_in_one_line_without_it(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let role = database.new_role()?;
    database.execute(&format!("ALTER ROLE {role} PASSWORD '{PASSWORD}'"))?;
    let file = path_of(&database, "hba_file")?;
    let rules = std::fs::read_to_string(&file)?;
    std::fs::write(&file, format!("host all {role} 127.0.0.1/32 scram-sha-256\n{rules}"))?;
    database.execute("SELECT pg_reload_conf()")?;
    let ask = || database.as_role(&role, async |_| Ok(())).err();
    wait_blocking("the server asks for the password", WAIT_TIMEOUT, ask)?;
    let wrong = database.url_for(&format!("{role}:{PASSWORD}x"));
    for (url, words) in
        [(wrong, "password authentication failed"), (database.url_for(&role), "password")]
    {
        let refused: Option<StoreError> = PostgresCommands::connect(&url.parse()?).err();
        let said = format!("{:#}", anyhow::Error::new(refused.context("it was not refused")?));
        let is_clear = said.contains(words) && !said.contains('\n') && !said.contains(PASSWORD);
        ensure!(is_clear, "{:?}", said.replace(PASSWORD, "[password]"));
    }
    Ok(())
}
