//! The columns of JSON lines: their names, their types, and cells as values and as JSON.
use crate::json::{self, Form, Member};
use crate::lines::Lines;
use crate::provider::{Column, Failure, Outcome, Value};
use crate::tabella::*;
use std::borrow::Cow;
use std::collections::HashMap;

/// More keys than this are refused, because such objects are no rows.
const MOST: usize = 10_000;
/// A sample with a limit also ends after this many bytes.
const SAMPLE_BYTES: u64 = 4 << 20;
/// Doubles contain all integers up to this one.
const EXACT: u64 = 1 << 53;

/// The type of a column's values. Null fits every type.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Boolean,
    Integer,
    Real,
    Text,
    /// Different types, arrays, objects, or numbers without an exact value: a cell is the JSON text, or the text of
    /// a string that cannot be mistaken for JSON.
    Json,
}

/// The types that occurred in a column.
#[derive(Clone, Copy, Default)]
struct Seen {
    boolean: bool,
    integer: bool,
    /// An integer that a double does not contain.
    large: bool,
    real: bool,
    text: bool,
    other: bool,
}

impl Seen {
    fn add(&mut self, form: Form, text: &[u8]) {
        match form {
            Form::Null => (),
            Form::Boolean => self.boolean = true,
            Form::Text if json::text(text).is_some() => self.text = true,
            Form::Integer if integer(text).is_some() => {
                self.integer = true;
                self.large |= integer(text).map_or(false, |value| value.unsigned_abs() > EXACT);
            }
            Form::Integer | Form::Number if real(text).is_some() => self.real = true,
            _ => self.other = true,
        }
    }

    fn kind(self) -> Kind {
        match (self.boolean, self.integer || self.real, self.text) {
            _ if self.other => Kind::Json,
            (true, false, false) => Kind::Boolean,
            (false, true, false) if self.real && self.large => Kind::Json,
            (false, true, false) if self.real => Kind::Real,
            (false, true, false) => Kind::Integer,
            (false, false, _) => Kind::Text,
            _ => Kind::Json,
        }
    }
}

fn integer(text: &[u8]) -> Option<i64> {
    let text = std::str::from_utf8(text).ok()?;
    // The double -0.0 keeps the sign.
    if text == "-0" {
        None
    } else {
        text.parse().ok()
    }
}

fn real(text: &[u8]) -> Option<f64> {
    json::exact_real(std::str::from_utf8(text).ok()?)
}

/// The name of a key. A key without text in UTF-8 keeps its escapes.
pub fn name(quoted: &[u8]) -> Cow<'_, str> {
    let inner = &quoted[1..quoted.len() - 1];
    match inner.contains(&b'\\') {
        true => match json::text(quoted) {
            Some(text) => Cow::Owned(text),
            None => String::from_utf8_lossy(inner),
        },
        false => String::from_utf8_lossy(inner),
    }
}

/// The columns, in the order in which their keys appear.
#[derive(Clone, Default)]
pub struct Columns {
    pub list: Vec<Column>,
    pub kinds: Vec<Kind>,
    numbers: HashMap<String, usize>,
    /// Whether all lines were read for them.
    pub complete: bool,
}

/// Reads the keys and types of the first `sample` rows, or of all rows if it is 0. The columns `added`
/// exist in any case.
pub fn sample(lines: &mut Lines, sample: u64, added: &[String]) -> Outcome<Columns> {
    let mut columns = Columns::default();
    let mut seen: Vec<Seen> = Vec::new();
    let mut offset = lines.start;
    let mut count = 0;
    loop {
        if sample > 0 && (count >= sample || offset - lines.start >= SAMPLE_BYTES) {
            break;
        }
        let line = match lines.next_row(offset)? {
            Some(line) => line,
            None => {
                columns.complete = true;
                break;
            }
        };
        let text = lines.text(line);
        let members = match json::members(text) {
            Ok(members) => members,
            Err(fault) => return Err(unreadable(&lines.place(line.start), &fault)),
        };
        for member in &members {
            let number = columns.number_or_new(&name(&text[member.key.clone()]), &mut seen)?;
            seen[number].add(member.form, &text[member.value.clone()]);
        }
        count += 1;
        offset = line.next;
    }
    for key in added {
        columns.number_or_new(key, &mut seen)?;
    }
    columns.kinds = seen.iter().map(|seen| seen.kind()).collect();
    for (column, kind) in columns.list.iter_mut().zip(&columns.kinds) {
        column.kind = match kind {
            Kind::Boolean => TABELLA_TYPE_BOOLEAN,
            Kind::Integer => TABELLA_TYPE_INTEGER,
            Kind::Real => TABELLA_TYPE_REAL,
            Kind::Text | Kind::Json => TABELLA_TYPE_TEXT,
        };
    }
    Ok(columns)
}

/// The failure for a line that is no row.
pub fn unreadable(place: &str, fault: &str) -> Failure {
    Failure::new(TABELLA_IO, format!("{} {}; -o invalid=skip leaves such lines out", place, fault))
}

