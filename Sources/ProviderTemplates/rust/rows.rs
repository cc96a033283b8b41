//! A provider of tables. `@NAME@:` shows the sample below; `@NAME@:FILE` and `FILE.@NAME@` show a file.
//!
//! A row is a line: a name, a tab, and a year. For other data, change `columns`, `parse` and `append`.
//! provider.rs is the layer over the contract; its trait `Source` also has functions for sections and edits.
//! ids.rs makes ids and versions. The guide writing-a-provider-rust.md leads to both.
#[allow(dead_code)]
mod ids;
#[allow(dead_code)]
mod provider;
mod tabella;

use ids::{digest, Ids};
use provider::{Batch, Column, Failure, Location, Outcome, Request, RowPath, Source};
use std::ffi::OsStr;
use std::fs::OpenOptions;
use std::io::Read;
use std::ops::Range;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use tabella::*;

const SAMPLE: &[u8] = b"Ada\t1815\nGrace\t1906\nMargaret\t1936\n";
const LARGEST_FILE: u64 = 64 << 20;

fn columns() -> Vec<Column> {
    vec![
        Column { name: "name".into(), kind: TABELLA_TYPE_TEXT },
        Column { name: "year".into(), kind: TABELLA_TYPE_INTEGER },
    ]
}

/// A table: its text, the ranges of its lines, and their ids.
struct Lines {
    columns: Vec<Column>,
    text: Vec<u8>,
    rows: Vec<Range<usize>>,
    ids: Ids,
}

/// Divides a text into rows.
fn parse(text: Vec<u8>) -> Lines {
    let mut rows = Vec::new();
    let mut first = 0;
    while first < text.len() {
        let length = text[first..].iter().position(|&byte| byte == b'\n');
        let end = length.map_or(text.len(), |length| first + length);
        let cut = (end > first && text[end - 1] == b'\r') as usize;
        rows.push(first..end - cut);
        first = end + 1;
    }
    // The id of a row is a digest of its line. If lines have a key, use a digest of the key.
    let digests = rows.iter().map(|row| digest(&[&text[row.clone()]])).collect();
    Lines { columns: columns(), ids: Ids::new(vec![digests]), text, rows }
}

/// Reads a file whose path is a location: bytes, and not always UTF-8.
fn read_file(location: &[u8]) -> Outcome<Vec<u8>> {
    let failure = |error: std::io::Error| match error.raw_os_error() {
        // ENOTDIR, ENAMETOOLONG, ELOOP
        Some(20) | Some(36) | Some(40) => Failure::new(TABELLA_NOT_FOUND, error.to_string()),
        _ => Failure::io("cannot be read", &error),
    };
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    let (path, nonblock) = (OsStr::from_bytes(location), 0o4000);
    let mut file = OpenOptions::new().read(true).custom_flags(nonblock).open(path).map_err(failure)?;
    let status = file.metadata().map_err(failure)?;
    if !status.is_file() || status.len() > LARGEST_FILE {
        return Err(Failure::new(TABELLA_NOT_SUPPORTED, "is not a file of at most 64 MiB"));
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(failure)?;
    Ok(text)
}

impl Lines {
    fn line(&self, row: usize) -> &[u8] {
        &self.text[self.rows[row].clone()]
    }

    /// Appends a cell. `at` is the number of the column in the batch. A year that is no number is missing.
    fn append(&self, row: usize, column: usize, at: usize, batch: &mut Batch) {
        let part = self.line(row).splitn(2, |&byte| byte == b'\t').nth(column);
        let text = part.and_then(|part| std::str::from_utf8(part).ok());
        match (column, part, text.and_then(|text| text.parse().ok())) {
            (0, Some(name), _) => batch.text(at, name),
            (1, _, Some(year)) => batch.integer(at, year),
            _ => batch.missing(at),
        }
    }
}

impl Source for Lines {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn version(&mut self) -> Outcome<String> {
        Ok(digest(&[&self.text]))
    }

    fn row_count(&mut self, _section: u64, _at_least: u64) -> Outcome<(u64, bool)> {
        Ok((self.rows.len() as u64, true))
    }

    fn rows(&mut self, request: &Request, batch: &mut Batch) -> Outcome<()> {
        for row in request.range(self.rows.len() as u64)? {
            for (at, &column) in request.columns.iter().enumerate() {
                self.append(row as usize, column, at, batch);
            }
            batch.end_row(|| self.ids.id(RowPath { section: request.section, row }));
        }
        Ok(())
    }

    fn find(&mut self, id: &[u8]) -> Outcome<RowPath> {
        self.ids.find(id)
    }
}

fn open(location: &Location) -> Outcome<Lines> {
    match location.path {
        [] => Ok(parse(SAMPLE.to_vec())),
        path => read_file(path).map(parse),
    }
}

/// # Safety
/// A host calls the function, with an entry of the contract.
#[no_mangle]
pub unsafe extern "C" fn tabella_provider_entry(entry: *mut tabella_entry) -> i32 {
    provider::enter(entry, "@NAME@", "1.0", |location, _| Ok(Box::new(open(location)?)))
}
