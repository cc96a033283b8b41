//! A provider for lists of tasks in Markdown: each heading is a section, each `- [ ] task` a row. README.md describes it.
//!
//! Everything about Markdown is in this file. The other modules are the layer, which any provider can copy.
#[allow(dead_code)]
mod bytes;
#[allow(dead_code)]
mod file;
mod ids;
#[allow(dead_code)]
mod plan;
#[allow(dead_code)]
mod provider;
mod receipt;
#[allow(dead_code)]
mod save;
mod tabella;

use bytes::{Piece, Pieces};
use file::EditedFile;
use ids::{digest, Ids};
use plan::{Plan, Step};
use provider::{
    Batch, Column, Commit, Edit, EditEffect, Failure, Location, Outcome, Request, RowPath, Source, Value,
};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use tabella::*;

const LARGEST_FILE: u64 = 16 << 20;
const DONE: usize = 0;
const TASK: usize = 1;

/// A task: the range of its line, with the line end.
#[derive(Clone, Copy)]
struct Line {
    start: usize,
    end: usize,
}

/// A heading, and the tasks under it.
struct Section {
    title: Option<String>,
    /// The offset behind the heading.
    body: usize,
    tasks: Vec<Line>,
}

/// What a file contains.
struct Tasks {
    text: Vec<u8>,
    sections: Vec<Section>,
    ids: Ids,
    version: String,
}

/// The parts of a task's line: the bytes up to the mark, the mark, and the text behind `] `.
fn split(line: &[u8]) -> Option<(&[u8], bool, &[u8])> {
    let end = line.len() - line.iter().rev().take_while(|byte| matches!(byte, b'\n' | b'\r')).count();
    let line = &line[..end];
    let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
    let mark = indent + 3;
    match line.get(indent..mark + 3)? {
        [b'-' | b'*' | b'+', b' ', b'[', mark_byte @ (b' ' | b'x' | b'X'), b']', b' '] => {
            Some((&line[..mark], *mark_byte != b' ', &line[mark + 3..]))
        }
        _ => None,
    }
}

/// The title of a heading: `## Garden`.
fn heading(line: &[u8]) -> Option<String> {
    let level = line.iter().take_while(|byte| **byte == b'#').count();
    let rest = line.get(level..).filter(|rest| (1..=6).contains(&level) && rest.starts_with(b" "))?;
    let title = String::from_utf8_lossy(rest);
    // The `#` at the end of `# Garden #` are no part of the title.
    let title = title.trim();
    let open = title.trim_end_matches('#');
    let is_closed = open.is_empty() || open.ends_with(|c: char| c.is_whitespace());
    Some(if is_closed { open.trim_end() } else { title }.to_string())
}

impl Tasks {
    fn parse(text: Vec<u8>) -> Tasks {
        let mut sections = vec![Section { title: None, body: 0, tasks: Vec::new() }];
        let mut start = 0;
        for line in text.split_inclusive(|byte| *byte == b'\n') {
            let end = start + line.len();
            if let Some(title) = heading(line) {
                sections.push(Section { title: Some(title), body: end, tasks: Vec::new() });
            } else if split(line).is_some() {
                sections.last_mut().expect("there is one").tasks.push(Line { start, end });
            }
            start = end;
        }
        // Only tasks in front of the first heading need a section without a title.
        if sections.len() > 1 && sections[0].tasks.is_empty() {
            sections.remove(0);
        }
        let id = |task: &Line| digest(&[&text[task.start..task.end]]);
        let digests = sections.iter().map(|section| section.tasks.iter().map(id).collect()).collect();
        let version = digest(&[&text]);
        Tasks { ids: Ids::new(digests), version, sections, text }
    }

    fn counts(&self) -> Vec<u64> {
        self.sections.iter().map(|section| section.tasks.len() as u64).collect()
    }

    fn line(&self, path: RowPath) -> Line {
        self.sections[path.section as usize].tasks[path.row as usize]
    }

