//! Work-group sizes: which code runs a group, and which size to suggest for a global size.

use crate::abi::{Axis, Coarsening, LaneMapping, MOST_SUBGROUPS, Variant};
use crate::exec::Range;

/// Sub-group sizes that code can be made for, ascending.
const WIDTHS: [u32; 5] = [1, 4, 8, 16, 32];
/// From this row length on, a partial last sub-group costs less than narrower vectors do.
const LINE_FROM: u64 = 64;
/// Rows of a multiple of this fill vectors of every machine.
const ROW: u32 = 16;
/// Rows of a multiple of this do so with half of the lanes.
const SHORT_ROW: u32 = 8;
/// What rows are multiples of, the best first.
pub const ROWS: [u32; 2] = [ROW, SHORT_ROW];
/// Rows of so many work-items are long: processors fetch the lines behind them before they are asked for, and few work-groups begin.
const LONG_ROW: u32 = 256;
/// Rows above each other that share what they load, in groups with long rows, and where loops do nothing but load that.
const FEW_ROWS: u32 = 4;
const SHARED_ROWS: u32 = 8;
/// Rows of a tile of [`ROW`] of them, which lanes cross.
const TILE_ROW: u32 = 32;
/// A launch that is put together in groups of another shape leaves at least this many of them a thread.
const SHAPED_A_THREAD: u64 = 16;
/// Groups larger than this gain nothing when the application leaves the size to the driver.
const ENOUGH_ITEMS: u32 = 256;
/// Sub-groups of such a part of their lanes are faster in one row than full ones that lie across rows.
const LEAST_OF_LANES: f64 = 0.7;
/// The narrowest sub-groups that rows are divided into, of machines that have as many lanes.
const NARROW: u32 = 8;
/// Lanes that a sub-group is worth beside its own: instructions cost the same for few as for many on some processors.
const OF_A_SUBGROUP: u32 = 8;
/// A suggestion that reaches less of the machine than this is looked for among larger groups, too.
const GOOD: f64 = 0.8;
/// A suggestion leaves at least this many groups a thread where it can.
const GROUPS_A_THREAD: u64 = 4;

/// What a suggestion takes into account.
#[derive(Clone, Copy, Debug)]
pub struct Preferences {
    /// Most work-items of a group.
    pub max_items: u32,
    /// Sub-group size.
    pub width: u32,
    pub threads: u64,
    /// `LocalSizeHint`.
    pub hint: Option<[u32; 3]>,
}

/// The code for groups of this size of a kernel whose sub-group size is given, for ids below 2^31.
pub fn fixed_width(size: [u32; 3], width: u32) -> Variant {
    let [x, y, z] = size;
    let rows = u64::from(y) * u64::from(z);
    let mapping = match () {
        () if x % width == 0 => LaneMapping::Rows,
        () if y == 1 && z == 1 => LaneMapping::Line,
        () => {
            let short = LaneMapping::SHORT_ROWS.into_iter();
            let mut fitting =
                short.filter(|(_, count)| x > 1 && x * count == width && rows % u64::from(*count) == 0);
            fitting.next().map_or(LaneMapping::Any, |(mapping, _)| mapping)
        }
    };
    Variant::new(width, mapping)
}

/// The code for groups of this size of a kernel that cannot tell the sub-group size, for ids below 2^31. Where work-items wait for each
/// other (`meets`), rows of sub-groups side by side are worth more than the order of the linear local id.
pub fn best_width(size: [u32; 3], natural: u32, meets: bool) -> Variant {
    let variant = in_order(size, natural);
    let [x, y, z] = size;
    let is_line = y == 1 && z == 1;
    let may_be_ragged = match variant.mapping {
        LaneMapping::Line => meets,
        LaneMapping::Any => !is_line,
        _ => false,
    };
    match ragged_width(x, natural) {
        Some(width) if may_be_ragged && variant.subgroups(size) > 1 => {
            Variant::new(width, LaneMapping::Ragged)
        }
        _ => variant,
    }
}

/// The sub-group size that is best for a row that is no multiple of it. None if more than half of its lanes would have nothing to do.
fn ragged_width(row: u32, natural: u32) -> Option<u32> {
    let lanes = |width: u32| row.next_multiple_of(width);
    let fitting = [natural, natural.min(NARROW)].into_iter().filter(|width| 2 * row > lanes(*width));
    // A machine with more lanes has the same for fewer.
    fitting.min_by_key(|width| lanes(*width) + row.div_ceil(*width) * OF_A_SUBGROUP)
}

/// The same, where lanes follow the linear local id.
fn in_order(size: [u32; 3], natural: u32) -> Variant {
    let [x, y, z] = size;
    let items = size.into_iter().map(u64::from).product::<u64>();
    // The narrowest that takes the whole group, or the natural one.
    let enclosing = WIDTHS.into_iter().find(|width| u64::from(*width) >= items.min(natural.into()));
    let enclosing = enclosing.unwrap_or(natural);
    let line = y == 1 && z == 1;
    if items == 1 || x % natural == 0 || (line && items >= LINE_FROM) {
        return fixed_width(size, if items == 1 { 1 } else { natural });
    }
    if natural > 8 && x % 8 == 0 {
        return fixed_width(size, 8);
    }
    fixed_width(size, enclosing)
}

