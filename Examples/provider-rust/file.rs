//! A file that a source shows and edits. The file is saved safely, and a receipt can undo each save.
use crate::bytes::{self, Bytes, FileBytes, Pieces};
use crate::provider::{Failure, Outcome};
use crate::receipt::{self, Receipt};
use crate::save::{self, Status};
use crate::tabella::*;
use std::fs::File;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// An open file, as it was read.
pub struct EditedFile {
    pub path: PathBuf,
    pub status: Status,
    /// It stays the same file if another one gets its name.
    file: File,
    /// All bytes. They are read when somebody asks for them.
    pub bytes: Rc<dyn Bytes>,
}

/// What a save returns for `Commit`.
pub struct Saved {
    /// Absent after a dry run, and for an edit that replaced more than 16 MiB.
    pub receipt: Option<Vec<u8>>,
    /// A remark for the user: the effect of the first edit passes it on.
    pub remark: Option<String>,
}

impl EditedFile {
    /// Wraps a regular file that was opened at the path.
    pub fn new(path: &Path, file: File) -> Outcome<EditedFile> {
        let failure = |error: std::io::Error| Failure::io("the file", &error);
        let status = Status::new(&file.metadata().map_err(failure)?);
        let own = file.try_clone().map_err(failure)?;
        let bytes = Rc::new(FileBytes { file: own, length: status.size });
        // Links stay as they are: a save replaces the file that they lead to.
        Ok(EditedFile { path: std::fs::canonicalize(path).map_err(failure)?, status, file, bytes })
    }

    /// Opens a regular file of at most `limit` bytes.
    pub fn open(path: &Path, limit: u64) -> Outcome<EditedFile> {
        // Opening a pipe would wait for its writer.
        let data = std::fs::metadata(path).map_err(|error| Failure::io("the file", &error))?;
        if !data.is_file() || data.len() > limit {
            let message = format!("is not a file of at most {} bytes", limit);
            return Err(Failure::new(TABELLA_NOT_SUPPORTED, message));
        }
        let file = File::open(path).map_err(|error| Failure::io("the file", &error))?;
        EditedFile::new(path, file)
    }

    /// Reads all bytes into memory.
    pub fn read(&self) -> Outcome<Vec<u8>> {
        bytes::all(&*self.bytes)
    }

    /// Fails if another program has written to the open file.
    pub fn check_bytes(&self) -> Outcome<()> {
        let data = self.file.metadata().map_err(|error| Failure::io("the file", &error))?;
        match Status::new(&data).has_same_bytes(&self.status) {
            true => Ok(()),
            false => Err(Failure::new(TABELLA_CONFLICT, "the file changed; open it again")),
        }
    }

    /// Fails if another file has the path, or if this one changed. `commit` and `undo` begin so.
    pub fn check_unchanged(&self) -> Outcome<()> {
        save::check_unchanged(&self.path, &self.status).map(drop)
    }

    /// Saves new bytes. A dry run makes the checks of a save only. After a save, open the file again: these bytes are
    /// then the old ones.
    pub fn save(&self, new: &Pieces, dry_run: bool) -> Outcome<Saved> {
        save::rehearse(&self.path, &self.status)?;
        if dry_run {
            return Ok(Saved { receipt: None, remark: None });
        }
        let pieces = new.inverse()?;
        let path = self.path.as_os_str().as_bytes().to_vec();
        let (digest, remark) = save::save(&self.path, &self.status, new)?;
        let receipt = Receipt { path, digest, size: new.length(), pieces }.encode();
        let is_small = receipt.len() <= receipt::MOST;
        Ok(Saved { receipt: if is_small { Some(receipt) } else { None }, remark })
    }

    /// The bytes in front of the save that returned this receipt. A conflict if the file has other bytes by now.
    pub fn undone(&self, receipt: &[u8]) -> Outcome<Pieces> {
        let receipt = Receipt::decode(receipt)?;
        self.check_unchanged()?;
        let conflict = |message: &str| Err(Failure::new(TABELLA_CONFLICT, message));
        if receipt.path != self.path.as_os_str().as_bytes() {
            return conflict("the receipt is of another file");
        }
        if receipt.size != self.bytes.length() || receipt.digest != bytes::digest(&*self.bytes)? {
            return conflict("the file changed after this edit");
        }
        let mut new = Pieces::new(self.bytes.clone());
        receipt.pieces.into_iter().for_each(|piece| new.push(piece));
        Ok(new)
    }
}