    /// The line of a task with new cells. `old` is the line whose other cells stay.
    fn written(&self, old: Option<Line>, cells: &[(usize, Value)]) -> Outcome<Vec<u8>> {
        let (mut start, mut done, mut text): (&[u8], bool, &[u8]) = (b"- [", false, b"");
        if let Some(line) = old {
            (start, done, text) = split(&self.text[line.start..line.end]).expect("it was a task before");
        }
        let refuse = |message: &str| Err(Failure::new(TABELLA_CONSTRAINT, message));
        for (column, value) in cells {
            match (*column, value) {
                (DONE, Value::Boolean(value)) => done = *value,
                (TASK, Value::Text(value)) if !value.iter().any(|byte| matches!(byte, b'\n' | b'\r')) => {
                    text = value
                }
                (DONE, _) => return refuse("done is true or false"),
                _ => return refuse("a task is one line of text"),
            }
        }
        let mark: &[u8] = if done { b"x] " } else { b" ] " };
        Ok([start, mark, text, self.newline()].concat())
    }

    /// The line end of the first line.
    fn newline(&self) -> &'static [u8] {
        match self.text.iter().position(|byte| *byte == b'\n') {
            Some(end) if end > 0 && self.text[end - 1] == b'\r' => b"\r\n",
            _ => b"\n",
        }
    }

    /// The file after a batch. All bytes of lines that no edit names stay.
    fn edited(&self, new: Pieces, edits: &[Edit], plan: &Plan) -> Outcome<Pieces> {
        let mut writer = Writer { tasks: self, new, at: 0, is_open: false };
        for (number, section) in self.sections.iter().enumerate() {
            let number = number as u64;
            writer.copy_to(section.body);
            for step in plan.steps(number, section.tasks.len() as u64) {
                match step {
                    Step::Keep { first, count } => {
                        for row in first..first + count {
                            let path = RowPath { section: number, row };
                            let line = self.line(path);
                            if let Some(edit) = plan.sets.get(&path) {
                                writer.copy_to(line.start);
                                writer.put(self.written(Some(line), edits[*edit].cells())?);
                                writer.at = line.end;
                            }
                            writer.copy_to(line.end);
                        }
                    }
                    Step::Leave { row } => {
                        let line = section.tasks[row as usize];
                        writer.copy_to(line.start);
                        writer.at = line.end;
                    }
                    Step::Arrive { edit } => {
                        // In front of the first task, and not in front of the text above it.
                        if let Some(first) = section.tasks.first().filter(|first| first.start > writer.at) {
                            if writer.at == section.body {
                                writer.copy_to(first.start);
                            }
                        }
                        let old = edits[edit].row();
                        let set = old.and_then(|path| plan.sets.get(&path)).map(|set| &edits[*set]);
                        let cells = set.unwrap_or(&edits[edit]).cells();
                        match old.map(|path| self.line(path)) {
                            Some(line) if cells.is_empty() => {
                                writer.put(self.text[line.start..line.end].to_vec())
                            }
                            old => writer.put(self.written(old, cells)?),
                        }
                    }
                }
            }
        }
        writer.copy_to(self.text.len());
        Ok(writer.new)
    }
}

/// Writes a file after a batch.
struct Writer<'a> {
    tasks: &'a Tasks,
    new: Pieces,
    /// The offset up to which the old bytes are copied or left out.
    at: usize,
    /// Whether the last line has no line end yet.
    is_open: bool,
}

impl Writer<'_> {
    /// Copies the old bytes up to an offset.
    fn copy_to(&mut self, end: usize) {
        if end <= self.at {
            return;
        }
        self.end_line();
        self.new.push(Piece::Old { start: self.at as u64, end: end as u64 });
        self.is_open = self.tasks.text[end - 1] != b'\n';
        self.at = end;
    }

    /// Appends a line.
    fn put(&mut self, line: Vec<u8>) {
        self.end_line();
        self.is_open = !line.ends_with(b"\n");
        self.new.push(Piece::New(line));
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.is_open) {
            self.new.push(Piece::New(self.tasks.newline().to_vec()));
        }
    }
}

/// An open file.
struct TaskList {
    columns: Vec<Column>,
    file: EditedFile,
    tasks: Tasks,
}

