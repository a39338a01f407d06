//! The list of functions as data: every DDI table with its fields and the version of each.

use core::mem::{offset_of, size_of};

use crate::{api_version, ze_api_version_t};

/// A DDI table: what a `ze*Get…ProcAddrTable` function fills.
///
/// Every function has the API version from which on *every* loader that passes this version has the field, which is
/// what a driver must know in order not to write past the end of the loader's table. It was found by comparing the
/// tables of all releases of the loader with the version that the specification declares, and is the later of the two,
/// but for one function. The two disagree where a field was added within a version, so that an early release of this
/// version lacks it:
///
/// | function | declared | here |
/// |---|---|---|
/// | `zeKernelGetBinaryExp` | 1.11 | 1.12 |
/// | `zetMetricGroupCalculateMultipleMetricValuesExp` | 1.2 | 1.3 |
/// | `zetMetricGroupGetGlobalTimestampsExp` | 1.5 | 1.6 |
/// | `zetMetricGroupGetExportDataExp`, `zetMetricGroupCalculateMetricExportDataExp` | 1.6 | 1.7 |
/// | `zesRasGetStateExp`, `zesRasClearStateExp` | 1.0 | 1.8 |
/// | `zesPowerGetLimitsExt`, `zesPowerSetLimitsExt` | 1.0 | 1.4 |
/// | `zesDeviceGetCardPowerDomain` | 1.0 | 1.3 |
/// | `zesEngineGetActivity` | 1.7 | 1.0 (second of its table since the first release) |
///
/// `zesDeviceGetCardPowerDomain` is also the one field that was ever put in the middle of a table: a table of an older
/// version is the list without it, closed up. (Loaders 1.18.0 to 1.18.3 sorted the fields of API 1.11 in an order of
/// their own; they pass the same version as those after them and cannot be told apart.)
#[derive(Debug)]
pub struct Table {
    /// Prefix of the API: `ze`, `zes`, `zet` or `zer`.
    pub api: &'static str,
    /// Name of the C type.
    pub name: &'static str,
    /// The function that fills the table.
    pub get: &'static str,
    /// Size of the C type in bytes, at the version of the bindings.
    pub size: usize,
    /// In the order of the fields.
    pub functions: &'static [Function],
}

/// A function of the API.
#[derive(Debug)]
pub struct Function {
    pub name: &'static str,
    /// Name of its field in the table.
    pub field: &'static str,
    /// Byte offset of the field in the C type.
    pub offset: usize,
    /// The first version whose table has the field.
    pub since: ze_api_version_t,
}

macro_rules! tables {
    ($($api:ident $aggregate:ident { $($member:ident $table:ident $get:ident {
        $([$major:literal $minor:literal] $name:ident $field:ident ($($arg:ident: $ty:ty),*) -> $ret:ty;)*
    })* })*) => {
        /// Every DDI table, by API and in the order of its aggregate.
        pub static TABLES: &[Table] = &[$($(
            Table {
                api: stringify!($api),
                name: stringify!($table),
                get: stringify!($get),
                size: size_of::<crate::$table>(),
                functions: &[$(
                    Function {
                        name: stringify!($name),
                        field: stringify!($field),
                        offset: offset_of!(crate::$table, $field),
                        since: api_version($major, $minor),
                    },
                )*],
            },
        )*)*];
    };
}
for_each_function! { tables }

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::ZE_API_VERSION_CURRENT;

    #[test]
    fn every_function_is_listed_once() {
        let names: Vec<_> = TABLES.iter().flat_map(|table| table.functions).map(|f| f.name).collect();
        let count = |api| TABLES.iter().filter(|t| t.api == api).map(|t| t.functions.len()).sum::<usize>();
        assert_eq!([count("ze"), count("zes"), count("zet"), count("zer")], [248, 157, 69, 4]);
        assert_eq!(names.iter().collect::<HashSet<_>>().len(), 478);
        for table in TABLES {
            let class = table.get.strip_prefix(table.api).unwrap().strip_prefix("Get").unwrap();
            assert!(class.ends_with("ProcAddrTable"), "{}", table.get);
            assert!(table.functions.iter().all(|f| f.name.starts_with(table.api)), "{}", table.name);
        }
    }

    #[test]
    fn fields_lie_in_list_order_without_gaps() {
        for table in TABLES {
            for (index, function) in table.functions.iter().enumerate() {
                assert_eq!(function.offset, index * size_of::<usize>(), "{}.{}", table.name, function.field);
            }
            assert_eq!(table.size, table.functions.len() * size_of::<usize>(), "{}", table.name);
        }
    }

    #[test]
    fn tables_only_grow_at_their_end() {
        for table in TABLES {
            let since =
                table.functions.iter().filter(|f| f.name != "zesDeviceGetCardPowerDomain").map(|f| f.since.0);
            assert!(since.is_sorted(), "{}", table.name);
        }
    }

    #[test]
    fn versions_are_between_the_first_and_that_of_the_headers() {
        for function in TABLES.iter().flat_map(|table| table.functions) {
            let range = api_version(1, 0).0..=ZE_API_VERSION_CURRENT.0;
            assert!(range.contains(&function.since.0), "{}", function.name);
        }
    }

    /// What loader 1.8.12, which Debian 12 ships, allots.
    #[test]
    fn length_of_tables_of_api_1_4() {
        let length = |name| {
            let table = TABLES.iter().find(|table| table.name == name).unwrap();
            table.functions.iter().filter(|f| f.since.0 <= api_version(1, 4).0).count()
        };
        assert_eq!(length("ze_command_list_dditable_t"), 28);
        assert_eq!(length("ze_device_dditable_t"), 18);
        assert_eq!(length("zes_device_dditable_t"), 29);
    }
}
