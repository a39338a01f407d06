//! Object code on disk, so that the next process need not compile it.
//!
//! One file an entry, named by the hash of everything that the code depends on, in a folder of the cache's own. Files are
//! written under another name and renamed, so a reader sees a whole file or none; each carries a digest of its
//! contents, and what does not match is deleted and compiled again. The files used longest ago go when the bound is
//! passed; nothing is ever deleted that does not have a name of the cache's.
//!
//! What is read here is run. So the folder belongs to this user and is closed to all others, as is the way to it, and
//! each file is looked at before it is read ([`folder`](super::folder)); else there is no cache, and the log says why. The folder is
//! opened anew each time: a descriptor that is kept is one that a program closes, and then another file's.

use super::folder::{Access, Folder};
use super::hash::{Digest, digest, hex};
use crate::abi::{CodeInfo, LoopInputs, Rivals};
use crate::fork::OnceLock;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

/// The folder inside the one that the user names. Another name where files of older drivers cannot be told from today's.
const FOLDER: &str = "ze_cpu-code-1";
/// Larger files are no code of a kernel.
const MOST_BYTES: u64 = 256 << 20;
/// What was being written when its process ended is removed after this time.
const ABANDONED: Duration = Duration::from_secs(3600);
const TEMPORARY: &str = "tmp";

const MAGIC: [u8; 8] = *b"ZECPUOBJ";
const DIGEST: usize = size_of::<Digest>();
const INFO: usize = 66;
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
    /// The log says why there is no cache.
    refused: AtomicBool,
}

/// What is kept for a compiled kernel.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CachedCode {
    pub info: CodeInfo,
    pub object: Vec<u8>,
}

impl Cache {
    /// A cache in `dir`, which is made when the first entry is written.
    pub fn new(dir: PathBuf, max_bytes: u64) -> Cache {
        let dir = dir.join(FOLDER);
        Cache { dir, max_bytes, unaccounted: AtomicU64::new(max_bytes), refused: AtomicBool::new(false) }
    }

    /// The folder; `None` where there is none that can be trusted.
    fn folder(&self, create: bool) -> Option<Folder> {
        match Folder::open(&self.dir, Access::Private, create) {
            Ok(folder) => Some(folder),
            Err(error) if !create && error.kind() == ErrorKind::NotFound => None,
            Err(error) => {
                if !self.refused.swap(true, Ordering::Relaxed) {
                    tracing::warn!("no code cache in {}: {error}", self.dir.display());
                }
                None
            }
        }
    }

    pub fn contains(&self, key: &Digest) -> bool {
        self.folder(false).is_some_and(|folder| folder.contains(&file_name(key)))
    }

    /// The entry, if it is there and intact.
    pub fn get(&self, key: &Digest) -> Option<CachedCode> {
        let (folder, name) = (self.folder(false)?, file_name(key));
        let file = match folder.read(&name, MOST_BYTES) {
            Ok(file) => file,
            Err(error) => {
                if error.kind() != ErrorKind::NotFound {
                    tracing::warn!("code cache {}: {error}", self.dir.display());
                }
                return None;
            }
        };
        let entry = decode(&file);
        if entry.is_none() {
            tracing::warn!("damaged entry in the code cache: {}", self.dir.join(&name).display());
            folder.remove(&name);
        }
        entry
    }

    /// Keeps an entry. A failure is logged and otherwise ignored: the cache only saves time.
    pub fn put(&self, key: &Digest, entry: &CachedCode) {
        let Some(folder) = self.folder(true) else { return };
        let file = encode(entry);
        if let Err(error) = folder.replace(&file_name(key), &temporary_name(key), &file) {
            tracing::info!("code cache {}: {error}", self.dir.display());
            return;
        }
        let written = file.len() as u64;
        let unaccounted = self.unaccounted.fetch_add(written, Ordering::Relaxed) + written;
        if unaccounted > self.max_bytes / KEEP_DENOMINATOR {
            self.unaccounted.store(0, Ordering::Relaxed);
            if let Err(error) = self.evict(&folder) {
                tracing::info!("code cache {}: {error}", self.dir.display());
            }
        }
    }

