//! A safe layer over the contract: a trait for sources, batches of rows, errors. Only this file and `tabella.rs`
//! contain pointers. Copy both for a provider of your own.
//!
//! Every function that the host calls catches panics and reports them as errors, because a panic must
//! not cross the contract.
use crate::tabella::*;
use std::os::raw::{c_char, c_void};
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

// Errors

/// The reason why a call failed: a `TABELLA_*` code and one line for people.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: i32,
    pub message: String,
    pub path: Option<RowPath>,
}

/// The position of a row: the number of its section, and its number in the section. Both count from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct RowPath {
    pub section: u64,
    pub row: u64,
}

impl std::fmt::Display for RowPath {
    fn fmt(&self, out: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(out, "{}:{}", self.section, self.row)
    }
}

pub type Outcome<T> = Result<T, Failure>;

impl Failure {
    pub fn new(code: i32, message: impl Into<String>) -> Failure {
        Failure { code, message: message.into(), path: None }
    }

    /// The failure of a system call on `what`.
    pub fn io(what: &str, error: &std::io::Error) -> Failure {
        let code = match error.kind() {
            std::io::ErrorKind::NotFound => TABELLA_NOT_FOUND,
            std::io::ErrorKind::PermissionDenied => TABELLA_DENIED,
            _ => TABELLA_IO,
        };
        Failure::new(code, format!("{}: {}", what, error))
    }

    pub fn at(mut self, path: RowPath) -> Failure {
        self.path = Some(path);
        self
    }
}

/// Fills the error of a call, and returns the code.
fn report(failure: Failure, error: *mut tabella_error) -> i32 {
    let line = failure.message.replace(|c: char| c.is_control(), " ");
    let text = Box::new(line.into_bytes());
    // The caller passes a pointer to a zeroed struct.
    let error = unsafe { &mut *error };
    error.message = string(&text);
    if let Some(path) = failure.path {
        error.path = tabella_index_path { section: path.section as i64, row: path.row as i64 };
        error.located = TABELLA_ERROR_HAS_SECTION | TABELLA_ERROR_HAS_ROW;
    }
    error.private_data = Box::into_raw(text) as *mut c_void;
    error.release = Some(release_error);
    failure.code
}

unsafe extern "C" fn release_error(error: *mut tabella_error) {
    let error = &mut *error;
    drop(Box::from_raw(error.private_data as *mut Vec<u8>));
    error.private_data = std::ptr::null_mut();
    error.message = absent();
    error.release = None;
}

/// Runs `body`; reports its failure, or the panic that ended it.
fn guarded(error: *mut tabella_error, body: impl FnOnce() -> Outcome<()>) -> i32 {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => TABELLA_OK,
        Ok(Err(failure)) => report(failure, error),
        Err(panic) => {
            let text = match panic.downcast_ref::<&str>() {
                Some(text) => text.to_string(),
                None => panic.downcast_ref::<String>().cloned().unwrap_or_default(),
            };
            report(Failure::new(TABELLA_INTERNAL, format!("the provider panicked: {}", text)), error)
        }
    }
}

// Strings

/// Borrows bytes, which must outlive the result.
fn string(bytes: &[u8]) -> tabella_string {
    tabella_string { bytes: bytes.as_ptr() as *const c_char, length: bytes.len() as i64 }
}

fn absent() -> tabella_string {
    tabella_string { bytes: std::ptr::null(), length: 0 }
}

/// The bytes of a string; empty if it is absent.
unsafe fn bytes<'a>(string: tabella_string) -> &'a [u8] {
    slice(string.bytes as *const u8, string.length)
}

unsafe fn slice<'a, T>(first: *const T, count: i64) -> &'a [T] {
    if first.is_null() || count <= 0 {
        return &[];
    }
    std::slice::from_raw_parts(first, count as usize)
}

// Columns

#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    pub name: String,
    /// `TABELLA_TYPE_*`.
    pub kind: i32,
}

struct SchemaMemory {
    _texts: Vec<Vec<u8>>,
    children: Vec<*mut ArrowSchema>,
}

fn empty_schema(format: &'static [u8]) -> ArrowSchema {
    ArrowSchema {
        format: format.as_ptr() as *const c_char,
        name: std::ptr::null(),
        metadata: std::ptr::null(),
        flags: 0,
        n_children: 0,
        children: std::ptr::null_mut(),
        dictionary: std::ptr::null_mut(),
        release: Some(release_schema),
        private_data: std::ptr::null_mut(),
    }
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    let schema = &mut *schema;
    schema.release = None;
    let memory = Box::from_raw(schema.private_data as *mut SchemaMemory);
    for child in memory.children {
        let mut child = Box::from_raw(child);
        // A receiver may have taken a child. It then set the child's release to null.
        if let Some(release) = child.release {
            release(&mut *child);
        }
    }
}

