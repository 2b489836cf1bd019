//! Stamps: a digest of everything that an output was made from, so that nothing is made twice.
//!
//! Not a dependency graph: cargo knows what to compile again; a stamp only spares starting it.

use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::failure::Result;
use crate::repo::{Repo, files_under, make_folder, read_bytes, write};

/// The digest of one output's inputs and where the last one is kept.
pub(crate) struct Stamp {
    digest: String,
    file: PathBuf,
}

impl Stamp {
    /// Digests files and folders (paths in the checkout) and settings that are in no file.
    pub(crate) fn of(repo: &Repo, name: &str, paths: &[&str], settings: &[&str]) -> Result<Self> {
        let mut hash = Sha256::new();
        for path in paths {
            let path = repo.at(path);
            let files = if path.is_dir() {
                files_under(&path)?
            } else {
                vec![path]
            };
            for file in files {
                let name = file.strip_prefix(repo.root()).unwrap_or(&file);
                part(&mut hash, name.as_os_str().as_encoded_bytes());
                part(
                    &mut hash,
                    &if file.is_file() {
                        read_bytes(&file)?
                    } else {
                        Vec::new()
                    },
                );
            }
        }
        for setting in settings {
            part(&mut hash, setting.as_bytes());
        }
        let file = repo.cache("stamps").join(name);
        Ok(Self {
            digest: hex(&hash.finalize()),
            file,
        })
    }

    /// Whether `output` is there and was made from these very inputs.
    pub(crate) fn holds(&self, output: &Path) -> bool {
        output.exists() && std::fs::read_to_string(&self.file).is_ok_and(|last| last == self.digest)
    }

    /// Remembers that the output is now made from these inputs.
    pub(crate) fn save(&self) -> Result<()> {
        if let Some(folder) = self.file.parent() {
            make_folder(folder)?;
        }
        write(&self.file, &self.digest)
    }
}

/// The first sixteen hex digits of a content's SHA-256, for its file name.
pub(crate) fn content_hash(content: &[u8]) -> String {
    hex(&Sha256::digest(content))[..16].to_owned()
}

fn part(hash: &mut Sha256, bytes: &[u8]) {
    // With its length, so that no two lists of parts run together to the same bytes.
    hash.update(bytes.len().to_be_bytes());
    hash.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
