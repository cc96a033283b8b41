//! A provider for JSON Lines: each line with an object is a row. README.md describes it.
#[allow(dead_code)]
mod bytes;
mod columns;
mod edits;
#[allow(dead_code)]
mod file;
#[cfg(test)]
mod ids;
mod json;
mod lines;
#[allow(dead_code)]
mod plan;
#[allow(dead_code)]
mod provider;
mod receipt;
mod save;
mod tabella;
#[cfg(test)]
mod tests;

use bytes::{Bytes, Digest, Pieces};
use columns::Columns;
use file::{EditedFile, Saved};
use lines::{Line, Lines};
use provider::{
    Batch, Cancellation, Column, Commit, Edit, EditEffect, Failure, Location, Outcome, Request, RowPath,
    Source, Value,
};
use std::collections::VecDeque;
use std::ffi::OsStr;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::rc::Rc;
use tabella::*;

/// A stream is kept in memory, because it can be read only once.
const LONGEST_STREAM: u64 = 1 << 30;
/// A batch ends after this many bytes of text.
const BATCH_BYTES: usize = 1 << 20;

/// # Safety
/// The host passes an entry that it owns.
#[no_mangle]
pub unsafe extern "C" fn tabella_provider_entry(entry: *mut tabella_entry) -> i32 {
    provider::enter(entry, "jsonl", "1.0", |location, cancellation| {
        Ok(Box::new(Jsonl::open(location, cancellation)?))
    })
}

/// The options of a location.
struct Options {
    sample: u64,
    skips: bool,
    added: Vec<String>,
}

struct Jsonl {
    options: Options,
    /// Absent for a stream, which cannot be edited.
    file: Option<EditedFile>,
    cancellation: Cancellation,
    lines: Lines,
    columns: Columns,
    version: String,
    remarks: VecDeque<String>,
    has_late_key: bool,
}

fn options(location: &Location) -> Outcome<Options> {
    let refuse = |message: String| Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
    let sample = location.option("sample").unwrap_or("10000");
    let invalid = location.option("invalid").unwrap_or("refuse");
    if !["refuse", "skip"].contains(&invalid) {
        return refuse(format!("invalid={} is neither refuse nor skip", invalid));
    }
    let added = location.option("columns").unwrap_or("").split(',').map(str::trim);
    let added = added.filter(|name| !name.is_empty()).map(str::to_string).collect();
    match sample.parse() {
        Ok(sample) => Ok(Options { sample, skips: invalid == "skip", added }),
        Err(_) => refuse(format!("sample={} is no number of lines", sample)),
    }
}

/// The bytes of the location, and the file, unless it is a stream.
fn read(path: &Path) -> Outcome<(Rc<dyn Bytes>, Option<EditedFile>)> {
    let data = std::fs::metadata(path).map_err(|error| Failure::io("the file", &error))?;
    if data.is_dir() {
        return Err(Failure::new(TABELLA_INVALID_ARGUMENT, "a folder has no lines; name a file"));
    }
    let file = File::open(path).map_err(|error| Failure::io("the file", &error))?;
    let data = file.metadata().map_err(|error| Failure::io("the file", &error))?;
    if !data.is_file() {
        let mut bytes = Vec::new();
        let read = file.take(LONGEST_STREAM + 1).read_to_end(&mut bytes);
        read.map_err(|error| Failure::io("the stream", &error))?;
        if bytes.len() as u64 > LONGEST_STREAM {
            let message = "the stream is longer than 1 GiB; save it as a file";
            return Err(Failure::new(TABELLA_IO, message));
        }
        return Ok((Rc::new(bytes), None));
    }
    let file = EditedFile::new(path, file)?;
    Ok((file.bytes.clone(), Some(file)))
}

fn version(file: &Option<EditedFile>, bytes: &dyn Bytes, options: &Options) -> Outcome<String> {
    let number = match file {
        Some(file) => file.status.digest(&[options.skips as u64]),
        None => bytes::digest(bytes)? ^ options.skips as u64,
    };
    Ok(format!("{:016x}", number))
}

/// The id of a row: its offset and a digest of its line.
fn id(line: Line, text: &[u8]) -> String {
    format!("{:x}.{:016x}", line.start, Digest::of(text))
}

impl Jsonl {
    fn open(location: &Location, cancellation: Cancellation) -> Outcome<Jsonl> {
        if location.path.is_empty() {
            return Err(Failure::new(TABELLA_INVALID_ARGUMENT, "the location has no path"));
        }
        let path = Path::new(OsStr::from_bytes(location.path));
        Jsonl::read(path, options(location)?, cancellation)
    }