/// The same code with as many sub-groups side by side as groups of this size allow. Rows above each other share
/// more than neighbours of one row do: what depends on x, which memory follows. Where work-items wait for each other (`meets`), all of a group
/// are worth more than either, also if they may only be so few with wider sub-groups.
pub fn coarsened(variant: Variant, [x, y, z]: [u32; 3], meets: bool, widest: u32) -> Variant {
    if !matches!(variant.mapping, LaneMapping::Rows | LaneMapping::Ragged) || variant.width == 1 {
        return variant;
    }
    let row = x.div_ceil(variant.width);
    let most = u64::from(MOST_SUBGROUPS * (widest / variant.width));
    if meets && variant.subgroups([x, y, z]) <= most {
        return Variant { coarsening: Coarsening::whole([row, y, z]), ..variant };
    }
    let [along_y, along_x] = [y, row].map(most_side_by_side);
    // Two of them are the least that most kernels gain from.
    let coarsening = match (along_y, along_x) {
        (factor, other) if factor % 2 == 0 || (factor > 1 && other % 2 != 0) => Coarsening::AlongY(factor),
        (_, factor) if factor > 1 => Coarsening::AlongX(factor),
        _ => Coarsening::Off,
    };
    Variant { coarsening, ..variant }
}

/// How many of so many sub-groups in a direction may run side by side: what divides them, and is itself divided by the largest power of
/// two that does, so that the choice among its own divisors is the widest.
fn most_side_by_side(subgroups: u32) -> u32 {
    let power = (1 << subgroups.trailing_zeros().min(31)).min(MOST_SUBGROUPS);
    let mut multiples = (1..=MOST_SUBGROUPS / power).rev().map(|times| times * power);
    multiples.find(|factor| subgroups.is_multiple_of(*factor)).unwrap_or(1)
}

/// The lanes that sub-groups of such code may have in groups of this size, up to so many.
pub fn widest(variant: Variant, [x, ..]: [u32; 3], most: u32) -> u32 {
    if variant.mapping != LaneMapping::Rows || variant.width == 1 {
        return variant.width;
    }
    let wider = std::iter::successors(Some(variant.width), |width| Some(2 * width));
    wider.take_while(|width| *width <= most && x.is_multiple_of(*width)).last().unwrap_or(variant.width)
}

/// Whether such code runs all sub-groups of a group of this size side by side.
pub fn is_one_bundle(variant: Variant, size: [u32; 3]) -> bool {
    variant.subgroups(size) == u64::from(variant.coarsening.factor())
}

/// The same work-items in groups of up to [`ENOUGH_ITEMS`] and `max_items`, where groups have short rows and neighbours in x, or rows that leave
/// lanes without work: for kernels that cannot tell. Groups of a few work-items leave lanes without work, and each costs as much to begin as they do.
pub fn enlarged(range: Range, max_items: u32, threads: u64) -> Range {
    let (size, count) = (range.group_size, range.group_count);
    let items = size.into_iter().map(u64::from).product::<u64>();
    if items == 0 || count.contains(&0) {
        return range;
    }
    if u64::from(size[0]) >= LINE_FROM {
        // Long rows are worth no more than whole vectors.
        return in_rows(range, &[ROW], max_items, threads).unwrap_or(range);
    }
    let groups = count.into_iter().map(u64::from).fold(1, u64::saturating_mul);
    let most = (u64::from(max_items.min(ENOUGH_ITEMS)) / items).min(groups / (threads * GROUPS_A_THREAD));
    // Launches come here: nothing is collected.
    let divisors = || (1..=most as u32).rev().filter(|times| count[0].is_multiple_of(*times));
    let fills_vectors = |times: &u32| (size[0] * times).is_multiple_of(ROW);
    let times = divisors().find(fills_vectors).or_else(|| divisors().next()).unwrap_or(1);
    Range {
        group_size: [size[0] * times, size[1], size[2]],
        group_count: [count[0] / times, count[1], count[2]],
        ..range
    }
}

/// The same work-items in groups that are a row, or an equal part of one, though it ends within a sub-group: for kernels that cannot tell, in groups
/// in which lanes go across rows, whose ids take divisions and whose accesses are no rows.
pub fn in_lines(range: Range, width: u32, max_items: u32, threads: u64) -> Option<Range> {
    let global = work_items(&range);
    let shared = (all(global) / (threads * GROUPS_A_THREAD)).min(max_items.into()) as u32;
    // Launches come here: nothing is collected.
    let sizes = (width..=shared).filter(|size| global[0].is_multiple_of(u64::from(*size)));
    let of_lanes = |size: u32| (f64::from(size) / f64::from(size.next_multiple_of(width)), size);
    let (part, size) = sizes.map(of_lanes).max_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)))?;
    if part < LEAST_OF_LANES {
        return None;
    }
    regrouped(range, [size, 1, 1])
}

/// The same work-items with an axis and x exchanged, in the same groups.
pub fn turned(range: Range, axis: Axis) -> Range {
    Range {
        group_count: axis.exchange(range.group_count),
        group_size: axis.exchange(range.group_size),
        global_offset: axis.exchange(range.global_offset),
    }
}

