//! The developer's commands as a developer meets them: what they print, what they refuse, what they leave behind.

use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tests::deadline::within;
use tests::origin::Origin;
use tests::process::{free_port, listens};
use tests::repository;
use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// Starting, on a machine that also builds.
const START_MAX: Duration = Duration::from_secs(90);

/// One command, a build of what has changed included.
const XTASK_MAX: Duration = Duration::from_mins(8);

struct Output {
    status: ExitStatus,
    text: String,
}

async fn xtask(words: &[&str]) -> Output {
    let mut command = Command::new("cargo");
    command
        .arg("xtask")
        .args(words)
        .current_dir(repository())
        .stdin(Stdio::null())
        .process_group(0);
    let child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn();
    let child = child.unwrap_or_else(|error| panic!("failed to run cargo: {error}"));
    let group = child
        .id()
        .and_then(|id| i32::try_from(id).ok())
        .and_then(Pid::from_raw)
        .expect("it runs");
    let Ok(output) = timeout(XTASK_MAX, child.wait_with_output()).await else {
        // What it started would hold the build's lock.
        let _ = kill_process_group(group, Signal::KILL);
        panic!("hung for {XTASK_MAX:?}: cargo xtask {words:?}");
    };
    let output = output.unwrap_or_else(|error| panic!("failed to hear cargo: {error}"));
    let text = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        .concat();
    Output {
        status: output.status,
        text,
    }
}

fn folder(name: &str) -> PathBuf {
    let folder = repository().join(format!("target/sessions/cli-{name}.{}", std::process::id()));
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder)
        .unwrap_or_else(|error| panic!("failed to make {}: {error}", folder.display()));
    folder
}

#[test]
fn check_names_every_mistake_with_its_route_its_field_and_a_remedy() {
    tests::run(async {
        let config = folder("check").join("wrangler.toml");
        let text = r#"
            name = "mistakes"
            main = "index.js"
            compatibility_date = "2026-04-01"
            [vars]
            ORIGIN_sample = "http://127.0.0.1:9000"
            OPERATOR_HOST = "localhost:8787"
            [vars.ROUTE_leased]
            kind = "api"
            methods = ["POST"]
            path = "/v1/leased"
            origin = "sample"
            tenant = "api-key"
            on_unknown = "park"
            timeout = "20s"
            lease = "20s"
            [vars.ROUTE_choiceless]
            kind = "api"
            methods = ["POST"]
            path = "/v1/choiceless"
            origin = "sample"
            tenant = "api-key"
            [vars.ROUTE_mistyped]
            kind = "api"
            methods = ["POST"]
            path = "/v1/mistyped"
            origin = "sample"
            tenant = "api-key"
            on_unknown = "park"
            retenton = "72h"
            [vars.ROUTE_astray]
            kind = "api"
            methods = ["POST"]
            path = "/v1/astray"
            origin = "nowhere"
            tenant = "api-key"
            on_unknown = "park"
            [vars.ROUTE_careless]
            kind = "api"
            methods = ["POST"]
            path = "/v1/careless"
            origin = "sample"
            tenant = "api-key"
            on_unknown = "resume"
            [vars.ROUTE_forgetful]
            kind = "webhook"
            methods = ["POST"]
            path = "/webhooks/forgetful"
            origin = "sample"
            scheme = "stripe"
            secrets = ["STRIPE_WEBHOOK_SECRET"]
            retention = "24h"
        "#;
        std::fs::write(&config, text).expect("the folder was just made");
        let checked = xtask(&["check", "--config", &config.display().to_string()]).await;
        assert!(!checked.status.success(), "{}", checked.text);
        let rows: [(&str, &[&str]); 6] = [
            ("leased", &["lease", "20000 ms"]),
            ("choiceless", &["on_unknown"]),
            ("mistyped", &["retenton", "retention"]),
            ("astray", &["origin", "nowhere"]),
            ("careless", &["origin_dedupes"]),
            ("forgetful", &["retention", "24 h"]),
        ];
        for (route, words) in rows {
            let line = checked.text.lines().find(|line| line.contains(route));
            let line = line.unwrap_or_else(|| panic!("{route} is not named:\n{}", checked.text));
            for word in words {
                assert!(line.contains(word), "{word} is not in: {line}");
            }
        }
    });
}

