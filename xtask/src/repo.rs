//! Where things are: the repository, its outputs and the git-ignored folder of tools.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use crate::failure::{Context, Failure, Result};
use crate::process::say;

/// The checkout that the commands work in.
#[derive(Clone, Debug)]
pub(crate) struct Repo {
    root: PathBuf,
}

impl Repo {
    /// The checkout that this program was built from.
    pub(crate) fn find() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .map(Path::to_owned);
        let root = root.filter(|root| root.join("Cargo.lock").is_file());
        root.map(|root| Self { root }).ok_or_else(|| {
            Failure::new(format!("no checkout around {}", env!("CARGO_MANIFEST_DIR")))
                .remedy("run `cargo xtask` inside the checkout")
        })
    }

    /// The folder with Cargo.lock.
    pub(crate) fn root(&self) -> &Path {
        &self.root
    }

    /// A file or folder of the checkout.
    pub(crate) fn at(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    /// A file or folder under `.oncegate`: what is set up once and never committed.
    pub(crate) fn cache(&self, path: &str) -> PathBuf {
        self.root.join(".oncegate").join(path)
    }

    /// cargo's folder for what runs on this machine.
    pub(crate) fn target(&self) -> PathBuf {
        let set = std::env::var_os("CARGO_TARGET_DIR");
        set.map_or_else(|| self.root.join("target"), |folder| self.root.join(folder))
    }

    /// A program that npm installed.
    pub(crate) fn npm_bin(&self, program: &str) -> PathBuf {
        self.root.join("node_modules/.bin").join(program)
    }

    /// Waits until no other xtask sets up or builds in this checkout; the lock ends with the file.
    pub(crate) fn lock(&self) -> Result<File> {
        let path = self.cache("lock");
        make_folder(&self.cache(""))?;
        let file = File::create(&path).while_doing(|| format!("create {}", path.display()))?;
        if file.try_lock().is_err() {
            say("another xtask is building in this checkout; waiting for it");
            file.lock()
                .while_doing(|| format!("lock {}", path.display()))?;
        }
        Ok(file)
    }
}

/// Creates a folder and those above it.
pub(crate) fn make_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).while_doing(|| format!("create the folder {}", path.display()))
}

/// Removes a folder with all that is in it, if it is there.
pub(crate) fn remove_folder(path: &Path) -> Result<()> {
    if path.exists() {
        fs::remove_dir_all(path).while_doing(|| format!("remove {}", path.display()))?;
    }
    Ok(())
}

/// The text of a file.
pub(crate) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).while_doing(|| format!("read {}", path.display()))
}

/// The bytes of a file.
pub(crate) fn read_bytes(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).while_doing(|| format!("read {}", path.display()))
}

/// Writes a file.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    fs::write(path, content).while_doing(|| format!("write {}", path.display()))
}

/// Every file under a folder in a fixed order; what git ignores is left out: at the top of a checkout, and what
/// wrangler leaves beside a configuration.
pub(crate) fn files_under(folder: &Path) -> Result<Vec<PathBuf>> {
    const IGNORED: [&str; 5] = [".git", ".oncegate", "build", "node_modules", "target"];
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        let doing = || format!("list {}", next.display());
        for entry in fs::read_dir(&next).while_doing(doing)? {
            let path = entry.while_doing(doing)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let at_the_top = next.join("Cargo.lock").is_file();
            let ignored = name == ".wrangler" || at_the_top && IGNORED.contains(&&*name);
            if path.is_dir() && !ignored {
                folders.push(path);
            } else if path.is_file() {
                files.push(path);
            }
        }
    }
    files.sort();
    Ok(files)
}
