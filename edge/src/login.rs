//! Who may see what operators see: sign-in by token, sessions by cookie, and the host they answer on (X3).
//!
//! Not the keeping of sessions (`fleet`). A token and a session's token are known by their SHA-256 alone, and what a
//! session may do is read from the configuration at each request: a token taken out of it ends its sessions.

use sha2::{Digest, Sha256};
use shared::config::Operator;
use shared::problem::Code;
use shared::time::Millis;
use shared::wire::{Login, Role, Session};
use worker::Response;

use crate::body::{self, Body};
use crate::entropy;
use crate::message_fleet::{FleetAnswer, FleetMessage, OpenSession};
use crate::request::Inbound;
use crate::respond;
use crate::site::Site;
use crate::telemetry::{Level, event};

const COOKIE: &str = "oncegate_session";
/// Only our own paths see the cookie; an origin's never do.
const COOKIE_PATH: &str = "/_oncegate/";
/// No other site's form or script can set it without asking first.
const OPERATOR_HEADER: &str = "oncegate-operator";
/// The most bytes of a login's body (X5): a token is some dozens.
const LOGIN_BYTES_MAX: usize = 4 * 1024;
/// The bytes of a session's token: 256 random bits.
const SESSION_BYTES: usize = 32;
const SESSION_DIGITS: usize = SESSION_BYTES * 2;

/// Somebody whose token is known.
pub(crate) struct Admitted {
    /// What they may do.
    pub(crate) role: Role,
    /// Who they are, for the log of changes (U6).
    pub(crate) name: String,
}

/// Why somebody may not do something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// No session, or one that is over.
    SignedOut,
    /// The role is not enough, or the request does not come from our own pages.
    Forbidden(&'static str),
    /// The fleet does not answer, so nobody knows.
    Unknown,
}

impl Refusal {
    /// The refusal as an answer.
    pub(crate) fn into_response(self) -> Response {
        match self {
            Self::SignedOut => {
                respond::problem(Code::Unauthenticated, "sign in at /_oncegate/login")
            }
            Self::Forbidden(why) => respond::problem(Code::Forbidden, why),
            Self::Unknown => respond::unavailable("the sessions could not be looked up"),
        }
    }
}

/// Whether the request came to the host on which alone operators are answered (X3).
pub(crate) fn is_operator_host(inbound: &Inbound, site: &Site) -> bool {
    let configured = site.settings.operator_host.as_deref();
    let asked = inbound.header("host");
    matches!((configured, asked), (Some(host), Some(asked)) if host.eq_ignore_ascii_case(asked))
}

/// The session that the request's cookie names, if its role is at least `least`.
pub(crate) async fn session(
    inbound: &Inbound,
    site: &Site,
    least: Role,
) -> Result<Session, Refusal> {
    let token = inbound
        .header("cookie")
        .and_then(session_token)
        .ok_or(Refusal::SignedOut)?;
    let question = FleetMessage::LookUpSession {
        session: digest_of(token),
    };
    let kept = match site.objects.fleet::<_, FleetAnswer>(&question).await {
        Ok(FleetAnswer::Session(kept)) => kept.ok_or(Refusal::SignedOut)?,
        Ok(_other) => return Err(unexpected()),
        Err(error) => {
            event(Level::Error, "session_unknown", &[("error", &error)]);
            return Err(Refusal::Unknown);
        }
    };
    let known = of_digest(site, &kept.token).ok_or(Refusal::SignedOut)?;
    if known.role < least {
        return Err(Refusal::Forbidden(
            "this needs a token with the role operator",
        ));
    }
    Ok(Session {
        role: known.role,
        name: known.name,
        expires_at: kept.expires_at,
    })
}

/// Whom an operator's token that the request carries as a bearer admits, for collectors of metrics.
pub(crate) fn bearer(inbound: &Inbound, site: &Site) -> Option<Admitted> {
    let token = bearer_token(inbound.header("authorization")?)?;
    of_digest(site, &digest_of(token))
}

/// A state change must come from a page of the same origin, with our header (X3).
pub(crate) fn check_own_page(inbound: &Inbound) -> Result<(), Refusal> {
    if inbound.header(OPERATOR_HEADER) != Some("1") {
        return Err(Refusal::Forbidden(
            "a state change needs the header Oncegate-Operator: 1",
        ));
    }
    let origin = inbound.header("origin").unwrap_or_default();
    let host = inbound.header("host").unwrap_or_default();
    if is_own_origin(origin, host) {
        Ok(())
    } else {
        Err(Refusal::Forbidden(
            "the Origin header does not name this host",
        ))
    }
}

