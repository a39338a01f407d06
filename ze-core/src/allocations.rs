//! Which allocation an address belongs to.
//!
//! Every SYCL operation asks this for its pointers, with a million allocations perhaps, so a look takes no lock and follows a few
//! pointers: a table of pages as processors have it, a radix tree of six levels of nine bits. A range stands in the entry of each page that
//! it is in, or once in that of a larger stretch that it fills, as a huge page does. A page that several ranges are in has a list
//! of them. Changes are made one at a time. Tables stay when they are empty: addresses are used again, and two megabytes of
//! them take 8 KiB. Many of them are in huge pages themselves, for what a look waits for are the caches: with a million allocations, each line of
//! memory that one look needs after another costs 100 to 200 ns. So where a page has one range, the table of pages tells its
//! base and size as well.
//!
//! A look is a section, and what it may still be reading is given back when no such section is left ([`fork::retire`]). It writes to
//! nothing that other threads read, not even a count of references, unless the caller keeps what it finds.

use crate::fork::{self, Mutex};
use std::alloc::{Layout, alloc_zeroed, dealloc, handle_alloc_error};
use std::collections::HashSet;
use std::marker::PhantomData;
use std::mem::align_of;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};
use ze_engine::pages::Pages;

/// Something with a range of addresses.
pub trait Range {
    fn base(&self) -> usize;
    /// Bytes, at least 1.
    fn size(&self) -> usize;
}

/// An address is 12 bits within its page, and nine that choose an entry of each level.
const PAGE_BITS: u32 = 12;
const LEVEL_BITS: u32 = 9;
const ENTRIES: usize = 1 << LEVEL_BITS;
/// So many that all bits of an address are looked at: imported ranges are wherever the program says.
const TOP: u32 = 5;

/// The low bits of an entry that is not 0 say what its pointer leads to.
const TAG: usize = 3;
/// The next level.
const TABLE: usize = 1;
/// A range, as `Arc::into_raw` gives it.
const ONE: usize = 2;
/// A [`Shared`].
const MANY: usize = 3;

#[repr(align(4096))]
struct Table([AtomicUsize; ENTRIES]);

impl Table {
    const fn new() -> Self {
        Self([const { AtomicUsize::new(0) }; ENTRIES])
    }
}

/// The last level: a table of pages, and behind it what is known of each page's range, if that is one.
#[repr(C, align(4096))]
struct Leaf {
    entries: Table,
    told: [AtomicU64; ENTRIES],
}

impl Leaf {
    /// What a table of pages is the beginning of.
    ///
    /// # Safety
    /// The table is of level 0.
    unsafe fn of(table: &Table) -> &Leaf {
        // SAFETY: the caller's promise: such tables are made as the beginning of leaves, which stay as long as they do.
        unsafe { &*(std::ptr::from_ref(table) as usize as *const Leaf) }
    }
}

/// Base and size of a range as a page of it tells them: 12 bits of the base within its page, 20 of pages from there to this one, and 32
/// of bytes. 0 where they are not enough.
fn tell(page: usize, base: usize, size: usize) -> u64 {
    const PAGES: u32 = 20;
    let back = (page >> PAGE_BITS) - (base >> PAGE_BITS);
    match u32::try_from(size) {
        Ok(size) if back >> PAGES == 0 => {
            u64::from(size) << 32 | (back << PAGE_BITS | base & ((1 << PAGE_BITS) - 1)) as u64
        }
        _ => 0,
    }
}

/// What [`tell`] told of the page that the address is in.
fn told(address: usize, told: u64) -> (usize, usize) {
    let (low, back) = (told as usize & ((1 << PAGE_BITS) - 1), told as u32 as usize >> PAGE_BITS);
    let page = (address >> PAGE_BITS).wrapping_sub(back);
    (page << PAGE_BITS | low, (told >> 32) as usize)
}

