//! What a module is made from, and its native form: a container of just that.
//!
//! The container lets a program that saves `zeModuleGetNativeBinary` create the same module again. The machine
//! code itself is in the engine's cache.

use crate::error::{Error, Result};
use crate::fallible::check_room;
use spirv_env::ModuleInput;

/// First bytes of the native form, with its version.
const MAGIC: &[u8; 8] = b"ze_cpu\0\x01";

/// One SPIR-V module with its specialization.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Input {
    pub spirv: Vec<u8>,
    /// Specialization constants: id, and the value's bytes in memory order.
    pub constants: Vec<(u32, Vec<u8>)>,
    /// Build options as they were given.
    pub flags: String,
}

impl Input {
    /// The input as the intake takes it.
    pub fn source(&self) -> ModuleInput<'_> {
        ModuleInput { constants: self.constants.clone(), ..ModuleInput::new(&self.spirv) }
    }
}

/// The native form: after the magic, counted fields with lengths in little-endian 64 bits.
pub fn encode(inputs: &[Input]) -> Vec<u8> {
    let mut out = MAGIC.to_vec();
    let number = |out: &mut Vec<u8>, value: usize| out.extend((value as u64).to_le_bytes());
    let bytes = |out: &mut Vec<u8>, bytes: &[u8]| {
        number(out, bytes.len());
        out.extend(bytes);
    };
    number(&mut out, inputs.len());
    for input in inputs {
        bytes(&mut out, &input.spirv);
        bytes(&mut out, input.flags.as_bytes());
        number(&mut out, input.constants.len());
        for (id, value) in &input.constants {
            number(&mut out, *id as usize);
            bytes(&mut out, value);
        }
    }
    out
}

/// Reads the native form.
pub fn decode(binary: &[u8]) -> Result<Vec<Input>> {
    check_room("a native binary", binary.len().saturating_mul(4))?;
    let rest = binary.strip_prefix(MAGIC);
    rest.and_then(|rest| Reader(rest).inputs()).ok_or_else(|| {
        Error::InvalidNativeBinary("it is not a native binary that this driver made: use its SPIR-V".into())
    })
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Option<&'a [u8]> {
        let (head, tail) = self.0.split_at_checked(len)?;
        self.0 = tail;
        Some(head)
    }

    fn number(&mut self) -> Option<usize> {
        let bytes = self.take(8)?.try_into().ok()?;
        u64::from_le_bytes(bytes).try_into().ok()
    }

    fn bytes(&mut self) -> Option<&'a [u8]> {
        let len = self.number()?;
        self.take(len)
    }

    fn inputs(mut self) -> Option<Vec<Input>> {
        let count = self.number()?;
        let inputs = (0..count).map(|_| self.input()).collect::<Option<Vec<_>>>()?;
        self.0.is_empty().then_some(inputs)
    }

    fn input(&mut self) -> Option<Input> {
        let spirv = self.bytes()?.to_vec();
        let flags = std::str::from_utf8(self.bytes()?).ok()?.to_owned();
        let count = self.number()?;
        let constant = |reader: &mut Self| {
            let id = reader.number()?.try_into().ok()?;
            Some((id, reader.bytes()?.to_vec()))
        };
        let constants = (0..count).map(|_| constant(self)).collect::<Option<Vec<_>>>()?;
        Some(Input { spirv, constants, flags })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn inputs() -> Vec<Input> {
        let constants = vec![(3, vec![1, 2, 3, 4]), (9, vec![1])];
        let first = Input { spirv: vec![3, 2, 35, 7], constants, flags: "-ze-opt-level=2".into() };
        vec![first, Input::default()]
    }

    #[test]
    fn the_native_form_gives_the_inputs_back() {
        assert_eq!(decode(&encode(&inputs())).expect("just encoded"), inputs());
    }

    #[test]
    fn anything_else_is_refused() {
        let encoded = encode(&inputs());
        for len in 0..encoded.len() {
            assert!(decode(&encoded[..len]).is_err());
        }
        let mut longer = encoded.clone();
        longer.push(0);
        assert!(decode(&longer).is_err());
        let mut huge = encoded;
        huge[8..16].fill(0xff);
        assert!(decode(&huge).is_err());
    }
}
