//! `planted`: puts each known bug into a copy of the checkout and shows that its test catches it.
//!
//! A bug is a file under tests/planted: where it goes (`file`), what it replaces (`find`, which is there exactly
//! once), by what (`replace`), the `rule` it breaks, and the `test` that must fail: the words after `cargo test`.
//! A bug that does not compile proves nothing and is a failure, as is a test that fails or runs nothing without it.

mod copy;

use std::collections::BTreeSet;
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use copy::Copy;

use crate::failure::{Context, Failure, Result};
use crate::process::say;
use crate::repo::{Repo, files_under, read};

/// A bug may turn a test into an endless loop; that is caught too.
const TEST_TIME_MAX: Duration = Duration::from_mins(5);

/// One planted bug.
struct Bug {
    name: String,
    file: String,
    find: String,
    replace: String,
    rule: String,
    test: Vec<String>,
}

/// What became of a planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fate {
    Caught,
    CaughtByTime,
    DoesNotCompile,
    Survived,
}

/// Plants the bugs of these names, or all of them, and prints what became of each.
pub(crate) fn planted(repo: &Repo, names: &[String]) -> Result<()> {
    let bugs = bugs(repo, names)?;
    let copy = Copy::of(repo)?;
    let tests: BTreeSet<&[String]> = bugs.iter().map(|bug| bug.test.as_slice()).collect();
    for test in tests {
        say(format!("without a bug: cargo test {}", test.join(" ")));
        check_baseline(&copy, test)?;
    }
    let mut fates = Vec::new();
    for bug in &bugs {
        let fate = plant(&copy, bug)?;
        say(format!("{}: {}", bug.name, fate.words()));
        fates.push(fate);
    }
    print_table(&bugs, &fates);
    let lost = fates.iter().filter(|fate| !fate.is_caught()).count();
    println!("{} passed, {lost} failed", fates.len() - lost);
    if lost == 0 {
        return Ok(());
    }
    Err(Failure::new(format!(
        "{lost} of {} planted bugs were not caught",
        bugs.len()
    ))
    .remedy("write the missing test, or repair the file under tests/planted"))
}

impl Fate {
    fn words(self) -> &'static str {
        match self {
            Self::Caught => "caught",
            Self::CaughtByTime => "caught (the test never ended)",
            Self::DoesNotCompile => "DOES NOT COMPILE",
            Self::Survived => "SURVIVED",
        }
    }

    fn is_caught(self) -> bool {
        match self {
            Self::Caught | Self::CaughtByTime => true,
            Self::DoesNotCompile | Self::Survived => false,
        }
    }
}

fn bugs(repo: &Repo, names: &[String]) -> Result<Vec<Bug>> {
    let folder = repo.at("tests/planted");
    let files = if folder.is_dir() {
        files_under(&folder)?
    } else {
        Vec::new()
    };
    let mut bugs = Vec::new();
    for file in files
        .iter()
        .filter(|file| file.extension().is_some_and(|kind| kind == "toml"))
    {
        let name = file
            .file_stem()
            .unwrap_or_default()
            .to_string_lossy()
            .into_owned();
        if names.is_empty() || names.contains(&name) {
            bugs.push(Bug::parse(&name, &read(file)?)?);
        }
    }
    if bugs.is_empty() {
        return Err(Failure::new(format!(
            "no planted bug named {names:?} under tests/planted"
        )));
    }
    Ok(bugs)
}

impl Bug {
    fn parse(name: &str, content: &str) -> Result<Self> {
        let table: toml::Table = content
            .parse()
            .while_doing(|| format!("read tests/planted/{name}.toml"))?;
        let field = |field: &str| {
            let text = table.get(field).and_then(toml::Value::as_str);
            text.map(str::to_owned).ok_or_else(|| {
                Failure::new(format!("tests/planted/{name}.toml has no text {field:?}"))
            })
        };
        let test = field("test")?;
        let words = test
            .trim()
            .trim_start_matches("cargo test")
            .split_whitespace();
        Ok(Self {
            name: name.to_owned(),
            file: field("file")?,
            find: field("find")?,
            replace: field("replace")?,
            rule: field("rule")?,
            test: words.map(str::to_owned).collect(),
        })
    }

    /// The file's text with the bug in it.
    fn applied(&self, text: &str) -> Result<String> {
        match text.matches(&self.find).count() {
            1 => Ok(text.replacen(&self.find, &self.replace, 1)),
            count => Err(Failure::new(format!(
                "{}: the text to replace is {count} times in {}, not once",
                self.name, self.file
            ))
            .remedy(format!(
                "repair tests/planted/{}.toml after the change of that file",
                self.name
            ))),
        }
    }
}

