//! What can happen next in a state, and what follows from it.

use shared::decide::{
    self, Ask, Begin, Complete, Finding, Lease, Probed, Pursue, Release, Resend, Settle,
    Settlement, Suspend,
};
use shared::fingerprint::Fingerprint;
use shared::policy::{Kind, OnUnknown};
use shared::record::UnknownCause;

use crate::breach::Breach;
use crate::life::{Life, Standing};
use crate::world::{Attempt, CLIENTS, KEYS, Stage, World, at, id, outcome, ticks};
use crate::{RETENTION_TICKS, Space};

/// The tokens of the resolver begin here, and those of settlements there.
const RESOLVER_TOKENS: u8 = 100;
const SETTLEMENT_TOKENS: u8 = 200;

/// One thing that happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// A client's request arrives.
    Begin { client: usize, key: usize },
    /// The *begin* of a client that runs comes once more (L7).
    BeginAgain { client: usize },
    /// The origin has its effect for a client that runs.
    Acts { client: usize },
    /// The client's Worker reports.
    Reports { client: usize, report: Report },
    /// The client's Worker dies.
    Crash { client: usize },
    /// The origin tells who asks.
    Finds { client: usize },
    /// The origin tells who asks nothing that settles it.
    FindsNothing { client: usize },
    /// The origin has its effect for an attempt whose client is gone.
    ActsAdrift { key: usize, place: usize },
    /// The origin reports for it, late, and perhaps once more.
    ReportsAdrift { key: usize, place: usize },
    /// The alarm comes for a key: a lease that ran out, or the resolver.
    Alarm { key: usize },
    /// The origin tells the resolver.
    ResolverFinds { key: usize },
    /// An operator settles.
    Settles { key: usize, word: Word },
    /// Time passes.
    Tick,
}

/// What a Worker reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Report {
    /// Final, where the origin acted; not run, where it did not.
    Truth,
    /// Nobody knows.
    Unknown,
}

/// An operator's word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Word {
    /// *Succeeded*.
    Succeeded,
    /// *Did not happen*, true or not.
    DidNotHappen,
    /// *Try again*.
    TryAgain,
}

/// All that can happen in a state.
pub(crate) fn possible(space: &Space, world: &World, moves: &mut Vec<Move>) {
    for (client, it) in world.clients.iter().enumerate() {
        match it.stage {
            Stage::Idle if it.begins < space.limits.begins => {
                moves.extend((0..KEYS).map(|key| Move::Begin { client, key }));
            }
            Stage::Idle => {}
            Stage::Running { attempt, .. } => {
                moves.push(Move::BeginAgain { client });
                if !attempt.acted && !attempt.refused {
                    moves.push(Move::Acts { client });
                }
                let reports = [Report::Truth, Report::Unknown];
                moves.extend(reports.map(|report| Move::Reports { client, report }));
                moves.push(Move::Crash { client });
            }
            Stage::Asking { .. } => {
                moves.push(Move::Finds { client });
                moves.push(Move::FindsNothing { client });
                moves.push(Move::Crash { client });
            }
        }
    }
    for (key, it) in world.keys.iter().enumerate() {
        for (place, attempt) in it.adrift.iter().enumerate() {
            if !attempt.acted && !attempt.refused {
                moves.push(Move::ActsAdrift { key, place });
            }
            moves.push(Move::ReportsAdrift { key, place });
        }
        moves.push(Move::Alarm { key });
        if it.resolver_asks.is_some() {
            moves.push(Move::ResolverFinds { key });
        }
        if world.settlements < space.limits.settlements {
            let words = [Word::Succeeded, Word::DidNotHappen, Word::TryAgain];
            moves.extend(words.map(|word| Move::Settles { key, word }));
        }
    }
    if world.now < space.limits.ticks {
        moves.push(Move::Tick);
    }
}

