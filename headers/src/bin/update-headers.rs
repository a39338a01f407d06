//! Generates `bindings.rs` and `functions.rs` from the C headers of Level Zero.
//!
//! ```text
//! update-headers INCLUDE_DIR SOURCE_DIR
//! ```
//!
//! `INCLUDE_DIR` holds `ze_api.h` and its siblings, directly or in `level_zero/`. `SOURCE_DIR` is `headers/src`. The
//! headers do not say in which API version a function appeared, so versions already in `functions.rs` are kept, and a
//! function that is new gets the version of the headers themselves.

use std::collections::HashMap;
use std::error::Error;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

use bindgen::callbacks::{EnumVariantCustomBehavior, EnumVariantValue, ItemInfo, ParseCallbacks};
use bindgen::{EnumVariation, Formatter};
use quote::ToTokens;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// The prefixes of the four APIs, in the order of the list of functions.
const APIS: [&str; 4] = ["ze", "zes", "zet", "zer"];

fn main() -> Result<()> {
    let mut args = env::args_os().skip(1).map(PathBuf::from);
    let (Some(include), Some(source)) = (args.next(), args.next()) else {
        return Err("usage: update-headers INCLUDE_DIR SOURCE_DIR".into());
    };
    let include = match include.join("level_zero/ze_api.h").exists() {
        true => include.join("level_zero"),
        false => include,
    };
    if !include.join("zer_api.h").exists() {
        return Err(format!(
            "{} has no zer_api.h: headers of API 1.14 or later are needed",
            include.display()
        )
        .into());
    }

    let types = builder(&include).ignore_functions().generate()?.to_string();
    let declarations = builder(&include).generate()?.to_string();
    fs::write(source.join("bindings.rs"), types_file(&types))?;

    let list = source.join("functions.rs");
    let known = known_versions(&fs::read_to_string(&list).unwrap_or_default());
    let api = Api::parse(&declarations)?;
    fs::write(&list, api.functions_file(&known)?)?;
    Ok(())
}

/// bindgen with what both runs share.
fn builder(include: &Path) -> bindgen::Builder {
    bindgen::builder()
        .header_contents("level_zero.h", "#include \"ze_ddi_common.h\"\n")
        .clang_arg(format!("-I{}", include.display()))
        .allowlist_item("_?ze[srtx]?_.*")
        .allowlist_item("ze[srt]?[A-Z].*")
        .allowlist_item("ZE[STRX]?_.*")
        // What only a tracing layer needs: the arguments of every function once more. (`…_cb_params_t` are those of
        // the callbacks of an acceleration structure's build.)
        .blocklist_item("_?ze_(.*[^_]cb|.*[^c]b|.*[^b])_params_t")
        .blocklist_item("_?ze_([^_]+_)+callbacks_t")
        .blocklist_item("ze_pfn.*Cb_t")
        .opaque_type("_?ze_callbacks_t")
        // Data that the loader exports for programs.
        .blocklist_item("zeDefault.*")
        .blocklist_item("ze[srtx]?_pfnGet.*ProcAddrTable_t")
        .ctypes_prefix("core::ffi")
        .use_core()
        .generate_cstr(true)
        .generate_comments(false)
        .layout_tests(false)
        .merge_extern_blocks(true)
        .prepend_enum_name(false)
        // Values that are not listed come from newer programs: never a Rust enum. Bits of flags are plain integers, so
        // that they combine with the `…_flags_t` fields without a conversion.
        .default_enum_style(EnumVariation::NewType { is_bitfield: false, is_global: true })
        .constified_enum("_ze[srtx]?_.*_flag_t")
        .derive_default(true)
        .no_default("ze.*_dditable_.*")
        .no_debug("ze.*_dditable_.*")
        .formatter(Formatter::Prettyplease)
        .parse_callbacks(Box::new(Names))
}

/// What the generated items are called, and which are left out.
#[derive(Debug)]
struct Names;

impl ParseCallbacks for Names {
    /// Names a struct or enum as its typedef: `ze_device_properties_t`, not `_ze_device_properties_t`.
    fn item_name(&self, item: ItemInfo) -> Option<String> {
        let name = item.name.strip_prefix('_')?;
        // The typedef of a handle is the pointer, so the struct behind it must keep its own name.
        let handle = name.ends_with("_handle_t") && name != "ze_handle_t";
        (name.starts_with("ze") && !handle).then(|| name.to_owned())
    }

    /// `…_FORCE_UINT32` only tells a C compiler how wide the enum is.
    fn enum_variant_behavior(
        &self,
        _: Option<&str>,
        name: &str,
        _: EnumVariantValue,
    ) -> Option<EnumVariantCustomBehavior> {
        name.ends_with("_FORCE_UINT32").then_some(EnumVariantCustomBehavior::Hide)
    }
}

fn types_file(bindings: &str) -> String {
    format!(
        "//! Types and constants of the C headers. Written by `ci/update-headers`.\n\n{}",
        bindings.split_once("*/").map_or(bindings, |(_, rest)| rest).trim_start()
    )
}

