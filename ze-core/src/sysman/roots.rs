//! Reading `/sys` and `/proc`.

use std::fs;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Where `/sys` and `/proc` are: tests have trees of their own.
#[derive(Clone, Debug)]
pub struct Roots {
    sys: PathBuf,
    proc: PathBuf,
}

impl Default for Roots {
    fn default() -> Self {
        Self { sys: "/sys".into(), proc: "/proc".into() }
    }
}

impl Roots {
    pub fn new(sys: PathBuf, proc: PathBuf) -> Self {
        Self { sys, proc }
    }

    pub fn sys(&self, path: &str) -> PathBuf {
        self.sys.join(path)
    }

    pub fn proc(&self, path: &str) -> PathBuf {
        self.proc.join(path)
    }
}

/// The text of a file without white space around it; `None` where it cannot be read or says nothing.
pub fn text(path: &Path) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number in a file.
pub fn number<T: FromStr>(path: &Path) -> Option<T> {
    text(path)?.parse().ok()
}

/// The entries of a folder whose names begin so, in the order of the numbers behind.
pub fn entries(folder: &Path, prefix: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .filter(|name| name.starts_with(prefix))
        .collect();
    names.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    names.into_iter().map(|name| folder.join(name)).collect()
}

/// A folder in the temporary folder that tests fill, and that is gone with the value.
#[cfg(test)]
pub struct Tree(PathBuf);

#[cfg(test)]
impl Tree {
    /// A tree of files: paths that begin with `sys/` or `proc/`, and what is in them.
    pub fn new(files: &[(&str, &str)]) -> Self {
        use std::sync::atomic::{AtomicU32, Ordering};
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let name = format!("ze_cpu-sysman-{}-{}", std::process::id(), NEXT.fetch_add(1, Ordering::Relaxed));
        let tree = Self(std::env::temp_dir().join(name));
        for (path, text) in files {
            tree.write(path, text);
        }
        tree
    }

    pub fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a file is in a folder")).expect("the folder is made");
        fs::write(path, text).expect("the file is written");
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.0.join(path)).expect("the file is there");
    }

    pub fn roots(&self) -> Roots {
        Roots::new(self.0.join("sys"), self.0.join("proc"))
    }
}

#[cfg(test)]
impl Drop for Tree {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_the_order_of_their_numbers() {
        let tree =
            Tree::new(&[("sys/a/cpu10", "1"), ("sys/a/cpu9", "1"), ("sys/a/cpu0", "1"), ("sys/a/x", "1")]);
        let names: Vec<_> = entries(&tree.roots().sys("a"), "cpu")
            .iter()
            .map(|path| path.file_name().expect("a name").to_string_lossy().into_owned())
            .collect();
        assert_eq!(names, ["cpu0", "cpu9", "cpu10"]);
        assert!(entries(&tree.roots().sys("b"), "cpu").is_empty());
    }

    #[test]
    fn what_is_no_number_is_none() {
        let tree = Tree::new(&[("sys/a", " 12\n"), ("sys/b", "twelve"), ("sys/c", "\n")]);
        let at = |name| number::<u64>(&tree.roots().sys(name));
        assert_eq!([at("a"), at("b"), at("c"), at("d")], [Some(12), None, None, None]);
    }
}
