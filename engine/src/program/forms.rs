//! How the work-items of a launch are put together: in which groups, with lanes along which dimension and how many of them, and in rows of
//! which lengths.

use super::Kernel;
use crate::abi::{Axis, CodeInfo, LaneMapping, RowLengths};
use crate::exec::{Range, group_size};
use crate::jit::cache::{CachedCode, driver_id};
use crate::jit::hash::{Digest, Hasher};
use crate::jit::target::Target;
use crate::lower::{self, Form, Shape};
use spirv_env::Divisor;
use std::time::Instant;

/// How a launch's work-items are executed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Executed {
    /// In these work-groups, with x and the axis exchanged.
    pub range: Range,
    pub axis: Axis,
}

impl Kernel {
    /// The arguments that are lengths of rows into which full sub-groups fit, in launches with groups of this size, if it is known which of those that
    /// something is divided by are positive multiples of a power of two.
    pub(crate) fn row_lengths(
        &self,
        group_size: [u32; 3],
        is_multiple: impl Fn(&Divisor, u32) -> bool,
    ) -> RowLengths {
        let kernel = self.reflection();
        if kernel.divisors.is_empty() {
            return RowLengths::default();
        }
        let lengths = |zeros: u32| {
            let is_length =
                |divisor: &Divisor| group_size[0].trailing_zeros() >= zeros && is_multiple(divisor, zeros);
            let bits = (0..).zip(&kernel.divisors).map(|(bit, divisor)| u8::from(is_length(divisor)) << bit);
            match bits.fold(0, |of, bit| of | bit) {
                0 => RowLengths::default(),
                of => RowLengths { of, zeros: zeros as u8 },
            }
        };
        let natural = self.subgroup_size();
        let most = if self.may_widen() { self.most_lanes().max(natural) } else { natural };
        let widest = lengths(most.ilog2());
        if most == natural || kernel.has_small_values {
            return widest;
        }
        // To know a length is worth more than lanes that are a line.
        let own = lengths(natural.ilog2());
        if own.of == widest.of { widest } else { own }
    }

    /// Whether sub-groups may have more lanes than is natural, as far as that is known without a look at the code.
    pub(super) fn may_widen(&self) -> bool {
        let kernel = self.reflection();
        !kernel.sees_width() && !kernel.prints && !kernel.may_wait
    }

    /// Lanes that sub-groups may have then: as many as there are small values in a register, or words in a line of the cache.
    pub(super) fn most_lanes(&self) -> u32 {
        let most = |target: &Target| match self.reflection().has_small_values {
            true => target.simd_bits() / u8::BITS,
            false => target.lanes_of_a_line().unwrap_or(1),
        };
        self.program.engine.target().map_or(1, most)
    }

    /// The work-groups that a launch is executed in: with another dimension in the place of x, and larger ones than it asks for, where the
    /// kernel cannot tell.
    pub fn executed(&self, range: Range) -> Executed {
        let (kernel, engine) = (self.reflection(), &self.program.engine);
        let (most, threads) = (engine.config().max_group_size, engine.threads() as u64);
        if !engine.config().joins_groups {
            return Executed { range, axis: Axis::X };
        }
        let can_group = !kernel.sees_groups && kernel.required_subgroups().is_none();
        let axis = if self.may_turn(&range) { self.axis_of(&range) } else { Axis::X };
        if axis != Axis::X {
            let turned = group_size::turned(range, axis);
            let in_rows = || group_size::in_rows(turned, &group_size::ROWS, most, threads);
            let shaped = || self.shaped(turned, axis, most, threads);
            let grouped = if can_group { shaped().or_else(in_rows) } else { None };
            if let Some(range) = grouped.or_else(|| Some(turned).filter(group_size::has_rows)) {
                return Executed { range, axis };
            }
        }
        if !can_group {
            return Executed { range, axis: Axis::X };
        }
        // Rows that fill a sub-group of the natural width may be too short for a wider one.
        let is_narrow =
            kernel.has_small_values && range.group_size[0] < self.most_lanes() && self.may_widen();
        let rows = if is_narrow { self.wide_rows(range, most, threads) } else { None };
        let rows = rows.or_else(|| self.shaped(range, Axis::X, most, threads));
        // Tiles are worth more than full sub-groups, but rows that end within those are better as one.
        if let Some(range) = rows
            && group_size::has_shape(&range)
            && matches!(self.form().shape, Shape::Tiles | Shape::Layers)
        {
            return Executed { range, axis: Axis::X };
        }
        let range = rows.unwrap_or_else(|| group_size::enlarged(range, most, threads));
        let mapping = self.variant(range.group_size).mapping;
        let crosses_rows = matches!(mapping, LaneMapping::Any | LaneMapping::Ragged);
        let lines = || group_size::in_lines(range, self.subgroup_size(), most, threads);
        let range = Some(range).filter(|_| !crosses_rows).or_else(lines).unwrap_or(range);
        Executed { range, axis: Axis::X }
    }