/// Bytes that tables are taken from at first, and then.
const FIRST_TABLES: usize = 128 << 10;
const MORE_TABLES: usize = 4 << 20;

/// Where tables come from.
#[derive(Default)]
struct Tables {
    /// What they are in, for as long as the map is.
    memory: Vec<Pages>,
    /// Bytes of the latest that are taken.
    taken: usize,
    /// Those that had to be had one by one.
    single: Vec<(NonNull<u8>, Layout)>,
}

// SAFETY: it owns its tables, of which entries are atomic.
unsafe impl Send for Tables {}

impl Tables {
    /// An empty table for this level.
    fn take(&mut self, level: u32) -> NonNull<Table> {
        let layout = if level == 0 { Layout::new::<Leaf>() } else { Layout::new::<Table>() };
        if self.memory.last().is_none_or(|latest| self.taken + layout.size() > latest.len()) {
            let more = match self.memory.is_empty() {
                true => Pages::sparse(FIRST_TABLES),
                false => Pages::huge(MORE_TABLES),
            };
            let Ok(more) = more else {
                // SAFETY: the layout is not empty.
                let table = NonNull::new(unsafe { alloc_zeroed(layout) });
                let table = table.unwrap_or_else(|| handle_alloc_error(layout));
                self.single.push((table, layout));
                return table.cast();
            };
            self.memory.push(more);
            self.taken = 0;
        }
        let latest = self.memory.last().expect("there is one with room");
        // SAFETY: inside of it, and zeros are an empty table.
        let table = unsafe { latest.base().add(self.taken) };
        self.taken += layout.size();
        table.cast()
    }
}

impl Drop for Tables {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and nobody has them any more.
        self.single.drain(..).for_each(|(table, layout)| unsafe { dealloc(table.as_ptr(), layout) });
    }
}

/// The ranges of a page that is not one's own, in their order.
struct Shared<T>(Vec<*const T>);

/// Bits of an address below an entry's own, of a level that is 0 for pages.
fn shift(level: u32) -> u32 {
    PAGE_BITS + LEVEL_BITS * level
}

fn index(address: usize, level: u32) -> usize {
    (address >> shift(level)) % ENTRIES
}

/// The last address that the entry covers which covers this one.
fn last_of_entry(address: usize, level: u32) -> usize {
    address | ((1 << shift(level)) - 1)
}

/// Disjoint ranges, found by any address inside.
pub struct RangeMap<T> {
    top: Table,
    /// Held by who changes anything.
    changing: Mutex<Tables>,
    /// Counts when a replacement begins and when it ends: who finds nothing meanwhile looks again.
    replacements: AtomicUsize,
    ranges: PhantomData<Arc<T>>,
}

// SAFETY: it owns its ranges, and gives references to them away.
unsafe impl<T: Send + Sync> Send for RangeMap<T> {}
// SAFETY: as above; what is reachable for readers is changed by atomic stores, and freed when none can have it any more.
unsafe impl<T: Send + Sync> Sync for RangeMap<T> {}

/// What becomes of the entries of a range.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Change {
    Add,
    Remove,
}

/// A range that comes or goes.
struct Edit<'t, T> {
    range: *const T,
    change: Change,
    tables: &'t mut Tables,
}

