"""Random kernels with random arguments on the driver and on Intel's OpenCL CPU runtime: the same SPIR-V has to give the
same numbers.

    second_opinion.py [--count N] [--seed S] [--all] FOLDER...

Kernels are drawn from the SPIR-V modules of the folders until N of them have been compared. What an argument is follows from
its type: pointers lead to buffers of random numbers of their pointee, integers are small, and structures are filled member
by member. Each runtime is in a process of its own, which a kernel may end: arguments that mean nothing to a kernel make it
read anywhere. Every difference, and what only the other one runs, is listed and makes the program fail. But what a kernel does
with arguments that mean nothing to it may be undefined: where results differ, the other runtime is asked again in a new process,
and the driver as a device whose sub-groups are smaller; who does not agree with himself has no opinion.
"""

import argparse
import collections
import ctypes as C
import multiprocessing as mp
import os
import random
import sys
import tempfile

import numpy as np

BUFFER = 1 << 18  # bytes of a buffer: more than work-items and small integers lead to
LOCAL = 1 << 14  # bytes of local memory for an argument
SECONDS = 30  # for a kernel, with the making of it

# SPIR-V: opcodes, storage classes, decorations and execution modes that are looked at.
ENTRY_POINT, EXECUTION_MODE, CONSTANT, FUNCTION, PARAMETER, DECORATE, BITCAST = 15, 16, 43, 54, 55, 71, 124
VOID, BOOL, INT, FLOAT, VECTOR, ARRAY, STRUCT, POINTER, FUNCTION_TYPE = 19, 20, 21, 22, 23, 28, 30, 32, 33
UNIFORM_CONSTANT, WORKGROUP, CROSS_WORKGROUP, PRIVATE = 0, 4, 5, 7
LOCAL_SIZE, C_PACKED = 17, 10


class Unsupported(Exception):
    """An argument of a type for which there are no random values."""


