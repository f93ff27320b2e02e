//! Checks that programs written for a published document still work. Today's responses must contain
//! everything that the document promises, and may contain more. Beta and experimental operations
//! may break these promises, and so may deprecated operations after their sunset.

mod seeded_defects;

use crate::every_documented_answer::answers_of_server;
use seeded_defects::{removed_operation, seeded_defects, with_parameter_of_list};
use test_server::wire_check::{Exchange, published_documents, replay, wire_check};

fn today() -> String {
    chrono::Utc::now().format("%Y-%m-%d").to_string()
}

#[tokio::test]
async fn the_server_keeps_what_each_published_document_promised() {
    let broken = replay(&published_documents(), wire_check(), &today(), &answers_of_server().await);
    assert!(broken.is_empty(), "{broken:#?}");
}

#[tokio::test]
async fn each_seeded_defect_is_found_and_named() {
    let (published, exchanges) = (published_documents(), answers_of_server().await);
    let mut missed = Vec::new();
    for defect in seeded_defects() {
        let (document, exchanges) = defect.apply(&exchanges);
        let observed = document.seen(&exchanges);
        let mut wrong: Vec<_> =
            exchanges.iter().flat_map(|(sent, received)| document.check(sent, received)).collect();
        wrong.extend(
            ["v1", "v2"].into_iter().flat_map(|version| document.unseen(version, &observed)),
        );
        assert!(wrong.is_empty(), "{}: today's document is violated: {wrong:#?}", defect.what);

        let broken = replay(&published, &document, &today(), &exchanges);
        if !broken.iter().any(|message| message.starts_with(defect.found)) {
            missed.push(format!("{}: {}: {broken:#?}", defect.what, defect.found));
        }
    }
    assert!(missed.is_empty(), "{}", missed.join("\n"));
}

#[tokio::test]
async fn an_operation_may_be_removed_after_its_sunset() {
    let (published, exchanges) = (published_documents(), answers_of_server().await);
    let (document, exchanges) = removed_operation().apply(&exchanges);
    assert_eq!(replay(&published, &document, "2027-12-02", &exchanges), [""; 0]);
    assert_ne!(replay(&published, &document, "2027-12-01", &exchanges), [""; 0]);
}

#[tokio::test]
async fn an_old_program_sends_no_newer_parameter() {
    let (published, mut exchanges) = (published_documents(), answers_of_server().await);
    let list = |(sent, _): &&Exchange| sent.target == "/v1/store/orders" && sent.method == "GET";
    let (mut sent, mut received) = exchanges.iter().find(list).unwrap().clone();
    sent.header_names.push("if-modified-since".to_string());
    received.status = 304;
    received.body.clear();
    received.headers.remove("content-type");
    exchanges.push((sent, received));

    let broken = replay(&published, wire_check(), &today(), &exchanges);
    assert!(broken[0].starts_with("1.0.0.json: listOrders documents no such status"), "{broken:?}");
    let document = with_parameter_of_list("If-Modified-Since");
    assert_eq!(replay(&published, &document, &today(), &exchanges), [""; 0]);
}
