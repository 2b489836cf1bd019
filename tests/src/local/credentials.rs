//! The credentials of a developer's gateway, drawn once and kept in the state folder.

use crate::settings::digest;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::Read as _;
use std::path::Path;

/// Tenants that the developer's gateway knows; commands to paste use the first.
const TENANTS: [&str; 3] = ["acme", "globex", "initech"];

/// Everything secret that a local gateway is given.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Credentials {
    /// Logs an operator in to the dashboard.
    pub operator_token: String,
    /// One API key for each tenant.
    pub api_keys: BTreeMap<String, String>,
    /// Signs Stripe events.
    pub stripe_secret: String,
    /// Signs Standard Webhooks messages.
    pub standard_secret: String,
}

impl Credentials {
    /// Reads the folder's credentials, or draws and keeps them.
    ///
    /// # Errors
    /// When the folder cannot be written, or holds something else.
    pub fn kept_in(state: &Path) -> Result<Self, String> {
        let path = state.join("credentials.json");
        match std::fs::read(&path) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(|error| {
                format!(
                    "{} cannot be read ({error}); remove it to draw new credentials",
                    path.display()
                )
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Self::draw()
                .and_then(|drawn| drawn.keep(state, &path).map(|()| drawn))
                .map_err(|error| {
                    format!("failed to keep credentials in {}: {error}", state.display())
                }),
            Err(error) => Err(format!("failed to read {}: {error}", path.display())),
        }
    }

    /// The API key of the commands to paste.
    #[must_use]
    pub fn first_api_key(&self) -> &str {
        self.api_keys.get(TENANTS[0]).map_or("", String::as_str)
    }

    /// The secrets, as `wrangler dev --env-file` reads them. API keys and tokens are given as digests only.
    #[must_use]
    pub fn env_file(&self) -> String {
        let keys: BTreeMap<String, &String> = self
            .api_keys
            .iter()
            .map(|(tenant, key)| (digest(key), tenant))
            .collect();
        let tokens = BTreeMap::from([(digest(&self.operator_token), "operator")]);
        let mut text = String::new();
        let _ = writeln!(text, "API_KEYS='{}'", serde_json::json!(keys));
        let _ = writeln!(text, "OPERATOR_TOKENS='{}'", serde_json::json!(tokens));
        let _ = writeln!(text, "STRIPE_WEBHOOK_SECRET='{}'", self.stripe_secret);
        let _ = writeln!(text, "STANDARD_WEBHOOK_SECRET='{}'", self.standard_secret);
        text
    }

    fn draw() -> std::io::Result<Self> {
        let mut api_keys = BTreeMap::new();
        for tenant in TENANTS {
            api_keys.insert(tenant.to_owned(), format!("dev_{tenant}_{}", random_hex()?));
        }
        Ok(Self {
            operator_token: random_hex()?,
            api_keys,
            // Hex digits are base64 too, which the schemes want behind their prefix.
            stripe_secret: format!("whsec_{}", random_hex()?),
            standard_secret: format!("whsec_{}", random_hex()?),
        })
    }

    fn keep(&self, state: &Path, path: &Path) -> std::io::Result<()> {
        use std::io::Write as _;
        use std::os::unix::fs::OpenOptionsExt;
        std::fs::create_dir_all(state)?;
        let mut file = std::fs::File::options()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(path)?;
        file.write_all(serde_json::to_string_pretty(self)?.as_bytes())
    }
}

fn random_hex() -> std::io::Result<String> {
    let mut bytes = [0; 16];
    std::fs::File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes.iter().fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    }))
}
