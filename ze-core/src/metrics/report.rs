//! Reports: what a group counted from one moment to another, as the bytes that programs keep, and what is calculated from them.
//!
//! A report is words in the host's byte order: what kind of report it is, when it began and ended, its marker, and what each
//! counter of the group grew by. It needs no other report, and exported data says which counters there are, so that both are
//! understood wherever they are calculated.

use super::activation::Reading;
use super::perf::Event;
use super::table::{CounterRow, Description, ELAPSED, GROUPS, GroupRow, MARKER, Source, TIME};
use crate::error::{Error, Result};
use crate::fallible::check_room;
use ze_headers::*;

const WORD: usize = size_of::<u64>();
/// "ze_cpu" in the upper bytes of a report's first word; the lower ones are the group's.
const MAGIC: u64 = 0x7a65_5f63_7075 << 16;
/// Words in front of the counters: kind, begin, end, marker.
const HEAD: usize = 4;
/// What exported data begins with, and its version.
const EXPORT: [u8; 16] = *b"ze_cpu metrics 1";

/// A group, and which of its counters the system has.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Layout {
    group: u8,
    /// A bit each, from the lowest on.
    present: u8,
}

/// What a metric is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shown {
    Time,
    Elapsed,
    /// A counter, by its place among those that there are.
    Counter(usize),
    /// A quotient, by its place in the table, and its counters.
    Ratio(usize, [usize; 2]),
    Marker,
}

/// One value of each metric of a group.
type Values = Vec<zet_typed_value_t>;

impl Layout {
    /// The groups of this system: those of which it has a counter.
    pub fn discover() -> impl Iterator<Item = Layout> {
        GROUPS.iter().enumerate().filter_map(|(group, row)| {
            let is_there = |counter: &CounterRow| match counter.source {
                Source::Perf { kind, config } => Event { kind, config }.is_there(),
                Source::Busy(_) | Source::Engine(_) | Source::Process(_) => true,
            };
            let bit = |(bit, counter)| u8::from(is_there(counter)) << bit;
            let present = row.counters.iter().enumerate().map(bit).sum();
            (present != 0).then_some(Layout { group: group as u8, present })
        })
    }

