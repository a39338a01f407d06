//! The whole of what there is to say, as JSON.
//!
//! What changes from one moment to the next is under keys named `now`, which comparisons leave out.

use serde_json::Value;
use ze_headers::ze_device_handle_t;

use crate::api::Api;
use crate::json::{Map, error, object, uuid, value_or_error};
use crate::{core, sysman};

/// The key of what changes.
pub const NOW: &str = "now";

pub fn report(api: &Api, library: &str) -> Value {
    let drivers = core::drivers(api);
    // After the core's, so that system management finds the core initialised, whichever way the driver wants it.
    let managed = sysman::devices(api);
    let device = |device: ze_device_handle_t| {
        let mut value = core::device(api, device);
        value["sysman"] = match &managed {
            Err(result) => error(result.clone()),
            Ok(devices) => devices
                .iter()
                .find(|(_, managed)| {
                    let known = sysman::device_uuid(api, *managed).map(|id| uuid(&id));
                    known.is_ok_and(|id| id == value["properties"]["uuid"])
                })
                .map_or(Value::Null, |(driver, managed)| sysman::device(api, *driver, *managed)),
        };
        value
    };
    let drivers = drivers.map(|drivers| {
        drivers.into_iter().map(|driver| core::driver(api, driver, device)).collect::<Value>()
    });
    let versions = api.versions().into_iter().map(|(name, version)| (name, Value::from(version)));
    object!((); ;
        loader = object!((); ;
            library = library,
            components = Value::Object(versions.collect::<Map<_, _>>()),
        ),
        drivers = value_or_error(drivers),
    )
}

/// The value without what changes.
pub fn lasting(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let kept = map.iter().filter(|(key, _)| *key != NOW);
            Value::Object(kept.map(|(key, value)| (key.clone(), lasting(value))).collect())
        }
        Value::Array(items) => items.iter().map(lasting).collect(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_changes_is_left_out_at_any_depth() {
        let value = json!({"a": [{"now": 1, "b": 2}], "now": {"c": 3}});
        assert_eq!(lasting(&value), json!({"a": [{"b": 2}]}));
    }
}
