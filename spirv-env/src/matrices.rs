//! Matrices of sub-groups (`SPV_KHR_cooperative_matrix`): a value is an array of the elements that a work-item holds.
//!
//! Which element is where is the driver's to choose. Counted row by row, element `t` is element `t / W` of lane `t % W`:
//! a row of as many columns as there are lanes is a vector with an element in each. That needs one `W` for a module, which
//! is a size that one of its kernels asks for; those that load, store or multiply matrices have it.

use crate::load::Loaded;
use crate::module::{Id, Type, TypeId, Types};
use rustc_hash::FxHashMap;
use spirv::{CooperativeMatrixUse, ExecutionMode};

/// A cooperative matrix type.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Matrix {
    pub component: TypeId,
    pub rows: u32,
    pub columns: u32,
    pub usage: CooperativeMatrixUse,
    /// Work-items that hold it.
    pub lanes: u32,
}

impl Matrix {
    /// Rows and columns at most: larger ones are products of loops.
    pub const MOST_ROWS: u32 = 256;

    /// Elements of all work-items together.
    pub fn elements(&self) -> u32 {
        self.rows * self.columns
    }

    /// Elements that each work-item holds; the last ones of some may be none of the matrix.
    pub fn length(&self) -> u32 {
        self.elements().div_ceil(self.lanes)
    }

    /// Row and column of an element of a lane; none if it is none of the matrix.
    pub fn place(&self, element: u32, lane: u32) -> Option<(u32, u32)> {
        let at = element * self.lanes + lane;
        (at < self.elements()).then(|| (at / self.columns, at % self.columns))
    }

    /// The element and the lane that hold a row's column.
    pub fn holder(&self, row: u32, column: u32) -> (u32, u32) {
        let at = row * self.columns + column;
        (at / self.lanes, at % self.lanes)
    }
}

/// The matrix types among a module's arrays.
#[derive(Default, Debug)]
pub(crate) struct Matrices {
    types: FxHashMap<Matrix, TypeId>,
    matrices: FxHashMap<TypeId, Matrix>,
}

impl Types {
    /// What matrix a type is; its values are arrays.
    pub fn matrix(&self, ty: TypeId) -> Option<&Matrix> {
        self.matrices.matrices.get(&ty)
    }

    /// The type of a matrix, which is one for all that are equal and no other array's.
    pub(crate) fn intern_matrix(&mut self, matrix: Matrix) -> Option<TypeId> {
        if let Some(&ty) = self.matrices.types.get(&matrix) {
            return Some(ty);
        }
        let array = Type::Array { elem: matrix.component, len: u64::from(matrix.length()) };
        let ty = self.push(array, false)?;
        self.matrices.types.insert(matrix, ty);
        self.matrices.matrices.insert(ty, matrix);
        Some(ty)
    }
}

/// The work-items that hold a matrix in a module whose kernels ask for these sizes of sub-groups: what all of them ask for,
/// else 16 as Intel's devices, else the smallest.
pub(crate) fn lanes(loaded: &Loaded, device: &[u32]) -> u32 {
    const USUAL: u32 = 16;
    let size = |(mode, words): &(ExecutionMode, Vec<u32>)| match (mode, words.as_slice()) {
        (ExecutionMode::SubgroupSize, &[size]) => Some(size),
        _ => None,
    };
    let mut asked: Vec<u32> = loaded.modes.values().flatten().filter_map(size).collect();
    asked.sort_unstable();
    let sizes = if asked.is_empty() { device } else { &asked };
    let usual = sizes.iter().copied().find(|&size| size == USUAL);
    usual.or(sizes.iter().copied().min()).unwrap_or(USUAL).clamp(1, u32::from(u8::MAX))
}