    /// Forgets an entry that turned out to be of no use.
    pub fn remove(&self, key: &Digest) {
        self.folder(false).map(|folder| folder.remove(&file_name(key)));
    }

    fn evict(&self, folder: &Folder) -> io::Result<()> {
        let (entries, temporary) = {
            let files = folder.files(is_own_name)?;
            files.into_iter().partition::<Vec<_>, _>(|file| file.name.ends_with(EXTENSION))
        };
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let abandoned = i64::try_from(now.saturating_sub(ABANDONED).as_secs()).unwrap_or(0);
        for file in temporary.iter().filter(|file| file.modified.0 < abandoned) {
            folder.remove(&file.name);
        }
        let mut total: u64 = entries.iter().map(|file| file.bytes).sum();
        if total <= self.max_bytes {
            return Ok(());
        }
        let mut entries = entries;
        entries.sort();
        for file in entries {
            if total <= self.max_bytes / KEEP_DENOMINATOR * KEEP_NUMERATOR {
                break;
            }
            // Another process may be evicting as well: what is gone is gone, for it is not in the folder either way.
            folder.remove(&file.name);
            total -= file.bytes;
        }
        Ok(())
    }
}

/// The file of an entry.
fn file_name(key: &Digest) -> String {
    format!("{}.{EXTENSION}", hex(key))
}

/// What an entry's file is called while it is written: no other thread's or process's name.
fn temporary_name(key: &Digest) -> String {
    static UNIQUE: AtomicU64 = AtomicU64::new(0);
    let mut random = [0u8; 8];
    // SAFETY: as much room as is said. Without random bytes, process and count have to do.
    unsafe { libc::getrandom(random.as_mut_ptr().cast(), random.len(), libc::GRND_NONBLOCK) };
    let unique = UNIQUE.fetch_add(1, Ordering::Relaxed);
    let (random, process) = (u64::from_ne_bytes(random), std::process::id());
    format!("{}.{process}-{unique}-{random:016x}.{TEMPORARY}", hex(key))
}