/// Whether the rows of its groups fill vectors, perhaps with half of the lanes.
pub fn has_rows(range: &Range) -> bool {
    range.group_size[0].is_multiple_of(SHORT_ROW)
}

/// The same work-items in groups whose rows are multiples of one of these, the first that there is, as they are if that is the first of all, else
/// of up to [`ENOUGH_ITEMS`] and `max_items`: for kernels that cannot tell. None where rows are too short, or of a length without such a divisor.
pub fn in_rows(range: Range, rows: &[u32], max_items: u32, threads: u64) -> Option<Range> {
    let best = *rows.first()?;
    if range.group_size[0].is_multiple_of(best) {
        return Some(range);
    }
    let global = work_items(&range);
    let shared = (all(global) / (threads * GROUPS_A_THREAD)).max(u64::from(best));
    let most = u64::from(max_items.min(ENOUGH_ITEMS)).min(shared) as u32;
    let row = |most: u32| rows.iter().find_map(|row| divisor(global[0], most, *row));
    // Rows above each other share more than what is behind a row does.
    let y = divisor(global[1], most / row(most.min(LINE_FROM as u32))?, 1).unwrap_or(1);
    regrouped(range, [row(most / y)?, y, 1])
}

/// The work-items of a launch along each dimension.
fn work_items(range: &Range) -> [u64; 3] {
    std::array::from_fn(|at| u64::from(range.group_count[at]) * u64::from(range.group_size[at]))
}

/// All of them.
fn all(global: [u64; 3]) -> u64 {
    global.into_iter().fold(1, u64::saturating_mul)
}

/// The largest divisor of a size up to `most` that is a multiple of `step`. Launches come here: nothing is collected.
fn divisor(of: u64, most: u32, step: u32) -> Option<u32> {
    (1..=most / step).rev().map(|times| times * step).find(|size| of.is_multiple_of(u64::from(*size)))
}

/// The same work-items in groups of a size that divides them.
fn regrouped(range: Range, group_size: [u32; 3]) -> Option<Range> {
    let global = work_items(&range);
    let mut group_count = [0; 3];
    for at in 0..3 {
        group_count[at] = u32::try_from(global[at].checked_div(group_size[at].into())?).ok()?;
    }
    Some(Range { group_size, group_count, ..range })
}

/// Whether a launch has rows above each other, so that groups have a shape.
pub fn has_shape(range: &Range) -> bool {
    (1..3).any(|at| range.group_count[at] > 1 || range.group_size[at] > 1)
}

/// The same work-items in groups with long rows, which fill vectors: for kernels that cannot tell.
pub fn with_long_rows(range: Range, max_items: u32, threads: u64) -> Option<Range> {
    let [x, y, _] = range.group_size;
    let rows = [divisor(y.into(), FEW_ROWS, 1).unwrap_or(1), 1];
    with_rows(range, rows, LONG_ROW, max_items, threads).filter(|long| long.group_size[0] > x)
}

/// The same with as many rows above each other as before.
pub fn with_longer_rows(range: Range, max_items: u32, threads: u64) -> Option<Range> {
    let [x, y, z] = range.group_size;
    with_rows(range, [y, z], LONG_ROW, max_items, threads).filter(|long| long.group_size[0] > x)
}

/// The same work-items in groups of [`SHARED_ROWS`], or as large a part of that as there is, if theirs make no such bundles; with as many as
/// before, and longer ones, if they do: for kernels that cannot tell.
pub fn with_shared_rows(range: Range, max_items: u32, threads: u64) -> Option<Range> {
    // Bundles are powers of two.
    let bundle = |rows: u64| 1 << rows.trailing_zeros().min(SHARED_ROWS.trailing_zeros());
    let [_, y, _] = range.group_size;
    let rows: u32 = bundle(work_items(&range)[1]);
    if rows > bundle(y.into()) {
        with_rows(range, [rows, 1], LONG_ROW, max_items, threads)
    } else {
        with_longer_rows(range, max_items, threads)
    }
}

/// The same work-items in groups of as many rows as a vector has lanes, or half of that, if theirs are fewer or shorter: for kernels that
/// cannot tell.
pub fn with_tiles(range: Range, max_items: u32, threads: u64) -> Option<Range> {
    let [x, y, _] = range.group_size;
    let rows = rows_of_tiles(work_items(&range)[1])?;
    let tiles = with_rows(range, [rows, 1], TILE_ROW, max_items, threads);
    let tiles = tiles.or_else(|| with_ragged_rows(range, [rows, 1], max_items, threads))?;
    Some(tiles).filter(|tiles| !y.is_multiple_of(rows) || tiles.group_size[0] > x)
}

/// The same of as many layers, of two short rows each: where what lies along z is a power of two bytes from lane to lane, more lines than that have no place
/// in the first cache.
pub fn with_layers(range: Range, max_items: u32, threads: u64) -> Option<Range> {
    let (global, own) = (work_items(&range), range.group_size);
    let layers = rows_of_tiles(global[2]).filter(|layers| !own[2].is_multiple_of(*layers))?;
    let rows = divisor(global[1], 2, 1)?;
    let size = [SHORT_ROW, rows, layers];
    let items = size.into_iter().product::<u32>();
    let is_shared = all(global) / u64::from(items) >= threads * SHAPED_A_THREAD;
    if global[0].is_multiple_of(SHORT_ROW.into()) && is_shared && items <= max_items {
        return regrouped(range, size);
    }
    with_ragged_rows(range, [1, layers], max_items, threads)
}