/// Does it.
pub(crate) fn take(space: &Space, world: &mut World, step: Move) {
    for key in &mut world.keys {
        key.end_of_retention(world.now);
    }
    match step {
        Move::Begin { client, key } => {
            world.clients[client].begins += 1;
            let token = token_of(client, world.clients[client].begins);
            begin(space, world, client, key, token);
        }
        Move::BeginAgain { client } => {
            if let Stage::Running { key, attempt } = world.clients[client].stage {
                begin_again(space, world, client, key, attempt);
            }
        }
        Move::Acts { client } => acts(space, world, client),
        Move::Reports { client, report } => reports(space, world, client, report),
        Move::Crash { client } => crash(world, client),
        Move::Finds { client } => {
            if let Stage::Asking { key, token } = world.clients[client].stage {
                world.clients[client].stage = Stage::Idle;
                finds(space, world, key, token);
            }
        }
        Move::FindsNothing { client } => {
            if let Stage::Asking { key, token } = world.clients[client].stage {
                world.clients[client].stage = Stage::Idle;
                probed(space, world, key, token, Finding::Unknown);
            }
        }
        Move::ActsAdrift { key, place } => {
            world.keys[key].adrift[place].acted = true;
            let attempt = world.keys[key].adrift[place];
            has_effect(space, world, key, attempt);
        }
        Move::ReportsAdrift { key, place } => {
            let attempt = world.keys[key].adrift[place];
            if attempt.acted {
                complete(space, world, key, attempt.token);
            } else {
                world.keys[key].adrift.remove(place);
                release(space, world, key, attempt.token);
            }
        }
        Move::Alarm { key } => alarm(space, world, key),
        Move::ResolverFinds { key } => {
            if let Some(token) = world.keys[key].resolver_asks.take() {
                finds(space, world, key, token);
            }
        }
        Move::Settles { key, word } => settles(space, world, key, word),
        Move::Tick => world.now += 1,
    }
}

fn token_of(client: usize, begins: u8) -> u8 {
    let tens = u8::try_from(client).unwrap_or(u8::MAX);
    1 + tens * 10 + begins
}

/// The third client sends another request under the first key.
const fn print_of(client: usize, key: usize) -> u8 {
    if client == CLIENTS - 1 && key == 0 {
        2
    } else {
        1
    }
}

fn ask(client: usize, key: usize, token: u8) -> Ask {
    Ask {
        token: id(token),
        fingerprint: Fingerprint {
            recipe: 1,
            digest: [print_of(client, key); 32],
        },
        minted_at: None,
    }
}

fn begin(space: &Space, world: &mut World, client: usize, key: usize, token: u8) {
    let now = world.now;
    let it = &mut world.keys[key];
    let record = it.record.0.clone();
    let (begin, change) = decide::begin(
        record,
        it.floor,
        &ask(client, key, token),
        &space.policy,
        at(now),
    );
    it.keep(change);
    let life = it.life.clone();
    let print = print_of(client, key);
    let other = life.as_ref().is_some_and(|life| life.print != print);
    if other && space.policy.kind() == Kind::Api {
        world.must(begin == Begin::Mismatch, Breach::OtherRequest);
    }
    match begin {
        Begin::Execute(lease) => {
            let attempt = executed(space, world, key, token, print, &lease);
            world.clients[client].stage = Stage::Running { key, attempt };
        }
        Begin::Replay(replay) => {
            let same = life.is_some_and(|life| match life.standing {
                Standing::Settled { outcome: token, .. } => replay.outcome == outcome(token),
                Standing::Open | Standing::Unknown => false,
            });
            world.must(same, Breach::SameBytes);
        }
        Begin::Ask(question) => {
            asks(space, world, key, token, ticks(question.until));
            world.clients[client].stage = Stage::Asking { key, token };
        }
        Begin::Wait { .. } => {
            let asked = |life: &Life| life.asking.is_some_and(|(_, until)| now < until);
            let busy = life.is_some_and(|life| life.is_running(now) || asked(&life));
            world.must(busy, Breach::OneLease);
        }
        Begin::Unknown { .. } => {
            world.must(
                life.is_some_and(|life| life.is_unknown(now)),
                Breach::NotForgotten,
            );
        }
        Begin::Mismatch => world.must(other, Breach::OtherRequest),
        Begin::Expired | Begin::FromTheFuture | Begin::Abandoned => {
            world.must(false, Breach::NotForgotten);
        }
    }
}