impl TaskList {
    fn open(path: &Path) -> Outcome<TaskList> {
        let columns = vec![
            Column { name: "done".into(), kind: TABELLA_TYPE_BOOLEAN },
            Column { name: "task".into(), kind: TABELLA_TYPE_TEXT },
        ];
        let file = EditedFile::open(path, LARGEST_FILE)?;
        Ok(TaskList { columns, tasks: Tasks::parse(file.read()?), file })
    }

    /// Saves new bytes, and shows them from now on. A dry run makes the checks only.
    fn save(
        &mut self,
        new: &Pieces,
        dry_run: bool,
        mut effects: Vec<EditEffect>,
        changes: Vec<tabella_change>,
    ) -> Outcome<Commit> {
        let saved = self.file.save(new, dry_run)?;
        if let (Some(effect), Some(remark)) = (effects.first_mut(), saved.remark) {
            effect.remark = Some(remark);
        }
        if dry_run {
            return Ok(Commit { effects, ..Commit::default() });
        }
        let path = self.file.path.clone();
        *self = TaskList::open(&path)?;
        Ok(Commit { effects, receipt: saved.receipt, changes, reloads: false })
    }
}

impl Source for TaskList {
    fn columns(&self) -> &[Column] {
        &self.columns
    }

    fn version(&mut self) -> Outcome<String> {
        Ok(self.tasks.version.clone())
    }

    fn section_count(&mut self) -> Outcome<Option<u64>> {
        Ok(Some(self.tasks.sections.len() as u64))
    }

    fn title(&mut self, section: u64) -> Outcome<Option<String>> {
        Ok(self.tasks.sections[section as usize].title.clone())
    }

    fn row_count(&mut self, section: u64, _at_least: u64) -> Outcome<(u64, bool)> {
        Ok((self.tasks.sections[section as usize].tasks.len() as u64, true))
    }

    fn rows(&mut self, request: &Request, batch: &mut Batch) -> Outcome<()> {
        for row in request.range(self.tasks.counts()[request.section as usize])? {
            let path = RowPath { section: request.section, row };
            let line = self.tasks.line(path);
            let (_, done, text) = split(&self.tasks.text[line.start..line.end]).expect("it was parsed");
            for (at, &column) in request.columns.iter().enumerate() {
                match column {
                    DONE => batch.boolean(at, done),
                    _ => batch.text(at, text),
                }
            }
            batch.end_row(|| self.tasks.ids.id(path));
        }
        Ok(())
    }

    fn find(&mut self, id: &[u8]) -> Outcome<RowPath> {
        self.tasks.ids.find(id)
    }

    fn is_editable(&self) -> bool {
        true
    }

    fn commit(&mut self, edits: &[Edit], dry_run: bool) -> Outcome<Commit> {
        self.file.check_unchanged()?;
        let counts = self.tasks.counts();
        let plan = Plan::new(edits, &counts)?;
        let new = self.tasks.edited(Pieces::new(self.file.bytes.clone()), edits, &plan)?;
        // The ids are those of the new file, as it will be read.
        let next = Tasks::parse(bytes::all(&new)?);
        let effects = plan.positions(edits, &counts).into_iter();
        let effects = effects.map(|path| EditEffect { id: path.map(|path| next.ids.id(path)), remark: None });
        self.save(&new, dry_run, effects.collect(), plan.changes(edits, TABELLA_CHANGE_RELOAD))
    }

    fn undo(&mut self, receipt: &[u8], dry_run: bool) -> Outcome<Commit> {
        let new = self.file.undone(receipt)?;
        let mut done = self.save(&new, dry_run, vec![EditEffect::default()], Vec::new())?;
        // Everything must be read again.
        done.reloads = !dry_run;
        Ok(done)
    }
}

fn open(location: &Location) -> Outcome<TaskList> {
    if location.path.is_empty() {
        return Err(Failure::new(TABELLA_INVALID_ARGUMENT, "the location has no path; write tasks:FILE"));
    }
    TaskList::open(Path::new(OsStr::from_bytes(location.path)))
}

/// # Safety
/// The host passes an entry that it owns.
#[no_mangle]
pub unsafe extern "C" fn tabella_provider_entry(entry: *mut tabella_entry) -> i32 {
    provider::enter(entry, "tasks", "1.0", |location, _| Ok(Box::new(open(location)?)))
}