/// As many rows of tiles as a vector has lanes, or half of that, or any number near those: what counts is that a line which one row begins is there for
/// the next.
fn rows_of_tiles(of: u64) -> Option<u32> {
    let fitting = ROWS.into_iter().find(|rows| of.is_multiple_of(u64::from(*rows)));
    fitting.or_else(|| divisor(of, ROW, 1).filter(|rows| *rows > SHORT_ROW))
}

/// The same work-items in groups of so many rows, which fill vectors but for their ends.
fn with_ragged_rows(range: Range, [y, z]: [u32; 2], max_items: u32, threads: u64) -> Option<Range> {
    let global = work_items(&range);
    let shared = all(global) / (threads * SHAPED_A_THREAD) / u64::from(y * z);
    let most = shared.min(u64::from(max_items / (y * z))) as u32;
    let fills = |row: &u32| f64::from(*row) >= LEAST_OF_LANES * f64::from(row.next_multiple_of(ROW));
    let mut divisors = (1..=most).rev().filter(|row| global[0].is_multiple_of(u64::from(*row)));
    regrouped(range, [divisors.find(fills)?, y, z])
}

/// The same work-items in groups of so many rows, which fill vectors and are as long as they may be.
fn with_rows(range: Range, [y, z]: [u32; 2], longest: u32, max_items: u32, threads: u64) -> Option<Range> {
    let global = work_items(&range);
    let shared = all(global) / (threads * SHAPED_A_THREAD);
    let most = shared.min(max_items.into()) / (u64::from(y) * u64::from(z)).max(1);
    let x = divisor(global[0], most.min(longest.into()) as u32, ROW)?;
    regrouped(range, [x, y, z])
}

/// A group size that divides the global size in each dimension, within the limits. A zero counts as one.
pub fn suggest(global: [u64; 3], preferences: &Preferences) -> [u32; 3] {
    let global = global.map(|size| size.max(1));
    let max_items = preferences.max_items.max(1);
    let fits = |size: &[u32; 3]| {
        size.iter().map(|size| u64::from(*size)).product::<u64>() <= u64::from(max_items)
            && size.iter().zip(global).all(|(size, global)| *size > 0 && global % u64::from(*size) == 0)
    };
    if let Some(hint) = preferences.hint.filter(fits) {
        return hint;
    }
    let enough = max_items.min(ENOUGH_ITEMS.max(preferences.width));
    let (size, score) = best_of(global, enough, preferences);
    // Rows of 514 have parts of 2 and of 257.
    if score >= GOOD || enough == max_items {
        return size;
    }
    best_of(global, max_items, preferences).0
}

/// The best size of at most so many work-items, and how good it is.
fn best_of(global: [u64; 3], most: u32, preferences: &Preferences) -> ([u32; 3], f64) {
    let divisors = global.map(|size| divisors(size, most));
    let mut best = ([1; 3], 0.0);
    for &z in &divisors[2] {
        for &y in divisors[1].iter().take_while(|y| **y <= most / z) {
            for &x in divisors[0].iter().take_while(|x| **x <= most / z / y) {
                let score = score([x, y, z], global, preferences);
                if score > best.1 {
                    best = ([x, y, z], score);
                }
            }
        }
    }
    best
}

/// A group size that divides the global size and is at most `most` in each dimension: the longest row, then the most of them.
pub fn within(global: [u64; 3], most: [u32; 3], max_items: u32) -> [u32; 3] {
    let mut size = [1; 3];
    let mut left = max_items.max(1);
    for at in 0..3 {
        let divisors = divisors(global[at].max(1), most[at].min(left).max(1));
        size[at] = divisors.last().copied().unwrap_or(1);
        left /= size[at];
    }
    size
}

/// All divisors of `size` up to `most`, ascending.
fn divisors(size: u64, most: u32) -> Vec<u32> {
    (1..=most).take_while(|d| u64::from(*d) <= size).filter(|d| size.is_multiple_of(u64::from(*d))).collect()
}

/// How well groups of a size use the machine: about the part of its throughput that they reach.
fn score(size: [u32; 3], global: [u64; 3], preferences: &Preferences) -> f64 {
    let width = preferences.width;
    let items = size.into_iter().product::<u32>();
    let lanes_in_use = f64::from(items) / f64::from(items.next_multiple_of(width));
    // Ids of lanes that go across rows take arithmetic, and their memory accesses are no vector loads.
    let mapping = match fixed_width(size, width).mapping {
        LaneMapping::Rows | LaneMapping::Iterations => 1.0,
        LaneMapping::Line => 0.95,
        _ if size[0].is_multiple_of(8) => 0.8,
        _ => 0.6,
    };
    // Beginning a group costs about as much as a few work-items.
    let overhead = f64::from(items) / (f64::from(items) + f64::from(width) / 4.0);
    let groups: f64 =
        size.iter().zip(global).map(|(size, global)| (global / u64::from(*size)) as f64).product();
    let wanted = (preferences.threads * GROUPS_A_THREAD) as f64;
    let parallel = 0.75 + 0.25 * (groups / wanted).min(1.0);
    lanes_in_use * mapping * overhead * parallel
}

