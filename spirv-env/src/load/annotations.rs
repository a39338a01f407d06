//! Decorations, decoration groups and linkage names.

use super::{Linkage, Loader};
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::Cursor;
use crate::module::{Decorated, Id};
use spirv::{Decoration, FPRoundingMode, FunctionParameterAttribute, HostAccessQualifier, LinkageType, Op};

const DECORATIONS: RuleId = RuleId { id: "module.decoration", source: "SPIR-V 1.2 §3.32.3" };

impl Loader<'_> {
    pub(super) fn annotation(&mut self, op: Op, cursor: &mut Cursor<'_>) -> Result<(), Fault> {
        match op {
            Op::DecorationGroup => {
                let group = self.id(cursor.word()?)?;
                // The group's own decorations came before it.
                let decorations = self.module.decorations.remove(&group).unwrap_or_default();
                self.groups.insert(group, decorations);
                self.out.defs.define(group, Def::Inert)
            }
            Op::GroupDecorate => {
                let group = self.group(cursor)?;
                self.expand(group.len().saturating_mul(cursor.rest().len()))?;
                for &word in cursor.rest() {
                    let target = self.id(word)?;
                    self.references.decorated.push((target, self.at));
                    self.module.decorations.entry(target).or_default().extend_from_slice(&group);
                }
                Ok(())
            }
            Op::GroupMemberDecorate => {
                let group = self.group(cursor)?;
                self.expand(group.len().saturating_mul(cursor.rest().len()))?;
                while !cursor.is_empty() {
                    let key = (self.id(cursor.word()?)?, cursor.word()?);
                    self.references.members.push((key.0, key.1, self.at));
                    self.module.member_decorations.entry(key).or_default().extend_from_slice(&group);
                }
                Ok(())
            }
            Op::MemberDecorate | Op::MemberDecorateString => {
                let key = (self.id(cursor.word()?)?, cursor.word()?);
                self.references.members.push((key.0, key.1, self.at));
                if let Some(decorated) = self.decorated(op, cursor)? {
                    self.module.member_decorations.entry(key).or_default().push(decorated);
                }
                Ok(())
            }
            _ => {
                let target = self.id(cursor.word()?)?;
                let decorated = self.decorated(op, cursor)?;
                let (at, left_behind) = (self.at, &mut self.left_behind);
                if !decorated.as_ref().is_some_and(|decorated| left_behind.takes(target, decorated, at)) {
                    self.references.decorated.push((target, at));
                }
                if let Some(decorated) = decorated {
                    if decorated.kind == Decoration::LinkageAttributes {
                        self.linkage(target, &decorated)?;
                    }
                    self.module.decorations.entry(target).or_default().push(decorated);
                }
                Ok(())
            }
        }
    }

    /// Groups multiply: what they expand to is limited.
    fn expand(&mut self, count: usize) -> Result<(), Fault> {
        const MOST: usize = 1 << 22;
        self.expanded = self.expanded.saturating_add(count);
        if self.expanded > MOST {
            return Err(Fault::new(
                DECORATIONS,
                format!("decoration groups expand to more than {MOST} decorations"),
            ));
        }
        Ok(())
    }

    fn group(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<Decorated>, Fault> {
        let id = self.id(cursor.word()?)?;
        let missing =
            || Fault::new(DECORATIONS, format!("{} is not a decoration group", self.out.defs.raw(id)));
        self.groups.get(&id).cloned().ok_or_else(missing)
    }

    /// `None` for a decoration that is unknown: what changes a meaning needs a capability, and those are all known.
    fn decorated(&mut self, op: Op, cursor: &mut Cursor<'_>) -> Result<Option<Decorated>, Fault> {
        let number = cursor.word()?;
        let kind = Decoration::from_u32(number).or_else(|| first_number(number));
        let mut literals: smallvec::SmallVec<[u32; 1]> = cursor.rest().into();
        if op == Op::DecorateId {
            for word in &mut literals {
                *word = self.id(*word)?.0;
            }
        }
        let Some(kind) = kind else { return Ok(None) };
        if let Some(count) = literal_count(kind)
            && literals.len() != count
        {
            let message = format!("decoration {kind:?} has {} literals instead of {count}", literals.len());
            return Err(Fault::new(DECORATIONS, message));
        }
        if kind == Decoration::FPRoundingMode && FPRoundingMode::from_u32(literals[0]).is_none() {
            return Err(Fault::new(DECORATIONS, format!("rounding mode {} is unknown", literals[0])));
        }
        if kind == Decoration::HostAccessINTEL {
            let mut access = Cursor::new(&literals);
            let known = HostAccessQualifier::from_u32(access.word()?).is_some();
            access.string()?;
            access.end()?;
            if !known {
                return Err(Fault::new(DECORATIONS, format!("host access {} is unknown", literals[0])));
            }
        }
        if kind == Decoration::FuncParamAttr && FunctionParameterAttribute::from_u32(literals[0]).is_none() {
            return Err(Fault::new(DECORATIONS, format!("parameter attribute {} is unknown", literals[0])));
        }
        Ok(Some(Decorated { kind, literals }))
    }

    fn linkage(&mut self, target: Id, decorated: &Decorated) -> Result<(), Fault> {
        let mut cursor = Cursor::new(&decorated.literals);
        let name = cursor.string()?;
        let number = cursor.word()?;
        cursor.end()?;
        let kind = LinkageType::from_u32(number)
            .ok_or_else(|| Fault::new(DECORATIONS, format!("linkage type {number} is unknown")))?;
        self.out.linkage.insert(target, Linkage { name, kind });
        Ok(())
    }
}

