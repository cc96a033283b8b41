//! Compares `tabella.rs` with the C header: every constant, and the size and offsets of every struct.
//!
//!     layout TABELLA/Sources/CTabella
//!
//! `layout.c` in that folder states the sizes and offsets. C's compiler checks them against the header.
mod tabella;

use std::collections::BTreeMap;
use std::mem::{size_of, MaybeUninit};
use tabella::*;

/// Appends the layout of each struct in the words of `layout.c`.
macro_rules! layouts {
    ($lines:ident; $($name:ident: $($field:ident),+;)+) => {$(
        $lines.push(format!("SIZE({}, {})", stringify!($name), size_of::<$name>()));
        $({
            let value = MaybeUninit::<$name>::uninit();
            let start = value.as_ptr();
            // The address of a field is computed, and nothing is read.
            let field = unsafe { std::ptr::addr_of!((*start).$field) };
            let offset = field as usize - start as usize;
            let field = stringify!($field).trim_start_matches("r#");
            $lines.push(format!("AT({}, {}, {})", stringify!($name), field, offset));
        })+
    )+};
}

fn layouts() -> Vec<String> {
    let mut lines = Vec::new();
    layouts! { lines;
        tabella_string: bytes, length;
        tabella_index_path: section, row;
        tabella_count: value, exact, reserved;
        tabella_error: message, path, column, located, retryable, release, private_data;
        ArrowSchema: format, name, metadata, flags, n_children, children, dictionary, release,
            private_data;
        ArrowArray: length, null_count, offset, n_buffers, n_children, buffers, children, dictionary,
            release, private_data;
        tabella_row_request: section, first, count, columns, column_count, flags, reserved;
        tabella_batch: array, flags;
        tabella_source_table: release, cancel, ability, flags, version, schema, row_count, rows;
        tabella_source: table, source;
        tabella_sections: count, title;
        tabella_section_index: titles, path;
        tabella_identity: find;
        tabella_gather_request: paths, path_count, columns, column_count, flags, reserved;
        tabella_gathering: rows;
        tabella_change: kind, reserved, from, to;
        tabella_changes: from_version, to_version, changes, change_count, flags, reserved, release,
            private_data;
        tabella_changes_table: listen, pull;
        tabella_value: r#type, reserved, integer, real, bytes;
        tabella_cell: column, value;
        tabella_edit: kind, reserved, id, from, target, cells, cell_count;
        tabella_edit_batch: version, edits, edit_count, flags, reserved;
        tabella_edit_outcome: code, flags, message, id;
        tabella_edit_result: outcomes, outcome_count, receipt, changes, release, private_data;
        tabella_editing: editable, editable_columns, commit;
        tabella_section_editing: editable, insertable;
        tabella_moving: movable, target;
        tabella_undo: undo;
        tabella_text_span: start, length, style, reserved;
        tabella_element: form, reserved, text, spans, span_count, table, release, private_data;
        tabella_supplementary: kinds, element;
        tabella_accessories: location;
        tabella_display: will_display, did_end_displaying;
        tabella_prefetching: prefetch, cancel_prefetch;
        tabella_diagnostic: severity, reserved, message;
        tabella_diagnostics: next;
        tabella_option_value: name, value;
        tabella_open_request: location, scheme, options, option_count, flags, reserved;
        tabella_provider: provider, id, version, ability, open;
        tabella_option: name, r#type, reserved, default_value, choices, summary;
        tabella_options: declared;
        tabella_host: host, log, ability;
        tabella_entry: contract_version, provider_contract, host, provider, error;
    }
    lines
}

/// The lines `SIZE(…)` and `AT(…)` of `layout.c`.
fn stated_layouts(text: &str) -> Vec<String> {
    text.lines()
        .filter(|line| line.starts_with("SIZE(") || line.starts_with("AT("))
        .map(|line| line.trim_end_matches(';').replacen("(struct ", "(", 1))
        .collect()
}

/// A number as a number, and a string as its text: `1u`, `1ull` and `0x00000001u` are 1.
fn value(text: &str) -> Option<String> {
    if let Some(text) = text.trim_start_matches('b').strip_prefix('"') {
        return Some(text.split('"').next()?.to_string());
    }
    let digits = text.split(' ').next()?.trim_end_matches(&['u', 'l'][..]);
    match digits.strip_prefix("0x") {
        Some(hex) => u64::from_str_radix(hex, 16).ok().map(|number| number.to_string()),
        None => digits.parse::<i64>().ok().map(|number| number.to_string()),
    }
}

/// The constants of the header: `#define NAME VALUE`.
fn constants_of_c(text: &str) -> BTreeMap<String, String> {
    let mut constants = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("#define ")) {
        if let Some((name, text)) = line.split_once(' ') {
            if let Some(value) = value(text) {
                constants.insert(name.to_string(), value);
            }
        }
    }
    constants
}

/// The constants of `tabella.rs`: `pub const NAME: TYPE = VALUE;`.
fn constants_of_rust(text: &str) -> BTreeMap<String, String> {
    let mut constants = BTreeMap::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("pub const ")) {
        let (name, rest) = line.split_once(": ").expect("a type");
        let (_, text) = rest.split_once(" = ").expect("a value");
        constants.insert(name.to_string(), value(text.trim_end_matches(';')).expect("a literal"));
    }
    constants
}

/// Prints the lines that only one side has, and returns their number.
fn differences(side: &str, these: &[String], others: &[String]) -> usize {
    let only: Vec<_> = these.iter().filter(|line| !others.contains(line)).collect();
    only.iter().for_each(|line| println!("only in {}: {}", side, line));
    only.len()
}

fn listed(constants: BTreeMap<String, String>) -> Vec<String> {
    constants.into_iter().map(|(name, value)| format!("{} = {}", name, value)).collect()
}

fn main() {
    let folder = std::env::args().nth(1).expect("usage: layout FOLDER-OF-LAYOUT.C");
    let read = |name: &str| {
        std::fs::read_to_string(format!("{}/{}", folder, name)).unwrap_or_else(|error| {
            println!("{}/{}: {}", folder, name, error);
            std::process::exit(1)
        })
    };
    let mut c = stated_layouts(&read("layout.c"));
    c.extend(listed(constants_of_c(&read("include/tabella.h"))));
    let mut rust = layouts();
    rust.extend(listed(constants_of_rust(include_str!("tabella.rs"))));
    let count = differences("C", &c, &rust) + differences("Rust", &rust, &c);
    if count > 0 || c.len() < 100 {
        println!("tabella.rs differs from tabella.h in {} facts", count);
        std::process::exit(1);
    }
    println!("tabella.rs agrees with tabella.h");
}
