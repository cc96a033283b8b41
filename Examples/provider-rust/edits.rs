//! The new bytes of a file after a batch of edits. Only the bytes of changed values and moved lines change.
use crate::bytes::{Bytes, Piece, Pieces};
use crate::columns::Columns;
use crate::json::{self, Member};
use crate::lines::{Line, Lines};
use crate::plan::{Plan, Step};
use crate::provider::{Edit, Failure, Outcome, RowPath, Value};
use crate::tabella::*;
use std::collections::BTreeMap;

/// The blanks that lines have after colons and commas.
struct Style {
    colon: String,
    comma: String,
}

impl Style {
    fn of(text: &[u8], members: &[Member], outer: Option<&Style>) -> Style {
        let between = |start: usize, end: usize| {
            String::from_utf8_lossy(&text[start..end]).trim_end_matches(&['\r', '\n'][..]).to_string()
        };
        let colon = members.first().map(|member| between(member.key.end, member.value.start));
        let comma = match members {
            [first, second, ..] => Some(between(first.value.end, second.key.start)),
            _ => None,
        };
        Style {
            colon: colon.unwrap_or_else(|| outer.map_or(":".to_string(), |o| o.colon.clone())),
            comma: comma.unwrap_or_else(|| outer.map_or(",".to_string(), |o| o.comma.clone())),
        }
    }
}

/// New bytes in place of a range of old ones.
type Splices = BTreeMap<u64, (u64, Vec<u8>)>;

struct Writer<'a> {
    lines: &'a mut Lines,
    columns: &'a Columns,
    style: Style,
    line_end: Vec<u8>,
    splices: Splices,
    pieces: Pieces,
    /// Whether the old bytes end without a line end.
    is_unterminated: bool,
    needs_line_end: bool,
}

/// The new bytes, and the new offset of the row of each edit; `None` for a deleted row. `count` is the number of rows.
pub fn edited(
    lines: &mut Lines,
    columns: &Columns,
    edits: &[Edit],
    plan: &Plan,
    count: u64,
) -> Outcome<(Pieces, Vec<Option<u64>>)> {
    let bytes = lines.bytes.clone();
    let mut last = [b'\n'];
    if bytes.length() > lines.start {
        crate::bytes::read_exactly(&*bytes, &mut last, bytes.length() - 1)?;
    }
    let mut style = Style { colon: ":".to_string(), comma: ",".to_string() };
    let mut line_end = b"\n".to_vec();
    if let Some(line) = lines.row(0)? {
        let text = lines.text(line);
        if let Ok(members) = json::members(text) {
            style = Style::of(text, &members, None);
        }
        if text.ends_with(b"\r") {
            line_end = b"\r\n".to_vec();
        }
    }
    let writer = Writer {
        lines,
        columns,
        style,
        line_end,
        splices: Splices::new(),
        pieces: Pieces::new(bytes),
        is_unterminated: last != [b'\n'],
        needs_line_end: false,
    };
    writer.run(edits, plan, count)
}

