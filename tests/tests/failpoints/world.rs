//! The gateway with a route for each thing that can follow an unknown outcome, its origins, and an operator.

use std::time::Duration;
use tests::deadline::eventually;
use tests::desk::Desk;
use tests::origin::{Origin, Repeats};
use tests::session::Session;
use tests::settings::{Settings, api_route};

/// So long may it take until operations have come to a place: a lease, the resolver's pause and an alarm's tick at most.
const REACHED: Duration = Duration::from_secs(30);

/// What happens after an unknown outcome.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Route {
    /// The next retry runs again, at an origin that dedupes.
    Resumed,
    /// The operator settles it.
    Parked,
    /// The next retry asks the origin.
    Probed,
    /// The resolver sends it again, at an origin that dedupes.
    Pursued,
    /// The resolver asks the origin.
    Inquired,
    /// What is done is forgotten after two seconds.
    Brief,
}

/// The routes where a caller's retry, or the operator, goes on.
pub(crate) const MAIN: [Route; 3] = [Route::Resumed, Route::Parked, Route::Probed];

impl Route {
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Resumed => "/v1/resumed",
            Self::Parked => "/v1/parked",
            Self::Probed => "/v1/probed",
            Self::Pursued => "/v1/pursued",
            Self::Inquired => "/v1/inquired",
            Self::Brief => "/v1/brief",
        }
    }

    fn table(self) -> String {
        let resume = "on_unknown = \"resume\"\norigin_dedupes = true\norigin = \"deduping\"";
        let probe = "on_unknown = \"probe\"\nprobe = { path = \"/by-operation/{operation}\" }";
        let soon = "resolve_after = \"100ms\"\nresolve_tries = 32";
        let own = match self {
            Self::Resumed => String::from(resume),
            Self::Parked => String::new(),
            Self::Probed => String::from(probe),
            Self::Pursued => format!("{resume}\n{soon}"),
            Self::Inquired => format!("{probe}\n{soon}"),
            Self::Brief => String::from("retention = \"2s\""),
        };
        let hasty = "timeout = \"1s\"\nlease = \"3s\"\nwait = \"0s\"";
        api_route(self.path(), &format!("{hasty}\n{own}"))
    }
}

pub(crate) struct World {
    pub(crate) session: Session,
    /// An origin that answers a repeat with what it did the first time.
    deduping: Origin,
    pub(crate) desk: Desk,
}

impl World {
    pub(crate) async fn start(name: &str) -> &'static Self {
        let deduping = Origin::start_with(Repeats::Deduped, |_effect| {}).await;
        let deduping = deduping.expect("loopback has a port");
        let mut settings = Settings::new(name)
            .quiet()
            .var("ORIGIN_deduping", &deduping.url());
        for route in [
            Route::Resumed,
            Route::Parked,
            Route::Probed,
            Route::Pursued,
            Route::Inquired,
            Route::Brief,
        ] {
            let name = route.path().trim_start_matches("/v1/");
            settings = settings.route(name, &route.table());
        }
        let session = Session::start(settings).await;
        let desk = Desk::open(&session).await;
        Box::leak(Box::new(Self {
            session,
            deduping,
            desk,
        }))
    }

    pub(crate) fn origin(&self, route: Route) -> &Origin {
        match route {
            Route::Resumed | Route::Pursued => &self.deduping,
            Route::Parked | Route::Probed | Route::Inquired | Route::Brief => &self.session.origin,
        }
    }

    pub(crate) async fn arm(&self, place: &str) {
        self.session.hook(&format!("arm?place={place}")).await;
    }

    /// How often a place was reached since the session started.
    pub(crate) fn times_reached(&self, place: &str) -> usize {
        let told = format!("\"place\":\"{place}\"");
        self.session.log().matches(&told).count()
    }

    /// Waits until so many have come to the place, beyond the first `before`.
    pub(crate) async fn reached(&self, place: &str, before: usize, count: usize) {
        let what = format!("{count} operations come to {place}");
        eventually(&what, REACHED, || async {
            (self.times_reached(place) >= before + count).then_some(())
        })
        .await;
    }

    /// The machine is lost, and starts again.
    pub(crate) async fn lose(&self, gate: &str) {
        self.session.kill().await;
        // What the origin was at, it goes on with, and answers nobody.
        self.session.origin.open(gate);
        self.deduping.open(gate);
        self.session.restart().await;
    }
}
