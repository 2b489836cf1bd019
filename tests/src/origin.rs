//! The origin: a loopback server that counts what it does and can fail in every way that an origin fails.
//!
//! Not a general server: it writes its answers by hand, so that a line can be cut anywhere, and it speaks just enough
//! HTTP/1.1 for the gateway. What it does with a request is written in the request ([`crate::plan`]).

mod answer;
mod probes;
mod request;

pub use answer::Bytes;
pub use request::Seen;

use crate::deadline::eventually;
use crate::plan::{Cut, Plan};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::io::AsyncWriteExt;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// So many requests and effects are remembered; a demo that runs for days forgets the oldest.
const LOG_MAX: usize = 100_000;

/// One effect: something that happened and cannot be taken back.
#[derive(Debug, Clone)]
pub struct Effect {
    /// The effect's own number, from 1, in the order of doing.
    pub serial: u64,
    /// The request whose work it was.
    pub seen: Seen,
}

type OnEffect = dyn Fn(&Effect) + Send + Sync;

#[derive(Default)]
struct Log {
    seen: Vec<Seen>,
    effects: Vec<Effect>,
    gates: BTreeMap<String, Arc<Semaphore>>,
    probes: probes::Probes,
}

struct Shared {
    log: Mutex<Log>,
    serial: AtomicU64,
    on_effect: Box<OnEffect>,
    repeats: Repeats,
}

/// What the origin does when an operation comes that it has done already.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Repeats {
    /// It does it again: what the gateway is there to prevent shows as a second effect.
    Done,
    /// It answers what it answered the first time: `origin_dedupes`.
    Deduped,
}

/// A running origin. It stops when the process ends.
#[derive(Clone)]
pub struct Origin {
    address: SocketAddr,
    shared: Arc<Shared>,
}

impl Origin {
    /// Starts one on a free port.
    ///
    /// # Panics
    /// When loopback has no port to give.
    pub async fn start() -> Self {
        match Self::start_with(Repeats::Done, |_effect| {}).await {
            Ok(origin) => origin,
            Err(error) => panic!("failed to start an origin on loopback: {error}"),
        }
    }

