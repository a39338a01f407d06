//! What is fast on a processor, as far as lowering asks. Each answer was measured with loops in C on a processor of that kind.

use crate::analysis::guards::Worth;

/// The kinds of processors that differ in what is fast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Make {
    /// Measured on a Sapphire Rapids and an Emerald Rapids.
    Intel,
    /// AMD's, from those that have AVX-512 on.
    Zen4,
    /// AMD's, from those on whose data paths have 512 bits.
    Zen5,
    /// Any other, which is taken for what is the slowest at each of these: measured on a Zen 3.
    Other,
}

impl Make {
    /// That of the CPU that this process runs on.
    pub fn of_host(has_avx512: bool) -> Make {
        let (vendor, family) = vendor_and_family();
        match &vendor {
            b"GenuineIntel" => Make::Intel,
            // Zen 5 is family 1Ah; later ones are hoped to be no worse.
            b"AuthenticAMD" if family >= 0x1A => Make::Zen5,
            b"AuthenticAMD" if has_avx512 => Make::Zen4,
            _ => Make::Other,
        }
    }

    /// Whether stores go past the caches where a launch is larger than those. A Zen 4 takes half to four fifths of the time so, a
    /// Zen 5 three quarters; an Emerald Rapids two thirds for copies and sums, and 0.42 for transposes.
    pub fn streams_stores(self) -> bool {
        matches!(self, Make::Intel | Make::Zen4 | Make::Zen5)
    }

    /// Bytes of the shortest such store. One of less than a line waits for those beside it, and an Emerald Rapids takes 2.6 to 5.6 times as
    /// long where they come 16 bytes at a time: bytes of a picture, of which a sub-group has loaded words.
    pub fn shortest_past_caches(self) -> u64 {
        match self {
            Make::Intel => 64,
            _ => 16,
        }
    }

    /// Whether atomics in local memory take turns in a loop, not in a row. A Zen 4 takes read-modify-writes through two or three
    /// registers in turn for one place in memory, so that each waits for the one before: the loop is four times as fast there.
    /// The others tell places apart by instruction: the row is nearly three times as fast on Intel's.
    pub fn prefers_turns(self) -> bool {
        matches!(self, Make::Zen4 | Make::Other)
    }

    /// Whether a gather takes no longer than a few permutations. On a Zen 4 it takes 21 cycles for 16 lanes, on a Zen 5 20.
    pub fn gathers_fast(self) -> bool {
        self == Make::Intel
    }

    /// Lanes that go through a loop of gathers one after the other, where no more are on.
    pub fn lanes_in_turn(self) -> u32 {
        if self.gathers_fast() { 2 } else { 4 }
    }

    /// Whether a gather of AVX-512 is known to take longer than loads and insertions.
    pub fn gathers_slowly(self) -> bool {
        matches!(self, Make::Zen4 | Make::Zen5)
    }

    /// What loads and stores under a mask cost, whatever the mask. A Zen 5 takes 1.7 times as long for a stream of them from memory, as they
    /// do not tell it which lines come next; a Zen 4 takes 1.1 times as long for stencils. An Emerald Rapids takes 1.2 to 2.3 times as long for tiles and
    /// scans in local memory, and 1.2 times as long for sums in strides, but twice as long where a tree of sums goes from stack to stack instead.
    pub fn masks_cost_time(self) -> Option<Worth> {
        match self {
            Make::Zen4 | Make::Zen5 => Some(Worth::More),
            Make::Intel => Some(Worth::Less),
            Make::Other => None,
        }
    }

    /// Whether what is computed in registers of 512 bits goes through data paths of 256: it is half of the instructions then, in as much time.
    /// Chains of halves of a word take 1.15 to 1.5 times as long in sub-groups of 32 as in sub-groups of 16 on a Zen 4, those of bytes half of it.
    pub fn halves_registers(self) -> bool {
        self == Make::Zen4
    }

    /// Whether straight code whose instructions wait for each other gains from that of other sub-groups between them, though those
    /// behind it do not wait, as the processor does not look far enough ahead: Black-Scholes takes two thirds of the time for four
    /// sub-groups side by side on a Zen 5, three quarters on a Zen 4 and 0.85 on an Emerald Rapids (MD5 0.8 there, a random walk 0.6).
    pub fn interleaves_chains(self) -> bool {
        matches!(self, Make::Intel | Make::Zen4 | Make::Zen5)
    }

    /// Whether AVX2's stores under a mask take no longer than others. A Zen 3 takes 3.8 ns for one and 0.5 for another; loads under
    /// a mask are as fast as others there.
    pub fn stores_masked_fast(self) -> bool {
        self != Make::Other
    }
}

/// The vendor's name and the family, as `cpuid` has them.
#[cfg(target_arch = "x86_64")]
fn vendor_and_family() -> ([u8; 12], u32) {
    use std::arch::x86_64::__cpuid;
    // Leaf 0 has the vendor's name in these registers, in this order.
    let leaf = __cpuid(0);
    let mut name = [0; 12];
    for (bytes, register) in name.chunks_mut(4).zip([leaf.ebx, leaf.edx, leaf.ecx]) {
        bytes.copy_from_slice(&register.to_le_bytes());
    }
    let signature = __cpuid(1).eax;
    let (base, extended) = (signature >> 8 & 0xF, signature >> 20 & 0xFF);
    (name, if base == 0xF { base + extended } else { base })
}

#[cfg(not(target_arch = "x86_64"))]
fn vendor_and_family() -> ([u8; 12], u32) {
    ([0; 12], 0)
}
