//! Tests of folders that others can write to. As root they take another user's part with `chown`.

use super::*;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown, symlink};

/// A user that this process is not.
const OTHER: u32 = 12345;

fn scratch(name: &str) -> PathBuf {
    let dir = std::env::temp_dir().join(format!("ze-cpu-folder-{name}-{}", std::process::id()));
    let _ = fs::remove_dir_all(&dir);
    fs::create_dir(&dir).expect("a new folder");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o700)).expect("own");
    dir
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own");
}

fn give_away(path: &Path) -> bool {
    chown(path, Some(OTHER), None).is_ok()
}

fn fifo(path: &Path) {
    let name = c_name(path.as_os_str()).expect("a name");
    // SAFETY: a name that lives across the call.
    assert_eq!(unsafe { libc::mkfifo(name.as_ptr(), 0o600) }, 0);
}

fn reason(result: io::Result<Folder>) -> String {
    result.err().map(|error| error.to_string()).unwrap_or_default()
}

#[test]
fn missing_folders_are_made_for_this_user_only() {
    let dir = scratch("made");
    let path = dir.join("a/b");
    assert!(Folder::open(&path, Access::Private, false).is_err_and(|e| e.kind() == ErrorKind::NotFound));
    let folder = Folder::open(&path, Access::Private, true).expect("made");
    assert_eq!(fs::metadata(&path).expect("there").mode() & 0o777, 0o700);
    folder.replace("name", "temporary", b"contents").expect("written");
    assert_eq!(folder.read("name", 100).expect("own"), b"contents");
    assert_eq!(fs::read_dir(&path).expect("there").count(), 1);
    let _ = fs::remove_dir_all(dir);
}

#[test]
fn a_private_folder_is_closed_to_others_and_so_is_the_way_to_it() {
    let dir = scratch("private");
    let path = dir.join("way/folder");
    fs::create_dir_all(&path).expect("new folders");
    mode(&path, 0o700);
    for (open, of, expected) in [
        (0o750, &path, "mode 0700"),
        (0o701, &path, "mode 0700"),
        (0o777, &dir.join("way"), "can write"),
        (0o775, &dir.join("way"), "can write"),
    ] {
        mode(of, open);
        let found = reason(Folder::open(&path, Access::Private, true));
        assert!(found.contains(expected), "{open:o}: {found}");
        mode(of, 0o700);
    }
    mode(&dir.join("way"), 0o1777);
    assert!(Folder::open(&path, Access::Private, true).is_ok(), "others cannot replace what is not theirs");
    for of in [&path, &dir.join("way")] {
        if give_away(of) {
            let found = reason(Folder::open(&path, Access::Private, true));
            assert!(found.contains("user's"), "{found}");
            chown(of, Some(own_user()), None).expect("root");
        }
    }
    let _ = fs::remove_dir_all(dir);
}

#[test]
fn links_to_folders_are_followed_where_this_user_made_them() {
    let dir = scratch("links");
    fs::create_dir(dir.join("real")).expect("new");
    mode(&dir.join("real"), 0o700);
    symlink("../links-loop", dir.join("loop")).expect("new");
    symlink(&dir, dir.join("absolute")).expect("new");
    symlink("absolute/real", dir.join("relative")).expect("new");
    let folder = Folder::open(&dir.join("relative"), Access::Private, false).expect("own links");
    folder.overwrite("file", b"1").expect("own");
    assert!(dir.join("real/file").exists());
    assert!(Folder::open(&dir.join("loop"), Access::Any, false).is_err());
    let link = c_name(dir.join("relative").as_os_str()).expect("a name");
    // SAFETY: a name that lives across the call.
    if unsafe { libc::lchown(link.as_ptr(), OTHER, OTHER) } == 0 {
        for access in [Access::Private, Access::Any] {
            let found = reason(Folder::open(&dir.join("relative"), access, true));
            assert!(found.contains("symbolic link of another user"), "{found}");
        }
    }
    let _ = fs::remove_dir_all(dir);
}

#[test]
fn a_file_is_a_regular_one_of_this_user_with_one_name() {
    let dir = scratch("files");
    let folder = Folder::open(&dir, Access::Private, false).expect("own");
    let path = dir.join("file");
    let refuses = |what: &str| {
        assert!(folder.read("file", 100).is_err(), "{what} is read");
        assert!(folder.overwrite("file", b"new").is_err(), "{what} is overwritten");
        assert!(
            folder.files(|_| true).expect("own").iter().all(|file| file.name != "file"),
            "{what} is listed"
        );
    };
    fs::write(dir.join("target"), b"precious").expect("new");
    symlink("target", &path).expect("new");
    refuses("a symbolic link");
    fs::remove_file(&path).expect("own");
    symlink("nowhere", &path).expect("new");
    refuses("a dangling link");
    assert!(!dir.join("nowhere").exists());
    fs::remove_file(&path).expect("own");
    fs::hard_link(dir.join("target"), &path).expect("new");
    refuses("a second name");
    fs::remove_file(&path).expect("own");
    fifo(&path);
    refuses("a FIFO");
    fs::remove_file(&path).expect("own");
    fs::create_dir(&path).expect("new");
    refuses("a folder");
    fs::remove_dir(&path).expect("own");
    fs::write(&path, b"theirs").expect("new");
    if give_away(&path) {
        refuses("another user's file");
    }
    fs::remove_file(&path).expect("root, or own");
    assert_eq!(fs::read(dir.join("target")).expect("there"), b"precious");

    folder.overwrite("file", b"longer contents").expect("new");
    folder.overwrite("file", b"contents").expect("own");
    assert_eq!(folder.read("file", 8).expect("own"), b"contents");
    assert!(folder.read("file", 7).is_err(), "it is too large");
    mode(&path, 0o620);
    assert!(folder.read("file", 8).is_err(), "others can write to it");
    let _ = fs::remove_dir_all(dir);
}

#[test]
fn what_cannot_be_written_leaves_nothing_behind() {
    let dir = scratch("full");
    let folder = Folder::open(&dir, Access::Private, false).expect("own");
    fs::create_dir(dir.join("name")).expect("new");
    assert!(folder.replace("name", "temporary", b"1").is_err(), "a folder is there");
    fs::write(dir.join("there"), b"old").expect("new");
    assert!(folder.replace("other", "there", b"1").is_err(), "the temporary name is taken");
    assert_eq!(fs::read(dir.join("there")).expect("there"), b"old");
    assert!(!dir.join("temporary").exists() && !dir.join("other").exists());
    let _ = fs::remove_dir_all(dir);
}

#[test]
fn a_named_file_is_regular_and_of_bounded_size() {
    let dir = scratch("named");
    fifo(&dir.join("fifo"));
    assert!(read_regular(&dir.join("fifo"), 100).is_err_and(|e| e.to_string().contains("regular")));
    assert!(read_regular(&dir, 100).is_err());
    fs::write(dir.join("file"), b"text").expect("new");
    symlink("file", dir.join("link")).expect("new");
    assert_eq!(read_regular(&dir.join("link"), 4).expect("regular"), b"text");
    assert!(read_regular(&dir.join("file"), 3).is_err());
    let _ = fs::remove_dir_all(dir);
}
