//! What the system says of this process.

/// The number in a line of `/proc/self/status` that begins with this name: KiB of `VmRSS`, or how many `Threads` there are.
pub fn status(name: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("every process has it");
    let value = |line: &str| line.strip_prefix(name)?.strip_prefix(':').map(str::to_owned);
    let value = status.lines().find_map(value).expect("it has the line");
    value.split_whitespace().next().and_then(|number| number.parse().ok()).expect("a number")
}
