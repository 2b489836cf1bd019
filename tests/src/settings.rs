//! A session's configuration: the repository's own `wrangler.toml` with a test's routes in place of the sample's.
//!
//! So a suite meets the bindings, migrations, flags and assets that are deployed, and only the routes differ. The same
//! goes for an example, whose `wrangler.toml` stands in the gateway's place.

use crate::repository;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use toml::{Table, Value};

/// Tenants that every session knows besides `acme` and `globex`: one for each test that wants objects of its own.
pub const TENANTS: usize = 40;
/// The token of the session's operator.
pub const OPERATOR_TOKEN: &str = "e2e-operator-token-0f9d1c77";
/// The token of the session's viewer.
pub const VIEWER_TOKEN: &str = "e2e-viewer-token-52ab90de";

/// Which build of the Worker runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Build {
    /// With the hooks that tests trigger by header.
    Testing,
    /// As it is deployed.
    Production,
}

/// What a session is started with.
#[derive(Debug, Clone)]
pub struct Settings {
    pub(crate) name: String,
    pub(crate) build: Build,
    pub(crate) log_level: &'static str,
    pub(crate) flags: &'static [&'static str],
    /// The folder of the Worker's `wrangler.toml`, in the repository.
    source: &'static str,
    routes: BTreeMap<String, String>,
    vars: BTreeMap<String, String>,
    secrets: BTreeMap<String, String>,
}

impl Settings {
    /// A session without routes; its name names its folder under `target/sessions`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        let settings = Self {
            name: name.to_owned(),
            build: Build::Testing,
            log_level: "log",
            flags: &[],
            source: "",
            routes: BTreeMap::new(),
            vars: BTreeMap::new(),
            secrets: BTreeMap::new(),
        };
        settings
            .secret("API_KEYS", &api_keys())
            .secret("OPERATOR_TOKENS", &operator_tokens())
            .secret("STRIPE_WEBHOOK_SECRET", crate::signatures::STRIPE_SECRET)
            .secret(
                "STANDARD_WEBHOOK_SECRET",
                crate::signatures::STANDARD_SECRET,
            )
    }

    /// Adds a route: the lines of its table.
    #[must_use]
    pub fn route(mut self, name: &str, table: &str) -> Self {
        self.routes.insert(name.to_owned(), table.to_owned());
        self
    }

    /// Adds or replaces a plain variable.
    #[must_use]
    pub fn var(mut self, name: &str, value: &str) -> Self {
        self.vars.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Adds or replaces a secret.
    #[must_use]
    pub fn secret(mut self, name: &str, value: &str) -> Self {
        self.secrets.insert(name.to_owned(), value.to_owned());
        self
    }

    /// Leaves a secret out.
    #[must_use]
    pub fn without_secret(mut self, name: &str) -> Self {
        self.secrets.remove(name);
        self
    }

    /// Runs the example in this folder of the repository in place of the gateway.
    #[must_use]
    pub fn example(mut self, folder: &'static str) -> Self {
        self.source = folder;
        self
    }

    /// Runs the Worker as it is deployed, without the tests' hooks.
    #[must_use]
    pub fn production(mut self) -> Self {
        self.build = Build::Production;
        self
    }

    /// Logs warnings only: wrangler's line for each request costs more than the request.
    #[must_use]
    pub fn quiet(mut self) -> Self {
        self.log_level = "warn";
        self
    }

    /// Has the cron tick when [`crate::session::Session::tick`] says so. The platform's own address for that cannot reach a
    /// Worker with assets (wrangler 4.86: "could not serialize `ScheduledController`"), so wrangler wraps the Worker.
    #[must_use]
    pub fn ticking(mut self) -> Self {
        self.flags = &["--test-scheduled"];
        self
    }

    /// Writes the configuration and copies the Worker and the assets, so that a build that runs meanwhile changes
    /// nothing under a running session. Answers the configuration's path.
    pub(crate) fn write(&self, folder: &Path, port: u16) -> Result<PathBuf, String> {
        let root = repository();
        let home = root.join(self.source);
        let source = home.join("wrangler.toml");
        let text = std::fs::read_to_string(&source)
            .map_err(|error| format!("failed to read {}: {error}", source.display()))?;
        let mut table: Table = text
            .parse()
            .map_err(|error| format!("failed to parse {}: {error}", source.display()))?;
        table.remove("build");
        let main = table
            .get("main")
            .and_then(Value::as_str)
            .ok_or_else(|| format!("{} has no main", source.display()))?;
        let copied = self.copy_worker(&home.join(main), folder)?;
        table.insert("main".to_owned(), Value::String(copied));
        self.copy_assets(&root, folder, &mut table)?;
        let sample = table
            .remove("vars")
            .and_then(|vars| vars.try_into::<Table>().ok())
            .unwrap_or_default();
        table.insert("vars".to_owned(), Value::Table(self.vars(&sample, port)?));
        let path = folder.join("wrangler.toml");
        write(&path, &table.to_string())?;
        // Secrets lie beside the configuration, as a developer's would.
        let mut secrets = String::new();
        for (name, value) in &self.secrets {
            let _ = writeln!(secrets, "{name}='{value}'");
        }
        write(&folder.join(".dev.vars"), &secrets)?;
        Ok(path)
    }

    fn copy_worker(&self, main: &Path, folder: &Path) -> Result<String, String> {
        let mut built = main.parent().map(PathBuf::from).unwrap_or_default();
        if self.build == Build::Testing {
            built.as_mut_os_string().push("-testing");
        }
        let entry = Path::new(main.file_name().unwrap_or_default());
        let source = built.join(entry);
        if !source.is_file() {
            return Err(format!(
                "there is no {}; `cargo xtask build --testing` makes it, with --embedded that of the example",
                source.display()
            ));
        }
        let target = folder.join("worker");
        copy(&built, &target)?;
        Ok(target.join(entry).display().to_string())
    }

    #[expect(
        clippy::unused_self,
        reason = "a step of `write`, beside the other one"
    )]
    fn copy_assets(&self, root: &Path, folder: &Path, table: &mut Table) -> Result<(), String> {
        let Some(assets) = table.get_mut("assets").and_then(Value::as_table_mut) else {
            return Ok(());
        };
        let source = root.join(
            assets
                .get("directory")
                .and_then(Value::as_str)
                .unwrap_or("build/assets"),
        );
        let target = folder.join("assets");
        std::fs::create_dir_all(&target)
            .map_err(|error| format!("failed to make {}: {error}", target.display()))?;
        if source.is_dir() {
            copy(&source, &target)?;
        }
        assets.insert(
            "directory".to_owned(),
            Value::String(target.display().to_string()),
        );
        Ok(())
    }

    // The sample's plain settings stay; its routes, origins and host go.
    fn vars(&self, sample: &Table, port: u16) -> Result<Table, String> {
        let ours = |name: &str| {
            name.starts_with("ROUTE_") || name.starts_with("ORIGIN_") || name == "FALLBACK_ORIGIN"
        };
        let mut vars: Table = sample
            .iter()
            .filter(|(name, _)| !ours(name))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        vars.insert(
            "OPERATOR_HOST".to_owned(),
            Value::String(format!("localhost:{port}")),
        );
        for (name, value) in &self.vars {
            vars.insert(name.clone(), Value::String(value.clone()));
        }
        for (name, lines) in &self.routes {
            let route: Table = lines
                .parse()
                .map_err(|error| format!("failed to parse the test's route {name}: {error}"))?;
            vars.insert(format!("ROUTE_{name}"), Value::Table(route));
        }
        Ok(vars)
    }
}

