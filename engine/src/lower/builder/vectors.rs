//! Vectors of lanes, and masks as bits.

use super::{Builder, NAME, Value};
use crate::analysis::leaves::Scalar;
use llvm_sys::core::*;
use llvm_sys::prelude::*;
use llvm_sys::{LLVMIntPredicate, LLVMOpcode};

impl Builder {
    /// One value in all lanes.
    pub fn splat(&self, scalar: Value, lanes: u32) -> Value {
        if lanes == 1 {
            return scalar;
        }
        if self.is_constant(scalar) && llvm!(LLVMIsAGlobalValue(scalar.0)).is_null() {
            return self.constant_splat(scalar.0, lanes);
        }
        let ty = self.scalar_of(scalar);
        let first = self.insert(self.poison(ty, lanes), scalar, self.i32(0));
        self.shuffle(first, self.poison(ty, lanes), &vec![0; lanes as usize])
    }

    /// What all lanes of a vector are, where it was made by [`Self::splat`], or is that with other types for the same bits.
    pub fn splatted(&self, vector: Value) -> Option<Value> {
        let lanes = self.lanes(vector);
        if lanes == 1 {
            return Some(vector);
        }
        let of = |value: Value, at: u32| Value(llvm!(LLVMGetOperand(value.0, at)));
        let is = |value: Value, opcode: LLVMOpcode| {
            llvm!(!LLVMIsAInstruction(value.0).is_null() && LLVMGetInstructionOpcode(value.0) == opcode)
        };
        if self.is_constant(vector) {
            let element = |lane: u32| llvm!(LLVMGetAggregateElement(vector.0, lane));
            let first = element(0);
            let are_equal = !first.is_null() && (1..lanes).all(|lane| element(lane) == first);
            return are_equal.then_some(Value(first));
        }
        if is(vector, LLVMOpcode::LLVMBitCast) && self.lanes(of(vector, 0)) == lanes {
            let scalar = self.splatted(of(vector, 0))?;
            return Some(self.cast(LLVMOpcode::LLVMBitCast, scalar, self.scalar_of(vector)));
        }
        let is_first = is(vector, LLVMOpcode::LLVMShuffleVector)
            && llvm!((0..LLVMGetNumMaskElements(vector.0)).all(|at| LLVMGetMaskValue(vector.0, at) == 0));
        let first = is_first.then(|| of(vector, 0))?;
        let is_put = is(first, LLVMOpcode::LLVMInsertElement) && self.constant_int(of(first, 2)) == Some(0);
        is_put.then(|| of(first, 1))
    }

    pub fn extract(&self, vector: Value, lane: Value) -> Value {
        if self.lanes(vector) == 1 {
            return vector;
        }
        Value(llvm!(LLVMBuildExtractElement(self.raw, vector.0, lane.0, NAME)))
    }

    pub fn insert(&self, vector: Value, scalar: Value, lane: Value) -> Value {
        Value(llvm!(LLVMBuildInsertElement(self.raw, vector.0, scalar.0, lane.0, NAME)))
    }

    /// A vector of these scalars; the scalar, if it is one.
    pub fn collected(&self, scalars: &[Value]) -> Value {
        if let [only] = scalars {
            return *only;
        }
        let empty = self.poison(self.scalar_of(scalars[0]), scalars.len() as u32);
        let put = |vector, (at, scalar): (u32, &Value)| self.insert(vector, *scalar, self.i32(at));
        (0..).zip(scalars).fold(empty, put)
    }

    /// A shuffle by constant indices into the lanes of `a` and then `b`; -1 is any value.
    pub fn shuffle(&self, a: Value, b: Value, indices: &[i32]) -> Value {
        let mut list: Vec<LLVMValueRef> = indices
            .iter()
            .map(|at| match u64::try_from(*at) {
                Ok(at) => llvm!(LLVMConstInt(self.i[3], at, 0)),
                Err(_) => llvm!(LLVMGetPoison(self.i[3])),
            })
            .collect();
        llvm!({
            let mask = LLVMConstVector(list.as_mut_ptr(), list.len() as u32);
            Value(LLVMBuildShuffleVector(self.raw, a.0, b.0, mask, NAME))
        })
    }

    /// A power of two of equally long vectors, or scalars, one behind the other.
    pub fn concat(&self, mut parts: Vec<Value>) -> Value {
        if self.lanes(parts[0]) == 1 {
            return self.collected(&parts);
        }
        while parts.len() > 1 {
            let lanes = self.lanes(parts[0]) as i32;
            let indices: Vec<i32> = (0..2 * lanes).collect();
            parts = parts.chunks_exact(2).map(|pair| self.shuffle(pair[0], pair[1], &indices)).collect();
        }
        parts[0]
    }

