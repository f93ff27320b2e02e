//! The minimal grants for the database role of a server.

use crate::store::StoreError;
use crate::store::postgres::error::read_error;
use crate::store::postgres::rows::value;
use tokio_postgres::Client;

/// Tables on which a server needs SELECT. [`STORE_WRITES`] grants SELECT on two more.
const READ_TABLES: [&str; 7] =
    ["store_orders_schema", "identity", "change_lock", "orders", "pets", "accounts", "keys"];

/// Grants that allow a role to write the store. Servers never change `change_lock`, but locking its
/// row requires the right to update a column.
const STORE_WRITES: [&str; 5] = [
    "UPDATE (only_row) ON {schema}.change_lock",
    "SELECT, INSERT, DELETE ON {schema}.changes",
    "UPDATE (status, change_number, cancelled_at, cancelled_by, cancelled_in) ON {schema}.orders",
    "UPDATE (used_at, banned_until, ban_seconds, ban_number, change_number) ON {schema}.keys",
    "SELECT, INSERT, UPDATE, DELETE ON {schema}.replicas",
];

const LIMITS_WRITES: [&str; 2] = [
    "SELECT, UPDATE (store_id) ON {schema}.limits_schema",
    "SELECT, INSERT, UPDATE, DELETE ON {schema}.limits_accounts",
];

#[derive(Clone, Copy)]
pub enum Rights {
    Store,
    Limits,
}

/// Returns the statements that grant these rights to a server's role in this database. The owner of
/// the tables must run the statements. Running them again changes nothing.
pub async fn grants(client: &Client, role: &str, rights: Rights) -> Result<String, StoreError> {
    let quoted = "SELECT quote_ident(current_database()), quote_ident(current_schema()),
                         quote_ident($1)";
    let row = client.query_one(quoted, &[&role]).await.map_err(read_error)?;
    let (database, schema, role): (String, Option<String>, String) =
        (value(&row, 0)?, value(&row, 1)?, value(&row, 2)?);
    let Some(schema) = schema else {
        return Err(StoreError::Refused(
            "no schema of the search_path exists, or this role may not use it".to_string(),
        ));
    };
    Ok(statements(&database, &schema, &role, rights))
}

/// Formats the GRANT statements. The names must already be quoted as SQL identifiers.
fn statements(database: &str, schema: &str, role: &str, rights: Rights) -> String {
    let (read_tables, writes): (&[&str], &[&str]) = match rights {
        Rights::Store => (&READ_TABLES, &STORE_WRITES),
        Rights::Limits => (&[], &LIMITS_WRITES),
    };
    let mut text = format!(
        "-- What a server's role needs. Commands of the operator need the tables' owner.\n\
         GRANT CONNECT ON DATABASE {database} TO {role};\n\
         GRANT USAGE ON SCHEMA {schema} TO {role};\n"
    );
    for table in read_tables {
        text.push_str(&format!("GRANT SELECT ON {schema}.{table} TO {role};\n"));
    }
    for right in writes {
        let right = right.replace("{schema}", schema);
        text.push_str(&format!("GRANT {right} TO {role};\n"));
    }
    text
}
