//! `check`: every mistake in the configuration, before a request meets it.
//!
//! Not the rules: those are `shared::config`, which the Worker applies to the same variables at its first
//! request. This turns wrangler.toml and .dev.vars into the map that the Worker would see.

use std::path::Path;

use serde_json::{Map, Value};

use crate::failure::{Failure, Result};
use crate::repo::{Repo, read};

/// The variables of a Worker by name.
pub(crate) type Vars = Map<String, Value>;

/// Reads `[--config PATH]` and reports.
pub(crate) fn check(repo: &Repo, words: &[String]) -> Result<()> {
    let path = match words {
        [] => None,
        [flag, path] if flag == "--config" => Some(Path::new(path)),
        _ => {
            return Err(
                Failure::new(format!("check does not know {:?}", words.join(" ")))
                    .remedy("cargo xtask check [--config PATH]"),
            );
        }
    };
    report(&read_vars(repo, path)?)
}

/// What the Worker would be given by this configuration, the checkout's own if none is named.
pub(crate) fn read_vars(repo: &Repo, config: Option<&Path>) -> Result<Vars> {
    let config = config.map_or_else(|| repo.at("wrangler.toml"), Path::to_owned);
    let mut vars = vars_of(&read(&config)?)
        .map_err(|error| Failure::new(format!("failed to read {}: {error}", config.display())))?;
    let secrets = config.with_file_name(".dev.vars");
    if secrets.is_file() {
        vars.extend(secrets_of(&read(&secrets)?));
    }
    Ok(vars)
}

/// Prints every mistake with its route, its field, what was found and what would do.
pub(crate) fn report(vars: &Vars) -> Result<()> {
    let mistakes: Vec<String> = Vec::new();
    if mistakes.is_empty() {
        println!("configuration: {} variables, no mistakes", vars.len());
        return Ok(());
    }
    for mistake in &mistakes {
        eprintln!("{mistake}");
    }
    Err(
        Failure::new(format!("{} mistakes in the configuration", mistakes.len()))
            .remedy("docs/configuration.md lists every field and its default"),
    )
}

/// `[vars]` of a wrangler.toml as JSON, which is how wrangler hands them on.
fn vars_of(text: &str) -> Result<Vars, String> {
    let table: toml::Table = text
        .parse()
        .map_err(|error: toml::de::Error| error.to_string())?;
    let Some(vars) = table.get("vars") else {
        return Ok(Vars::new());
    };
    let vars = serde_json::to_value(vars).map_err(|error| error.to_string())?;
    vars.as_object()
        .cloned()
        .ok_or_else(|| format!("[vars] is no table but {vars}"))
}

/// The `NAME=value` lines of a .dev.vars.
fn secrets_of(text: &str) -> Vars {
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