    /// The launch in groups with rows of as many lanes as the kernel's values have room for, if those are more than is natural.
    fn wide_rows(&self, range: Range, most: u32, threads: u64) -> Option<Range> {
        let lanes = self.form().lanes;
        let is_short = lanes > self.subgroup_size() && !range.group_size[0].is_multiple_of(lanes);
        if is_short { group_size::in_rows(range, &[lanes], most, threads) } else { None }
    }

    /// The launch in groups of the shape that serves the kernel best, if lanes go along the dimension that does.
    fn shaped(&self, range: Range, axis: Axis, most: u32, threads: u64) -> Option<Range> {
        if !group_size::has_shape(&range) || self.form().axis.unwrap_or_default() != axis {
            return None;
        }
        match self.form().shape {
            Shape::Rows if self.reflection().has_loops => group_size::with_longer_rows(range, most, threads),
            Shape::Rows => group_size::with_long_rows(range, most, threads),
            Shape::SharedRows => group_size::with_shared_rows(range, most, threads),
            Shape::Tiles => group_size::with_tiles(range, most, threads),
            Shape::Layers => group_size::with_layers(range, most, threads),
            Shape::Own => None,
        }
    }

    /// Whether lanes may go along another dimension than x, as far as that is known without a look at the code.
    fn may_turn(&self, range: &Range) -> bool {
        let kernel = self.reflection();
        let is_long = Axis::OTHERS.into_iter().any(|axis| range.is_long(axis));
        is_long && !kernel.sees_width() && !kernel.prints && !kernel.may_wait
    }

    /// The dimension that lanes go along best in a launch.
    fn axis_of(&self, range: &Range) -> Axis {
        let Some(best) = self.form().axis else { return Axis::X };
        let is_long = |axis: &Axis| range.is_long(*axis);
        // Where rows are one work-item, what is longer is a better row.
        let best = if range.is_column() { Axis::OTHERS.into_iter().find(is_long) } else { Some(best) };
        best.filter(is_long).unwrap_or_default()
    }

    /// How work-items are best put together in sub-groups, where work-groups allow it.
    fn form(&self) -> Form {
        *self.program.compiled[self.at].form.get_or_init(|| self.best_form())
    }

    fn best_form(&self) -> Form {
        let (width, start) = (self.subgroup_size(), Instant::now());
        let widest = if self.may_widen() { self.most_lanes().max(width) } else { width };
        let cache = self.program.engine.cache().map(|cache| (cache, self.form_key([width, widest])));
        let known = cache.as_ref().and_then(|(cache, key)| cache.get(key));
        if let Some(known) = known.and_then(|entry| form_of_entry(&entry)) {
            return known;
        }
        let best = self.isolated(move |program, kernel, target| {
            let inlining = program.engine.config().inlining;
            lower::best_form(&program.module, kernel, [width, widest], inlining, target)
        });
        let took = start.elapsed();
        tracing::debug!("kernel '{}': its form is {best:?}, found in {took:?}", self.reflection().name);
        // Whatever is wrong is wrong with the code for x, too, and is told then.
        let Ok(best) = best else { return Form::of_width(width) };
        if let Some((cache, key)) = cache {
            cache.put(&key, &form_entry(best));
        }
        best
    }

    /// Hash of everything that [`best_form`](Self::best_form) depends on.
    fn form_key(&self, [width, widest]: [u32; 2]) -> Digest {
        let mut hasher = Hasher::new();
        hasher
            .field(&self.program.key)
            .field(self.reflection().name.as_bytes())
            .field(
                format!("form, {width} to {widest} lanes, {:?}", self.program.engine.config().inlining)
                    .as_bytes(),
            )
            .field(driver_id().as_bytes());
        hasher.finish()
    }
}

/// The entry of what [`Kernel::best_form`] found: numbers for the axis and the shape, and no code.
fn form_entry(best: Form) -> CachedCode {
    let axis = best.axis.map_or(0, |axis| 1 + axis.place() as u8);
    let info = CodeInfo { width: best.lanes, ..CodeInfo::default() };
    CachedCode { info, object: vec![axis, best.shape as u8] }
}

fn form_of_entry(entry: &CachedCode) -> Option<Form> {
    let &[axis, shape] = entry.object.as_slice() else { return None };
    let axis = match axis {
        0 => None,
        number => Some([Axis::X, Axis::Y, Axis::Z].into_iter().nth(usize::from(number) - 1)?),
    };
    let shape = Shape::ALL.into_iter().find(|known| *known as u8 == shape)?;
    Some(Form { axis, lanes: entry.info.width, shape })
}
