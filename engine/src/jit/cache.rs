//! Object code on disk, so that the next process need not compile it.
//!
//! One file an entry, named by the hash of everything that the code depends on. Files are written under
//! another name and renamed, so a reader sees a whole file or none; each carries a digest of its contents, and
//! what does not match is deleted and compiled again. The files used longest ago go when the bound is passed.

use super::hash::{Digest, digest, hex};
use crate::abi::CodeInfo;
use crate::fork::OnceLock;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::SystemTime;

const MAGIC: [u8; 8] = *b"ZECPUOBJ";
const DIGEST: usize = size_of::<Digest>();
const INFO: usize = 21;
const HEADER: usize = MAGIC.len() + DIGEST;
const EXTENSION: &str = "zeo";
/// Eviction goes down to this part of the bound, so that it is rare.
const KEEP_NUMERATOR: u64 = 3;
const KEEP_DENOMINATOR: u64 = 4;

/// A folder with object code.
pub struct Cache {
    dir: PathBuf,
    max_bytes: u64,
    /// Bytes written since the folder's size was last looked at. Starts at the bound: the first write looks.
    unaccounted: AtomicU64,
}

/// What is kept for a compiled kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Entry {
    pub info: CodeInfo,
    pub object: Vec<u8>,
}

impl Cache {
    /// A cache in `dir`, which is made when the first entry is written.
    pub fn new(dir: PathBuf, max_bytes: u64) -> Cache {
        Cache { dir, max_bytes, unaccounted: AtomicU64::new(max_bytes) }
    }

    fn path(&self, key: &Digest) -> PathBuf {
        self.dir.join(hex(key)).with_extension(EXTENSION)
    }

    pub fn contains(&self, key: &Digest) -> bool {
        self.path(key).exists()
    }

    /// The entry, if it is there and intact.
    pub fn get(&self, key: &Digest) -> Option<Entry> {
        let path = self.path(key);
        let file = fs::read(&path).ok()?;
        let Some(entry) = decode(&file) else {
            tracing::warn!("damaged entry in the code cache: {}", path.display());
            let _ = fs::remove_file(&path);
            return None;
        };
        touch(&path);
        Some(entry)
    }

    /// Keeps an entry. A failure is logged and otherwise ignored: the cache only saves time.
    pub fn put(&self, key: &Digest, entry: &Entry) {
        let file = encode(entry);
        if let Err(error) = self.write(&self.path(key), &file) {
            tracing::info!("code cache {}: {error}", self.dir.display());
            return;
        }
        let written = file.len() as u64;
        let unaccounted = self.unaccounted.fetch_add(written, Ordering::Relaxed) + written;
        if unaccounted > self.max_bytes / KEEP_DENOMINATOR {
            self.unaccounted.store(0, Ordering::Relaxed);
            if let Err(error) = self.evict() {
                tracing::info!("code cache {}: {error}", self.dir.display());
            }
        }
    }

    /// Forgets an entry that turned out to be of no use.
    pub fn remove(&self, key: &Digest) {
        let _ = fs::remove_file(self.path(key));
    }

    fn write(&self, path: &Path, file: &[u8]) -> std::io::Result<()> {
        static UNIQUE: AtomicU64 = AtomicU64::new(0);
        fs::create_dir_all(&self.dir)?;
        let unique = UNIQUE.fetch_add(1, Ordering::Relaxed);
        let temporary = path.with_extension(format!("{}.{unique}.tmp", std::process::id()));
        let mut out = fs::File::create(&temporary)?;
        let written = out.write_all(file).and_then(|()| fs::rename(&temporary, path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written
    }

    fn evict(&self) -> std::io::Result<()> {
        let mut files = Vec::new();
        for file in fs::read_dir(&self.dir)? {
            // Another process may be evicting as well: what is gone is gone.
            let Ok((path, data)) = file.and_then(|file| Ok((file.path(), file.metadata()?))) else {
                continue;
            };
            if data.is_file() {
                files.push((data.modified().unwrap_or(SystemTime::UNIX_EPOCH), data.len(), path));
            }
        }
        let mut total: u64 = files.iter().map(|(_, bytes, _)| bytes).sum();
        if total <= self.max_bytes {
            return Ok(());
        }
        files.sort();
        for (_, bytes, path) in files {
            if total <= self.max_bytes / KEEP_DENOMINATOR * KEEP_NUMERATOR {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= bytes;
            }
        }
        Ok(())
    }
}

/// Where the cache is if nobody says otherwise: `$XDG_CACHE_HOME/ze_cpu`, or `~/.cache/ze_cpu`.
pub fn default_dir() -> Option<PathBuf> {
    let xdg = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from).filter(|path| path.is_absolute());
    let base = xdg.or_else(|| std::env::home_dir().map(|home| home.join(".cache")))?;
    base.is_absolute().then(|| base.join("ze_cpu"))
}

/// Identifies this build of the driver: its version, and size and time of the file that holds this code.
pub fn driver_id() -> &'static str {
    static ID: OnceLock<String> = OnceLock::new();
    ID.get_or_init(|| {
        let file = own_file().and_then(|path| fs::metadata(path).ok());
        let time = file.as_ref().and_then(|file| file.modified().ok());
        let time = time.and_then(|time| time.duration_since(SystemTime::UNIX_EPOCH).ok()).unwrap_or_default();
        let size = file.map_or(0, |file| file.len());
        format!("{} {size} {}", env!("CARGO_PKG_VERSION"), time.as_nanos())
    })
}

