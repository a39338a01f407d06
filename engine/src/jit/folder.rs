//! Folders and files in places where other users can write too.
//!
//! Every other user of the machine is taken for hostile. A path is followed component by component, each opened in the folder
//! that was opened before it, so that nobody swaps one under our feet; then every file is named relative to the open
//! folder. A symbolic link among the components is followed only where this user or root made it, one in the place
//! of a file never. A file is used only if it is a regular one of this user's with one name: what
//! is opened is looked at after that (`fstat`), and opening blocks on nothing.

use std::ffi::{CStr, CString, OsStr, OsString};
use std::fs::File;
use std::io::{self, Error, ErrorKind, Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

/// Symbolic links on the way to a folder, at most: as many as Linux follows.
const MOST_LINKS: u32 = 40;
/// Permission bits for others than the owner.
const OTHERS: libc::mode_t = 0o077;
/// Those to write.
const OTHERS_WRITE: libc::mode_t = 0o022;

/// Who may be able to do what with a folder.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Access {
    /// The folder is this user's, and closed to everybody else; on the way to it nobody but root and this user can replace a
    /// component.
    Private,
    /// Any folder: only symbolic links of other users are refused.
    Any,
}

/// An open folder.
pub struct Folder(OwnedFd);

/// A file of a folder.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct FileInfo {
    /// Seconds and nanoseconds since 1970.
    pub modified: (i64, i64),
    pub name: String,
    pub bytes: u64,
}

