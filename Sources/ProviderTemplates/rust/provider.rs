//! A provider of tables. `@NAME@:` shows the sample below; `@NAME@:FILE` and `FILE.@NAME@` show a file.
//!
//! A row is a line: a name, a tab, and a year. For other data, change `COLUMNS`, `parse` and `cell`.
//! The comments of tabella.h say who owns what, and which thread may call.
mod batch;
mod tabella;

use batch::{batch, bytes, check, fail, schema, text, Cell, Column};
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::ops::Range;
use std::os::raw::{c_char, c_void};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use tabella::*;

const SAMPLE: &[u8] = b"Ada\t1815\nGrace\t1906\nMargaret\t1936\n";

const COLUMNS: &[Column] = &[
    Column { name: "name", kind: TABELLA_TYPE_TEXT },
    Column { name: "year", kind: TABELLA_TYPE_INTEGER },
];

const LARGEST_FILE: u64 = 64 << 20;

/// A table: its text, and the ranges of its lines.
struct Table {
    text: Vec<u8>,
    rows: Vec<Range<usize>>,
    version: String,
}

/// A code of the contract, and a message.
type Failure = (i32, String);

/// A digest of some bytes (FNV-1a). It names content, and protects nothing.
fn digest(bytes: &[u8]) -> u64 {
    bytes.iter().fold(14695981039346656037, |hash, byte| (hash ^ *byte as u64).wrapping_mul(1099511628211))
}

// Reading

/// Divides a text into rows.
fn parse(text: Vec<u8>) -> Table {
    let mut rows = Vec::new();
    let mut first = 0;
    while first < text.len() {
        let end = text[first..].iter().position(|&byte| byte == b'\n').map_or(text.len(), |at| first + at);
        let cut = (end > first && text[end - 1] == b'\r') as usize;
        rows.push(first..end - cut);
        first = end + 1;
    }
    let version = format!("{:x}", digest(&text));
    Table { text, rows, version }
}

/// Reads a file whose path is a location: bytes, and not always UTF-8.
fn read_file(location: &[u8]) -> Result<Vec<u8>, Failure> {
    let failure = |error: std::io::Error| {
        let code = match error.kind() {
            ErrorKind::NotFound => TABELLA_NOT_FOUND,
            ErrorKind::PermissionDenied => TABELLA_DENIED,
            // ENOTDIR and ENAMETOOLONG
            _ if matches!(error.raw_os_error(), Some(20) | Some(36)) => TABELLA_NOT_FOUND,
            _ => TABELLA_IO,
        };
        (code, format!("cannot be read: {}", error))
    };
    // Without O_NONBLOCK, opening a pipe would wait for its writer.
    const O_NONBLOCK: i32 = 0o4000;
    let path = std::ffi::OsStr::from_bytes(location);
    let mut file: File =
        OpenOptions::new().read(true).custom_flags(O_NONBLOCK).open(path).map_err(failure)?;
    let status = file.metadata().map_err(failure)?;
    if !status.is_file() || status.len() > LARGEST_FILE {
        return Err((TABELLA_NOT_SUPPORTED, "is not a file of at most 64 MiB".into()));
    }
    let mut text = Vec::new();
    file.read_to_end(&mut text).map_err(failure)?;
    Ok(text)
}

impl Table {
    fn line(&self, number: usize) -> &[u8] {
        &self.text[self.rows[number].clone()]
    }

    /// The id of a row: its number, and a digest of its line. It never names another line.
    fn id(&self, number: usize) -> String {
        format!("{}.{:x}", number, digest(self.line(number)))
    }

    fn cell(&self, number: usize, column: usize) -> Cell<'_> {
        let mut parts = self.line(number).splitn(2, |&byte| byte == b'\t');
        let part = parts.nth(column);
        match (column, part) {
            (0, Some(name)) => Cell::Text(name),
            (1, Some(year)) => {
                let year = std::str::from_utf8(year).ok().and_then(|year| year.parse().ok());
                year.map_or(Cell::Missing, Cell::Integer)
            }
            _ => Cell::Missing,
        }
    }
}

// The source

unsafe fn table<'a>(source: *mut c_void) -> &'a Table {
    &*(source as *const Table)
}

unsafe extern "C" fn release(source: *mut c_void) {
    drop(Box::from_raw(source as *mut Table));
}

