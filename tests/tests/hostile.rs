//! Input that no well-behaved library sends, through a raw socket: the right 4xx or a correct pass, never a 5xx and
//! never a hang.

use std::time::Duration;
use tests::keys::key;
use tests::raw::{RawAnswer, exchange, send_and_hang_up};
use tests::session::Session;
use tests::settings::{Settings, api_key, api_route};
use tokio::sync::OnceCell;

const PATIENCE: Duration = Duration::from_secs(8);

async fn gateway() -> &'static Session {
    static SESSION: OnceCell<Session> = OnceCell::const_new();
    SESSION
        .get_or_init(|| {
            Session::start(Settings::new("hostile").route("orders", &api_route("/v1/orders", "")))
        })
        .await
}

fn head(more: &str) -> String {
    format!(
        "POST /v1/orders HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Api-Key: {}\r\nContent-Type: application/json\r\nConnection: close\r\n{more}",
        api_key("acme")
    )
}

// A request with this body and a key of its own.
fn with_body(body: &[u8]) -> Vec<u8> {
    let more = format!(
        "Idempotency-Key: \"{}\"\r\nContent-Length: {}\r\n\r\n",
        key("hostile"),
        body.len()
    );
    let mut bytes = head(&more).into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

// A request with these header lines and an ordinary body.
fn with_lines(lines: &[u8]) -> Vec<u8> {
    let mut bytes = head("").into_bytes();
    bytes.extend_from_slice(lines);
    bytes.extend_from_slice(b"Content-Length: 2\r\n\r\n{}");
    bytes
}

#[track_caller]
fn check(what: &str, answer: &RawAnswer, expected: &[u16]) {
    assert!(!answer.hung, "{what} hangs; so far: {}", answer.text());
    let status = answer.status();
    assert!(
        status.is_some_and(|status| expected.contains(&status)),
        "{what}: {status:?} is none of {expected:?}: {}",
        answer.text()
    );
}

async fn row(what: &str, bytes: &[u8], expected: &[u16]) {
    check(
        what,
        &exchange(gateway().await.port(), bytes, PATIENCE).await,
        expected,
    );
}

#[test]
fn hostile_keys_are_refused() {
    // K2
    tests::run(async {
        let rows: [(&str, &[u8]); 11] = [
            ("two keys", b"Idempotency-Key: \"0123456789abcdef\"\r\nIdempotency-Key: \"0123456789abcdeg\"\r\n"),
            ("the same key twice", b"Idempotency-Key: \"0123456789abcdef\"\r\nIdempotency-Key: \"0123456789abcdef\"\r\n"),
            ("a carriage return in the key", b"Idempotency-Key: \"0123456789\rabcdef\"\r\n"),
            ("a line feed in the key", b"Idempotency-Key: \"0123456789\nabcdef\"\r\n"),
            ("a folded key", b"Idempotency-Key: \"0123456789\r\n abcdef\"\r\n"),
            ("a tab in the key", b"Idempotency-Key: \"0123456789\tabcdef\"\r\n"),
            ("a zero byte in the key", b"Idempotency-Key: \"0123456789\0abcdef\"\r\n"),
            ("invalid UTF-8 in the key", b"Idempotency-Key: \"0123456789\xff\xfeabcdef\"\r\n"),
            ("a list", b"Idempotency-Key: \"0123456789abcdef\", \"0123456789abcdeg\"\r\n"),
            ("an inner list", b"Idempotency-Key: (\"0123456789abcdef\")\r\n"),
            ("no key at all", b"Idempotency-Key:\r\n"),
        ];
        for (what, lines) in rows {
            row(what, &with_lines(lines), &[400]).await;
        }
        let long = format!("Idempotency-Key: \"{}\"\r\n", "k".repeat(300));
        row("a key of 300 bytes", &with_lines(long.as_bytes()), &[400]).await;
        let endless = format!("Idempotency-Key: \"{}\"\r\n", "k".repeat(200_000));
        row(
            "a key of 200 kB",
            &with_lines(endless.as_bytes()),
            &[400, 413, 431],
        )
        .await;
    });
}

#[test]
fn a_smuggled_header_line_reaches_nobody() {
    tests::run(async {
        let session = gateway().await;
        let name = key("smuggle");
        let lines =
            format!("Idempotency-Key: \"{name}\"\r\nX-Note: a\rOncegate-Tenant: globex\r\n");
        let answer = exchange(session.port(), &with_lines(lines.as_bytes()), PATIENCE).await;
        check("a bare carriage return", &answer, &[201, 400]);
        for seen in session.origin.seen_with_key(&name) {
            assert_eq!(seen.all("oncegate-tenant"), ["acme"], "{:?}", seen.headers);
        }
    });
}

#[test]
fn ambiguous_framing_is_refused_or_read_one_way() {
    tests::run(async {
        let session = gateway().await;
        let name = key("framing");
        let keyed = format!("Idempotency-Key: \"{name}\"\r\n");
        let both = "Content-Length: 6\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nXPOST /v1/orders HTTP/1.1\r\n\r\n";
        row(
            "both length and chunks",
            head(&format!("{keyed}{both}")).as_bytes(),
            &[201, 400],
        )
        .await;
        assert!(
            session.origin.seen_with_key(&name).len() <= 1,
            "one line of bytes is at most one request of this key"
        );
    });
}

// What is no HTTP at all never reaches a Worker: the runtime refuses it by itself, and in its own words.
fn refused_by_the_runtime(answer: &RawAnswer) -> bool {
    let text = answer.text();
    text.ends_with("\r\n\r\nInternal Server Error")
        || text.contains("ERROR: Unrecognized request method")
}

#[test]
fn impossible_framing_reaches_no_origin() {
    tests::run(async {
        let session = gateway().await;
        let rows = [
            (
                "two lengths",
                "Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}x",
            ),
            ("a negative length", "Content-Length: -1\r\n\r\n{}"),
            ("a length that is a word", "Content-Length: two\r\n\r\n{}"),
            (
                "an unknown transfer encoding",
                "Transfer-Encoding: gzip\r\n\r\n{}",
            ),
        ];
        for (what, framing) in rows {
            let name = key("framing");
            let bytes = head(&format!("Idempotency-Key: \"{name}\"\r\n{framing}"));
            let answer = exchange(session.port(), bytes.as_bytes(), PATIENCE).await;
            assert!(!answer.hung, "{what} hangs");
            assert!(
                refused_by_the_runtime(&answer) || answer.status() == Some(400),
                "{what}: {}",
                answer.text()
            );
            assert_eq!(session.origin.seen_with_key(&name).len(), 0, "{what}");
        }
    });
}

#[test]
fn a_body_shorter_than_its_length_has_no_effect() {
    tests::run(async {
        let session = gateway().await;
        // With a length: the local runtime's proxy makes a whole body of one whose chunks break off (measured).
        let name = key("short");
        let bytes = head(&format!(
            "Idempotency-Key: \"{name}\"\r\nContent-Length: 1000\r\n\r\n{{\"amount\":"
        ));
        drop(send_and_hang_up(session.port(), bytes.as_bytes()).await);
        // The gateway goes on answering, and half a body was never sent on.
        let answer = exchange(session.port(), &with_body(b"{}"), PATIENCE).await;
        check("a whole request afterwards", &answer, &[201]);
        assert_eq!(session.origin.seen_with_key(&name).len(), 0);
    });
}

#[test]
fn hostile_bodies_are_bytes() {
    // F2: what has no canonical form is compared by its bytes, and passed on as it is.
    tests::run(async {
        let deep = format!("{}1{}", "[".repeat(20_000), "]".repeat(20_000));
        let objects = format!("{}1{}", "{\"a\":".repeat(20_000), "}".repeat(20_000));
        let number = format!("{{\"a\":{}}}", "9".repeat(50_000));
        let rows: [(&str, &[u8]); 14] = [
            ("arrays 20,000 deep", deep.as_bytes()),
            ("objects 20,000 deep", objects.as_bytes()),
            ("a number of 50,000 digits", number.as_bytes()),
            ("a member twice", br#"{"a":1,"a":2}"#),
            ("a member twice, once escaped", br#"{"a":1,"\u0061":2}"#),
            ("invalid UTF-8", b"{\"a\":\"\xff\xfe\"}"),
            ("an overlong encoding", b"{\"a\":\"\xc0\xaf\"}"),
            ("a lone surrogate", br#"{"a":"\ud800"}"#),
            ("1e400", br#"{"a":1e400}"#),
            ("-0", br#"{"a":-0}"#),
            ("1e-400", br#"{"a":1e-400}"#),
            ("a byte order mark", b"\xef\xbb\xbf{}"),
            ("zero bytes", b"\0\0\0\0"),
            ("no JSON", b"not json at all"),
        ];
        let session = gateway().await;
        for (what, body) in rows {
            let bytes = with_body(body);
            let first = exchange(session.port(), &bytes, PATIENCE).await;
            check(what, &first, &[201]);
            let again = exchange(session.port(), &bytes, PATIENCE).await;
            check(what, &again, &[201]);
            assert!(
                again
                    .text()
                    .to_ascii_lowercase()
                    .contains("idempotent-replayed: true"),
                "{what}: {}",
                again.text()
            );
        }
    });
}

#[test]
fn hostile_heads_are_refused() {
    tests::run(async {
        let many = "X-Many: 1\r\n".repeat(5_000);
        let keyed = || format!("Idempotency-Key: \"{}\"\r\n", key("hostile"));
        row(
            "5,000 header lines",
            &with_lines(format!("{}{many}", keyed()).as_bytes()),
            &[201, 400, 413, 431],
        )
        .await;
        let media = format!("{}Content-Type: {}\r\n", keyed(), "/".repeat(5_000));
        row(
            "a media type that is none",
            &with_lines(media.as_bytes()),
            &[201, 400, 415],
        )
        .await;
        let long = format!(
            "POST /v1/orders?{} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            "q".repeat(100_000)
        );
        row(
            "a query of 100 kB",
            long.as_bytes(),
            &[400, 401, 413, 414, 431],
        )
        .await;
        row(
            "a path with a zero byte",
            b"POST /v1/ord\0ers HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            &[400, 404],
        )
        .await;
        let no_http: [(&str, &[u8]); 2] = [
            (
                "no HTTP",
                b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n",
            ),
            (
                "a method that is none",
                b"GE<T / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n",
            ),
        ];
        for (what, bytes) in no_http {
            let answer = exchange(gateway().await.port(), bytes, PATIENCE).await;
            assert!(!answer.hung, "{what} hangs");
            assert!(
                refused_by_the_runtime(&answer) || answer.status() == Some(400),
                "{what}: {}",
                answer.text()
            );
        }
    });
}

#[test]
fn hostile_values_of_our_own_headers_change_nothing() {
    tests::run(async {
        for value in [
            "",
            "-1",
            "0",
            "abc",
            "99999999999999999999999999",
            "1.5",
            "NaN",
        ] {
            let lines = format!(
                "Idempotency-Key: \"{}\"\r\nOncegate-Deadline: {value}\r\n",
                key("hostile")
            );
            // No time left is a refusal before a dispatch; what is no number counts as none.
            row(
                &format!("a deadline of {value:?}"),
                &with_lines(lines.as_bytes()),
                &[201, 400, 503],
            )
            .await;
        }
        let session = gateway().await;
        for path in [
            "/_oncegate/operations/%00",
            "/_oncegate/operations/..%2f..%2f",
            "/_oncegate/operations?route=%ff",
            "/_oncegate/problems/%2e%2e",
        ] {
            let bytes = format!(
                "GET {path} HTTP/1.1\r\nHost: a\r\nX-Api-Key: {}\r\nConnection: close\r\n\r\n",
                api_key("acme")
            );
            let answer = exchange(session.port(), bytes.as_bytes(), PATIENCE).await;
            check(path, &answer, &[400, 404]);
        }
    });
}
