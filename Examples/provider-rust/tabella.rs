//! The contract between a table provider and its host, in Rust: the declarations of `tabella.h` and
//! nothing else. The comments of `tabella.h` say who owns what and which thread may call. Names,
//! fields and constants are those of C; `layout.rs` compares them with the header.
//!
//! A pointer or function that may be null is an `Option` or a raw pointer. Works with Rust 1.63.
#![allow(non_camel_case_types, dead_code)]

use std::os::raw::{c_char, c_void};

pub const TABELLA_CONTRACT_VERSION: u32 = 0x00000009;
pub const TABELLA_CONTRACT_OLDEST: u32 = 0x00000009;
pub const TABELLA_CONTRACT_END: u32 = 0x00020000;

pub const TABELLA_OK: i32 = 0;
pub const TABELLA_NOT_SUPPORTED: i32 = 1;
pub const TABELLA_INVALID_ARGUMENT: i32 = 2;
pub const TABELLA_INVALID_STATE: i32 = 3;
pub const TABELLA_NOT_FOUND: i32 = 4;
pub const TABELLA_CONFLICT: i32 = 5;
pub const TABELLA_READ_ONLY: i32 = 6;
pub const TABELLA_CONSTRAINT: i32 = 7;
pub const TABELLA_IO: i32 = 8;
pub const TABELLA_CANCELLED: i32 = 9;
pub const TABELLA_TIMEOUT: i32 = 10;
pub const TABELLA_DENIED: i32 = 11;
pub const TABELLA_INTERNAL: i32 = 12;
pub const TABELLA_MISBEHAVED: i32 = 100;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_string {
    pub bytes: *const c_char,
    pub length: i64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct tabella_index_path {
    pub section: i64,
    pub row: i64,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_count {
    pub value: i64,
    pub exact: i32,
    pub reserved: i32,
}

#[repr(C)]
pub struct tabella_error {
    pub message: tabella_string,
    pub path: tabella_index_path,
    pub column: i64,
    pub located: i32,
    pub retryable: i32,
    pub release: Option<unsafe extern "C" fn(error: *mut tabella_error)>,
    pub private_data: *mut c_void,
}

pub const TABELLA_ERROR_HAS_SECTION: i32 = 1;
pub const TABELLA_ERROR_HAS_ROW: i32 = 2;
pub const TABELLA_ERROR_HAS_COLUMN: i32 = 4;

// Rows

pub const ARROW_FLAG_DICTIONARY_ORDERED: i64 = 1;
pub const ARROW_FLAG_NULLABLE: i64 = 2;
pub const ARROW_FLAG_MAP_KEYS_SORTED: i64 = 4;

#[repr(C)]
pub struct ArrowSchema {
    pub format: *const c_char,
    pub name: *const c_char,
    pub metadata: *const c_char,
    pub flags: i64,
    pub n_children: i64,
    pub children: *mut *mut ArrowSchema,
    pub dictionary: *mut ArrowSchema,
    pub release: Option<unsafe extern "C" fn(schema: *mut ArrowSchema)>,
    pub private_data: *mut c_void,
}

#[repr(C)]
pub struct ArrowArray {
    pub length: i64,
    pub null_count: i64,
    pub offset: i64,
    pub n_buffers: i64,
    pub n_children: i64,
    pub buffers: *mut *const c_void,
    pub children: *mut *mut ArrowArray,
    pub dictionary: *mut ArrowArray,
    pub release: Option<unsafe extern "C" fn(array: *mut ArrowArray)>,
    pub private_data: *mut c_void,
}

pub const TABELLA_TYPE_TEXT: i32 = 1;
pub const TABELLA_TYPE_INTEGER: i32 = 2;
pub const TABELLA_TYPE_REAL: i32 = 3;
pub const TABELLA_TYPE_BOOLEAN: i32 = 4;
pub const TABELLA_TYPE_DATE: i32 = 5;
pub const TABELLA_TYPE_BINARY: i32 = 6;

#[repr(C)]
pub struct tabella_row_request {
    pub section: i64,
    pub first: i64,
    pub count: i64,
    pub columns: *const i64,
    pub column_count: i64,
    pub flags: u32,
    pub reserved: u32,
}

pub const TABELLA_ROWS_IDS: u32 = 1;

#[repr(C)]
pub struct tabella_batch {
    pub array: ArrowArray,
    pub flags: u64,
}

pub const TABELLA_BATCH_UTF8: u64 = 1;

// A source

pub const TABELLA_SOURCE_VOLATILE_ORDER: u64 = 1;

#[repr(C)]
pub struct tabella_source_table {
    pub release: Option<unsafe extern "C" fn(source: *mut c_void)>,
    pub cancel: Option<unsafe extern "C" fn(source: *mut c_void)>,
    pub ability: Option<unsafe extern "C" fn(source: *mut c_void, id: tabella_string) -> *const c_void>,
    pub flags: Option<unsafe extern "C" fn(source: *mut c_void) -> u64>,
    pub version: Option<
        unsafe extern "C" fn(source: *mut c_void, out: *mut tabella_string, error: *mut tabella_error) -> i32,
    >,
    pub schema: Option<
        unsafe extern "C" fn(source: *mut c_void, out: *mut ArrowSchema, error: *mut tabella_error) -> i32,
    >,
    pub row_count: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            section: i64,
            at_least: i64,
            out: *mut tabella_count,
            error: *mut tabella_error,
        ) -> i32,
    >,
    pub rows: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            request: *const tabella_row_request,
            out: *mut tabella_batch,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

#[repr(C)]
pub struct tabella_source {
    pub table: *const tabella_source_table,
    pub source: *mut c_void,
}

// tabella.sections/1

pub const TABELLA_SECTIONS_ID: &[u8] = b"tabella.sections/1";
pub const TABELLA_TITLE_HEADER: i32 = 0;
pub const TABELLA_TITLE_FOOTER: i32 = 1;

#[repr(C)]
pub struct tabella_sections {
    pub count: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            at_least: i64,
            out: *mut tabella_count,
            error: *mut tabella_error,
        ) -> i32,
    >,
    pub title: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            section: i64,
            which: i32,
            out: *mut tabella_string,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.section-index/1

pub const TABELLA_SECTION_INDEX_ID: &[u8] = b"tabella.section-index/1";

#[repr(C)]
pub struct tabella_section_index {
    pub titles: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            out: *mut *const tabella_string,
            count: *mut i64,
            error: *mut tabella_error,
        ) -> i32,
    >,
    pub path: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            title: i64,
            out: *mut tabella_index_path,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.identity/1

pub const TABELLA_IDENTITY_ID: &[u8] = b"tabella.identity/1";

#[repr(C)]
pub struct tabella_identity {
    pub find: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            id: tabella_string,
            out: *mut tabella_index_path,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.gathering/1

pub const TABELLA_GATHERING_ID: &[u8] = b"tabella.gathering/1";

#[repr(C)]
pub struct tabella_gather_request {
    pub paths: *const tabella_index_path,
    pub path_count: i64,
    pub columns: *const i64,
    pub column_count: i64,
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct tabella_gathering {
    pub rows: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            request: *const tabella_gather_request,
            out: *mut tabella_batch,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.changes/1

pub const TABELLA_CHANGES_ID: &[u8] = b"tabella.changes/1";
pub const TABELLA_CHANGE_INSERT: i32 = 1;
pub const TABELLA_CHANGE_DELETE: i32 = 2;
pub const TABELLA_CHANGE_MOVE: i32 = 3;
pub const TABELLA_CHANGE_RELOAD: i32 = 4;
pub const TABELLA_CHANGE_RECONFIGURE: i32 = 5;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_change {
    pub kind: i32,
    pub reserved: i32,
    pub from: tabella_index_path,
    pub to: tabella_index_path,
}

pub const TABELLA_CHANGES_RELOAD: u32 = 1;

#[repr(C)]
pub struct tabella_changes {
    pub from_version: tabella_string,
    pub to_version: tabella_string,
    pub changes: *const tabella_change,
    pub change_count: i64,
    pub flags: u32,
    pub reserved: u32,
    pub release: Option<unsafe extern "C" fn(changes: *mut tabella_changes)>,
    pub private_data: *mut c_void,
}

pub type tabella_notify = unsafe extern "C" fn(context: *mut c_void);

#[repr(C)]
pub struct tabella_changes_table {
    pub listen: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            notify: Option<tabella_notify>,
            context: *mut c_void,
            error: *mut tabella_error,
        ) -> i32,
    >,
    pub pull: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            out: *mut tabella_changes,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.editing/1

pub const TABELLA_EDITING_ID: &[u8] = b"tabella.editing/1";
pub const TABELLA_ROW_EDITABLE: u8 = 1;
pub const TABELLA_ROW_DELETE: u8 = 2;
pub const TABELLA_ROW_INSERT: u8 = 4;
pub const TABELLA_EDIT_INSERT: i32 = 1;
pub const TABELLA_EDIT_DELETE: i32 = 2;
pub const TABELLA_EDIT_SET: i32 = 3;
pub const TABELLA_EDIT_MOVE: i32 = 4;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_value {
    pub r#type: i32,
    pub reserved: i32,
    pub integer: i64,
    pub real: f64,
    pub bytes: tabella_string,
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_cell {
    pub column: i64,
    pub value: tabella_value,
}

pub const TABELLA_SECTION_TITLE: i64 = -1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_edit {
    pub kind: i32,
    pub reserved: i32,
    pub id: tabella_string,
    pub from: tabella_index_path,
    pub target: tabella_index_path,
    pub cells: *const tabella_cell,
    pub cell_count: i64,
}

pub const TABELLA_EDITS_DRY_RUN: u32 = 1;

#[repr(C)]
pub struct tabella_edit_batch {
    pub version: tabella_string,
    pub edits: *const tabella_edit,
    pub edit_count: i64,
    pub flags: u32,
    pub reserved: u32,
}

pub const TABELLA_OUTCOME_FINAL: u32 = 1;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_edit_outcome {
    pub code: i32,
    pub flags: u32,
    pub message: tabella_string,
    pub id: tabella_string,
}

#[repr(C)]
pub struct tabella_edit_result {
    pub outcomes: *const tabella_edit_outcome,
    pub outcome_count: i64,
    pub receipt: tabella_string,
    pub changes: tabella_changes,
    pub release: Option<unsafe extern "C" fn(result: *mut tabella_edit_result)>,
    pub private_data: *mut c_void,
}

#[repr(C)]
pub struct tabella_editing {
    pub editable: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            section: i64,
            first: i64,
            count: i64,
            out: *mut u8,
            error: *mut tabella_error,
        ) -> i32,
    >,
    pub editable_columns:
        Option<unsafe extern "C" fn(source: *mut c_void, out: *mut u8, error: *mut tabella_error) -> i32>,
    pub commit: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            batch: *const tabella_edit_batch,
            out: *mut tabella_edit_result,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.section-editing/1

pub const TABELLA_SECTION_EDITING_ID: &[u8] = b"tabella.section-editing/1";
pub const TABELLA_SECTION_TITLE_EDITABLE: u8 = 1;
pub const TABELLA_SECTION_DELETABLE: u8 = 2;
pub const TABELLA_SECTION_MOVABLE: u8 = 4;

#[repr(C)]
pub struct tabella_section_editing {
    pub editable: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            first: i64,
            count: i64,
            out: *mut u8,
            error: *mut tabella_error,
        ) -> i32,
    >,
    pub insertable:
        Option<unsafe extern "C" fn(source: *mut c_void, out: *mut i32, error: *mut tabella_error) -> i32>,
}

// tabella.moving/1

pub const TABELLA_MOVING_ID: &[u8] = b"tabella.moving/1";

#[repr(C)]
pub struct tabella_moving {
    pub movable: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            section: i64,
            first: i64,
            count: i64,
            out: *mut u8,
            error: *mut tabella_error,
        ) -> i32,
    >,
    pub target: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            from: tabella_index_path,
            proposed: tabella_index_path,
            out: *mut tabella_index_path,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.undo/1

pub const TABELLA_UNDO_ID: &[u8] = b"tabella.undo/1";

#[repr(C)]
pub struct tabella_undo {
    pub undo: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            receipt: tabella_string,
            flags: u32,
            out: *mut tabella_edit_result,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.supplementary/1

pub const TABELLA_SUPPLEMENTARY_ID: &[u8] = b"tabella.supplementary/1";
pub const TABELLA_ELEMENT_NONE: i32 = 0;
pub const TABELLA_ELEMENT_TEXT: i32 = 1;
pub const TABELLA_ELEMENT_TABLE: i32 = 2;
pub const TABELLA_STYLE_EMPHASIS: i32 = 1;
pub const TABELLA_STYLE_STRONG: i32 = 2;
pub const TABELLA_STYLE_DIM: i32 = 3;
pub const TABELLA_STYLE_CODE: i32 = 4;
pub const TABELLA_STYLE_WARNING: i32 = 5;
pub const TABELLA_STYLE_ERROR: i32 = 6;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_text_span {
    pub start: i64,
    pub length: i64,
    pub style: i32,
    pub reserved: i32,
}

#[repr(C)]
pub struct tabella_element {
    pub form: i32,
    pub reserved: i32,
    pub text: tabella_string,
    pub spans: *const tabella_text_span,
    pub span_count: i64,
    pub table: tabella_source,
    pub release: Option<unsafe extern "C" fn(element: *mut tabella_element)>,
    pub private_data: *mut c_void,
}

#[repr(C)]
pub struct tabella_supplementary {
    pub kinds: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            out: *mut *const tabella_string,
            count: *mut i64,
            error: *mut tabella_error,
        ) -> i32,
    >,
    pub element: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            kind: tabella_string,
            path: tabella_index_path,
            out: *mut tabella_element,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.accessories/1

pub const TABELLA_ACCESSORIES_ID: &[u8] = b"tabella.accessories/1";

#[repr(C)]
pub struct tabella_accessories {
    pub location: Option<
        unsafe extern "C" fn(
            source: *mut c_void,
            path: tabella_index_path,
            out: *mut tabella_string,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

// tabella.display/1 and tabella.prefetching/1

pub const TABELLA_DISPLAY_ID: &[u8] = b"tabella.display/1";

#[repr(C)]
pub struct tabella_display {
    pub will_display: Option<unsafe extern "C" fn(source: *mut c_void, section: i64, first: i64, count: i64)>,
    pub did_end_displaying:
        Option<unsafe extern "C" fn(source: *mut c_void, section: i64, first: i64, count: i64)>,
}

pub const TABELLA_PREFETCHING_ID: &[u8] = b"tabella.prefetching/1";

#[repr(C)]
pub struct tabella_prefetching {
    pub prefetch: Option<unsafe extern "C" fn(source: *mut c_void, section: i64, first: i64, count: i64)>,
    pub cancel_prefetch:
        Option<unsafe extern "C" fn(source: *mut c_void, section: i64, first: i64, count: i64)>,
}

// tabella.diagnostics/1

pub const TABELLA_DIAGNOSTICS_ID: &[u8] = b"tabella.diagnostics/1";
pub const TABELLA_SEVERITY_NOTE: i32 = 1;
pub const TABELLA_SEVERITY_WARNING: i32 = 2;

#[repr(C)]
pub struct tabella_diagnostic {
    pub severity: i32,
    pub reserved: i32,
    pub message: tabella_string,
}

#[repr(C)]
pub struct tabella_diagnostics {
    pub next: Option<unsafe extern "C" fn(source: *mut c_void, out: *mut tabella_diagnostic) -> i32>,
}

// A provider

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_option_value {
    pub name: tabella_string,
    pub value: tabella_string,
}

#[repr(C)]
pub struct tabella_open_request {
    pub location: tabella_string,
    pub scheme: tabella_string,
    pub options: *const tabella_option_value,
    pub option_count: i64,
    pub flags: u32,
    pub reserved: u32,
}

#[repr(C)]
pub struct tabella_provider {
    pub provider: *mut c_void,
    pub id: tabella_string,
    pub version: tabella_string,
    pub ability: Option<unsafe extern "C" fn(provider: *mut c_void, id: tabella_string) -> *const c_void>,
    pub open: Option<
        unsafe extern "C" fn(
            provider: *mut c_void,
            request: *const tabella_open_request,
            out: *mut tabella_source,
            error: *mut tabella_error,
        ) -> i32,
    >,
}

pub const TABELLA_OPTIONS_ID: &[u8] = b"tabella.options/1";
pub const TABELLA_OPTION_TEXT: i32 = 1;
pub const TABELLA_OPTION_INTEGER: i32 = 2;
pub const TABELLA_OPTION_BOOLEAN: i32 = 3;

#[repr(C)]
#[derive(Clone, Copy)]
pub struct tabella_option {
    pub name: tabella_string,
    pub r#type: i32,
    pub reserved: i32,
    pub default_value: tabella_string,
    pub choices: tabella_string,
    pub summary: tabella_string,
}

#[repr(C)]
pub struct tabella_options {
    pub declared:
        Option<unsafe extern "C" fn(provider: *mut c_void, count: *mut i64) -> *const tabella_option>,
}

pub const TABELLA_LOG_DEBUG: i32 = 1;
pub const TABELLA_LOG_INFO: i32 = 2;
pub const TABELLA_LOG_WARNING: i32 = 3;
pub const TABELLA_LOG_ERROR: i32 = 4;

#[repr(C)]
pub struct tabella_host {
    pub host: *mut c_void,
    pub log: Option<unsafe extern "C" fn(host: *mut c_void, severity: i32, message: tabella_string)>,
    pub ability: Option<unsafe extern "C" fn(host: *mut c_void, id: tabella_string) -> *const c_void>,
}

#[repr(C)]
pub struct tabella_entry {
    pub contract_version: u32,
    pub provider_contract: u32,
    pub host: *const tabella_host,
    pub provider: tabella_provider,
    pub error: tabella_error,
}

/// The name of the only function that a provider exports:
/// `extern "C" fn tabella_provider_entry(entry: *mut tabella_entry) -> i32`.
pub const TABELLA_ENTRY_SYMBOL: &[u8] = b"tabella_provider_entry";
