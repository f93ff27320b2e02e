//! One browser with an empty profile, driven over WebDriver, and what a reader
//! does with it: open, read, press, type.

use super::View;
use super::watch::Watched;
use anyhow::{Context, bail};
use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder, Locator, elements::Element};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use testbed::ChildProcess;

/// The browser's program.
pub const CHROMIUM: &str = "chromium";
/// The program that drives it.
pub const DRIVER: &str = "chromedriver";

/// How long a page may take to show what it is to show.
const PATIENCE: Duration = Duration::from_secs(30);

/// As root it has no sandbox; and it is to send nothing of its own accord.
const ARGUMENTS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "about:blank",
];

/// Where a program is, if it is on the path.
pub fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|own| own.join(name)).find(|file| file.is_file())
}

/// A browser.
pub struct Session {
    client: Client,
    driver: ChildProcess,
    _profile: TempDir,
    /// How it looks at pages.
    pub view: View,
    pictures: Option<PathBuf>,
}

impl Session {
    /// Starts it.
    pub async fn open(view: View, pictures: Option<&Path>) -> anyhow::Result<Session> {
        let (driver, port) = start_driver()?;
        let profile = tempfile::tempdir()?;
        let mut arguments: Vec<String> = ARGUMENTS.iter().map(ToString::to_string).collect();
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        let capabilities = json!({
            "browserName": "chrome",
            "goog:chromeOptions": {"binary": program(CHROMIUM), "args": arguments},
            "goog:loggingPrefs": {"browser": "ALL", "performance": "ALL"},
        });
        let capabilities: Capabilities = serde_json::from_value(capabilities)?;
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&format!("http://127.0.0.1:{port}"))
            .await
            .context("chromium does not start")?;
        let pictures = pictures.map(Path::to_path_buf);
        let session = Session { client, driver, _profile: profile, view, pictures };
        let (width, height, mobile) = (view.width, view.height, view.mobile);
        let metrics =
            json!({"width": width, "height": height, "deviceScaleFactor": 1, "mobile": mobile});
        session.devtools("Emulation.setDeviceMetricsOverride", metrics).await?;
        let scheme = if view.dark { "dark" } else { "light" };
        let media = json!({"features": [{"name": "prefers-color-scheme", "value": scheme}]});
        session.devtools("Emulation.setEmulatedMedia", media).await?;
        Ok(session)
    }

    /// Opens a page, or goes to a place in the one that is open.
    pub async fn goto(&self, url: &str) -> anyhow::Result<()> {
        self.client.goto(url).await.with_context(|| format!("{url} cannot be opened"))
    }

    /// Waits for this element (XPath).
    pub async fn find(&self, xpath: &str) -> anyhow::Result<Element> {
        let wait = self.client.wait().at_most(PATIENCE);
        let found = wait.for_element(Locator::XPath(xpath)).await;
        found.with_context(|| format!("nothing at {xpath}"))
    }

    /// Presses it, once it is shown and nothing is in its way any more.
    pub async fn press(&self, xpath: &str) -> anyhow::Result<()> {
        self.find(xpath).await?;
        let begun = Instant::now();
        loop {
            match self.try_to_press(xpath).await {
                Err(error) if begun.elapsed() > PATIENCE => {
                    return Err(error).with_context(|| format!("cannot press {xpath}"));
                }
                Err(_) => tokio::time::sleep(Duration::from_millis(100)).await,
                Ok(()) => return Ok(()),
            }
        }
    }

    /// What stands there twice is shown once, for wide pages or for narrow ones.
    async fn try_to_press(&self, xpath: &str) -> anyhow::Result<()> {
        for element in self.client.find_all(Locator::XPath(xpath)).await? {
            if element.is_displayed().await? {
                // WebDriver would scroll it under the bar at the top of a narrow page.
                let center = "arguments[0].scrollIntoView({block: 'center', behavior: 'instant'})";
                self.client.execute(center, vec![serde_json::to_value(&element)?]).await?;
                return Ok(element.click().await?);
            }
        }
        bail!("it is not shown")
    }

    /// Waits until this element reads so.
    pub async fn reads(&self, xpath: &str, words: &[&str]) -> anyhow::Result<()> {
        let element = self.find(xpath).await?;
        let begun = Instant::now();
        loop {
            let text = element.text().await?;
            let Some(missing) = words.iter().find(|word| !text.contains(**word)) else {
                return Ok(());
            };
            if begun.elapsed() > PATIENCE {
                bail!("{xpath} does not read {missing:?}");
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// Runs a script in the page, as the browser and not the page does: no
    /// policy holds for it.
    pub async fn ask(&self, script: &str) -> anyhow::Result<Value> {
        Ok(self.client.execute(script, Vec::new()).await?)
    }

    /// Saves what is seen, if pictures are wanted.
    pub async fn picture(&self, page: &str) -> anyhow::Result<()> {
        let Some(directory) = &self.pictures else { return Ok(()) };
        let path = directory.join(format!("{page}-{}.png", self.view.name()));
        let png = self.client.screenshot().await?;
        std::fs::write(&path, png).with_context(|| format!("cannot write {}", path.display()))
    }

    /// What the browser did so far, and was not asked about before.
    pub async fn watched(&self) -> anyhow::Result<Watched> {
        let log = |kind: &'static str| {
            self.client.issue_cmd(Extension { path: "se/log", body: json!({"type": kind}) })
        };
        Ok(Watched::of(&log("performance").await?, &log("browser").await?))
    }

    /// Ends it.
    pub async fn close(self) -> anyhow::Result<()> {
        let closed = self.client.close().await;
        self.driver.kill()?;
        Ok(closed?)
    }

    async fn devtools(&self, command: &str, parameters: Value) -> anyhow::Result<()> {
        let body = json!({"cmd": command, "params": parameters});
        self.client.issue_cmd(Extension { path: "goog/cdp/execute", body }).await?;
        Ok(())
    }
}

/// chromedriver says on which free port it listens.
fn start_driver() -> anyhow::Result<(ChildProcess, u16)> {
    let mut child = Command::new(DRIVER)
        .arg("--port=0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| format!("cannot start {DRIVER}"))?;
    let lines = child.stdout.take().map(BufReader::new);
    let process = ChildProcess::new(child, DRIVER);
    for line in lines.into_iter().flat_map(BufRead::lines) {
        let line = line?;
        if let Some((_, port)) = line.split_once("successfully on port ") {
            return Ok((process, port.trim_end_matches('.').parse()?));
        }
    }
    bail!("{DRIVER} ended before it listened")
}

/// A command of chromedriver's own.
#[derive(Debug)]
struct Extension {
    path: &'static str,
    body: Value,
}

impl WebDriverCompatibleCommand for Extension {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/{}", session.unwrap_or_default(), self.path))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.body.to_string()))
    }
}