fn field(column: &Column) -> ArrowSchema {
    let mut schema = empty_schema(match column.kind {
        TABELLA_TYPE_INTEGER => b"l\0",
        TABELLA_TYPE_REAL => b"g\0",
        TABELLA_TYPE_BOOLEAN => b"b\0",
        TABELLA_TYPE_DATE => b"tsn:UTC\0",
        _ => b"z\0",
    });
    let mut name: Vec<u8> = column.name.bytes().map(|b| if b == 0 { b' ' } else { b }).collect();
    name.push(0);
    let mut metadata = Vec::new();
    if column.kind == TABELLA_TYPE_TEXT {
        metadata.extend_from_slice(&1i32.to_ne_bytes());
        for text in [&b"tabella.type"[..], b"text"] {
            metadata.extend_from_slice(&(text.len() as i32).to_ne_bytes());
            metadata.extend_from_slice(text);
        }
        schema.metadata = metadata.as_ptr() as *const c_char;
    }
    schema.name = name.as_ptr() as *const c_char;
    schema.flags = ARROW_FLAG_NULLABLE;
    let memory = SchemaMemory { _texts: vec![name, metadata], children: Vec::new() };
    schema.private_data = Box::into_raw(Box::new(memory)) as *mut c_void;
    schema
}

fn schema_of(columns: &[Column]) -> ArrowSchema {
    let mut schema = empty_schema(b"+s\0");
    let children = columns.iter().map(|column| Box::into_raw(Box::new(field(column)))).collect();
    let mut memory = Box::new(SchemaMemory { _texts: Vec::new(), children });
    schema.n_children = columns.len() as i64;
    schema.children = memory.children.as_mut_ptr();
    schema.private_data = Box::into_raw(memory) as *mut c_void;
    schema
}

// Rows

/// The rows that a host requests.
pub struct Request {
    pub section: u64,
    pub first: u64,
    pub count: u64,
    pub columns: Vec<usize>,
    pub ids: bool,
}

impl Request {
    /// The numbers of the requested rows that exist, if the section has exactly `count` rows.
    pub fn range(&self, count: u64) -> Outcome<std::ops::Range<u64>> {
        if self.first > count {
            let message = format!("there is no row {}:{}", self.section, self.first);
            return Err(Failure::new(TABELLA_NOT_FOUND, message));
        }
        Ok(self.first..self.first + self.count.min(count - self.first))
    }
}

struct Cells {
    kind: i32,
    count: usize,
    missing: usize,
    validity: Vec<u8>,
    /// Numbers and dates.
    words: Vec<u64>,
    /// Text and binary, or the bits of booleans.
    bytes: Vec<u8>,
    /// The ends of text and binary.
    offsets: Vec<i32>,
}

fn push_bit(bits: &mut Vec<u8>, index: usize, bit: bool) {
    if index % 8 == 0 {
        bits.push(0);
    }
    bits[index / 8] |= (bit as u8) << (index % 8);
}

impl Cells {
    fn new(kind: i32) -> Cells {
        let is_binary = kind == TABELLA_TYPE_TEXT || kind == TABELLA_TYPE_BINARY;
        Cells {
            kind,
            count: 0,
            missing: 0,
            validity: Vec::new(),
            words: Vec::new(),
            bytes: Vec::new(),
            offsets: if is_binary { vec![0] } else { Vec::new() },
        }
    }

    fn mark(&mut self, present: bool) {
        push_bit(&mut self.validity, self.count, present);
        self.count += 1;
        self.missing += !present as usize;
    }

    fn end_bytes(&mut self) {
        let end = i32::try_from(self.bytes.len()).expect("at most 2 GiB of text in one batch");
        self.offsets.push(end);
    }
}

/// Collects the cells of the requested columns, row by row. `column` counts the requested columns.
/// The type of a cell must be that of its column; otherwise the call panics, and the host reports it.
pub struct Batch {
    columns: Vec<Cells>,
    ids: Option<Cells>,
    /// Whether all text so far is UTF-8.
    is_utf8: bool,
    pub rows: u64,
    /// Bytes of text so far. Stop after a few MiB: the host then continues.
    pub size: usize,
}

