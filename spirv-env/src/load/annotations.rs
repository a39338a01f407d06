//! Decorations, decoration groups and linkage names.

use super::{Linkage, Loader};
use crate::defs::Def;
use crate::diagnostics::{Fault, RuleId};
use crate::grammar::Cursor;
use crate::module::{Decorated, Id};
use spirv::{Decoration, LinkageType, Op};

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
                for &word in cursor.rest() {
                    let target = self.id(word)?;
                    self.module.decorations.entry(target).or_default().extend_from_slice(&group);
                }
                Ok(())
            }
            Op::GroupMemberDecorate => {
                let group = self.group(cursor)?;
                while !cursor.is_empty() {
                    let key = (self.id(cursor.word()?)?, cursor.word()?);
                    self.module.member_decorations.entry(key).or_default().extend_from_slice(&group);
                }
                Ok(())
            }
            Op::MemberDecorate | Op::MemberDecorateString => {
                let key = (self.id(cursor.word()?)?, cursor.word()?);
                if let Some(decorated) = self.decorated(op, cursor)? {
                    self.module.member_decorations.entry(key).or_default().push(decorated);
                }
                Ok(())
            }
            _ => {
                let target = self.id(cursor.word()?)?;
                if let Some(decorated) = self.decorated(op, cursor)? {
                    if decorated.kind == Decoration::LinkageAttributes {
                        self.linkage(target, &decorated)?;
                    }
                    self.module.decorations.entry(target).or_default().push(decorated);
                }
                Ok(())
            }
        }
    }

    fn group(&mut self, cursor: &mut Cursor<'_>) -> Result<Vec<Decorated>, Fault> {
        let id = self.id(cursor.word()?)?;
        let missing =
            || Fault::new(DECORATIONS, format!("{} is not a decoration group", self.out.defs.raw(id)));
        self.groups.get(&id).cloned().ok_or_else(missing)
    }

    /// `None` for a decoration that is unknown: what changes a meaning needs a capability, and those are all known.
    fn decorated(&mut self, op: Op, cursor: &mut Cursor<'_>) -> Result<Option<Decorated>, Fault> {
        let kind = Decoration::from_u32(cursor.word()?);
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

/// Literals of the decorations that later stages read.
fn literal_count(kind: Decoration) -> Option<usize> {
    use Decoration as D;
    Some(match kind {
        D::SpecId | D::BuiltIn | D::FuncParamAttr | D::FPRoundingMode | D::FPFastMathMode | D::Alignment => 1,
        D::MaxByteOffset | D::Offset | D::ArrayStride => 1,
        D::CPacked | D::Constant | D::Volatile | D::Restrict | D::Aliased | D::SaturatedConversion => 0,
        D::NoSignedWrap | D::NoUnsignedWrap => 0,
        _ => return None,
    })
}
