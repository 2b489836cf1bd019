//! A real browser, driven through chromedriver, and the dashboard's pages as an operator meets them.
//!
//! Elements are found by their `data-test` mark and never held: the dashboard draws anew while a test looks.

mod pages;
mod webdriver;

pub use pages::{Audit, Login, Operation, Operations, Overview, Settling, Unknown};

use crate::repository;
use serde_json::{Value, json};
use std::time::{Duration, Instant};
use webdriver::Driver;

/// So long may anything on a page take to show.
pub const PATIENCE: Duration = Duration::from_secs(15);

/// Narrower screens are phones: their scroll bars lie over the page.
const PHONE_WIDTH: u32 = 500;

/// One browser with a profile of its own. It ends with the process, or when it is closed.
pub struct Browser {
    driver: Driver,
}

impl Browser {
    /// Starts one, 1280 by 800, in the light scheme.
    pub async fn start() -> Self {
        let browser = Self {
            driver: Driver::start().await,
        };
        browser.screen(1280, 800, "light").await;
        browser
    }

    /// Ends it.
    pub async fn close(self) {
        self.driver.end().await;
    }

    /// Goes to an address.
    pub async fn goto(&self, url: &str) {
        self.driver.must("url", json!({ "url": url })).await;
    }

    /// Loads the page anew.
    pub async fn reload(&self) {
        self.driver.must("refresh", json!({})).await;
    }

    /// The address shown.
    pub async fn url(&self) -> String {
        self.ask("return location.href")
            .await
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// What a script answers. Scripts look; they change nothing that a person could not.
    pub async fn ask(&self, script: &str) -> Value {
        self.driver
            .must("execute/sync", json!({ "script": script, "args": [] }))
            .await
    }

    /// Waits until the element of this mark is shown.
    pub async fn shown(&self, mark: &str) {
        self.until(&format!("{mark} is shown"), || async {
            self.is_shown(mark).await.then_some(())
        })
        .await;
    }

    /// Waits until no element of this mark is shown.
    pub async fn gone(&self, mark: &str) {
        self.until(&format!("{mark} is gone"), || async {
            (!self.is_shown(mark).await).then_some(())
        })
        .await;
    }

    /// Waits until the answer is there; without one it tells what the page says instead.
    pub async fn until<T, R: Future<Output = Option<T>>>(
        &self,
        what: &str,
        ask: impl Fn() -> R,
    ) -> T {
        let deadline = Instant::now() + PATIENCE;
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            if Instant::now() > deadline {
                let (url, text) = (self.url().await, self.text_of_page().await);
                panic!("not within {PATIENCE:?}: {what}; at {url} the page says:\n{text}");
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    /// Whether an element of this mark is shown now.
    pub async fn is_shown(&self, mark: &str) -> bool {
        let script = format!(
            "return Array.from(document.querySelectorAll('{}')).some(e => e.checkVisibility())",
            selector(mark)
        );
        self.ask(&script).await == Value::Bool(true)
    }

    /// The texts of all elements of this mark.
    pub async fn texts(&self, mark: &str) -> Vec<String> {
        self.all(mark, "e.innerText").await
    }

    /// One attribute of all elements of this mark; empty where it is missing.
    pub async fn attributes(&self, mark: &str, attribute: &str) -> Vec<String> {
        self.all(mark, &format!("(e.getAttribute('{attribute}') ?? '')"))
            .await
    }

    /// The text of the element of this mark, once it is shown.
    pub async fn text(&self, mark: &str) -> String {
        self.shown(mark).await;
        self.texts(mark)
            .await
            .into_iter()
            .next()
            .unwrap_or_default()
    }

    /// Clicks the element of this mark as soon as it can be clicked.
    pub async fn click(&self, mark: &str) {
        self.with_element(mark, &[("click", json!({}))]).await;
    }

    /// Clicks the element of this mark whose attribute reads so; or what of another mark lies within it.
    pub async fn click_that(&self, mark: &str, attribute: &str, value: &str, within: Option<&str>) {
        let within = within.map(selector).unwrap_or_default();
        let css = format!("{}[{attribute}=\"{value}\"] {within}", selector(mark));
        self.with_css(css.trim(), &[("click", json!({}))]).await;
    }

    /// Types into the field of this mark, in place of what it holds.
    pub async fn fill(&self, mark: &str, text: &str) {
        self.with_element(
            mark,
            &[("clear", json!({})), ("value", json!({ "text": text }))],
        )
        .await;
    }

    /// Chooses an entry of the list of this mark by its value.
    pub async fn choose(&self, mark: &str, value: &str) {
        let option = format!("{} option[value=\"{value}\"]", selector(mark));
        self.with_css(&option, &[("click", json!({}))]).await;
    }

    /// Presses keys where the focus is.
    pub async fn press(&self, keys: &str) {
        let focused = self.ask("return document.activeElement").await;
        let element = webdriver::element(&focused)
            .unwrap_or_else(|| panic!("nothing has the focus: {focused}"));
        self.driver
            .must(&format!("element/{element}/value"), json!({ "text": keys }))
            .await;
    }

    /// The mark of the element that has the focus; else its name.
    pub async fn focused(&self) -> String {
        let focused = self.ask("const e = document.activeElement; return e.dataset.test ?? e.tagName.toLowerCase()").await;
        focused.as_str().unwrap_or_default().to_owned()
    }

    /// Everything the page says.
    pub async fn text_of_page(&self) -> String {
        self.ask("return document.body.innerText")
            .await
            .as_str()
            .unwrap_or_default()
            .to_owned()
    }

    /// Shows the page as a screen of this width would, with this scheme.
    pub async fn screen(&self, width: u32, height: u32, scheme: &str) {
        let metrics = json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < PHONE_WIDTH });
        self.devtools("Emulation.setDeviceMetricsOverride", metrics)
            .await;
        let feature = json!({ "name": "prefers-color-scheme", "value": scheme });
        self.devtools(
            "Emulation.setEmulatedMedia",
            json!({ "features": [feature] }),
        )
        .await;
    }

    /// Makes requests to addresses that match fail, until it is given none.
    pub async fn block(&self, patterns: &[&str]) {
        self.devtools("Network.enable", json!({})).await;
        self.devtools("Network.setBlockedURLs", json!({ "urls": patterns }))
            .await;
    }

    /// Holds every answer back for so many milliseconds; 0 for none.
    pub async fn slow_down(&self, latency_ms: u32) {
        self.devtools("Network.enable", json!({})).await;
        let conditions = json!({ "offline": false, "latency": latency_ms, "downloadThroughput": -1, "uploadThroughput": -1 });
        self.devtools("Network.emulateNetworkConditions", conditions)
            .await;
    }

    /// Keeps a picture as `build/screenshots/<name>.png`.
    pub async fn screenshot(&self, name: &str) {
        let folder = repository().join("build/screenshots");
        let png = self.driver.screenshot().await;
        let kept = std::fs::create_dir_all(&folder)
            .and_then(|()| std::fs::write(folder.join(format!("{name}.png")), png));
        if let Err(error) = kept {
            panic!("failed to keep a picture in {}: {error}", folder.display());
        }
    }

    /// What axe finds serious or critical on the page.
    pub async fn serious_findings(&self) -> Vec<String> {
        let path = repository().join("node_modules/axe-core/axe.min.js");
        let axe = std::fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("failed to read {}: {error}", path.display()));
        self.ask(&format!("{axe}; return typeof axe")).await;
        let script = "const done = arguments[arguments.length - 1]; \
             axe.run(document).then(found => done(found.violations \
                 .filter(each => each.impact === 'serious' || each.impact === 'critical') \
                 .map(each => each.id + ': ' + each.nodes.map(node => node.html).join(' | ')) \
                 .concat(found.passes.length === 0 ? ['axe looked at nothing'] : [])), \
             failed => done(['axe failed: ' + failed]))";
        let found = self
            .driver
            .must("execute/async", json!({ "script": script, "args": [] }))
            .await;
        let found = found.as_array().cloned().unwrap_or_default();
        found
            .iter()
            .map(|each| each.as_str().unwrap_or_default().to_owned())
            .collect()
    }

