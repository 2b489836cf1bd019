//! A request as the origin read it.

use crate::plan::Plan;
use std::io;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

/// Largest request that the origin takes, head and body.
const REQUEST_BYTES_MAX: usize = 16 << 20;

/// Everything of one request, to be looked at afterwards.
#[derive(Debug, Clone, Default)]
pub struct Seen {
    /// The request's own number (`Test-Number`, or the body's member `number`); 0 if it has none.
    pub number: u64,
    /// The method.
    pub method: String,
    /// Path and query as on the request line.
    pub target: String,
    /// All headers, names in lower case, in order.
    pub headers: Vec<(String, String)>,
    /// The body's bytes.
    pub body: Vec<u8>,
}

impl Seen {
    /// The first header of this lower-case name.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
    }

    /// All headers of this lower-case name.
    #[must_use]
    pub fn all(&self, name: &str) -> Vec<&str> {
        self.headers
            .iter()
            .filter(|(found, _)| found == name)
            .map(|(_, value)| value.as_str())
            .collect()
    }

    /// The idempotency key, without its quotes.
    #[must_use]
    pub fn key(&self) -> Option<String> {
        self.header("idempotency-key")
            .map(|key| key.trim_matches('"').to_owned())
    }

    /// `Oncegate-Attempt-Number`.
    ///
    /// # Panics
    /// When the gateway did not tell it, or told no number.
    #[must_use]
    pub fn attempt_number(&self) -> u64 {
        let number = self
            .header("oncegate-attempt-number")
            .and_then(|text| text.parse().ok());
        number.unwrap_or_else(|| panic!("L4: no attempt number in {:?}", self.headers))
    }

    pub(super) fn plan(&self) -> Result<Plan, serde_json::Error> {
        if let Some(header) = self.header("test-plan") {
            return serde_json::from_str(header);
        }
        let body: serde_json::Value = serde_json::from_slice(&self.body).unwrap_or_default();
        body.get("plan").map_or_else(
            || Ok(Plan::default()),
            |plan| serde_json::from_value(plan.clone()),
        )
    }

    fn numbered(mut self) -> Self {
        let from_body = || {
            let body: serde_json::Value = serde_json::from_slice(&self.body).ok()?;
            body.get("number")?.as_u64()
        };
        self.number = self
            .header("test-number")
            .and_then(|text| text.parse().ok())
            .or_else(from_body)
            .unwrap_or(0);
        self
    }
}

/// Reads the next request of a line; none when the other side has ended it between two requests.
pub(super) async fn read(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Option<Seen>> {
    let (mut seen, head_len, framing) = loop {
        if let Some(head) = parse(buffer)? {
            break head;
        }
        if !fill(stream, buffer).await? {
            return if buffer.is_empty() {
                Ok(None)
            } else {
                Err(io::ErrorKind::UnexpectedEof.into())
            };
        }
    };
    buffer.drain(..head_len);
    seen.body = match framing {
        Framing::Length(length) => exactly(stream, buffer, length).await?,
        Framing::Chunked => chunks(stream, buffer).await?,
    };
    Ok(Some(seen.numbered()))
}

enum Framing {
    Length(usize),
    Chunked,
}

fn parse(buffer: &[u8]) -> io::Result<Option<(Seen, usize, Framing)>> {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut request = httparse::Request::new(&mut headers);
    let httparse::Status::Complete(head_len) = request.parse(buffer).map_err(io::Error::other)?
    else {
        return Ok(None);
    };
    let seen = Seen {
        number: 0,
        method: request.method.unwrap_or_default().to_owned(),
        target: request.path.unwrap_or_default().to_owned(),
        headers: request
            .headers
            .iter()
            .map(|header| {
                (
                    header.name.to_ascii_lowercase(),
                    String::from_utf8_lossy(header.value).into_owned(),
                )
            })
            .collect(),
        body: Vec::new(),
    };
    let chunked = seen
        .header("transfer-encoding")
        .is_some_and(|value| value.eq_ignore_ascii_case("chunked"));
    let length = seen
        .header("content-length")
        .and_then(|value| value.parse().ok())
        .unwrap_or(0);
    let framing = if chunked {
        Framing::Chunked
    } else {
        Framing::Length(length)
    };
    Ok(Some((seen, head_len, framing)))
}

async fn fill(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<bool> {
    if buffer.len() > REQUEST_BYTES_MAX {
        return Err(io::Error::other("request too large for the test's origin"));
    }
    Ok(stream.read_buf(buffer).await? > 0)
}

async fn exactly(
    stream: &mut TcpStream,
    buffer: &mut Vec<u8>,
    length: usize,
) -> io::Result<Vec<u8>> {
    while buffer.len() < length {
        if !fill(stream, buffer).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
    Ok(buffer.drain(..length).collect())
}

async fn line(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<String> {
    loop {
        if let Some(end) = buffer.windows(2).position(|pair| pair == b"\r\n") {
            let line: Vec<u8> = buffer.drain(..end + 2).collect();
            return Ok(String::from_utf8_lossy(&line[..end]).into_owned());
        }
        if !fill(stream, buffer).await? {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
    }
}

async fn chunks(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = line(stream, buffer).await?;
        let digits = size.split(';').next().unwrap_or_default().trim();
        let length = usize::from_str_radix(digits, 16).map_err(io::Error::other)?;
        body.extend(exactly(stream, buffer, length).await?);
        // The line's end after a chunk's data, or the end of an empty trailer after the last one.
        line(stream, buffer).await?;
        if length == 0 {
            return Ok(body);
        }
    }
}