    /// Starts one that tells of every effect.
    pub async fn start_with(
        repeats: Repeats,
        on_effect: impl Fn(&Effect) + Send + Sync + 'static,
    ) -> std::io::Result<Self> {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            log: Mutex::default(),
            serial: AtomicU64::new(0),
            on_effect: Box::new(on_effect),
            repeats,
        });
        let server = Arc::clone(&shared);
        tokio::spawn(async move {
            while let Ok((stream, _peer)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&server)));
            }
        });
        Ok(Self { address, shared })
    }

    /// Where it listens, as an `ORIGIN_<name>` wants it.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// All requests that came with this number, in order.
    #[must_use]
    pub fn seen(&self, number: u64) -> Vec<Seen> {
        self.log(|log| {
            log.seen
                .iter()
                .filter(|seen| seen.number == number)
                .cloned()
                .collect()
        })
    }

    /// All requests with this `Oncegate-Operation`, in order.
    #[must_use]
    pub fn seen_of(&self, operation: &str) -> Vec<Seen> {
        self.log(|log| {
            log.seen
                .iter()
                .filter(|seen| seen.header("oncegate-operation") == Some(operation))
                .cloned()
                .collect()
        })
    }

    /// All requests with this `Idempotency-Key` as the client sent it, in order.
    #[must_use]
    pub fn seen_with_key(&self, key: &str) -> Vec<Seen> {
        self.log(|log| {
            log.seen
                .iter()
                .filter(|seen| seen.key().as_deref() == Some(key))
                .cloned()
                .collect()
        })
    }

    /// How many requests came.
    #[must_use]
    pub fn requests(&self) -> usize {
        self.log(|log| log.seen.len())
    }

    /// All effects done so far.
    #[must_use]
    pub fn effects(&self) -> Vec<Effect> {
        self.log(|log| log.effects.clone())
    }

    /// How many effects the requests with this number had.
    #[must_use]
    pub fn effects_of(&self, number: u64) -> usize {
        self.log(|log| {
            log.effects
                .iter()
                .filter(|effect| effect.seen.number == number)
                .count()
        })
    }

    /// How many effects this operation had.
    #[must_use]
    pub fn effects_of_operation(&self, operation: &str) -> usize {
        let of_it = |effect: &&Effect| effect.seen.header("oncegate-operation") == Some(operation);
        self.log(|log| log.effects.iter().filter(of_it).count())
    }

    /// What the origin ordinarily answers to this operation, if it has done it.
    #[must_use]
    pub fn outcome_of(&self, operation: &str) -> Option<String> {
        let done = self.shared.done(operation)?;
        let bytes = answer::ordinary(&done.seen, done.serial);
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// How many effects each operation had whose key begins with `prefix`.
    #[must_use]
    pub fn effects_by_key(&self, prefix: &str) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        self.log(|log| {
            for key in log
                .effects
                .iter()
                .filter_map(|effect| effect.seen.key())
                .filter(|key| key.starts_with(prefix))
            {
                *counts.entry(key).or_insert(0) += 1;
            }
        });
        counts
    }

    /// All questions about this operation, in order. They are no requests, and no plan travels in them.
    #[must_use]
    pub fn probes_of(&self, operation: &str) -> Vec<Seen> {
        self.log(|log| log.probes.of(operation))
    }

    /// What questions about this operation are answered from now on, in place of the truth.
    pub fn answer_probes(&self, operation: &str, plan: Plan) {
        self.log_mut(|log| log.probes.plan(operation, plan));
    }

    /// Questions about this operation are answered by the truth from now on.
    pub fn answer_probes_truly(&self, operation: &str) {
        self.log_mut(|log| log.probes.no_plan(operation));
    }

    /// Waits until a question about this operation has arrived.
    pub async fn probed(&self, operation: &str) -> Seen {
        eventually(
            &format!("the origin is asked about {operation}"),
            Duration::from_secs(20),
            || async { self.probes_of(operation).into_iter().next() },
        )
        .await
    }

    /// The bytes of the answer to this plan, whose body must not depend on the request.
    #[must_use]
    pub fn answer_to(plan: &Plan) -> Bytes {
        answer::bytes(plan, &Seen::default(), 0)
    }

    /// Waits until the request with this number has arrived (and, as a rule, waits at its gate).
    pub async fn arrived(&self, number: u64) -> Seen {
        eventually(
            &format!("request {number} reaches the origin"),
            Duration::from_secs(20),
            || async { self.seen(number).into_iter().next() },
        )
        .await
    }

    /// Opens the gate of this name, for all who wait at it and all who come later.
    pub fn open(&self, gate: &str) {
        self.shared.gate(gate).close();
    }

    fn log<T>(&self, read: impl FnOnce(&Log) -> T) -> T {
        self.shared.log(|log| read(log))
    }

    fn log_mut<T>(&self, change: impl FnOnce(&mut Log) -> T) -> T {
        self.shared.log(change)
    }
}

