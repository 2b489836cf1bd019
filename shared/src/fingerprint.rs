//! What makes two requests the same request (F1–F4): a SHA-256 over what the operation is defined by.
//!
//! Not a check of integrity, and not optional (F4). The safe direction is two fingerprints for what was one
//! request: its retry is refused, and nothing is lost. One fingerprint for two requests would answer the second
//! with what happened to the first.

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::canonical::canonical_form;
use crate::media::{boundary, essence, is_json, is_multipart, multipart_pieces};
use crate::pointer::Pointer;
use crate::time::Timestamp;

/// The version of the recipe below, kept in every record (F3).
///
/// Version 1 hashes these parts, each behind a byte 1 and its length as eight bytes, most significant first; an
/// absent part is a byte 0:
/// - of a request: `request`, method, path with query, essence of the media type (absent without a
///   `Content-Type`), and the body as `json` and its canonical form, or as `multipart` and its pieces, or as
///   `bytes` and its bytes;
/// - of a webhook's body: `body`, and its bytes.
pub const RECIPE: u16 = 1;

/// The digest of a request, with the version of the recipe that made it.
///
/// As text it is `v1:` and 64 lower-case hex digits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Fingerprint {
    /// The recipe's version.
    pub recipe: u16,
    /// The SHA-256 that it made.
    pub digest: [u8; 32],
}

/// What a request is defined by (F1).
#[derive(Clone, Copy, Debug)]
pub struct RequestShape<'a> {
    /// The method, as it came.
    pub method: &'a str,
    /// The path with its query, as they came.
    pub path_and_query: &'a str,
    /// The value of `Content-Type`, if there is one.
    pub content_type: Option<&'a [u8]>,
    /// The whole body.
    pub body: &'a [u8],
    /// What the route leaves out of a JSON body.
    pub exclusions: &'a [Exclusion],
}

/// A volatile member that a route leaves out of the fingerprint (F3).
///
/// It applies past its `until` too: dropping it by itself would make mismatches of honest retries. It is flagged
/// to operators then.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Exclusion {
    /// What is left out.
    pub pointer: Pointer,
    /// When this exception should be gone.
    pub until: Timestamp,
    /// Why it is there.
    pub reason: String,
}

/// A text that is not a fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "fingerprint \"{found}\" is not \"v\", a recipe's number, \":\" and 64 lower-case hex digits"
)]
pub struct FingerprintError {
    found: String,
}

impl Fingerprint {
    /// The fingerprint of an API request under the present recipe.
    #[must_use]
    pub fn of_request(request: &RequestShape<'_>) -> Self {
        let essence = request.content_type.map(essence);
        let mut parts = Parts::new(b"request");
        parts.add(request.method.as_bytes());
        parts.add(request.path_and_query.as_bytes());
        match &essence {
            Some(essence) => parts.add(essence),
            None => parts.add_absent(),
        }
        parts.add_body(request, essence.as_deref().unwrap_or_default());
        parts.finish()
    }

    /// The fingerprint of a webhook's body, by which a changed redelivery shows (F5).
    #[must_use]
    pub fn of_body(body: &[u8]) -> Self {
        let mut parts = Parts::new(b"body");
        parts.add(body);
        parts.finish()
    }
}

/// Hashes parts so that no two lists of parts are one byte string.
struct Parts(Sha256);

impl Parts {
    fn new(domain: &[u8]) -> Self {
        let mut parts = Self(Sha256::new());
        parts.add(domain);
        parts
    }

    fn add(&mut self, part: &[u8]) {
        self.0.update([1]);
        self.0.update((part.len() as u64).to_be_bytes());
        self.0.update(part);
    }

    fn add_absent(&mut self) {
        self.0.update([0]);
    }