/// `POST login`: a token for a cookie.
pub(crate) async fn sign_in(inbound: Inbound, site: &Site) -> Response {
    if let Err(refusal) = check_own_page(&inbound) {
        body::drain(inbound.body).await;
        return refusal.into_response();
    }
    let from = inbound
        .header("cf-connecting-ip")
        .unwrap_or_default()
        .to_owned();
    let host = inbound.header("host").unwrap_or_default().to_owned();
    let login: Login = match body::read(inbound.body, LOGIN_BYTES_MAX).await {
        Body::Whole(bytes) => match shared::json::read(&bytes) {
            Ok(login) => login,
            // The parser's text could repeat the token (X4).
            Err(_unreadable) => {
                return respond::problem(
                    Code::RequestMalformed,
                    "the body is not {\"token\":\"…\"}",
                );
            }
        },
        Body::TooLarge(_) => {
            return respond::problem(Code::BodyTooLarge, "a login takes 4 KiB at most");
        }
        Body::Broken(_) => return respond::problem(Code::RequestMalformed, "the body broke off"),
    };
    let Ok(random) = entropy::random::<SESSION_BYTES>() else {
        return respond::internal();
    };
    let token = hex::encode(random);
    let known = site
        .settings
        .operator_tokens
        .holder_of(login.token.as_bytes());
    let open = OpenSession {
        from,
        token: known.map(|_operator| digest_of(&login.token)),
        session: digest_of(&token),
    };
    match site
        .objects
        .fleet::<_, FleetAnswer>(&FleetMessage::OpenSession(open))
        .await
    {
        Ok(FleetAnswer::Opened { life }) => no_content(&set_cookie(&token, life, &host)),
        Ok(FleetAnswer::Refused) => respond::problem(
            Code::Unauthenticated,
            "this is not the token of an operator",
        ),
        Ok(FleetAnswer::Throttled { retry }) => throttled(retry),
        Ok(_other) => unexpected().into_response(),
        Err(error) => {
            event(Level::Error, "login_failed", &[("error", &error)]);
            respond::unavailable("the session could not be kept")
        }
    }
}

/// `POST logout`: the session ends here and not only in the browser.
pub(crate) async fn sign_out(inbound: Inbound, site: &Site) -> Response {
    let checked = check_own_page(&inbound);
    let session = inbound
        .header("cookie")
        .and_then(session_token)
        .map(digest_of);
    let host = inbound.header("host").unwrap_or_default().to_owned();
    body::drain(inbound.body).await;
    if let Err(refusal) = checked {
        return refusal.into_response();
    }
    if let Some(session) = session {
        let close = FleetMessage::CloseSession { session };
        if let Err(error) = site.objects.fleet::<_, FleetAnswer>(&close).await {
            event(Level::Error, "logout_failed", &[("error", &error)]);
            return respond::unavailable("the session could not be ended");
        }
    }
    no_content(&set_cookie("", Millis::new(0), &host))
}

fn no_content(cookie: &str) -> Response {
    respond::with_headers(
        204,
        &[("set-cookie", cookie), ("cache-control", "no-store")],
        Vec::new(),
    )
}

fn throttled(retry: Millis) -> Response {
    let seconds = retry.get().div_ceil(1_000).max(1);
    respond::problem_with(
        Code::TooManyAttempts,
        &format!(
            "too many failed logins from this address; the next one is looked at in {seconds} s"
        ),
        &[("retry-after", &seconds.to_string())],
    )
}

fn unexpected() -> Refusal {
    event(Level::Error, "fleet_answer_unexpected", &[]);
    Refusal::Unknown
}

/// Whose token has this SHA-256, in hex.
fn of_digest(site: &Site, digest: &str) -> Option<Admitted> {
    let mut bytes = [0; 32];
    hex::decode_to_slice(digest, &mut bytes).ok()?;
    let known = site.settings.operator_tokens.holder_of_digest(&bytes)?;
    Some(Admitted {
        role: known.role,
        name: name_of(known, digest),
    })
}

/// A token without a name is told by the beginning of its digest, which no configured name can look like: those have no
/// spaces.
fn name_of(known: &Operator, digest: &str) -> String {
    match &known.name {
        Some(name) => name.clone(),
        None => format!("token {}", digest.get(..8).unwrap_or_default()),
    }
}

fn digest_of(token: &str) -> String {
    hex::encode(Sha256::digest(token.as_bytes()))
}