class Module:
    """Types, entry points and work-group sizes of a SPIR-V module."""

    def __init__(self, path):
        self.path = path
        words = np.fromfile(path, dtype="<u4")
        if len(words) < 5 or words[0] != 0x07230203:
            raise Unsupported("not SPIR-V")
        self.types, self.constants, self.functions = {}, {}, {}
        self.entries, self.sizes, self.packed = [], {}, set()
        self.casts, parameters = {}, {}
        at = 5
        while at < len(words):
            op, count = int(words[at] & 0xFFFF), int(words[at] >> 16)
            rest = [int(word) for word in words[at + 1 : at + min(count, 64)]]
            if op == ENTRY_POINT:
                name = words[at + 3 : at + count].tobytes().split(b"\0")[0].decode()
                self.entries.append((rest[1], name))
            elif op == EXECUTION_MODE and rest[1] == LOCAL_SIZE:
                self.sizes[rest[0]] = tuple(rest[2:5])
            elif op == DECORATE and rest[1] == C_PACKED:
                self.packed.add(rest[0])
            elif VOID <= op <= FUNCTION_TYPE or op in (34, 35, 38, 322, 327):
                whole = [int(word) for word in words[at + 2 : at + count]]
                self.types[rest[0]] = (op, whole)
            elif op == CONSTANT:
                self.constants[rest[1]] = rest[2] | (rest[3] << 32 if len(rest) > 3 else 0)
            elif op == FUNCTION:
                self.functions[rest[1]], function, parameters = rest[3], rest[1], {}
            elif op == PARAMETER:
                parameters[rest[1]] = len(parameters)
            elif op == BITCAST and rest[2] in parameters and self.types[rest[0]][0] == POINTER:
                # Compilers whose pointers have no types guess bytes, and cast where they know better.
                self.casts.setdefault((function, parameters[rest[2]]), self.types[rest[0]][1][1])
            at += max(count, 1)

    def layout(self, ty):
        """Size and alignment in bytes."""
        op, of = self.types[ty]
        if op == BOOL:
            return 1, 1
        if op in (INT, FLOAT):
            if of[0] not in (8, 16, 32, 64):
                raise Unsupported(f"{of[0]} bits")
            return of[0] // 8, of[0] // 8
        if op == POINTER:
            return 8, 8
        if op == VECTOR:
            size = self.layout(of[0])[0] * (4 if of[1] == 3 else of[1])
            return size, size
        if op == ARRAY:
            size, align = self.layout(of[0])
            return size * self.constants[of[1]], align
        if op == STRUCT:
            end = align = 1
            end = 0
            for _, at, size, member_align in self.members(ty):
                end, align = at + size, max(align, member_align)
            return -(-end // align) * align, align
        raise Unsupported(f"type {op}")

    def members(self, ty):
        """Type, offset, size and alignment of each member of a structure."""
        end, packed = 0, ty in self.packed
        for member in self.types[ty][1]:
            size, align = self.layout(member)
            align = 1 if packed else align
            at = -(-end // align) * align
            yield member, at, size, align
            end = at + size

    def leaves(self, ty, at=0):
        """Opcode, width in bits and offset of each scalar."""
        op, of = self.types[ty]
        if op in (VECTOR, ARRAY):
            step = self.layout(of[0])[0]
            count = of[1] if op == VECTOR else self.constants[of[1]]
            if count > 4096:
                raise Unsupported("a long array")
            for number in range(count):
                yield from self.leaves(of[0], at + number * step)
        elif op == STRUCT:
            for member, offset, _, _ in self.members(ty):
                yield from self.leaves(member, at + offset)
        else:
            yield op, self.layout(ty)[0] * 8, at, ty


class Buffer:
    """Random numbers of a type, over and over."""

    def __init__(self, module, pointee, random):
        op, of = module.types[pointee]
        size = module.layout(pointee)[0]
        if size == 0 or size > BUFFER // 16:
            raise Unsupported("a pointee without a size, or a large one")
        count = BUFFER // size
        records = np.zeros((count, size), dtype=np.uint8)
        self.leaves = [(op, bits, at) for op, bits, at, _ in module.leaves(pointee)]
        for op, bits, at in self.leaves:
            if op == POINTER:
                raise Unsupported("pointers in memory")
            records[:, at : at + bits // 8] = numbers(op, bits, count, random).view(np.uint8).reshape(count, -1)
        self.size, self.data = size, records.reshape(-1).tobytes()


def numbers(op, bits, count, random):
    if op == FLOAT:
        return random.uniform(-2, 2, count).astype({16: np.float16, 32: np.float32, 64: np.float64}[bits])
    if op == BOOL:
        return random.integers(0, 2, count, dtype=np.uint8)
    if bits == 8:
        # As floating-point numbers of any width they are near 1.
        return random.integers(0x3C, 0x40, count, dtype=np.uint8)
    # Sizes and steps are of 64 bits: none is zero.
    return random.integers(1 if bits == 64 else 0, 8, count).astype({16: np.uint16, 32: np.uint32, 64: np.uint64}[bits])


class Launch:
    """Arguments and sizes of a kernel, the same for whoever makes them from the same seed."""

    def __init__(self, path, entry, seed):
        module = Module(path)
        function, self.name = module.entries[entry]
        self.path = path
        draw = np.random.default_rng(seed)
        self.buffers, self.args = [], []
        for index, ty in enumerate(module.types[module.functions[function]][1][1:]):
            self.args.append(self.argument(module, ty, draw, module.casts.get((function, index))))
        self.local = module.sizes.get(function) or [(32, 1, 1), (64, 1, 1), (128, 1, 1)][draw.integers(3)]
        self.groups = (int(draw.integers(1, 5)), 1, 1)

    def argument(self, module, ty, draw, cast):
        """("buffer", number), ("local", bytes) or ("value", bytes, [(offset, number of a buffer)])."""
        op, of = module.types[ty]
        if op == POINTER:
            storage, pointee = of
            if storage == WORKGROUP:
                return "local", LOCAL
            if storage in (CROSS_WORKGROUP, UNIFORM_CONSTANT):
                return "buffer", self.buffer(module, cast or pointee, draw)
            if storage == PRIVATE:
                return self.value(module, pointee, draw)
        return self.value(module, ty, draw)

    def buffer(self, module, pointee, draw):
        self.buffers.append(Buffer(module, pointee, draw))
        return len(self.buffers) - 1

    def value(self, module, ty, draw):
        data, pointers = bytearray(module.layout(ty)[0]), []
        for op, bits, at, leaf in module.leaves(ty):
            if op == POINTER:
                storage, pointee = module.types[leaf][1]
                if storage != CROSS_WORKGROUP:
                    raise Unsupported(f"a pointer of class {storage} in a structure")
                pointers.append((at, self.buffer(module, pointee, draw)))
                continue
            number = numbers(op, bits, 1, draw)
            data[at : at + bits // 8] = number.tobytes()
        return "value", bytes(data), pointers


def check(what, code):
    if code:
        raise RuntimeError(f"{what}: {code & 0xFFFFFFFF:#x}")


class Peer:
    """Launches through one interface; subclasses make memory and kernels."""

    def run(self, launch):
        memory = []
        for buffer in launch.buffers:
            pointer = self.allocate(len(buffer.data))
            C.memmove(pointer, buffer.data, len(buffer.data))
            memory.append(pointer)
        kernel = self.kernel(launch)
        for index, arg in enumerate(launch.args):
            if arg[0] == "buffer":
                self.set_pointer(kernel, index, memory[arg[1]])
            elif arg[0] == "local":
                self.set_value(kernel, index, arg[1], None)
            else:
                value = bytearray(arg[1])
                for at, number in arg[2]:
                    value[at : at + 8] = memory[number].to_bytes(8, "little")
                self.set_value(kernel, index, len(value), bytes(value))
        self.launch(kernel, launch)
        outputs = [C.string_at(pointer, len(buffer.data)) for pointer, buffer in zip(memory, launch.buffers)]
        # An address that a kernel stores is told by the buffer that it leads to.
        self.release(memory)
        return outputs


class OpenCl(Peer):
    def __init__(self):
        self.cl = C.CDLL("libOpenCL.so.1")
        for name in ("clCreateContext", "clCreateCommandQueueWithProperties", "clCreateProgramWithIL", "clCreateKernel", "clSVMAlloc"):
            getattr(self.cl, name).restype = C.c_void_p
        platform, device, code = C.c_void_p(), C.c_void_p(), C.c_int()
        check("clGetPlatformIDs", self.cl.clGetPlatformIDs(1, C.byref(platform), None))
        check("clGetDeviceIDs", self.cl.clGetDeviceIDs(platform, C.c_uint64(0xFFFFFFFF), 1, C.byref(device), None))
        self.device = device
        self.context = C.c_void_p(self.cl.clCreateContext(None, 1, C.byref(device), None, None, C.byref(code)))
        check("clCreateContext", code.value)
        self.queue = C.c_void_p(self.cl.clCreateCommandQueueWithProperties(self.context, device, None, C.byref(code)))
        check("clCreateCommandQueueWithProperties", code.value)

    def allocate(self, size):
        fine_grained = 1 | 1 << 10
        return self.cl.clSVMAlloc(self.context, C.c_uint64(fine_grained), C.c_size_t(size), 64)

    def release(self, memory):
        for pointer in memory:
            self.cl.clSVMFree(self.context, C.c_void_p(pointer))

    def kernel(self, launch):
        code, il = C.c_int(), open(launch.path, "rb").read()
        program = C.c_void_p(self.cl.clCreateProgramWithIL(self.context, il, C.c_size_t(len(il)), C.byref(code)))
        check("clCreateProgramWithIL", code.value)
        code.value = self.cl.clBuildProgram(program, 1, C.byref(self.device), b"", None, None)
        if code.value:
            log = C.create_string_buffer(4096)
            build_log = 0x1183
            self.cl.clGetProgramBuildInfo(program, self.device, build_log, C.c_size_t(len(log)), log, None)
            raise RuntimeError(f"clBuildProgram: {code.value} {' '.join(log.value.decode(errors='replace').split())[:300]}")
        kernel = C.c_void_p(self.cl.clCreateKernel(program, launch.name.encode(), C.byref(code)))
        check("clCreateKernel", code.value)
        return kernel

    def set_pointer(self, kernel, index, pointer):
        check("clSetKernelArgSVMPointer", self.cl.clSetKernelArgSVMPointer(kernel, index, C.c_void_p(pointer)))

    def set_value(self, kernel, index, size, value):
        check("clSetKernelArg", self.cl.clSetKernelArg(kernel, index, C.c_size_t(size), value))

    def launch(self, kernel, launch):
        local = (C.c_size_t * 3)(*launch.local)
        total = (C.c_size_t * 3)(*(size * count for size, count in zip(launch.local, launch.groups)))
        code = self.cl.clEnqueueNDRangeKernel(self.queue, kernel, 3, None, total, local, 0, None, None)
        check("clEnqueueNDRangeKernel", code)
        check("clFinish", self.cl.clFinish(self.queue))


class Desc(C.Structure):
    """What all descriptors begin with, and words behind it."""

    _fields_ = [("stype", C.c_uint32), ("pNext", C.c_void_p), ("words", C.c_uint32 * 8)]


class ModuleDesc(C.Structure):
    _fields_ = [
        ("stype", C.c_uint32), ("pNext", C.c_void_p), ("format", C.c_uint32), ("size", C.c_size_t),
        ("data", C.c_char_p), ("flags", C.c_char_p), ("constants", C.c_void_p),
    ]  # fmt: skip


class KernelDesc(C.Structure):
    _fields_ = [("stype", C.c_uint32), ("pNext", C.c_void_p), ("flags", C.c_uint32), ("name", C.c_char_p)]


class LevelZero(Peer):
    CONTEXT, QUEUE, DEVICE_MEMORY, HOST_MEMORY, MODULE, KERNEL = 0xD, 0xE, 0x15, 0x16, 0x1B, 0x1D

    def __init__(self):
        self.ze = C.CDLL(os.environ["ZE_ENABLE_ALT_DRIVERS"])
        self.driver, self.device = C.c_void_p(), C.c_void_p()
        self.context, self.list, one = C.c_void_p(), C.c_void_p(), C.c_uint32(1)
        self.call("zeInit", 0)
        self.call("zeDriverGet", C.byref(one), C.byref(self.driver))
        self.call("zeDeviceGet", self.driver, C.byref(one), C.byref(self.device))
        self.call("zeContextCreate", self.driver, C.byref(Desc(self.CONTEXT)), C.byref(self.context))
        synchronous = Desc(self.QUEUE, None, (0, 0, 0, 1))
        self.call("zeCommandListCreateImmediate", self.context, self.device, C.byref(synchronous), C.byref(self.list))

    def call(self, name, *args):
        code = getattr(self.ze, name)(*args)
        if code:
            text = C.c_char_p()
            self.ze.zeDriverGetLastErrorDescription(self.driver, C.byref(text))
            raise RuntimeError(f"{name}: {code & 0xFFFFFFFF:#x} {(text.value or b'').decode()}")

    def allocate(self, size):
        device, host, pointer = Desc(self.DEVICE_MEMORY), Desc(self.HOST_MEMORY), C.c_void_p()
        size = C.c_size_t(size)
        self.call("zeMemAllocShared", self.context, C.byref(device), C.byref(host), size, C.c_size_t(64), self.device, C.byref(pointer))
        return pointer.value

    def release(self, memory):
        for pointer in memory:
            self.call("zeMemFree", self.context, C.c_void_p(pointer))

    def kernel(self, launch):
        il, module, kernel = open(launch.path, "rb").read(), C.c_void_p(), C.c_void_p()
        desc = ModuleDesc(self.MODULE, None, 0, len(il), il, None, None)
        self.call("zeModuleCreate", self.context, self.device, C.byref(desc), C.byref(module), None)
        self.call("zeKernelCreate", module, C.byref(KernelDesc(self.KERNEL, None, 0, launch.name.encode())), C.byref(kernel))
        self.call("zeKernelSetGroupSize", kernel, *launch.local)
        return kernel

    def set_pointer(self, kernel, index, pointer):
        self.set_value(kernel, index, 8, pointer.to_bytes(8, "little"))

    def set_value(self, kernel, index, size, value):
        self.call("zeKernelSetArgumentValue", kernel, index, C.c_size_t(size), value)

    def launch(self, kernel, launch):
        groups = (C.c_uint32 * 3)(*launch.groups)
        self.call("zeCommandListAppendLaunchKernel", self.list, kernel, groups, None, 0, None)


def serve(peer, environment, pipe):
    """Runs what the other end of the pipe asks for, until it is closed or a kernel ends the process."""
    os.environ.update(environment)
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    runtime = peer()
    while True:
        try:
            asked = pipe.recv()
        except EOFError:
            return
        try:
            pipe.send(("ran", runtime.run(Launch(*asked))))
        except RuntimeError as error:
            pipe.send(("refused", str(error)))


class Process:
    """A runtime in a process of its own, which is started again when it has ended."""

    def __init__(self, peer, environment=()):
        self.peer, self.environment, self.process = peer, dict(environment), None

    def run(self, asked):
        if self.process is None or not self.process.is_alive():
            self.pipe, other = mp.get_context("fork").Pipe()
            self.process = mp.get_context("fork").Process(target=serve, args=(self.peer, self.environment, other), daemon=True)
            self.process.start()
            other.close()
        try:
            self.pipe.send(asked)
            if self.pipe.poll(SECONDS):
                return self.pipe.recv()
            outcome = "hung"
        except (EOFError, OSError):
            outcome = "ended"
        self.stop()
        return outcome, None

    def stop(self):
        self.process.kill()
        self.process.join()
        self.process = None

    def run_anew(self, asked):
        """In a process with other leftovers at other addresses."""
        if self.process is not None:
            self.stop()
        return self.run(asked)


def near(x, y):
    """Whether numbers differ by no more than functions may: 32 units in the last place, and 8 of 1 for what cancels."""
    with np.errstate(all="ignore"):
        x64, y64, unit = x.astype(np.float64), y.astype(np.float64), np.finfo(x.dtype).eps
        close = np.abs(x64 - y64) <= unit * (32 * np.maximum(np.abs(x64), np.abs(y64)) + 8)
        return close | (x == y) | (np.isnan(x) & np.isnan(y))


def near_as(ty, a, b):
    """The same of memory of which the module does not say what is in it, if it is numbers of a type."""
    return near(np.frombuffer(a, ty), np.frombuffer(b, ty)).all()


def opinion(launch, asked, got, expected, theirs, smaller):
    """What results that differ are worth, and where they differ."""
    found = differences(launch, got, expected)
    if not found:
        return "agree", []
    again, _ = answer = theirs.run_anew(asked)
    if again != "ran" or differences(launch, answer[1], expected):
        return "not the same twice", []
    ours, _ = answer = smaller.run(asked)
    if ours == "ran" and differences(launch, answer[1], got):
        return "depend on the size of sub-groups", []
    return "differ", found


def differences(launch, ours, theirs):
    """Where outputs differ."""
    found = []
    for number, (buffer, a, b) in enumerate(zip(launch.buffers, ours, theirs)):
        if a == b:
            continue
        if buffer.size == 1 and any(near_as(ty, a, b) for ty in (np.float64, np.float32, np.float16)):
            continue
        a, b = (np.frombuffer(x, np.uint8)[: len(x) // buffer.size * buffer.size].reshape(-1, buffer.size) for x in (a, b))
        for op, bits, at in buffer.leaves:
            x, y = (part[:, at : at + bits // 8] for part in (a, b))
            if op != FLOAT:
                wrong = np.flatnonzero((x != y).any(axis=1))
            else:
                ty = {16: np.float16, 32: np.float32, 64: np.float64}[bits]
                x, y = (np.ascontiguousarray(part).view(ty).reshape(-1) for part in (x, y))
                wrong = np.flatnonzero(~near(x, y))
            if len(wrong):
                first = wrong[0]
                found.append(f"buffer {number}, {len(wrong)} elements, first {first} at byte {at}: {x[first]} and {y[first]}")
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--count", type=int, default=500)
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--all", action="store_true", help="every kernel once, instead of random ones")
    options.add_argument("--verbose", action="store_true")
    options.add_argument("folders", nargs="+")
    options = options.parse_args()
    files = sorted(os.path.join(folder, name) for folder in options.folders for name in os.listdir(folder) if name.endswith(".spv"))
    draw = random.Random(options.seed)
    if not options.all:
        draw.shuffle(files)
    profile = tempfile.NamedTemporaryFile("w", suffix=".toml")
    profile.write("[compute]\nsub_group_sizes = [8]\n")
    profile.flush()
    ours, theirs = Process(LevelZero), Process(OpenCl)
    smaller = Process(LevelZero, {"ZE_CPU_PROFILE": profile.name})
    counts, failures, compared = collections.Counter(), [], 0
    for path in files:
        try:
            entries = range(len(Module(path).entries))
        except Unsupported:
            continue
        if not options.all and entries:
            entries = [draw.choice(entries)]
        for entry in entries:
            asked = (path, entry, draw.randrange(1 << 32))
            try:
                launch = Launch(*asked)
            except (Unsupported, KeyError) as reason:
                counts["arguments that are not made"] += 1
                continue
            theirs_is, expected = theirs.run(asked)
            ours_is, got = ours.run(asked)
            place = f"{os.path.basename(path)} {launch.name}, seed {asked[2]}"
            if theirs_is == ours_is == "ran":
                worth, found = opinion(launch, asked, got, expected, theirs, smaller)
                counts[worth] += 1
                compared += worth in ("agree", "differ")
                failures += [f"{place}: {text}" for text in found]
            elif theirs_is == ours_is:
                counts[f"both {ours_is}"] += 1
            elif theirs_is != "ran":
                # Arguments that mean nothing to the kernel, or a module that the other one does not take.
                counts[f"{ours_is} here, {theirs_is} there"] += 1
                if options.verbose and theirs_is == "refused":
                    print(expected)
            else:
                counts[f"{ours_is} here, ran there"] += 1
                failures.append(f"{place}: {ours_is} here{f' ({got})' if ours_is == 'refused' else ''}, ran there")
            if options.verbose:
                print(place, ours_is, theirs_is, flush=True)
        if not options.all and compared >= options.count:
            break
    for text in failures:
        print(text)
    print(", ".join(f"{count} {what}" for what, count in counts.most_common()))
    sys.exit(bool(failures))


if __name__ == "__main__":
    main()
