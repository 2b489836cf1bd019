//! Every refusal of the gateway: its code, status, title, what to do, and the page that explains it (RFC 9457).
//!
//! Not the detail of one refusal: that is said where it happens, with the offending value.

use core::fmt;

/// Whether and how to retry what was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Retry {
    /// Again later, with the same key.
    SameKey,
    /// Again, once mended, as a new operation under a new key.
    NewKey,
    /// Not as it was.
    Never,
}

impl fmt::Display for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::SameKey => "same-key",
            Self::NewKey => "new-key",
            Self::Never => "never",
        })
    }
}

macro_rules! problems {
    ($($variant:ident $code:literal $status:literal $retry:ident $title:literal $meaning:literal $remedy:literal)*) => {
        /// The code of a refusal. Codes are part of the public contract and never change meaning.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $title] $variant,)*
        }

        impl Code {
            /// All codes, in the order in which the documentation lists them.
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The code for programs, as in the problem's `code` and in the path of its page.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$variant => $code),* }
            }

            /// The HTTP status with which it is usually sent.
            #[must_use]
            pub const fn status(self) -> u16 {
                match self { $(Self::$variant => $status),* }
            }

            /// What to do about a retry.
            #[must_use]
            pub const fn retry(self) -> Retry {
                match self { $(Self::$variant => Retry::$retry),* }
            }

            /// The code in words.
            #[must_use]
            pub const fn title(self) -> &'static str {
                match self { $(Self::$variant => $title),* }
            }

            /// What it means, in a sentence or two.
            #[must_use]
            pub const fn meaning(self) -> &'static str {
                match self { $(Self::$variant => $meaning),* }
            }

            /// What the reader should do.
            #[must_use]
            pub const fn remedy(self) -> &'static str {
                match self { $(Self::$variant => $remedy),* }
            }
        }
    };
}