unsafe extern "C" fn flags(_source: *mut c_void) -> u64 {
    0
}

unsafe extern "C" fn version(source: *mut c_void, out: *mut tabella_string, _: *mut tabella_error) -> i32 {
    let version = &table(source).version;
    *out = tabella_string { bytes: version.as_ptr() as *const c_char, length: version.len() as i64 };
    TABELLA_OK
}

unsafe extern "C" fn schema_of(_source: *mut c_void, out: *mut ArrowSchema, _: *mut tabella_error) -> i32 {
    out.write(schema(COLUMNS));
    TABELLA_OK
}

unsafe extern "C" fn row_count(
    source: *mut c_void,
    section: i64,
    _at_least: i64,
    out: *mut tabella_count,
    error: *mut tabella_error,
) -> i32 {
    if section != 0 {
        return fail(error, TABELLA_NOT_FOUND, format!("there is no section {}", section));
    }
    *out = tabella_count { value: table(source).rows.len() as i64, exact: 1, reserved: 0 };
    TABELLA_OK
}

unsafe extern "C" fn rows(
    source: *mut c_void,
    request: *const tabella_row_request,
    out: *mut tabella_batch,
    error: *mut tabella_error,
) -> i32 {
    let (table, request) = (table(source), &*request);
    let code = check(request, COLUMNS, error);
    if code != TABELLA_OK {
        return code;
    }
    let count = table.rows.len() as i64;
    if request.section != 0 || request.first > count {
        let message = format!("there is no row {} in section {}", request.first, request.section);
        return fail(error, TABELLA_NOT_FOUND, message);
    }
    let end = request.first + request.count.min(count - request.first);
    let numbers = request.first as usize..end as usize;
    let ids = |number| table.id(number);
    out.write(batch(request, COLUMNS, numbers, ids, |number, column| table.cell(number, column)));
    TABELLA_OK
}

unsafe extern "C" fn find(
    source: *mut c_void,
    id: tabella_string,
    out: *mut tabella_index_path,
    error: *mut tabella_error,
) -> i32 {
    let (table, id) = (table(source), String::from_utf8_lossy(bytes(id)));
    match id.split('.').next().and_then(|number| number.parse::<usize>().ok()) {
        Some(number) if number < table.rows.len() && table.id(number) == id => {
            *out = tabella_index_path { section: 0, row: number as i64 };
            TABELLA_OK
        }
        _ => fail(error, TABELLA_NOT_FOUND, "there is no row with this id".into()),
    }
}

static IDENTITY: tabella_identity = tabella_identity { find: Some(find) };

unsafe extern "C" fn ability(_source: *mut c_void, id: tabella_string) -> *const c_void {
    if bytes(id) == TABELLA_IDENTITY_ID {
        return &IDENTITY as *const tabella_identity as *const c_void;
    }
    std::ptr::null()
}

static FUNCTIONS: tabella_source_table = tabella_source_table {
    release: Some(release),
    cancel: None,
    ability: Some(ability),
    flags: Some(flags),
    version: Some(version),
    schema: Some(schema_of),
    row_count: Some(row_count),
    rows: Some(rows),
};

// The provider

unsafe extern "C" fn open(
    _provider: *mut c_void,
    request: *const tabella_open_request,
    out: *mut tabella_source,
    error: *mut tabella_error,
) -> i32 {
    let location = bytes((*request).location);
    let text = if location.is_empty() { Ok(SAMPLE.to_vec()) } else { read_file(location) };
    match text {
        Ok(text) => {
            let table = Box::into_raw(Box::new(parse(text)));
            *out = tabella_source { table: &FUNCTIONS, source: table as *mut c_void };
            TABELLA_OK
        }
        Err((code, message)) => fail(error, code, message),
    }
}

/// # Safety
/// A host calls the function, with an entry of the contract.
#[no_mangle]
pub unsafe extern "C" fn tabella_provider_entry(entry: *mut tabella_entry) -> i32 {
    let entry = &mut *entry;
    entry.provider_contract = TABELLA_CONTRACT_VERSION;
    if entry.contract_version != TABELLA_CONTRACT_VERSION {
        return TABELLA_NOT_SUPPORTED;
    }
    entry.provider.id = text("@NAME@");
    entry.provider.version = text("1.0");
    entry.provider.open = Some(open);
    TABELLA_OK
}
