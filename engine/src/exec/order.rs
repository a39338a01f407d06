//! In which order a launch's work-groups are executed: by their linear numbers, or in strips (`analysis::strips`).

use std::ops::Range;

/// The work-groups of a launch, one after the other.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Order {
    /// Work-groups along x and y.
    counts: [u64; 2],
    /// Those along y that are executed before the next one along x; 1 for the order of linear numbers.
    height: u64,
}

impl Order {
    pub fn new(group_count: [u32; 3], strip_height: u32) -> Order {
        let [x, y, _] = group_count.map(u64::from);
        let height = if x > 1 { u64::from(strip_height).clamp(1, y.max(1)) } else { 1 };
        Order { counts: [x, y], height }
    }

    /// The order of linear numbers.
    pub fn linear() -> Order {
        Order { counts: [1; 2], height: 1 }
    }

    /// The work-groups that are executed in these places, in runs that compiled code counts through.
    pub fn runs(self, mut places: Range<u64>) -> impl Iterator<Item = Run> {
        std::iter::from_fn(move || {
            let run = self.run(places.clone())?;
            places.start += run.count;
            Some(run)
        })
    }

    /// The first of these runs.
    pub fn run(self, places: Range<u64>) -> Option<Run> {
        if places.is_empty() {
            return None;
        }
        let (place, most) = (places.start, places.end - places.start);
        if self.height == 1 {
            return Some(Run { first: place, count: most, along_y: false });
        }
        let [x, y] = self.counts;
        let (plane, in_plane) = (place / (x * y), place % (x * y));
        let (strip, in_strip) = (in_plane / (x * self.height), in_plane % (x * self.height));
        // The last strip is as high as there are rows left.
        let first = strip * self.height;
        let height = self.height.min(y - first);
        let (column, row) = (in_strip / height, in_strip % height);
        let number = (plane * y + first + row) * x + column;
        Some(Run { first: number, count: most.min(height - row), along_y: true })
    }
}

/// Work-groups, each beside the one before it (`abi::RangeEntry`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Run {
    /// The linear number of the first.
    pub first: u64,
    pub count: u64,
    /// In y; else in x.
    pub along_y: bool,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn numbers(order: Order, places: Range<u64>) -> Vec<u64> {
        let step = |run: &Run| if run.along_y { order.counts[0] } else { 1 };
        order.runs(places).flat_map(|run| (0..run.count).map(move |at| run.first + at * step(&run))).collect()
    }

    fn all(order: Order, groups: u64) -> Vec<u64> {
        numbers(order, 0..groups)
    }

    #[test]
    fn strips_have_rows_side_by_side() {
        // Three columns, rows in twos and the fifth alone.
        let order = Order::new([3, 5, 1], 2);
        assert_eq!(all(order, 15), [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, 12, 13, 14]);
        assert_eq!(numbers(order, 3..7), [4, 2, 5, 6]);
        let counts = order.runs(3..7).map(|run| run.count).collect::<Vec<_>>();
        assert_eq!(counts, [1, 2, 1]);
        assert_eq!(all(Order::new([3, 2, 2], 8), 12), [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11]);
    }

    #[test]
    fn every_work_group_has_one_place() {
        for (count, height) in
            [([7, 9, 3], 4), ([1, 50, 2], 8), ([50, 1, 2], 8), ([4, 8, 1], 8), ([5, 3, 1], 1)]
        {
            let groups = count.iter().map(|count| u64::from(*count)).product();
            let mut numbers = all(Order::new(count, height), groups);
            numbers.sort_unstable();
            assert!(numbers.into_iter().eq(0..groups), "{count:?} in strips of {height}");
        }
    }

    #[test]
    fn without_strips_places_are_numbers() {
        for (order, places) in [(Order::new([6, 7, 8], 1), 3..90), (Order::new([1, 9, 1], 4), 0..9)] {
            let run = Run { first: places.start, count: places.end - places.start, along_y: false };
            assert!(order.runs(places).eq(std::iter::once(run)));
        }
        assert_eq!(Order::linear().run(5..5), None);
    }
}
