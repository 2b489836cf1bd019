//! Chromium and its driver for the browser tests.

use super::debian;
use crate::failure::Result;
use crate::process::on_path;

/// Installs Chromium and chromedriver unless both are on the PATH.
pub(crate) fn chromium() -> Result<()> {
    let browsers = ["chromium", "google-chrome", "chromium-browser"];
    let browser = browsers.iter().any(|name| on_path(name).is_some());
    if browser && on_path("chromedriver").is_some() {
        return Ok(());
    }
    debian::install("browser", &["chromium", "chromium-driver"])
}
