//! The other process of tests that share memory and events. It reads lines of commands and answers each with a line:
//! what it read, or `error` and the reason. The first argument, if any, is the user that it becomes before it begins.
//!
//! `open HANDLE` opens an IPC handle of memory (64 bytes in hexadecimal digits) and says its number; `read NUMBER OFFSET` and
//! `write NUMBER OFFSET VALUE` access a byte of what it opened, through a command list; `close NUMBER`.
//! `pool HANDLE` opens an event pool; `event POOL INDEX` makes an event of it; `wait EVENT NANOSECONDS`, `signal EVENT`,
//! `reset EVENT` and `query EVENT` act on it as the host; `list EVENT` waits for it in a command list; `time EVENT` says the
//! kernel's start and end; `drop EVENT`, `unpool POOL`. `counter HANDLE` opens a counter-based event; `append EVENT OTHER` appends
//! a command that waits for another event and signals it; `uncounter EVENT`.

use std::ffi::c_void;
use std::io::{BufRead, Write};

use ze_headers::*;
use ze_tests::{CommandList, ListOptions, Result, platform};

/// Enough for anything that is not wrong.
const NANOSECONDS: u64 = 60_000_000_000;

/// The bytes of hexadecimal digits.
fn bytes(digits: &str) -> [std::ffi::c_char; 64] {
    let mut bytes = [0; 64];
    for (byte, digits) in bytes.iter_mut().zip(digits.as_bytes().chunks(2)) {
        let digits = std::str::from_utf8(digits).expect("digits");
        *byte = u8::from_str_radix(digits, 16).expect("two digits") as std::ffi::c_char;
    }
    bytes
}

#[derive(Default)]
struct Open {
    memory: Vec<*mut c_void>,
    pools: Vec<ze_event_pool_handle_t>,
    events: Vec<ze_event_handle_t>,
    lists: Vec<CommandList>,
}

impl Open {
    fn answer(&mut self, words: &[&str]) -> Result<String> {
        let number = |at: usize| words[at].parse::<usize>().expect("a number");
        let platform = platform();
        let check = |function, code| platform.check(function, code).map(|()| "done".to_owned());
        let list = || CommandList::immediate(ListOptions::synchronous());
        // SAFETY: live handles; numbers are those of what was opened before.
        unsafe {
            match words[0] {
                "open" => {
                    let handle = ze_ipc_mem_handle_t { data: bytes(words[1]) };
                    let (mut memory, api) = (std::ptr::null_mut(), &platform.api);
                    let code =
                        api.zeMemOpenIpcHandle(platform.context, platform.device, handle, 0, &mut memory);
                    platform.check("zeMemOpenIpcHandle", code)?;
                    self.memory.push(memory);
                    Ok((self.memory.len() - 1).to_string())
                }
                "read" => {
                    let mut byte = 0u8;
                    let from = self.memory[number(1)].byte_add(number(2));
                    list()?.copy((&raw mut byte).cast(), from, 1, None, &[])?;
                    Ok(byte.to_string())
                }
                "write" => {
                    let byte = number(3) as u8;
                    let to = self.memory[number(1)].byte_add(number(2));
                    list()?.copy(to, (&raw const byte).cast(), 1, None, &[])?;
                    Ok("done".to_owned())
                }
                "close" => {
                    let memory = self.memory[number(1)];
                    check("zeMemCloseIpcHandle", platform.api.zeMemCloseIpcHandle(platform.context, memory))
                }
                "pool" => {
                    let handle = ze_ipc_event_pool_handle_t { data: bytes(words[1]) };
                    let mut pool = std::ptr::null_mut();
                    let code = platform.api.zeEventPoolOpenIpcHandle(platform.context, handle, &mut pool);
                    platform.check("zeEventPoolOpenIpcHandle", code)?;
                    self.pools.push(pool);
                    Ok((self.pools.len() - 1).to_string())
                }
                "event" => {
                    let desc = ze_event_desc_t {
                        stype: ZE_STRUCTURE_TYPE_EVENT_DESC,
                        index: number(2) as u32,
                        ..Default::default()
                    };
                    let mut event = std::ptr::null_mut();
                    let code = platform.api.zeEventCreate(self.pools[number(1)], &desc, &mut event);
                    platform.check("zeEventCreate", code)?;
                    self.events.push(event);
                    Ok((self.events.len() - 1).to_string())
                }
                "counter" => {
                    let handle = ze_ipc_event_counter_based_handle_t { data: bytes(words[1]) };
                    let mut event = std::ptr::null_mut();
                    let code =
                        platform.api.zeEventCounterBasedOpenIpcHandle(platform.context, handle, &mut event);
                    platform.check("zeEventCounterBasedOpenIpcHandle", code)?;
                    self.events.push(event);
                    Ok((self.events.len() - 1).to_string())
                }
                "append" => {
                    // Signals an event behind another one.
                    let list = CommandList::immediate(ListOptions::in_order())?;
                    let mut after = self.events[number(2)];
                    let event = self.events[number(1)];
                    let code = platform.api.zeCommandListAppendBarrier(list.handle, event, 1, &mut after);
                    self.lists.push(list);
                    check("zeCommandListAppendBarrier", code)
                }
                "uncounter" => check(
                    "zeEventCounterBasedCloseIpcHandle",
                    platform.api.zeEventCounterBasedCloseIpcHandle(self.events[number(1)]),
                ),
                "wait" => check(
                    "zeEventHostSynchronize",
                    platform.api.zeEventHostSynchronize(self.events[number(1)], number(2) as u64),
                ),
                "signal" => {
                    check("zeEventHostSignal", platform.api.zeEventHostSignal(self.events[number(1)]))
                }
                "reset" => check("zeEventHostReset", platform.api.zeEventHostReset(self.events[number(1)])),
                "query" => {
                    check("zeEventQueryStatus", platform.api.zeEventQueryStatus(self.events[number(1)]))
                }
                "list" => {
                    let list = CommandList::immediate(ListOptions::asynchronous())?;
                    let mut event = self.events[number(1)];
                    let code = platform.api.zeCommandListAppendWaitOnEvents(list.handle, 1, &mut event);
                    platform.check("zeCommandListAppendWaitOnEvents", code)?;
                    list.synchronize(NANOSECONDS)?;
                    Ok("done".to_owned())
                }
                "time" => {
                    let mut times = ze_kernel_timestamp_result_t::default();
                    let code = platform.api.zeEventQueryKernelTimestamp(self.events[number(1)], &mut times);
                    platform.check("zeEventQueryKernelTimestamp", code)?;
                    Ok(format!("{} {}", times.global.kernelStart, times.global.kernelEnd))
                }
                "drop" => check("zeEventDestroy", platform.api.zeEventDestroy(self.events[number(1)])),
                "unpool" => check(
                    "zeEventPoolCloseIpcHandle",
                    platform.api.zeEventPoolCloseIpcHandle(self.pools[number(1)]),
                ),
                other => panic!("no command '{other}'"),
            }
        }
    }
}

fn main() {
    platform();
    if let Some(user) = std::env::args().nth(1) {
        let user = user.parse().expect("a user's number");
        // SAFETY: a call with numbers.
        assert_eq!(unsafe { libc::setresuid(user, user, user) }, 0, "only root becomes somebody else");
    }
    let mut open = Open::default();
    for line in std::io::stdin().lock().lines() {
        let line = line.expect("text");
        let words: Vec<_> = line.split_whitespace().collect();
        let answer = open.answer(&words).unwrap_or_else(|error| format!("error {error:?}"));
        println!("{}", answer.replace('\n', " "));
        std::io::stdout().flush().expect("somebody reads");
    }
}
