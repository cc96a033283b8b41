//! The lines of a file that are rows, found on demand. Memory holds the offset of every 64th row.
use crate::bytes::Bytes;
use crate::json;
use crate::provider::{Cancellation, Failure, Outcome};
use crate::tabella::*;
use std::os::raw::{c_int, c_void};
use std::rc::Rc;

/// A longer line is refused, because a line must fit into memory.
const LONGEST: usize = 64 << 20;
const CHUNK: usize = 64 << 10;
const STRIDE: u64 = 64;

/// A line: the offset of its first byte, of its line end, and of the next line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub start: u64,
    pub end: u64,
    pub next: u64,
}

/// The lines with objects. Blank lines are no rows.
pub struct Lines {
    pub bytes: Rc<dyn Bytes>,
    /// Whether lines without an object are no rows either.
    skips: bool,
    cancellation: Cancellation,
    /// The first offset after a byte order mark.
    pub start: u64,
    /// The offsets of the rows 0, 64, 128, …
    marks: Vec<u64>,
    /// The number of rows before `scanned`.
    known: u64,
    scanned: u64,
    ended: bool,
    /// The last row that was found, and the offset after it: the next row is usually the next one.
    last: Option<(u64, Line)>,
    /// The bytes from `window_start` on.
    window: Vec<u8>,
    window_start: u64,
    /// Skipped lines that nobody has reported yet, and the offset up to which they are reported.
    pub skipped: Vec<String>,
    reported: u64,
}

extern "C" {
    fn memchr(bytes: *const c_void, byte: c_int, count: usize) -> *const c_void;
}

/// The position of the first line end, by the C library: it is much faster than a loop.
fn line_end(bytes: &[u8]) -> Option<usize> {
    let found = unsafe { memchr(bytes.as_ptr() as *const c_void, b'\n' as c_int, bytes.len()) };
    if found.is_null() {
        return None;
    }
    Some(found as usize - bytes.as_ptr() as usize)
}

impl Lines {
    pub fn new(bytes: Rc<dyn Bytes>, skips: bool, cancellation: Cancellation) -> Outcome<Lines> {
        let mut lines = Lines {
            bytes,
            skips,
            cancellation,
            start: 0,
            marks: Vec::new(),
            known: 0,
            scanned: 0,
            ended: false,
            last: None,
            window: Vec::new(),
            window_start: 0,
            skipped: Vec::new(),
            reported: 0,
        };
        let length = lines.bytes.length().min(3) as usize;
        let mut mark = [0; 3];
        crate::bytes::read_exactly(&*lines.bytes, &mut mark[..length], 0)?;
        if mark == [0xef, 0xbb, 0xbf] {
            lines.start = 3;
        }
        lines.scanned = lines.start;
        Ok(lines)
    }

    /// The bytes of the line that was found last.
    pub fn text(&self, line: Line) -> &[u8] {
        let first = (line.start - self.window_start) as usize;
        &self.window[first..(line.end - self.window_start) as usize]
    }

    /// The line at `offset`, in the window; `None` at the end.
    fn line(&mut self, offset: u64) -> Outcome<Option<Line>> {
        let length = self.bytes.length();
        if offset >= length {
            return Ok(None);
        }
        if offset < self.window_start || offset > self.window_start + self.window.len() as u64 {
            self.window.clear();
            self.window_start = offset;
        }
        let mut searched = (offset - self.window_start) as usize;
        loop {
            if let Some(position) = line_end(&self.window[searched..]) {
                let end = self.window_start + (searched + position) as u64;
                return Ok(Some(Line { start: offset, end, next: end + 1 }));
            }
            let end = self.window_start + self.window.len() as u64;
            if end == length {
                return Ok(Some(Line { start: offset, end, next: end }));
            }
            if end - offset > LONGEST as u64 {
                let place = self.place(offset);
                return Err(Failure::new(TABELLA_IO, format!("{} is longer than 64 MiB", place)));
            }
            self.window.drain(..(offset - self.window_start) as usize);
            self.window_start = offset;
            searched = self.window.len();
            self.fill(searched.max(CHUNK))?;
        }
    }

