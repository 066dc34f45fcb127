//! Every call that reaches the disk. What changes it stands here alone, so that each step can be
//! counted, stopped and made to fail.

#![expect(clippy::disallowed_methods, reason = "this is the room that touches files")]

use std::{
    ffi::OsString,
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read as _, Write as _},
    os::unix::fs::{FileExt as _, MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    time::{Duration, SystemTime},
};

use super::faults::{self, Step};
use crate::error::{Error, Result};

/// Names an I/O error's path and what was being done.
pub(super) fn failed<'p>(doing: &'static str, path: &'p Path) -> impl FnOnce(io::Error) -> Error + use<'p> {
    move |source| Error::Io { path: path.to_owned(), doing, source }
}

/// The longest tick of the clock that a file's times are taken from.
const TICK: Duration = Duration::from_millis(20);
/// The same, where file times have whole seconds.
const COARSE_TICK: Duration = Duration::from_secs(2);
/// The largest file that is read, in bytes; a memory is far smaller.
const FILE_LIMIT: u64 = 256 * 1024 * 1024;

/// What tells one state of a file from another, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stamp {
    device: u64,
    inode: u64,
    len: u64,
    modified: (i64, i64),
    changed: (i64, i64),
}

impl Stamp {
    fn of(metadata: &Metadata) -> Self {
        Self {
            device: metadata.dev(),
            inode: metadata.ino(),
            len: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
        }
    }
}

impl Stamp {
    /// Whether the file was changed so shortly ago that the next change may leave the same times: the
    /// clock of the times ticks every 10 ms at the slowest, and every 2 s where times have no fractions.
    pub(super) fn is_fresh(&self) -> bool {
        let (seconds, nanoseconds) = self.changed.max(self.modified);
        let (Ok(seconds), Ok(nanoseconds)) = (u64::try_from(seconds), u32::try_from(nanoseconds)) else { return true };
        let changed = SystemTime::UNIX_EPOCH + Duration::new(seconds, nanoseconds);
        let tick = if nanoseconds == 0 { COARSE_TICK } else { TICK };
        changed.elapsed().is_ok_and(|age| age <= tick) || changed > SystemTime::now()
    }
}

/// A file's stamp now; `None` if there is no file.
pub(super) fn stamp(path: &Path) -> Result<Option<Stamp>> {
    match fs::metadata(path) {
        Ok(metadata) => Ok(Some(Stamp::of(&metadata))),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// Whether two descriptors or paths mean the same file.
pub(super) fn is_same_file(file: &File, path: &Path) -> bool {
    let (Ok(open), Ok(named)) = (file.metadata(), fs::metadata(path)) else { return false };
    (open.dev(), open.ino()) == (named.dev(), named.ino())
}

/// A whole file and its stamp; `None` only if there is no file.
pub(super) fn read(path: &Path) -> Result<Option<(Vec<u8>, Stamp)>> {
    let metadata = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    // Opening a named pipe would wait for its other end.
    if !metadata.is_file() {
        let what = if metadata.is_dir() { "a folder" } else { "no regular file" };
        return Err(Error::Unreadable { path: path.to_owned(), reason: format!("is {what}, expected a file") });
    }
    if metadata.len() > FILE_LIMIT {
        let reason = format!("is {} bytes long, expected at most {FILE_LIMIT}", metadata.len());
        return Err(Error::Unreadable { path: path.to_owned(), reason });
    }
    let mut bytes = Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or(0) + 1);
    let mut file = match File::open(path) {
        Ok(file) => file,
        // Gone since it was looked at.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(path, &error)),
    };
    let stamp = Stamp::of(&file.metadata().map_err(failed("look at", path))?);
    (&mut file).take(FILE_LIMIT).read_to_end(&mut bytes).map_err(failed("read", path))?;
    Ok(Some((bytes, stamp)))
}

/// The first bytes of a file, if it has so many.
pub(super) fn read_start(path: &Path, len: usize) -> Option<Vec<u8>> {
    let mut bytes = vec![0; len];
    // Opening a named pipe would wait for its other end.
    fs::metadata(path).ok().filter(Metadata::is_file)?;
    File::open(path).ok()?.read_exact(&mut bytes).ok()?;
    Some(bytes)
}

/// The names in a folder.
pub(super) fn names_in(folder: &Path) -> Result<Vec<String>> {
    let entries = fs::read_dir(folder).map_err(|error| unreadable(folder, &error))?;
    Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()).collect())
}

/// What tells one boot of the system from another, if it tells.
pub(super) fn boot_id() -> Option<String> {
    #[cfg(debug_assertions)]
    if let Some(boot) = faults::boot_id() {
        return Some(boot);
    }
    fs::read_to_string("/proc/sys/kernel/random/boot_id").ok().map(|id| id.trim().to_owned())
}

fn unreadable(path: &Path, error: &io::Error) -> Error {
    Error::Unreadable { path: path.to_owned(), reason: format!("cannot be read: {error}") }
}

/// Opens a file to add to it, if it is there.
pub(super) fn open_to_append(path: &Path) -> Result<Option<File>> {
    match OpenOptions::new().append(true).open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        opened => opened.map(Some).map_err(|error| unreadable(path, &error)),
    }
}

/// Adds to a file that was opened for it.
pub(super) fn append(mut file: &File, path: &Path, bytes: &[u8]) -> Result<()> {
    faults::make(Step::Write { path, at: None, bytes }, |step| match step {
        Step::Write { bytes, .. } => file.write_all(bytes),
        _ => Ok(()),
    })
    .map_err(failed("append to", path))
}

