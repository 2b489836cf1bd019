//! A gateway on the developer's machine; `cargo xtask dev` and `cargo xtask demo` build everything and run this.

use std::process::ExitCode;
use tests::local::{self, Arguments};

fn main() -> ExitCode {
    let outcome = Arguments::parse(std::env::args().skip(1))
        .and_then(|arguments| tests::run(local::run(&arguments)));
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
