//! Signs webhook payloads with the senders' own libraries (npm `stripe` and `standardwebhooks`), so that no code of
//! ours vouches for itself.

use crate::repository;
use serde_json::{Value, json};
use std::process::Stdio;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

/// The secret of the test's Stripe endpoint.
pub const STRIPE_SECRET: &str = "whsec_e2e_stripe_endpoint_secret";
/// The secret of the test's Standard Webhooks endpoint.
pub const STANDARD_SECRET: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

/// A payload to be signed.
#[derive(Debug, Clone)]
pub struct Job {
    scheme: &'static str,
    id: String,
    payload: String,
    secret: String,
    timestamp: u64,
}

/// A signed delivery: the bytes, and the headers that vouch for them.
#[derive(Debug, Clone)]
pub struct Delivery {
    /// The event's id.
    pub id: String,
    /// The payload.
    pub payload: String,
    /// The sender's headers.
    pub headers: Vec<(String, String)>,
}

impl Job {
    /// A Stripe event: its id is the payload's `/id`.
    #[must_use]
    pub fn stripe(id: &str, payload: &Value) -> Self {
        Self::stripe_text(id, payload.to_string())
    }

    /// A Stripe event whose payload is given to the byte.
    #[must_use]
    pub fn stripe_text(id: &str, payload: String) -> Self {
        let secret = STRIPE_SECRET.to_owned();
        Self {
            scheme: "stripe",
            id: id.to_owned(),
            payload,
            secret,
            timestamp: crate::keys::now_s(),
        }
    }

    /// A Standard Webhooks message: its id is the header `webhook-id`.
    #[must_use]
    pub fn standard(id: &str, payload: &Value) -> Self {
        let secret = STANDARD_SECRET.to_owned();
        let payload = payload.to_string();
        Self {
            scheme: "standard-webhooks",
            id: id.to_owned(),
            payload,
            secret,
            timestamp: crate::keys::now_s(),
        }
    }

    /// Signs with another secret.
    #[must_use]
    pub fn secret(mut self, secret: &str) -> Self {
        secret.clone_into(&mut self.secret);
        self
    }

    /// Signs as of so many seconds from now.
    #[must_use]
    pub fn aged(mut self, offset_s: i64) -> Self {
        self.timestamp = self.timestamp.saturating_add_signed(offset_s);
        self
    }

    fn line(&self) -> String {
        let Self {
            scheme,
            id,
            payload,
            secret,
            timestamp,
        } = self;
        format!(
            "{}\n",
            json!({ "scheme": scheme, "id": id, "payload": payload, "secret": secret, "timestamp": timestamp })
        )
    }
}

/// Signs one payload.
///
/// # Panics
/// As [`sign_all`].
pub async fn sign(job: Job) -> Delivery {
    match sign_all(vec![job]).await.pop() {
        Some(delivery) => delivery,
        None => panic!("the signer answered nothing"),
    }
}

/// Signs many payloads in one run of node, in order.
///
/// # Panics
/// When node or a library is missing, or one of the payloads cannot be signed.
pub async fn sign_all(jobs: Vec<Job>) -> Vec<Delivery> {
    match try_sign(&jobs).await {
        Ok(headers) => {
            assert_eq!(
                headers.len(),
                jobs.len(),
                "the signer answers each line with a line"
            );
            jobs.into_iter()
                .zip(headers)
                .map(|(job, headers)| Delivery {
                    id: job.id,
                    payload: job.payload,
                    headers,
                })
                .collect()
        }
        Err(error) => panic!("failed to sign: {error}; `cargo xtask setup` installs the libraries"),
    }
}

async fn try_sign(jobs: &[Job]) -> std::io::Result<Vec<Vec<(String, String)>>> {
    let mut child = Command::new("node")
        .arg(repository().join("tests/node/sign.mjs"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true)
        .spawn()?;
    let mut input = child.stdin.take().ok_or(std::io::ErrorKind::BrokenPipe)?;
    let lines: String = jobs.iter().map(Job::line).collect();
    let writer = tokio::spawn(async move {
        input.write_all(lines.as_bytes()).await?;
        input.shutdown().await
    });
    let output = child.wait_with_output().await?;
    writer.await.map_err(std::io::Error::other)??;
    if !output.status.success() {
        return Err(std::io::Error::other(format!(
            "sign.mjs ended with {}",
            output.status
        )));
    }
    output
        .stdout
        .split(|byte| *byte == b'\n')
        .filter(|line| !line.is_empty())
        .map(headers)
        .collect()
}

fn headers(line: &[u8]) -> std::io::Result<Vec<(String, String)>> {
    let headers: serde_json::Map<String, Value> = serde_json::from_slice(line)?;
    Ok(headers
        .into_iter()
        .map(|(name, value)| (name, value.as_str().unwrap_or_default().to_owned()))
        .collect())
}