#[cfg(test)]
mod tests {
    use super::*;

    const PREFERENCES: Preferences = Preferences { max_items: 1024, width: 16, threads: 4, hint: None };

    fn suggested(global: [u64; 3]) -> [u32; 3] {
        let size = suggest(global, &PREFERENCES);
        for (size, global) in size.into_iter().zip(global) {
            assert!(size >= 1 && global.max(1).is_multiple_of(u64::from(size)), "{size} of {global}");
        }
        assert!(size.into_iter().product::<u32>() <= PREFERENCES.max_items);
        size
    }

    #[test]
    fn large_rows_get_whole_subgroups() {
        assert_eq!(suggested([1 << 20, 1, 1]), [256, 1, 1]);
        assert_eq!(suggested([4096, 4096, 1])[0] % 16, 0);
        assert_eq!(suggested([48, 1000, 7])[0] % 16, 0);
    }

    #[test]
    fn sizes_that_are_no_multiple_waste_few_lanes() {
        let [x, _, _] = suggested([1000, 1, 1]);
        assert!(f64::from(x) / f64::from(x.next_multiple_of(16)) > 0.9, "{x}");
    }

    #[test]
    fn rows_without_small_parts_get_large_groups() {
        assert_eq!(suggested([514, 514, 1]), [514, 1, 1]);
        assert_eq!(suggested([1021, 1024, 1]), [1021, 1, 1]);
        assert_eq!(suggested([2051, 512, 1]), [293, 1, 1]);
    }

    #[test]
    fn groups_across_rows_become_parts_of_rows() {
        let of = |global: [u32; 3], group_size: [u32; 3]| {
            let group_count = std::array::from_fn(|at| global[at] / group_size[at]);
            let range = Range { group_size, group_count, global_offset: [0; 3] };
            in_lines(range, 16, 1024, 2).map(|range| range.group_size)
        };
        assert_eq!(of([1000, 600, 1], [10, 10, 1]), Some([1000, 1, 1]));
        assert_eq!(of([50, 60, 70], [5, 6, 7]), Some([50, 1, 1]));
        assert_eq!(of([2000, 600, 1], [20, 20, 1]), Some([400, 1, 1]));
        // Rows of 17 waste what they gain.
        assert_eq!(of([17, 600, 70], [17, 2, 1]), None);
    }

    #[test]
    fn primes_zeros_and_extremes_still_divide() {
        assert_eq!(suggested([1_000_003, 1, 1]), [1, 1, 1]);
        assert_eq!(suggested([0, 0, 0]), [1, 1, 1]);
        suggested([u64::MAX, u64::MAX, u64::MAX]);
        suggested([7, 11, 13]);
        assert_eq!(suggested([13, 1, 1]), [13, 1, 1]);
    }

    #[test]
    fn narrow_rows_take_several_rows() {
        let size = suggested([4, 4096, 1]);
        assert!(size.into_iter().product::<u32>() >= 16, "{size:?}");
    }

    #[test]
    fn small_launches_leave_work_for_other_threads() {
        let [x, _, _] = suggested([256, 1, 1]);
        assert!(x < 256);
    }

    #[test]
    fn limits_and_hints_are_kept() {
        let small = Preferences { max_items: 8, ..PREFERENCES };
        assert!(suggest([1 << 20, 1, 1], &small)[0] <= 8);
        let hint = Preferences { hint: Some([32, 2, 1]), ..PREFERENCES };
        assert_eq!(suggest([64, 64, 1], &hint), [32, 2, 1]);
        assert_ne!(suggest([63, 64, 1], &hint), [32, 2, 1]);
    }

    #[test]
    fn sizes_stay_below_what_a_kernel_takes() {
        assert_eq!(within([1 << 20, 64, 1], [48, 2, 1], 1024), [32, 2, 1]);
        assert_eq!(within([7, 9, 11], [4, 4, 4], 1024), [1, 3, 1]);
        assert_eq!(within([64, 64, 64], [64, 64, 64], 256), [64, 4, 1]);
    }