    pub fn row(self) -> &'static GroupRow {
        &GROUPS[usize::from(self.group)]
    }

    /// The counters that there are.
    pub fn counters(self) -> impl Iterator<Item = &'static CounterRow> {
        let rows = self.row().counters.iter().enumerate();
        rows.filter(move |(bit, _)| self.present >> bit & 1 != 0).map(|(_, row)| row)
    }

    fn place(self, name: &str) -> Option<usize> {
        self.counters().position(|counter| counter.shown.name == name)
    }

    /// The metrics of each report, in their order.
    pub fn metrics(self) -> impl Iterator<Item = Shown> {
        let counters = (0..self.counters().count()).map(Shown::Counter);
        let ratios = self.row().ratios.iter().enumerate().filter_map(move |(at, ratio)| {
            Some(Shown::Ratio(at, [self.place(ratio.of)?, self.place(ratio.to)?]))
        });
        [Shown::Time, Shown::Elapsed].into_iter().chain(counters).chain(ratios).chain([Shown::Marker])
    }

    pub fn describe(self, shown: Shown) -> Description {
        match shown {
            Shown::Time => TIME,
            Shown::Elapsed => ELAPSED,
            Shown::Counter(at) => self.counters().nth(at).map_or(TIME, |counter| counter.shown),
            Shown::Ratio(at, _) => self.row().ratios[at].shown,
            Shown::Marker => MARKER,
        }
    }

    /// Bytes of a report.
    pub fn report_size(self) -> usize {
        (HEAD + self.counters().count()) * WORD
    }

    fn kind(self) -> u64 {
        MAGIC | u64::from(self.group) << 8 | u64::from(self.present)
    }

    /// Appends the report of what was counted between two readings.
    pub fn write(self, from: &Reading, to: &Reading, marker: u32, mut append: impl FnMut(&[u8])) {
        let head = [self.kind(), from.time, to.time, marker.into()];
        let counted = from.values.iter().zip(&to.values).map(|(from, to)| to.wrapping_sub(*from));
        head.into_iter().chain(counted).for_each(|word| append(&word.to_ne_bytes()));
    }

    /// The reports of raw data. Errors where these are none of this group. They end at zeros: programs hand over the whole
    /// buffer that they were told to have, and not what was read into it.
    fn reports(self, raw: &[u8]) -> Result<impl ExactSizeIterator<Item = Report<'_>>> {
        let size = self.report_size();
        let name = self.row().name;
        if !raw.len().is_multiple_of(size) {
            return Err(Error::InvalidSize(format!(
                "{} bytes of raw data: a report of group {name} has {size}",
                raw.len()
            )));
        }
        let written =
            raw.chunks_exact(size).take_while(|report| report.iter().any(|&byte| byte != 0)).count();
        let reports = raw[..written * size].chunks_exact(size).map(Report);
        if reports.clone().any(|report| report.word(0) != self.kind()) {
            return Err(Error::InvalidArgument(format!("the raw data are not reports of group {name}")));
        }
        Ok(reports)
    }

    fn value(self, shown: Shown, report: Report<'_>) -> zet_typed_value_t {
        let number = |ui64| (zet_value_t { ui64 }, ZET_VALUE_TYPE_UINT64);
        let (value, type_) = match shown {
            Shown::Time => number(report.word(2)),
            Shown::Elapsed => number(report.word(2).wrapping_sub(report.word(1))),
            Shown::Counter(at) => number(report.word(HEAD + at)),
            Shown::Ratio(_, [of, to]) => {
                let [of, to] = [of, to].map(|at| report.word(HEAD + at) as f64);
                (zet_value_t { fp64: if to == 0.0 { 0.0 } else { of / to } }, ZET_VALUE_TYPE_FLOAT64)
            }
            Shown::Marker => number(report.word(3)),
        };
        zet_typed_value_t { type_, value }
    }

    /// `zetMetricGroupCalculateMetricValues`: the values of each report behind each other, or of each metric the largest of
    /// all reports.
    pub fn calculate(self, raw: &[u8], how: zet_metric_group_calculation_type_t) -> Result<Values> {
        let reports = self.reports(raw)?;
        let metrics: Vec<Shown> = self.metrics().collect();
        let each = |report| metrics.iter().map(move |&shown| self.value(shown, report));
        match how {
            ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES => {
                let values = reports.len().saturating_mul(metrics.len());
                check_room("metric values", values.saturating_mul(size_of::<zet_typed_value_t>()))?;
                Ok(reports.flat_map(each).collect())
            }
            ZET_METRIC_GROUP_CALCULATION_TYPE_MAX_METRIC_VALUES => {
                let largest = |all: Values, next: Values| all.into_iter().zip(next).map(larger).collect();
                Ok(reports.map(|report| each(report).collect()).reduce(largest).unwrap_or_default())
            }
            other => Err(Error::InvalidEnumeration { what: "calculation type", value: other.0.into() }),
        }
    }

    /// `zetMetricGroupGetExportDataExp`: which counters there are, and the reports.
    pub fn export(self, raw: &[u8]) -> Result<Vec<u8>> {
        check_room("exported metrics", raw.len())?;
        let mut data = EXPORT.to_vec();
        data.extend(self.kind().to_le_bytes());
        data.extend(raw);
        Ok(data)
    }

    /// The layout and the reports of exported data.
    pub fn import(data: &[u8]) -> Result<(Layout, &[u8])> {
        let parts = data.strip_prefix(&EXPORT).and_then(|rest| rest.split_first_chunk::<WORD>());
        let layout = parts.and_then(|(kind, raw)| {
            let kind = u64::from_le_bytes(*kind);
            let [present, group, ..] = kind.to_le_bytes();
            let counters = GROUPS.get(usize::from(group))?.counters.len();
            let layout = Layout { group, present };
            let known = present != 0 && u32::from(present).checked_shr(counters as u32).unwrap_or(0) == 0;
            (kind == layout.kind() && known).then_some((layout, raw))
        });
        layout.ok_or_else(|| Error::InvalidArgument("the data were not exported by this driver".into()))
    }
}

fn larger((a, b): (zet_typed_value_t, zet_typed_value_t)) -> zet_typed_value_t {
    // SAFETY: the type says which member was written.
    let less = unsafe {
        if a.type_ == ZET_VALUE_TYPE_FLOAT64 {
            a.value.fp64 < b.value.fp64
        } else {
            a.value.ui64 < b.value.ui64
        }
    };
    if less { b } else { a }
}

/// The bytes of a report.
#[derive(Clone, Copy)]
struct Report<'a>(&'a [u8]);

