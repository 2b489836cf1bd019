//! One running gateway: `wrangler dev` in a process group of its own, over a state folder of its own.
//!
//! A session can be killed as a lost machine is, and started again over the same folder. Its log lies beside its
//! state, and is shown when it does not start.

use crate::client::{Answer, Client};
use crate::deadline::eventually;
use crate::origin::Origin;
use crate::process::{Group, free_port, listens};
use crate::repository;
use crate::settings::{Settings, TENANTS, api_key};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So long may a start take before it has failed: some seconds on an idle machine, more beside a build.
const START_MAX: Duration = Duration::from_secs(90);

/// A gateway with its origin.
pub struct Session {
    /// The origin `sample`, to which the routes lead.
    pub origin: Origin,
    folder: PathBuf,
    config: PathBuf,
    port: u16,
    log_level: &'static str,
    flags: &'static [&'static str],
    process: Mutex<Option<Group>>,
    tenants_taken: AtomicUsize,
}

impl Session {
    /// Starts a gateway over a fresh folder, and waits until it answers.
    ///
    /// # Panics
    /// When it does not start; the message ends with its log.
    pub async fn start(settings: Settings) -> Self {
        let session = Self::start_unready(settings).await;
        session.ready().await;
        session
    }

    /// Starts a gateway, and waits only until it answers anything: its configuration may be wrong, or it may be an
    /// example, which knows nothing of health.
    pub async fn start_unready(settings: Settings) -> Self {
        let origin = Origin::start().await;
        let folder = fresh_folder(&settings.name);
        let port = free_port();
        let settings = settings.var("ORIGIN_sample", &origin.url());
        let config = match settings.write(&folder, port) {
            Ok(config) => config,
            Err(error) => panic!("{error}"),
        };
        let (process, log_level, flags) = (Mutex::new(None), settings.log_level, settings.flags);
        let session = Self {
            origin,
            folder,
            config,
            port,
            log_level,
            flags,
            process,
            tenants_taken: AtomicUsize::new(0),
        };
        session.restart().await;
        session
    }

    /// Kills the whole tree at once.
    pub async fn kill(&self) {
        let group = self
            .process
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        drop(group);
        eventually(
            "the killed gateway's port falls silent",
            Duration::from_secs(10),
            || async { (!listens(self.port)).then_some(()) },
        )
        .await;
    }

