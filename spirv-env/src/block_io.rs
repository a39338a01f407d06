//! Blocks of memory with two dimensions (`SPV_INTEL_2d_block_io`): which element of a block a work-item has.
//!
//! The instructions write to private memory and read from it. What they move becomes a value, an array that is stored or
//! loaded beside them, so that who comes behind can keep it in registers.

use crate::defs::ID_RANGE;
use crate::diagnostics::Fault;
use crate::load::{Loaded, TypeMeasures};
use crate::matrices;
use crate::module::{Id, Inst, Module, Operand, Type, TypeId};
use crate::reflect::constant_scalar;
use smallvec::SmallVec;
use spirv::{Op, StorageClass};

/// Elements of a block in each dimension, and blocks of an instruction, at most.
const MOST: [u64; 3] = [64, 64, 8];

/// The block that an instruction moves: sizes in elements, which have `bytes` each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Block {
    pub bytes: u32,
    pub width: u32,
    pub height: u32,
    pub count: u32,
}

/// What is done with a block on its way.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arrangement {
    AsIs,
    Transposed,
    /// Elements of as many rows as fit 32 bits make one.
    Packed,
}

impl Arrangement {
    pub fn of(op: Op) -> Arrangement {
        match op {
            Op::Subgroup2DBlockLoadTransposeINTEL => Arrangement::Transposed,
            Op::Subgroup2DBlockLoadTransformINTEL => Arrangement::Packed,
            _ => Arrangement::AsIs,
        }
    }
}

impl Block {
    /// From the constants of an instruction; the error says what is wrong with them.
    pub fn new([bytes, width, height, count]: [u64; 4]) -> Result<Block, String> {
        const WORD: u64 = 4;
        if ![1, 2, 4, 8].contains(&bytes) {
            return Err(format!("elements of {bytes} bytes; 1, 2, 4 and 8 are supported"));
        }
        for (size, most) in [width, height, count].into_iter().zip(MOST) {
            if size == 0 || size > most {
                return Err(format!("{count} blocks of {width} x {height}; {MOST:?} are supported"));
            }
        }
        if bytes < WORD && !(width * bytes).is_multiple_of(WORD) {
            return Err(format!(
                "a block of {width} elements of {bytes} bytes, which are no multiple of 4 bytes"
            ));
        }
        let [bytes, width, height, count] = [bytes, width, height, count].map(|size| size as u32);
        Ok(Block { bytes, width, height, count })
    }

    /// Rows that make one where the block is packed.
    pub fn packed_rows(&self) -> u32 {
        const WORD: u32 = 4;
        (WORD / self.bytes).max(1)
    }

    /// Width and height as lanes see them.
    fn seen(&self, arrangement: Arrangement) -> (u32, u32) {
        match arrangement {
            Arrangement::AsIs => (self.width.next_power_of_two(), self.height),
            Arrangement::Transposed => (self.height.next_power_of_two(), self.width),
            Arrangement::Packed => (self.width.next_power_of_two(), self.height.div_ceil(self.packed_rows())),
        }
    }

    /// Elements that a work-item has of one block.
    pub fn elements(&self, arrangement: Arrangement, lanes: u32) -> u32 {
        let (width, height) = self.seen(arrangement);
        match width >= lanes {
            true => width / lanes * height,
            false => height.div_ceil(lanes / width),
        }
    }

    /// Column and row in the block of a lane's element; of those that are packed in it the first's. None for padding.
    pub fn place(&self, arrangement: Arrangement, lanes: u32, element: u32, lane: u32) -> Option<(u32, u32)> {
        let (width, _) = self.seen(arrangement);
        let (column, row) = if width >= lanes {
            let each = width / lanes;
            (lane * each + element % each, element / each)
        } else {
            (lane % width, element * (lanes / width) + lane / width)
        };
        let (column, row) = match arrangement {
            Arrangement::AsIs => (column, row),
            Arrangement::Transposed => (row, column),
            Arrangement::Packed => (column, row * self.packed_rows()),
        };
        (column < self.width && row < self.height).then_some((column, row))
    }
}

impl Inst {
    /// The block that an instruction of `SPV_INTEL_2d_block_io` moves.
    pub fn block(&self, module: &Module) -> Option<Block> {
        let size = |at: usize| match self.operands.get(at) {
            Some(Operand::Id(id)) => constant_scalar(module, *id),
            _ => None,
        };
        Block::new([size(0)?, size(1)?, size(2)?, size(3)?]).ok()
    }
}

