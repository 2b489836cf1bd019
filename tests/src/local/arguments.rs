//! The command line of `local`.

use crate::repository;
use std::path::PathBuf;

/// What the user asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Arguments {
    /// The gateway's port on loopback.
    pub port: u16,
    /// The user's own service; the sample origin if none.
    pub origin: Option<String>,
    /// Whether generated traffic plays against it.
    pub demo: bool,
    /// Where credentials and records are kept.
    pub state: PathBuf,
}

const USAGE: &str = "usage: [--port N] [--origin URL] [--demo] [--state FOLDER]";

impl Arguments {
    /// Reads the words after the program's name.
    ///
    /// # Errors
    /// The word that was not understood, and the usage.
    pub fn parse(words: impl IntoIterator<Item = String>) -> Result<Self, String> {
        let mut arguments = Self {
            port: 8787,
            origin: None,
            demo: false,
            state: repository().join(".oncegate/dev"),
        };
        let mut words = words.into_iter();
        while let Some(word) = words.next() {
            let (name, inline) = match word.split_once('=') {
                Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
                None => (word, None),
            };
            let mut value = || {
                inline
                    .clone()
                    .or_else(|| words.next())
                    .ok_or_else(|| format!("{name} needs a value; {USAGE}"))
            };
            match name.as_str() {
                "--port" => arguments.port = port(&value()?)?,
                "--origin" => arguments.origin = Some(origin(&value()?)?),
                "--state" => arguments.state = PathBuf::from(value()?),
                "--demo" => arguments.demo = true,
                _ => return Err(format!("unknown argument {name:?}; {USAGE}")),
            }
        }
        if arguments.demo && arguments.origin.is_some() {
            return Err(
                "--demo plays its scenes at the sample origin; leave --origin out".to_owned(),
            );
        }
        Ok(arguments)
    }
}

fn port(text: &str) -> Result<u16, String> {
    text.parse()
        .ok()
        .filter(|port| *port > 0)
        .ok_or_else(|| format!("--port {text:?} is no port; write 1 to 65535"))
}

fn origin(text: &str) -> Result<String, String> {
    if text.starts_with("http://") || text.starts_with("https://") {
        Ok(text.trim_end_matches('/').to_owned())
    } else {
        Err(format!(
            "--origin {text:?} is no http URL; write http://127.0.0.1:3000"
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Result<Arguments, String> {
        Arguments::parse(line.split_whitespace().map(str::to_owned))
    }

    #[track_caller]
    fn refused(line: &str, fragment: &str) {
        match parse(line) {
            Ok(arguments) => panic!("{line} gave {arguments:?}"),
            Err(error) => assert!(error.contains(fragment), "{error}"),
        }
    }

    #[test]
    fn what_is_not_said_has_defaults() {
        let arguments = parse("").expect("no argument is needed");
        assert_eq!(
            (arguments.port, arguments.origin, arguments.demo),
            (8787, None, false)
        );
    }

    #[test]
    fn both_forms_of_a_value_are_taken() {
        for line in [
            "--port 9000 --origin http://127.0.0.1:3000/",
            "--port=9000 --origin=http://127.0.0.1:3000",
        ] {
            let arguments = parse(line).expect(line);
            assert_eq!(
                (arguments.port, arguments.origin.as_deref()),
                (9000, Some("http://127.0.0.1:3000"))
            );
        }
    }

    #[test]
    fn a_mistake_is_named() {
        refused("--port none", "\"none\" is no port");
        refused("--port 0", "1 to 65535");
        refused("--port", "needs a value");
        refused("--origin localhost:3000", "http://127.0.0.1:3000");
        refused("--prot 1", "\"--prot\"");
        refused("--demo --origin http://a", "leave --origin out");
    }
}