    #[test]
    fn variant_follows_the_group_size() {
        let variant = |size| {
            let Variant { width, mapping, .. } = best_width(size, 16, false);
            (width, mapping)
        };
        let that_meet = |size| {
            let Variant { width, mapping, .. } = best_width(size, 16, true);
            (width, mapping)
        };
        assert_eq!(variant([256, 1, 1]), (16, LaneMapping::Rows));
        assert_eq!(variant([16, 16, 1]), (16, LaneMapping::Rows));
        assert_eq!(variant([8, 8, 1]), (8, LaneMapping::Rows));
        assert_eq!(variant([1000, 1, 1]), (16, LaneMapping::Line));
        assert_eq!(variant([1, 1, 1]), (1, LaneMapping::Rows));
        assert_eq!(variant([3, 1, 1]), (4, LaneMapping::Line));
        assert_eq!(variant([4, 1, 1]), (4, LaneMapping::Rows));
        assert_eq!(variant([5, 5, 1]), (8, LaneMapping::Ragged));
        assert_eq!(variant([12, 12, 1]), (16, LaneMapping::Ragged));
        assert_eq!(variant([20, 5, 3]), (16, LaneMapping::Ragged));
        assert_eq!(variant([5, 3, 1]), (16, LaneMapping::Any), "one sub-group");
        assert_eq!(variant([3, 32, 1]), (16, LaneMapping::Any), "short rows");
        assert_eq!(variant([5, 1, 1]), (8, LaneMapping::Line));
        assert_eq!(variant([1, 64, 1]), (16, LaneMapping::Any));
        assert_eq!(that_meet([100, 1, 1]), (16, LaneMapping::Ragged));
        assert_eq!(that_meet([96, 1, 1]), (16, LaneMapping::Rows));
        assert_eq!(that_meet([13, 1, 1]), (16, LaneMapping::Line), "one sub-group");
    }

    /// With sub-groups that do not become wider.
    fn naturally(variant: Variant, size: [u32; 3], meets: bool) -> Variant {
        coarsened(variant, size, meets, variant.width)
    }

    #[test]
    fn a_group_is_one_bundle_if_all_its_sub_groups_are() {
        let of = |size| naturally(best_width(size, 16, true), size, true);
        for (size, coarsening) in [
            ([256, 1, 1], Coarsening::AlongX(16)),
            ([16, 16, 1], Coarsening::AlongY(16)),
            ([64, 1, 1], Coarsening::AlongX(4)),
            ([96, 1, 1], Coarsening::AlongX(6)),
            ([100, 1, 1], Coarsening::AlongX(7)),
            ([17, 1, 1], Coarsening::AlongX(2)),
            ([5, 7, 1], Coarsening::AlongY(7)),
            ([12, 9, 1], Coarsening::AlongY(9)),
            ([16, 1, 1], Coarsening::Off),
            ([5, 1, 1], Coarsening::Off),
            ([1, 1, 1], Coarsening::Off),
            ([5, 3, 1], Coarsening::Off),
            ([16, 2, 1], Coarsening::AlongY(2)),
            ([32, 2, 1], Coarsening::Whole([2, 2, 1])),
            ([20, 5, 1], Coarsening::Whole([2, 5, 1])),
            ([16, 2, 2], Coarsening::Whole([1, 2, 2])),
        ] {
            let variant = of(size);
            assert_eq!(variant.coarsening, coarsening, "{size:?}");
            assert!(is_one_bundle(variant, size), "{size:?}");
        }
        for size in [[512, 1, 1], [16, 32, 1], [272, 1, 1], [1000, 1, 1], [5, 17, 1], [64, 5, 1], [8, 8, 8]] {
            assert!(!is_one_bundle(of(size), size), "{size:?}");
        }
        let one = Variant { one_bundle: true, ..of([256, 1, 1]) };
        assert_eq!(one.with_factor(16), one);
        assert!(!one.with_factor(8).one_bundle);
    }

    #[test]
    fn bundles_are_parts_of_a_work_group() {
        for size in [[48, 1, 1], [288, 1, 1], [320, 1, 1], [16, 34, 1], [100, 3, 1], [32, 8, 1], [48, 4, 2]] {
            for meets in [false, true] {
                let variant = naturally(best_width(size, 16, meets), size, meets);
                let [x, y, z] = size;
                let subgroups = [x.div_ceil(variant.width), y, z];
                for factor in variant.coarsening.factors() {
                    let settled = variant.with_factor(factor);
                    assert_eq!(settled.coarsening.factor(), factor, "{size:?}");
                    let count = settled.coarsening.count();
                    let fits = (0..3).all(|at| subgroups[at].is_multiple_of(count[at]));
                    assert!(fits || variant.mapping == LaneMapping::Line, "{size:?}: {settled:?}");
                }
            }
        }
        let factor = |size| naturally(best_width(size, 16, false), size, false).coarsening;
        assert_eq!(factor([288, 1, 1]), Coarsening::AlongX(6), "a multiple of two of eighteen");
        assert_eq!(factor([320, 1, 1]), Coarsening::AlongX(4));
        assert_eq!(factor([48, 1, 1]), Coarsening::AlongX(3));
        assert_eq!(factor([32, 3, 1]), Coarsening::AlongX(2));
        let wider = |size: [u32; 3], width| {
            let variant = naturally(Variant::new(16, LaneMapping::Rows), size, true);
            variant.up_to(width).with_width(width).coarsening
        };
        assert_eq!(wider([288, 1, 1], 32), Coarsening::AlongX(3));
        assert_eq!(wider([32, 8, 1], 32), Coarsening::AlongY(8));
        assert_eq!(wider([64, 3, 1], 32), Coarsening::Whole([2, 3, 1]));
        let line =
            |size| coarsened(Variant::new(8, LaneMapping::Rows), size, true, 16).up_to(16).with_width(16);
        assert_eq!(
            line([256, 1, 1]).coarsening,
            Coarsening::AlongX(16),
            "a whole group, if lanes are a line"
        );
        assert_eq!(line([16, 16, 1]).coarsening, Coarsening::AlongY(16));
        assert_eq!(line([512, 1, 1]).coarsening, Coarsening::AlongX(8));
    }