impl Writer<'_> {
    fn run(mut self, edits: &[Edit], plan: &Plan, count: u64) -> Outcome<(Pieces, Vec<Option<u64>>)> {
        let mut set_lines: Vec<(usize, u64)> = Vec::new();
        for (path, edit) in &plan.sets {
            let line = self.row(path.row)?;
            self.splice(*path, line, edits[*edit].cells())?;
            set_lines.push((*edit, line.start));
        }
        let mut offsets: Vec<Option<u64>> = vec![None; edits.len()];
        let mut cursor = self.lines.start;
        self.old(0, cursor);
        for step in plan.steps(0, count) {
            match step {
                Step::Keep { first, count } => {
                    let line = self.row(first + count - 1)?;
                    self.old(cursor, line.next);
                    cursor = line.next;
                }
                Step::Leave { row } => {
                    let line = self.row(row)?;
                    self.old(cursor, line.start);
                    cursor = line.next;
                }
                Step::Arrive { edit } => {
                    self.end_line();
                    offsets[edit] = Some(self.pieces.length());
                    match &edits[edit] {
                        Edit::Move { row, .. } => {
                            let line = self.row(row.row)?;
                            self.old(line.start, line.next);
                        }
                        Edit::Insert { cells, .. } => self.insert(cells)?,
                        _ => unreachable!("only inserted and moved rows arrive"),
                    }
                }
            }
        }
        let end = self.lines.bytes.length();
        self.old(cursor, end);
        for (edit, old) in set_lines {
            offsets[edit] = self.pieces.moved(old);
        }
        Ok((self.pieces, offsets))
    }

    fn row(&mut self, row: u64) -> Outcome<Line> {
        let line = self.lines.row(row)?;
        line.ok_or_else(|| Failure::new(TABELLA_NOT_FOUND, format!("there is no row {}", row)))
    }

    fn end_line(&mut self) {
        if std::mem::take(&mut self.needs_line_end) {
            self.pieces.push(Piece::New(self.line_end.clone()));
        }
    }

    /// Appends a range of old bytes with the changes of its values.
    fn old(&mut self, start: u64, end: u64) {
        if start >= end {
            return;
        }
        self.end_line();
        let mut at = start;
        for (from, (to, new)) in self.splices.range(start..end) {
            self.pieces.push(Piece::Old { start: at, end: *from });
            self.pieces.push(Piece::New(new.clone()));
            at = *to;
        }
        self.pieces.push(Piece::Old { start: at, end });
        self.needs_line_end = self.is_unterminated && end == self.lines.bytes.length();
    }

    fn insert(&mut self, cells: &[(usize, Value)]) -> Outcome<()> {
        let mut cells: Vec<_> = cells.iter().filter(|(_, value)| *value != Value::Missing).collect();
        cells.sort_by_key(|(column, _)| *column);
        let mut line = b"{".to_vec();
        for (column, value) in cells {
            if line.len() > 1 {
                line.extend_from_slice(self.style.comma.as_bytes());
            }
            line.extend_from_slice(json::quoted(&self.columns.list[*column].name).as_bytes());
            line.extend_from_slice(self.style.colon.as_bytes());
            line.extend_from_slice(&self.columns.encode(*column, value)?);
        }
        line.push(b'}');
        line.extend_from_slice(&self.line_end);
        self.pieces.push(Piece::New(line));
        Ok(())
    }

    /// Notes the changes of a row's values.
    fn splice(&mut self, path: RowPath, line: Line, cells: &[(usize, Value)]) -> Outcome<()> {
        let text = self.lines.text(line);
        let fail = |fault: String| {
            let place = self.lines.place(line.start);
            Failure::new(TABELLA_CONSTRAINT, format!("{} {}", place, fault)).at(path)
        };
        let members = json::members(text).map_err(fail)?;
        let style = Style::of(text, &members, Some(&self.style));
        let open = text.iter().position(|byte| *byte == b'{').unwrap_or(0) + 1;
        let end = members.last().map_or(open, |member| member.value.end);
        let is_empty = members.is_empty();
        let (assigned, _) = self.columns.assign(text, members);
        let mut added: Vec<u8> = Vec::new();
        for (column, value) in cells {
            let encoded = self.columns.encode(*column, value)?;
            let member = &assigned[*column];
            if self.columns.cell(*column, member, text).as_ref() == Some(value) {
                continue;
            }
            match member {
                Some(member) => {
                    let range = (line.start + member.value.start as u64, member.value.end);
                    self.splices.insert(range.0, (line.start + range.1 as u64, encoded));
                }
                None => {
                    if !is_empty || !added.is_empty() {
                        added.extend_from_slice(style.comma.as_bytes());
                    }
                    let key = json::quoted(&self.columns.list[*column].name);
                    added.extend_from_slice(key.as_bytes());
                    added.extend_from_slice(style.colon.as_bytes());
                    added.extend_from_slice(&encoded);
                }
            }
        }
        if !added.is_empty() {
            // A splice of the last value ends at the same offset, so it takes the new members along.
            let at = line.start + end as u64;
            match self.splices.values_mut().find(|(to, _)| *to == at) {
                Some((_, new)) => new.extend_from_slice(&added),
                None => drop(self.splices.insert(at, (at, added))),
            }
        }
        Ok(())
    }
}