    fn read(path: &Path, options: Options, cancellation: Cancellation) -> Outcome<Jsonl> {
        let (bytes, file) = read(path)?;
        let version = version(&file, &*bytes, &options)?;
        let mut lines = Lines::new(bytes, options.skips, cancellation.clone())?;
        let columns = columns::sample(&mut lines, options.sample, &options.added)?;
        Ok(Jsonl {
            options,
            file,
            cancellation,
            lines,
            columns,
            version,
            remarks: VecDeque::new(),
            has_late_key: false,
        })
    }

    /// Reads the file again after a save.
    fn read_again(&mut self) -> Outcome<()> {
        let path = self.file()?.path.clone();
        let none = Options { sample: 0, skips: false, added: Vec::new() };
        let options = std::mem::replace(&mut self.options, none);
        *self = Jsonl::read(&path, options, self.cancellation.clone())?;
        Ok(())
    }

    fn file(&self) -> Outcome<&EditedFile> {
        let message = "only a file can be edited; save the stream as a file";
        self.file.as_ref().ok_or_else(|| Failure::new(TABELLA_READ_ONLY, message))
    }

    /// Fails if another program has written to the open file.
    fn check_bytes(&self) -> Outcome<()> {
        self.file.as_ref().map_or(Ok(()), EditedFile::check_bytes)
    }

    /// The requested cells of a line.
    fn cells(&mut self, row: u64, line: Line, columns: &[usize]) -> Outcome<Vec<Value>> {
        let text = self.lines.text(line);
        let members = match json::members(text) {
            Ok(members) => members,
            Err(fault) => {
                let place = self.lines.place(line.start);
                return Err(columns::unreadable(&place, &fault).at(path(row)));
            }
        };
        let (assigned, unknown) = self.columns.assign(text, members);
        let mut cells = Vec::with_capacity(columns.len());
        for &column in columns {
            match self.columns.cell(column, &assigned[column], text) {
                Some(cell) => cells.push(cell),
                None => return Err(self.misfit(row, line, column)),
            }
        }
        if let Some(key) = unknown.filter(|_| !self.has_late_key) {
            self.has_late_key = true;
            self.remarks.push_back(format!(
                "{} has the key \"{}\", which is no column, because the first lines do not have it; \
                 -o sample=0 reads the keys of all lines",
                self.lines.place(line.start),
                key,
            ));
        }
        Ok(cells)
    }

    fn misfit(&self, row: u64, line: Line, column: usize) -> Failure {
        let message = format!(
            "{}: the value of \"{}\" is no {}, unlike the values in the first lines; -o sample=0 reads \
             the types of all lines",
            self.lines.place(line.start),
            self.columns.list[column].name,
            self.columns.noun(column),
        );
        Failure::new(TABELLA_IO, message).at(path(row))
    }

    /// Saves new bytes and reads them again. A dry run makes the checks of a save only.
    fn replace(&mut self, new: &Pieces, dry_run: bool) -> Outcome<Saved> {
        let saved = self.file()?.save(new, dry_run)?;
        if !dry_run {
            self.read_again()?;
        }
        Ok(saved)
    }

    /// The ids of the edited rows in the new bytes, which are read as they will be read later.
    fn effects(
        &self,
        edits: &[Edit],
        offsets: &[Option<u64>],
        lines: &mut Lines,
        columns: &Columns,
    ) -> Outcome<Vec<EditEffect>> {
        let mut effects = Vec::new();
        for (edit, offset) in edits.iter().zip(offsets) {
            let mut effect = EditEffect::default();
            if let Some(line) = offset.map(|offset| lines.next_row(offset)).transpose()?.flatten() {
                effect.id = Some(id(line, lines.text(line)));
            }
            if let Edit::Set { cells, .. } | Edit::Insert { cells, .. } = edit {
                effect.remark = cells.iter().find_map(|(column, _)| {
                    let name = &self.columns.list[*column].name;
                    let now = columns.list.iter().position(|column| column.name == *name);
                    let (old, new) = (self.columns.noun(*column), now.map(|now| columns.noun(now)));
                    match new {
                        Some(new) if new == old && now == Some(*column) => None,
                        Some(new) if new == old => {
                            Some(format!("the column {} has another position now", name))
                        }
                        Some(new) => Some(format!("the cells of {} are now of the type {}", name, new)),
                        None => Some(format!("no line has the key {} now", name)),
                    }
                });
            }
            effects.push(effect);
        }
        Ok(effects)
    }
}

