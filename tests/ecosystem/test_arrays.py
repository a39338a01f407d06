"""dpnp on the driver's device agrees with numpy."""

import dpctl
import dpnp
import numpy as np
import pytest

HAS_FP64 = dpctl.SyclDevice().has_aspect_fp64
TYPES = ["f4", "i4", "i8"] + (["f8"] if HAS_FP64 else [])
# Around powers of two, and large enough for several work-groups.
SIZES = [1, 7, 256, 1000, 4097, 100_000]


def values(size, dtype, seed=7):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        return rng.uniform(-1000, 1000, size).astype(dtype)
    return rng.integers(-1000, 1000, size, dtype=dtype)


def close(got, want):
    tolerance = {"f4": 2e-5, "f8": 1e-12}.get(np.dtype(want.dtype).str[1:], 0)
    np.testing.assert_allclose(dpnp.asnumpy(got), want, rtol=tolerance, atol=tolerance)


def test_a_sum_of_square_roots():
    x = dpnp.arange(1_000_000, dtype="f4")
    got = float(dpnp.sum(dpnp.sqrt(x) * 2 + x))
    exact = np.arange(1_000_000, dtype="f8")
    want = float(np.sum(np.sqrt(exact) * 2 + exact))
    assert got == pytest.approx(want, rel=1e-5)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
def test_sort(dtype, size):
    a = values(size, dtype)
    np.testing.assert_array_equal(dpnp.asnumpy(dpnp.sort(dpnp.asarray(a))), np.sort(a))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
def test_argsort(dtype, size):
    a = values(size, dtype)
    order = dpnp.asnumpy(dpnp.argsort(dpnp.asarray(a)))
    np.testing.assert_array_equal(a[order], np.sort(a))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
def test_cumulate(dtype, size):
    # Whole numbers, so that the order of the additions does not matter.
    a = np.trunc(values(size, dtype) / 100).astype(dtype)
    np.testing.assert_array_equal(dpnp.asnumpy(dpnp.cumsum(dpnp.asarray(a))), np.cumsum(a))


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
def test_compare(dtype, size):
    a, b = values(size, dtype) // 100, values(size, dtype, seed=8) // 100
    x, y = dpnp.asarray(a), dpnp.asarray(b)
    for name in ["less", "less_equal", "equal", "not_equal", "greater", "greater_equal"]:
        got = dpnp.asnumpy(getattr(dpnp, name)(x, y))
        np.testing.assert_array_equal(got, getattr(np, name)(a, b), err_msg=name)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("dtype", TYPES)
def test_index(dtype, size):
    a = values(size, dtype)
    x = dpnp.asarray(a)
    index = np.random.default_rng(3).integers(0, size, 2 * size)
    np.testing.assert_array_equal(dpnp.asnumpy(x[dpnp.asarray(index)]), a[index])
    np.testing.assert_array_equal(dpnp.asnumpy(x[x > 0]), a[a > 0])
    np.testing.assert_array_equal(dpnp.asnumpy(x[::3]), a[::3])
    np.testing.assert_array_equal(dpnp.asnumpy(x[::-1]), a[::-1])
    np.testing.assert_array_equal(dpnp.asnumpy(dpnp.where(x > 0, x, -x)), np.where(a > 0, a, -a))
    a[a < 0] = 0
    x[x < 0] = 0
    np.testing.assert_array_equal(dpnp.asnumpy(x), a)


@pytest.mark.parametrize("dtype", TYPES)
def test_arithmetic(dtype):
    a, b = values(10_007, dtype), values(10_007, dtype, seed=8)
    b[b == 0] = 1
    x, y = dpnp.asarray(a), dpnp.asarray(b)
    close(x + y, a + b)
    close(x * y, a * b)
    close(x - y, a - b)
    if np.dtype(dtype).kind == "f":
        close(x / y, a / b)
        close(dpnp.sqrt(dpnp.abs(x)), np.sqrt(np.abs(a)))
        close(dpnp.sin(x / 100), np.sin(a / np.asarray(100, dtype=dtype)))
        close(dpnp.exp(x / 100), np.exp(a / np.asarray(100, dtype=dtype)))
    else:
        np.testing.assert_array_equal(dpnp.asnumpy(x // y), a // b)
        np.testing.assert_array_equal(dpnp.asnumpy(x % y), a % b)


@pytest.mark.parametrize("dtype", TYPES)
def test_reductions(dtype):
    a = np.trunc(values(40_000, dtype) / 100).astype(dtype).reshape(200, 200)
    x = dpnp.asarray(a)
    for axis in [None, 0, 1]:
        for name in ["sum", "min", "max", "argmin", "argmax"]:
            got = dpnp.asnumpy(getattr(dpnp, name)(x, axis=axis))
            np.testing.assert_array_equal(got, getattr(np, name)(a, axis=axis), err_msg=f"{name}, axis {axis}")


@pytest.mark.parametrize("dtype", TYPES)
def test_shapes(dtype):
    a = values(60 * 70, dtype).reshape(60, 70)
    x = dpnp.asarray(a)
    np.testing.assert_array_equal(dpnp.asnumpy(x.T), a.T)
    np.testing.assert_array_equal(dpnp.asnumpy(dpnp.concatenate([x, x], axis=1)), np.concatenate([a, a], axis=1))
    np.testing.assert_array_equal(dpnp.asnumpy(x[10:50:3, 5:]), a[10:50:3, 5:])
    np.testing.assert_array_equal(dpnp.asnumpy(x + x[0]), a + a[0])


@pytest.mark.parametrize("dtype", [dtype for dtype in TYPES if np.dtype(dtype).kind == "f"])
def test_linear_algebra(dtype):
    """What oneMKL computes, which wants to know the architecture."""
    tolerance = {"f4": 1e-3, "f8": 1e-9}[dtype]
    a = values(50 * 50, dtype).reshape(50, 50) / 1000
    definite = a @ a.T + 50 * np.eye(50, dtype=dtype)
    x, y = dpnp.asarray(a), dpnp.asarray(definite)

    def agrees(got, want):
        np.testing.assert_allclose(dpnp.asnumpy(got), want, rtol=tolerance, atol=tolerance)

    agrees(x @ x, a @ a)
    agrees(dpnp.linalg.cholesky(y), np.linalg.cholesky(definite))
    agrees(y @ dpnp.linalg.solve(y, x), a)
    agrees(dpnp.linalg.eigvalsh(y), np.linalg.eigvalsh(definite))
    q, r = dpnp.linalg.qr(x)
    agrees(q @ r, a)
    u, s, v = dpnp.linalg.svd(x)
    agrees((u * s) @ v, a)


def test_random_numbers():
    dpnp.random.seed(5)
    a = dpnp.asnumpy(dpnp.random.normal(3, 2, 100_000))
    # Six standard deviations of the estimates.
    assert abs(a.mean() - 3) < 6 * 2 / np.sqrt(a.size)
    assert abs(a.std() - 2) < 6 * 2 / np.sqrt(2 * a.size)
