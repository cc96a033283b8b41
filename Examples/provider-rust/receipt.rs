//! The receipt of a save: the pieces of the new bytes that make the old bytes again.
use crate::bytes::{Digest, Piece};
use crate::provider::{Failure, Outcome};
use crate::tabella::*;

/// A receipt holds at most this many old bytes. A larger edit cannot be undone.
pub const MOST: usize = 16 << 20;
const MARK: &[u8] = b"receipt of file.rs, 1\n";

#[derive(Debug, PartialEq)]
pub struct Receipt {
    /// The file, with its bytes after the save.
    pub path: Vec<u8>,
    pub digest: u64,
    pub size: u64,
    pub pieces: Vec<Piece>,
}

impl Receipt {
    pub fn encode(&self) -> Vec<u8> {
        let mut out = MARK.to_vec();
        let number = |out: &mut Vec<u8>, value: u64| out.extend_from_slice(&value.to_le_bytes());
        number(&mut out, self.path.len() as u64);
        out.extend_from_slice(&self.path);
        number(&mut out, self.digest);
        number(&mut out, self.size);
        for piece in &self.pieces {
            match piece {
                Piece::Old { start, end } => {
                    out.push(0);
                    number(&mut out, *start);
                    number(&mut out, *end);
                }
                Piece::New(bytes) => {
                    out.push(1);
                    number(&mut out, bytes.len() as u64);
                    out.extend_from_slice(bytes);
                }
            }
        }
        let digest = Digest::of(&out);
        number(&mut out, digest);
        out
    }

    /// Reads a receipt and checks that it is complete and possible.
    pub fn decode(bytes: &[u8]) -> Outcome<Receipt> {
        Receipt::read(bytes).ok_or_else(|| {
            Failure::new(TABELLA_CONFLICT, "the receipt is damaged, or no receipt of this provider")
        })
    }

    fn read(bytes: &[u8]) -> Option<Receipt> {
        let (body, digest) = bytes.split_at(bytes.len().checked_sub(8)?);
        if Digest::of(body) != number(&mut &*digest)? {
            return None;
        }
        let mut rest = body.strip_prefix(MARK)?;
        let rest = &mut rest;
        let length = number(rest)?;
        let path = taken(rest, length)?.to_vec();
        let mut receipt = Receipt { path, digest: number(rest)?, size: number(rest)?, pieces: Vec::new() };
        while !rest.is_empty() {
            let piece = match taken(rest, 1)?[0] {
                0 => Piece::Old { start: number(rest)?, end: number(rest)? },
                1 => {
                    let length = number(rest)?;
                    Piece::New(taken(rest, length)?.to_vec())
                }
                _ => return None,
            };
            if let Piece::Old { start, end } = piece {
                if start > end || end > receipt.size {
                    return None;
                }
            }
            receipt.pieces.push(piece);
        }
        Some(receipt)
    }
}

fn taken<'a>(rest: &mut &'a [u8], count: u64) -> Option<&'a [u8]> {
    if count > rest.len() as u64 {
        return None;
    }
    let (taken, left) = rest.split_at(count as usize);
    *rest = left;
    Some(taken)
}

fn number(rest: &mut &[u8]) -> Option<u64> {
    let mut word = [0; 8];
    word.copy_from_slice(taken(rest, 8)?);
    Some(u64::from_le_bytes(word))
}
