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

    /// The linear numbers of the work-groups that are executed in these places: ranges of numbers that follow each other.
    pub fn numbers(self, places: Range<u64>) -> impl Iterator<Item = Range<u64>> {
        let whole = (self.height == 1).then(|| places.clone());
        let apart = if whole.is_some() { 0..0 } else { places };
        whole.into_iter().chain(apart.map(move |place| {
            let number = self.number(place);
            number..number + 1
        }))
    }

    /// The linear number of the work-group in one place.
    pub fn number(self, place: u64) -> u64 {
        if self.height == 1 {
            return place;
        }
        let [x, y] = self.counts;
        let (plane, in_plane) = (place / (x * y), place % (x * y));
        let (strip, in_strip) = (in_plane / (x * self.height), in_plane % (x * self.height));
        // The last strip is as high as there are rows left.
        let first = strip * self.height;
        let height = self.height.min(y - first);
        let (column, row) = (in_strip / height, first + in_strip % height);
        (plane * y + row) * x + column
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(order: Order, groups: u64) -> Vec<u64> {
        order.numbers(0..groups).flatten().collect()
    }

    #[test]
    fn strips_have_rows_side_by_side() {
        // Three columns, rows in twos and the fifth alone.
        let order = Order::new([3, 5, 1], 2);
        assert_eq!(all(order, 15), [0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11, 12, 13, 14]);
        assert_eq!(order.numbers(4..6).flatten().collect::<Vec<_>>(), [2, 5]);
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
        let order = Order::new([6, 7, 8], 1);
        assert!(order.numbers(3..90).eq(std::iter::once(3..90)));
        assert!(Order::new([1, 9, 1], 4).numbers(0..9).eq(std::iter::once(0..9)));
    }
}
