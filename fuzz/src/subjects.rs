//! The subjects of the fuzzers: what must hold for every input.

use super::mutate::{check, check_linked};
use spirv_env::{Environment, ModuleInput};
use spirv_env::{container, foreign};
use ze_extensions::DeviceProfile;

thread_local! {
    /// Found out once: reading it takes longer than most inputs.
    static HOST: DeviceProfile = DeviceProfile::host();
}

/// A subject by the name of its fuzzer, which is that of its folder of inputs.
pub type Subject = (&'static str, fn(&[u8]));

pub const SUBJECTS: [Subject; 4] =
    [("intake", intake), ("linking", linking), ("container", native), ("profile", profile)];

/// A module.
pub fn intake(bytes: &[u8]) {
    HOST.with(|host| check(bytes, &Environment::new(host)));
}

/// Two modules, one behind the other.
pub fn linking(bytes: &[u8]) {
    let (first, second) = halves(bytes);
    HOST.with(|host| check_linked(&[first, second], &Environment::new(host)));
}

/// What [`linking`] takes its input for: the second module begins with the second magic number.
pub fn halves(bytes: &[u8]) -> (&[u8], &[u8]) {
    const MAGIC: [u8; 4] = spirv::MAGIC_NUMBER.to_le_bytes();
    let mut words = bytes.chunks_exact(4).enumerate().skip(1);
    let second = words.find(|(_, word)| **word == MAGIC).map_or(bytes.len() / 4, |(at, _)| at);
    bytes.split_at(4 * second)
}

/// A native binary as it is, and as the body of one: the checksum would keep all damage away from what is behind it. What is one
/// of another compiler lies in the bytes.
pub fn native(bytes: &[u8]) {
    if let Ok(found) = foreign::find(bytes) {
        assert!(bytes.as_ptr_range().contains(&found.spirv.as_ptr()));
        let _ = HOST.with(|host| spirv_env::build(&[ModuleInput::new(found.spirv)], &Environment::new(host)));
    }
    for binary in [bytes, &container::seal(bytes)] {
        let Ok(inputs) = container::decode(binary) else { continue };
        assert_eq!(container::encode(&inputs), binary, "one form of each binary");
        for input in inputs.iter().take(4) {
            let _ = HOST.with(|host| spirv_env::build(&[input.source()], &Environment::new(host)));
        }
    }
}

/// A profile file.
pub fn profile(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let read = |text: &str| HOST.with(|host| DeviceProfile::from_toml_over(text, host));
    match read(text) {
        Ok(profile) => {
            let again = profile.to_toml().map(|text| read(&text));
            assert!(matches!(again, Ok(Ok(again)) if again == profile), "{text}");
            for parts in 1..=profile.parts() {
                let share = profile.share(parts);
                assert!(share.topology.eus() > 0 && share.topology.eus() <= profile.topology.eus());
                assert!(share.limits.max_alloc_size <= share.memory.total_size);
            }
        }
        Err(error) => assert!(!error.to_string().is_empty()),
    }
}
