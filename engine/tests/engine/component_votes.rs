//! Votes of the components of vectors whose answer is used in other blocks, on all processors.

use crate::support::{address, launch, on_all_processors};
use ze_tests::Random;

#[test]
fn components_that_are_alike_are_found_once_for_a_loop() {
    const PLACES: [usize; 8] = [2, 6, 0, 3, 6, 5, 2, 6];
    on_all_processors("component_votes", 1, |program, isa| {
        for same in [0, 1, 2, 40] {
            let mut random = Random::new(same as u64);
            let mut input: Vec<u32> = (0..256).map(|_| random.next_u32()).collect();
            // Most bytes of some rows, and all of others, are alike, and loops go on.
            input.iter_mut().take(same).for_each(|word| *word = 0x0909_0909);
            for (at, word) in input.iter_mut().enumerate().take(40) {
                *word = if at % 3 == 0 { *word & !0x0202_0202 } else { *word };
            }
            let bytes: Vec<u8> = input.iter().flat_map(|word| word.to_le_bytes()).skip(1).collect();
            for (kernel, count, is_any) in [
                ("all_of_8", 8, false),
                ("any_of_8", 8, true),
                ("all_of_16", 16, false),
                ("any_of_16", 16, true),
            ] {
                let out = vec![0u32; 128];
                launch(program, kernel, [2, 1], [64, 1], &[address(&input), address(&out)]);
                for (i, got) in out.iter().enumerate() {
                    let mut number = input[i];
                    let row = &bytes[(input[i & 63] & 15) as usize * count..][..count];
                    let moved = |at: usize| row[usize::from(row[PLACES[at % 8]]) % count];
                    let mut alike = (0..count).map(|at| row[at] == moved(at));
                    let voted = if is_any { alike.any(|is| is) } else { alike.all(|is| is) };
                    let third = input[1 + 3 * ((i as u32).wrapping_add(number) & 7) as usize + 2];
                    let goes_on = third & 2 == 0 && voted;
                    for _ in 0..(number & 7).max(1) {
                        if goes_on && number.is_multiple_of(3) {
                            number = number.wrapping_add(3);
                        }
                    }
                    assert_eq!(*got, number, "{kernel}, {i}, {same} alike, {isa}");
                }
            }
        }
    });
}
