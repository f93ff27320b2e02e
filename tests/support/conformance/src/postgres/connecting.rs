//! Tests that a connection accepts only the right certificates of PostgreSQL, and that no error
//! contains a password.

use super::database::{Database, PostgresUnderTest};
use anyhow::{Context, ensure};
use std::path::{Path, PathBuf};
use store_orders::store::postgres::{PostgresOperatorStore, PostgresUrl};
use store_orders::store::{OperatorStore, StoreError};
use testbed::postgres::Installed;
use testbed::{Authority, WAIT_TIMEOUT, wait_blocking};

/// A host name that is not the PostgreSQL server's.
const OTHER_NAME: &str = "db.example.com";

/// A password that no error may contain.
const PASSWORD: &str = "ZmFsc2NoZXMgUGFzc3dvcnQ";

fn read_path(database: &Database<'_>, setting: &str) -> anyhow::Result<PathBuf> {
    Ok(database.value::<String>("SELECT current_setting($1)", &[&setting])?.into())
}

pub fn each_sslmode_accepts_the_right_certificates(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let directory = read_path(&database, "data_directory")?;
    let (authority, stranger) = (Authority::new()?, Authority::new()?);
    let [ca, strange] = ["ca.pem", "stranger.pem"].map(|name| directory.join(name));
    std::fs::write(&ca, &authority.certificate)?;
    std::fs::write(&strange, &stranger.certificate)?;
    let tried =
        [("localhost", true), (OTHER_NAME, false)].into_iter().try_for_each(|certificate| {
            let (host, is_server_name) = certificate;
            serve_with(&database, &authority, host, &directory)?;
            let (ca, strange) = (ca.display(), strange.display());
            for (query, is_accepted) in [
                ("sslmode=disable".to_string(), true),
                ("sslmode=require".to_string(), true),
                (format!("sslmode=require&sslrootcert={strange}"), false),
                (format!("sslmode=verify-ca&sslrootcert={ca}"), true),
                (format!("sslmode=verify-ca&sslrootcert={strange}"), false),
                (format!("sslmode=verify-full&sslrootcert={ca}"), is_server_name),
                (format!("sslmode=verify-full&sslrootcert={strange}"), false),
                // Without `sslrootcert`, the system's certificate authorities apply. They do not
                // include the test's own authority.
                ("sslmode=verify-full".to_string(), false),
            ] {
                let url = format!("{}?{query}", database.url().replace("127.0.0.1", "localhost"));
                let url: PostgresUrl = url.parse()?;
                let connected = PostgresOperatorStore::connect(&url).and_then(|store| store.id());
                ensure!(
                    connected.is_ok() == is_accepted,
                    "certificate of {host}, {query}: {connected:?}"
                );
            }
            Ok(())
        });
    database.execute("ALTER SYSTEM RESET ssl")?;
    database.execute("SELECT pg_reload_conf()")?;
    tried
}

/// Configures PostgreSQL to present a certificate for this host, and waits until PostgreSQL uses
/// the certificate.
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
    Installed::find()?.make_private(&key)?;
    for (setting, value) in [("ssl_cert_file", &certificate), ("ssl_key_file", &key)] {
        database.execute(&format!("ALTER SYSTEM SET {setting} = '{}'", value.display()))?;
    }
    database.execute("ALTER SYSTEM SET ssl = on")?;
    database.execute("SELECT pg_reload_conf()")?;
    let with_tls = format!("{}?sslmode=require", database.url()).parse()?;
    wait_blocking("the server shows the certificate", WAIT_TIMEOUT, || {
        let is_read = read_path(database, "ssl_cert_file").ok()? == certificate;
        (is_read && PostgresOperatorStore::connect(&with_tls).is_ok()).then_some(())
    })
}

pub fn errors_about_passwords_are_one_line_without_the_password(
    server: &PostgresUnderTest,
) -> anyhow::Result<()> {
    let database = server.new_store()?;
    let role = database.new_role()?;
    database.execute(&format!("ALTER ROLE {role} PASSWORD '{PASSWORD}'"))?;
    let file = read_path(&database, "hba_file")?;
    let rules = std::fs::read_to_string(&file)?;
    std::fs::write(&file, format!("host all {role} 127.0.0.1/32 scram-sha-256\n{rules}"))?;
    database.execute("SELECT pg_reload_conf()")?;
    let ask = || database.as_role(&role, async |_| Ok(())).err();
    wait_blocking("the server asks for the password", WAIT_TIMEOUT, ask)?;
    let wrong = database.url_for(&format!("{role}:{PASSWORD}x"));
    for (url, words) in
        [(wrong, "password authentication failed"), (database.url_for(&role), "password")]
    {
        let refused: Option<StoreError> = PostgresOperatorStore::connect(&url.parse()?).err();
        let message = format!("{:#}", anyhow::Error::new(refused.context("it was not refused")?));
        let is_clear =
            message.contains(words) && !message.contains('\n') && !message.contains(PASSWORD);
        ensure!(is_clear, "{:?}", message.replace(PASSWORD, "[password]"));
    }
    Ok(())
}
