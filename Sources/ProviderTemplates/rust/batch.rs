//! Builds schemas and batches in Arrow's C data format, and errors. The batches own their memory, so
//! they can outlive the source.
use crate::tabella::*;
use std::ffi::CString;
use std::os::raw::{c_char, c_void};
use std::ptr::{null, null_mut};

/// The type of a column, a `TABELLA_TYPE_*`, and its name.
pub struct Column {
    pub name: &'static str,
    pub kind: i32,
}

/// A cell. Its variant must be that of its column's type; `Date` counts nanoseconds since 1970.
#[allow(dead_code)]
pub enum Cell<'a> {
    Missing,
    Text(&'a [u8]),
    Integer(i64),
    Real(f64),
    Boolean(bool),
    Date(i64),
}

/// A string that lives as long as the library.
pub const fn text(string: &'static str) -> tabella_string {
    tabella_string { bytes: string.as_ptr() as *const c_char, length: string.len() as i64 }
}

/// The bytes of a string that a host passes.
pub unsafe fn bytes<'a>(string: tabella_string) -> &'a [u8] {
    if string.length <= 0 {
        return &[];
    }
    std::slice::from_raw_parts(string.bytes as *const u8, string.length as usize)
}

/// Fills in an error and returns its code.
pub unsafe fn fail(error: *mut tabella_error, code: i32, message: String) -> i32 {
    unsafe extern "C" fn release(error: *mut tabella_error) {
        drop(Box::from_raw((*error).private_data as *mut String));
        (*error).private_data = null_mut();
        (*error).release = None;
    }
    let owned = Box::new(message);
    (*error).message =
        tabella_string { bytes: owned.as_ptr() as *const c_char, length: owned.len() as i64 };
    (*error).private_data = Box::into_raw(owned) as *mut c_void;
    (*error).release = Some(release);
    code
}

// Schemas

struct SchemaMemory {
    name: CString,
    metadata: Vec<u8>,
    children: Vec<*mut ArrowSchema>,
}

unsafe extern "C" fn release_schema(schema: *mut ArrowSchema) {
    let memory = Box::from_raw((*schema).private_data as *mut SchemaMemory);
    for &child in &memory.children {
        if let Some(release) = (*child).release {
            release(child);
        }
        drop(Box::from_raw(child));
    }
    (*schema).release = None;
}

fn make_schema(format: &'static [u8], memory: SchemaMemory) -> ArrowSchema {
    let memory = Box::new(memory);
    let mut schema = ArrowSchema {
        format: format.as_ptr() as *const c_char,
        name: memory.name.as_ptr(),
        metadata: if memory.metadata.is_empty() { null() } else { memory.metadata.as_ptr().cast() },
        flags: ARROW_FLAG_NULLABLE,
        n_children: memory.children.len() as i64,
        children: null_mut(),
        dictionary: null_mut(),
        release: Some(release_schema),
        private_data: null_mut(),
    };
    let memory = Box::into_raw(memory);
    unsafe { schema.children = (*memory).children.as_mut_ptr() };
    schema.private_data = memory as *mut c_void;
    schema
}

/// The schema of a table with these columns.
pub fn schema(columns: &[Column]) -> ArrowSchema {
    let children = columns
        .iter()
        .map(|column| {
            let format: &'static [u8] = match column.kind {
                TABELLA_TYPE_INTEGER => b"l\0",
                TABELLA_TYPE_REAL => b"g\0",
                TABELLA_TYPE_BOOLEAN => b"b\0",
                TABELLA_TYPE_DATE => b"tsn:UTC\0",
                _ => b"z\0",
            };
            let mut metadata = Vec::new();
            if column.kind == TABELLA_TYPE_TEXT {
                metadata.extend(1i32.to_ne_bytes());
                for word in ["tabella.type", "text"] {
                    metadata.extend((word.len() as i32).to_ne_bytes());
                    metadata.extend(word.as_bytes());
                }
            }
            let name = CString::new(column.name).expect("a name without NUL");
            let memory = SchemaMemory { name, metadata, children: Vec::new() };
            Box::into_raw(Box::new(make_schema(format, memory)))
        })
        .collect();
    let memory = SchemaMemory { name: CString::default(), metadata: Vec::new(), children };
    make_schema(b"+s\0", memory)
}

// Batches

/// The cells of one column. Buffers of eight bytes have the alignment that every type needs.
struct ColumnBuilder {
    kind: i32,
    count: usize,
    missing: i64,
    validity: Vec<u64>,
    bits: Vec<u64>,
    words: Vec<u64>,
    offsets: Vec<i32>,
    text: Vec<u8>,
}

fn put_bit(bits: &mut Vec<u64>, index: usize, bit: bool) {
    if index % 64 == 0 {
        bits.push(0);
    }
    bits[index / 64] |= (bit as u64) << (index % 64);
}

impl ColumnBuilder {
    fn new(kind: i32) -> ColumnBuilder {
        let (bits, words, text) = (Vec::new(), Vec::new(), Vec::new());
        ColumnBuilder { kind, count: 0, missing: 0, validity: Vec::new(), bits, words, offsets: vec![0], text }
    }

