//! `check`: every mistake in the configuration, before a request meets it.
//!
//! Not the rules: those are `shared::config`, which the Worker applies to the same variables at its first
//! request. This turns wrangler.toml and .dev.vars into the map that the Worker would see.

use std::path::{Path, PathBuf};

use serde_json::{Map, Value};
use shared::config::Config;

use crate::failure::{Failure, Result};
use crate::process::say;
use crate::repo::{Repo, read};

/// What a Worker would be given.
pub(crate) struct Environment {
    /// The variables, and the secrets that are seen, by name.
    vars: Map<String, Value>,
    /// The secrets that exist, where that is known.
    secrets: Option<Vec<String>>,
}

/// Reads `[--config PATH]` and reports.
pub(crate) fn check(repo: &Repo, words: &[String]) -> Result<()> {
    let config = match words {
        [] => repo.at("wrangler.toml"),
        [flag, path] if flag == "--config" => PathBuf::from(path),
        _ => {
            return Err(
                Failure::new(format!("check does not know {:?}", words.join(" ")))
                    .remedy("cargo xtask check [--config PATH]"),
            );
        }
    };
    let mut environment = Environment::of(&config)?;
    let secrets = config.with_file_name(".dev.vars");
    if secrets.is_file() {
        environment.add_secrets(secrets_of(&read(&secrets)?));
    }
    report(&environment)
}

/// Checks the checkout's own wrangler.toml, whatever secrets there will be.
pub(crate) fn check_own(repo: &Repo) -> Result<()> {
    report(&Environment::of(&repo.at("wrangler.toml"))?)
}

impl Environment {
    fn of(config: &Path) -> Result<Self> {
        let vars = vars_of(&read(config)?).map_err(|error| {
            Failure::new(format!("failed to read {}: {error}", config.display()))
        })?;
        Ok(Self {
            vars,
            secrets: None,
        })
    }

    fn add_secrets(&mut self, secrets: Map<String, Value>) {
        self.secrets = Some(secrets.keys().cloned().collect());
        self.vars.extend(secrets);
    }
}

/// Prints every mistake with its route, its field, what was found and what would do.
fn report(environment: &Environment) -> Result<()> {
    let mistakes = match Config::read(&environment.vars, environment.secrets.as_deref()) {
        Ok(config) => {
            let routes = config.route_names();
            say(format!(
                "configuration: no mistakes; protected routes: {}",
                routes.join(", ")
            ));
            return Ok(());
        }
        Err(mistakes) => mistakes,
    };
    for mistake in &mistakes {
        eprintln!("{mistake}");
    }
    let count = mistakes.len();
    let noun = if count == 1 { "mistake" } else { "mistakes" };
    Err(Failure::new(format!("{count} {noun} in the configuration"))
        .remedy("docs/configuration.md lists every field and its default"))
}

/// `[vars]` of a wrangler.toml as JSON, which is how wrangler hands them on.
fn vars_of(text: &str) -> Result<Map<String, Value>, String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string())?;
    let Some(vars) = table.get("vars") else {
        return Ok(Map::new());
    };
    let vars = serde_json::to_value(vars).map_err(|error| error.to_string())?;
    vars.as_object()
        .cloned()
        .ok_or_else(|| format!("[vars] is no table but {vars}"))
}

/// The `NAME=value` lines of a .dev.vars.
fn secrets_of(text: &str) -> Map<String, Value> {
    let lines = text
        .lines()
        .map(str::trim)
        .filter(|line| !line.starts_with('#'));
    let pairs = lines.filter_map(|line| line.split_once('='));
    pairs
        .map(|(name, value)| (name.trim().to_owned(), Value::from(unquoted(value.trim()))))
        .collect()
}

fn unquoted(value: &str) -> &str {
    let inner = |quote| {
        value
            .strip_prefix(quote)
            .and_then(|rest| rest.strip_suffix(quote))
    };
    inner('"').or_else(|| inner('\'')).unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_read_as_the_worker_sees_them() {
        let vars =
            vars_of("name = \"x\"\n[vars]\nA = \"a\"\n[vars.ROUTE_r]\nshards = 1\n").unwrap();
        assert_eq!(
            Value::Object(vars),
            serde_json::json!({ "A": "a", "ROUTE_r": { "shards": 1 } })
        );
        assert!(vars_of("name = \"x\"").unwrap().is_empty());
        assert!(vars_of("vars = 3").is_err());
    }

    #[test]
    fn secrets_are_read_with_and_without_quotes() {
        let secrets = secrets_of("# none\nA=1=2\n B = \"b\"\nC='{\"x\":1}'\n");
        let expected = serde_json::json!({ "A": "1=2", "B": "b", "C": "{\"x\":1}" });
        assert_eq!(Value::Object(secrets), expected);
    }
}
