//! Constants as memory has them: their bytes.

use spirv::{Decoration, StorageClass};
use spirv_env::{ConstantValue, GlobalVariable, Id, Module, Type, TypeId};
use ze_extensions::limits::NESTING;

/// Bytes of a variable that compiled code may know.
const MOST_KNOWN: u64 = 4096;

/// Writes the value of `id`, of type `ty`, to the zeroed `bytes`. What scalars and pointers are, the caller says.
pub fn write<E: From<&'static str>>(
    module: &Module,
    id: Id,
    ty: TypeId,
    bytes: &mut [u8],
    depth: u32,
    scalar: &dyn Fn(Id, u32) -> Result<u64, E>,
) -> Result<(), E> {
    if depth > 2 * NESTING {
        return Err("its initializer nests too deep".into());
    }
    let types = &module.types;
    let value = match module.constants.get(&id).map(|constant| &constant.value) {
        Some(ConstantValue::Null | ConstantValue::Undef) => return Ok(()),
        Some(ConstantValue::Composite(parts)) => {
            let member = |at: usize| -> Option<(TypeId, u64)> {
                match types.get(ty) {
                    Type::Struct { members, .. } => {
                        Some((*members.get(at)?, *types.member_offsets(ty).get(at)?))
                    }
                    Type::Vector { elem, .. } | Type::Array { elem, .. } => {
                        Some((*elem, types.layout(*elem).size.checked_mul(at as u64)?))
                    }
                    _ => None,
                }
            };
            for (at, part) in parts.iter().enumerate() {
                let place = member(at).and_then(|(ty, offset)| {
                    let (start, size) = (usize::try_from(offset).ok()?, types.layout(ty).size as usize);
                    Some((ty, bytes.get_mut(start..start.checked_add(size)?)?))
                });
                let (ty, place) = place.ok_or("its initializer does not fit its type")?;
                write(module, *part, ty, place, depth + 1, scalar)?;
            }
            return Ok(());
        }
        Some(ConstantValue::Wide(bits)) => *bits,
        _ => u128::from(scalar(id, depth)?),
    };
    let value = value.to_le_bytes();
    if bytes.len() > value.len() {
        return Err("its initializer does not fit its type".into());
    }
    bytes.copy_from_slice(&value[..bytes.len()]);
    Ok(())
}

/// The bytes of a small variable that nobody can change, if they hold no addresses.
pub fn known(module: &Module, variable: &GlobalVariable) -> Option<Vec<u8>> {
    struct Unknown;
    impl From<&'static str> for Unknown {
        fn from(_: &'static str) -> Self {
            Unknown
        }
    }
    let is_constant = variable.class == StorageClass::UniformConstant
        || module.has_decoration(variable.id, Decoration::Constant);
    let initializer = variable.initializer.filter(|_| is_constant)?;
    let Type::Pointer { pointee, .. } = module.types.get(variable.ty) else { return None };
    let size = module.types.layout(*pointee).size;
    let scalar = |id: Id, _| match &module.constants.get(&id).ok_or(Unknown)?.value {
        ConstantValue::Bool(value) => Ok(u64::from(*value)),
        ConstantValue::Scalar(bits) => Ok(*bits),
        _ => Err(Unknown),
    };
    let mut bytes = vec![0; usize::try_from(size).ok().filter(|_| size <= MOST_KNOWN)?];
    write(module, initializer, *pointee, &mut bytes, 0, &scalar).ok()?;
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::known;
    use spirv_env::{Environment, ModuleInput};
    use ze_tests::assembler::assemble;

    /// What is known of a variable of the word 7 in this class, with this line among the decorations.
    fn bytes(class: &str, decoration: &str) -> Option<Vec<u8>> {
        let text = format!(
            "OpCapability Addresses\nOpCapability Kernel\nOpMemoryModel Physical64 OpenCL\n{decoration}\n\
             %uint = OpTypeInt 32 0\n%seven = OpConstant %uint 7\n%to_uint = OpTypePointer {class} %uint\n\
             %table = OpVariable %to_uint {class} %seven"
        );
        let profile = ze_extensions::DeviceProfile::host();
        let module = spirv_env::build(&[ModuleInput::new(&assemble(&text))], &Environment::new(&profile));
        let module = module.unwrap_or_else(|error| panic!("{error}\n{text}"));
        known(&module, module.globals.first().expect("the variable"))
    }

    #[test]
    fn what_nobody_can_change_is_known() {
        let seven = Some(vec![7, 0, 0, 0]);
        assert_eq!(bytes("UniformConstant", ""), seven);
        assert_eq!(bytes("CrossWorkgroup", "OpDecorate %table Constant"), seven);
        assert_eq!(bytes("CrossWorkgroup", ""), None);
    }
}
