//! The `probe` of a route: how its origin is asked about an operation of unknown outcome (U3).

use alloc::string::ToString;

use super::fields::{
    ABSENT_EQUALS, ABSENT_POINTER, ABSENT_STATUS, FOUND_EQUALS, FOUND_POINTER, FOUND_STATUS, Field,
    PROBE, PROBE_ABSENT, PROBE_FOUND, PROBE_PATH, PROBE_QUIET, PROBE_STATUS,
};
use super::section::{Noted, Section};
use crate::pointer::Pointer;
use crate::probe::{Absent, Expected, Probe, ProbeFault, Template};

/// Reads the table, where there is one.
pub(super) fn read(route: &Section<'_>) -> Result<Option<Probe>, Noted> {
    let Some(table) = route.optional_table(&PROBE)? else {
        return Ok(None);
    };
    let path = table.parsed(&PROBE_PATH, Template::parse);
    let found = expected(
        &table,
        &PROBE_FOUND,
        [&FOUND_STATUS, &FOUND_POINTER, &FOUND_EQUALS],
    );
    let absent = absent(&table);
    let status = if table.has(&PROBE_STATUS) {
        Some(status(&table, &PROBE_STATUS)?)
    } else {
        None
    };
    Probe::new(path.ok_or(Noted)?, found?, absent?, status)
        .map(Some)
        .map_err(|fault| {
            let field = match fault {
                ProbeFault::Status { .. } | ProbeFault::Equals { .. } => &PROBE_STATUS,
                ProbeFault::Quiet { .. } => &PROBE_QUIET,
                ProbeFault::FoundIsAbsent => &PROBE_ABSENT,
            };
            table.refuse(field, fault.to_string());
            Noted
        })
}

fn absent(table: &Section<'_>) -> Result<Option<Absent>, Noted> {
    let expected = expected(
        table,
        &PROBE_ABSENT,
        [&ABSENT_STATUS, &ABSENT_POINTER, &ABSENT_EQUALS],
    );
    if table.has(&PROBE_QUIET) && !table.has(&PROBE_ABSENT) {
        let remedy = "leave it out: it is how long an absent proves nothing";
        table.note(&PROBE_QUIET, "a quiet time without absent", remedy);
        return Err(Noted);
    }
    let quiet = table.span(&PROBE_QUIET);
    let (expected, quiet) = (expected?, quiet.ok_or(Noted)?);
    Ok(expected.map(|expected| Absent { expected, quiet }))
}

/// All three of status, pointer and value, since a status alone proves nothing: a balancer's 404 has one, too.
fn expected(
    probe: &Section<'_>,
    field: &Field,
    [status_field, pointer, equals]: [&Field; 3],
) -> Result<Option<Expected>, Noted> {
    let Some(table) = probe.optional_table(field)? else {
        return Ok(None);
    };
    let status = status(&table, status_field);
    let pointer = table.parsed(pointer, Pointer::parse);
    let value = table.value(equals);
    let (pointer, value) = (pointer.ok_or(Noted)?, value.ok_or(Noted)?);
    let expected = Expected::new(status?, pointer, &value);
    expected.map(Some).map_err(|fault| {
        let field = match fault {
            ProbeFault::Equals { .. } => equals,
            ProbeFault::Status { .. } | ProbeFault::Quiet { .. } | ProbeFault::FoundIsAbsent => {
                status_field
            }
        };
        table.refuse(field, fault.to_string());
        Noted
    })
}

fn status(table: &Section<'_>, field: &Field) -> Result<u16, Noted> {
    let number = table.number(field).ok_or(Noted)?;
    Ok(u16::try_from(number).unwrap_or(u16::MAX)) // refused as none
}