impl Batch {
    fn new(request: &Request, columns: &[Column]) -> Batch {
        Batch {
            columns: request.columns.iter().map(|&c| Cells::new(columns[c].kind)).collect(),
            ids: if request.ids { Some(Cells::new(TABELLA_TYPE_BINARY)) } else { None },
            is_utf8: true,
            rows: 0,
            size: 0,
        }
    }

    /// The cells of a column of one of these types. Foreign memory would be read if the type were wrong.
    fn cells(&mut self, column: usize, kinds: &[i32], cell: &str) -> &mut Cells {
        let cells = &mut self.columns[column];
        assert!(
            kinds.contains(&cells.kind),
            "requested column {} has type {}, but its cell is {}",
            column,
            cells.kind,
            cell
        );
        cells
    }

    pub fn missing(&mut self, column: usize) {
        let cells = &mut self.columns[column];
        match cells.kind {
            TABELLA_TYPE_TEXT | TABELLA_TYPE_BINARY => cells.end_bytes(),
            TABELLA_TYPE_BOOLEAN => push_bit(&mut cells.bytes, cells.count, false),
            _ => cells.words.push(0),
        }
        cells.mark(false);
    }

    pub fn text(&mut self, column: usize, text: &[u8]) {
        let cells = self.cells(column, &[TABELLA_TYPE_TEXT, TABELLA_TYPE_BINARY], "text or binary");
        cells.bytes.extend_from_slice(text);
        cells.end_bytes();
        cells.mark(true);
        let is_text = cells.kind == TABELLA_TYPE_TEXT;
        self.size += text.len();
        self.is_utf8 &= !is_text || std::str::from_utf8(text).is_ok();
    }

    /// An integer, or the nanoseconds of a date since 1970-01-01T00:00:00Z.
    pub fn integer(&mut self, column: usize, value: i64) {
        let cells = self.cells(column, &[TABELLA_TYPE_INTEGER, TABELLA_TYPE_DATE], "an integer or a date");
        cells.words.push(value as u64);
        cells.mark(true);
    }

    pub fn real(&mut self, column: usize, value: f64) {
        let cells = self.cells(column, &[TABELLA_TYPE_REAL], "a real number");
        cells.words.push(value.to_bits());
        cells.mark(true);
    }

    pub fn boolean(&mut self, column: usize, value: bool) {
        let cells = self.cells(column, &[TABELLA_TYPE_BOOLEAN], "a boolean");
        push_bit(&mut cells.bytes, cells.count, value);
        cells.mark(true);
    }

    /// Ends a row. `id` is only computed if the request wants ids.
    pub fn end_row(&mut self, id: impl FnOnce() -> String) {
        if let Some(ids) = &mut self.ids {
            ids.bytes.extend_from_slice(id().as_bytes());
            ids.end_bytes();
            ids.mark(true);
        }
        self.rows += 1;
    }
}

struct ArrayMemory {
    _cells: Option<Cells>,
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
}

fn array(rows: u64, mut memory: Box<ArrayMemory>) -> ArrowArray {
    ArrowArray {
        length: rows as i64,
        null_count: memory._cells.as_ref().map_or(0, |cells| cells.missing as i64),
        offset: 0,
        n_buffers: memory.buffers.len() as i64,
        n_children: memory.children.len() as i64,
        buffers: memory.buffers.as_mut_ptr(),
        children: memory.children.as_mut_ptr(),
        dictionary: std::ptr::null_mut(),
        release: Some(release_array),
        private_data: Box::into_raw(memory) as *mut c_void,
    }
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    let array = &mut *array;
    array.release = None;
    let memory = Box::from_raw(array.private_data as *mut ArrayMemory);
    for child in memory.children {
        let mut child = Box::from_raw(child);
        if let Some(release) = child.release {
            release(&mut *child);
        }
    }
}

fn column_array(cells: Cells) -> ArrowArray {
    let validity = if cells.missing == 0 { std::ptr::null() } else { cells.validity.as_ptr() };
    let mut buffers = vec![validity as *const c_void];
    match cells.kind {
        TABELLA_TYPE_TEXT | TABELLA_TYPE_BINARY => {
            buffers.push(cells.offsets.as_ptr() as *const c_void);
            buffers.push(cells.bytes.as_ptr() as *const c_void);
        }
        TABELLA_TYPE_BOOLEAN => buffers.push(cells.bytes.as_ptr() as *const c_void),
        _ => buffers.push(cells.words.as_ptr() as *const c_void),
    }
    let rows = cells.count as u64;
    array(rows, Box::new(ArrayMemory { _cells: Some(cells), buffers, children: Vec::new() }))
}

