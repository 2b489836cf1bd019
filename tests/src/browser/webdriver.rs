//! The few commands of `WebDriver` (<https://www.w3.org/TR/webdriver2/>) that the suites need, spoken to Debian's
//! chromedriver over loopback.
//!
//! Not a library for others: the crates that are would triple what this one depends on.

use crate::deadline::eventually;
use crate::process::{Group, free_port};
use crate::repository;
use serde_json::{Value, json};
use std::fs::File;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::OnceCell;

/// The key under which `WebDriver` names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";
/// So long may one command take, a page's loading included.
const COMMAND_MAX: Duration = Duration::from_mins(1);

static PROFILES: AtomicUsize = AtomicUsize::new(0);

/// One browser's session.
pub(super) struct Driver {
    http: reqwest::Client,
    session: String,
}

/// An element's id, if the value is one.
pub(super) fn element(value: &Value) -> Option<&str> {
    value.get(ELEMENT)?.as_str()
}

impl Driver {
    /// Starts a browser with an empty profile.
    pub(super) async fn start() -> Self {
        let base = chromedriver().await;
        let http = reqwest::Client::builder()
            .no_proxy()
            .timeout(COMMAND_MAX)
            .build()
            .unwrap_or_else(|error| panic!("failed to make a client: {error}"));
        let at = PROFILES.fetch_add(1, Ordering::Relaxed);
        let profile = repository().join(format!(
            "target/sessions/browser.{}/profile-{at}",
            std::process::id()
        ));
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--disable-dev-shm-usage",
            // The browser ends with its driver, even when that one is killed.
            "--remote-debugging-pipe",
            &format!("--user-data-dir={}", profile.display()),
        ];
        let chrome = json!({ "goog:chromeOptions": { "args": arguments }, "timeouts": { "script": 30_000, "pageLoad": 30_000 } });
        let wanted = json!({ "capabilities": { "alwaysMatch": chrome } });
        let created = command(&http, &format!("{base}/session"), &wanted).await;
        let created = created.unwrap_or_else(|error| panic!("failed to start a browser: {error}"));
        let id = created["sessionId"].as_str().unwrap_or_default();
        Self {
            http,
            session: format!("{base}/session/{id}"),
        }
    }

    /// Ends the browser.
    pub(super) async fn end(self) {
        let _ = self.http.delete(&self.session).send().await;
    }

    /// Does a command; the error is the driver's.
    pub(super) async fn try_to(&self, path: &str, body: Value) -> Result<Value, String> {
        command(&self.http, &format!("{}/{path}", self.session), &body).await
    }

    /// Does a command that has no reason to fail.
    pub(super) async fn must(&self, path: &str, body: Value) -> Value {
        match self.try_to(path, body).await {
            Ok(value) => value,
            Err(error) => panic!("the browser refused {path}: {error}"),
        }
    }

    /// A picture of what is shown, as PNG.
    pub(super) async fn screenshot(&self) -> Vec<u8> {
        let shown = self
            .must(
                "goog/cdp/execute",
                json!({ "cmd": "Page.captureScreenshot", "params": { "format": "png" } }),
            )
            .await;
        decode(shown["data"].as_str().unwrap_or_default())
    }
}

async fn command(http: &reqwest::Client, url: &str, body: &Value) -> Result<Value, String> {
    let request = http
        .post(url)
        .header("Content-Type", "application/json")
        .body(body.to_string());
    let answer = request.send().await.map_err(|error| error.to_string())?;
    let is_done = answer.status().is_success();
    let bytes = answer.bytes().await.map_err(|error| error.to_string())?;
    let mut answer: Value = serde_json::from_slice(&bytes).map_err(|error| error.to_string())?;
    let value = answer["value"].take();
    if is_done {
        Ok(value)
    } else {
        Err(value["message"].as_str().unwrap_or("no message").to_owned())
    }
}

// One driver serves all browsers of this process.
async fn chromedriver() -> &'static str {
    static RUNNING: OnceCell<(String, Group)> = OnceCell::const_new();
    let (url, _group) = RUNNING.get_or_init(run_chromedriver).await;
    url
}

async fn run_chromedriver() -> (String, Group) {
    let folder = repository().join(format!("target/sessions/browser.{}", std::process::id()));
    let log = std::fs::create_dir_all(&folder)
        .and_then(|()| File::create(folder.join("chromedriver.log")));
    let log =
        log.unwrap_or_else(|error| panic!("failed to write in {}: {error}", folder.display()));
    let port = free_port();
    let started = Group::start(
        Path::new("chromedriver"),
        [format!("--port={port}")],
        &[],
        &folder,
        &log,
    );
    let group = started.unwrap_or_else(|error| panic!("failed to start chromedriver: {error}"));
    let url = format!("http://127.0.0.1:{port}");
    eventually(
        "chromedriver listens; `cargo xtask setup` installs it",
        Duration::from_secs(20),
        || async { reqwest::get(format!("{url}/status")).await.ok() },
    )
    .await;
    (url, group)
}

// RFC 4648, section 4.
fn decode(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0);
    for letter in text.bytes() {
        let six = match letter {
            b'A'..=b'Z' => letter - b'A',
            b'a'..=b'z' => letter - b'a' + 26,
            b'0'..=b'9' => letter - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(six);
        held += 6;
        if held >= 8 {
            held -= 8;
            bytes.push((bits >> held).to_le_bytes()[0]);
            bits &= (1 << held) - 1;
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn base64_is_decoded() {
        for (text, bytes) in [
            ("", ""),
            ("Zg==", "f"),
            ("Zm8=", "fo"),
            ("Zm9v", "foo"),
            ("Zm9vYmFy", "foobar"),
        ] {
            assert_eq!(decode(text), bytes.as_bytes(), "{text}");
        }
        assert_eq!(decode("+/8A"), [0xfb, 0xff, 0x00]);
    }
}