/// The position of a row. There is one section.
fn path(row: u64) -> RowPath {
    RowPath { section: 0, row }
}

impl Source for Jsonl {
    fn columns(&self) -> &[Column] {
        &self.columns.list
    }

    fn version(&mut self) -> Outcome<String> {
        Ok(self.version.clone())
    }

    fn row_count(&mut self, _section: u64, at_least: u64) -> Outcome<(u64, bool)> {
        self.check_bytes()?;
        self.lines.learn(at_least)
    }

    fn rows(&mut self, request: &Request, batch: &mut Batch) -> Outcome<()> {
        self.check_bytes()?;
        while batch.rows < request.count && batch.size < BATCH_BYTES {
            let row = request.first + batch.rows;
            let line = match self.lines.row(row)? {
                Some(line) => line,
                None if self.lines.learn(row)?.0 < row => {
                    let message = format!("there is no row {}", row);
                    return Err(Failure::new(TABELLA_NOT_FOUND, message));
                }
                None => break,
            };
            let cells = match self.cells(row, line, &request.columns) {
                Ok(cells) => cells,
                // The rows in front of a bad line are shown.
                Err(_) if batch.rows > 0 => break,
                Err(failure) => return Err(failure),
            };
            for (number, cell) in cells.iter().enumerate() {
                match cell {
                    Value::Text(text) => batch.text(number, text),
                    Value::Integer(value) => batch.integer(number, *value),
                    Value::Real(value) => batch.real(number, *value),
                    Value::Boolean(value) => batch.boolean(number, *value),
                    _ => batch.missing(number),
                }
            }
            let text = self.lines.text(line);
            batch.size += text.len() / 4;
            batch.end_row(|| id(line, text));
        }
        Ok(())
    }

    fn find(&mut self, wanted: &[u8]) -> Outcome<RowPath> {
        self.check_bytes()?;
        let gone = || Failure::new(TABELLA_NOT_FOUND, "no row has this id");
        let text = std::str::from_utf8(wanted).map_err(|_| gone())?;
        let (offset, _) = text.split_once('.').ok_or_else(gone)?;
        let offset = u64::from_str_radix(offset, 16).map_err(|_| gone())?;
        let row = self.lines.row_at(offset)?.ok_or_else(gone)?;
        let line = self.lines.row(row)?.ok_or_else(gone)?;
        match id(line, self.lines.text(line)) == text {
            true => Ok(path(row)),
            false => Err(gone()),
        }
    }

    fn remark(&mut self) -> Option<String> {
        self.remarks.extend(self.lines.skipped.drain(..));
        self.remarks.pop_front()
    }

    fn is_editable(&self) -> bool {
        self.file.is_some()
    }

    fn commit(&mut self, edits: &[Edit], dry_run: bool) -> Outcome<Commit> {
        self.file()?.check_unchanged()?;
        let (count, _) = self.lines.learn(u64::MAX)?;
        let plan = plan::Plan::new(edits, &[count])?;
        let (new, offsets) = edits::edited(&mut self.lines, &self.columns, edits, &plan, count)?;
        let new = Rc::new(new);
        let mut lines = Lines::new(new.clone(), self.options.skips, self.cancellation.clone())?;
        let columns = columns::sample(&mut lines, self.options.sample, &self.options.added)?;
        let mut effects = self.effects(edits, &offsets, &mut lines, &columns)?;
        let reloads = columns.list != self.columns.list || columns.kinds != self.columns.kinds;
        let saved = self.replace(&new, dry_run)?;
        if let (Some(effect), Some(remark)) = (effects.first_mut(), saved.remark) {
            effect.remark = Some(remark);
        }
        let changes = if dry_run { Vec::new() } else { plan.changes(edits, TABELLA_CHANGE_RELOAD) };
        Ok(Commit { effects, receipt: saved.receipt, changes, reloads: reloads && !dry_run })
    }

    fn undo(&mut self, receipt: &[u8], dry_run: bool) -> Outcome<Commit> {
        let new = self.file()?.undone(receipt)?;
        let saved = self.replace(&new, dry_run)?;
        let effect = EditEffect { id: None, remark: saved.remark };
        Ok(Commit { effects: vec![effect], receipt: saved.receipt, changes: Vec::new(), reloads: !dry_run })
    }
}