    async fn all(&self, mark: &str, expression: &str) -> Vec<String> {
        let script = format!(
            "return Array.from(document.querySelectorAll('{}')).map(e => {expression})",
            selector(mark)
        );
        let found = self.ask(&script).await;
        let found = found.as_array().cloned().unwrap_or_default();
        found
            .iter()
            .map(|each| each.as_str().unwrap_or_default().to_owned())
            .collect()
    }

    async fn with_element(&self, mark: &str, commands: &[(&str, Value)]) {
        self.with_css(&selector(mark), commands).await;
    }

    // The page may draw the element anew between finding and using it, so both are tried again.
    async fn with_css(&self, css: &str, commands: &[(&str, Value)]) {
        let names: Vec<&str> = commands.iter().map(|(name, _)| *name).collect();
        self.until(&format!("{css} takes {names:?}"), || async {
            let found = self
                .driver
                .try_to("element", json!({ "using": "css selector", "value": css }))
                .await
                .ok()?;
            let element = webdriver::element(&found)?;
            for (name, body) in commands {
                self.driver
                    .try_to(&format!("element/{element}/{name}"), body.clone())
                    .await
                    .ok()?;
            }
            Some(())
        })
        .await;
    }

    async fn devtools(&self, command: &str, parameters: Value) {
        self.driver
            .must(
                "goog/cdp/execute",
                json!({ "cmd": command, "params": parameters }),
            )
            .await;
    }
}

fn selector(mark: &str) -> String {
    format!("[data-test=\"{mark}\"]")
}