impl Folder {
    /// Opens a folder. With `create`, what is missing of the path is made, for this user only. The error says what is
    /// wrong with which component.
    pub fn open(path: &Path, access: Access, create: bool) -> io::Result<Folder> {
        let mut left = components(path)?;
        let mut seen = if path.is_absolute() { PathBuf::from("/") } else { PathBuf::from(".") };
        let mut folder = open_at(libc::AT_FDCWD, &c_name(seen.as_os_str())?, PLACE | libc::O_DIRECTORY)?;
        let mut links = 0;
        while let Some(name) = left.pop() {
            if access == Access::Private {
                check_parent(&status(&folder)?).map_err(|reason| refused(&seen, reason))?;
            }
            let c_name = c_name(&name)?;
            seen.push(&name);
            let fd = match open_at(folder.as_raw_fd(), &c_name, PLACE) {
                Err(error) if create && error.kind() == ErrorKind::NotFound => {
                    make_folder(&folder, &c_name).and_then(|()| open_at(folder.as_raw_fd(), &c_name, PLACE))
                }
                opened => opened,
            };
            let fd = fd.map_err(|error| Error::new(error.kind(), format!("{}: {error}", seen.display())))?;
            let found = status(&fd)?;
            match found.st_mode & libc::S_IFMT {
                libc::S_IFDIR => folder = fd,
                libc::S_IFLNK => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(refused(&seen, "too many symbolic links"));
                    }
                    if !is_trusted(found.st_uid) {
                        return Err(refused(&seen, "a symbolic link of another user"));
                    }
                    let target = link_target(&fd)?;
                    seen.pop();
                    if target.is_absolute() {
                        seen = PathBuf::from("/");
                        folder = open_at(libc::AT_FDCWD, c"/", PLACE | libc::O_DIRECTORY)?;
                    }
                    left.extend(components(&target)?);
                }
                _ => return Err(refused(&seen, "not a folder")),
            }
        }
        if access == Access::Private {
            check_private(&status(&folder)?).map_err(|reason| refused(&seen, reason))?;
        }
        Ok(Folder(folder))
    }

    /// The contents of a file of this user's that nobody else can write to, and its time of use set to now.
    pub fn read(&self, name: &str, most_bytes: u64) -> io::Result<Vec<u8>> {
        let flags = libc::O_RDONLY | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let fd = open_at(self.0.as_raw_fd(), &c_name(OsStr::new(name))?, flags)?;
        let found = status(&fd)?;
        check_own_file(&found).map_err(|reason| refused(Path::new(name), reason))?;
        if found.st_mode & OTHERS_WRITE != 0 {
            return Err(refused(Path::new(name), "others can write to it"));
        }
        let mut file = File::from(fd);
        let contents = read_whole(&mut file, name, &found, most_bytes)?;
        // Where that is not possible, nothing can be evicted either.
        let _ = file.set_times(std::fs::FileTimes::new().set_modified(std::time::SystemTime::now()));
        Ok(contents)
    }

    /// Whether there is something of this name.
    pub fn contains(&self, name: &str) -> bool {
        self.file_info(name).is_some()
    }

    /// Makes or replaces a file: others see the old one or the whole new one. It is written as `temporary`, which must be a
    /// name that is not there.
    pub fn replace(&self, name: &str, temporary: &str, contents: &[u8]) -> io::Result<()> {
        check_file_limit(contents)?;
        let (folder, temporary) = (self.0.as_raw_fd(), c_name(OsStr::new(temporary))?);
        let name = c_name(OsStr::new(name))?;
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW;
        let mut file = File::from(open_at(folder, &temporary, flags)?);
        let written = file.write_all(contents).and_then(|()| {
            // SAFETY: an open folder and names that live across the call.
            check(unsafe { libc::renameat(folder, temporary.as_ptr(), folder, name.as_ptr()) })
        });
        if written.is_err() {
            // SAFETY: as above.
            unsafe { libc::unlinkat(folder, temporary.as_ptr(), 0) };
        }
        written
    }

    /// Makes a file, or overwrites one of this user's.
    pub fn overwrite(&self, name: &str, contents: &[u8]) -> io::Result<()> {
        check_file_limit(contents)?;
        let flags = libc::O_WRONLY | libc::O_CREAT | libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_NOCTTY;
        let fd = open_at(self.0.as_raw_fd(), &c_name(OsStr::new(name))?, flags)?;
        check_own_file(&status(&fd)?).map_err(|reason| refused(Path::new(name), reason))?;
        let mut file = File::from(fd);
        file.set_len(0)?;
        file.write_all(contents)
    }

    /// Removes a file; nothing where there is none.
    pub fn remove(&self, name: &str) -> bool {
        let Ok(name) = c_name(OsStr::new(name)) else { return false };
        // SAFETY: an open folder and a name that lives across the call.
        unsafe { libc::unlinkat(self.0.as_raw_fd(), name.as_ptr(), 0) == 0 }
    }

    /// The regular files of this user's whose name `wanted` accepts. What comes or goes meanwhile may be among them.
    pub fn files(&self, wanted: impl Fn(&str) -> bool) -> io::Result<Vec<FileInfo>> {
        let fd = open_at(self.0.as_raw_fd(), c".", libc::O_RDONLY | libc::O_DIRECTORY)?;
        // SAFETY: the descriptor of a folder, which the stream takes over where there is one.
        let stream = unsafe { libc::fdopendir(fd.as_raw_fd()) };
        if stream.is_null() {
            return Err(Error::last_os_error());
        }
        std::mem::forget(fd);
        let mut files = Vec::new();
        loop {
            // SAFETY: the stream is open, and used by this thread only; an entry is valid until the next call.
            let name = unsafe {
                let entry = libc::readdir64(stream);
                if entry.is_null() {
                    break;
                }
                CStr::from_ptr((&raw const (*entry).d_name).cast())
            };
            if let Some(name) = name.to_str().ok().filter(|name| wanted(name)) {
                files.extend(self.file_info(name));
            }
        }
        // SAFETY: closed once.
        unsafe { libc::closedir(stream) };
        Ok(files)
    }

    fn file_info(&self, name: &str) -> Option<FileInfo> {
        let c_name = c_name(OsStr::new(name)).ok()?;
        let mut found = std::mem::MaybeUninit::<libc::stat>::uninit();
        // SAFETY: an open folder, a name that lives across the call, and room for the result.
        let found = unsafe {
            let flags = libc::AT_SYMLINK_NOFOLLOW;
            check(libc::fstatat(self.0.as_raw_fd(), c_name.as_ptr(), found.as_mut_ptr(), flags)).ok()?;
            found.assume_init()
        };
        check_own_file(&found).ok()?;
        let modified = (found.st_mtime, found.st_mtime_nsec);
        Some(FileInfo { modified, name: name.to_owned(), bytes: found.st_size.unsigned_abs() })
    }
}

/// The contents of a regular file that the user names, whosever it is. Waits for no writer of a FIFO.
pub fn read_regular(path: &Path, most_bytes: u64) -> io::Result<Vec<u8>> {
    let flags = libc::O_RDONLY | libc::O_NONBLOCK | libc::O_NOCTTY;
    let fd = open_at(libc::AT_FDCWD, &c_name(path.as_os_str())?, flags)?;
    let found = status(&fd)?;
    if found.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Err(refused(path, "not a regular file"));
    }
    read_whole(&mut File::from(fd), &path.to_string_lossy(), &found, most_bytes)
}

fn read_whole(file: &mut File, name: &str, found: &libc::stat, most_bytes: u64) -> io::Result<Vec<u8>> {
    let bytes = found.st_size.unsigned_abs();
    if bytes > most_bytes {
        return Err(refused(Path::new(name), "too large"));
    }
    let mut contents = Vec::new();
    contents.try_reserve_exact(bytes as usize + 1).map_err(|_| ErrorKind::OutOfMemory)?;
    file.take(bytes + 1).read_to_end(&mut contents)?;
    if contents.len() as u64 == bytes {
        Ok(contents)
    } else {
        Err(refused(Path::new(name), "it is changing"))
    }
}

