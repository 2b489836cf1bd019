//! Alarms that do not come as they were set: twice, late, never, and to an object that fails seven times in a row (U5, R1).
//!
//! Whatever becomes of them, what reads show is decided from the time, nothing is done twice, and within a minute of the
//! next tick the state is repaired. The local runtime gives no tick by itself: it is asked for.

use std::time::{Duration, Instant};
use tests::client::Client;
use tests::deadline::{eventually, eventually_each, holds};
use tests::desk::Desk;
use tests::keys::key;
use tests::origin::{Origin, Repeats};
use tests::plan::{Cut, Plan};
use tests::session::Session;
use tests::settings::{Settings, api_route};
use tokio::sync::{Mutex, MutexGuard, OnceCell};

const LEASE: Duration = Duration::from_secs(3);
/// The span within which a tick repairs.
const REPAIRED: Duration = Duration::from_mins(1);
/// After this an object takes an alarm for lost that has not come; its clock is set ahead by as much.
const LOST_MS: u64 = 31_000;

struct World {
    session: Session,
    deduping: Origin,
    desk: Desk,
    /// How alarms come is the whole process's.
    turn: Mutex<()>,
}

async fn world() -> &'static World {
    static WORLD: OnceCell<World> = OnceCell::const_new();
    WORLD
        .get_or_init(|| async {
            let deduping = Origin::start_with(Repeats::Deduped, |_effect| {}).await;
            let deduping = deduping.expect("loopback has a port");
            let hasty = "timeout = \"1s\"\nlease = \"3s\"\nwait = \"0s\"";
            let resume = "on_unknown = \"resume\"\norigin_dedupes = true\norigin = \"deduping\"\n\
                          resolve_after = \"100ms\"\nresolve_tries = 32";
            let session = Session::start(
                Settings::new("alarms")
                    .quiet()
                    .ticking()
                    .var("ORIGIN_deduping", &deduping.url())
                    .route("parked", &api_route("/v1/parked", hasty))
                    .route(
                        "pursued",
                        &api_route("/v1/pursued", &format!("{hasty}\n{resume}")),
                    ),
            )
            .await;
            World {
                desk: Desk::open(&session).await,
                session,
                deduping,
                turn: Mutex::default(),
            }
        })
        .await
}

/// A tenant's operations that only an alarm brings to an end, while alarms come in one of their ways.
struct Bench {
    world: &'static World,
    client: Client,
    tenant: String,
    /// Its origin did it, and the line broke. The resolver sends it again.
    unheard: String,
    /// Its origin works on and is never heard of again, so its lease runs out. The resolver sends it again.
    silent: String,
    /// The same where nothing runs again.
    parked: String,
    claimed_at: Instant,
    _turn: MutexGuard<'static, ()>,
}

impl Bench {
    async fn set_up(alarms: &str) -> Self {
        let world = world().await;
        let turn = world.turn.lock().await;
        let (client, tenant) = world.session.fresh_tenant();
        world.session.hook(&format!("alarms?come={alarms}")).await;
        let claimed_at = Instant::now();
        let unheard = client.post("/v1/pursued").key(&key("unheard"));
        let cut = Plan::cut(Cut::AfterEffect).then(Plan::default());
        let unheard = unheard.plan(&cut).send().await;
        unheard.assert_problem(503, "outcome_unknown", "same-key");
        let works_on = Plan::status(202).with_header("Oncegate-Outcome", "pending");
        let works_on = works_on.then(Plan::default());
        let silent = |path: &str| client.post(path).key(&key("silent")).plan(&works_on);
        let (silent, parked) = (silent("/v1/pursued"), silent("/v1/parked"));
        let (silent, parked) = (silent.send().await, parked.send().await);
        assert_eq!((silent.status, parked.status), (202, 202));
        Self {
            world,
            unheard: unheard.operation(),
            silent: silent.operation(),
            parked: parked.operation(),
            client,
            tenant,
            claimed_at,
            _turn: turn,
        }
    }

    async fn state(&self, operation: &str) -> String {
        let path = format!("/_oncegate/operations/{operation}");
        let status = self.client.get(&path).send().await;
        let state = status.json()["state"].as_str().map(String::from);
        state.unwrap_or_else(|| panic!("{operation}: {}", status.text()))
    }

    /// R1: leases that ran out are unknown to all who look, whether an alarm came or not.
    async fn leases_are_over(&self) {
        eventually("leases run out", LEASE * 3, || async {
            let mut all = true;
            for operation in [&self.silent, &self.parked] {
                all = all && self.state(operation).await != "in_progress";
            }
            all.then_some(())
        })
        .await;
        assert!(self.claimed_at.elapsed() + Duration::from_millis(100) >= LEASE);
    }