    /// F2: canonical where nothing is lost, without its boundary where it is multipart, else as it came.
    fn add_body(&mut self, request: &RequestShape<'_>, essence: &[u8]) {
        if is_json(essence) {
            let left_out: Vec<&Pointer> = request
                .exclusions
                .iter()
                .map(|exclusion| &exclusion.pointer)
                .collect();
            if let Ok(form) = canonical_form(request.body, &left_out) {
                self.add(b"json");
                self.add(&form);
                return;
            }
        }
        if is_multipart(essence)
            && let Some(boundary) = request.content_type.and_then(boundary)
        {
            self.add(b"multipart");
            for piece in multipart_pieces(request.body, &boundary) {
                self.add(piece);
            }
            return;
        }
        self.add(b"bytes");
        self.add(request.body);
    }

    fn finish(self) -> Fingerprint {
        Fingerprint {
            recipe: RECIPE,
            digest: self.0.finalize().into(),
        }
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "v{}:{}", self.recipe, hex::encode(self.digest))
    }
}

impl From<Fingerprint> for String {
    fn from(fingerprint: Fingerprint) -> Self {
        fingerprint.to_string()
    }
}

impl TryFrom<String> for Fingerprint {
    type Error = FingerprintError;

    fn try_from(text: String) -> Result<Self, FingerprintError> {
        match parsed(&text) {
            // Only the one text that it would be shown as.
            Some(fingerprint) if fingerprint.to_string() == text => Ok(fingerprint),
            Some(_) | None => Err(FingerprintError { found: text }),
        }
    }
}

