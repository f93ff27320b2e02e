//! What a reader of the API does on the pages, and has to find there.

use super::demo::Demo;
use super::session::Session;
use anyhow::{Context, bail, ensure};

/// What is true once the tour has ended well.
pub const CLAIM: &str = "keys, plans, operations, deprecation, headers, a request from the page, \
                         the changelog; nothing left the server";

const LIST: &str = "//section[contains(@id, 'GET/store/orders')]";
const CANCEL: &str = "//section[contains(@id, 'DELETE/store/orders/{orderId}')]";
const PET: &str = "//section[contains(@id, 'GET/pets/{petId}')]";
/// Where a request is put together and its answer shown.
const TRIAL: &str = "//*[contains(@class, 'scalar-app-layout')]";

/// Goes through all pages.
pub async fn through(session: &mut Session, demo: &Demo) -> anyhow::Result<()> {
    let docs = format!("{}/docs", demo.origin());
    introduction(session, &docs).await.context("/docs, introduction")?;
    operations(session, &docs).await.context("/docs, operations")?;
    request(session, demo, &docs).await.context("/docs, a request")?;
    for (page, title) in [("", "Store Orders API"), ("/changelog", "Changelog")] {
        other(session, &format!("{}{page}", demo.origin()), title)
            .await
            .with_context(|| format!("{page}/"))?;
    }
    session.picture("changelog").await
}

/// How to get a key, and what each plan allows.
async fn introduction(session: &Session, docs: &str) -> anyhow::Result<()> {
    session.goto(docs).await?;
    let words = [
        "The operator of the service issues keys",
        "sto_live_",
        "Free",
        "Pro",
        "Business",
        "100,000",
        "Enterprise",
        "Retry-After",
    ];
    session.reads("//body", &words).await?;
    fits(session).await?;
    session.picture("docs").await
}

/// The three operations, the deprecation, and the headers of the limits.
async fn operations(session: &Session, docs: &str) -> anyhow::Result<()> {
    session.goto(&format!("{docs}#tag/pets/GET/pets/{{petId}}")).await?;
    session.reads(PET, &["Deprecated", "Look a pet up", "1 December 2027"]).await?;
    let badge = format!("{PET}//*[contains(@class, 'badge')][normalize-space() = 'deprecated']");
    session.find(&badge).await.context("no badge says that it is deprecated")?;
    session.goto(&format!("{docs}#tag/orders/DELETE/store/orders/{{orderId}}")).await?;
    session.reads(CANCEL, &["Cancel an order", "409", "already shipped"]).await?;
    session.goto(&format!("{docs}#tag/orders/GET/store/orders")).await?;
    session.reads(LIST, &["List orders", "429", "Test Request"]).await?;
    session.picture("operation").await?;
    session.press(&format!("{LIST}//button[contains(., 'Orders returned')]")).await?;
    session.press(&format!("{LIST}//*[not(*)][normalize-space() = 'Headers']")).await?;
    let limits = ["X-RateLimit-Limit", "X-RateLimit-Remaining", "X-RateLimit-Reset"];
    session.reads(LIST, &limits).await
}

/// listOrders with a pasted key, to the server that serves the page.
async fn request(session: &Session, demo: &Demo, docs: &str) -> anyhow::Result<()> {
    session.press(&format!("{LIST}//button[contains(., 'Test Request')]")).await?;
    session.reads(TRIAL, &[&format!("{}/v1", demo.origin()), "/store/orders"]).await?;
    let field = session.find(&format!("{TRIAL}//input[@placeholder = 'Token']")).await?;
    field.click().await?;
    field.send_keys(&demo.key).await.context("the key cannot be typed")?;
    session.press(&format!("{TRIAL}//button[contains(., 'Send get request')]")).await?;
    session.reads(TRIAL, &["200 OK", "\"id\"", "1000", "\"complete\""]).await?;
    session.picture("answer").await?;
    // A key that was typed is gone with the page.
    session.goto("about:blank").await?;
    session.goto(docs).await?;
    session.reads("//body", &["Before the first request"]).await?;
    let kept = session
        .ask("return JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie])")
        .await?;
    let kept = kept.as_str().context("the storage cannot be read")?;
    ensure!(!kept.contains(&demo.key), "the page keeps the key that was typed");
    Ok(())
}

async fn other(session: &Session, url: &str, title: &str) -> anyhow::Result<()> {
    session.goto(url).await?;
    session.reads("//h1", &[title]).await?;
    fits(session).await
}

/// Nothing runs out of the window sideways, and its colours are those that the
/// reader's system prefers.
async fn fits(session: &Session) -> anyhow::Result<()> {
    let wide = session.ask("return document.documentElement.scrollWidth - innerWidth").await?;
    if wide.as_i64().is_none_or(|pixels| pixels > 0) {
        bail!("the page is {wide} pixels wider than the window");
    }
    let ink = session.ask(INK).await?;
    let lightness = ink.as_f64().context("the title has no colour")?;
    ensure!(
        (lightness > 0.5) == session.view.dark,
        "the lightness of the title is {lightness} where the reader prefers {}",
        session.view.name()
    );
    Ok(())
}

/// The lightness of the title's letters, 0 to 1.
const INK: &str = "
    const canvas = document.createElement('canvas').getContext('2d');
    canvas.fillStyle = getComputedStyle(document.querySelector('h1')).color;
    canvas.fillRect(0, 0, 1, 1);
    const [red, green, blue] = canvas.getImageData(0, 0, 1, 1).data;
    return (red + green + blue) / 765;";