/// The versions in the list as it is committed: function name to (major, minor).
fn known_versions(list: &str) -> HashMap<String, (u32, u32)> {
    let mut known = HashMap::new();
    for line in list.lines() {
        let mut words = line.split(['[', ']', ' ']).filter(|word| !word.is_empty());
        let (Some(major), Some(minor), Some(name)) = (words.next(), words.next(), words.next()) else {
            continue;
        };
        if let (Ok(major), Ok(minor)) = (major.parse(), minor.parse()) {
            known.insert(name.to_owned(), (major, minor));
        }
    }
    known
}

/// What the list of functions is made from.
struct Api {
    /// Every function by name: its arguments and then its result, as Rust source.
    signatures: HashMap<String, Vec<String>>,
    /// Every table type by name, its fields in order: (field, type of the field).
    tables: HashMap<String, Vec<(String, String)>>,
    version: (u32, u32),
}

impl Api {
    fn parse(source: &str) -> Result<Api> {
        let mut api = Api { signatures: HashMap::new(), tables: HashMap::new(), version: (1, 0) };
        for item in syn::parse_file(source)?.items {
            match item {
                syn::Item::ForeignMod(block) => {
                    for item in block.items {
                        if let syn::ForeignItem::Fn(function) = item {
                            let mut parts: Vec<_> = function.sig.inputs.iter().map(source_of).collect();
                            parts.push(source_of(&function.sig.output));
                            api.signatures.insert(function.sig.ident.to_string(), parts);
                        }
                    }
                }
                syn::Item::Struct(item) if item.ident.to_string().contains("dditable") => {
                    let fields = item.fields.iter().map(|field| {
                        let name = field.ident.as_ref().map(ToString::to_string).unwrap_or_default();
                        (name, source_of(&field.ty))
                    });
                    api.tables.insert(item.ident.to_string(), fields.collect());
                }
                syn::Item::Const(item) => {
                    let version = item.ident.to_string();
                    let Some((major, minor)) =
                        version.strip_prefix("ZE_API_VERSION_").and_then(|v| v.split_once('_'))
                    else {
                        continue;
                    };
                    if let (Ok(major), Ok(minor)) = (major.parse(), minor.parse()) {
                        api.version = api.version.max((major, minor));
                    }
                }
                _ => {}
            }
        }
        Ok(api)
    }

    /// The source of `functions.rs`.
    fn functions_file(&self, known: &HashMap<String, (u32, u32)>) -> Result<String> {
        let mut out = String::from(HEAD);
        for api in APIS {
            // The aggregate names the tables in the order of the headers.
            let aggregate = format!("{api}_dditable_t");
            let members = self.tables.get(&aggregate).ok_or_else(|| format!("no table {aggregate}"))?;
            writeln!(out, "            {api} {api}_dditable_driver_t {{")?;
            for (member, table) in members {
                writeln!(out, "                {member} {table} {api}Get{member}ProcAddrTable {{")?;
                for (field, pointer) in &self.tables[table] {
                    let name = pointer.replace("_pfn", "");
                    let name = name.strip_suffix("_t").unwrap_or(&name);
                    let signature = self
                        .signatures
                        .get(name)
                        .ok_or_else(|| format!("{table}.{field}: no function {name}"))?;
                    let (major, minor) = known.get(name).unwrap_or(&self.version);
                    let head = format!("                    [{major} {minor}] {name} {field} ");
                    out.push_str(&wrapped(head, signature));
                }
                writeln!(out, "                }}")?;
            }
            writeln!(out, "            }}")?;
        }
        out.push_str(TAIL);
        Ok(out)
    }
}

/// The source text of a piece of syntax, spaced as `rustfmt` does it.
fn source_of(tokens: &impl ToTokens) -> String {
    let mut text = tokens.to_token_stream().to_string();
    for (from, to) in
        [("core :: ffi :: ", ""), (":: ", ""), (" : ", ": "), ("* mut", "*mut"), ("* const", "*const")]
    {
        text = text.replace(from, to);
    }
    text
}

/// A function of the list: `head(arguments) result;`, broken between arguments where a line gets too long.
fn wrapped(head: String, signature: &[String]) -> String {
    const WIDTH: usize = 110;
    let (result, arguments) = signature.split_last().expect("a signature ends with its result");
    let (mut out, mut line) = (String::new(), head + "(");
    for (index, argument) in arguments.iter().enumerate() {
        let last = index + 1 == arguments.len();
        let piece = if last { format!("{argument}) {result};") } else { format!("{argument},") };
        if line.len() + piece.len() > WIDTH {
            out.push_str(line.trim_end());
            out.push('\n');
            line = " ".repeat(24);
        }
        line.push_str(&piece);
        line.push(' ');
    }
    if arguments.is_empty() {
        write!(line, ") {result};").expect("a string takes everything");
    }
    out + line.trim_end() + "\n"
}

const HEAD: &str = r"//! The one list of every function of the API. Written by `ci/update-headers`, which keeps the versions.

/// Gives the list of every function to the macro `$then`.
///
/// One block an API: its prefix and the type of its aggregate table. In it one block a DDI table, in the order of the
/// aggregate: its member there, its type, and the function that fills it. In it one line a function, in the order of
/// the table's fields: the API version in which it appeared, its name, its field and its signature.
/// [`Table`](crate::Table) says how the versions were found.
#[macro_export]
macro_rules! for_each_function {
    ($then:ident) => {
        $then! {
";

const TAIL: &str = r"        }
    };
}
";