fn parsed(text: &str) -> Option<Fingerprint> {
    let (recipe, digits) = text.strip_prefix('v')?.split_once(':')?;
    let mut digest = [0; 32];
    hex::decode_to_slice(digits, &mut digest).ok()?;
    Some(Fingerprint {
        recipe: recipe.parse().ok()?,
        digest,
    })
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;
    use proptest::prelude::*;

    const JSON: Option<&[u8]> = Some(b"application/json");
    const BYTES: Option<&[u8]> = Some(b"application/octet-stream");

    fn shape<'a>(content_type: Option<&'a [u8]>, body: &'a [u8]) -> RequestShape<'a> {
        RequestShape {
            method: "POST",
            path_and_query: "/v1/orders",
            content_type,
            body,
            exclusions: &[],
        }
    }

    fn of(content_type: Option<&[u8]>, body: &[u8]) -> Fingerprint {
        Fingerprint::of_request(&shape(content_type, body))
    }

    #[track_caller]
    fn same(content_type: Option<&[u8]>, one: &str, other: &str) {
        assert_eq!(
            of(content_type, one.as_bytes()),
            of(content_type, other.as_bytes())
        );
    }

    #[track_caller]
    fn differ(content_type: Option<&[u8]>, one: &str, other: &str) {
        assert_ne!(
            of(content_type, one.as_bytes()),
            of(content_type, other.as_bytes())
        );
    }

    #[test]
    fn the_recipe_is_pinned() {
        let pinned =
            |fingerprint: Fingerprint, text: &str| assert_eq!(fingerprint.to_string(), text);
        pinned(
            of(JSON, b"{\"b\":1.0,\"a\":2}"),
            "v1:31baf26dc621ae39de031cf3c3ccc9819a988d9b0bea75d426233f0a4c000be8",
        );
        pinned(
            of(None, b"abc"),
            "v1:5cea66d799c599d448c11b9ceb8fea208105b67055eda181b908f5c3566db4b2",
        );
        let multipart = Some(b"multipart/form-data; boundary=xyz".as_slice());
        pinned(
            of(multipart, b"--xyz\r\n\r\nv\r\n--xyz--\r\n"),
            "v1:232b3198b55bc4309ac142eedf1ea4da477e3198bc08ddcb516451e4bd269684",
        );
        pinned(
            Fingerprint::of_body(b"abc"),
            "v1:edd645dc7fc77d7ba3abb608078acdf434d72ffa21146bb7cbc06dc16db0945c",
        );
    }

    #[test]
    fn each_part_counts_and_none_runs_into_the_next() {
        let base = shape(BYTES, b"body");
        let others = [
            RequestShape {
                method: "PUT",
                ..base
            },
            RequestShape {
                method: "post",
                ..base
            },
            RequestShape {
                path_and_query: "/v1/orders?",
                ..base
            },
            RequestShape {
                path_and_query: "/v1/orders?a=1",
                ..base
            },
            RequestShape {
                content_type: Some(b"text/plain"),
                ..base
            },
            RequestShape {
                content_type: Some(b""),
                ..base
            },
            RequestShape {
                content_type: None,
                ..base
            },
            RequestShape { body: b"", ..base },
            // The same bytes in a row, cut elsewhere.
            RequestShape {
                method: "POST/v1",
                path_and_query: "/orders",
                ..base
            },
            RequestShape {
                method: "POS",
                path_and_query: "T/v1/orders",
                ..base
            },
            RequestShape {
                path_and_query: "/v1/order",
                content_type: Some(b"sapplication/octet-stream"),
                ..base
            },
            RequestShape {
                content_type: Some(b"application/octet-strea"),
                body: b"mbody",
                ..base
            },
        ];
        for (at, other) in others.iter().enumerate() {
            assert_ne!(
                Fingerprint::of_request(&base),
                Fingerprint::of_request(other),
                "row {at}"
            );
            for (further, another) in others.iter().enumerate().skip(at + 1) {
                let (one, two) = (
                    Fingerprint::of_request(other),
                    Fingerprint::of_request(another),
                );
                assert_ne!(one, two, "rows {at} and {further}");
            }
        }
    }

    #[test]
    fn the_media_type_is_its_essence() {
        let plain = of(Some(b"text/plain"), b"x");
        assert_eq!(plain, of(Some(b"Text/PLAIN; charset=utf-8"), b"x"));
        assert_ne!(plain, of(Some(b"text/html"), b"x"));
    }

    #[test]
    fn json_counts_by_its_value_where_nothing_is_lost() {
        same(
            JSON,
            r#"{"a":1,"b":[1.0,"é"]}"#,
            "{ \"b\": [1, \"\\u00e9\"], \"a\": 1e0 }",
        );
        same(Some(b"application/vnd.api+json"), "[ ]", "[]");
        differ(JSON, "[1,2]", "[2,1]");
        differ(JSON, "9007199254740992", "9007199254740993"); // F2
        differ(JSON, "[9007199254740993]", "[9007199254740993 ]");
        differ(JSON, r#"{"a":1,"a":2}"#, r#"{"a":2}"#);
        differ(JSON, r#"{"a":1,"a":2}"#, r#"{"a":2,"a":1}"#);
        differ(JSON, r#""\ud800""#, "\"\u{fffd}\"");
        differ(JSON, "[1", "[1 ");
        differ(BYTES, "[1]", "[ 1]");
        differ(Some(b"text/plain"), "[1]", "[ 1]");
        differ(None, "[1]", "[ 1]");
    }

    #[test]
    fn a_form_is_never_taken_for_bytes() {
        // The canonical form of one body as the bytes of another, under one media type.
        let lossy = r#"{"a":1e400}"#;
        let mut bytes = Parts::new(b"request");
        let shape = shape(JSON, lossy.as_bytes());
        bytes.add(b"POST");
        bytes.add(b"/v1/orders");
        bytes.add(b"application/json");
        bytes.add(b"json");
        bytes.add(lossy.as_bytes());
        assert_ne!(bytes.finish(), Fingerprint::of_request(&shape));
        assert_ne!(Fingerprint::of_body(b"abc"), of(None, b"abc"));
    }

    #[test]
    fn a_multipart_boundary_counts_as_a_constant() {
        let with = |boundary: &str, content: &str| {
            let content_type = format!("multipart/form-data; boundary={boundary}");
            let body = format!(
                "--{boundary}\r\nContent-Disposition: form-data; name=a\r\n\r\n{content}\r\n--{boundary}--\r\n"
            );
            of(Some(content_type.as_bytes()), body.as_bytes())
        };
        assert_eq!(with("one", "x"), with("another", "x"));
        assert_eq!(with("one", "one"), with("another", "one"));
        assert_ne!(with("one", "x"), with("one", "y"));
        assert_ne!(with("one", "one"), with("another", "another"));
        // Two parts are not one part that looks like two.
        assert_ne!(
            with("one", "x\r\n--one\r\n\r\ny"),
            with("another", "x\r\n--one\r\n\r\ny")
        );
        // Without a boundary nothing is known of the body's parts.
        assert_ne!(
            of(Some(b"multipart/form-data"), b"--one\r\n"),
            of(Some(b"multipart/form-data"), b"--two\r\n")
        );
    }

    #[test]
    fn what_a_route_leaves_out_does_not_count() {
        let exclusions = [Exclusion {
            pointer: Pointer::parse("/sent_at").unwrap(),
            until: Timestamp::from_millis(0), // long past
            reason: "the client stamps each try".to_string(),
        }];
        let of = |body: &str| {
            Fingerprint::of_request(&RequestShape {
                exclusions: &exclusions,
                ..shape(JSON, body.as_bytes())
            })
        };
        assert_eq!(of(r#"{"a":1,"sent_at":1}"#), of(r#"{"sent_at":2,"a":1}"#));
        assert_eq!(
            of(r#"{"a":1,"sent_at":1893456000000000001}"#),
            of(r#"{"a":1}"#)
        );
        assert_ne!(of(r#"{"a":1,"sent_at":1}"#), of(r#"{"a":2,"sent_at":1}"#));
        assert_ne!(
            of(r#"{"a":1e400,"sent_at":1}"#),
            of(r#"{"a":1e400,"sent_at":2}"#)
        );
    }

    #[test]
    fn only_its_own_text_is_read() {
        let fingerprint = Fingerprint {
            recipe: 1,
            digest: [0xab; 32],
        };
        let text = format!("v1:{}", "ab".repeat(32));
        assert_eq!(
            serde_json::to_string(&fingerprint).unwrap(),
            format!("\"{text}\"")
        );
        assert_eq!(Fingerprint::try_from(text.clone()), Ok(fingerprint));
        let refused = [
            text.to_uppercase(),
            text.replace("ab", "AB"),
            text.replace("v1", "v01"),
            text.replace("v1", "v+1"),
            text.replace("v1", "v65536"),
            text.replace("v1:", "v:"),
            text.replace("v1:", ""),
            text[..text.len() - 2].to_string(),
            text.clone() + "00",
            String::new(),
        ];
        for text in refused {
            assert_eq!(
                Fingerprint::try_from(text.clone()),
                Err(FingerprintError { found: text })
            );
        }
    }

    proptest! {
        #[test]
        fn other_bodies_have_other_fingerprints(one in prop::collection::vec(any::<u8>(), 0..20), other in prop::collection::vec(any::<u8>(), 0..20)) {
            prop_assert_eq!(of(BYTES, &one) == of(BYTES, &other), one == other);
        }

        #[test]
        fn whole_numbers_never_collide(one in any::<u64>(), distance in 1..1_000_u64) {
            let other = one.wrapping_add(distance);
            prop_assert_ne!(of(JSON, one.to_string().as_bytes()), of(JSON, other.to_string().as_bytes()));
        }

        #[test]
        fn any_request_has_one(content_type in prop::collection::vec(any::<u8>(), 0..40), body in prop::collection::vec(any::<u8>(), 0..60)) {
            let one = of(Some(&content_type), &body);
            prop_assert_eq!(one, of(Some(&content_type), &body));
            prop_assert_eq!(Fingerprint::try_from(one.to_string()), Ok(one));
        }
    }
}