/// The shared library or program that this function is in.
fn own_file() -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    let mut info = std::mem::MaybeUninit::<libc::Dl_info>::uninit();
    let here = own_file as fn() -> Option<PathBuf>;
    // SAFETY: dladdr writes `info` when it returns non-zero; the name is a string of the dynamic linker's.
    let name = unsafe {
        if libc::dladdr(here as *const libc::c_void, info.as_mut_ptr()) == 0 {
            return None;
        }
        std::ffi::CStr::from_ptr(info.assume_init().dli_fname)
    };
    let path = PathBuf::from(std::ffi::OsStr::from_bytes(name.to_bytes()));
    // The main program may be known to the dynamic linker by a relative name.
    if path.exists() { Some(path) } else { std::env::current_exe().ok() }
}

fn touch(path: &Path) {
    let now = fs::FileTimes::new().set_modified(SystemTime::now());
    // Read-only caches are fine: then nothing is evicted either.
    let _ = fs::File::options().write(true).open(path).and_then(|file| file.set_times(now));
}

fn encode(entry: &Entry) -> Vec<u8> {
    let CodeInfo { has_barrier, team, private_bytes, stack_bytes } = entry.info;
    let mut file = vec![0; HEADER];
    file.push(u8::from(has_barrier));
    file.extend_from_slice(&team.to_le_bytes());
    file.extend_from_slice(&private_bytes.to_le_bytes());
    file.extend_from_slice(&stack_bytes.to_le_bytes());
    file.extend_from_slice(&entry.object);
    let check = digest(&[&file[HEADER..]]);
    file[..MAGIC.len()].copy_from_slice(&MAGIC);
    file[MAGIC.len()..HEADER].copy_from_slice(&check);
    file
}

fn decode(file: &[u8]) -> Option<Entry> {
    let (header, contents) = file.split_at_checked(HEADER)?;
    if header[..MAGIC.len()] != MAGIC || header[MAGIC.len()..] != digest(&[contents]) {
        return None;
    }
    let (info, object) = contents.split_at_checked(INFO)?;
    let number = |at: usize| info[at..at + 8].try_into().ok().map(u64::from_le_bytes);
    let info = CodeInfo {
        has_barrier: info[0] != 0,
        team: info[1..5].try_into().ok().map(u32::from_le_bytes)?.max(1),
        private_bytes: number(5)?,
        stack_bytes: number(13)?,
    };
    Some(Entry { info, object: object.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("ze-cpu-cache-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    fn entry(len: usize) -> Entry {
        let info = CodeInfo { has_barrier: true, team: 4, private_bytes: 3, stack_bytes: 1 << 40 };
        Entry { info, object: vec![7; len] }
    }

    #[test]
    fn entry_comes_back_as_it_was_put() {
        let cache = Cache::new(scratch("roundtrip"), 1 << 20);
        let key = digest(&[b"key"]);
        assert_eq!(cache.get(&key), None);
        cache.put(&key, &entry(100));
        assert!(cache.contains(&key));
        assert_eq!(cache.get(&key), Some(entry(100)));
        let _ = fs::remove_dir_all(&cache.dir);
    }

    #[test]
    fn damaged_entry_is_a_miss_and_goes_away() {
        let cache = Cache::new(scratch("damage"), 1 << 20);
        let key = digest(&[b"key"]);
        for damage in [0, 10, HEADER, HEADER + INFO + 5] {
            cache.put(&key, &entry(100));
            let mut file = fs::read(cache.path(&key)).expect("just written");
            file[damage] ^= 1;
            fs::write(cache.path(&key), &file).expect("writable");
            assert_eq!(cache.get(&key), None, "byte {damage}");
            assert!(!cache.contains(&key));
        }
        cache.put(&key, &entry(100));
        let file = fs::read(cache.path(&key)).expect("just written");
        for len in [0, 5, HEADER, HEADER + 3, file.len() - 1] {
            fs::write(cache.path(&key), &file[..len]).expect("writable");
            assert_eq!(cache.get(&key), None, "cut to {len}");
        }
        let _ = fs::remove_dir_all(&cache.dir);
    }

    #[test]
    fn size_stays_within_the_bound() {
        let cache = Cache::new(scratch("bound"), 64 << 10);
        for at in 0..64u32 {
            cache.put(&digest(&[&at.to_le_bytes()]), &entry(4 << 10));
        }
        let size: u64 = fs::read_dir(&cache.dir)
            .expect("folder")
            .map(|file| file.and_then(|file| file.metadata()).map_or(0, |data| data.len()))
            .sum();
        assert!(size <= (64 << 10) * 5 / 4 + (5 << 10), "{size}");
        assert!(cache.contains(&digest(&[&63u32.to_le_bytes()])));
        let _ = fs::remove_dir_all(&cache.dir);
    }

    #[test]
    fn folder_that_cannot_be_made_only_costs_the_cache() {
        let cache = Cache::new(PathBuf::from("/proc/no/such/folder"), 1 << 20);
        let key = digest(&[b"key"]);
        cache.put(&key, &entry(1));
        assert_eq!(cache.get(&key), None);
    }

    #[test]
    fn driver_id_is_stable_and_names_the_version() {
        assert_eq!(driver_id(), driver_id());
        assert!(driver_id().starts_with(env!("CARGO_PKG_VERSION")));
    }
}