fn batch_array(batch: Batch) -> ArrowArray {
    let children = batch.columns.into_iter().chain(batch.ids);
    let children = children.map(|cells| Box::into_raw(Box::new(column_array(cells)))).collect();
    let buffers = vec![std::ptr::null()];
    array(batch.rows, Box::new(ArrayMemory { _cells: None, buffers, children }))
}

// Edits

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Missing,
    Integer(i64),
    Real(f64),
    Boolean(bool),
    Date(i64),
    Text(Vec<u8>),
    Binary(Vec<u8>),
}

/// An edit whose row is named by its position before the batch.
#[derive(Clone, Debug)]
pub enum Edit {
    Insert { target: RowPath, cells: Vec<(usize, Value)> },
    Delete { row: RowPath },
    Set { row: RowPath, cells: Vec<(usize, Value)> },
    Move { row: RowPath, target: RowPath },
}

impl Edit {
    /// The row before the batch; `None` for an insertion.
    pub fn row(&self) -> Option<RowPath> {
        match self {
            Edit::Insert { .. } => None,
            Edit::Delete { row } | Edit::Set { row, .. } | Edit::Move { row, .. } => Some(*row),
        }
    }

    /// The position after the batch to which a row comes.
    pub fn target(&self) -> Option<RowPath> {
        match self {
            Edit::Insert { target, .. } | Edit::Move { target, .. } => Some(*target),
            Edit::Delete { .. } | Edit::Set { .. } => None,
        }
    }

    /// The cells that the edit names: the numbers of their columns, and their values.
    pub fn cells(&self) -> &[(usize, Value)] {
        match self {
            Edit::Insert { cells, .. } | Edit::Set { cells, .. } => cells,
            Edit::Delete { .. } | Edit::Move { .. } => &[],
        }
    }
}

/// The effect of one edit: the new id of its row, and a remark for the user.
#[derive(Clone, Debug, Default)]
pub struct EditEffect {
    pub id: Option<String>,
    pub remark: Option<String>,
}

/// The effect of a batch, which is done as a whole.
#[derive(Default)]
pub struct Commit {
    pub effects: Vec<EditEffect>,
    pub receipt: Option<Vec<u8>>,
    pub changes: Vec<tabella_change>,
    /// The host must read everything again. `changes` is then empty.
    pub reloads: bool,
}

unsafe fn value(raw: &tabella_value) -> Outcome<Value> {
    Ok(match raw.r#type {
        0 => Value::Missing,
        TABELLA_TYPE_INTEGER => Value::Integer(raw.integer),
        TABELLA_TYPE_REAL => Value::Real(raw.real),
        TABELLA_TYPE_BOOLEAN => Value::Boolean(raw.integer != 0),
        TABELLA_TYPE_DATE => Value::Date(raw.integer),
        TABELLA_TYPE_TEXT => Value::Text(bytes(raw.bytes).to_vec()),
        TABELLA_TYPE_BINARY => Value::Binary(bytes(raw.bytes).to_vec()),
        other => {
            let message = format!("a value has the unknown type {}", other);
            return Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
        }
    })
}

unsafe fn cells(edit: &tabella_edit, columns: usize) -> Outcome<Vec<(usize, Value)>> {
    let mut cells: Vec<(usize, Value)> = Vec::new();
    for cell in slice(edit.cells, edit.cell_count) {
        if cell.column == TABELLA_SECTION_TITLE {
            return Err(Failure::new(TABELLA_NOT_SUPPORTED, "titles cannot be edited here"));
        }
        if cell.column < 0 || cell.column as usize >= columns {
            let message = format!("there is no column {}", cell.column);
            return Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
        }
        if cells.iter().any(|(column, _)| *column == cell.column as usize) {
            let message = format!("an edit names column {} twice", cell.column);
            return Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
        }
        cells.push((cell.column as usize, value(&cell.value)?));
    }
    Ok(cells)
}

/// The row of a path, whose section must exist.
fn row_of(path: tabella_index_path, source: &mut dyn Source) -> Outcome<RowPath> {
    if path.row == -1 {
        return Err(Failure::new(TABELLA_NOT_SUPPORTED, "sections cannot be edited here"));
    }
    if path.section < 0 || path.row < 0 {
        let message = format!("{}:{} is not a position in a table", path.section, path.row);
        return Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
    }
    Ok(RowPath { section: section(path.section, source)?, row: path.row as u64 })
}

/// The number of a section, which must exist.
fn section(number: i64, source: &mut dyn Source) -> Outcome<u64> {
    let code = match number {
        n if n < 0 => TABELLA_INVALID_ARGUMENT,
        n if n as u64 >= sections_of(source)? => TABELLA_NOT_FOUND,
        n => return Ok(n as u64),
    };
    Err(Failure::new(code, format!("there is no section {}", number)))
}