#[test]
fn the_sample_configuration_has_no_mistakes() {
    tests::run(async {
        let checked = xtask(&["check"]).await;
        assert!(checked.status.success(), "{}", checked.text);
    });
}

#[test]
fn deploy_can_be_rehearsed() {
    tests::run(async {
        let rehearsed = xtask(&["deploy", "--dry-run"]).await;
        assert!(rehearsed.status.success(), "{}", rehearsed.text);
        for binding in [
            "OPERATIONS",
            "FLEET",
            "ROUTE_orders",
            "--dry-run: exiting now",
        ] {
            assert!(
                rehearsed.text.contains(binding),
                "{binding}: {}",
                rehearsed.text
            );
        }
    });
}

#[test]
fn what_is_no_command_is_said() {
    tests::run(async {
        let refused = xtask(&["dveelop"]).await;
        assert!(!refused.status.success());
        assert!(
            refused.text.contains("dveelop") && refused.text.contains("cargo xtask help"),
            "{}",
            refused.text
        );
    });
}

/// `local`, which `cargo xtask dev` becomes once everything is built.
struct Local {
    child: Child,
    port: u16,
    said: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<()>>,
}

impl Local {
    fn start(state: &std::path::Path, words: &[&str]) -> Self {
        Self::start_on(free_port(), state, words)
    }

    fn start_on(port: u16, state: &std::path::Path, words: &[&str]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_local"))
            .arg(format!("--port={port}"))
            .arg("--state")
            .arg(state)
            .args(words)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("failed to start local: {error}"));
        let said = Arc::default();
        let readers = vec![
            listen(child.stdout.take(), &said),
            listen(child.stderr.take(), &said),
        ];
        Self {
            child,
            port,
            said,
            readers,
        }
    }

    fn said(&self) -> String {
        self.said
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }

    async fn says(&mut self, what: &str) -> String {
        let deadline = Instant::now() + START_MAX;
        loop {
            let said = self.said();
            if said.contains(what) {
                return said;
            }
            let has_ended = self.child.try_wait().is_ok_and(|ended| ended.is_some());
            assert!(
                !has_ended && Instant::now() < deadline,
                "local does not say {what:?} but:\n{said}"
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }

    async fn ends(&mut self) -> (bool, String) {
        let status = within("local ends", START_MAX, self.child.wait()).await;
        for reader in self.readers.drain(..) {
            // A reader ends with its pipe; one that failed has kept what it read.
            let _ = reader.await;
        }
        (status.is_ok_and(|status| status.success()), self.said())
    }

    // What Ctrl-C sends.
    async fn interrupt(mut self) -> String {
        let id = self
            .child
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .expect("it runs");
        kill_process(id, Signal::INT).expect("it runs");
        let (is_success, said) = self.ends().await;
        assert!(is_success, "{said}");
        assert!(
            !listens(self.port),
            "something still listens on port {}",
            self.port
        );
        said
    }
}

fn listen(
    pipe: Option<impl AsyncRead + Unpin + Send + 'static>,
    said: &Arc<Mutex<String>>,
) -> JoinHandle<()> {
    let said = Arc::clone(said);
    tokio::spawn(async move {
        let Some(pipe) = pipe else { return };
        let mut lines = BufReader::new(pipe).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
            said.push_str(&line);
            said.push('\n');
        }
    })
}

// Pastes a command into a shell, as the reader of the welcome does.
async fn paste(command: &str) -> String {
    let output = Command::new("bash").args(["-c", command]).output().await;
    let output = output.unwrap_or_else(|error| panic!("failed to paste: {error}"));
    String::from_utf8_lossy(&output.stdout).to_ascii_lowercase()
}

#[track_caller]
fn assert_pasted(answer: &str, status: u16, verdict: &str) {
    assert!(
        answer.starts_with(&format!("http/1.1 {status} ")),
        "{answer}"
    );
    assert!(answer.contains(verdict), "{verdict}: {answer}");
}