/// Words of a module that name a type or a value, in an instruction that asks about a matrix type.
pub(crate) fn of_type_or_value(loaded: &Loaded, types: &Types, id: Id) -> Option<Matrix> {
    use crate::defs::Def;
    let (Def::Type(ty) | Def::Value(ty) | Def::Constant(ty)) = loaded.defs.get(id) else { return None };
    types.matrix(ty).copied()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_accepted, assert_rejected, build_text, declaring, kernel};

    #[test]
    fn every_element_has_one_holder() {
        for (rows, columns) in [(8, 16), (1, 16), (16, 8), (3, 5), (32, 64)] {
            for lanes in [1, 8, 16, 32] {
                let usage = CooperativeMatrixUse::MatrixAKHR;
                let matrix = Matrix { component: TypeId(0), rows, columns, usage, lanes };
                let mut seen = vec![false; (rows * columns) as usize];
                for element in 0..matrix.length() {
                    for lane in 0..lanes {
                        let Some((row, column)) = matrix.place(element, lane) else { continue };
                        assert_eq!(matrix.holder(row, column), (element, lane));
                        assert!(!std::mem::replace(&mut seen[(row * columns + column) as usize], true));
                    }
                }
                assert!(seen.into_iter().all(|seen| seen));
            }
        }
    }

    /// Types and values of matrices of 8 x 16 and 16 x 16, and instructions with them.
    fn module(modes: &str, body: &str) -> String {
        let types = "%n8 = OpConstant %uint 8\n%n16 = OpConstant %uint 16\n%n17 = OpConstant %uint 17\n\
            %a = OpTypeCooperativeMatrixKHR %half %u3 %n8 %n16 %u0\n%b = OpTypeCooperativeMatrixKHR %half %u3 %n16 %n16 %u1\n\
            %c = OpTypeCooperativeMatrixKHR %float %u3 %n8 %n16 %u2\n%i = OpTypeCooperativeMatrixKHR %uint %u3 %n8 %n16 %u2\n\
            %s = OpTypeCooperativeMatrixKHR %ushort %u3 %n8 %n16 %u0\n%na = OpConstantNull %a\n%nb = OpConstantNull %b\n\
            %nc = OpConstantNull %c\n%ni = OpConstantNull %i\n%ns = OpConstantNull %s\n%one = OpConstantComposite %c %f1\n\
            %pg = OpTypePointer CrossWorkgroup %float\n%pf = OpTypePointer Function %float\n%ng = OpConstantNull %pg\n\
            %nf = OpConstantNull %pf\n";
        let text = kernel(types, body).replacen("OpSource", &format!("{modes}OpSource"), 1);
        let extension = "OpExtension \"SPV_KHR_cooperative_matrix\"\n%std = ";
        declaring("SubgroupDispatch", &declaring("CooperativeMatrixKHR", &text))
            .replacen("%std = ", extension, 1)
    }

    #[test]
    fn products_are_of_matrices_that_fit() {
        assert_accepted(&module("", "%r = OpCooperativeMatrixMulAddKHR %c %na %nb %nc"));
        for wrong in [
            "%r = OpCooperativeMatrixMulAddKHR %c %nb %na %nc",
            "%r = OpCooperativeMatrixMulAddKHR %c %na %nb %na",
            "%r = OpCooperativeMatrixMulAddKHR %i %na %nb %ni",
            "%r = OpCooperativeMatrixMulAddKHR %c %ns %nb %nc",
            "%r = OpCooperativeMatrixMulAddKHR %c %na %nb %nc 512",
            "%r = OpCooperativeMatrixMulAddKHR %c %na %nb %f1",
        ] {
            assert_rejected(&module("", wrong), "types.operands");
        }
        // Bits of bfloat16 are in integers.
        let bits = "%n = OpConstantNull %b2\n%r = OpCooperativeMatrixMulAddKHR %c %ns %n %nc 64";
        let bits = module("", "").replacen(
            "%main = OpFunction",
            "%b2 = OpTypeCooperativeMatrixKHR %ushort %u3 %n16 %n16 %u1\n%n = OpConstantNull %b2\n%main = OpFunction",
            1,
        ).replacen("OpReturn\n", &format!("{}\nOpReturn\n", bits.lines().last().unwrap_or_default()), 1);
        assert_accepted(&bits);
        assert_rejected(&bits.replace("%nc 64", "%nc 0"), "types.operands");
    }

    #[test]
    fn matrices_are_loaded_and_stored_with_a_known_layout_and_a_stride() {
        let load = |operands: &str| module("", &format!("%r = OpCooperativeMatrixLoadKHR %c {operands}"));
        assert_accepted(&load("%ng %u0 %n16"));
        assert_accepted(&load("%ng %u1 %ul1 Aligned 4"));
        for wrong in
            ["%ng %u2 %n16", "%ng %u3 %n16", "%ng %u0", "%nf %u0 %n16", "%ng %f1 %n16", "%ng %u0 %f1"]
        {
            assert_rejected(&load(wrong), "types.operands");
        }
        let store = |operands: &str| module("", &format!("OpCooperativeMatrixStoreKHR {operands}"));
        assert_accepted(&store("%ng %nc %u0 %n16"));
        assert_rejected(&store("%ng %f1 %u0 %n16"), "types.operands");
    }

    #[test]
    fn elements_are_computed_one_by_one() {
        for good in [
            "%r = OpFAdd %c %nc %one",
            "%r = OpMatrixTimesScalar %c %nc %f1",
            "%r = OpConvertFToS %i %nc",
            "%r = OpBitcast %i %nc",
            "%r = OpCompositeConstruct %c %f1",
            "%r = OpCompositeExtract %float %nc 7",
            "%r = OpCooperativeMatrixLengthKHR %uint %c",
            "%r = OpCooperativeMatrixLengthKHR %ulong %nc",
        ] {
            assert_accepted(&module("", good));
        }
        for wrong in [
            "%r = OpIAdd %c %nc %nc",
            "%r = OpFAdd %a %na %nb",
            "%r = OpFConvert %c %na",
            "%r = OpMatrixTimesScalar %c %nc %u1",
            "%r = OpCompositeExtract %float %nc 8",
            "%r = OpFOrdEqual %bool %nc %nc",
        ] {
            assert_rejected(&module("", wrong), "types.operands");
        }
        assert_rejected(&module("", "%r = OpCooperativeMatrixLengthKHR %uint %f1"), "types.matrix");
    }

    #[test]
    fn kernels_with_matrices_have_the_sub_groups_that_hold_them() {
        let load = "%r = OpCooperativeMatrixLoadKHR %c %ng %u0 %n16";
        let size = |modes: &str, body: &str| {
            build_text(&module(modes, body))
                .map(|module| (module.matrix_lanes, module.kernels[0].required_subgroup_size))
        };
        assert_eq!(size("", load).ok(), Some((Some(16), Some(16))));
        assert_eq!(size("", "").ok(), Some((Some(16), None)));
        let eight = "OpExecutionMode %main SubgroupSize 8\n";
        assert_eq!(size(eight, load).ok(), Some((Some(8), Some(8))));
        let another = "OpEntryPoint Kernel %main \"other\"\n";
        assert!(size(another, load).is_ok());
    }

    #[test]
    fn matrices_have_sides_of_a_bounded_size_and_belong_to_sub_groups() {
        let text = module("", "");
        let declaration = "%a = OpTypeCooperativeMatrixKHR %half %u3 %n8 %n16 %u0";
        for wrong in [
            "%a = OpTypeCooperativeMatrixKHR %half %u2 %n8 %n16 %u0",
            "%a = OpTypeCooperativeMatrixKHR %bool %u3 %n8 %n16 %u0",
            "%a = OpTypeCooperativeMatrixKHR %half %u3 %u0 %n16 %u0",
            "%big = OpConstant %uint 257\n%a = OpTypeCooperativeMatrixKHR %half %u3 %n8 %big %u0",
            "%a = OpTypeCooperativeMatrixKHR %half %u3 %n8 %n16 %u3",
        ] {
            assert_rejected(&text.replacen(declaration, wrong, 1), "types.matrix");
        }
    }
}
