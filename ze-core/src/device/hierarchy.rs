//! Which devices a program sees: `ZE_FLAT_DEVICE_HIERARCHY` and `ZE_AFFINITY_MASK`, the variables of every Level Zero driver
//! (specification, "Environment Variables", read as Intel's driver reads them).

use crate::env::complain;
use ze_extensions::Hierarchy;

/// The variable that says how parts of devices are seen.
pub const HIERARCHY: &str = "ZE_FLAT_DEVICE_HIERARCHY";
/// The variable that says which devices are seen.
pub const AFFINITY_MASK: &str = "ZE_AFFINITY_MASK";

/// The hierarchy that the variable's value asks for; another value than the three is none, and `own` is used.
pub fn hierarchy(value: Option<&str>, own: Hierarchy) -> Hierarchy {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return own };
    Hierarchy::parse(value).unwrap_or_else(|| {
        complain(format_args!("{HIERARCHY}={value}: expected COMPOSITE, FLAT or COMBINED"));
        own
    })
}

/// The parts of each root device that the mask leaves, ascending; no part, and the device is not seen. `parts` has the number of
/// parts of each root device, 1 for one without sub-devices.
///
/// The mask is a list of numbers. In the composite hierarchy, `X` is a root device with all of its parts and `X.Y` one of
/// them. In the others, the parts of all devices are numbered on, and only `X` means something. What names no device is
/// passed over.
pub fn visible_parts(parts: &[u32], hierarchy: Hierarchy, mask: Option<&str>) -> Vec<Vec<u32>> {
    let mask = mask.filter(|mask| !mask.is_empty() && *mask != "default");
    let Some(mask) = mask else { return parts.iter().map(|&parts| (0..parts).collect()).collect() };
    let mut visible: Vec<Vec<u32>> = vec![Vec::new(); parts.len()];
    for entry in mask.split(',') {
        let numbers: Option<Vec<u32>> = entry.split('.').map(|number| number.trim().parse().ok()).collect();
        let named = numbers.as_deref().and_then(|numbers| match (hierarchy, numbers) {
            (Hierarchy::Composite, &[root]) => Some((root as usize, 0..*parts.get(root as usize)?)),
            (Hierarchy::Composite, &[root, part]) => {
                (part < *parts.get(root as usize)?).then_some((root as usize, part..part + 1))
            }
            (Hierarchy::Flat | Hierarchy::Combined, &[number]) => {
                let mut all = parts
                    .iter()
                    .enumerate()
                    .flat_map(|(root, &parts)| (0..parts).map(move |part| (root, part..part + 1)));
                all.nth(number as usize)
            }
            _ => None,
        });
        match named {
            Some((root, named)) => visible[root].extend(named),
            None => complain(format_args!("{AFFINITY_MASK}={mask}: '{entry}' is no device")),
        }
    }
    for parts in &mut visible {
        parts.sort_unstable();
        parts.dedup();
    }
    visible
}

/// Whether a root device of `all` parts has those that are seen as sub-devices. One part alone is the root device itself, but
/// where parts say whose they are.
pub fn has_sub_devices(hierarchy: Hierarchy, visible: usize, all: u32) -> bool {
    visible > 1 || (visible == 1 && all > 1 && hierarchy == Hierarchy::Combined)
}

#[cfg(test)]
mod tests {
    use super::*;
    use Hierarchy::{Combined, Composite, Flat};

    #[test]
    fn without_a_mask_everything_is_seen() {
        for mask in [None, Some(""), Some("default")] {
            assert_eq!(visible_parts(&[2, 1], Composite, mask), [vec![0, 1], vec![0]]);
        }
    }

    #[test]
    fn a_mask_names_devices_or_their_parts_in_the_composite_hierarchy() {
        let seen = |mask| visible_parts(&[2, 1, 4], Composite, Some(mask));
        assert_eq!(seen("0"), [vec![0, 1], vec![], vec![]]);
        assert_eq!(seen("0.1"), [vec![1], vec![], vec![]]);
        assert_eq!(seen("2.3,2.0,1.0"), [vec![], vec![0], vec![0, 3]]);
        assert_eq!(seen("2,2.1"), [vec![], vec![], vec![0, 1, 2, 3]]);
        assert_eq!(seen(" 1 , 0.0 "), [vec![0], vec![0], vec![]]);
    }

    #[test]
    fn a_mask_counts_the_parts_of_all_devices_in_the_flat_hierarchies() {
        for hierarchy in [Flat, Combined] {
            let seen = |mask| visible_parts(&[2, 1, 4], hierarchy, Some(mask));
            assert_eq!(seen("0"), [vec![0], vec![], vec![]]);
            assert_eq!(seen("1,2,6"), [vec![1], vec![0], vec![3]]);
            assert_eq!(seen("0.1"), [vec![], vec![], vec![]], "parts have no parts");
            assert_eq!(seen("7"), [vec![], vec![], vec![]]);
        }
    }

    #[test]
    fn what_is_no_device_is_passed_over() {
        let seen = |mask| visible_parts(&[2, 1], Composite, Some(mask));
        for mask in ["2", "0.2", "1.1", "x", "-1", "0.0.0", ",", "4294967296"] {
            assert_eq!(seen(mask), [vec![], vec![]], "{mask}");
        }
        assert_eq!(seen("9,x,1"), [vec![], vec![0]]);
    }

    #[test]
    fn a_part_alone_is_a_device_unless_parts_say_whose_they_are() {
        for hierarchy in [Composite, Flat, Combined] {
            assert!(has_sub_devices(hierarchy, 2, 2));
            assert!(!has_sub_devices(hierarchy, 1, 1));
            assert_eq!(has_sub_devices(hierarchy, 1, 2), hierarchy == Combined);
        }
    }

    #[test]
    fn the_hierarchy_is_one_of_three_words() {
        for (value, want) in [("COMPOSITE", Composite), ("FLAT", Flat), ("COMBINED", Combined)] {
            assert_eq!(hierarchy(Some(value), Flat), want);
        }
        for value in [None, Some(""), Some("flat"), Some("TILES")] {
            assert_eq!(hierarchy(value, Combined), Combined);
        }
    }
}
