//! Cases of sorting and graphs: many launches one after the other.

use super::{all_equal, bytes, numbers, value};
use crate::Random;
use crate::bench::{Arg, Case, Limit, Verify};

/// A network of passes over all keys. Later launches find them sorted, which costs the same.
pub fn bitonic() -> Case {
    let bits = 18;
    let n = 1usize << bits;
    let keys = Random::new(70).ints(n, i32::MIN / 2, i32::MAX / 2);
    let buffers = vec![bytes(&keys)];
    let verify: Verify = Box::new(move |buffers| {
        let mut want = keys.clone();
        want.sort_unstable();
        all_equal(numbers(buffers[0]), &want)
    });
    let mut case = Case::new("bitonic sort, 171 launches", "bitonic_sort", buffers, verify);
    for block in 1..=bits {
        for distance in (0..block).rev() {
            let args = vec![Arg::Buffer(0), value(1u32 << block), value(1u32 << distance)];
            case = case.launch_over("bitonic_pass", n, 256, args);
        }
    }
    let passes = bits * (bits + 1) / 2;
    case.limit(Limit::Memory { read: 0, update: 4 * n * passes, write: 0 })
}

/// Eight digits of four bits: count, scan and move each.
pub fn radix() -> Case {
    let (n, piece) = (1usize << 20, 2048usize);
    let groups = n / piece;
    let mut random = Random::new(71);
    let keys: Vec<u32> = (0..n).map(|_| random.next_u32()).collect();
    let buffers = vec![bytes(&keys), vec![0; 4 * n], vec![0; 4 * 16 * groups]];
    let verify: Verify = Box::new(move |buffers| {
        let mut want = keys.clone();
        want.sort_unstable();
        all_equal(numbers(buffers[0]), &want)
    });
    let mut case = Case::new("radix sort, 24 launches", "bench_sorting", buffers, verify).int();
    for digit in 0..8usize {
        let (from, to) = (digit % 2, 1 - digit % 2);
        let (grid, group, shift) = ([groups as u32, 1, 1], [64, 1, 1], 4 * digit as i32);
        let tail = || [value(piece as i32), value(shift)];
        let mut count = vec![Arg::Buffer(from), Arg::Buffer(2)];
        count.extend(tail());
        let scan = vec![Arg::Buffer(2), Arg::Local(4 * 256), value(16 * groups as i32)];
        let mut moves = vec![Arg::Buffer(from), Arg::Buffer(to), Arg::Buffer(2)];
        moves.extend(tail());
        case = case
            .launch("radix_count", grid, group, count)
            .launch("radix_scan", [1, 1, 1], [256, 1, 1], scan)
            .launch("radix_move", grid, group, moves);
    }
    case
}

/// A graph of a mesh with far edges, level by level.
pub fn breadth_first() -> Case {
    let n = 256usize << 10;
    let side = 512usize;
    let mut random = Random::new(72);
    let (mut start, mut neighbour) = (vec![0i32], Vec::new());
    for node in 0..n {
        let mesh = [node + 1, node.wrapping_sub(1), node + side, node.wrapping_sub(side)];
        neighbour.extend(mesh.into_iter().filter(|&other| other < n).map(|other| other as i32));
        for _ in 0..random.below(4) {
            neighbour.push(random.below(n as u32) as i32);
        }
        start.push(neighbour.len() as i32);
    }
    let mut want = vec![-1i32; n];
    want[0] = 0;
    let mut queue = std::collections::VecDeque::from([0usize]);
    while let Some(node) = queue.pop_front() {
        for &next in &neighbour[start[node] as usize..start[node + 1] as usize] {
            if want[next as usize] < 0 {
                want[next as usize] = want[node] + 1;
                queue.push_back(next as usize);
            }
        }
    }
    let levels = want.iter().copied().max().unwrap_or(0);
    let buffers = vec![bytes(&start), bytes(&neighbour), vec![0; 4 * n]];
    let verify: Verify = Box::new(move |buffers| all_equal(numbers(buffers[2]), &want));
    let (grid, group) = ([n as u32 / 256, 1, 1], [256, 1, 1]);
    let mut case = Case::new("breadth-first search", "bench_sorting", buffers, verify).int().launch(
        "bfs_begin",
        grid,
        group,
        vec![Arg::Buffer(2), value(0i32)],
    );
    for level in 0..levels {
        let args = vec![Arg::Buffer(0), Arg::Buffer(1), Arg::Buffer(2), value(level)];
        case = case.launch("bfs_level", grid, group, args);
    }
    case
}
