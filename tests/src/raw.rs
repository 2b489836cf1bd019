//! A client that says exactly the bytes it is given, for input that no well-behaved library would send.

use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// What came back before the line ended or the patience.
#[derive(Debug, Clone)]
pub struct RawAnswer {
    /// All bytes.
    pub bytes: Vec<u8>,
    /// Whether the patience ended before the answer was whole.
    pub hung: bool,
}

impl RawAnswer {
    /// The status of the first answer; none if there was no whole status line.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        let mut headers = [httparse::EMPTY_HEADER; 128];
        let mut response = httparse::Response::new(&mut headers);
        response.parse(&self.bytes).ok()?;
        response.code
    }

    /// Everything as text.
    #[must_use]
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.bytes).into_owned()
    }
}

/// Sends the bytes and reads the first answer.
///
/// # Panics
/// When nobody listens there.
pub async fn exchange(port: u16, bytes: &[u8], patience: Duration) -> RawAnswer {
    let mut stream = connect(port).await;
    // The other side may refuse in the middle of what we say; its answer counts all the same.
    let _ = stream.write_all(bytes).await;
    read(&mut stream, patience).await
}

/// Sends the bytes and hangs up without reading.
///
/// # Panics
/// When nobody listens there.
pub async fn send_and_hang_up(port: u16, bytes: &[u8]) -> TcpStream {
    let mut stream = connect(port).await;
    if let Err(error) = stream.write_all(bytes).await {
        panic!("failed to send: {error}");
    }
    stream
}

async fn connect(port: u16) -> TcpStream {
    match TcpStream::connect(("127.0.0.1", port)).await {
        Ok(stream) => stream,
        Err(error) => panic!("failed to connect to 127.0.0.1:{port}: {error}"),
    }
}

async fn read(stream: &mut TcpStream, patience: Duration) -> RawAnswer {
    let mut bytes = Vec::new();
    let whole = timeout(patience, async {
        while !is_whole(&bytes) {
            match stream.read_buf(&mut bytes).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
        }
    })
    .await;
    RawAnswer {
        hung: whole.is_err(),
        bytes,
    }
}

fn is_whole(bytes: &[u8]) -> bool {
    let mut headers = [httparse::EMPTY_HEADER; 128];
    let mut response = httparse::Response::new(&mut headers);
    let Ok(httparse::Status::Complete(head)) = response.parse(bytes) else {
        return false;
    };
    let value = |name: &str| {
        let found = response
            .headers
            .iter()
            .find(|header| header.name.eq_ignore_ascii_case(name));
        found.and_then(|header| std::str::from_utf8(header.value).ok())
    };
    match value("content-length").and_then(|text| text.parse::<usize>().ok()) {
        Some(length) => bytes.len() >= head + length,
        None => value("transfer-encoding").is_some() && bytes.ends_with(b"0\r\n\r\n"),
    }
}