fn plant(copy: &Copy, bug: &Bug) -> Result<Fate> {
    let clean = copy.read(&bug.file)?;
    copy.write(&bug.file, &bug.applied(&clean)?)?;
    let fate = fate(copy, bug);
    copy.write(&bug.file, &clean)?;
    fate
}

fn fate(copy: &Copy, bug: &Bug) -> Result<Fate> {
    // In front: behind a `--` are the test program's own words.
    let compiling = [
        &["--no-run".to_owned(), "--quiet".to_owned()],
        bug.test.as_slice(),
    ]
    .concat();
    if !copy
        .cargo_test(&compiling)
        .status()
        .is_ok_and(|status| status.success())
    {
        return Ok(Fate::DoesNotCompile);
    }
    let mut command = copy.cargo_test(&bug.test);
    // Its failure is what we want: shown only as one word.
    let child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .process_group(0)
        .spawn();
    let child = child.while_doing(|| "start cargo test".to_owned())?;
    Ok(match wait(child)? {
        None => Fate::CaughtByTime,
        Some(status) if status.success() => Fate::Survived,
        Some(_) => Fate::Caught,
    })
}

/// How the child ended, or nothing if it was stopped for taking too long.
fn wait(mut child: Child) -> Result<Option<ExitStatus>> {
    let end = Instant::now() + TEST_TIME_MAX;
    loop {
        if let Some(status) = child
            .try_wait()
            .while_doing(|| "wait for cargo test".to_owned())?
        {
            return Ok(Some(status));
        }
        if Instant::now() > end {
            // The group that it leads: cargo and the test program under it.
            let group = format!("-{}", child.id());
            let _ended = Command::new("kill").args(["-KILL", "--", &group]).status();
            let _reaped = child.wait();
            return Ok(None);
        }
        sleep(Duration::from_millis(50));
    }
}

/// Without the bug the test passes, and there is something that passes.
fn check_baseline(copy: &Copy, test: &[String]) -> Result<()> {
    let output = copy.cargo_test(test).stderr(Stdio::inherit()).output();
    let output = output.while_doing(|| "start cargo test".to_owned())?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    let shown = format!("`cargo test {}`", test.join(" "));
    if !output.status.success() {
        eprintln!("{stdout}");
        return Err(Failure::new(format!(
            "{shown} fails without any planted bug"
        )));
    }
    if passed(&stdout) == 0 {
        return Err(Failure::new(format!("{shown} runs no test at all"))
            .remedy("name a test that exists in the files under tests/planted"));
    }
    Ok(())
}

/// How many tests cargo's summaries say have passed.
fn passed(output: &str) -> u32 {
    let summaries = output
        .lines()
        .filter_map(|line| line.strip_prefix("test result: ok. "));
    summaries
        .filter_map(|summary| summary.split_once(' ')?.0.parse::<u32>().ok())
        .sum()
}

fn print_table(bugs: &[Bug], fates: &[Fate]) {
    let widest = |of: fn(&Bug) -> &str| bugs.iter().map(|bug| of(bug).len()).fold(11, usize::max);
    let (name, rule) = (widest(|bug| &bug.name), widest(|bug| &bug.rule));
    println!("\n{:name$}  {:rule$}  fate", "planted bug", "rule");
    for (bug, fate) in bugs.iter().zip(fates) {
        println!("{:name$}  {:rule$}  {}", bug.name, bug.rule, fate.words());
    }
    println!();
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bug() -> Bug {
        let text = "file = 'a.rs'\nfind = '>='\nreplace = '>'\nrule = 'P5'\ntest = 'cargo test -p shared window'\n";
        Bug::parse("window", text).unwrap()
    }

    #[test]
    fn a_bug_replaces_exactly_one_place() {
        assert_eq!(bug().test, ["-p", "shared", "window"]);
        assert_eq!(bug().applied("a >= b").unwrap(), "a > b");
        assert!(bug().applied("a > b").is_err());
        assert!(bug().applied("a >= b >= c").is_err());
        assert!(Bug::parse("x", "file = 'a.rs'").is_err());
    }

    #[test]
    fn a_summary_of_no_tests_counts_as_none() {
        assert_eq!(passed("test result: ok. 0 passed; 0 failed;\n"), 0);
        assert_eq!(
            passed("x\ntest result: ok. 2 passed; 0 failed;\ntest result: ok. 3 passed;\n"),
            5
        );
    }

    #[test]
    fn only_a_failing_test_catches() {
        let caught = [Fate::Caught, Fate::CaughtByTime].map(Fate::is_caught);
        let lost = [Fate::DoesNotCompile, Fate::Survived].map(Fate::is_caught);
        assert_eq!((caught, lost), ([true, true], [false, false]));
    }
}
