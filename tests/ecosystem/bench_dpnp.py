"""Times operations of dpnp on the driver and, in turns in the same process, on Intel's CPU device, through the same SYCL.

    bench_dpnp.py OUT.json [--quick] [WORD...]

Every result is compared with numpy's. Only operations whose name contains one of the words are timed.
`ONEAPI_DEVICE_SELECTOR=level_zero:gpu;opencl:cpu` must make both devices visible.
"""

import importlib.metadata
import json
import sys
import time

import dpctl
import dpnp
import numpy as np

SIZES = [1_000, 100_000, 2_000_000]
# Seconds of a device for an operation of a size.
WARM_UP, LIMIT = 0.1, 0.25
CALLS_A_TURN = 3


def inputs(size):
    """Arrays of about `size` elements, by name."""
    rng = np.random.default_rng(size)
    side = int(size**0.5)
    # Products take the third power of the side.
    small = min(side, 512)
    return {
        "a": rng.uniform(0.1, 4, size).astype("f4"),
        "b": rng.uniform(0.1, 4, size).astype("f4"),
        "d": rng.uniform(0.1, 4, size),
        "i": rng.integers(1, 1000, size, dtype="i4"),
        "j": rng.integers(1, 1000, size, dtype="i4"),
        "l": rng.integers(0, 1 << 40, size, dtype="i8"),
        "k": rng.integers(0, size, size, dtype="i8"),
        "mask": rng.integers(0, 2, size).astype(bool),
        "m": rng.uniform(-1, 1, (side, side)).astype("f4"),
        "rows": rng.uniform(-1, 1, (size // 8, 8)).astype("f4"),
        "s": rng.uniform(-1, 1, (small, small)).astype("f4"),
        "t": rng.uniform(-1, 1, (small, small)).astype("f4"),
        "si": rng.integers(-9, 9, (small, small), dtype="i4"),
        "ti": rng.integers(-9, 9, (small, small), dtype="i4"),
        "batch": rng.integers(-9, 9, (size // 16 + 1, 3, 2), dtype="i4"),
        "hctab": rng.integers(-9, 9, (size // 16 + 1, 2, 4), dtype="i4"),
        "sorted": np.sort(rng.uniform(0, 4, size).astype("f4")),
    }


# Name, and the operation with dpnp or numpy and the arrays.
OPERATIONS = {
    "a + b": lambda np, v: v.a + v.b,
    "a * b + a, f64": lambda np, v: v.d * v.d + v.d,
    "a / b": lambda np, v: v.a / v.b,
    "sqrt": lambda np, v: np.sqrt(v.a),
    "exp": lambda np, v: np.exp(v.a),
    "log": lambda np, v: np.log(v.a),
    "sin": lambda np, v: np.sin(v.a),
    "sin, f64": lambda np, v: np.sin(v.d),
    "tanh": lambda np, v: np.tanh(v.a),
    "power": lambda np, v: np.power(v.a, v.b),
    "arctan2": lambda np, v: np.arctan2(v.a, v.b),
    "floor_divide, i32": lambda np, v: v.i // v.j,
    "bitwise_and, i32": lambda np, v: v.i & v.j,
    "greater": lambda np, v: v.a > v.b,
    "where": lambda np, v: np.where(v.mask, v.a, v.b),
    "isclose": lambda np, v: np.isclose(v.a, v.b),
    "clip": lambda np, v: np.clip(v.a, 1, 2),
    "astype i32": lambda np, v: v.a.astype("i4"),
    "sum": lambda np, v: np.sum(v.a),
    "sum, f64": lambda np, v: np.sum(v.d),
    "sum of rows of 8": lambda np, v: np.sum(v.rows, axis=-1),
    "sum of rows": lambda np, v: np.sum(v.m, axis=-1),
    "sum of columns": lambda np, v: np.sum(v.m, axis=0),
    "mean": lambda np, v: np.mean(v.a),
    "var": lambda np, v: np.var(v.a),
    "max": lambda np, v: np.max(v.a),
    "argmax": lambda np, v: np.argmax(v.a),
    "any": lambda np, v: np.any(v.a > 5),
    "count_nonzero": lambda np, v: np.count_nonzero(v.mask),
    "cumsum, i64": lambda np, v: np.cumsum(v.l),
    "sort": lambda np, v: np.sort(v.a),
    "argsort": lambda np, v: np.take(v.a, np.argsort(v.a)),
    "searchsorted": lambda np, v: np.searchsorted(v.sorted, v.a),
    "take": lambda np, v: np.take(v.a, v.k),
    "a[mask]": lambda np, v: v.a[v.mask],
    "transpose": lambda np, v: np.ascontiguousarray(v.m.T),
    "concatenate": lambda np, v: np.concatenate((v.a, v.b)),
    "diff": lambda np, v: np.diff(v.a),
    "matmul": lambda np, v: np.matmul(v.s, v.t),
    "matmul, i32": lambda np, v: np.matmul(v.si, v.ti),
    "matmul of a batch, i32": lambda np, v: np.matmul(v.batch, v.hctab),
    "tril": lambda np, v: np.tril(v.m),
}


class Arrays:
    """The inputs on a device, copied when they are asked for."""

    def __init__(self, arrays, queue):
        self._arrays, self._queue = arrays, queue

    def __getattr__(self, name):
        array = self._arrays[name]
        if self._queue:
            array = dpnp.asarray(array, sycl_queue=self._queue)
        setattr(self, name, array)
        return array


def tolerance(operation, size):
    return 2e-5 if not operation.startswith(("matmul", "sum", "mean", "var")) else 1e-5 * max(10, size**0.5 / 20)


def check(name, size, got, want):
    got = dpnp.asnumpy(got) if isinstance(got, dpnp.ndarray) else np.asarray(got)
    want = np.asarray(want)
    if want.dtype.kind == "f":
        limit = tolerance(name, size)
        np.testing.assert_allclose(got, want, rtol=limit, atol=limit)
    else:
        # Where rounding decides a comparison, a few may differ.
        different = np.count_nonzero(got != want)
        assert different <= size // 10_000, f"{different} elements differ"


def measure(name, size, arrays, devices, scale):
    operation = OPERATIONS[name]
    want = operation(np, Arrays(arrays, None))
    row = {"name": name, "size": f"{size:,}"}
    times, spent = {}, {}
    inputs = {who: Arrays(arrays, queue) for who, queue in devices.items()}

    def once(who):
        begin = time.perf_counter()
        result = operation(dpnp, inputs[who])
        devices[who].wait()
        return time.perf_counter() - begin, result

    for who in devices:
        # The inputs are there before anything is timed.
        for used in arrays:
            if used in operation.__code__.co_names:
                getattr(inputs[who], used)
        devices[who].wait()
        first, result = once(who)
        check(name, size, result, want)
        row[who] = {"first": round(first * 1e3, 4)}
        end = time.perf_counter() + WARM_UP * scale
        while time.perf_counter() < end:
            once(who)
        times[who], spent[who] = [], 0.0
    while any(spent[who] < LIMIT * scale for who in devices):
        for who in devices:
            if spent[who] >= LIMIT * scale:
                continue
            for _ in range(CALLS_A_TURN):
                taken, _ = once(who)
                times[who].append(taken)
                spent[who] += taken
    for who in devices:
        row[who]["best"] = round(min(times[who]) * 1e3, 4)
        row[who]["median"] = round(sorted(times[who])[len(times[who]) // 2] * 1e3, 4)
    return row


def main():
    words = [word for word in sys.argv[2:] if not word.startswith("--")]
    scale = 0.1 if "--quick" in sys.argv else 1
    devices = {"driver": dpctl.SyclQueue("level_zero:gpu"), "peer": dpctl.SyclQueue("opencl:cpu")}
    rows = []
    for size in SIZES:
        arrays = inputs(size)
        for name in OPERATIONS:
            if words and not any(word in name for word in words):
                continue
            try:
                row = measure(name, size, arrays, devices, scale)
            except Exception as error:  # pylint: disable=broad-except
                reason = " ".join(str(error).split())[:200]
                row = {"name": name, "size": f"{size:,}", "error": reason}
                print(f"{name:26} {size:>9,} {reason}", flush=True)
            else:
                driver, peer = row["driver"], row["peer"]
                print(
                    f"{name:26} {size:>9,} {driver['best']:>9.3f} {peer['best']:>9.3f} "
                    f"{peer['best'] / driver['best']:>6.2f}   first {driver['first']:>8.1f} {peer['first']:>8.1f}",
                    flush=True,
                )
            rows.append(row)
    versions = {
        "dpnp": importlib.metadata.version("dpnp"),
        "dpctl": importlib.metadata.version("dpctl"),
        "Intel's SYCL CPU device": f"{devices['peer'].sycl_device.name}, {devices['peer'].sycl_device.driver_version}",
    }
    with open(sys.argv[1], "w", encoding="utf-8") as file:
        json.dump({"versions": versions, "operations": rows}, file, indent=1)
    if any("error" in row for row in rows):
        sys.exit("not every operation gave its result")


main()
