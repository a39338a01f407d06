//! Addresses and indices as sums of products, so that two that are computed otherwise can be told to be the same, or not to be.
//!
//! All arithmetic is modulo a power of two, as the instructions' is. What is widened stays as it is (an index that wraps around does so), and so does what no
//! sum says; of both, one that is made of the same is the same.

use super::super::func::{BlockId, ChainStep, Func, Phi};
use super::super::joins::Plain;
use rustc_hash::FxHashMap;
use smallvec::SmallVec;
use spirv::Op;
use spirv_env::{Id, Inst};
use std::collections::BTreeMap;

/// Instructions that are looked at for one sum, at most, those of other iterations included.
const MOST_INSTS: usize = 64;
/// Products of a sum, at most.
const MOST_PRODUCTS: usize = 12;

/// Factors of a product, in their order: numbers of a [`Table`].
type Product = SmallVec<[u32; 2]>;

/// Products by their coefficients, none of which is 0. That of no factors is the constant.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Debug, Default)]
pub struct Sum(BTreeMap<Product, u64>);

/// What a sum's factors are.
#[derive(Clone, PartialEq, Eq, Hash)]
enum Factor {
    Value(Id),
    /// A sum of so many bits that is widened.
    Widened {
        sum: Sum,
        from: u32,
        is_signed: bool,
    },
}

/// Numbers of factors.
#[derive(Default)]
struct Table {
    numbers: FxHashMap<Factor, u32>,
    factors: Vec<Factor>,
}

/// Where an access is: bytes behind a pointer that is not made of another one by steps.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Place {
    root: Id,
    behind: Sum,
}

/// Of which iteration a value is asked about.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum When {
    Now,
    Next,
}

/// Writes values of a loop as sums.
pub struct Sums<'a> {
    pub plain: &'a Plain,
    /// The header's, and where they come from in the next iteration.
    pub phis: &'a [Phi],
    pub latch: BlockId,
    /// Whether the loop makes a value.
    pub is_inside: &'a dyn Fn(Id) -> bool,
    table: Table,
    left: usize,
}

impl Sum {
    fn constant(value: u64, bits: u32) -> Sum {
        let mut sum = Sum::default();
        sum.add(Product::new(), value, bits);
        sum
    }

    fn add(&mut self, product: Product, coefficient: u64, bits: u32) {
        let mask = u64::MAX >> (64 - bits);
        let now = self.0.get(&product).copied().unwrap_or(0).wrapping_add(coefficient) & mask;
        match now {
            0 => self.0.remove(&product),
            _ => self.0.insert(product, now),
        };
    }

    fn plus(mut self, other: &Sum, times: u64, bits: u32) -> Sum {
        for (product, coefficient) in &other.0 {
            self.add(product.clone(), coefficient.wrapping_mul(times), bits);
        }
        self
    }

    fn by(&self, other: &Sum, bits: u32) -> Sum {
        let mut sum = Sum::default();
        for (one, by) in &self.0 {
            for (another, by_another) in &other.0 {
                let mut product: Product = one.iter().chain(another).copied().collect();
                product.sort_unstable();
                sum.add(product, by.wrapping_mul(*by_another), bits);
            }
        }
        sum
    }

    /// What it is, if that is known.
    fn as_constant(&self) -> Option<u64> {
        match self.0.len() {
            0 => Some(0),
            1 => self.0.get(&Product::new()).copied(),
            _ => None,
        }
    }
}

impl<'a> Sums<'a> {
    pub fn new(plain: &'a Plain, phis: &'a [Phi], latch: BlockId, is_inside: &'a dyn Fn(Id) -> bool) -> Self {
        Sums { plain, phis, latch, is_inside, table: Table::default(), left: 0 }
    }

    /// Where a pointer leads to, if its steps can be written as a sum.
    pub fn place(&mut self, func: &Func<'_>, pointer: Id, when: When) -> Option<Place> {
        self.left = MOST_INSTS;
        self.place_of(func, pointer, when)
    }

    /// Whether two objects of so many bytes have nothing in common.
    pub fn are_apart(&self, one: &Place, other: &Place, bytes: u64) -> bool {
        if one.root != other.root {
            return false;
        }
        let difference = one.behind.clone().plus(&other.behind, u64::MAX, u64::BITS);
        let is_far = |distance: u64| distance >= bytes && distance.wrapping_neg() >= bytes;
        if let Some(distance) = difference.as_constant() {
            return is_far(distance);
        }
        // Indices that differ are multiples of the elements apart, also where they are widened and one of them wraps around.
        let mut products = difference.0.iter();
        let (Some((first, by)), Some((second, back)), None) =
            (products.next(), products.next(), products.next())
        else {
            return false;
        };
        let index = |product: &Product| match product[..] {
            [factor] => match &self.table.factors[factor as usize] {
                Factor::Widened { sum, from, is_signed } => Some((sum, *from, *is_signed)),
                Factor::Value(_) => None,
            },
            _ => None,
        };
        let (Some((one, bits, signed)), Some((other, of_bits, of_signed))) = (index(first), index(second))
        else {
            return false;
        };
        // Distances of less than 2^33 elements of at most so many bytes are themselves modulo 2^64.
        let is_element = by.wrapping_add(*back) == 0 && (bytes..1 << 16).contains(&(*by).min(*back));
        let differs =
            one.clone().plus(other, u64::MAX, bits).as_constant().is_some_and(|distance| distance != 0);
        is_element && (bits, signed) == (of_bits, of_signed) && bits <= 32 && differs
    }

