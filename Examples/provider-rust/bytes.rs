//! Bytes with offsets: a file, a stream in memory, or the pieces of an edited file.
use crate::provider::{Failure, Outcome};
use crate::tabella::*;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::rc::Rc;

pub trait Bytes {
    fn length(&self) -> u64;
    /// Reads at least one byte at `offset`, or returns 0 at the end.
    fn read(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize>;
}

/// A file with the length that it had when it was opened.
pub struct FileBytes {
    pub file: File,
    pub length: u64,
}

impl Bytes for FileBytes {
    fn length(&self) -> u64 {
        self.length
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let room = self.length.saturating_sub(offset).min(buffer.len() as u64) as usize;
        self.file.read_at(&mut buffer[..room], offset)
    }
}

impl Bytes for Vec<u8> {
    fn length(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let rest = &self[(offset as usize).min(self.len())..];
        let count = rest.len().min(buffer.len());
        buffer[..count].copy_from_slice(&rest[..count]);
        Ok(count)
    }
}

/// A range of the old bytes, or new bytes.
#[derive(Clone, Debug, PartialEq)]
pub enum Piece {
    Old { start: u64, end: u64 },
    New(Vec<u8>),
}

impl Piece {
    fn length(&self) -> u64 {
        match self {
            Piece::Old { start, end } => end - start,
            Piece::New(bytes) => bytes.len() as u64,
        }
    }
}

/// New bytes that are made of pieces of the old ones. So memory grows with the edit, not with the file.
pub struct Pieces {
    old: Rc<dyn Bytes>,
    pieces: Vec<Piece>,
    /// The offset at which each piece begins, and the end of the last one.
    starts: Vec<u64>,
}

impl Pieces {
    pub fn new(old: Rc<dyn Bytes>) -> Pieces {
        Pieces { old, pieces: Vec::new(), starts: vec![0] }
    }

    /// Appends a piece. Adjacent ranges of old bytes become one.
    pub fn push(&mut self, piece: Piece) {
        let length = piece.length();
        if length == 0 {
            return;
        }
        let end = self.length() + length;
        match (self.pieces.last_mut(), &piece) {
            (Some(Piece::Old { end: last, .. }), Piece::Old { start, end: next }) if last == start => {
                *last = *next;
                self.starts.pop();
            }
            (Some(Piece::New(bytes)), Piece::New(more)) => {
                bytes.extend_from_slice(more);
                self.starts.pop();
            }
            _ => self.pieces.push(piece),
        }
        self.starts.push(end);
    }

    /// The new offset of an old one that is still there.
    pub fn moved(&self, old: u64) -> Option<u64> {
        self.pieces.iter().zip(&self.starts).find_map(|(piece, at)| match piece {
            Piece::Old { start, end } if (*start..*end).contains(&old) => Some(at + old - start),
            _ => None,
        })
    }

    /// The pieces of the new bytes that make the old ones again.
    pub fn inverse(&self) -> Outcome<Vec<Piece>> {
        let mut kept: Vec<(u64, u64, u64)> = Vec::new();
        for (piece, at) in self.pieces.iter().zip(&self.starts) {
            if let Piece::Old { start, end } = piece {
                kept.push((*start, *end, *at));
            }
        }
        kept.sort_unstable();
        let mut inverse = Vec::new();
        let mut offset = 0;
        for (start, end, at) in kept {
            inverse.push(self.old_bytes(offset, start)?);
            inverse.push(Piece::Old { start: at, end: at + end - start });
            offset = end;
        }
        inverse.push(self.old_bytes(offset, self.old.length())?);
        inverse.retain(|piece| piece.length() > 0);
        Ok(inverse)
    }

    fn old_bytes(&self, start: u64, end: u64) -> Outcome<Piece> {
        let mut bytes = vec![0; (end - start) as usize];
        read_exactly(&*self.old, &mut bytes, start)?;
        Ok(Piece::New(bytes))
    }
}

impl Bytes for Pieces {
    fn length(&self) -> u64 {
        *self.starts.last().expect("there is always an end")
    }

    fn read(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        if offset >= self.length() {
            return Ok(0);
        }
        let number = self.starts.partition_point(|start| *start <= offset) - 1;
        let within = offset - self.starts[number];
        match &self.pieces[number] {
            Piece::New(bytes) => bytes.read(buffer, within),
            Piece::Old { start, end } => {
                let room = (end - start - within).min(buffer.len() as u64) as usize;
                self.old.read(&mut buffer[..room], start + within)
            }
        }
    }
}

/// Reads as many bytes as the buffer has. If they end early, the file became shorter.
pub fn read_exactly(bytes: &dyn Bytes, buffer: &mut [u8], offset: u64) -> Outcome<()> {
    let mut done = 0;
    while done < buffer.len() {
        match bytes.read(&mut buffer[done..], offset + done as u64) {
            Ok(0) => return Err(Failure::new(TABELLA_CONFLICT, "the file became shorter; open it again")),
            Ok(count) => done += count,
            Err(error) => return Err(Failure::io("reading", &error)),
        }
    }
    Ok(())
}

/// All bytes, in memory.
pub fn all(bytes: &dyn Bytes) -> Outcome<Vec<u8>> {
    let mut all = vec![0; bytes.length() as usize];
    read_exactly(bytes, &mut all, 0)?;
    Ok(all)
}

/// A digest of 64 bits for ids, versions and receipts. It is equal in every process.
#[derive(Clone)]
pub struct Digest {
    state: u64,
    length: u64,
    pending: [u8; 8],
}

impl Digest {
    pub fn new() -> Digest {
        Digest { state: 0xcbf2_9ce4_8422_2325, length: 0, pending: [0; 8] }
    }

    pub fn of(bytes: &[u8]) -> u64 {
        let mut digest = Digest::new();
        digest.add(bytes);
        digest.value()
    }

    fn mix(&mut self, word: u64) {
        self.state = (self.state ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.state ^= self.state >> 29;
    }

    pub fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let filled = (self.length % 8) as usize;
            if filled == 0 && bytes.len() >= 8 {
                let mut word = [0; 8];
                word.copy_from_slice(&bytes[..8]);
                self.mix(u64::from_le_bytes(word));
                self.length += 8;
                bytes = &bytes[8..];
                continue;
            }
            self.pending[filled] = bytes[0];
            self.length += 1;
            bytes = &bytes[1..];
            if filled == 7 {
                self.mix(u64::from_le_bytes(self.pending));
            }
        }
    }

    pub fn value(&self) -> u64 {
        let mut last = self.clone();
        let filled = (self.length % 8) as usize;
        last.pending[filled..].fill(0);
        last.mix(u64::from_le_bytes(last.pending));
        last.mix(self.length);
        last.state ^ (last.state >> 32)
    }
}

/// The digest of all bytes.
pub fn digest(bytes: &dyn Bytes) -> Outcome<u64> {
    let mut digest = Digest::new();
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    while offset < bytes.length() {
        let count = (bytes.length() - offset).min(buffer.len() as u64) as usize;
        read_exactly(bytes, &mut buffer[..count], offset)?;
        digest.add(&buffer[..count]);
        offset += count as u64;
    }
    Ok(digest.value())
}
