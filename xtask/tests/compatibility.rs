//! What changes of a document mean for callers: tables of changes, each with its
//! verdict and with the name that the changelog must contain.

mod every_key;
mod operations;
mod pairs;
mod parameters;
mod request_bodies;
mod response_bodies;
mod responses;
mod table;
mod whole;

/// The day on which the changes of these tables are made.
fn today() -> chrono::NaiveDate {
    chrono::NaiveDate::from_ymd_opt(2027, 6, 1).unwrap()
}
