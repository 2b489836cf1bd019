//! A gateway on the developer's machine: what `cargo xtask dev` and `cargo xtask demo` run once everything is built.
//!
//! It keeps its credentials and the gateway's records in one state folder, writes nowhere else, and ends what it
//! started, and nothing else, when it is interrupted.

mod arguments;
mod credentials;
mod welcome;

pub use arguments::Arguments;
pub use credentials::Credentials;

use crate::client::Client;
use crate::origin::{Effect, Origin, Repeats};
use crate::process::{Group, listens};
use crate::session::QUIET;
use crate::{repository, traffic};
use std::fs::File;
use std::path::Path;
use std::time::{Duration, Instant};
use tokio::net::TcpStream;
use tokio::signal::unix::{SignalKind, signal};
use tokio::time::timeout;

/// So long may wrangler take to answer before something is wrong.
const START_MAX: Duration = Duration::from_mins(1);
/// So long may the user's own service take to take a connection.
const CONNECT_MAX: Duration = Duration::from_secs(3);
/// So long may it take to end in order.
const END_MAX: Duration = Duration::from_secs(3);

/// Runs until it is interrupted, or something that it started ends.
///
/// # Errors
/// One line that says what is wrong and what would do.
pub async fn run(arguments: &Arguments) -> Result<(), String> {
    let mut interrupted = signal(SignalKind::interrupt()).map_err(|error| error.to_string())?;
    let mut terminated = signal(SignalKind::terminate()).map_err(|error| error.to_string())?;
    check_port(arguments.port)?;
    let origin = origin_url(arguments).await?;
    let credentials = Credentials::kept_in(&arguments.state)?;
    let mut gateway = start(arguments, &origin, &credentials)?;
    let outcome = tokio::select! {
        outcome = serve(arguments, &origin, &credentials, &mut gateway) => outcome,
        _ = interrupted.recv() => Ok(()),
        _ = terminated.recv() => Ok(()),
    };
    gateway.end(END_MAX);
    if outcome.is_ok() {
        println!(
            "\nEnded. The records stay in {}.",
            arguments.state.display()
        );
    }
    outcome
}

async fn serve(
    arguments: &Arguments,
    origin: &str,
    credentials: &Credentials,
    gateway: &mut Group,
) -> Result<(), String> {
    wait_until_well(arguments, gateway).await?;
    print!("{}", welcome::text(arguments, origin, credentials));
    let url = gateway_url(arguments.port);
    if arguments.demo {
        tokio::select! {
            never = traffic::play(&url, credentials) => match never {},
            ended = watch(arguments, gateway) => ended,
        }
    } else {
        watch(arguments, gateway).await
    }
}

async fn watch(arguments: &Arguments, gateway: &mut Group) -> Result<(), String> {
    while !gateway.has_ended() {
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Err(format!(
        "wrangler ended by itself; its log is {}",
        log_path(&arguments.state).display()
    ))
}

fn check_port(port: u16) -> Result<(), String> {
    if listens(port) {
        let other = port.checked_add(1).unwrap_or(8787);
        return Err(format!(
            "port {port} is in use; stop what listens there, or take another: --port {other}"
        ));
    }
    Ok(())
}

async fn origin_url(arguments: &Arguments) -> Result<String, String> {
    if let Some(url) = &arguments.origin {
        check_origin(url).await?;
        return Ok(url.clone());
    }
    let origin = Origin::start_with(Repeats::Deduped, print_effect)
        .await
        .map_err(|error| format!("failed to start the sample origin: {error}"))?;
    Ok(origin.url())
}

fn print_effect(effect: &Effect) {
    let seen = &effect.seen;
    let header = |name: &str| seen.header(name).unwrap_or("-").to_owned();
    println!(
        "effect {:>5}  {} {}  key {}  operation {}  attempt {}",
        effect.serial,
        seen.method,
        seen.target,
        seen.key().unwrap_or_else(|| "-".to_owned()),
        header("oncegate-operation"),
        header("oncegate-attempt-number"),
    );
}

// Only whether it listens: a request could have an effect there.
async fn check_origin(url: &str) -> Result<(), String> {
    let parsed = reqwest::Url::parse(url).ok();
    let address = parsed
        .as_ref()
        .and_then(|url| Some((url.host_str()?, url.port_or_known_default()?)));
    let Some((host, port)) = address else {
        return Err(format!(
            "--origin {url} names no host; write http://127.0.0.1:3000"
        ));
    };
    let host = host.trim_matches(['[', ']']);
    if let Ok(Ok(_stream)) = timeout(CONNECT_MAX, TcpStream::connect((host, port))).await {
        return Ok(());
    }
    let remedy = "start your service first, or leave --origin out for the sample origin";
    Err(format!("nothing listens at --origin {url}; {remedy}"))
}

fn start(arguments: &Arguments, origin: &str, credentials: &Credentials) -> Result<Group, String> {
    let state = &arguments.state;
    let root = repository();
    let secrets = state.join("secrets.env");
    std::fs::write(&secrets, credentials.env_file())
        .map_err(|error| format!("failed to write {}: {error}", secrets.display()))?;
    let log = File::create(log_path(state))
        .map_err(|error| format!("failed to write the log of wrangler: {error}"))?;
    let mut words = vec![
        "dev".to_owned(),
        format!("--config={}", root.join("wrangler.toml").display()),
        "--ip=127.0.0.1".to_owned(),
        format!("--port={}", arguments.port),
        "--inspector-port=0".to_owned(),
        format!("--persist-to={}", state.join("state").display()),
        format!("--var=ORIGIN_sample:{origin}"),
        format!("--var=OPERATOR_HOST:localhost:{}", arguments.port),
        "--show-interactive-dev-session=false".to_owned(),
    ];
    // An --env-file takes the place of .dev.vars, which may hold the secrets of the user's own routes. Later files win,
    // so that the credentials that are printed are those that count.
    let own = root.join(".dev.vars");
    words.extend(
        [own, secrets]
            .iter()
            .filter(|file| file.is_file())
            .map(|file| format!("--env-file={}", file.display())),
    );
    let wrangler = root.join("node_modules/.bin/wrangler");
    Group::start(&wrangler, words, &QUIET, &root, &log).map_err(|error| {
        format!(
            "failed to start {}: {error}; `cargo xtask setup` installs it",
            wrangler.display()
        )
    })
}

async fn wait_until_well(arguments: &Arguments, gateway: &mut Group) -> Result<(), String> {
    let client = Client::new(&gateway_url(arguments.port));
    let deadline = Instant::now() + START_MAX;
    loop {
        if gateway.has_ended() || Instant::now() > deadline {
            return Err(format!(
                "wrangler did not start; its log is {}",
                log_path(&arguments.state).display()
            ));
        }
        match client.get("/_oncegate/health").try_send().await {
            Ok(answer) if answer.status == 200 => return Ok(()),
            Ok(answer) => {
                return Err(format!(
                    "the gateway is not well: {}; `cargo xtask check` tells more",
                    answer.text()
                ));
            }
            Err(_not_yet) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

fn log_path(state: &Path) -> std::path::PathBuf {
    state.join("wrangler.log")
}

// Another host than the operators', so that no page of an origin shares theirs (X3).
fn gateway_url(port: u16) -> String {
    format!("http://127.0.0.1:{port}")
}
