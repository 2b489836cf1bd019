//! Processes in a group of their own, which end when we end them and also when we are killed ourselves.
//!
//! A static of a test process is never dropped, and a killed process drops nothing. So each group is led by a small
//! shell whose second half reads from a pipe that we hold: when it closes, for whatever reason, that half kills its
//! own group, and nothing else.

use rustix::process::{Pid, Signal, kill_process_group};
use std::ffi::OsStr;
use std::fs::File;
use std::io;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Runs `"$@"` until it ends, and kills the whole group as soon as standard input ends. The trap lets the program
/// end in order when the group is asked to.
const LEADER: &str = r#"trap : TERM
exec 3<&0
(read -r _line <&3; kill -KILL 0) &
watch=$!
"$@" </dev/null 3<&-
code=$?
kill -KILL $watch 2>/dev/null
exit $code"#;

/// A process and all that it started.
pub struct Group {
    leader: Child,
}

impl Group {
    /// Starts `program` with its output going to the file `log`, from the folder `folder`.
    pub fn start<A: AsRef<OsStr>>(
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        environment: &[(&str, &str)],
        folder: &Path,
        log: &File,
    ) -> io::Result<Self> {
        use std::os::unix::process::CommandExt;
        let leader = Command::new("/bin/sh")
            .args(["-c", LEADER, "sh"])
            .arg(program)
            .args(arguments)
            .envs(environment.iter().copied())
            .current_dir(folder)
            .stdin(Stdio::piped())
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .process_group(0)
            .spawn()?;
        Ok(Self { leader })
    }

    /// Kills the whole group at once, as a lost machine would, and waits until its leader is gone.
    pub fn kill(&mut self) {
        self.signal(Signal::KILL);
        let _ = self.leader.wait();
    }

    /// Asks the group to end, and kills what is left after `patience`.
    pub fn end(&mut self, patience: Duration) {
        self.signal(Signal::TERM);
        let deadline = Instant::now() + patience;
        while Instant::now() < deadline {
            if self.has_ended() {
                break;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        self.signal(Signal::KILL);
        let _ = self.leader.wait();
    }

    /// Whether the program has ended by itself.
    pub fn has_ended(&mut self) -> bool {
        !matches!(self.leader.try_wait(), Ok(None))
    }

    /// The number of the group.
    #[must_use]
    pub fn id(&self) -> u32 {
        self.leader.id()
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.leader.id()).ok().and_then(Pid::from_raw) {
            // An error means that the group has ended already.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        self.kill();
    }
}

/// A port of loopback that nobody listens on at the moment.
///
/// # Panics
/// When loopback has none to give.
#[must_use]
pub fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).and_then(|listener| listener.local_addr());
    match listener {
        Ok(address) => address.port(),
        Err(error) => panic!("loopback has no free port: {error}"),
    }
}

/// Whether somebody listens on this port of loopback.
#[must_use]
pub fn listens(port: u16) -> bool {
    std::net::TcpStream::connect(("127.0.0.1", port)).is_ok()
}