fn begin_again(space: &Space, world: &mut World, client: usize, key: usize, attempt: Attempt) {
    let now = world.now;
    let it = &mut world.keys[key];
    let life = it.life.clone();
    let print = life.as_ref().map_or(0, |life| life.print);
    if print != print_of(client, key) && space.policy.kind() == Kind::Api {
        return;
    }
    let holds = life.is_some_and(|life| life.holder == attempt.token && life.is_running(now));
    let record = it.record.0.clone();
    let known = record.as_ref().is_some_and(|record| {
        record.attempt == id(attempt.token) || record.has_superseded(id(attempt.token))
    });
    if !known {
        return; // its record was forgotten: it is a new caller's, and the walk has those
    }
    let ask = ask(client, key, attempt.token);
    let (begin, change) = decide::begin(record, it.floor, &ask, &space.policy, at(now));
    it.keep(change);
    let repeated = matches!(begin, Begin::Execute(Lease { repeated: true, .. }));
    world.must(repeated == holds, Breach::OneLease);
    world.must(
        repeated || !matches!(begin, Begin::Execute(_)),
        Breach::OneLease,
    );
    // A token that was let run and ended unknown never asks.
    world.must(!matches!(begin, Begin::Ask(_)), Breach::OneQuestion);
}

/// The right to run was given.
fn executed(
    space: &Space,
    world: &mut World,
    key: usize,
    token: u8,
    print: u8,
    lease: &Lease,
) -> Attempt {
    let now = world.now;
    let life = world.keys[key].life.clone();
    let number = lease.number.get();
    let rises = number > world.keys[key].highest && !lease.repeated;
    world.must(rises, Breach::NumberRises);
    if let Some(life) = &life {
        let by_itself = match space.policy.on_unknown() {
            OnUnknown::Resume | OnUnknown::Rerun => true,
            OnUnknown::Park | OnUnknown::Probe => false,
        };
        world.must(!life.is_settled(), Breach::SettledStays);
        world.must(now >= life.lease_until, Breach::OneLease);
        world.must(by_itself || life.retry_allowed, Breach::NotRetried);
        world.must(lease.took_over.is_some(), Breach::NotForgotten);
    } else {
        world.keys[key].made = None;
    }
    let it = &mut world.keys[key];
    it.highest = number;
    it.life = Some(Life {
        print: life.as_ref().map_or(print, |life| life.print),
        holder: token,
        lease_until: ticks(lease.until),
        standing: Standing::Open,
        earlier_unknown: life.is_some(),
        said_not_run: false,
        retry_allowed: false,
        asking: None,
    });
    Attempt {
        token,
        number,
        epoch: it.epoch,
        acted: false,
        refused: false,
    }
}

fn asks(space: &Space, world: &mut World, key: usize, token: u8, until: u8) {
    let now = world.now;
    let probes = space.policy.on_unknown() == OnUnknown::Probe;
    let free = world.keys[key].life.as_ref().is_some_and(|life| {
        let asked = life.asking.is_some_and(|(_, until)| now < until);
        life.is_unknown(now) && now >= life.lease_until && !asked
    });
    world.must(probes && free, Breach::OneQuestion);
    if let Some(life) = &mut world.keys[key].life {
        life.standing = Standing::Unknown;
        life.asking = Some((token, until));
    }
}

fn acts(space: &Space, world: &mut World, client: usize) {
    if let Stage::Running { key, attempt } = &mut world.clients[client].stage {
        attempt.acted = true;
        let (key, attempt) = (*key, *attempt);
        has_effect(space, world, key, attempt);
    }
}

/// The origin did it. One that dedupes does it once, whatever it is sent.
fn has_effect(space: &Space, world: &mut World, key: usize, attempt: Attempt) {
    let it = &mut world.keys[key];
    it.made = Some(attempt.token);
    if attempt.epoch != it.epoch {
        return; // a person, or the end of the retention, took that risk
    }
    it.effects += 1;
    let once = match space.policy.on_unknown() {
        OnUnknown::Park | OnUnknown::Probe => it.effects <= 1,
        OnUnknown::Resume | OnUnknown::Rerun => {
            it.effects = 1;
            true
        }
    };
    world.must(once, Breach::OneEffect);
}

fn reports(space: &Space, world: &mut World, client: usize, report: Report) {
    let Stage::Running { key, attempt } = world.clients[client].stage else {
        return;
    };
    world.clients[client].stage = Stage::Idle;
    match report {
        Report::Truth if attempt.acted => {
            complete(space, world, key, attempt.token);
            drift(world, key, attempt); // the report may come once more
        }
        Report::Truth => release(space, world, key, attempt.token),
        Report::Unknown => {
            suspend(space, world, key, attempt.token);
            drift(world, key, attempt);
        }
    }
}

fn crash(world: &mut World, client: usize) {
    let stage = core::mem::take(&mut world.clients[client].stage);
    if let Stage::Running { key, attempt } = stage {
        drift(world, key, attempt);
    }
}