/// The session's token in a `Cookie` header, if it has the form of one.
fn session_token(cookies: &str) -> Option<&str> {
    let named = |pair: &&str| pair.split_once('=').is_some_and(|(name, _)| name == COOKIE);
    let pair = cookies.split(';').map(str::trim).find(|pair| named(pair))?;
    let (_, token) = pair.split_once('=')?;
    let is_token =
        token.len() == SESSION_DIGITS && token.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_token.then_some(token)
}

fn set_cookie(token: &str, life: Millis, host: &str) -> String {
    let seconds = life.get() / 1_000;
    let secure = if is_local(host) { "" } else { "; Secure" };
    format!(
        "{COOKIE}={token}; Path={COOKIE_PATH}; Max-Age={seconds}; HttpOnly; SameSite=Strict{secure}"
    )
}

fn bearer_token(authorization: &str) -> Option<&str> {
    let (scheme, token) = authorization.split_once(' ')?;
    scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
}

/// Over plain HTTP only a machine's own addresses are believed.
fn is_own_origin(origin: &str, host: &str) -> bool {
    let named = match origin.strip_prefix("https://") {
        Some(named) => Some(named),
        None => origin
            .strip_prefix("http://")
            .filter(|named| is_local(named)),
    };
    named.is_some_and(|named| !host.is_empty() && named.eq_ignore_ascii_case(host))
}

fn is_local(host: &str) -> bool {
    let name = match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) => name,
        Some(_) | None => host,
    };
    matches!(name, "localhost" | "127.0.0.1" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOKEN: &str = "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff";

    #[track_caller]
    fn check_token(cookies: &str, expected: Option<&str>) {
        assert_eq!(session_token(cookies), expected, "{cookies}");
    }

    #[test]
    fn a_session_is_found_among_other_cookies() {
        check_token(&format!("oncegate_session={TOKEN}"), Some(TOKEN));
        check_token(
            &format!("a=b; oncegate_session={TOKEN}; c=d=e"),
            Some(TOKEN),
        );
        check_token(&format!("a; ;oncegate_session={TOKEN}"), Some(TOKEN));
        check_token("", None);
        check_token("oncegate_session=", None);
        check_token(&format!("oncegate_session={TOKEN}0"), None);
        check_token(
            &format!("oncegate_session={}", TOKEN.replace('f', "g")),
            None,
        );
        check_token(&format!("not_oncegate_session={TOKEN}"), None);
    }

    #[test]
    fn cookies_are_strict_and_secure_but_on_the_own_machine() {
        let life = Millis::from_hours(12);
        assert_eq!(
            set_cookie("ab", life, "ops.example"),
            "oncegate_session=ab; Path=/_oncegate/; Max-Age=43200; HttpOnly; SameSite=Strict; Secure"
        );
        assert!(!set_cookie("ab", life, "localhost:8787").contains("Secure"));
        assert!(set_cookie("", Millis::new(0), "127.0.0.1:1").contains("Max-Age=0"));
    }

    #[test]
    fn only_pages_of_the_same_host_are_our_own() {
        for (origin, host, own) in [
            ("https://ops.example", "ops.example", true),
            ("https://OPS.example", "ops.example", true),
            ("http://ops.example", "ops.example", false),
            ("http://localhost:8787", "localhost:8787", true),
            ("http://[::1]:8787", "[::1]:8787", true),
            ("http://localhost:8788", "localhost:8787", false),
            ("https://ops.example.evil", "ops.example", false),
            ("null", "ops.example", false),
            ("", "", false),
            ("https://", "", false),
        ] {
            assert_eq!(is_own_origin(origin, host), own, "{origin} on {host}");
        }
    }

    #[test]
    fn who_has_no_name_is_told_by_the_digest() {
        let named = |name: Option<&str>| {
            let known = Operator {
                role: Role::Operator,
                name: name.map(String::from),
            };
            name_of(&known, TOKEN)
        };
        assert_eq!(named(Some("alice")), "alice");
        assert_eq!(named(None), "token 00112233");
    }

    #[test]
    fn bearers_are_read() {
        assert_eq!(bearer_token("Bearer abc"), Some("abc"));
        assert_eq!(bearer_token("bearer  abc"), Some("abc"));
        assert_eq!(bearer_token("Basic abc"), None);
        assert_eq!(bearer_token("abc"), None);
    }

    #[test]
    fn addresses_of_the_own_machine_are_local() {
        for (host, local) in [
            ("localhost", true),
            ("127.0.0.1:80", true),
            ("[::1]:80", true),
            ("[::1]", true),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:80", false),
        ] {
            assert_eq!(is_local(host), local, "{host}");
        }
    }
}
