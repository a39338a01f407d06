//! The machine that code is made for: CPU, features, data layout, and LLVM's target machines for it.

use super::JitError;
use super::context::{c_string, take_message};
use super::pipeline::Tier;
use super::tuning::Make;
use crate::analysis::guards::Worth;
use crate::fork::{Mutex, OnceLock};
use llvm_sys::core::LLVMDisposeMessage;
use llvm_sys::support::LLVMParseCommandLineOptions;
use llvm_sys::target::{LLVMCopyStringRepOfTargetData, LLVMDisposeTargetData};
use llvm_sys::target_machine::*;
use std::ffi::{CStr, CString};

/// Limits what the host CPU has, so that code for lesser CPUs can be made and tested on a greater one.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Isa {
    /// What every x86-64 CPU has, with SSE 4.2 (x86-64-v2).
    Sse,
    /// AVX2 and FMA (x86-64-v3).
    Avx2,
    /// AVX-512 F, BW, CD, DQ and VL (x86-64-v4).
    Avx512,
}

/// Bits of a line of the cache.
const LINE_BITS: u32 = 512;

/// A CPU to make code for. Shared by all compilations; each borrows a target machine for its time.
pub struct Target {
    triple: CString,
    cpu: CString,
    features: CString,
    data_layout: CString,
    simd_bits: u32,
    /// What is fast.
    pub make: Make,
    /// Whether stores go past the caches where a launch is larger than those.
    pub streams_stores: bool,
    /// Whether glibc's vector math library is there.
    pub libmvec: bool,
    /// LLVM's target machines that nobody uses at the moment. They are not thread-safe.
    machines: Mutex<Vec<(Tier, Machine)>>,
}

impl Target {
    /// The CPU that this process runs on.
    pub fn host() -> Result<Target, JitError> {
        initialise();
        // SAFETY: both return a fresh message that we own.
        let (cpu, features) =
            unsafe { (take_message(LLVMGetHostCPUName()), take_message(LLVMGetHostCPUFeatures())) };
        let mut target = Target::new(&cpu, &features)?;
        target.make = Make::of_host(target.has_avx512());
        target.streams_stores = target.make.streams_stores();
        Ok(target)
    }

    /// The host with no more than `isa`. Code for it runs here only if the host has that much.
    pub fn limited(isa: Isa) -> Result<Target, JitError> {
        initialise();
        let cpu = match isa {
            Isa::Sse => "x86-64-v2",
            Isa::Avx2 => "x86-64-v3",
            Isa::Avx512 => "x86-64-v4",
        };
        let features = match isa {
            Isa::Sse => "",
            Isa::Avx2 => "+avx2,+fma,+f16c",
            Isa::Avx512 => "+avx512f,+avx512bw,+avx512cd,+avx512dq,+avx512vl,+avx2,+fma,+f16c",
        };
        Target::new(cpu, features)
    }

    /// Another CPU, for which code can be made and looked at.
    #[cfg(test)]
    pub fn named(cpu: &str, features: &str) -> Result<Target, JitError> {
        initialise();
        Target::new(cpu, features)
    }

    fn new(cpu: &str, features: &str) -> Result<Target, JitError> {
        // SAFETY: a fresh message that we own.
        let triple = unsafe { take_message(LLVMGetDefaultTargetTriple()) };
        let has = |feature: &str| features.split(',').any(|f| f.strip_prefix('+') == Some(feature));
        let simd_bits = match () {
            () if ["avx512f", "avx512bw", "avx512dq", "avx512vl"].into_iter().all(has) => 512,
            () if has("avx2") && has("fma") => 256,
            () => 128,
        };
        // LLVM takes a gather of AVX2 apart into a test, a jump and a load of each lane, unless this says otherwise. A Zen 3 takes as
        // long for one as for loads and insertions without any test; Intel's are faster.
        let features =
            if simd_bits == 256 { format!("{features},+fast-gather") } else { features.to_owned() };
        let mut target = Target {
            triple: c_string(&triple),
            cpu: c_string(cpu),
            features: c_string(&features),
            data_layout: CString::default(),
            simd_bits,
            make: Make::Other,
            streams_stores: false,
            libmvec: crate::builtins::libmvec::is_available(),
            machines: Mutex::new(Vec::new()),
        };
        let machine = target.create_machine(Tier::Optimising)?;
        target.data_layout = machine.data_layout();
        target.machines.get_mut().push((Tier::Optimising, machine));
        Ok(target)
    }

