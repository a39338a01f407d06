//! From the C structures to JSON.

use ze_headers::*;

pub use serde_json::{Map, Value};

/// The text of a fixed-size character array.
pub fn text(characters: &[c_char]) -> String {
    let bytes: Vec<u8> = characters.iter().take_while(|&&c| c != 0).map(|&c| c as u8).collect();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A query that failed.
pub fn error(result: String) -> Value {
    Value::Object(Map::from_iter([("error".to_owned(), Value::from(result))]))
}

/// The value, or why there is none.
pub fn value_or_error(value: Result<Value, String>) -> Value {
    value.unwrap_or_else(error)
}

/// Fields of the C structures.
pub trait Field {
    fn json(&self) -> Value;
}

macro_rules! numbers {
    ($($type:ty)*) => { $(impl Field for $type { fn json(&self) -> Value { Value::from(*self) } })* };
}
numbers! { u16 u32 u64 usize i32 i64 f64 }

/// `ze_bool_t`: no number of the API is this short.
impl Field for u8 {
    fn json(&self) -> Value {
        Value::from(*self != 0)
    }
}

impl<const N: usize> Field for [c_char; N] {
    fn json(&self) -> Value {
        Value::from(text(self))
    }
}

impl<const N: usize> Field for [u32; N] {
    fn json(&self) -> Value {
        Value::from(self.to_vec())
    }
}

impl<const N: usize> Field for [u64; N] {
    fn json(&self) -> Value {
        Value::from(self.to_vec())
    }
}

/// A UUID as people write it.
pub fn uuid(bytes: &[u8; 16]) -> Value {
    let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let parts = [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]];
    Value::from(parts.join("-"))
}

/// A version as `ZE_MAKE_VERSION` packs it.
pub fn version(packed: u32) -> Value {
    Value::from(format!("{}.{}", packed >> 16, packed & 0xffff))
}

/// An object with the structure's fields under their names. `name = value` is a field of its own.
macro_rules! object {
    ($from:expr; $($field:ident)* $(; $($name:ident = $value:expr),* $(,)?)?) => {{
        #[allow(unused_variables)]
        let from = &$from;
        #[allow(unused_mut)]
        let mut map = $crate::json::Map::new();
        $(map.insert(stringify!($field).to_owned(), $crate::json::Field::json(&from.$field));)*
        $($(map.insert(stringify!($name).to_owned(), $crate::json::Value::from($value));)*)?
        $crate::json::Value::Object(map)
    }};
}
pub(crate) use object;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_groups_of_digits() {
        let bytes = std::array::from_fn(|index| index as u8);
        assert_eq!(uuid(&bytes), "00010203-0405-0607-0809-0a0b0c0d0e0f");
    }

    #[test]
    fn objects_have_the_fields_in_their_order() {
        let value = object!(zes_freq_range_t { min: 1.0, max: 2.5 }; min max; unit = "MHz");
        assert_eq!(value.to_string(), r#"{"min":1.0,"max":2.5,"unit":"MHz"}"#);
    }
}
