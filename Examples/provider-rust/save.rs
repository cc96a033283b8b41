//! Replaces a file by new bytes, so that it has all of its old or all of its new bytes after any error, kill
//! or power cut: temporary file, fsync, comparison, rename, fsync of the folder.
use crate::bytes::{read_exactly, Bytes, Digest};
use crate::provider::{Failure, Outcome};
use crate::tabella::*;
use std::collections::hash_map::RandomState;
use std::ffi::CString;
use std::fs::{File, Metadata, OpenOptions};
use std::hash::{BuildHasher, Hasher};
use std::io::Write;
use std::os::raw::{c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt};
use std::os::unix::io::AsRawFd;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

// Functions of the C library that Rust 1.63 does not offer.
extern "C" {
    fn flock(descriptor: c_int, operation: c_int) -> c_int;
    fn access(path: *const c_char, mode: c_int) -> c_int;
    fn renameat2(
        from_folder: c_int,
        from: *const c_char,
        to_folder: c_int,
        to: *const c_char,
        flags: c_uint,
    ) -> c_int;
    fn fchown(descriptor: c_int, owner: u32, group: u32) -> c_int;
    fn flistxattr(descriptor: c_int, list: *mut c_char, size: usize) -> isize;
    fn fgetxattr(descriptor: c_int, name: *const c_char, value: *mut c_void, size: usize) -> isize;
    fn fsetxattr(
        descriptor: c_int,
        name: *const c_char,
        value: *const c_void,
        size: usize,
        flags: c_int,
    ) -> c_int;
}

const LOCK_EX: c_int = 2;
const LOCK_NB: c_int = 4;
const W_OK: c_int = 2;
const AT_FDCWD: c_int = -100;
const RENAME_EXCHANGE: c_uint = 2;