impl Shared {
    fn log<T>(&self, with: impl FnOnce(&mut Log) -> T) -> T {
        with(&mut self.log.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn gate(&self, name: &str) -> Arc<Semaphore> {
        self.log(|log| {
            Arc::clone(
                log.gates
                    .entry(name.to_owned())
                    .or_insert_with(|| Arc::new(Semaphore::new(0))),
            )
        })
    }

    fn arrive(&self, seen: &Seen) {
        self.log(|log| remember(&mut log.seen, seen.clone()));
    }

    // The last effect of this operation.
    fn done(&self, operation: &str) -> Option<Effect> {
        let of_it = |effect: &&Effect| effect.seen.header("oncegate-operation") == Some(operation);
        self.log(|log| log.effects.iter().rev().find(of_it).cloned())
    }

    // How often this operation came, this time included.
    fn attempts(&self, seen: &Seen) -> usize {
        let operation = seen.header("oncegate-operation");
        let of_it = |known: &&Seen| known.header("oncegate-operation") == operation;
        self.log(|log| log.seen.iter().filter(of_it).count())
    }

    // The effect that answers this request: its own, or the one that an earlier attempt had.
    fn effect(&self, seen: &Seen) -> Effect {
        if let (Repeats::Deduped, Some(operation)) =
            (self.repeats, seen.header("oncegate-operation"))
            && let Some(done) = self.done(operation)
        {
            return done;
        }
        let serial = self.serial.fetch_add(1, Ordering::SeqCst) + 1;
        let effect = Effect {
            serial,
            seen: seen.clone(),
        };
        self.log(|log| remember(&mut log.effects, effect.clone()));
        (self.on_effect)(&effect);
        effect
    }
}

fn remember<T>(log: &mut Vec<T>, entry: T) {
    if log.len() >= LOG_MAX {
        log.drain(..LOG_MAX / 2);
    }
    log.push(entry);
}

async fn serve(mut stream: TcpStream, shared: Arc<Shared>) {
    let mut buffer = Vec::new();
    while let Ok(Some(seen)) = request::read(&mut stream, &mut buffer).await {
        if !answer_one(&mut stream, &seen, &shared).await {
            return;
        }
    }
}

// Says whether the line may carry another request.
async fn answer_one(stream: &mut TcpStream, seen: &Seen, shared: &Shared) -> bool {
    if seen.header("oncegate-probe").is_some() {
        return probes::answer(stream, seen, shared).await;
    }
    shared.arrive(seen);
    let plan = match seen.plan() {
        Ok(plan) => plan.after(shared.attempts(seen).saturating_sub(1)),
        Err(error) => {
            let text = format!("the origin cannot read its plan: {error}");
            return stream
                .write_all(&answer::plain(400, text.as_bytes()))
                .await
                .is_ok();
        }
    };
    wait(&plan, shared).await;
    if plan.cut == Some(Cut::BeforeEffect) {
        return false;
    }
    if shared.log(|log| log.probes.refuses(seen)) {
        let text = b"this attempt was said not to have run";
        return stream.write_all(&answer::plain(409, text)).await.is_ok();
    }
    let done = (!plan.idle).then(|| shared.effect(seen));
    pass(plan.answer_gate.as_deref(), shared).await;
    let (seen, serial) = done
        .as_ref()
        .map_or((seen, 0), |effect| (&effect.seen, effect.serial));
    write(stream, &plan, &answer::bytes(&plan, seen, serial)).await
}

// Says whether the line may carry another request.
async fn write(stream: &mut TcpStream, plan: &Plan, bytes: &Bytes) -> bool {
    match plan.cut {
        Some(Cut::BeforeEffect | Cut::AfterEffect) => false,
        Some(Cut::After(count)) => {
            let mut all = bytes.head.clone();
            all.extend(&bytes.body);
            let _ = stream.write_all(&all[..count.min(all.len())]).await;
            false
        }
        Some(Cut::InsideHead) => {
            let _ = stream.write_all(&bytes.head[..bytes.head.len() / 2]).await;
            false
        }
        Some(Cut::InsideBody) => {
            let _ = stream.write_all(&bytes.head).await;
            let _ = stream.write_all(&bytes.body[..bytes.body.len() / 2]).await;
            false
        }
        None => send(stream, bytes, plan.trickle_ms).await.is_ok(),
    }
}

async fn wait(plan: &Plan, shared: &Shared) {
    if let Some(ms) = plan.delay_ms {
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    pass(plan.gate.as_deref(), shared).await;
}

async fn pass(gate: Option<&str>, shared: &Shared) {
    if let Some(name) = gate {
        // A gate has no permits: waiting ends with the error that says that it was opened for good.
        let _opened = shared.gate(name).acquire().await.is_err();
    }
}

async fn send(
    stream: &mut TcpStream,
    bytes: &answer::Bytes,
    trickle_ms: Option<u64>,
) -> std::io::Result<()> {
    stream.write_all(&bytes.head).await?;
    let Some(ms) = trickle_ms else {
        return stream.write_all(&bytes.body).await;
    };
    for piece in bytes.body.chunks((bytes.body.len() / 16).max(1)) {
        stream.write_all(piece).await?;
        stream.flush().await?;
        tokio::time::sleep(Duration::from_millis(ms)).await;
    }
    Ok(())
}