/// Whether a name is one of those above.
fn is_own_name(name: &str) -> bool {
    let Some((key, rest)) = name.split_at_checked(2 * DIGEST) else { return false };
    let is_key = key.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
    let rest = rest.strip_prefix('.').unwrap_or_default();
    is_key && (rest == EXTENSION || rest.strip_suffix(TEMPORARY).is_some_and(|rest| rest.ends_with('.')))
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

fn encode(entry: &CachedCode) -> Vec<u8> {
    let CodeInfo {
        has_barrier,
        has_launch_barrier,
        factor,
        private_bytes,
        stack_bytes,
        zeroed_local,
        call_room,
        strip_height,
        streams,
        loop_inputs,
        rivals,
        is_best,
        width,
    } = entry.info;
    let mut file = vec![0; HEADER];
    file.push(u8::from(has_barrier));
    file.extend_from_slice(&factor.to_le_bytes());
    file.extend_from_slice(&private_bytes.to_le_bytes());
    file.extend_from_slice(&stack_bytes.to_le_bytes());
    zeroed_local.iter().for_each(|bound| file.extend_from_slice(&bound.to_le_bytes()));
    file.extend_from_slice(&call_room.to_le_bytes());
    file.push(u8::from(has_launch_barrier));
    file.extend_from_slice(&strip_height.to_le_bytes());
    file.push(u8::from(streams));
    file.extend_from_slice(&loop_inputs.arguments.to_le_bytes());
    file.push(u8::from(loop_inputs.data));
    file.push(u8::from(rivals.alone) | u8::from(rivals.unbundled) << 1);
    file.extend_from_slice(&width.to_le_bytes());
    file.push(u8::from(is_best));
    file.extend_from_slice(&entry.object);
    let check = digest(&[&file[HEADER..]]);
    file[..MAGIC.len()].copy_from_slice(&MAGIC);
    file[MAGIC.len()..HEADER].copy_from_slice(&check);
    file
}

fn decode(file: &[u8]) -> Option<CachedCode> {
    let (header, contents) = file.split_at_checked(HEADER)?;
    if header[..MAGIC.len()] != MAGIC || header[MAGIC.len()..] != digest(&[contents]) {
        return None;
    }
    let (info, object) = contents.split_at_checked(INFO)?;
    let number = |at: usize| info[at..at + 8].try_into().ok().map(u64::from_le_bytes);
    let info = CodeInfo {
        has_barrier: info[0] != 0,
        factor: info[1..5].try_into().ok().map(u32::from_le_bytes)?.max(1),
        private_bytes: number(5)?,
        stack_bytes: number(13)?,
        zeroed_local: [number(21)?, number(29)?],
        call_room: number(37)?,
        has_launch_barrier: info[45] != 0,
        strip_height: info[46..50].try_into().ok().map(u32::from_le_bytes)?.max(1),
        streams: info[50] != 0,
        loop_inputs: LoopInputs { arguments: number(51)?, data: info[59] != 0 },
        rivals: Rivals { alone: info[60] & 1 != 0, unbundled: info[60] & 2 != 0 },
        width: info[61..65].try_into().ok().map(u32::from_le_bytes)?.max(1),
        is_best: info[65] != 0,
    };
    Some(CachedCode { info, object: object.to_vec() })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn scratch(name: &str) -> PathBuf {
        let dir = std::env::temp_dir().join(format!("ze-cpu-cache-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&dir);
        dir
    }

    fn clean_up(cache: &Cache) {
        let _ = fs::remove_dir_all(cache.dir.parent().expect("the folder of the test"));
    }

    fn entry(len: usize) -> CachedCode {
        let zeroed_local = [8, 1 << 33];
        let info = CodeInfo {
            has_barrier: true,
            has_launch_barrier: true,
            factor: 4,
            private_bytes: 3,
            stack_bytes: 1 << 40,
            zeroed_local,
            call_room: 5,
            strip_height: 6,
            streams: true,
            loop_inputs: LoopInputs { arguments: 7, data: true },
            rivals: Rivals { alone: false, unbundled: true },
            is_best: true,
            width: 64,
        };
        CachedCode { info, object: vec![7; len] }
    }

    #[test]
    fn entry_comes_back_as_it_was_put() {
        let cache = Cache::new(scratch("roundtrip"), 1 << 20);
        let key = digest(&[b"key"]);
        assert_eq!(cache.get(&key), None);
        cache.put(&key, &entry(100));
        assert!(cache.contains(&key));
        assert_eq!(cache.get(&key), Some(entry(100)));
        clean_up(&cache);
    }

    #[test]
    fn damaged_entry_is_a_miss_and_goes_away() {
        let cache = Cache::new(scratch("damage"), 1 << 20);
        let key = digest(&[b"key"]);
        let path = cache.dir.join(file_name(&key));
        for damage in [0, 10, HEADER, HEADER + INFO + 5] {
            cache.put(&key, &entry(100));
            let mut file = fs::read(&path).expect("just written");
            file[damage] ^= 1;
            fs::write(&path, &file).expect("writable");
            assert_eq!(cache.get(&key), None, "byte {damage}");
            assert!(!cache.contains(&key));
        }
        cache.put(&key, &entry(100));
        let file = fs::read(&path).expect("just written");
        for len in [0, 5, HEADER, HEADER + 3, file.len() - 1] {
            fs::write(&path, &file[..len]).expect("writable");
            assert_eq!(cache.get(&key), None, "cut to {len}");
        }
        clean_up(&cache);
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
        clean_up(&cache);
    }

    #[test]
    fn eviction_deletes_nothing_but_entries() {
        let outer = scratch("others");
        let cache = Cache::new(outer.clone(), 16 << 10);
        cache.put(&digest(&[b"first"]), &entry(1));
        let name = file_name(&digest(&[b"name"]));
        let others = [
            outer.join("thesis.tex"),
            outer.join(&name),
            cache.dir.join("thesis.tex"),
            cache.dir.join(format!("copy of {name}")),
            cache.dir.join(format!("{name}.bak")),
            cache.dir.join(name.to_uppercase()),
        ];
        for path in &others {
            fs::write(path, vec![1; 64 << 10]).expect("a new file");
            let old = fs::FileTimes::new().set_modified(SystemTime::UNIX_EPOCH);
            let file = fs::File::options().write(true).open(path).expect("own");
            file.set_times(old).expect("own");
        }
        fs::create_dir(cache.dir.join(&name)).expect("a new folder");
        for at in 0..32u32 {
            cache.put(&digest(&[&at.to_le_bytes()]), &entry(4 << 10));
        }
        assert!(!cache.contains(&digest(&[b"first"])), "nothing was evicted");
        for path in &others {
            assert_eq!(fs::metadata(path).map_or(0, |file| file.len()), 64 << 10, "{}", path.display());
        }
        clean_up(&cache);
    }

    #[test]
    fn what_others_could_have_put_there_is_a_miss() {
        let cache = Cache::new(scratch("forged"), 1 << 20);
        let key = digest(&[b"key"]);
        cache.put(&key, &entry(100));
        let path = cache.dir.join(file_name(&key));
        let kept = cache.dir.join("kept");
        fs::rename(&path, &kept).expect("own");
        std::os::unix::fs::symlink(&kept, &path).expect("a new link");
        assert_eq!(cache.get(&key), None, "a link is followed");
        fs::remove_file(&path).expect("own");
        fs::hard_link(&kept, &path).expect("a new name");
        assert_eq!(cache.get(&key), None, "a file with two names");
        fs::remove_file(&kept).expect("own");
        assert_eq!(cache.get(&key), Some(entry(100)));
        let mode = |path: &Path, mode| {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("own");
        };
        mode(&path, 0o622);
        assert_eq!(cache.get(&key), None, "others can write to the file");
        mode(&path, 0o600);
        mode(&cache.dir, 0o770);
        assert_eq!(cache.get(&key), None, "others can write to the folder");
        cache.put(&digest(&[b"other"]), &entry(1));
        assert_eq!(fs::read_dir(&cache.dir).expect("own").count(), 1, "an entry is written there");
        mode(&cache.dir, 0o700);
        assert_eq!(cache.get(&key), Some(entry(100)));
        clean_up(&cache);
    }

    #[test]
    fn processes_share_a_cache_while_it_is_evicted() {
        let dir = scratch("shared");
        let work = |seed: u32| {
            let cache = Cache::new(dir.clone(), 64 << 10);
            for at in 0..200u32 {
                let key = (at * 7 + seed) % 40;
                let (len, key) = (1000 + key as usize * 100, digest(&[&key.to_le_bytes()]));
                match cache.get(&key) {
                    Some(found) => assert_eq!(found, entry(len)),
                    None => cache.put(&key, &entry(len)),
                }
            }
        };
        std::thread::scope(|scope| (0..4).for_each(|seed| drop(scope.spawn(move || work(seed)))));
        let names = fs::read_dir(dir.join(FOLDER)).expect("there").flatten();
        assert!(names.into_iter().all(|file| file.file_name().to_string_lossy().ends_with(EXTENSION)));
        let _ = fs::remove_dir_all(dir);
    }

    #[test]
    fn only_the_caches_own_names_are_its_own() {
        let key = digest(&[b"key"]);
        let (name, temporary) = (file_name(&key), temporary_name(&key));
        assert!(is_own_name(&name) && is_own_name(&temporary) && temporary != temporary_name(&key));
        for other in ["", "thesis.tex", ".zeo", "a.zeo", &name[1..], &name.to_uppercase(), &hex(&key)] {
            assert!(!is_own_name(other), "{other}");
        }
        assert!(!is_own_name(&format!("{name}.bak")) && !is_own_name(&format!("{}tmp", hex(&key))));
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