fn drift(world: &mut World, key: usize, attempt: Attempt) {
    let adrift = &mut world.keys[key].adrift;
    adrift.push(attempt);
    adrift.sort_unstable(); // which of them was first makes no difference
}

fn complete(space: &Space, world: &mut World, key: usize, token: u8) {
    let (now, retention) = (world.now, space.policy.retention());
    let it = &mut world.keys[key];
    let life = it.life.clone();
    let record = it.record.0.clone();
    let (complete, change) =
        decide::complete(record, id(token), outcome(token), None, retention, at(now));
    it.keep(change);
    let holds = life.as_ref().is_some_and(|life| life.holder == token);
    let settled = life.as_ref().is_some_and(Life::is_settled);
    match complete {
        Complete::Recorded { .. } => {
            world.must(holds, Breach::StaleChangesNothing);
            world.must(!settled, Breach::SettledStays);
            settled_by(world, key, token, token, ByHand::No);
        }
        Complete::AlreadyRecorded { .. } => {
            world.must(holds && settled, Breach::StaleChangesNothing);
        }
        Complete::Superseded => world.must(!holds, Breach::NotForgotten),
    }
}

/// Whose word an outcome is known by.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ByHand {
    Yes,
    No,
}

fn settled_by(world: &mut World, key: usize, holder: u8, made: u8, by: ByHand) {
    let until = world.now + RETENTION_TICKS;
    if let Some(life) = &mut world.keys[key].life {
        life.holder = holder;
        life.asking = None;
        life.standing = Standing::Settled {
            outcome: made,
            until,
            by_hand: by == ByHand::Yes,
        };
    }
}

fn release(space: &Space, world: &mut World, key: usize, token: u8) {
    let now = world.now;
    let it = &mut world.keys[key];
    let life = it.life.clone();
    let record = it.record.0.clone();
    let (release, change) = decide::release(record, id(token), None, &space.policy, at(now));
    it.keep(change);
    let holds = life.as_ref().is_some_and(|life| life.holder == token);
    let earlier = life.as_ref().is_some_and(|life| life.earlier_unknown);
    match release {
        Release::Released => {
            it.life = None;
            world.must(holds, Breach::StaleChangesNothing);
            world.must(!earlier, Breach::ReleaseIsOne);
        }
        Release::StillUnknown(_) => {
            if let Some(life) = &mut it.life {
                life.standing = Standing::Unknown;
                life.said_not_run = true;
                life.asking = None;
            }
            world.must(holds && earlier, Breach::ReleaseIsOne);
        }
        Release::AlreadyReleased => {
            let said = life.is_none_or(|life| life.said_not_run);
            world.must(said, Breach::NotForgotten);
        }
        Release::AlreadyRecorded => world.must(false, Breach::StaleChangesNothing),
        Release::Superseded => world.must(!holds, Breach::NotForgotten),
    }
}

fn suspend(space: &Space, world: &mut World, key: usize, token: u8) {
    let now = world.now;
    let it = &mut world.keys[key];
    let life = it.life.clone();
    let (record, cause) = (it.record.0.clone(), UnknownCause::Timeout);
    let (suspend, change) = decide::suspend(record, id(token), cause, None, &space.policy, at(now));
    it.keep(change);
    let holds = life.as_ref().is_some_and(|life| life.holder == token);
    let settled = life.as_ref().is_some_and(Life::is_settled);
    match suspend {
        Suspend::Suspended(_) | Suspend::AlreadySuspended(_) => {
            if let Some(life) = &mut it.life {
                life.standing = Standing::Unknown;
            }
            world.must(holds && !settled, Breach::StaleChangesNothing);
        }
        Suspend::AlreadyRecorded => world.must(holds && settled, Breach::StaleChangesNothing),
        Suspend::Superseded => world.must(!holds, Breach::NotForgotten),
    }
}

/// The origin tells the truth, and keeps what it promises with it: what it denies it refuses from now on (U3).
fn finds(space: &Space, world: &mut World, key: usize, token: u8) {
    let finding = if let Some(made) = world.keys[key].made {
        Finding::Final(outcome(made))
    } else {
        deny(world, key);
        Finding::NotRun
    };
    probed(space, world, key, token, finding);
}