    /// A vector of lanes that others have: each by the number of the vector and its lane there; any value where there is none. Two vectors at
    /// a time are one permutation, and a blend with what there is.
    pub fn assembled(&self, vectors: &[Value], lanes: &[Option<(usize, u32)>]) -> Value {
        let mut used: Vec<usize> = lanes.iter().flatten().map(|(vector, _)| *vector).collect();
        used.sort_unstable();
        used.dedup();
        let mut result: Option<Value> = None;
        let mut rest = &used[..];
        while let [first, others @ ..] = rest {
            let is_alike = |other: &&usize| self.lanes(vectors[**other]) == self.lanes(vectors[*first]);
            let second = others.first().filter(is_alike).copied().unwrap_or(*first);
            rest = &others[usize::from(second != *first)..];
            let behind = self.lanes(vectors[*first]);
            let indices: Vec<i32> = lanes
                .iter()
                .map(|lane| match lane {
                    Some((vector, lane)) if vector == first => *lane as i32,
                    Some((vector, lane)) if *vector == second => (behind + lane) as i32,
                    _ => -1,
                })
                .collect();
            let piece = self.shuffle(vectors[*first], vectors[second], &indices);
            let blend: Vec<i32> = (0..lanes.len())
                .map(|at| if indices[at] < 0 { at as i32 } else { (lanes.len() + at) as i32 })
                .collect();
            result = Some(result.map_or(piece, |before| self.shuffle(before, piece, &blend)));
        }
        result.unwrap_or_else(|| self.poison(self.scalar_of(vectors[0]), lanes.len() as u32))
    }

    /// What equally long vectors have, in order, in vectors of so many lanes.
    pub fn regrouped(&self, vectors: Vec<Value>, lanes: u32) -> Vec<Value> {
        let own = self.lanes(vectors[0]);
        if own <= lanes {
            return vectors.chunks((lanes / own) as usize).map(|part| self.concat(part.to_vec())).collect();
        }
        let part = |vector: Value, at: u32| {
            let indices: Vec<i32> = (at * lanes..(at + 1) * lanes).map(|lane| lane as i32).collect();
            self.shuffle(vector, vector, &indices)
        };
        vectors.iter().flat_map(|vector| (0..own / lanes).map(|at| part(*vector, at))).collect()
    }

    /// One vector with the first lanes of equally long ones, then the second ones, and so on.
    pub fn interleave(&self, mut parts: Vec<Value>) -> Value {
        let (count, lanes) = (parts.len(), self.lanes(parts[0]) as usize);
        if count == 1 {
            return parts[0];
        }
        let poison = self.poison(self.scalar_of(parts[0]), lanes as u32);
        parts.resize(count.next_power_of_two(), poison);
        let all = self.concat(parts);
        let indices: Vec<i32> =
            (0..lanes * count).map(|at| ((at % count) * lanes + at / count) as i32).collect();
        self.shuffle(all, all, &indices)
    }

    /// The vectors that interleaved are this one.
    pub fn deinterleave(&self, all: Value, count: usize) -> Vec<Value> {
        if count == 1 {
            return vec![all];
        }
        let lanes = self.lanes(all) as usize / count;
        let part = |at: usize| {
            // One lane is no vector.
            if lanes == 1 {
                return self.extract(all, self.i32(at as u32));
            }
            let indices: Vec<i32> = (0..lanes).map(|lane| (lane * count + at) as i32).collect();
            self.shuffle(all, all, &indices)
        };
        (0..count).map(part).collect()
    }

    /// The bits of a vector of at most 64 bools as one integer, lane 0 in bit 0.
    pub fn mask_bits(&self, mask: Value) -> Value {
        let lanes = self.lanes(mask);
        debug_assert!(lanes <= u64::BITS, "a sub-group has no more lanes");
        if lanes == 1 {
            return self.cast(LLVMOpcode::LLVMZExt, mask, Scalar::I64);
        }
        let (wide, to) = match lanes {
            0..=8 => (8, Scalar::I8),
            9..=16 => (16, Scalar::I16),
            17..=32 => (32, Scalar::I32),
            _ => (64, Scalar::I64),
        };
        let mask = if wide == lanes {
            mask
        } else {
            let indices: Vec<i32> = (0..wide as i32).map(|at| at.min(lanes as i32)).collect();
            self.shuffle(mask, self.zero(Scalar::Bool, lanes), &indices)
        };
        self.zext_or_trunc(self.reshape(mask, to, 1), Scalar::I64)
    }

    /// The lanes of a vector in reverse.
    pub fn reversed(&self, value: Value) -> Value {
        let indices: Vec<i32> = (0..self.lanes(value) as i32).rev().collect();
        self.shuffle(value, value, &indices)
    }

    /// Whether any lane of a mask is set. A mask may be of several elements for each lane of a sub-group.
    pub fn any(&self, mask: Value) -> Value {
        match self.lanes(mask) {
            1 => mask,
            lanes if lanes > u64::BITS => {
                let part = |from: u32| {
                    let to = lanes.min(from + u64::BITS);
                    let indices: Vec<i32> = (from..to).map(|lane| lane as i32).collect();
                    self.any(self.shuffle(mask, mask, &indices))
                };
                let parts = (0..lanes).step_by(u64::BITS as usize).map(part);
                parts.reduce(|any, other| self.or(any, other)).expect("there are some")
            }
            _ => {
                let bits = self.mask_bits(mask);
                self.icmp(LLVMIntPredicate::LLVMIntNE, bits, self.i64(0))
            }
        }
    }

    /// Whether all lanes of a mask are on. Where they are, which is nearly always, there are no masks to be spread.
    pub fn all(&self, mask: Value) -> Value {
        self.not(self.any(self.not(mask)))
    }
}