    fn fill(&mut self, count: usize) -> Outcome<()> {
        self.cancellation.check()?;
        let old = self.window.len();
        self.window.resize(old + count, 0);
        let read = self.bytes.read(&mut self.window[old..], self.window_start + old as u64);
        self.window.truncate(old + *read.as_ref().unwrap_or(&0));
        match read {
            Ok(0) => Err(Failure::new(TABELLA_CONFLICT, "the file became shorter; open it again")),
            Ok(_) => Ok(()),
            Err(error) => Err(Failure::io("reading", &error)),
        }
    }

    /// The next row at or after `offset`, in the window.
    pub fn next_row(&mut self, mut offset: u64) -> Outcome<Option<Line>> {
        while let Some(line) = self.line(offset)? {
            offset = line.next;
            let text = self.text(line);
            if text.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\r')) {
                continue;
            }
            if self.skips {
                if let Err(fault) = json::members(text) {
                    self.skip(line, fault);
                    continue;
                }
            }
            return Ok(Some(line));
        }
        Ok(None)
    }

    fn skip(&mut self, line: Line, fault: String) {
        if line.start < self.reported || self.skipped.len() >= 100 {
            return;
        }
        self.reported = line.next;
        let place = self.place(line.start);
        self.skipped.push(format!("{} {}; it is skipped", place, fault));
    }

    /// Finds rows until `at_least` are known, or all.
    pub fn learn(&mut self, at_least: u64) -> Outcome<(u64, bool)> {
        while self.known < at_least && !self.ended {
            match self.next_row(self.scanned)? {
                Some(line) => {
                    if self.known % STRIDE == 0 {
                        self.marks.push(line.start);
                    }
                    self.known += 1;
                    self.scanned = line.next;
                }
                None => self.ended = true,
            }
        }
        Ok((self.known, self.ended))
    }

    /// The line of a row, in the window; `None` if there is no such row.
    pub fn row(&mut self, row: u64) -> Outcome<Option<Line>> {
        if self.learn(row.saturating_add(1))?.0 <= row {
            return Ok(None);
        }
        let (mut number, mut offset) = (row - row % STRIDE, self.marks[(row / STRIDE) as usize]);
        if let Some((last, line)) = self.last.filter(|(last, _)| *last < row && *last >= number) {
            number = last + 1;
            offset = line.next;
        }
        loop {
            let line = self.next_row(offset)?;
            let line = line.ok_or_else(|| {
                Failure::new(TABELLA_CONFLICT, "the file changed while it was read; open it again")
            })?;
            if number == row {
                self.last = Some((row, line));
                return Ok(Some(line));
            }
            number += 1;
            offset = line.next;
        }
    }

    /// The number of the row that begins at `offset`, if one does.
    pub fn row_at(&mut self, offset: u64) -> Outcome<Option<u64>> {
        while self.scanned <= offset && !self.ended {
            self.learn(self.known + 1)?;
        }
        let block = self.marks.partition_point(|mark| *mark <= offset);
        if block == 0 {
            return Ok(None);
        }
        let mut number = (block as u64 - 1) * STRIDE;
        let mut at = self.marks[block - 1];
        while let Some(line) = self.next_row(at)? {
            if line.start >= offset {
                return Ok(if line.start == offset { Some(number) } else { None });
            }
            number += 1;
            at = line.next;
        }
        Ok(None)
    }

    /// "line 7", for messages. Counts the lines in front of it, unless that would take long.
    pub fn place(&self, offset: u64) -> String {
        if offset > 1 << 30 {
            return format!("the line at byte {}", offset);
        }
        let mut line = 1;
        let mut at = 0;
        let mut buffer = vec![0; 1 << 20];
        while at < offset {
            let room = (offset - at).min(buffer.len() as u64) as usize;
            match self.bytes.read(&mut buffer[..room], at) {
                Ok(0) | Err(_) => break,
                Ok(count) => {
                    line += buffer[..count].iter().filter(|byte| **byte == b'\n').count();
                    at += count as u64;
                }
            }
        }
        format!("line {}", line)
    }
}