problems! {
    KeyReused "idempotency_key_reused" 422 NewKey "Idempotency key used for another request"
        "This key already names a request with another method, path, media type or body. Answering with the first request's result would hide that the second one was never done."
        "Mint a new key for each logical operation, before its first attempt, and send it with that operation only."
    InProgress "in_progress" 409 SameKey "The same request is still running"
        "An equal request holds the lease on this key and has not finished."
        "Wait for the time in Retry-After, then send the same request with the same key."
    OutcomeUnknown "outcome_unknown" 503 SameKey "Nobody knows whether the request took effect"
        "The request was sent on, and no answer came that proves that it was done or not done. It is neither a success nor a failure, and it does not run again by itself."
        "Do not use a new key: that could do it twice. Send the same request with the same key after Retry-After, or ask for the operation's state."
    KeyExpired "idempotency_key_expired" 410 Never "The idempotency key is older than the memory of it"
        "The key was minted longer ago than outcomes are kept, so nobody can tell any more whether it was used."
        "Find out by other means whether the operation was done. Only if it was not, start it again as a new operation with a new key."
    KeyMissing "idempotency_key_missing" 400 NewKey "The Idempotency-Key header is missing"
        "This endpoint makes each request take effect once, and needs a key that names the operation."
        "Send Idempotency-Key with a value of your own that is unique for this operation, best a UUIDv7, and keep it for its retries."
    KeyMalformed "idempotency_key_malformed" 400 NewKey "The Idempotency-Key header is malformed"
        "The header must hold one key: a quoted string, or a bare word of letters, digits and ._~:/+=-, within the length that the endpoint takes."
        "Send exactly one Idempotency-Key header with one key in it."
    Unauthenticated "unauthenticated" 401 SameKey "The request does not say whose it is"
        "Keys belong to a tenant, and the credential that names the tenant is missing or unknown."
        "Send the credential that this endpoint asks for."
    SignatureInvalid "signature_invalid" 401 Never "The webhook's signature does not hold"
        "The signature is missing, wrong, or outside of the accepted time. Nothing was written."
        "Check the endpoint's secret at the sender and here, and that no proxy changes the body."
    EventUnreadable "event_unreadable" 400 Never "The webhook's event cannot be read"
        "The signature holds, but the event's id could not be found where the sender puts it."
        "Check that the route's scheme is that of the sender."
    RequestMalformed "request_malformed" 400 Never "The request is malformed"
        "The request could not be read."
        "Mend the request as the detail says."
    BodyTooLarge "body_too_large" 413 Never "The request's body is too large"
        "The body is larger than the route accepts. Nothing was claimed and nothing was sent on."
        "Send a smaller body, or raise the route's request_body_max."
    PathNotCanonical "path_not_canonical" 400 Never "The path is another spelling of a protected one"
        "Passing it on could reach the protected endpoint without protection."
        "Use the endpoint's path exactly as it is published."
    NotFound "not_found" 404 Never "There is nothing here"
        "No route takes this path."
        "Check the path, or add a route."
    MethodNotAllowed "method_not_allowed" 405 Never "The path does not take this method"
        "A route takes this path, but not with this method."
        "Use one of the methods in Allow."
    OperationNotFound "operation_not_found" 404 Never "There is no such operation"
        "No operation with this id or key belongs to this credential, or its record has expired."
        "Check the id, the route and the credential. If a request with the key was never answered, send it again with the same key."
    AttemptSuperseded "attempt_superseded" 409 Never "This attempt does not count any more"
        "Another attempt took over, the operation was settled, or the attempt's lease is over. Nothing changed."
        "For its origin: stop working on it. What this attempt did is the gateway's to find out, by the operation's id."
    Forbidden "forbidden" 403 Never "This session may not do that"
        "The session's role does not allow it, or the request did not come from the dashboard's own pages."
        "Sign in with a token that has the role."
    TooManyAttempts "too_many_attempts" 429 SameKey "Too many attempts"
        "So many attempts came in so short a time that more would only do harm."
        "Wait for the time in Retry-After."
    StoreUnavailable "store_unavailable" 503 SameKey "The store did not answer"
        "The request could not be claimed, so it was not sent on: without a record nobody could keep it from running twice."
        "Send the same request with the same key after Retry-After."
    Misconfigured "misconfigured" 503 SameKey "The gateway is misconfigured"
        "The configuration contradicts itself, so no request is let through. The log names each mistake."
        "For its operator: run the configuration check and mend what it names."
    Internal "internal" 500 SameKey "The gateway failed"
        "Something failed that should not. If the request was sent on, its record says so."
        "Send the same request with the same key again: what was done is not done twice."
}

impl Code {
    /// Finds a code by its text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::collections::BTreeSet;

    #[test]
    fn codes_are_distinct_and_found_by_their_text() {
        let texts: BTreeSet<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert_eq!(texts.len(), Code::ALL.len());
        for code in Code::ALL {
            assert_eq!(Code::parse(code.as_str()), Some(*code));
            assert!((400..600).contains(&code.status()), "{code}");
        }
        assert_eq!(Code::parse("no_such_code"), None);
    }

    #[test]
    fn contract_a_gives_these_statuses_and_this_advice() {
        let rows = [
            (Code::KeyReused, 422, "new-key"),
            (Code::InProgress, 409, "same-key"),
            (Code::OutcomeUnknown, 503, "same-key"),
            (Code::KeyExpired, 410, "never"),
            (Code::KeyMissing, 400, "new-key"),
            (Code::KeyMalformed, 400, "new-key"),
            (Code::Unauthenticated, 401, "same-key"),
            (Code::BodyTooLarge, 413, "never"),
            (Code::TooManyAttempts, 429, "same-key"),
            (Code::StoreUnavailable, 503, "same-key"),
            (Code::Misconfigured, 503, "same-key"),
        ];
        for (code, status, retry) in rows {
            assert_eq!(code.status(), status, "{code}");
            assert_eq!(alloc::format!("{}", code.retry()), retry, "{code}");
        }
    }
}