impl<T: Range + Send + Sync + 'static> RangeMap<T> {
    pub fn new() -> Self {
        const { assert!(align_of::<T>() > TAG, "pointers to ranges have room for a tag") };
        Self {
            top: Table::new(),
            changing: Mutex::default(),
            replacements: AtomicUsize::new(0),
            ranges: PhantomData,
        }
    }

    /// Adds a range that overlaps none of those in the map.
    pub fn insert(&self, range: Arc<T>) {
        self.add(range, &mut self.changing.lock());
    }

    /// Adds a range, by who changes the map.
    fn add(&self, range: Arc<T>, tables: &mut Tables) {
        let (base, last) = bounds(&*range);
        // The map's reference, whatever the number of entries.
        let mut edit = Edit { range: Arc::into_raw(range), change: Change::Add, tables };
        edit.apply(&self.top, TOP, base, last);
    }

    /// Takes out the range that begins at the address, and adds others that are parts of it. Who looks for an address in one of those
    /// finds the old range or the part.
    pub fn replace(&self, base: usize, parts: Vec<Arc<T>>) -> Option<Arc<T>> {
        let mut tables = self.changing.lock();
        self.replacements.fetch_add(1, Ordering::AcqRel);
        let old = self.take(base, &mut tables);
        parts.into_iter().for_each(|part| self.add(part, &mut tables));
        self.replacements.fetch_add(1, Ordering::AcqRel);
        old
    }

    /// The range that the address is in.
    pub fn find(&self, address: usize) -> Option<Arc<T>> {
        // SAFETY: from `Arc::into_raw`, and the map's reference lives as long as the section.
        self.look(address, |range| unsafe {
            Arc::increment_strong_count(range);
            Arc::from_raw(range)
        })
    }

    /// What `read` says of the range that the address is in. It must be short: see [`fork`].
    pub fn with<R>(&self, address: usize, read: impl FnOnce(&T) -> R) -> Option<R> {
        // SAFETY: the map's reference lives as long as the section.
        self.look(address, |range| read(unsafe { &*range }))
    }

    /// Base and size of the range that the address is in.
    pub fn bounds(&self, address: usize) -> Option<(usize, usize)> {
        self.look_at_page(address).or_else(|| self.with(address, |range| (range.base(), range.size())))
    }

    /// As [`bounds`](Self::bounds), if the page tells them.
    fn look_at_page(&self, address: usize) -> Option<(usize, usize)> {
        let _section = fork::section();
        let (entry, table, 0) = self.entry(address) else { return None };
        // SAFETY: of level 0.
        let leaf = unsafe { Leaf::of(table) };
        let at = index(address, 0);
        let value = leaf.told[at].load(Ordering::Relaxed);
        // Both are of one range if the entry is the same behind it: who tells something else has changed the entry before, and
        // a range is not made anew at the place of one that this section may see.
        fence(Ordering::Acquire);
        let is_of_one = entry & TAG == ONE && leaf.entries.0[at].load(Ordering::Relaxed) == entry;
        let (base, size) = told(address, value);
        let is_in = address.checked_sub(base).is_some_and(|offset| offset < size);
        (is_of_one && is_in).then_some((base, size))
    }

    #[inline]
    fn look<R>(&self, address: usize, read: impl FnOnce(*const T) -> R) -> Option<R> {
        let _section = fork::section();
        let before = self.replacements.load(Ordering::Acquire);
        if let Some(range) = self.look_up(address) {
            return Some(read(range));
        }
        if before.is_multiple_of(2) && self.replacements.load(Ordering::Acquire) == before {
            return None;
        }
        let _changing = self.changing.lock();
        self.look_up(address).map(read)
    }

    /// Takes out the range that begins at the address.
    pub fn remove(&self, base: usize) -> Option<Arc<T>> {
        self.take(base, &mut self.changing.lock())
    }

    /// Takes out a range, by who changes the map.
    fn take(&self, base: usize, tables: &mut Tables) -> Option<Arc<T>> {
        // SAFETY: it is in the map, so the map's reference keeps it.
        let range = self.look_up(base).filter(|&range| unsafe { (*range).base() == base })?;
        // SAFETY: as above; the reference that is given back is one of its own.
        let result = unsafe {
            Arc::increment_strong_count(range);
            Arc::from_raw(range)
        };
        let (base, last) = bounds(&*result);
        Edit { range, change: Change::Remove, tables }.apply(&self.top, TOP, base, last);
        // SAFETY: the map's reference, which no entry stands for any more; the range is `Send` and `Sync`.
        unsafe { fork::retire(range as usize, |range| drop(Arc::from_raw(range as *const T))) };
        Some(result)
    }

    /// Every range, at one moment, in the order of addresses.
    pub fn iter(&self) -> impl Iterator<Item = Arc<T>> + '_ {
        let _changing = self.changing.lock();
        let mut ranges = Vec::new();
        Self::collect(&self.top, TOP, 0, &mut ranges);
        let own = |range: *const T| {
            // SAFETY: it is in the map, which does not change meanwhile.
            unsafe {
                Arc::increment_strong_count(range);
                Arc::from_raw(range)
            }
        };
        ranges.into_iter().map(own).collect::<Vec<_>>().into_iter()
    }

    /// The range that the address is in. Who calls this is in a section, or changes the map.
    fn look_up(&self, address: usize) -> Option<*const T> {
        let entry = self.entry(address).0;
        let pointer = entry & !TAG;
        // SAFETY: what can be reached lives.
        let is_in = |range: &*const T| unsafe { contains(*range, address) };
        match entry & TAG {
            ONE => Some(pointer as *const T).filter(is_in),
            // SAFETY: see above.
            MANY => unsafe { &*(pointer as *const Shared<T>) }.0.iter().copied().find(is_in),
            _ => None,
        }
    }

    /// The entry for an address that leads to no further table, the table that it is in, and that one's level.
    fn entry(&self, address: usize) -> (usize, &Table, u32) {
        let (mut table, mut level) = (&self.top, TOP);
        loop {
            let entry = table.0[index(address, level)].load(Ordering::Acquire);
            if entry & TAG != TABLE {
                return (entry, table, level);
            }
            // SAFETY: tables stay as long as the map.
            table = unsafe { &*((entry & !TAG) as *const Table) };
            level -= 1;
        }
    }

    /// The ranges below a table, each once, where nobody changes the map.
    fn collect(table: &Table, level: u32, begin: usize, ranges: &mut Vec<*const T>) {
        for (at, entry) in table.0.iter().enumerate() {
            let entry = entry.load(Ordering::Relaxed);
            // The top level has more entries than there are addresses.
            let Some(begin) =
                at.checked_shl(shift(level)).filter(|own| own >> shift(level) == at).map(|own| begin | own)
            else {
                return;
            };
            let pointer = entry & !TAG;
            // SAFETY: what is in the map lives.
            let is_first = |range: &*const T| unsafe {
                (begin..=last_of_entry(begin, level)).contains(&(**range).base())
            };
            match entry & TAG {
                TABLE => {
                    // SAFETY: see above.
                    let below = unsafe { &*(pointer as *const Table) };
                    Self::collect(below, level - 1, begin, ranges);
                }
                ONE => ranges.extend(Some(pointer as *const T).filter(is_first)),
                MANY => {
                    // SAFETY: see above.
                    let shared = unsafe { &*(pointer as *const Shared<T>) };
                    ranges.extend(shared.0.iter().copied().filter(is_first));
                }
                _ => {}
            }
        }
    }
}

