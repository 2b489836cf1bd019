//! The Worker and its objects: everything of Oncegate that touches the platform.
//!
//! It translates and saves; it decides nothing. What a key means, who may run and what is answered is the rule's
//! to say (`shared`).

mod attempt;
mod body;
mod clock;
mod config;
mod dispatch;
mod entropy;
mod fan_out;
mod fleet;
mod fleet_store;
mod handlers;
mod headers;
mod listing;
mod login;
mod message;
mod message_attempt;
mod message_fleet;
mod message_operator;
mod migrations;
#[expect(
    missing_docs,
    reason = "the platform's macro makes methods without any"
)]
mod object;
mod object_client;
mod object_queries;
mod origin;
mod overview;
mod probing;
mod request;
mod respond;
mod router;
mod site;
mod sql;
mod sql_store;
mod telemetry;
#[cfg(feature = "testing")]
mod testing;
mod throttle;

use std::rc::Rc;

use shared::problem::Code;
use worker::{Context, Env, Request, Response, Result, ScheduleContext, ScheduledEvent, event};

pub use fleet::Fleet;
pub use object::Operations;

use object_client::Objects;
use request::Inbound;
use site::Site;

/// Every request comes in here.
#[event(fetch)]
async fn fetch(request: Request, env: Env, context: Context) -> Result<Response> {
    let inbound = Inbound::of(&request);
    let Some(settings) = config::settings(&env) else {
        body::drain(inbound.body).await;
        return Ok(respond::Problem::new(
            Code::Misconfigured,
            "the configuration is wrong; the log names each mistake",
        )
        .retry_after(shared::time::Millis::from_secs(60))
        .response());
    };
    let site = Site {
        objects: Objects::of(&env),
        env,
        context: Rc::new(context),
        settings,
        now: clock::now(),
    };
    Ok(router::route(inbound, &site).await)
}

/// The cron's tick: every object sees that its alarm is set, since the platform gives one up after some failures (U5).
#[event(scheduled)]
async fn scheduled(_event: ScheduledEvent, env: Env, _context: ScheduleContext) {
    let objects = Objects::of(&env);
    let tick = message_operator::OperatorMessage::Tick;
    let everywhere = fan_out::Filter::default();
    match fan_out::ask(&objects, everywhere, &tick).await {
        Ok(answers) if answers.silent == 0 => {}
        Ok(answers) => telemetry::event(
            telemetry::Level::Warn,
            "ticks_unanswered",
            &[("objects", &answers.silent)],
        ),
        Err(error) => {
            telemetry::event(telemetry::Level::Error, "tick_failed", &[("error", &error)]);
        }
    }
}
