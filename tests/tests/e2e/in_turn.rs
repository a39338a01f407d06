//! Loops that few lanes go through, and do so in turn: whoever takes part, results are those of one work-item after the other.

use ze_tests::{Module, Random, platform};

/// Work-items, and those of a work-group.
const SIZES: [(usize, u32); 4] = [(1, 1), (77, 7), (512, 64), (1000, 200)];
/// A work-item takes part if its kind is below this, and kinds are below [`KINDS`]: none do, few do, all do.
const CHOSEN: [u32; 6] = [0, 1, 3, 10, 30, KINDS];
const KINDS: u32 = 40;

/// Lists of entries, and a kind of each work-item.
struct Lists {
    begins: Vec<u32>,
    entries: Vec<u32>,
    kinds: Vec<u32>,
}

impl Lists {
    fn new(n: usize) -> Lists {
        let mut random = Random::new(n as u64);
        let mut begins = vec![0u32];
        for i in 0..n {
            begins.push(begins[i] + random.below(20));
        }
        let entries = (0..=begins[n]).map(|_| random.below(n as u32)).collect();
        let kinds = (0..n).map(|_| random.below(KINDS)).collect();
        Lists { begins, entries, kinds }
    }

    fn of(&self, i: usize) -> &[u32] {
        &self.entries[self.begins[i] as usize..self.begins[i + 1] as usize]
    }
}

/// Calls `with` for all work-items, those of a work-group, their lists, and which kinds take part.
fn of_each(mut with: impl FnMut(usize, u32, &Lists, u32)) {
    for (n, group) in SIZES {
        let lists = Lists::new(n);
        CHOSEN.into_iter().for_each(|chosen| with(n, group, &lists, chosen));
    }
}

#[test]
fn what_entries_name_is_marked_and_counted() {
    let module = Module::named("in_turn");
    of_each(|n, group, lists, chosen| {
        let [begins, entries, kinds] =
            [&lists.begins, &lists.entries, &lists.kinds].map(|list| platform().buffer(list));
        let groups = n.div_ceil(group as usize);
        let [marks, counts] = [(); 2].map(|()| platform().filled(0u32, n));
        let sums = platform().filled(7u32, groups);
        module.kernel("marks").run_1d(
            n,
            group,
            &[&chosen, &begins, &entries, &kinds, &marks, &counts, &sums, &(n as u32)],
        );
        let mut wanted = [vec![0u32; n], vec![0u32; n], vec![0u32; groups]];
        for i in (0..n).filter(|i| lists.kinds[*i] < chosen) {
            for other in lists.of(i).iter().filter(|other| lists.kinds[**other as usize] >= chosen) {
                let mark = &mut wanted[0][*other as usize];
                *mark = (*mark).max(i as u32);
                wanted[1][i] += 1;
            }
            wanted[2][i / group as usize] += wanted[1][i];
        }
        let case = format!("{n} work-items in groups of {group}, {chosen} kinds");
        assert_eq!([&marks[..], &counts[..], &sums[..]], wanted.each_ref().map(|of| &of[..]), "{case}");
    });
}

#[test]
fn searches_go_on_where_others_have_ended() {
    let module = Module::named("in_turn");
    of_each(|n, group, lists, chosen| {
        let short: Vec<u16> = lists.entries.iter().map(|entry| *entry as u16).collect();
        let (begins, entries, kinds) =
            (platform().buffer(&lists.begins), platform().buffer(&short), platform().buffer(&lists.kinds));
        let found = platform().filled(5u64, n);
        let searched = 3u32;
        module.kernel("searches").run_1d(
            n,
            group,
            &[&chosen, &begins, &entries, &kinds, &found, &searched, &(n as u32)],
        );
        let mut wanted = vec![5u64; n];
        for i in (0..n).filter(|i| lists.kinds[*i] < chosen) {
            let (mut e, end) = (lists.begins[i] as usize, lists.begins[i + 1] as usize);
            let (mut sum, mut is_there, mut least) = (0u64, false, 200u8);
            while e < end && !is_there {
                let entry = short[e];
                e += 1;
                is_there = u32::from(entry) % 7 == searched;
                sum += if is_there { 0 } else { u64::from(entry) * 3 };
            }
            while e < end && short[e] as u8 != 99 {
                let entry = short[e];
                least = least.min(entry as u8);
                sum ^= u64::from(lists.kinds[entry as usize]) << 40;
                e += 1 + usize::from(entry & 1);
            }
            wanted[i] = (sum.wrapping_add(u64::from(is_there) << 62)).wrapping_add(u64::from(least) << 50);
            wanted[i] = wanted[i].wrapping_add(e as u64);
        }
        assert_eq!(&found[..], wanted, "{n} work-items in groups of {group}, {chosen} kinds");
    });
}

#[test]
fn turns_come_again_in_each_round() {
    let module = Module::named("in_turn");
    of_each(|n, group, lists, chosen| {
        let [begins, entries, kinds] =
            [&lists.begins, &lists.entries, &lists.kinds].map(|list| platform().buffer(list));
        let values: Vec<f32> = (0..n).map(|i| 1.0 / (1.0 + i as f32)).collect();
        let (values_there, next) = (platform().buffer(&values), platform().filled(-1.0f32, n));
        module.kernel("rounds").run_1d(
            n,
            group,
            &[&chosen, &begins, &entries, &kinds, &values_there, &next, &(n as u32)],
        );
        let mut wanted = vec![-1.0f32; n];
        for i in (0..n).filter(|i| lists.kinds[*i] < chosen) {
            wanted[i] = lists.of(i).iter().fold(0.0, |sum, entry| sum + values[*entry as usize]);
        }
        assert_eq!(&next[..], wanted, "{n} work-items in groups of {group}, {chosen} kinds");
    });
}