/// The decorations of `SPV_INTEL_global_variable_decorations`, whose numbers they had before they were published.
fn first_number(number: u32) -> Option<Decoration> {
    Some(match number {
        6147 => Decoration::HostAccessINTEL,
        6148 => Decoration::InitModeALTERA,
        6149 => Decoration::ImplementInRegisterMapALTERA,
        _ => return None,
    })
}

/// Literals of the decorations that later stages read.
fn literal_count(kind: Decoration) -> Option<usize> {
    use Decoration as D;
    Some(match kind {
        D::SpecId | D::BuiltIn | D::FuncParamAttr | D::FPRoundingMode | D::FPFastMathMode | D::Alignment => 1,
        D::MaxByteOffset | D::Offset | D::ArrayStride => 1,
        D::CPacked | D::Constant | D::Volatile | D::Restrict | D::Aliased | D::SaturatedConversion => 0,
        D::NoSignedWrap | D::NoUnsignedWrap | D::ReferencedIndirectlyINTEL => 0,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use crate::test_support::{assemble, assert_rejected, build_text, kernel};
    use crate::{Environment, ModuleInput, build};
    use spirv::Decoration;
    use ze_extensions::DeviceProfile;

    fn decorated(annotations: &str) -> String {
        let variable = "%p = OpTypePointer CrossWorkgroup %uint\n%v = OpVariable %p CrossWorkgroup\n%w = OpVariable %p CrossWorkgroup";
        kernel(variable, "").replace("%void = OpTypeVoid", &format!("{annotations}\n%void = OpTypeVoid"))
    }

    #[test]
    fn groups_pass_their_decorations_on() {
        let text = decorated(
            "OpDecorate %g Alignment 64\nOpDecorate %g Constant\n%g = OpDecorationGroup\nOpGroupDecorate %g %v %w",
        );
        let module = build_text(&text).unwrap();
        assert!(
            module
                .globals
                .iter()
                .all(|global| global.align == 64 && module.has_decoration(global.id, Decoration::Constant))
        );
    }

    #[test]
    fn decorations_have_their_literals() {
        assert_rejected(&decorated("OpDecorate %v Alignment"), "module.decoration");
        assert_rejected(&decorated("OpDecorate %v Constant 1"), "module.decoration");
        assert_rejected(&decorated("OpDecorate %v FPRoundingMode 4"), "module.decoration");
        assert_rejected(&decorated("OpDecorate %v FuncParamAttr 99"), "module.decoration");
        assert_rejected(&decorated("OpGroupDecorate %nothing %v"), "module.decoration");
        assert_rejected(&decorated("OpDecorate %v Alignment 3"), "variables.well-formed");
    }

    #[test]
    fn host_access_names_variables_under_both_of_its_numbers() {
        let text = decorated("OpDecorate %v HostAccessINTEL 3 \"unique\"")
            .replacen(
                "OpCapability Kernel",
                "OpCapability GlobalVariableHostAccessINTEL\nOpCapability Kernel",
                1,
            )
            .replace("%std = ", "OpExtension \"SPV_INTEL_global_variable_host_access\"\n%std = ");
        let name = |bytes: &[u8]| {
            let module =
                build(&[ModuleInput::new(bytes)], &Environment::new(&DeviceProfile::host())).unwrap();
            module.globals.iter().find_map(|global| module.host_name(global.id))
        };
        let mut bytes = assemble(&text);
        assert_eq!(name(&bytes).as_deref(), Some("unique"));
        let number = |of: u32| of.to_ne_bytes();
        let at =
            bytes.chunks(4).rposition(|word| word == number(Decoration::HostAccessINTEL as u32)).unwrap();
        bytes[4 * at..4 * at + 4].copy_from_slice(&number(6147));
        assert_eq!(name(&bytes).as_deref(), Some("unique"));
        assert_rejected(&text.replace("INTEL 3 ", "INTEL 4 "), "module.decoration");
        assert_rejected(&text.replace("INTEL 3 \"unique\"", "INTEL 3"), "binary.string");
    }

    #[test]
    fn groups_do_not_multiply_without_bounds() {
        let decorations = "OpDecorate %g Constant\n".repeat(3000);
        let targets = " %v".repeat(3000);
        let text = decorated(&format!("{decorations}%g = OpDecorationGroup\nOpGroupDecorate %g{targets}"));
        assert_rejected(&text, "module.decoration");
    }
}