/// Puts what blocks are made of into values, in all functions.
pub(crate) fn through_values(
    module: &mut Module,
    measures: &mut TypeMeasures,
    loaded: &mut [Loaded],
    sub_group_sizes: &[u32],
) -> Result<(), Fault> {
    if !module.capabilities.contains(&spirv::Capability::Subgroup2DBlockIOINTEL) {
        return Ok(());
    }
    for input in loaded {
        let lanes = match module.matrix_lanes {
            Some(lanes) => lanes,
            None => matrices::lanes(input, sub_group_sizes),
        };
        for source in &mut input.sources {
            let Some(place) = module.functions.place(source.function) else { continue };
            for (block, offsets) in source.blocks.iter_mut().enumerate() {
                let from = std::mem::take(&mut module.functions[place].blocks[block].insts);
                if !from.iter().any(is_block_access) {
                    module.functions[place].blocks[block].insts = from;
                    continue;
                }
                module.matrix_lanes = Some(lanes);
                let (mut insts, mut places) = (Vec::new(), Vec::new());
                for (inst, offset) in from.into_iter().zip(std::mem::take(offsets)) {
                    let made = access(module, measures, inst, lanes)?;
                    places.resize(places.len() + made.len(), offset);
                    insts.extend(made);
                }
                module.functions[place].blocks[block].insts = insts;
                *offsets = places;
            }
        }
    }
    Ok(())
}

fn is_block_access(inst: &Inst) -> bool {
    use Op::*;
    matches!(
        inst.op,
        Subgroup2DBlockLoadINTEL
            | Subgroup2DBlockLoadTransformINTEL
            | Subgroup2DBlockLoadTransposeINTEL
            | Subgroup2DBlockStoreINTEL
    )
}

/// An access of a block as instructions: a load gives an array that is stored, and a store takes one that is loaded.
fn access(
    module: &mut Module,
    measures: &mut TypeMeasures,
    inst: Inst,
    lanes: u32,
) -> Result<SmallVec<[Inst; 3]>, Fault> {
    const PRIVATE_OF_LOAD: usize = 9;
    const PRIVATE_OF_STORE: usize = 4;
    if !is_block_access(&inst) {
        return Ok(SmallVec::from_iter([inst]));
    }
    let block =
        inst.block(module).ok_or_else(|| Fault::new(ID_RANGE, "the sizes of the block are no constants"))?;
    let arrangement = Arrangement::of(inst.op);
    let width = match arrangement {
        Arrangement::Packed => 8 * block.bytes.max(4),
        _ => 8 * block.bytes,
    };
    let too_large = || Fault::new(ID_RANGE, "there are too many types and ids");
    let mut intern = |module: &mut Module, ty: Type, leaves: u64| -> Result<TypeId, Fault> {
        let ty = module.types.intern(ty, false).ok_or_else(too_large)?;
        measures.note(ty, leaves);
        Ok(ty)
    };
    let elem = intern(module, Type::Int { width }, 1)?;
    let len = u64::from(block.count * block.elements(arrangement, lanes));
    let array = intern(module, Type::Array { elem, len }, len)?;
    let class = StorageClass::Function;
    let pointer = intern(module, Type::Pointer { class, pointee: array }, 1)?;
    let (value, address) = (Id(module.bound), Id(module.bound.checked_add(1).ok_or_else(too_large)?));
    module.bound = module.bound.checked_add(2).ok_or_else(too_large)?;
    let line = inst.line;
    let made =
        |op, ty, result, operands: &[Operand]| Inst { op, ty, result, operands: operands.into(), line };
    // What the pointer leads to is aligned to an element, whatever its type says.
    const ALIGNED: u64 = spirv::MemoryAccess::ALIGNED.bits() as u64;
    let aligned = [Operand::Lit(ALIGNED), Operand::Lit(u64::from(block.bytes))];
    let is_load = inst.op != Op::Subgroup2DBlockStoreINTEL;
    let place = if is_load { PRIVATE_OF_LOAD } else { PRIVATE_OF_STORE };
    let mut moved = inst;
    let private = moved.operands.remove(place);
    let cast = made(Op::Bitcast, Some(pointer), Some(address), &[private]);
    Ok(if is_load {
        (moved.ty, moved.result) = (Some(array), Some(value));
        let store =
            made(Op::Store, None, None, &[Operand::Id(address), Operand::Id(value), aligned[0], aligned[1]]);
        SmallVec::from_iter([moved, cast, store])
    } else {
        let load = made(Op::Load, Some(array), Some(value), &[Operand::Id(address), aligned[0], aligned[1]]);
        // The memory is operand 0, as of other block writes; sizes stand behind what is there.
        moved.operands.push(Operand::Id(value));
        SmallVec::from_iter([cast, load, moved])
    })
}