    #[test]
    fn small_groups_are_joined_where_rows_go_on() {
        let joined = |group_size, group_count| {
            let range = Range { group_count, group_size, global_offset: [7; 3] };
            let joined = enlarged(range, 1024, 4);
            for at in 0..3 {
                let items = |range: Range| range.group_count[at] * range.group_size[at];
                assert_eq!(items(joined), items(range), "{joined:?}");
            }
            assert_eq!(joined.global_offset, range.global_offset);
            joined.group_size
        };
        assert_eq!(joined([1, 1, 1], [1 << 20, 1, 1]), [256, 1, 1]);
        assert_eq!(joined([8, 1, 1], [8192, 1, 1]), [256, 1, 1]);
        assert_eq!(joined([4, 4, 4], [64, 64, 1]), [16, 4, 4]);
        assert_eq!(joined([8, 8, 1], [100, 100, 1]), [32, 8, 1]);
        // Full vectors before large groups.
        assert_eq!(joined([1, 1, 1], [3 * 240, 1, 1]), [16, 1, 1]);
        assert_eq!(joined([6, 1, 1], [125, 25, 1]), [150, 1, 1]);
        // All threads have groups.
        assert_eq!(joined([8, 1, 1], [64, 1, 1]), [32, 1, 1]);
        assert_eq!(joined([1, 1, 1], [15, 1, 1]), [1, 1, 1]);
        // Rows of whole vectors.
        assert_eq!(joined([100, 1, 1], [10_000, 1, 1]), [160, 1, 1]);
        assert_eq!(joined([125, 1, 1], [8001, 1, 1]), [125, 1, 1]);
        // Nothing to join, or nothing to gain.
        for (size, count) in [
            ([8, 1, 1], [8191, 1, 1]),
            ([64, 1, 1], [1 << 20, 1, 1]),
            ([256, 1, 1], [1 << 20, 1, 1]),
            ([16, 16, 1], [512, 512, 1]),
            ([1, 8, 1], [1, 512, 1]),
            ([8, 1, 1], [0, 512, 1]),
        ] {
            assert_eq!(joined(size, count), size, "{count:?}");
        }
        let small = Range { group_count: [64, 1, 1], group_size: [4, 1, 1], global_offset: [0; 3] };
        assert_eq!(enlarged(small, 8, 1).group_size, [8, 1, 1]);
    }

    #[test]
    fn groups_get_the_shape_that_serves_kernels_best() {
        type Shaped = fn(Range, u32, u64) -> Option<Range>;
        let of = |shape: Shaped, group_size: [u32; 3], global: [u32; 3]| {
            let group_count = std::array::from_fn(|at| global[at] / group_size[at]);
            let own = Range { group_count, group_size, global_offset: [1, 2, 3] };
            assert!(has_shape(&own));
            let shaped = shape(own, 1024, 2)?;
            assert_eq!(shaped.global_offset, own.global_offset);
            let items = |range: &Range| -> [u32; 3] {
                std::array::from_fn(|at| range.group_count[at] * range.group_size[at])
            };
            assert_eq!(items(&shaped), items(&own), "{shaped:?}");
            Some(shaped.group_size)
        };
        let image = [1024, 1024, 1];
        assert_eq!(of(with_long_rows, [16, 16, 1], image), Some([256, 4, 1]));
        assert_eq!(of(with_long_rows, [64, 4, 1], [256, 128, 128]), Some([256, 4, 1]));
        assert_eq!(of(with_long_rows, [8, 4, 8], [64, 64, 64]), Some([64, 4, 1]));
        assert_eq!(of(with_long_rows, [10, 10, 1], [1920, 1080, 1]), Some([240, 2, 1]));
        assert_eq!(of(with_long_rows, [256, 1, 1], image), None, "as long as can be");
        assert_eq!(of(with_long_rows, [10, 10, 1], [1000, 1000, 1]), None, "no whole vectors");
        assert_eq!(of(with_long_rows, [16, 16, 1], [32, 32, 1]), None, "all threads have groups");
        assert_eq!(of(with_longer_rows, [16, 16, 1], image), Some([64, 16, 1]), "rows are kept");
        assert_eq!(of(with_longer_rows, [64, 16, 1], image), None);
        assert_eq!(of(with_shared_rows, [256, 1, 1], image), Some([128, 8, 1]));
        assert_eq!(of(with_shared_rows, [10, 10, 1], [1920, 1080, 1]), Some([128, 8, 1]));
        assert_eq!(of(with_shared_rows, [16, 7, 1], [1024, 28 * 8, 1]), Some([128, 8, 1]));
        assert_eq!(of(with_shared_rows, [16, 14, 1], [1024, 14 * 25, 1]), Some([64, 14, 1]), "two at a time");
        assert_eq!(of(with_shared_rows, [16, 16, 1], image), Some([64, 16, 1]), "those that there are");
        assert_eq!(of(with_shared_rows, [256, 1, 1], [1024, 1021, 1]), None, "a prime number of rows");
        assert_eq!(of(with_tiles, [256, 1, 1], image), Some([32, 16, 1]));
        assert_eq!(of(with_tiles, [16, 16, 1], image), Some([32, 16, 1]));
        assert_eq!(of(with_tiles, [8, 8, 1], [1920, 1080, 1]), Some([32, 8, 1]));
        assert_eq!(of(with_tiles, [64, 16, 1], image), None, "as they are");
        assert_eq!(of(with_layers, [256, 1, 1], [256, 96, 64]), Some([8, 2, 16]));
        assert_eq!(of(with_layers, [256, 1, 1], [256, 97, 72]), Some([8, 1, 8]));
        assert_eq!(of(with_layers, [4, 4, 16], [256, 96, 64]), None, "as they are");
        assert_eq!(of(with_layers, [210, 1, 1], [210, 100, 60]), Some([42, 1, 15]), "no whole vectors");
        assert_eq!(of(with_tiles, [210, 1, 1], [210, 100, 60]), Some([70, 10, 1]), "no whole vectors");
        assert_eq!(of(with_layers, [210, 1, 1], [210, 100, 61]), None, "a prime number of layers");
        let lines = |count| Range { group_count: count, group_size: [64, 1, 1], global_offset: [0; 3] };
        assert!(!has_shape(&lines([9, 1, 1])) && has_shape(&lines([9, 2, 1])));
        assert_eq!(with_long_rows(lines([4, 0, 1]), 1024, 2), None);
    }