fn deny(world: &mut World, key: usize) {
    for attempt in &mut world.keys[key].adrift {
        attempt.refused = !attempt.acted;
    }
    for client in &mut world.clients {
        if let Stage::Running {
            key: place,
            attempt,
        } = &mut client.stage
            && *place == key
        {
            attempt.refused = !attempt.acted;
        }
    }
}

fn probed(space: &Space, world: &mut World, key: usize, token: u8, finding: Finding) {
    let now = world.now;
    let it = &mut world.keys[key];
    let life = it.life.clone();
    let (record, made) = (it.record.0.clone(), it.made.unwrap_or(0));
    let (probed, change) = decide::probed(record, id(token), finding, &space.policy, at(now));
    it.keep(change);
    let asks = life.is_some_and(|life| life.asking.is_some_and(|(asking, _)| asking == token));
    match probed {
        Probed::Recorded { .. } => {
            settled_by(world, key, token, made, ByHand::No);
            world.must(asks, Breach::StaleChangesNothing);
        }
        Probed::NotRun => {
            it.life = None;
            world.must(asks, Breach::StaleChangesNothing);
        }
        Probed::Unknown(_) => {
            if let Some(life) = &mut it.life {
                life.asking = None;
            }
            world.must(asks, Breach::StaleChangesNothing);
        }
        Probed::Superseded => world.must(!asks, Breach::NotForgotten),
    }
}

/// What the object's alarm does about one key: a lease that ran out, then the resolver (U5).
fn alarm(space: &Space, world: &mut World, key: usize) {
    let now = world.now;
    let it = &mut world.keys[key];
    let Some(record) = it.record.0.clone() else {
        return;
    };
    it.keep(decide::expire(record, &space.policy, at(now)));
    let Some(record) = it.record.0.clone() else {
        return;
    };
    let token = RESOLVER_TOKENS + it.resolver_tokens;
    let print = record.fingerprint.digest[0];
    let (pursue, change) =
        decide::pursue(record, id(token), Resend::Possible, &space.policy, at(now));
    it.keep(change);
    match pursue {
        Pursue::Send(lease) => {
            it.resolver_tokens += 1;
            let attempt = executed(space, world, key, token, print, &lease);
            drift(world, key, attempt); // the object reports for it, now or late or never
        }
        Pursue::Ask(question) => {
            it.resolver_tokens += 1;
            it.resolver_asks = Some(token);
            asks(space, world, key, token, ticks(question.until));
        }
        Pursue::NeedsAPerson => {
            if let Some(life) = &mut it.life {
                life.asking = None; // its time was over
            }
        }
        Pursue::Nothing => {}
    }
}

fn settles(space: &Space, world: &mut World, key: usize, said: Word) {
    let now = world.now;
    let token = SETTLEMENT_TOKENS + world.settlements;
    let settlement = match said {
        Word::Succeeded => Settlement::Succeeded(outcome(token)),
        Word::DidNotHappen => Settlement::DidNotHappen,
        Word::TryAgain => Settlement::TryAgain,
    };
    let it = &mut world.keys[key];
    let life = it.life.clone();
    let record = it.record.0.clone();
    let (answer, change) = decide::settle(record, id(token), settlement, &space.policy, at(now));
    it.keep(change);
    match answer {
        Settle::Settled => {
            world.settlements += 1;
            let resumes = space.policy.on_unknown() == OnUnknown::Resume;
            if let Some(life) = &life {
                let by_hand = match life.standing {
                    Standing::Settled { by_hand, .. } => by_hand,
                    Standing::Open | Standing::Unknown => now >= life.lease_until,
                };
                world.must(by_hand, Breach::SettledStays);
            }
            let it = &mut world.keys[key];
            match said {
                Word::Succeeded => settled_by(world, key, token, token, ByHand::Yes),
                Word::DidNotHappen => {
                    it.life = None;
                    it.new_epoch();
                }
                Word::TryAgain => {
                    it.new_epoch();
                    if let Some(life) = &mut it.life {
                        life.standing = Standing::Unknown;
                        life.retry_allowed = !resumes;
                        life.asking = None;
                    }
                }
            }
        }
        Settle::AlreadySettled => world.must(false, Breach::SettledStays),
        Settle::Running { .. } => {
            world.must(
                life.is_some_and(|life| now < life.lease_until),
                Breach::OneLease,
            );
        }
        Settle::NothingToSettle => {
            let open = life.is_some_and(|life| life.is_unknown(now) && now >= life.lease_until);
            world.must(!open, Breach::NotForgotten);
        }
    }
}
