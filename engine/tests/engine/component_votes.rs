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

#[test]
fn rows_of_more_than_a_register_are_asked() {
    on_all_processors("component_votes", 1, |program, isa| {
        let mut random = Random::new(5);
        let words: Vec<u32> = (0..128 * 16).map(|_| random.next_u32() % 12).collect();
        // Whole rows are large, too.
        let words: Vec<u32> =
            words.iter().enumerate().map(|(at, word)| word + 3 * u32::from(at / 16 % 5 == 0)).collect();
        let longs: Vec<u64> = words.iter().map(|word| u64::from(*word)).collect();
        for (kernel, is_any) in [("all_of_16_words", false), ("any_of_16_words", true)] {
            let out = vec![0u32; words.len()];
            launch(program, kernel, [2, 1], [64, 1], &[address(&words), address(&out)]);
            for (row, got) in words.chunks(16).zip(out.chunks(16)) {
                let voted =
                    if is_any { row.iter().any(|word| *word > 2) } else { row.iter().all(|word| *word > 2) };
                let want: Vec<u32> = row.iter().map(|word| word + u32::from(voted)).collect();
                assert_eq!(got, want, "{kernel}, {isa:?}");
            }
        }
        let out = vec![0u64; longs.len()];
        launch(program, "all_of_8_longs", [4, 1], [64, 1], &[address(&longs), address(&out)]);
        for (row, got) in longs.chunks(8).zip(out.chunks(8)) {
            let voted = row.iter().all(|word| *word > 2);
            let want: Vec<u64> = row.iter().map(|word| word + u64::from(voted)).collect();
            assert_eq!(got, want, "longs, {isa:?}");
        }
    });
}