    fn place_of(&mut self, func: &Func<'_>, pointer: Id, when: When) -> Option<Place> {
        let (mut at, mut when, mut behind) = (pointer, when, Sum::default());
        loop {
            if when == When::Next
                && let Some(phi) = self.phis.iter().find(|phi| phi.result == at)
            {
                (at, when) = (phi.from(self.latch)?, When::Now);
                continue;
            }
            self.left = self.left.checked_sub(1)?;
            let Some((inst, base)) = self.step(func, at) else { break };
            for step in func.chain(&inst) {
                behind = match step {
                    ChainStep::Constant(bytes) => behind.plus(&Sum::constant(1, 64), bytes as u64, 64),
                    ChainStep::Scaled { index, size } => {
                        let index = self.index(func, index, when)?;
                        behind.plus(&index, size, 64)
                    }
                };
            }
            at = base;
        }
        let is_known = when == When::Now || !(self.is_inside)(at);
        (is_known && behind.0.len() <= MOST_PRODUCTS).then_some(Place { root: at, behind })
    }

    /// What makes a pointer of another one, and that.
    fn step(&self, func: &Func<'_>, pointer: Id) -> Option<(Inst, Id)> {
        let inst = self.plain.get(&pointer)?;
        Some((inst.clone(), func.derived_from(inst)?))
    }

    /// An index in 64 bits: it is signed.
    fn index(&mut self, func: &Func<'_>, index: Id, when: When) -> Option<Sum> {
        let bits = func.index_width(index)?;
        let sum = self.sum(func, index, when)?;
        self.widened(sum, bits, 64, true)
    }

    fn widened(&mut self, sum: Sum, from: u32, to: u32, is_signed: bool) -> Option<Sum> {
        if from == to {
            return Some(sum);
        }
        if from > to {
            return None;
        }
        if let Some(value) = sum.as_constant() {
            let unused = 64 - from;
            let value = if is_signed { ((value << unused) as i64 >> unused) as u64 } else { value };
            return Some(Sum::constant(value, to));
        }
        Some(self.factor(Factor::Widened { sum, from, is_signed }, to))
    }

    fn factor(&mut self, factor: Factor, bits: u32) -> Sum {
        let Table { numbers, factors } = &mut self.table;
        let number = *numbers.entry(factor.clone()).or_insert_with(|| {
            factors.push(factor);
            factors.len() as u32 - 1
        });
        let mut sum = Sum::default();
        sum.add(SmallVec::from_iter([number]), 1, bits);
        sum
    }

    fn sum(&mut self, func: &Func<'_>, id: Id, when: When) -> Option<Sum> {
        let bits = func.index_width(id)?;
        if let Some(value) = func.constant_bits(id) {
            return Some(Sum::constant(value, bits));
        }
        self.left = self.left.checked_sub(1)?;
        if when == When::Next
            && let Some(phi) = self.phis.iter().find(|phi| phi.result == id)
        {
            let next = phi.from(self.latch)?;
            return self.sum(func, next, When::Now);
        }
        let made = self.plain.get(&id).cloned();
        let sum = match made {
            Some(inst) => self.of_operands(func, &inst, bits, when)?,
            None => None,
        };
        match sum {
            Some(sum) => (sum.0.len() <= MOST_PRODUCTS).then_some(sum),
            // What the loop makes otherwise is something else in the next iteration.
            None => {
                (when == When::Now || !(self.is_inside)(id)).then(|| self.factor(Factor::Value(id), bits))
            }
        }
    }

    /// An instruction as a sum of what its operands are, if it is one.
    fn of_operands(&mut self, func: &Func<'_>, inst: &Inst, bits: u32, when: When) -> Option<Option<Sum>> {
        let constant = |id: Id| func.constant_bits(id);
        let sum = match inst.op {
            Op::IAdd | Op::ISub => {
                let [one, other] = [self.sum(func, inst.id(0), when)?, self.sum(func, inst.id(1), when)?];
                one.plus(&other, if inst.op == Op::IAdd { 1 } else { u64::MAX }, bits)
            }
            Op::SNegate => Sum::default().plus(&self.sum(func, inst.id(0), when)?, u64::MAX, bits),
            Op::IMul => {
                let [one, other] = [self.sum(func, inst.id(0), when)?, self.sum(func, inst.id(1), when)?];
                if one.0.len() * other.0.len() > MOST_PRODUCTS {
                    return None;
                }
                one.by(&other, bits)
            }
            Op::ShiftLeftLogical => match constant(inst.id(1)) {
                Some(by) if by < u64::from(bits) => {
                    Sum::default().plus(&self.sum(func, inst.id(0), when)?, 1 << by, bits)
                }
                _ => return Some(None),
            },
            Op::SConvert | Op::UConvert => {
                let Some(from) = func.index_width(inst.id(0)).filter(|from| *from < bits) else {
                    return Some(None);
                };
                let sum = self.sum(func, inst.id(0), when)?;
                self.widened(sum, from, bits, inst.op == Op::SConvert)?
            }
            _ => return Some(None),
        };
        Some(Some(sum))
    }
}