    /// Starts again over the same state, and waits until something listens.
    ///
    /// # Panics
    /// As [`Session::start`].
    pub async fn restart(&self) {
        self.kill().await;
        let mut group = match self.wrangler() {
            Ok(group) => group,
            Err(error) => {
                panic!("failed to start wrangler: {error}; `cargo xtask setup` installs it")
            }
        };
        let deadline = Instant::now() + START_MAX;
        while self
            .http()
            .get("/_oncegate/health")
            .try_send()
            .await
            .is_err()
        {
            if group.has_ended() || Instant::now() > deadline {
                group.kill();
                panic!(
                    "wrangler ended or did not start within {START_MAX:?}; its log ends:\n{}",
                    self.log_tail()
                );
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        *self.process.lock().unwrap_or_else(PoisonError::into_inner) = Some(group);
    }

    /// The cron ticks, in a session that was started [`Settings::ticking`].
    pub async fn tick(&self) {
        let ticked = self.http().get("/__scheduled?cron=*+*+*+*+*").send().await;
        assert_eq!(ticked.status, 200, "{}", ticked.text());
    }

    async fn ready(&self) {
        let answer = self.http().get("/_oncegate/health").send().await;
        assert_eq!(
            answer.status,
            200,
            "the gateway is not well: {}\n{}",
            answer.text(),
            self.log_tail()
        );
    }

    /// The gateway's port on loopback.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// A client of this tenant.
    #[must_use]
    pub fn client(&self, tenant: &str) -> Client {
        self.http().with_header("X-Api-Key", &api_key(tenant))
    }

    /// A client of a tenant that no other test of this session uses, and that tenant's name.
    ///
    /// # Panics
    /// When all are taken.
    #[must_use]
    pub fn fresh_tenant(&self) -> (Client, String) {
        let at = self.tenants_taken.fetch_add(1, Ordering::Relaxed);
        assert!(
            at < TENANTS,
            "more tests than tenants: raise settings::TENANTS"
        );
        let tenant = format!("tenant-{at}");
        (self.client(&tenant), tenant)
    }

    /// A client without any credential.
    #[must_use]
    pub fn http(&self) -> Client {
        Client::new(&format!("http://127.0.0.1:{}", self.port))
    }

    /// A client of the operators' host, without a session.
    #[must_use]
    pub fn operators(&self) -> Client {
        Client::new(&format!("http://localhost:{}", self.port))
    }

    /// Signs in with an operator's token; the answer carries the cookie.
    pub async fn login(&self, token: &str) -> Answer {
        let operators = self.operators();
        let call = operators
            .post("/_oncegate/operator/login")
            .json(&serde_json::json!({ "token": token }));
        call.header("Origin", operators.base())
            .header("Oncegate-Operator", "1")
            .send()
            .await
    }

    /// A client with an operator's session.
    pub async fn operator(&self, token: &str) -> Client {
        let answer = self.login(token).await;
        assert_eq!(answer.status, 204, "signing in: {}", answer.text());
        let cookie = answer.header("set-cookie").unwrap_or_default();
        self.operators()
            .with_header("Cookie", cookie.split(';').next().unwrap_or_default())
    }

    /// Tells the Worker's hooks something: one of its paths for tests, with a query.
    pub async fn hook(&self, path_and_query: &str) {
        let path = format!("/_oncegate/test/{path_and_query}");
        let answer = self.http().post(&path).send().await;
        assert_eq!(answer.status, 204, "{path}: {}", answer.text());
    }

    /// The folder that holds state, configuration and log.
    #[must_use]
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Everything that wrangler and the Worker have logged.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read(self.folder.join("wrangler.log"))
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .unwrap_or_default()
    }

    // Starts `wrangler dev` over the state in the session's folder.
    fn wrangler(&self) -> std::io::Result<Group> {
        let log = File::options()
            .create(true)
            .append(true)
            .open(self.folder.join("wrangler.log"))?;
        let port = self.port.to_string();
        let state = self.folder.join("state");
        let arguments = [
            "dev".as_ref(),
            "--config".as_ref(),
            self.config.as_os_str(),
            "--ip".as_ref(),
            "127.0.0.1".as_ref(),
            "--port".as_ref(),
            port.as_ref(),
            "--inspector-port".as_ref(),
            "0".as_ref(),
            "--persist-to".as_ref(),
            state.as_os_str(),
            "--log-level".as_ref(),
            self.log_level.as_ref(),
            "--show-interactive-dev-session=false".as_ref(),
        ];
        let flags = self.flags.iter().map(AsRef::as_ref);
        Group::start(
            &repository().join("node_modules/.bin/wrangler"),
            arguments.into_iter().chain(flags),
            &QUIET,
            &self.folder,
            &log,
        )
    }

    fn log_tail(&self) -> String {
        let log = self.log();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(60)..].join("\n")
    }
}

/// Keeps wrangler from speaking to anyone but us.
pub const QUIET: [(&str, &str); 8] = [
    ("CI", "true"),
    ("CLOUDFLARE_CF_FETCH_ENABLED", "false"),
    ("FORCE_COLOR", "0"),
    ("WRANGLER_CI_DISABLE_CONFIG_WATCHING", "true"),
    ("WRANGLER_HIDE_BANNER", "true"),
    ("WRANGLER_LOG_SANITIZE", "true"),
    ("WRANGLER_SEND_ERROR_REPORTS", "false"),
    ("WRANGLER_SEND_METRICS", "false"),
];

// Folders of sessions whose process has ended are removed; those of a suite that runs beside us stay.
fn fresh_folder(name: &str) -> PathBuf {
    let sessions = repository().join("target/sessions");
    let prefix = format!("{name}.");
    for entry in std::fs::read_dir(&sessions).into_iter().flatten().flatten() {
        let file_name = entry.file_name();
        let owner = file_name
            .to_str()
            .and_then(|found| found.strip_prefix(&prefix))
            .map(|pid| Path::new("/proc").join(pid));
        if owner
            .is_some_and(|owner| !owner.exists() || owner.ends_with(std::process::id().to_string()))
        {
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
    let folder = sessions.join(format!("{prefix}{}", std::process::id()));
    if let Err(error) = std::fs::create_dir_all(&folder) {
        panic!("failed to make {}: {error}", folder.display());
    }
    folder
}
