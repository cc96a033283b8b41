//! Digests for ids and versions, and unique ids that are made of them.
use crate::provider::{Failure, Outcome, RowPath};
use crate::tabella::*;
use std::collections::HashMap;

/// A digest of 128 bits as 32 hexadecimal digits: the first half of SHA-256. So nobody can make two contents with one
/// digest. Several parts are kept apart: `[b"ab", b"c"]` and `[b"a", b"bc"]` have different digests.
///
/// The digest of a whole file is a version. The digest of a row, or of its key, is an id.
pub fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Hash::new();
    for part in parts {
        if parts.len() > 1 {
            hash.add(&(part.len() as u64).to_le_bytes());
        }
        hash.add(part);
    }
    hash.end()
}

/// A SHA-256 that is being computed (FIPS 180-4).
struct Hash {
    state: [u32; 8],
    size: u64,
    block: [u8; 64],
}

#[rustfmt::skip]
const ROUNDS: [u32; 64] = [
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
];

impl Hash {
    fn new() -> Hash {
        let state =
            [0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19];
        Hash { state, size: 0, block: [0; 64] }
    }

    fn add(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let used = (self.size % 64) as usize;
            let part = bytes.len().min(64 - used);
            self.block[used..used + part].copy_from_slice(&bytes[..part]);
            if used + part == 64 {
                self.mix();
            }
            self.size += part as u64;
            bytes = &bytes[part..];
        }
    }

    /// Processes one block.
    fn mix(&mut self) {
        let mut words = [0u32; 64];
        for (word, bytes) in words.iter_mut().zip(self.block.chunks_exact(4)) {
            *word = u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]);
        }
        for i in 16..64 {
            let (early, late) = (words[i - 15], words[i - 2]);
            let early = early.rotate_right(7) ^ early.rotate_right(18) ^ early >> 3;
            let late = late.rotate_right(17) ^ late.rotate_right(19) ^ late >> 10;
            words[i] = words[i - 16].wrapping_add(words[i - 7]).wrapping_add(early).wrapping_add(late);
        }
        let mut v = self.state;
        for (word, constant) in words.iter().zip(ROUNDS) {
            let first = (v[4].rotate_right(6) ^ v[4].rotate_right(11) ^ v[4].rotate_right(25))
                .wrapping_add((v[4] & v[5]) ^ (!v[4] & v[6]))
                .wrapping_add(v[7])
                .wrapping_add(constant)
                .wrapping_add(*word);
            let second = (v[0].rotate_right(2) ^ v[0].rotate_right(13) ^ v[0].rotate_right(22))
                .wrapping_add((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
            v.copy_within(0..7, 1);
            v[4] = v[4].wrapping_add(first);
            v[0] = first.wrapping_add(second);
        }
        for (state, value) in self.state.iter_mut().zip(v) {
            *state = state.wrapping_add(value);
        }
    }

    fn end(mut self) -> String {
        let bits = self.size * 8;
        let padding = (119 - self.size % 64) % 64 + 1;
        let mut last = [0; 64];
        last[0] = 0x80;
        self.add(&last[..padding as usize]);
        self.add(&bits.to_be_bytes());
        self.state[..4].iter().map(|word| format!("{:08x}", word)).collect()
    }
}

/// The ids of all rows of a table that is in memory.
pub struct Ids {
    sections: Vec<Vec<String>>,
    paths: HashMap<String, RowPath>,
}

impl Ids {
    /// Makes unique ids of the digests of all rows, section by section. If several rows have one digest, their ids also
    /// have the number of the row among them, and how many they are. So no id passes to another row when an equal row
    /// comes or goes.
    pub fn new(digests: Vec<Vec<String>>) -> Ids {
        let mut totals: HashMap<String, (usize, usize)> = HashMap::new();
        for digest in digests.iter().flatten() {
            totals.entry(digest.clone()).or_default().1 += 1;
        }
        let mut ids = Ids { sections: Vec::new(), paths: HashMap::new() };
        for (section, digests) in digests.into_iter().enumerate() {
            let mut own = Vec::with_capacity(digests.len());
            for (row, digest) in digests.into_iter().enumerate() {
                let (number, total) = totals.get_mut(&digest).expect("it was counted");
                *number += 1;
                let id = if *total == 1 { digest } else { format!("{}.{}.{}", digest, number, total) };
                ids.paths.insert(id.clone(), RowPath { section: section as u64, row: row as u64 });
                own.push(id);
            }
            ids.sections.push(own);
        }
        ids
    }

    /// The id of a row, which must exist.
    pub fn id(&self, path: RowPath) -> String {
        self.sections[path.section as usize][path.row as usize].clone()
    }

    /// The row with an id: the answer of `Source::find`.
    pub fn find(&self, id: &[u8]) -> Outcome<RowPath> {
        let path = std::str::from_utf8(id).ok().and_then(|id| self.paths.get(id));
        path.copied().ok_or_else(|| Failure::new(TABELLA_NOT_FOUND, "there is no row with this id"))
    }
}
