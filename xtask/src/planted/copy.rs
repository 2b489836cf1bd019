//! A copy of the checkout under `.oncegate/planted`, with a target folder of its own.
//!
//! Kept between runs and only brought up to date, so that what has not changed is not compiled again.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Context, Result};
use crate::repo::{Repo, files_under, make_folder, read, read_bytes, write};

/// The copy; the checkout itself is never changed.
pub(super) struct Copy {
    root: PathBuf,
    target: PathBuf,
}

impl Copy {
    /// Brings the copy up to date with the checkout.
    pub(super) fn of(repo: &Repo) -> Result<Self> {
        let root = repo.cache("planted/tree");
        make_folder(&root)?;
        for file in files_under(&root)? {
            if !repo.root().join(within(&root, &file)).is_file() {
                fs::remove_file(&file).while_doing(|| format!("remove {}", file.display()))?;
            }
        }
        for file in files_under(repo.root())? {
            let copied = root.join(within(repo.root(), &file));
            let content = read_bytes(&file)?;
            if fs::read(&copied).is_ok_and(|there| there == content) {
                continue;
            }
            if let Some(folder) = copied.parent() {
                make_folder(folder)?;
            }
            write(&copied, content)?;
        }
        Ok(Self {
            root,
            target: repo.cache("planted/target"),
        })
    }

    /// The text of a file of the copy.
    pub(super) fn read(&self, file: &str) -> Result<String> {
        read(&self.root.join(file))
    }

    /// Changes a file of the copy.
    pub(super) fn write(&self, file: &str, text: &str) -> Result<()> {
        write(&self.root.join(file), text)
    }

    /// `cargo test` with these words, in the copy.
    pub(super) fn cargo_test(&self, words: &[String]) -> Command {
        let mut command = Command::new("cargo");
        command
            .current_dir(&self.root)
            .env("CARGO_TARGET_DIR", &self.target);
        command.arg("test").args(words);
        command
    }
}

fn within<'a>(root: &Path, file: &'a Path) -> &'a Path {
    file.strip_prefix(root).unwrap_or(file)
}