    fn append(&mut self, cell: &Cell) {
        let is_missing = matches!(cell, Cell::Missing);
        put_bit(&mut self.validity, self.count, !is_missing);
        self.missing += is_missing as i64;
        match (self.kind, cell) {
            (TABELLA_TYPE_TEXT | TABELLA_TYPE_BINARY, cell) => {
                if let Cell::Text(bytes) = cell {
                    self.text.extend(*bytes);
                }
                self.offsets.push(i32::try_from(self.text.len()).expect("at most 2 GiB of text"));
            }
            (TABELLA_TYPE_BOOLEAN, cell) => {
                put_bit(&mut self.bits, self.count, matches!(cell, Cell::Boolean(true)))
            }
            (_, Cell::Integer(value)) | (_, Cell::Date(value)) => self.words.push(*value as u64),
            (_, Cell::Real(value)) => self.words.push(value.to_bits()),
            _ => self.words.push(0),
        }
        self.count += 1;
    }

    fn finish(mut self) -> ArrowArray {
        // A pointer to no bytes must also be valid.
        for buffer in [&mut self.bits, &mut self.words] {
            buffer.reserve(1);
        }
        self.text.reserve(1);
        let validity = if self.missing > 0 { self.validity.as_ptr().cast() } else { null() };
        let buffers: Vec<*const c_void> = match self.kind {
            TABELLA_TYPE_TEXT | TABELLA_TYPE_BINARY => {
                vec![validity, self.offsets.as_ptr().cast(), self.text.as_ptr().cast()]
            }
            TABELLA_TYPE_BOOLEAN => vec![validity, self.bits.as_ptr().cast()],
            _ => vec![validity, self.words.as_ptr().cast()],
        };
        let (count, missing) = (self.count as i64, self.missing);
        make_array(count, missing, ArrayMemory { buffers, children: Vec::new(), _column: Some(self) })
    }
}

struct ArrayMemory {
    buffers: Vec<*const c_void>,
    children: Vec<*mut ArrowArray>,
    _column: Option<ColumnBuilder>,
}

unsafe extern "C" fn release_array(array: *mut ArrowArray) {
    let memory = Box::from_raw((*array).private_data as *mut ArrayMemory);
    for &child in &memory.children {
        // A receiver may have moved a child away; then it has no release.
        if let Some(release) = (*child).release {
            release(child);
        }
        drop(Box::from_raw(child));
    }
    (*array).release = None;
}

fn make_array(length: i64, null_count: i64, memory: ArrayMemory) -> ArrowArray {
    let memory = Box::into_raw(Box::new(memory));
    unsafe {
        ArrowArray {
            length,
            null_count,
            offset: 0,
            n_buffers: (*memory).buffers.len() as i64,
            n_children: (*memory).children.len() as i64,
            buffers: (*memory).buffers.as_mut_ptr(),
            children: (*memory).children.as_mut_ptr(),
            dictionary: null_mut(),
            release: Some(release_array),
            private_data: memory as *mut c_void,
        }
    }
}

/// Refuses requests that no section could answer.
pub unsafe fn check(
    request: &tabella_row_request,
    columns: &[Column],
    error: *mut tabella_error,
) -> i32 {
    if request.section < 0 || request.first < 0 || request.count < 1 {
        return fail(error, TABELLA_INVALID_ARGUMENT, "there are no such rows".into());
    }
    let known = 0..columns.len() as i64;
    match requested(request).iter().find(|column| !known.contains(column)) {
        Some(column) => {
            fail(error, TABELLA_INVALID_ARGUMENT, format!("there is no column {}", column))
        }
        None => TABELLA_OK,
    }
}

/// The numbers of the requested columns.
pub unsafe fn requested(request: &tabella_row_request) -> &[i64] {
    if request.column_count <= 0 {
        return &[];
    }
    std::slice::from_raw_parts(request.columns, request.column_count as usize)
}

/// A batch with the rows that `row` returns for their numbers: the id, and the cells of a column.
pub unsafe fn batch<'a>(
    request: &tabella_row_request,
    columns: &[Column],
    numbers: std::ops::Range<usize>,
    id: impl Fn(usize) -> String,
    cell: impl Fn(usize, usize) -> Cell<'a>,
) -> tabella_batch {
    let count = numbers.len() as i64;
    let mut children = Vec::new();
    for &column in requested(request) {
        let mut builder = ColumnBuilder::new(columns[column as usize].kind);
        for number in numbers.clone() {
            builder.append(&cell(number, column as usize));
        }
        children.push(builder.finish());
    }
    if request.flags & TABELLA_ROWS_IDS != 0 {
        let mut ids = ColumnBuilder::new(TABELLA_TYPE_BINARY);
        for number in numbers {
            ids.append(&Cell::Text(id(number).as_bytes()));
        }
        children.push(ids.finish());
    }
    let children = children.into_iter().map(|child| Box::into_raw(Box::new(child))).collect();
    let memory = ArrayMemory { buffers: vec![null()], children, _column: None };
    tabella_batch { array: make_array(count, 0, memory), flags: 0 }
}