fn sections_of(source: &mut dyn Source) -> Outcome<u64> {
    Ok(source.section_count()?.unwrap_or(1))
}

unsafe fn edit(raw: &tabella_edit, source: &mut dyn Source) -> Outcome<Edit> {
    let columns = source.columns().len();
    let row = |source: &mut dyn Source| match raw.id.bytes.is_null() {
        true => row_of(raw.from, source),
        false => source.find(bytes(raw.id)),
    };
    Ok(match raw.kind {
        TABELLA_EDIT_INSERT => {
            Edit::Insert { target: row_of(raw.target, source)?, cells: cells(raw, columns)? }
        }
        TABELLA_EDIT_DELETE => Edit::Delete { row: row(source)? },
        TABELLA_EDIT_SET => Edit::Set { row: row(source)?, cells: cells(raw, columns)? },
        TABELLA_EDIT_MOVE => Edit::Move { row: row(source)?, target: row_of(raw.target, source)? },
        kind => {
            let message = format!("an edit has the unknown kind {}", kind);
            return Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
        }
    })
}

struct ResultMemory {
    _texts: Vec<Vec<u8>>,
    _outcomes: Vec<tabella_edit_outcome>,
    _changes: Vec<tabella_change>,
}

fn edit_result(commit: Commit, from: String, to: String, out: &mut tabella_edit_result) {
    let mut texts: Vec<Vec<u8>> = Vec::new();
    let mut keep = |text: Option<Vec<u8>>| match text {
        Some(text) => {
            texts.push(text);
            string(texts.last().expect("it was pushed"))
        }
        None => absent(),
    };
    let mut outcomes = Vec::new();
    for effect in commit.effects {
        let message = keep(effect.remark.map(String::into_bytes));
        let id = keep(effect.id.map(String::into_bytes));
        outcomes.push(tabella_edit_outcome { code: TABELLA_OK, flags: 0, message, id });
    }
    out.receipt = keep(commit.receipt);
    out.changes.from_version = keep(Some(from.into_bytes()));
    out.changes.to_version = keep(Some(to.into_bytes()));
    let changes = if commit.reloads { Vec::new() } else { commit.changes };
    out.changes.changes = changes.as_ptr();
    out.changes.change_count = changes.len() as i64;
    out.changes.flags = if commit.reloads { TABELLA_CHANGES_RELOAD } else { 0 };
    out.outcomes = outcomes.as_ptr();
    out.outcome_count = outcomes.len() as i64;
    let memory = ResultMemory { _texts: texts, _outcomes: outcomes, _changes: changes };
    out.private_data = Box::into_raw(Box::new(memory)) as *mut c_void;
    out.release = Some(release_result);
}

unsafe extern "C" fn release_result(result: *mut tabella_edit_result) {
    let result = &mut *result;
    result.release = None;
    drop(Box::from_raw(result.private_data as *mut ResultMemory));
}

// Sources

/// Set while the host wants a call to stop. A long loop asks `check` now and then.
#[derive(Clone, Default)]
pub struct Cancellation(Arc<AtomicBool>);

impl Cancellation {
    pub fn check(&self) -> Outcome<()> {
        match self.0.load(Ordering::Relaxed) {
            true => Err(Failure::new(TABELLA_CANCELLED, "cancelled")),
            false => Ok(()),
        }
    }
}

/// A source whose rows have ids. The layer has checked columns, numbers and sections of all requests. The functions
/// that have a body are optional.
pub trait Source {
    fn columns(&self) -> &[Column];
    fn version(&mut self) -> Outcome<String>;

    /// The number of sections. `None`: the source has one section without a title, and not the ability for sections.
    fn section_count(&mut self) -> Outcome<Option<u64>> {
        Ok(None)
    }
    /// The title of a section, if it has one.
    fn title(&mut self, _section: u64) -> Outcome<Option<String>> {
        Ok(None)
    }

    /// The number of rows of a section, and whether it is exact. A number that is not exact is at least `at_least`.
    fn row_count(&mut self, section: u64, at_least: u64) -> Outcome<(u64, bool)>;
    /// Appends at least one row, unless `first` is the end of the section. If `first` lies beyond the end, fails with
    /// `TABELLA_NOT_FOUND`.
    fn rows(&mut self, request: &Request, batch: &mut Batch) -> Outcome<()>;
    /// The row with this id. Fails with `TABELLA_NOT_FOUND`.
    fn find(&mut self, id: &[u8]) -> Outcome<RowPath>;