impl<T: Range> Edit<'_, T> {
    /// Changes the entries of a table, and of those below it, that cover the addresses from `first` to `last`.
    fn apply(&mut self, table: &Table, level: u32, first: usize, last: usize) {
        let mut begin = first;
        loop {
            let end = last_of_entry(begin, level);
            let slot = &table.0[index(begin, level)];
            let is_whole = begin & ((1 << shift(level)) - 1) == 0 && end <= last;
            if level == 0 {
                // SAFETY: of level 0.
                self.apply_to_page(slot, unsafe { &Leaf::of(table).told[index(begin, 0)] }, begin);
            } else if is_whole && slot.load(Ordering::Relaxed) & TAG != TABLE {
                // Ranges are disjoint, so there is nothing else below the entry.
                let entry = self.range as usize | ONE;
                debug_assert_eq!(
                    slot.load(Ordering::Relaxed),
                    if self.change == Change::Add { 0 } else { entry }
                );
                slot.store(if self.change == Change::Add { entry } else { 0 }, Ordering::Release);
            } else {
                let below = self.table_below(slot, level - 1);
                self.apply(below, level - 1, begin, end.min(last));
            }
            if end >= last {
                return;
            }
            begin = end + 1;
        }
    }

    /// The table that an entry leads to, which is made if there is none.
    fn table_below<'a>(&mut self, slot: &AtomicUsize, level: u32) -> &'a Table {
        let mut entry = slot.load(Ordering::Relaxed);
        if entry == 0 {
            entry = self.tables.take(level).as_ptr() as usize | TABLE;
            slot.store(entry, Ordering::Release);
        }
        debug_assert_eq!(entry & TAG, TABLE, "ranges do not overlap");
        // SAFETY: tables stay as long as the map.
        unsafe { &*((entry & !TAG) as *const Table) }
    }

    fn apply_to_page(&self, slot: &AtomicUsize, told: &AtomicU64, address: usize) {
        let entry = slot.load(Ordering::Relaxed);
        let changed = match (entry & TAG, self.change) {
            (0, Change::Add) => self.range as usize | ONE,
            (ONE, Change::Remove) => 0,
            (tag, change) => {
                let mut ranges = match tag {
                    // SAFETY: only who changes the map gives it back.
                    MANY => unsafe { &*((entry & !TAG) as *const Shared<T>) }.0.clone(),
                    _ => vec![(entry & !TAG) as *const T],
                };
                match change {
                    Change::Add => {
                        ranges.push(self.range);
                        // SAFETY: ranges in the map live, and the new one does.
                        ranges.sort_unstable_by_key(|&range| unsafe { (*range).base() });
                    }
                    Change::Remove => ranges.retain(|&own| own != self.range),
                }
                match ranges.as_slice() {
                    [one] => *one as usize | ONE,
                    _ => Box::into_raw(Box::new(Shared(ranges))) as usize | MANY,
                }
            }
        };
        let value = match changed & TAG {
            ONE => {
                // SAFETY: it is in the map, or comes into it.
                let range = unsafe { &*((changed & !TAG) as *const T) };
                tell(address, range.base(), range.size())
            }
            _ => 0,
        };
        // Who sees what is told now also sees that the entry is no longer what it was before.
        fence(Ordering::Release);
        told.store(value, Ordering::Relaxed);
        slot.store(changed, Ordering::Release);
        if entry & TAG == MANY {
            // SAFETY: from `Box::into_raw`, and nothing leads to it any more.
            unsafe { fork::retire(entry & !TAG, |shared| drop(Box::from_raw(shared as *mut Shared<T>))) };
        }
    }
}