#[test]
fn dev_prints_commands_that_do_what_they_say_and_ctrl_c_ends_it_all() {
    tests::run(async {
        let state = folder("dev");
        let mut bystander = Command::new("sleep")
            .arg("600")
            .kill_on_drop(true)
            .spawn()
            .expect("sleep is everywhere");
        let mut local = Local::start(&state, &[]);
        let said = local.says("Ctrl-C ends").await;
        let commands: Vec<&str> = said
            .lines()
            .filter(|line| line.contains("curl -i"))
            .collect();
        assert_eq!(commands.len(), 3, "{said}");
        assert_pasted(
            &paste(commands[0]).await,
            201,
            "idempotency-status: created",
        );
        assert_pasted(&paste(commands[0]).await, 201, "idempotent-replayed: true");
        assert_pasted(&paste(commands[1]).await, 422, "idempotency_key_reused");
        assert_pasted(&paste(commands[2]).await, 201, "oncegate-operation");
        assert_pasted(&paste(commands[2]).await, 201, "idempotent-replayed: true");
        local.says("effect     2").await;
        let effects = local
            .said()
            .lines()
            .filter(|line| line.starts_with("effect "))
            .count();
        assert_eq!(effects, 2, "{}", local.said());
        let link = said
            .split_whitespace()
            .find(|word| word.contains("#token="))
            .expect("a dashboard link")
            .to_owned();
        local.interrupt().await;
        let bystander_id = bystander
            .id()
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .expect("it runs");
        assert!(
            test_kill_process(bystander_id).is_ok()
                && bystander.try_wait().is_ok_and(|ended| ended.is_none())
        );
        // The state survives: the same records, the same credentials.
        let mut again = Local::start(&state, &[]);
        let said = again.says("Ctrl-C ends").await;
        let token = link.split("#token=").nth(1).unwrap_or_default();
        assert!(said.contains(token), "the link still signs in: {said}");
        let old = commands[0].replace(
            &format!(":{}", port_of(commands[0])),
            &format!(":{}", again.port),
        );
        assert_pasted(&paste(&old).await, 201, "idempotent-replayed: true");
        again.interrupt().await;
    });
}

fn port_of(command: &str) -> String {
    let after = command.split("127.0.0.1:").nth(1).unwrap_or_default();
    after.chars().take_while(char::is_ascii_digit).collect()
}

#[test]
fn dev_protects_a_service_of_ones_own() {
    tests::run(async {
        let state = folder("own");
        let own = Origin::start().await;
        let mut local = Local::start(&state, &["--origin", &own.url()]);
        let said = local.says("Ctrl-C ends").await;
        let first = said
            .lines()
            .find(|line| line.contains("curl -i"))
            .expect("a command")
            .to_owned();
        assert_pasted(&paste(&first).await, 201, "idempotency-status: created");
        assert_eq!(
            (own.requests(), own.effects().len()),
            (1, 1),
            "checking that it listens asks it nothing"
        );
        local.interrupt().await;
    });
}

#[test]
fn dev_says_in_one_line_what_is_wrong_and_what_would_do() {
    tests::run(async {
        let state = folder("wrong");
        let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let port = taken.local_addr().expect("it listens").port();
        let dead = format!("http://127.0.0.1:{}", free_port());
        let rows: [(u16, Vec<&str>, Vec<&str>); 4] = [
            (port, vec![], vec!["in use", "--port"]),
            (
                free_port(),
                vec!["--origin", &dead],
                vec!["nothing listens", "start your service"],
            ),
            (
                free_port(),
                vec!["--origin", "localhost:3000"],
                vec!["http://127.0.0.1:3000"],
            ),
            (free_port(), vec!["--colour"], vec!["--colour", "usage"]),
        ];
        for (port, words, fragments) in rows {
            let mut local = Local::start_on(port, &state, &words);
            let (is_success, said) = local.ends().await;
            assert!(!is_success, "{said}");
            assert_eq!(said.lines().count(), 1, "{said}");
            for fragment in fragments {
                assert!(said.contains(fragment), "{fragment}: {said}");
            }
        }
        drop(taken);
    });
}

#[test]
fn demo_plays_traffic_and_says_that_it_is_generated() {
    tests::run(async {
        let state = folder("demo");
        let mut local = Local::start(&state, &["--demo"]);
        local.says("GENERATED").await;
        for scene in [
            "generated  order:",
            "generated  event",
            "replayed",
            "created",
        ] {
            local.says(scene).await;
        }
        let said = local.interrupt().await;
        assert!(!said.contains("no answer"), "{said}");
        assert!(!said.contains("misconfigured"), "{said}");
    });
}