    /// The next remark about the data.
    fn remark(&mut self) -> Option<String> {
        None
    }

    /// Whether the source has `commit` and `undo`, and rows can be moved.
    fn is_editable(&self) -> bool {
        false
    }
    /// Makes all edits or none. The layer has compared the version.
    fn commit(&mut self, _edits: &[Edit], _dry_run: bool) -> Outcome<Commit> {
        Err(Failure::new(TABELLA_READ_ONLY, "cannot be edited"))
    }
    /// Undoes the batch of a receipt. The result has one effect.
    fn undo(&mut self, _receipt: &[u8], _dry_run: bool) -> Outcome<Commit> {
        Err(Failure::new(TABELLA_READ_ONLY, "cannot be edited"))
    }
}

/// An open source. The host has its address.
struct Open {
    source: Box<dyn Source>,
    cancellation: Cancellation,
    /// The strings that the host borrows.
    version: String,
    title: Vec<u8>,
    remark: Vec<u8>,
}

/// The source of a call, for the time of the call. `cancel` uses only another field, from any thread.
unsafe fn called<'a>(open: *mut c_void) -> &'a mut dyn Source {
    let open = open as *mut Open;
    (*std::ptr::addr_of!((*open).cancellation)).0.store(false, Ordering::Relaxed);
    let source = &mut *std::ptr::addr_of_mut!((*open).source);
    source.as_mut()
}

unsafe extern "C" fn release(open: *mut c_void) {
    let _ = catch_unwind(AssertUnwindSafe(|| drop(Box::from_raw(open as *mut Open))));
}

unsafe extern "C" fn cancel(open: *mut c_void) {
    (*std::ptr::addr_of!((*(open as *mut Open)).cancellation)).0.store(true, Ordering::Relaxed);
}

unsafe extern "C" fn flags(_open: *mut c_void) -> u64 {
    0
}

unsafe extern "C" fn version(open: *mut c_void, out: *mut tabella_string, error: *mut tabella_error) -> i32 {
    guarded(error, || {
        let text = called(open).version()?;
        let kept = &mut *std::ptr::addr_of_mut!((*(open as *mut Open)).version);
        *kept = text;
        *out = string(kept.as_bytes());
        Ok(())
    })
}

unsafe extern "C" fn schema(open: *mut c_void, out: *mut ArrowSchema, error: *mut tabella_error) -> i32 {
    guarded(error, || {
        std::ptr::write(out, schema_of(called(open).columns()));
        Ok(())
    })
}

unsafe extern "C" fn row_count(
    open: *mut c_void,
    number: i64,
    at_least: i64,
    out: *mut tabella_count,
    error: *mut tabella_error,
) -> i32 {
    guarded(error, || {
        let source = called(open);
        let section = section(number, source)?;
        if at_least < 0 {
            return Err(Failure::new(TABELLA_INVALID_ARGUMENT, "a negative number of rows"));
        }
        let (value, exact) = source.row_count(section, at_least as u64)?;
        *out = tabella_count { value: value as i64, exact: exact as i32, reserved: 0 };
        Ok(())
    })
}

unsafe extern "C" fn section_count(
    open: *mut c_void,
    _at_least: i64,
    out: *mut tabella_count,
    error: *mut tabella_error,
) -> i32 {
    guarded(error, || {
        let value = sections_of(called(open))? as i64;
        *out = tabella_count { value, exact: 1, reserved: 0 };
        Ok(())
    })
}

unsafe extern "C" fn title(
    open: *mut c_void,
    number: i64,
    which: i32,
    out: *mut tabella_string,
    error: *mut tabella_error,
) -> i32 {
    guarded(error, || {
        let source = called(open);
        let section = section(number, source)?;
        if which != TABELLA_TITLE_HEADER {
            return Ok(());
        }
        if let Some(title) = source.title(section)? {
            let kept = &mut *std::ptr::addr_of_mut!((*(open as *mut Open)).title);
            *kept = title.into_bytes();
            *out = string(kept);
        }
        Ok(())
    })
}

unsafe fn request(raw: &tabella_row_request, source: &mut dyn Source) -> Outcome<Request> {
    let section = section(raw.section, source)?;
    let columns = source.columns().len();
    if raw.first < 0 || raw.count < 1 {
        let message = format!("{} rows from row {} make no sense", raw.count, raw.first);
        return Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
    }
    let numbers = slice(raw.columns, raw.column_count);
    if let Some(unknown) = numbers.iter().find(|&&c| c < 0 || c as usize >= columns) {
        let message = format!("there is no column {}", unknown);
        return Err(Failure::new(TABELLA_INVALID_ARGUMENT, message));
    }
    Ok(Request {
        section,
        first: raw.first as u64,
        count: raw.count as u64,
        columns: numbers.iter().map(|&c| c as usize).collect(),
        ids: raw.flags & TABELLA_ROWS_IDS != 0,
    })
}