/// The table of an API route for POST on `path`, parked when unknown, with `more` lines.
#[must_use]
pub fn api_route(path: &str, more: &str) -> String {
    let mut lines = vec![
        "kind = \"api\"".to_owned(),
        "methods = [\"POST\"]".to_owned(),
        format!("path = {path:?}"),
    ];
    for (field, value) in [
        ("origin", "\"sample\""),
        ("tenant", "\"api-key\""),
        ("key", "\"required\""),
        ("on_unknown", "\"park\""),
        ("timeout", "\"5s\""),
        ("lease", "\"7s\""),
        ("wait", "\"1s\""),
    ] {
        lines.extend(unless_said(more, field, value));
    }
    lines.push(more.to_owned());
    lines.join("\n")
}

/// The table of a webhook route, with `more` lines.
#[must_use]
pub fn webhook_route(path: &str, scheme: &str, secret: &str, more: &str) -> String {
    let mut lines = vec![
        "kind = \"webhook\"".to_owned(),
        "methods = [\"POST\"]".to_owned(),
        format!("path = {path:?}"),
        "origin = \"sample\"".to_owned(),
        format!("scheme = {scheme:?}"),
    ];
    let secrets = format!("[{secret:?}]");
    for (field, value) in [
        ("secrets", secrets.as_str()),
        ("timeout", "\"5s\""),
        ("lease", "\"7s\""),
        ("wait", "\"1s\""),
    ] {
        lines.extend(unless_said(more, field, value));
    }
    lines.push(more.to_owned());
    lines.join("\n")
}

fn unless_said(more: &str, field: &str, value: &str) -> Option<String> {
    let said = more.lines().any(|line| {
        line.split('=')
            .next()
            .is_some_and(|name| name.trim() == field)
    });
    (!said).then(|| format!("{field} = {value}"))
}

/// The API key of a tenant that every session knows.
#[must_use]
pub fn api_key(tenant: &str) -> String {
    format!("e2e-api-key-of-{tenant}")
}

/// The SHA-256 of a credential in hex, as the gateway is given it.
#[must_use]
pub fn digest(credential: &str) -> String {
    Sha256::digest(credential.as_bytes())
        .iter()
        .fold(String::new(), |mut hex, byte| {
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

/// The names of all tenants that every session knows.
pub fn tenants() -> impl Iterator<Item = String> {
    ["acme".to_owned(), "globex".to_owned()]
        .into_iter()
        .chain((0..TENANTS).map(|at| format!("tenant-{at}")))
}

fn api_keys() -> String {
    let keys: BTreeMap<String, String> = tenants()
        .map(|tenant| (digest(&api_key(&tenant)), tenant))
        .collect();
    serde_json::json!(keys).to_string()
}

fn operator_tokens() -> String {
    serde_json::json!({ digest(OPERATOR_TOKEN): "operator", digest(VIEWER_TOKEN): "viewer" })
        .to_string()
}

fn write(path: &Path, text: &str) -> Result<(), String> {
    std::fs::write(path, text)
        .map_err(|error| format!("failed to write {}: {error}", path.display()))
}

fn copy(source: &Path, target: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| {
        format!(
            "failed to copy {} to {}: {error}",
            source.display(),
            target.display()
        )
    };
    std::fs::create_dir_all(target).map_err(failed)?;
    for entry in std::fs::read_dir(source).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let to = target.join(entry.file_name());
        if entry.file_type().map_err(failed)?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            std::fs::copy(entry.path(), &to).map_err(failed)?;
        }
    }
    Ok(())
}