/// Opens a place in the file system without access to what is there.
const PLACE: libc::c_int = libc::O_PATH | libc::O_NOFOLLOW;

fn open_at(folder: RawFd, name: &CStr, flags: libc::c_int) -> io::Result<OwnedFd> {
    loop {
        // SAFETY: a name that lives across the call.
        let fd = unsafe { libc::openat(folder, name.as_ptr(), flags | libc::O_CLOEXEC, 0o600) };
        if fd >= 0 {
            // SAFETY: just opened, and nobody else's.
            return Ok(unsafe { OwnedFd::from_raw_fd(fd) });
        }
        let error = Error::last_os_error();
        if error.kind() != ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

fn make_folder(parent: &OwnedFd, name: &CStr) -> io::Result<()> {
    // SAFETY: a name that lives across the call.
    match check(unsafe { libc::mkdirat(parent.as_raw_fd(), name.as_ptr(), 0o700) }) {
        // Another process was faster.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        made => made,
    }
}

fn status(fd: &OwnedFd) -> io::Result<libc::stat> {
    let mut found = std::mem::MaybeUninit::uninit();
    // SAFETY: an open descriptor and room for the result, which is there where the call succeeded.
    unsafe { check(libc::fstat(fd.as_raw_fd(), found.as_mut_ptr())).map(|()| found.assume_init()) }
}

fn link_target(link: &OwnedFd) -> io::Result<PathBuf> {
    let mut target = vec![0u8; libc::PATH_MAX as usize];
    // SAFETY: an open link, and as much room as is said.
    let len =
        unsafe { libc::readlinkat(link.as_raw_fd(), c"".as_ptr(), target.as_mut_ptr().cast(), target.len()) };
    target.truncate(usize::try_from(len).map_err(|_| Error::last_os_error())?);
    Ok(OsString::from_vec(target).into())
}

/// The names on the way to a path, the last one first.
fn components(path: &Path) -> io::Result<Vec<OsString>> {
    let mut names = Vec::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => names.push(name.to_owned()),
            Component::ParentDir => names.push("..".into()),
            Component::CurDir | Component::RootDir => {}
            Component::Prefix(_) => return Err(ErrorKind::InvalidInput.into()),
        }
    }
    names.reverse();
    Ok(names)
}

fn c_name(name: &OsStr) -> io::Result<CString> {
    CString::new(name.as_bytes()).map_err(|_| ErrorKind::InvalidInput.into())
}

fn check(status: libc::c_int) -> io::Result<()> {
    if status == 0 { Ok(()) } else { Err(Error::last_os_error()) }
}

fn refused(path: &Path, reason: &str) -> Error {
    Error::new(ErrorKind::PermissionDenied, format!("{}: {reason}", path.display()))
}

fn own_user() -> libc::uid_t {
    // SAFETY: a call that cannot fail.
    unsafe { libc::geteuid() }
}

/// Whether what a user does is no attack: root could do anything anyway.
fn is_trusted(user: libc::uid_t) -> bool {
    user == 0 || user == own_user()
}

/// A folder on the way whose entries nobody but root and this user can replace.
fn check_parent(folder: &libc::stat) -> Result<(), &'static str> {
    if !is_trusted(folder.st_uid) {
        return Err("the folder is another user's");
    }
    // In a folder such as /tmp only the owner of an entry can replace it; whose the next one is, is looked at next.
    if folder.st_mode & OTHERS_WRITE != 0 && folder.st_mode & libc::S_ISVTX == 0 {
        return Err("other users can write to the folder");
    }
    Ok(())
}

fn check_private(folder: &libc::stat) -> Result<(), &'static str> {
    if folder.st_uid != own_user() {
        return Err("the folder is not this user's");
    }
    if folder.st_mode & OTHERS != 0 {
        return Err("the folder is not closed to other users (it should have mode 0700)");
    }
    Ok(())
}

fn check_own_file(file: &libc::stat) -> Result<(), &'static str> {
    if file.st_mode & libc::S_IFMT != libc::S_IFREG {
        return Err("not a regular file");
    }
    if file.st_uid != own_user() {
        return Err("the file is not this user's");
    }
    if file.st_nlink != 1 {
        return Err("the file has other names");
    }
    Ok(())
}

/// Writing past the process's limit of file sizes would end it with a signal.
fn check_file_limit(contents: &[u8]) -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: a place for the result.
    let known = unsafe { libc::getrlimit(libc::RLIMIT_FSIZE, &mut limit) } == 0;
    if known && contents.len() as u64 > limit.rlim_cur { Err(ErrorKind::FileTooLarge.into()) } else { Ok(()) }
}

#[cfg(test)]
mod tests;