unsafe extern "C" fn rows(
    open: *mut c_void,
    raw: *const tabella_row_request,
    out: *mut tabella_batch,
    error: *mut tabella_error,
) -> i32 {
    guarded(error, || {
        let source = called(open);
        let request = request(&*raw, source)?;
        let mut batch = Batch::new(&request, source.columns());
        source.rows(&request, &mut batch)?;
        let flags = if batch.is_utf8 { TABELLA_BATCH_UTF8 } else { 0 };
        std::ptr::write(out, tabella_batch { array: batch_array(batch), flags });
        Ok(())
    })
}

unsafe extern "C" fn find(
    open: *mut c_void,
    id: tabella_string,
    out: *mut tabella_index_path,
    error: *mut tabella_error,
) -> i32 {
    guarded(error, || {
        let path = called(open).find(bytes(id))?;
        *out = tabella_index_path { section: path.section as i64, row: path.row as i64 };
        Ok(())
    })
}

unsafe extern "C" fn next(open: *mut c_void, out: *mut tabella_diagnostic) -> i32 {
    let next = catch_unwind(AssertUnwindSafe(|| called(open).remark())).ok().flatten();
    match next {
        Some(remark) => {
            let kept = &mut *std::ptr::addr_of_mut!((*(open as *mut Open)).remark);
            *kept = remark.replace(|c: char| c.is_control(), " ").into_bytes();
            let message = string(kept);
            *out = tabella_diagnostic { severity: TABELLA_SEVERITY_WARNING, reserved: 0, message };
            1
        }
        None => 0,
    }
}

/// Fills one byte for each of these rows.
unsafe fn fill(
    open: *mut c_void,
    range: (i64, i64, i64),
    out: *mut u8,
    bits: u8,
    error: *mut tabella_error,
) -> i32 {
    guarded(error, || {
        let (number, first, count) = range;
        let source = called(open);
        let section = section(number, source)?;
        let end = first.checked_add(count).filter(|_| first >= 0 && count >= 0);
        let end = end.ok_or_else(|| Failure::new(TABELLA_INVALID_ARGUMENT, "a senseless range"))?;
        if source.row_count(section, end as u64)?.0 < end as u64 {
            let message = format!("there is no row {}:{}", section, end - 1);
            return Err(Failure::new(TABELLA_NOT_FOUND, message));
        }
        if count > 0 {
            std::ptr::write_bytes(out, bits, count as usize);
        }
        Ok(())
    })
}

unsafe extern "C" fn editable(
    open: *mut c_void,
    section: i64,
    first: i64,
    count: i64,
    out: *mut u8,
    error: *mut tabella_error,
) -> i32 {
    fill(open, (section, first, count), out, TABELLA_ROW_EDITABLE | TABELLA_ROW_DELETE, error)
}

unsafe extern "C" fn movable(
    open: *mut c_void,
    section: i64,
    first: i64,
    count: i64,
    out: *mut u8,
    error: *mut tabella_error,
) -> i32 {
    fill(open, (section, first, count), out, 1, error)
}

unsafe extern "C" fn commit(
    open: *mut c_void,
    raw: *const tabella_edit_batch,
    out: *mut tabella_edit_result,
    error: *mut tabella_error,
) -> i32 {
    guarded(error, || {
        let source = called(open);
        let batch = &*raw;
        let from = source.version()?;
        if !batch.version.bytes.is_null() && bytes(batch.version) != from.as_bytes() {
            return Err(Failure::new(TABELLA_CONFLICT, "the data has another version by now"));
        }
        let mut edits = Vec::new();
        for raw in slice(batch.edits, batch.edit_count) {
            edits.push(edit(raw, source)?);
        }
        let done = source.commit(&edits, batch.flags & TABELLA_EDITS_DRY_RUN != 0)?;
        edit_result(done, from, source.version()?, &mut *out);
        Ok(())
    })
}

unsafe extern "C" fn undo(
    open: *mut c_void,
    receipt: tabella_string,
    flags: u32,
    out: *mut tabella_edit_result,
    error: *mut tabella_error,
) -> i32 {
    guarded(error, || {
        let source = called(open);
        let from = source.version()?;
        let done = source.undo(bytes(receipt), flags & TABELLA_EDITS_DRY_RUN != 0)?;
        edit_result(done, from, source.version()?, &mut *out);
        Ok(())
    })
}

