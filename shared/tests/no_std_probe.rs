//! The rule asks the platform for nothing: a module that links it for wasm32, without std, imports nothing.
//!
//! The module is `shared/probe`. Building it takes a compiler with the sources of `core` and `alloc`, which
//! `cargo xtask test` sets up; it then runs this test with the module's path in `ONCEGATE_PROBE`.

use std::path::Path;

/// The section of imports (WebAssembly Core Specification 5.5.5).
const IMPORTS: u8 = 2;
/// The section of exports (5.5.10).
const EXPORTS: u8 = 7;

/// A section of a module: its number and its bytes.
type Section<'a> = (u8, &'a [u8]);

/// The sections of a binary module (5.5.2), or nothing if it is none.
fn sections(module: &[u8]) -> Option<Vec<Section<'_>>> {
    let mut rest = module.strip_prefix(b"\0asm\x01\0\0\0")?;
    let mut sections = Vec::new();
    while let Some((&number, further)) = rest.split_first() {
        let (size, further) = unsigned(further)?;
        let (bytes, further) = further.split_at_checked(size)?;
        sections.push((number, bytes));
        rest = further;
    }
    Some(sections)
}

/// An unsigned number in LEB128 (5.2.2), and what follows it.
fn unsigned(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let mut number = 0;
    for (at, &byte) in bytes.iter().enumerate().take(5) {
        number |= usize::from(byte & 0x7f) << (7 * at);
        if byte < 0x80 {
            return Some((number, &bytes[at + 1..]));
        }
    }
    None
}

/// How many entries the section of this number has; none where it is absent.
fn entries(sections: &[Section<'_>], number: u8) -> Option<usize> {
    match sections.iter().find(|(found, _)| *found == number) {
        Some((_, bytes)) => unsigned(bytes).map(|(count, _)| count),
        None => Some(0),
    }
}

#[test]
#[ignore = "needs the module that `cargo xtask test` builds"]
fn the_rule_imports_nothing() {
    let path = std::env::var("ONCEGATE_PROBE").expect("ONCEGATE_PROBE names the module");
    let module = std::fs::read(Path::new(&path)).expect("the module was built");
    let sections = sections(&module).expect("it is a module");
    assert_eq!(entries(&sections, IMPORTS), Some(0), "imports of {path}");
    // The rule is in it: the linker keeps what an export reaches, and code has the section 10.
    assert!(entries(&sections, EXPORTS) > Some(0), "exports of {path}");
    let code = sections
        .iter()
        .find(|(number, _)| *number == 10)
        .map_or(0, |(_, bytes)| bytes.len());
    assert!(code > 50_000, "{code} bytes of code in {path}");
}

#[test]
fn imports_are_counted() {
    let module = |sections: &[u8]| [b"\0asm\x01\0\0\0".as_slice(), sections].concat();
    let imports = |bytes: &[u8]| entries(&sections(&module(bytes))?, IMPORTS);
    assert_eq!(imports(&[]), Some(0));
    assert_eq!(imports(&[1, 1, 0]), Some(0));
    // One import: module "a", name "b", function of type 0.
    assert_eq!(
        imports(&[1, 1, 0, 2, 7, 1, 1, b'a', 1, b'b', 0, 0]),
        Some(1)
    );
    assert_eq!(imports(&[2, 9, 1]), None);
    assert_eq!(sections(b"\x7fELF"), None);
    assert_eq!(unsigned(&[0x80, 0x01, 7]), Some((128, [7].as_slice())));
    assert_eq!(unsigned(&[0x80; 6]), None);
}
