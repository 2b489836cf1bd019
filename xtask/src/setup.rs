//! Sets up what a bare machine lacks, once: compiler for WebAssembly, build tools, npm packages, a browser.
//!
//! What is there is never installed again. Tools live under `.oncegate` in the checkout; only Debian packages
//! (when rustup cannot serve the compiler, and the browser) and a rustup toolchain lie outside.

pub(crate) mod browser;
pub(crate) mod compiler;
pub(crate) mod debian;
pub(crate) mod node;
pub(crate) mod tools;

use crate::failure::Result;
use crate::repo::Repo;

pub(crate) use compiler::WasmCompiler;

/// Everything that `build` needs.
pub(crate) struct Toolchain {
    pub(crate) compiler: WasmCompiler,
    pub(crate) tools: tools::Tools,
}

/// Sets up the compiler, the build tools and the npm packages.
pub(crate) fn toolchain(repo: &Repo) -> Result<Toolchain> {
    node::packages(repo)?;
    let compiler = compiler::wasm(repo)?;
    let tools = tools::build_tools(repo)?;
    Ok(Toolchain { compiler, tools })
}

/// Sets up all that any command needs, the browser of the tests included.
pub(crate) fn everything(repo: &Repo) -> Result<()> {
    let _lock = repo.lock()?;
    toolchain(repo)?;
    browser::chromium()
}
