//! The rights that the role of a server needs, and no more.

use crate::store::StoreError;
use crate::store::postgres::error::read;
use crate::store::postgres::rows::value;
use tokio_postgres::Client;

/// Tables that a server reads.
const READ: [&str; 7] =
    ["store_orders_schema", "identity", "versions", "orders", "pets", "accounts", "keys"];

/// What a server writes. The right to lock a row is that to update one of its columns.
const WRITTEN: [&str; 5] = [
    "UPDATE (only_row) ON {schema}.versions",
    "SELECT, INSERT, DELETE ON {schema}.changes",
    "UPDATE (status, changed_in, cancelled_at, cancelled_by, cancelled_in) ON {schema}.orders",
    "UPDATE (used_at, banned_until, ban_seconds, ban_number, changed_in) ON {schema}.keys",
    "SELECT, INSERT, UPDATE, DELETE ON {schema}.replicas",
];

/// What a server writes of the request counts.
const COUNTED: [&str; 2] = [
    "SELECT, UPDATE (store_id) ON {schema}.limits_schema",
    "SELECT, INSERT, UPDATE, DELETE ON {schema}.limits_accounts",
];

/// Which tables of a database a role is to use.
#[derive(Clone, Copy)]
pub enum Rights {
    /// The store's.
    Store,
    /// Those of the request counts.
    Limits,
}

/// The statements that give a server's role these rights in the database of this connection.
/// They can be repeated; the tables' owner carries them out.
pub async fn grants(client: &Client, role: &str, rights: Rights) -> Result<String, StoreError> {
    let quoted = "SELECT quote_ident(current_database()), quote_ident(current_schema()),
                         quote_ident($1)";
    let row = client.query_one(quoted, &[&role]).await.map_err(read)?;
    let (database, schema, role): (String, Option<String>, String) =
        (value(&row, 0)?, value(&row, 1)?, value(&row, 2)?);
    let Some(schema) = schema else {
        return Err(StoreError::Refused(
            "no schema of the search_path exists, or this role may not use it".to_string(),
        ));
    };
    Ok(statements(&database, &schema, &role, rights))
}

/// The names are quoted already.
fn statements(database: &str, schema: &str, role: &str, rights: Rights) -> String {
    let (read, written): (&[&str], &[&str]) = match rights {
        Rights::Store => (&READ, &WRITTEN),
        Rights::Limits => (&[], &COUNTED),
    };
    let mut text = format!(
        "-- What a server's role needs. Commands of the operator need the tables' owner.\n\
         GRANT CONNECT ON DATABASE {database} TO {role};\n\
         GRANT USAGE ON SCHEMA {schema} TO {role};\n"
    );
    for table in read {
        text.push_str(&format!("GRANT SELECT ON {schema}.{table} TO {role};\n"));
    }
    for right in written {
        let right = right.replace("{schema}", schema);
        text.push_str(&format!("GRANT {right} TO {role};\n"));
    }
    text
}