    /// What code without masks is worth for sub-groups all of whose lanes are on. Where there are masks for all types and they cost
    /// nothing, there is none.
    pub fn bypasses_masks(&self) -> Option<Worth> {
        match self.simd_bits {
            512.. => self.make.masks_cost_time(),
            256.. => (!self.make.stores_masked_fast()).then_some(Worth::More),
            _ => Some(Worth::More),
        }
    }

    /// Whether a load and an insertion for each lane, by indices that leave the vector two at once, are faster than a gather that no
    /// lane is left out of. A Zen 5 takes 0.7 of the time for what is in its first cache so, and 0.9 for what is not; a Zen 4 and a
    /// Zen 3 four fifths.
    pub fn gathers_by_lane(&self) -> bool {
        match self.simd_bits {
            512.. => self.make.gathers_slowly(),
            bits => bits >= 256 && !self.make.gathers_fast(),
        }
    }

    /// Bits of the widest vector register: 512, 256 or 128.
    pub fn simd_bits(&self) -> u32 {
        self.simd_bits
    }

    pub fn has_avx512(&self) -> bool {
        self.simd_bits == 512
    }

    /// Whether the CPU has a feature, by LLVM's name for it (`avx512vbmi`, `f16c`, ...).
    pub fn has_feature(&self, name: &str) -> bool {
        let features = self.features.to_str().unwrap_or_default();
        features.split(',').any(|feature| feature.strip_prefix('+') == Some(name))
    }

    /// The sub-group size where the kernel does not say one: 16 with AVX-512, else 8.
    pub fn natural_width(&self) -> u32 {
        if self.has_avx512() { 16 } else { 8 }
    }

    /// The lanes whose words are a line of the cache, where that is two registers. An access of half a line costs the caches as much
    /// as one of all of it, and what is done once for a sub-group is done half as often.
    pub fn lanes_of_a_line(&self) -> Option<u32> {
        (2 * self.simd_bits == LINE_BITS).then_some(LINE_BITS / u32::BITS)
    }

    /// Vector registers that code may use.
    pub fn vector_registers(&self) -> usize {
        if self.has_avx512() { 32 } else { 16 }
    }

    pub fn triple(&self) -> &CStr {
        &self.triple
    }

    pub fn data_layout(&self) -> &CStr {
        &self.data_layout
    }

    /// LLVM's name of the CPU model.
    pub fn cpu(&self) -> &str {
        self.cpu.to_str().unwrap_or_default()
    }

    /// LLVM's feature string.
    pub fn features(&self) -> &str {
        self.features.to_str().unwrap_or_default()
    }

    /// Lends a target machine of the tier to `work`.
    pub(super) fn with_machine<T>(
        &self,
        tier: Tier,
        work: impl FnOnce(LLVMTargetMachineRef) -> Result<T, JitError>,
    ) -> Result<T, JitError> {
        let idle = {
            let mut machines = self.machines.lock();
            let at = machines.iter().position(|(of, _)| *of == tier);
            at.map(|at| machines.swap_remove(at).1)
        };
        let machine = match idle {
            Some(machine) => machine,
            None => self.create_machine(tier)?,
        };
        let result = work(machine.0);
        self.machines.lock().push((tier, machine));
        result
    }