    #[test]
    fn turned_launches_have_the_same_work_items_in_rows() {
        let range = |group_size, group_count| Range { group_count, group_size, global_offset: [1, 2, 3] };
        let of = turned(range([32, 8, 2], [3, 5, 7]), Axis::Z);
        assert_eq!(of, Range { global_offset: [3, 2, 1], ..range([2, 8, 32], [7, 5, 3]) });
        let size = |group_size: [u32; 3], group_count: [u32; 3]| {
            let own = range(group_size, group_count);
            let rows = in_rows(own, &ROWS, 1024, 4)?;
            for at in 0..3 {
                let items = |range: Range| range.group_count[at] * range.group_size[at];
                assert_eq!(items(rows), items(own), "{rows:?}");
            }
            assert_eq!(rows.global_offset, own.global_offset);
            Some(rows.group_size)
        };
        assert_eq!(size([16, 16, 1], [64, 64, 1]), Some([16, 16, 1]), "as they are");
        assert_eq!(size([8, 32, 1], [64, 16, 1]), Some([64, 4, 1]));
        assert_eq!(size([1, 256, 1], [512, 2, 1]), Some([64, 4, 1]));
        assert_eq!(size([1, 1, 1], [1000, 999, 1]), Some([40, 3, 1]), "half of the lanes");
        assert_eq!(size([1, 64, 1], [48, 7, 5]), Some([48, 4, 1]));
        assert_eq!(size([4, 8, 1], [8, 2, 1]), Some([32, 1, 1]), "all threads have groups");
        assert_eq!(size([5, 7, 1], [7, 16, 1]), None, "rows of 35");
        assert!(
            in_rows(range([8, 32, 1], [64, 16, 1]), &ROWS, 8, 1).is_some_and(|of| of.group_size == [8, 1, 1])
        );
        assert!(has_rows(&range([24, 3, 1], [1; 3])) && !has_rows(&range([12, 3, 1], [1; 3])));
    }

    #[test]
    fn ids_are_large_from_two_to_the_31_on() {
        let has_large_ids = |group_count, global_offset| {
            let (group_count, global_offset) = ([1, group_count, 1], [0, global_offset, 0]);
            Range { group_count, group_size: [1, 16, 1], global_offset }.ids().large
        };
        assert!(!has_large_ids((1 << 27) - 1, 0));
        assert!(has_large_ids(1 << 27, 0));
        assert!(has_large_ids(1, 1 << 31));
        assert!(has_large_ids(1, u64::MAX));
    }

    #[test]
    fn ids_are_odd_where_rows_begin_between_multiples_of_all_sub_groups() {
        let is_odd =
            |global_offset| Range { group_count: [1; 3], group_size: [16, 1, 1], global_offset }.ids().odd;
        assert!(!is_odd([0, 0, 0]) && !is_odd([64, 1, 1]));
        assert!(is_odd([1, 0, 0]) && is_odd([16, 0, 0]));
    }

    #[test]
    fn observable_subgroup_size_is_kept() {
        use LaneMapping::{Any, Eighths, Halves, Line, Quarters, Rows};
        for (size, width, mapping) in [
            ([32, 4, 1], 16, Rows),
            ([8, 8, 1], 16, Halves),
            ([8, 1, 6], 16, Halves),
            ([8, 3, 1], 16, Any),
            ([4, 4, 1], 16, Quarters),
            ([8, 8, 1], 32, Quarters),
            ([4, 2, 4], 32, Eighths),
            ([2, 4, 2], 16, Eighths),
            ([1, 64, 1], 16, Any),
            ([2, 2, 1], 4, Halves),
            ([1, 4, 1], 4, Any),
            ([6, 8, 1], 16, Any),
            ([1, 1, 1], 32, Line),
        ] {
            assert_eq!(fixed_width(size, width), Variant::new(width, mapping), "{size:?}");
        }
    }
}