    /// Everything is as it has to be, and stays so.
    async fn repaired(&self) {
        for operation in [&self.unheard, &self.silent] {
            let what = format!("{operation} is brought to its end by its object");
            eventually(&what, REPAIRED, || async {
                (self.state(operation).await == "completed").then_some(())
            })
            .await;
        }
        let (desk, tenant) = (&self.world.desk, &self.tenant);
        eventually("the parked one waits for a person", REPAIRED, || async {
            let unknown = desk.unknown(tenant, &self.parked).await;
            (unknown["next"] == "person").then_some(())
        })
        .await;
        let is_so = || self.sent() == [2, 2, 1];
        holds("nothing is done again", Duration::from_secs(2), is_so).await;
        for operation in [&self.unheard, &self.silent] {
            let effects = self.world.deduping.effects_of_operation(operation);
            assert_eq!(effects, 1, "{operation}");
        }
        assert_eq!(self.endings(&self.unheard).await, ["unknown", "completed"]);
        assert_eq!(
            self.endings(&self.silent).await,
            ["lease_ran_out", "completed"]
        );
        assert_eq!(self.endings(&self.parked).await, ["lease_ran_out"]);
        // P8: sums are saved by an alarm, too.
        eventually("both sends are counted", REPAIRED, || async {
            (desk.settled(tenant).await["resolver_sends"] == 2).then_some(())
        })
        .await;
    }

    /// How often each came to its origin.
    fn sent(&self) -> [usize; 3] {
        let (deduping, sample) = (&self.world.deduping, &self.world.session.origin);
        [
            deduping.seen_of(&self.unheard).len(),
            deduping.seen_of(&self.silent).len(),
            sample.seen_of(&self.parked).len(),
        ]
    }

    async fn endings(&self, operation: &str) -> Vec<String> {
        let detail = self.world.desk.detail(operation).await;
        let attempts = detail["attempts"].as_array().cloned().unwrap_or_default();
        let ending = |attempt: &serde_json::Value| attempt["ending"].as_str().map(String::from);
        attempts.iter().filter_map(ending).collect()
    }

    async fn alarms_come(&self, how: &str) {
        self.world.session.hook(&format!("alarms?come={how}")).await;
    }

    fn failures(&self) -> usize {
        self.world
            .session
            .log()
            .matches("planted in the alarm")
            .count()
    }
}

#[test]
fn an_alarm_that_comes_twice_does_nothing_twice() {
    tests::run(async {
        let bench = Bench::set_up("twice").await;
        bench.leases_are_over().await;
        bench.repaired().await;
        bench.alarms_come("in-time").await;
    });
}

#[test]
fn a_late_alarm_changes_nothing_that_anyone_can_see() {
    tests::run(async {
        let bench = Bench::set_up("late").await;
        bench.leases_are_over().await;
        // The first alarm is set for a second after the claim, and comes five seconds after that.
        assert_eq!(bench.sent(), [1, 1, 1], "no alarm has come yet");
        bench.repaired().await;
        bench.alarms_come("in-time").await;
    });
}

#[test]
fn an_object_whose_alarm_fails_seven_times_in_a_row_is_repaired() {
    tests::run(async {
        let world = world().await;
        let before = world.session.log().matches("planted in the alarm").count();
        let bench = Bench::set_up("failing").await;
        let pause = Duration::from_millis(300);
        // Each tick sets the alarm anew: else the object's own pause is 30 s.
        eventually_each(pause, "seven alarms fail", REPAIRED, || async {
            bench.world.session.tick().await;
            (bench.failures() >= before + 7).then_some(())
        })
        .await;
        bench.leases_are_over().await;
        bench.world.session.tick().await;
        bench.repaired().await;
        assert_eq!(bench.failures(), before + 7);
        bench.alarms_come("in-time").await;
    });
}

#[test]
fn an_object_whose_alarm_never_comes_is_repaired_by_a_tick() {
    tests::run(async {
        let bench = Bench::set_up("never").await;
        bench.leases_are_over().await;
        let is_so = || bench.sent() == [1, 1, 1];
        holds(
            "without an alarm nothing runs",
            Duration::from_secs(2),
            is_so,
        )
        .await;
        bench.alarms_come("in-time").await;
        let clocks = format!("clocks?objects={LOST_MS}");
        bench.world.session.hook(&clocks).await;
        bench.world.session.tick().await;
        bench.repaired().await;
        bench.world.session.hook("clocks").await;
    });
}

#[test]
fn a_killed_gateway_finds_its_alarms_again() {
    // The platform keeps an alarm beside the rows; no request and no tick comes.
    tests::run(async {
        let bench = Bench::set_up("in-time").await;
        bench.world.session.restart().await;
        eventually("the resolver goes on by itself", REPAIRED, || async {
            (bench.sent() == [2, 2, 1]).then_some(())
        })
        .await;
        bench.repaired().await;
    });
}