/// The place of the copy that is about to take a file's place.
pub(super) fn copy_of(path: &Path) -> PathBuf {
    let mut name = OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(".new");
    path.with_file_name(name)
}

/// Writes a copy that is to take a file's place, with that file's mode and owner if it is there.
///
/// Answers the copy, and whether the owner could be kept.
pub(super) fn write_copy(path: &Path, bytes: &[u8], original: &Path) -> Result<(File, bool)> {
    remove(path)?;
    let file = create(path)?;
    let mut keeps_owner = true;
    if let Ok(original) = fs::metadata(original) {
        let own = file.metadata().map_err(failed("look at", path))?;
        if (own.uid(), own.gid()) != (original.uid(), original.gid()) {
            let owner = std::os::unix::fs::fchown(&file, Some(original.uid()), Some(original.gid()));
            keeps_owner = owner.is_ok();
        }
        let mode = fs::Permissions::from_mode(original.mode() & 0o7777);
        faults::make(Step::SetMode { path }, |_| file.set_permissions(mode))
            .map_err(failed("set the mode of", path))?;
    }
    append(&file, path, bytes)?;
    Ok((file, keeps_owner))
}

/// A new file, readable as well.
fn create(path: &Path) -> Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).create_new(true).mode(0o666);
    faults::make(Step::Create { path }, |_| options.open(path)).map_err(failed("create", path))
}

/// Renames a copy over the file it was made for. Answers `false` where that file cannot be replaced
/// because it is mounted by itself.
pub(super) fn rename(from: &Path, to: &Path) -> Result<bool> {
    match faults::make(Step::Rename { from, to }, |_| fs::rename(from, to)) {
        Ok(()) => Ok(true),
        Err(error) if matches!(error.kind(), io::ErrorKind::ResourceBusy | io::ErrorKind::CrossesDevices) => Ok(false),
        Err(error) => Err(failed("replace", to)(error)),
    }
}

/// Gives a copy a name that no file has. Answers `false` if a file has it by now: that one stays.
pub(super) fn rename_new(from: &Path, to: &Path) -> Result<bool> {
    let named = faults::make(Step::Rename { from, to }, |_| match fs::hard_link(from, to) {
        Ok(()) => fs::remove_file(from),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        // A file system without hard links.
        Err(_) => fs::rename(from, to),
    });
    match named {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(failed("create", to)(error)),
    }
}

/// Writes over a file where it stands.
pub(super) fn overwrite(path: &Path, bytes: &[u8]) -> Result<File> {
    let file = OpenOptions::new().write(true).open(path).map_err(failed("open", path))?;
    write_at(&file, path, bytes, 0)?;
    truncate(&file, path, bytes.len() as u64)?;
    Ok(file)
}

/// Opens a file to write in its place, and makes it if it is not there.
pub(super) fn open_or_create(path: &Path) -> Result<File> {
    match OpenOptions::new().read(true).write(true).open(path) {
        Ok(file) => Ok(file),
        Err(error) if error.kind() == io::ErrorKind::NotFound => create(path),
        Err(error) => Err(failed("open", path)(error)),
    }
}

/// Writes at a place of a file.
pub(super) fn write_at(file: &File, path: &Path, bytes: &[u8], at: u64) -> Result<()> {
    faults::make(Step::Write { path, at: Some(at), bytes }, |step| match step {
        Step::Write { bytes, .. } => file.write_all_at(bytes, at),
        _ => Ok(()),
    })
    .map_err(failed("write", path))
}

/// Cuts a file to a length.
pub(super) fn truncate(file: &File, path: &Path, len: u64) -> Result<()> {
    faults::make(Step::Truncate { path, len }, |_| file.set_len(len)).map_err(failed("cut", path))
}

/// Makes a file's content safe against a power cut.
pub(super) fn sync(file: &File, path: &Path) -> Result<()> {
    faults::make(Step::Sync { path }, |_| file.sync_data()).map_err(failed("sync", path))
}

/// Makes a new file safe, its mode and owner as well as its content.
pub(super) fn sync_copy(file: &File, path: &Path) -> Result<()> {
    faults::make(Step::Sync { path }, |_| file.sync_all()).map_err(failed("sync", path))
}

/// Makes the content of a file safe that is not open, if it is there.
pub(super) fn sync_as_it_is(path: &Path) -> Result<()> {
    match File::open(path) {
        Ok(file) => sync(&file, path),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(failed("open", path)(error)),
    }
}

/// Makes the names in a file's folder safe against a power cut.
pub(super) fn sync_folder_of(path: &Path) -> Result<()> {
    let path = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let folder = File::open(path).map_err(failed("open", path))?;
    faults::make(Step::SyncFolder { path }, |_| folder.sync_all()).map_err(failed("sync", path))
}

/// Removes a file if it is there; a folder in its place is nobody's leftover.
pub(super) fn remove(path: &Path) -> Result<()> {
    if path.symlink_metadata().map_or(true, |metadata| metadata.is_dir()) {
        return Ok(());
    }
    faults::make(Step::Remove { path }, |_| fs::remove_file(path)).map_err(failed("remove", path))
}

/// Tells the seam that the caller has its answer.
pub(super) fn answered() {
    // Not a step, so nothing can fail.
    let _ = faults::make(Step::Answer, |_| Ok(()));
}