impl Columns {
    fn number_or_new(&mut self, name: &str, seen: &mut Vec<Seen>) -> Outcome<usize> {
        if let Some(number) = self.numbers.get(name) {
            return Ok(*number);
        }
        if self.list.len() == MOST {
            let message = format!("the objects have more than {} different keys", MOST);
            return Err(Failure::new(TABELLA_IO, message));
        }
        self.numbers.insert(name.to_string(), self.list.len());
        self.list.push(Column { name: name.to_string(), kind: TABELLA_TYPE_TEXT });
        seen.push(Seen::default());
        Ok(self.list.len() - 1)
    }

    /// The members of a line by column: of two members with one key, the second. The second result is
    /// a key without a column.
    pub fn assign(&self, text: &[u8], members: Vec<Member>) -> (Vec<Option<Member>>, Option<String>) {
        let mut cells: Vec<Option<Member>> = vec![None; self.list.len()];
        let mut unknown = None;
        for (position, member) in members.into_iter().enumerate() {
            let name = name(&text[member.key.clone()]);
            // Most lines have their keys in the same order.
            let number = match self.list.get(position) {
                Some(column) if column.name == *name => Some(position),
                _ => self.numbers.get(&*name).copied(),
            };
            match number {
                Some(number) => cells[number] = Some(member),
                None => unknown = unknown.or_else(|| Some(name.into_owned())),
            }
        }
        (cells, unknown)
    }

    /// The cell of a member; `None` if its value does not fit the type of the column.
    pub fn cell(&self, column: usize, member: &Option<Member>, line: &[u8]) -> Option<Value> {
        let member = match member {
            Some(member) if member.form != Form::Null => member,
            _ => return Some(Value::Missing),
        };
        let text = &line[member.value.clone()];
        match (self.kinds[column], member.form) {
            (Kind::Json, Form::Text) => Some(Value::Text(match json::text(text) {
                Some(plain) if !is_json(&plain) => plain.into_bytes(),
                _ => text.to_vec(),
            })),
            (Kind::Json, _) => Some(Value::Text(text.to_vec())),
            (Kind::Text, Form::Text) => json::text(text).map(|text| Value::Text(text.into_bytes())),
            (Kind::Boolean, Form::Boolean) => Some(Value::Boolean(text == b"true")),
            (Kind::Integer, Form::Integer) => integer(text).map(Value::Integer),
            (Kind::Real, Form::Integer) => match integer(text) {
                Some(value) if value.unsigned_abs() > EXACT => None,
                Some(value) => Some(Value::Real(value as f64)),
                None => real(text).map(Value::Real),
            },
            (Kind::Real, Form::Number) => real(text).map(Value::Real),
            _ => None,
        }
    }

    /// The JSON text of a new value.
    pub fn encode(&self, column: usize, value: &Value) -> Outcome<Vec<u8>> {
        let refuse = |reason: String| {
            let name = &self.list[column].name;
            Err(Failure::new(TABELLA_CONSTRAINT, format!("column {}: {}", name, reason)))
        };
        let text = match (self.kinds[column], value) {
            (_, Value::Missing) => "null".to_string(),
            (Kind::Boolean, Value::Boolean(value)) => value.to_string(),
            (Kind::Integer, Value::Integer(value)) => value.to_string(),
            (Kind::Real, Value::Real(value)) if value.is_finite() => format!("{:?}", value),
            (Kind::Real, Value::Real(value)) => {
                return refuse(format!("JSON has no number {}", value));
            }
            (Kind::Text, Value::Text(text)) => match std::str::from_utf8(text) {
                Ok(text) => json::quoted(text),
                Err(_) => return refuse("the text is not UTF-8".to_string()),
            },
            (Kind::Json, Value::Text(text)) => match std::str::from_utf8(text) {
                Ok(text) if is_json(text) => text.to_string(),
                Ok(text) => json::quoted(text),
                Err(_) => return refuse("the text is not UTF-8".to_string()),
            },
            (kind, _) => return refuse(format!("the value is no {}", kind.noun())),
        };
        Ok(text.into_bytes())
    }

    /// The name of a column's type, for messages.
    pub fn noun(&self, column: usize) -> &'static str {
        self.kinds[column].noun()
    }
}

impl Kind {
    fn noun(self) -> &'static str {
        match self {
            Kind::Boolean => "boolean",
            Kind::Integer => "integer",
            Kind::Real => "real number",
            Kind::Text => "text",
            Kind::Json => "JSON text",
        }
    }
}

/// Whether a cell of a column with mixed types stands for a JSON value. Other cells stand for strings.
fn is_json(text: &str) -> bool {
    let is_value = json::value(text.as_bytes()).map_or(false, |form| form != Form::Null);
    is_value && text.trim() == text && !text.contains(&['\n', '\r'][..])
}
