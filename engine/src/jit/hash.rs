//! BLAKE3, in the implementation that LLVM brings.

use llvm_sys::blake3::*;
use std::mem::MaybeUninit;

/// A 256-bit digest.
pub type Digest = [u8; LLVM_BLAKE3_OUT_LEN];

/// Hashes a sequence of byte strings. The boundaries between them count.
pub struct Hasher(MaybeUninit<llvm_blake3_hasher>);

impl Default for Hasher {
    fn default() -> Hasher {
        Hasher::new()
    }
}

impl Hasher {
    pub fn new() -> Hasher {
        let mut hasher = MaybeUninit::uninit();
        // SAFETY: initialises the memory it gets.
        unsafe { llvm_blake3_hasher_init(hasher.as_mut_ptr()) };
        Hasher(hasher)
    }

    /// Adds one byte string.
    pub fn field(&mut self, bytes: &[u8]) -> &mut Hasher {
        self.update(&(bytes.len() as u64).to_le_bytes());
        self.update(bytes);
        self
    }

    fn update(&mut self, bytes: &[u8]) {
        // SAFETY: initialised in `new`; the slice is valid for its length.
        unsafe { llvm_blake3_hasher_update(self.0.as_mut_ptr(), bytes.as_ptr().cast(), bytes.len()) };
    }

    pub fn finish(&mut self) -> Digest {
        let mut digest = Digest::default();
        // SAFETY: initialised in `new`; writes exactly the digest's length.
        unsafe { llvm_blake3_hasher_finalize(self.0.as_mut_ptr(), digest.as_mut_ptr(), digest.len()) };
        digest
    }
}

/// The digest of several byte strings, whose boundaries count.
pub fn digest(fields: &[&[u8]]) -> Digest {
    let mut hasher = Hasher::new();
    for field in fields {
        hasher.field(field);
    }
    hasher.finish()
}

/// Lower-case hexadecimal.
pub fn hex(digest: &Digest) -> String {
    digest.iter().fold(String::with_capacity(64), |mut text, byte| {
        use std::fmt::Write;
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boundaries_between_fields_count() {
        assert_ne!(digest(&[b"ab", b"c"]), digest(&[b"a", b"bc"]));
        assert_eq!(digest(&[b"ab", b"c"]), digest(&[b"ab", b"c"]));
    }

    #[test]
    fn empty_input_has_the_published_digest() {
        let empty = hex(&Hasher::new().finish());
        assert_eq!(empty, "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262");
    }
}