/// Everything that identifies a file and its content, as far as the system knows.
#[derive(Clone, Debug, PartialEq)]
pub struct Status {
    device: u64,
    inode: u64,
    pub size: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Status {
    pub fn new(data: &Metadata) -> Status {
        Status {
            device: data.dev(),
            inode: data.ino(),
            size: data.size(),
            modified: (data.mtime(), data.mtime_nsec()),
            changed: (data.ctime(), data.ctime_nsec()),
        }
    }

    /// Whether this is the same file with the same bytes. Its name may differ.
    fn is_same_file(&self, other: &Status) -> bool {
        (self.device, self.inode) == (other.device, other.inode) && self.has_same_bytes(other)
    }

    /// Whether the bytes of an open file are the same. Its names and mode may differ.
    pub fn has_same_bytes(&self, other: &Status) -> bool {
        (self.size, self.modified) == (other.size, other.modified)
    }

    pub fn digest(&self, words: &[u64]) -> u64 {
        let mut digest = Digest::new();
        let times = [self.modified.0, self.modified.1, self.changed.0, self.changed.1];
        let numbers = [self.device, self.inode, self.size];
        for word in numbers.iter().chain(words) {
            digest.add(&word.to_le_bytes());
        }
        times.iter().for_each(|time| digest.add(&time.to_le_bytes()));
        digest.value()
    }
}

fn conflict() -> Failure {
    Failure::new(TABELLA_CONFLICT, "another program changed the file; open it again")
}

/// Compares the file at the path with the one that was read.
pub fn check_unchanged(path: &Path, expected: &Status) -> Outcome<Metadata> {
    let data = std::fs::metadata(path).map_err(|error| match error.kind() {
        std::io::ErrorKind::NotFound => conflict(),
        _ => Failure::io("the file", &error),
    })?;
    match Status::new(&data) == *expected {
        true => Ok(data),
        false => Err(conflict()),
    }
}

/// Refuses files that a new file cannot replace exactly, or that the user may not write.
fn check_replaceable(path: &Path, data: &Metadata) -> Outcome<()> {
    let refuse = |reason: &str| Err(Failure::new(TABELLA_READ_ONLY, reason.to_string()));
    if data.nlink() > 1 {
        return refuse("the file has several names, and a save would separate them");
    }
    if data.mode() & 0o222 == 0 {
        return refuse("the file is marked read-only; use chmod u+w");
    }
    let may_write = |path: &Path| {
        let path = CString::new(path.as_os_str().as_bytes()).expect("paths have no NUL");
        unsafe { access(path.as_ptr(), W_OK) == 0 }
    };
    if !may_write(path) {
        return refuse("you may not write the file");
    }
    if !may_write(folder(path)) {
        return refuse("you may not make a new file in the folder of the file");
    }
    Ok(())
}

fn folder(path: &Path) -> &Path {
    path.parent().unwrap_or_else(|| Path::new("/"))
}

/// Locks the file, as other saves do. Waits up to two seconds.
fn lock(file: &File) -> Outcome<()> {
    let start = Instant::now();
    while unsafe { flock(file.as_raw_fd(), LOCK_EX | LOCK_NB) } != 0 {
        if start.elapsed() > Duration::from_secs(2) {
            let message = "another program has locked the file; try again";
            return Err(Failure::new(TABELLA_CONFLICT, message));
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

/// A new file without the name of the old one. Dropping it removes it.
pub struct Temporary {
    path: PathBuf,
    pub file: File,
    is_renamed: bool,
}

impl Temporary {
    pub fn new(folder: &Path) -> Outcome<Temporary> {
        // The keys of this state are random.
        let number = RandomState::new().build_hasher().finish();
        let path = folder.join(format!(".tabella-{:016x}", number));
        let file = OpenOptions::new().read(true).write(true).create_new(true).mode(0o600).open(&path);
        let file = file.map_err(|error| Failure::io("making a new file", &error))?;
        Ok(Temporary { path, file, is_renamed: false })
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_renamed {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// Writes all bytes and returns their digest.
fn write(new: &dyn Bytes, file: &mut File) -> Outcome<u64> {
    let mut digest = Digest::new();
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    while offset < new.length() {
        let count = (new.length() - offset).min(buffer.len() as u64) as usize;
        read_exactly(new, &mut buffer[..count], offset)?;
        digest.add(&buffer[..count]);
        let written = file.write_all(&buffer[..count]);
        written.map_err(|error| Failure::io("writing the new file", &error))?;
        offset += count as u64;
    }
    Ok(digest.value())
}

/// Copies owner, attributes (access lists are among them) and mode.
fn copy_status(old: &File, data: &Metadata, new: &File) -> Outcome<()> {
    let failed = |what: &str| {
        let error = std::io::Error::last_os_error();
        let message = format!("{} of the file cannot be kept: {}", what, error);
        Err(Failure::new(TABELLA_READ_ONLY, message))
    };
    let (from, to) = (old.as_raw_fd(), new.as_raw_fd());
    let now = new.metadata().map_err(|error| Failure::io("the new file", &error))?;
    if (now.uid(), now.gid()) != (data.uid(), data.gid())
        && unsafe { fchown(to, data.uid(), data.gid()) } != 0
    {
        return failed("the owner");
    }
    let mut names = vec![0u8; 64 << 10];
    let length = unsafe { flistxattr(from, names.as_mut_ptr() as *mut c_char, names.len()) };
    for name in names[..length.max(0) as usize].split(|byte| *byte == 0).filter(|n| !n.is_empty()) {
        let name = CString::new(name).expect("it was split at NUL");
        let mut value = vec![0u8; 64 << 10];
        let memory = value.as_mut_ptr() as *mut c_void;
        let size = unsafe { fgetxattr(from, name.as_ptr(), memory, value.len()) };
        let memory = value.as_ptr() as *const c_void;
        if size < 0 || unsafe { fsetxattr(to, name.as_ptr(), memory, size as usize, 0) } != 0 {
            return failed(&format!("the attribute {}", name.to_string_lossy()));
        }
    }
    let mode = std::fs::Permissions::from_mode(data.mode() & 0o7777);
    new.set_permissions(mode).map_err(|error| Failure::io("the mode of the new file", &error))
}

/// Makes the checks of a save, and changes nothing.
pub fn rehearse(path: &Path, expected: &Status) -> Outcome<()> {
    check_replaceable(path, &check_unchanged(path, expected)?)
}

/// Exchanges the names of two files. `false` if the file system cannot do that.
fn exchange(one: &Path, other: &Path) -> Outcome<bool> {
    let text = |path: &Path| CString::new(path.as_os_str().as_bytes()).expect("paths have no NUL");
    let (one, other) = (text(one), text(other));
    if unsafe { renameat2(AT_FDCWD, one.as_ptr(), AT_FDCWD, other.as_ptr(), RENAME_EXCHANGE) } == 0 {
        return Ok(true);
    }
    let error = std::io::Error::last_os_error();
    match error.raw_os_error() {
        // EINVAL, ENOSYS, EOPNOTSUPP
        Some(22) | Some(38) | Some(95) => Ok(false),
        _ => Err(Failure::io("renaming", &error)),
    }
}

/// Gives the new file the name of the old one. If the old one changed at the last moment, it gets its name back.
pub fn replace(temporary: &mut Temporary, path: &Path, expected: &Status) -> Outcome<()> {
    if !exchange(&temporary.path, path)? {
        std::fs::rename(&temporary.path, path).map_err(|error| Failure::io("renaming", &error))?;
        temporary.is_renamed = true;
        return Ok(());
    }
    let displaced = std::fs::symlink_metadata(&temporary.path);
    if displaced.map_or(false, |data| Status::new(&data).is_same_file(expected) && data.nlink() == 1) {
        return Ok(());
    }
    // If this fails, the other program's file stays under its temporary name, so that nothing is lost.
    temporary.is_renamed = true;
    if exchange(&temporary.path, path)? {
        temporary.is_renamed = false;
    }
    Err(conflict())
}

/// Replaces the file. Returns the digest of the new bytes. They survive a power cut, unless a remark says
/// that the system could not promise that.
pub fn save(path: &Path, expected: &Status, new: &dyn Bytes) -> Outcome<(u64, Option<String>)> {
    let old = File::open(path).map_err(|error| Failure::io("the file", &error))?;
    lock(&old)?;
    let data = check_unchanged(path, expected)?;
    check_replaceable(path, &data)?;
    let mut temporary = Temporary::new(folder(path))?;
    let digest = write(new, &mut temporary.file)?;
    copy_status(&old, &data, &temporary.file)?;
    temporary.file.sync_all().map_err(|error| Failure::io("syncing the new file", &error))?;
    let names = File::open(folder(path));
    let names = names.map_err(|error| Failure::io("opening the folder", &error))?;
    check_unchanged(path, expected)?;
    replace(&mut temporary, path, expected)?;
    // From here on the edit is made, so a failure is no error of the edit.
    let remark = names.sync_all().err().map(|error| format!("a power cut may undo the edit: {}", error));
    Ok((digest, remark))
}