static SECTIONS: tabella_sections = tabella_sections { count: Some(section_count), title: Some(title) };
static IDENTITY: tabella_identity = tabella_identity { find: Some(find) };
static DIAGNOSTICS: tabella_diagnostics = tabella_diagnostics { next: Some(next) };
static EDITING: tabella_editing =
    tabella_editing { editable: Some(editable), editable_columns: None, commit: Some(commit) };
static MOVING: tabella_moving = tabella_moving { movable: Some(movable), target: None };
static UNDO: tabella_undo = tabella_undo { undo: Some(undo) };
static SOURCE: tabella_source_table = tabella_source_table {
    release: Some(release),
    cancel: Some(cancel),
    ability: Some(ability),
    flags: Some(flags),
    version: Some(version),
    schema: Some(schema),
    row_count: Some(row_count),
    rows: Some(rows),
};

unsafe extern "C" fn ability(open: *mut c_void, id: tabella_string) -> *const c_void {
    let has = |ask: &dyn Fn(&mut dyn Source) -> bool| {
        catch_unwind(AssertUnwindSafe(|| ask(called(open)))).unwrap_or(false)
    };
    let edits = has(&|source| source.is_editable());
    let sections = has(&|source| !matches!(source.section_count(), Ok(None)));
    match bytes(id) {
        id if id == TABELLA_SECTIONS_ID && sections => &SECTIONS as *const _ as *const c_void,
        id if id == TABELLA_IDENTITY_ID => &IDENTITY as *const _ as *const c_void,
        id if id == TABELLA_DIAGNOSTICS_ID => &DIAGNOSTICS as *const _ as *const c_void,
        id if id == TABELLA_EDITING_ID && edits => &EDITING as *const _ as *const c_void,
        id if id == TABELLA_MOVING_ID && edits => &MOVING as *const _ as *const c_void,
        id if id == TABELLA_UNDO_ID && edits => &UNDO as *const _ as *const c_void,
        _ => std::ptr::null(),
    }
}

// The provider

/// A location to open, with the options that the user gave.
pub struct Location<'a> {
    pub path: &'a [u8],
    pub options: Vec<(String, String)>,
}

impl Location<'_> {
    pub fn option(&self, name: &str) -> Option<&str> {
        self.options.iter().find(|(n, _)| n == name).map(|(_, value)| value.as_str())
    }
}

pub type Opener = fn(&Location, Cancellation) -> Outcome<Box<dyn Source>>;

/// The pointer of the provider is its opener.
unsafe extern "C" fn open(
    provider: *mut c_void,
    raw: *const tabella_open_request,
    out: *mut tabella_source,
    error: *mut tabella_error,
) -> i32 {
    guarded(error, || {
        let raw = &*raw;
        let text = |string| String::from_utf8_lossy(bytes(string)).into_owned();
        let options = slice(raw.options, raw.option_count);
        let options = options.iter().map(|o| (text(o.name), text(o.value))).collect();
        let location = Location { path: bytes(raw.location), options };
        let opener: Opener = std::mem::transmute(provider);
        let cancellation = Cancellation::default();
        let source = opener(&location, cancellation.clone())?;
        let open =
            Open { source, cancellation, version: String::new(), title: Vec::new(), remark: Vec::new() };
        (*out).table = &SOURCE;
        (*out).source = Box::into_raw(Box::new(open)) as *mut c_void;
        Ok(())
    })
}

/// Answers the entry of the library. Call it from `tabella_provider_entry`.
///
/// # Safety
/// `entry` is the pointer that the host passed.
pub unsafe fn enter(
    entry: *mut tabella_entry,
    id: &'static str,
    version: &'static str,
    opener: Opener,
) -> i32 {
    // A host of another contract may pass a struct with only the first two fields.
    std::ptr::addr_of_mut!((*entry).provider_contract).write(TABELLA_CONTRACT_VERSION);
    let host = std::ptr::addr_of!((*entry).contract_version).read();
    if !(TABELLA_CONTRACT_OLDEST..TABELLA_CONTRACT_END).contains(&host) {
        return TABELLA_NOT_SUPPORTED;
    }
    // Nothing is printed about a panic, because it becomes an error.
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|_| {})));
    let provider = std::ptr::addr_of_mut!((*entry).provider);
    (*provider).provider = opener as *mut c_void;
    (*provider).id = string(id.as_bytes());
    (*provider).version = string(version.as_bytes());
    (*provider).open = Some(open);
    TABELLA_OK
}
