//! Programs that were written for a published document still work: what today's server answers, and
//! the one that the client's crate has for users' tests, is held against each of these documents as
//! such programs read it. What it promises must be there; more may be.

use crate::every_documented_answer::{answers_of_server, answers_of_users_server};
use testbed::contract::{contract, published_documents, replay};

fn today() -> String {
    chrono::Utc::now().format("%Y-%m-%d").to_string()
}

#[tokio::test]
async fn the_server_keeps_what_each_published_document_promised() {
    let broken = replay(&published_documents(), contract(), &today(), &answers_of_server().await);
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test]
async fn the_server_for_users_tests_keeps_what_each_published_document_promised() {
    let exchanges = answers_of_users_server().await;
    let broken = replay(&published_documents(), contract(), &today(), &exchanges);
    assert!(broken.is_empty(), "{broken:#?}");
}