/// # Safety
/// The range lives.
unsafe fn contains<T: Range>(range: *const T, address: usize) -> bool {
    // SAFETY: the caller's promise.
    let range = unsafe { &*range };
    address.checked_sub(range.base()).is_some_and(|offset| offset < range.size())
}

/// The first and the last address.
fn bounds<T: Range>(range: &T) -> (usize, usize) {
    (range.base(), range.base() + (range.size() - 1))
}

impl<T: Range + Send + Sync + 'static> Default for RangeMap<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> Drop for RangeMap<T> {
    fn drop(&mut self) {
        // Ranges are in several entries, so the references are collected first.
        fn free<T>(table: &Table, ranges: &mut HashSet<*const T>) {
            for entry in &table.0 {
                let entry = entry.load(Ordering::Relaxed);
                let address = entry & !TAG;
                // SAFETY: what each tag stands for, which nobody has any more.
                unsafe {
                    match entry & TAG {
                        TABLE => free(&*(address as *const Table), ranges),
                        ONE => ranges.extend([address as *const T]),
                        MANY => ranges.extend(Box::from_raw(address as *mut Shared<T>).0),
                        _ => {}
                    }
                }
            }
        }
        let mut ranges = HashSet::<*const T>::new();
        free(&self.top, &mut ranges);
        // SAFETY: the map's references, each once.
        ranges.into_iter().for_each(|range| drop(unsafe { Arc::from_raw(range) }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicBool, Ordering};
    use std::thread;

    #[derive(Debug)]
    struct Block {
        base: usize,
        size: usize,
    }

    impl Range for Block {
        fn base(&self) -> usize {
            self.base
        }
        fn size(&self) -> usize {
            self.size
        }
    }

    #[test]
    fn pages_tell_what_their_range_is() {
        const GIB: usize = 1 << 30;
        // Within a page, over pages, from the middle of one, several in one, too large to be told, and far from its first page.
        let ranges = [
            (0x10_0100, 0x40),
            (0x20_0000, 0x1000),
            (0x20_1ff0, 0x3011),
            (0x30_0000, 0x200),
            (0x30_0200, 0xe00),
            (GIB, 4 * GIB),
            (8 * GIB + 0x123, 5 * GIB),
        ];
        let map = RangeMap::new();
        for (base, size) in ranges {
            map.insert(Arc::new(Block { base, size }));
        }
        for (base, size) in ranges {
            for address in [base, base + 1, base + size / 2, base + size - 1] {
                assert_eq!(map.bounds(address), Some((base, size)));
                let is_told = size < GIB && base >> PAGE_BITS != 0x300;
                assert_eq!(map.look_at_page(address).is_some(), is_told, "{address:#x}");
            }
        }
        for address in [0x10_00ff, 0x10_0140, 0x1f_ffff, 0x20_1000, 0x20_5001, GIB - 1, 13 * GIB + 0x123] {
            assert_eq!(map.bounds(address), None, "{address:#x}");
        }
        // The last of a page's ranges is told again.
        assert!(map.remove(0x30_0000).is_some());
        assert_eq!(map.look_at_page(0x30_0200), Some((0x30_0200, 0xe00)));
        assert!(map.remove(0x30_0200).is_some() && map.bounds(0x30_0200).is_none());
    }

    #[test]
    fn bounds_are_those_of_one_range_while_others_come_and_go() {
        const BASE: usize = 1 << 34;
        const PLACES: usize = 16;
        const VARIANTS: usize = 8;
        // Where a range begins is told by its size as well.
        let range = |place: usize, variant: usize| Block {
            base: BASE + place * 0x4000 + variant * 0x40,
            size: 0x1000 + (place * VARIANTS + variant) * 0x40,
        };
        let (map, over) = (RangeMap::new(), AtomicBool::new(false));
        thread::scope(|scope| {
            for seed in 0..2 {
                let (map, over) = (&map, &over);
                scope.spawn(move || {
                    let mut at = seed;
                    while !over.load(Ordering::Relaxed) {
                        at = (at + 0x1235) % (PLACES * 0x4000);
                        if let Some((base, size)) = map.bounds(BASE + at) {
                            let number = (size - 0x1000) / 0x40;
                            assert_eq!(base, range(number / VARIANTS, number % VARIANTS).base);
                        }
                    }
                });
            }
            for round in 0..4_000 {
                let ranges = || (0..PLACES).map(|place| range(place, (round + place) % VARIANTS));
                ranges().for_each(|range| map.insert(Arc::new(range)));
                ranges().for_each(|range| assert!(map.remove(range.base).is_some()));
            }
            over.store(true, Ordering::Relaxed);
        });
    }

    #[test]
    fn a_large_range_takes_the_place_of_small_ones_that_are_gone() {
        const BASE: usize = 1 << 40;
        const SIZE: usize = 6 << 20;
        let map = RangeMap::new();
        for round in 0..3 {
            for page in 0..200 {
                map.insert(Arc::new(Block { base: BASE + 0x1000 * page, size: 0x1000 }));
            }
            assert_eq!(map.find(BASE + 0x5123).map(|block| block.base), Some(BASE + 0x5000));
            (0..200).for_each(|page| assert!(map.remove(BASE + 0x1000 * page).is_some()));
            // From the middle of a stretch without tables to that of another one.
            let base = BASE - (1 << 20) * round;
            map.insert(Arc::new(Block { base, size: SIZE }));
            let found = |address| map.with(address, |block| (block.base, block.size));
            for address in (base..base + SIZE).step_by(0x800) {
                assert_eq!(found(address), Some((base, SIZE)));
            }
            assert_eq!((found(base - 1), found(base + SIZE), map.iter().count()), (None, None, 1));
            assert!(map.remove(base).is_some());
            assert!((base..base + SIZE).step_by(0x800).all(|address| found(address).is_none()));
        }
    }

    #[test]
    fn interior_pointers_find_their_range() {
        let map = RangeMap::new();
        for base in [0x1000, 0x3000, 0x2000] {
            map.insert(Arc::new(Block { base, size: 0x800 }));
        }
        assert_eq!(map.find(0x1000).map(|block| block.base), Some(0x1000));
        assert_eq!(map.find(0x27ff).map(|block| block.base), Some(0x2000));
        assert!(map.find(0x2800).is_none() && map.find(0xfff).is_none() && map.find(usize::MAX).is_none());
        assert!(map.remove(0x2001).is_none());
        assert!(map.remove(0x2000).is_some() && map.find(0x2000).is_none());
        assert_eq!(map.iter().count(), 2);
    }

    fn block(base: usize, size: usize) -> Arc<Block> {
        Arc::new(Block { base, size })
    }

    #[test]
    fn a_page_may_have_several_ranges() {
        let map = RangeMap::new();
        for base in [0x5100, 0x5ff8, 0x5010, 0x4000] {
            map.insert(block(base, 0x10));
        }
        let found = |address| map.find(address).map(|block| block.base);
        assert_eq!(
            [0x5100, 0x510f, 0x5110, 0x6007, 0x501f, 0x400f].map(found),
            [Some(0x5100), Some(0x5100), None, Some(0x5ff8), Some(0x5010), Some(0x4000)]
        );
        assert_eq!(map.iter().count(), 4);
        assert!(map.remove(0x5100).is_some() && map.remove(0x5ff8).is_some());
        assert_eq!([0x5100, 0x6000, 0x5010].map(found), [None, None, Some(0x5010)]);
    }

    #[test]
    fn a_range_may_be_most_of_all_addresses() {
        let map = RangeMap::new();
        map.insert(block(0x1234, usize::MAX - 0x1234));
        map.insert(block(0, 0x1234));
        map.insert(block(usize::MAX, 1));
        let found = |address| map.find(address).map(|block| block.base);
        let places = [0, 0x1233, 0x1234, 0x1fff, 1 << 47, 1 << 63, usize::MAX - 1, usize::MAX];
        let expected = [0, 0, 0x1234, 0x1234, 0x1234, 0x1234, 0x1234, usize::MAX];
        assert_eq!(places.map(found), expected.map(Some));
        assert_eq!(map.iter().map(|block| block.base).collect::<Vec<_>>(), [0, 0x1234, usize::MAX]);
        assert!(map.remove(0x1234).is_some() && found(1 << 40).is_none() && found(0x1fff).is_none());
    }

    #[test]
    fn ranges_are_found_as_in_an_ordered_map() {
        let (map, mut expected) = (RangeMap::new(), std::collections::BTreeMap::<usize, usize>::new());
        let mut random = 1u64;
        let mut below = |end: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (random >> 33) as usize % end
        };
        let begin = (0x7f5 << 32) - (3 << 20);
        for _ in 0..4000 {
            // Sizes of some bytes, pages, and more than a table of pages has; on both sides of a border of larger tables.
            let unit = [1, 0x1000, 0x20_0000][below(3)];
            let (base, size) = (begin + below((8 << 20) / unit) * unit, (1 + below(3)) * unit);
            let before =
                expected.range(..base + size).next_back().filter(|(own, length)| *own + *length > base);
            match before.map(|(own, _)| *own) {
                None => {
                    map.insert(block(base, size));
                    expected.insert(base, size);
                }
                Some(own) => {
                    assert_eq!(map.find(own.max(base)).map(|block| block.base), Some(own));
                    assert_eq!(map.remove(own).map(|block| block.size), expected.remove(&own));
                }
            }
            let address = begin + below(8 << 20);
            let own = expected.range(..=address).next_back().filter(|(own, size)| address - **own < **size);
            assert_eq!(
                map.find(address).map(|block| (block.base, block.size)),
                own.map(|(own, size)| (*own, *size))
            );
        }
        assert!(map.iter().map(|block| (block.base, block.size)).eq(expected));
    }

    #[test]
    fn a_range_is_replaced_by_its_parts() {
        let map = RangeMap::new();
        // More than an entry above the pages has, so that it stands there once.
        map.insert(Arc::new(Block { base: 1 << 30, size: 64 << 20 }));
        let found = |address: usize| map.find(address).map(|range| (range.base, range.size));
        let part = |base: usize, size: usize| Arc::new(Block { base, size });
        let parts = vec![part(1 << 30, 4096), part((1 << 30) + (8 << 20) + 8192, 4 << 20)];
        let old = map.replace(1 << 30, parts).expect("it was there");
        assert_eq!((old.base, old.size), (1 << 30, 64 << 20));
        assert_eq!(found((1 << 30) + 5), Some((1 << 30, 4096)));
        assert_eq!(found((1 << 30) + 4096), None);
        assert_eq!(found((1 << 30) + (10 << 20)), Some(((1 << 30) + (8 << 20) + 8192, 4 << 20)));
        assert_eq!(found((1 << 30) + (40 << 20)), None);
        assert!(map.replace(1 << 30, Vec::new()).is_some() && found(1 << 30).is_none());
        assert!(map.replace(12345, Vec::new()).is_none());
    }

    #[test]
    fn ranges_are_given_back() {
        let (map, kept) = (RangeMap::new(), block(0x1ff8, 0x40_0000));
        map.insert(Arc::clone(&kept));
        map.insert(block(0x1000, 8));
        drop(map);
        assert_eq!(Arc::strong_count(&kept), 1, "the map had one reference, whatever the number of entries");
    }

    #[test]
    fn readers_see_live_ranges_while_others_come_and_go() {
        let map = Arc::new(RangeMap::new());
        map.insert(Arc::new(Block { base: 1 << 30, size: 4096 }));
        let stop = Arc::new(AtomicBool::new(false));
        let readers: Vec<_> = (0..3)
            .map(|_| {
                let (map, stop) = (Arc::clone(&map), Arc::clone(&stop));
                thread::spawn(move || {
                    while !stop.load(Ordering::Relaxed) {
                        let block = map.find((1 << 30) + 17).expect("it is never removed");
                        assert_eq!(block.base, 1 << 30);
                        if let Some(block) = map.find(0x5010) {
                            assert_eq!((block.base, block.size), (0x5000, 0x100));
                        }
                    }
                })
            })
            .collect();
        let writers: Vec<_> = (0..2)
            .map(|writer: usize| {
                let map = Arc::clone(&map);
                thread::spawn(move || {
                    for round in 0..3000 {
                        let base = if writer == 0 { 0x5000 } else { 0x9000 + (round % 7) * 0x100 };
                        map.insert(Arc::new(Block { base, size: 0x100 }));
                        assert!(map.remove(base).is_some());
                    }
                })
            })
            .collect();
        assert!(writers.into_iter().all(|thread| thread.join().is_ok()));
        stop.store(true, Ordering::Relaxed);
        assert!(readers.into_iter().all(|thread| thread.join().is_ok()));
    }
}