    fn create_machine(&self, tier: Tier) -> Result<Machine, JitError> {
        let mut target = std::ptr::null_mut();
        let mut message = std::ptr::null_mut();
        // SAFETY: strings live through the calls; results are read only where the call says it wrote them.
        unsafe {
            if LLVMGetTargetFromTriple(self.triple.as_ptr(), &mut target, &mut message) != 0 {
                return Err(JitError::Target(take_message(message)));
            }
            let machine = LLVMCreateTargetMachine(
                target,
                self.triple.as_ptr(),
                self.cpu.as_ptr(),
                self.features.as_ptr(),
                tier.codegen_level(),
                // The loader places code anywhere: calls go through stubs, variables through a table.
                LLVMRelocMode::LLVMRelocPIC,
                LLVMCodeModel::LLVMCodeModelSmall,
            );
            if machine.is_null() {
                return Err(JitError::Target(format!("{:?}", self.triple)));
            }
            // Most of vector code is not what it selects, and going back and forth takes as long.
            LLVMSetTargetMachineFastISel(machine, 0);
            Ok(Machine(machine))
        }
    }
}

/// An owned target machine.
struct Machine(LLVMTargetMachineRef);

// SAFETY: a target machine is used by one thread at a time: it is taken out of the list for its use.
unsafe impl Send for Machine {}

impl Machine {
    fn data_layout(&self) -> CString {
        // SAFETY: the machine is alive; the layout and its text are ours to free.
        unsafe {
            let layout = LLVMCreateTargetDataLayout(self.0);
            let text = LLVMCopyStringRepOfTargetData(layout);
            let owned = CStr::from_ptr(text).to_owned();
            LLVMDisposeMessage(text);
            LLVMDisposeTargetData(layout);
            owned
        }
    }
}

impl Drop for Machine {
    fn drop(&mut self) {
        // SAFETY: ours, and nobody uses it any more.
        unsafe { LLVMDisposeTargetMachine(self.0) };
    }
}

fn initialise() {
    static INITIALISED: OnceLock<()> = OnceLock::new();
    INITIALISED.get_or_init(|| {
        super::isolate::install_fatal_error_handler();
        // Scheduling once more after register allocation, as LLVM does for AMD's processors only, takes up to a third of code
        // generation, and out-of-order processors do it themselves.
        // Where a jump leads into the middle of what the processor fetches at once depends on luck: loops of small work-groups,
        // which are jumps for the most part, took 2.4 to 3.7 ns a group by where their code began (Sapphire Rapids), and 2.1 to 2.3
        // with this. Nothing is executed for it: before such a block is an unconditional jump. 2^5 bytes.
        // Vectors of a loop's iterations are as wide as for its smallest type, not its largest: a search among bytes that counts in
        // 32 bits looks at 64 of them at once and not at 16, which takes an eighth of the time.
        // A frame is made where a function begins, and not behind what returns early: large ones are probed in a loop that counts in r11,
        // which LLVM does not look for where it has moved the frame to. A kernel with 32 KiB of private memory lost its number of groups
        // to that and went on for ever.
        let options = [
            c"ze_cpu",
            c"-enable-shrink-wrap=false",
            c"-post-RA-scheduler=0",
            c"-align-all-nofallthru-blocks=5",
            c"-vectorizer-maximize-bandwidth",
        ]
        .map(CStr::as_ptr);
        // SAFETY: strings that live through the call.
        unsafe { LLVMParseCommandLineOptions(options.len() as i32, options.as_ptr(), std::ptr::null()) };
        // SAFETY: registration of a target, once.
        #[cfg(target_arch = "x86_64")]
        unsafe {
            use llvm_sys::target::*;
            LLVMInitializeX86TargetInfo();
            LLVMInitializeX86Target();
            LLVMInitializeX86TargetMC();
            LLVMInitializeX86AsmPrinter();
            LLVMInitializeX86AsmParser();
        }
        #[cfg(not(target_arch = "x86_64"))]
        compile_error!("engine/src/jit/target.rs: register LLVM's code generator of this architecture");
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lesser_isa_has_narrower_vectors() {
        assert_eq!(Target::limited(Isa::Sse).expect("target").simd_bits(), 128);
        assert_eq!(Target::limited(Isa::Avx2).expect("target").natural_width(), 8);
        assert_eq!(Target::limited(Isa::Avx512).expect("target").natural_width(), 16);
    }

    #[test]
    fn host_has_a_data_layout() {
        let target = Target::host().expect("target");
        assert!(!target.data_layout().is_empty());
        assert!(!target.cpu().is_empty());
    }
}