impl Report<'_> {
    fn word(self, at: usize) -> u64 {
        self.0[at * WORD..].first_chunk().map_or(0, |word| u64::from_ne_bytes(*word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// "Processor" with cycles, instructions and branch misses.
    const LAYOUT: Layout = Layout { group: 3, present: 0b10_0011 };

    fn raw() -> Vec<u8> {
        let mut raw = Vec::new();
        let [first, second, third] = [(100, [10, 20, 30]), (150, [14, 32, 30]), (175, [15, 32, 31])]
            .map(|(time, values)| Reading { time, values: values.into() });
        LAYOUT.write(&first, &second, 0, |word| raw.extend(word));
        LAYOUT.write(&second, &third, 7, |word| raw.extend(word));
        raw
    }

    fn numbers(values: &[zet_typed_value_t]) -> Vec<f64> {
        let number = |value: &zet_typed_value_t| match value.type_ {
            // SAFETY: the type says which member was written.
            ZET_VALUE_TYPE_FLOAT64 => unsafe { value.value.fp64 },
            // SAFETY: as above.
            _ => unsafe { value.value.ui64 as f64 },
        };
        values.iter().map(number).collect()
    }

    #[test]
    fn a_report_has_what_its_counters_grew_by() {
        let names: Vec<_> = LAYOUT.metrics().map(|shown| LAYOUT.describe(shown).name).collect();
        let expected = ["ReportTime", "ElapsedTime", "Cycles", "Instructions", "BranchMisses"];
        assert_eq!(names[..5], expected);
        assert_eq!(names[5..], ["InstructionsPerCycle", "StreamMarker"]);
        let all = LAYOUT.calculate(&raw(), ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES);
        let first = [150.0, 50.0, 4.0, 12.0, 0.0, 3.0, 0.0];
        let second = [175.0, 25.0, 1.0, 0.0, 1.0, 0.0, 7.0];
        assert_eq!(numbers(&all.expect("two reports")), [first, second].concat());
        let largest = LAYOUT.calculate(&raw(), ZET_METRIC_GROUP_CALCULATION_TYPE_MAX_METRIC_VALUES);
        assert_eq!(numbers(&largest.expect("two reports")), [175.0, 50.0, 4.0, 12.0, 1.0, 3.0, 7.0]);
    }

    #[test]
    fn a_quotient_is_there_where_both_counters_are() {
        let lone = Layout { present: 0b10, ..LAYOUT };
        assert!(!lone.metrics().any(|shown| matches!(shown, Shown::Ratio(..))));
    }

    #[test]
    fn what_is_no_report_of_the_group_is_refused() {
        let how = ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES;
        assert!(matches!(LAYOUT.calculate(&raw()[1..], how), Err(Error::InvalidSize(_))));
        let foreign = vec![1; LAYOUT.report_size()];
        assert!(matches!(LAYOUT.calculate(&foreign, how), Err(Error::InvalidArgument(_))));
        let other = Layout { present: 0b11_0001, ..LAYOUT };
        assert!(matches!(other.calculate(&raw(), how), Err(Error::InvalidArgument(_))));
        let no_type = zet_metric_group_calculation_type_t(9);
        assert!(matches!(LAYOUT.calculate(&raw(), no_type), Err(Error::InvalidEnumeration { .. })));
    }

    #[test]
    fn reports_end_where_nothing_was_read_into_the_buffer() {
        let how = ZET_METRIC_GROUP_CALCULATION_TYPE_METRIC_VALUES;
        let buffer = [raw(), vec![0; 3 * LAYOUT.report_size()]].concat();
        let [of_buffer, of_reports] =
            [&buffer, &raw()].map(|data| LAYOUT.calculate(data, how).expect("reports"));
        assert_eq!(numbers(&of_buffer), numbers(&of_reports));
        assert!(LAYOUT.calculate(&buffer[raw().len()..], how).expect("no reports").is_empty());
    }

    #[test]
    fn exported_data_say_what_they_are() {
        let data = LAYOUT.export(&raw()).expect("there is memory");
        let (layout, reports) = Layout::import(&data).expect("its own");
        assert_eq!((layout, reports), (LAYOUT, &*raw()));
        for length in [0, 15, 16, 23] {
            assert!(Layout::import(&data[..length]).is_err());
        }
        // A group that there is not, a counter that the group does not have, none, and another driver's.
        for (at, byte) in [(17, 200), (16, 0xff), (16, 0), (20, 0), (0, 0)] {
            let mut data = data.clone();
            data[at] = byte;
            assert!(Layout::import(&data).is_err(), "byte {at}: {byte}");
        }
    }

    #[test]
    fn tables_name_a_metric_of_a_group_once_and_ratios_have_their_counters() {
        for (group, row) in GROUPS.iter().enumerate() {
            assert!(row.counters.len() <= u8::BITS as usize);
            let present = ((1u32 << row.counters.len()) - 1) as u8;
            let layout = Layout { group: group as u8, present };
            let names: std::collections::HashSet<_> =
                layout.metrics().map(|shown| layout.describe(shown).name).collect();
            assert_eq!(names.len(), 3 + row.counters.len() + row.ratios.len(), "{}", row.name);
            assert!(GROUPS[..group].iter().all(|other| other.name != row.name));
        }
    }
}
