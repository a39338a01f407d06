// Types that are not the host's: half, bfloat16, atomics on floats.
#include "frame.hpp"

#include <cmath>
#include <cstring>

static uint16_t nearest_bfloat16(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (std::isnan(value)) return 0x7fc0;
  return static_cast<uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

TEST(bfloat16_rounds_to_nearest_even) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void convert(const float *in, unsigned short *out, float *back) {
  int id = this_item::get_nd_item<1>().get_global_linear_id();
  sycl::ext::oneapi::bfloat16 value = in[id];
  out[id] = sycl::bit_cast<unsigned short>(value);
  back[id] = (float)(value * value);
})");
  const int count = 4096;
  auto *in = sycl::malloc_shared<float>(2 * count, queue), *back = in + count;
  auto *out = sycl::malloc_shared<unsigned short>(count, queue);
  for (int i = 0; i < count; ++i) {
    const uint32_t bits = 0x3f000000u + static_cast<uint32_t>(i) * 0x1357u;
    std::memcpy(&in[i], &bits, sizeof bits);
  }
  in[7] = INFINITY;
  in[8] = -0.0f;
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(in, out, back);
    handler.parallel_for(sycl::nd_range<1>(count, 64), bundle.ext_oneapi_get_kernel("convert"));
  }).wait();
  for (int i = 0; i < count; ++i) {
    SAME(out[i], nearest_bfloat16(in[i]));
    const uint32_t wide = static_cast<uint32_t>(out[i]) << 16;
    float value;
    std::memcpy(&value, &wide, sizeof value);
    const uint32_t square = static_cast<uint32_t>(nearest_bfloat16(value * value)) << 16;
    float expected;
    std::memcpy(&expected, &square, sizeof expected);
    SAME(back[i], expected);
  }
  sycl::free(in, queue);
  sycl::free(out, queue);
}

TEST(atomic_additions_of_floats_and_doubles_lose_none) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void add(float *sum, double *wide, int *largest) {
  int id = this_item::get_nd_item<1>().get_global_linear_id();
  sycl::atomic_ref<float, sycl::memory_order::relaxed, sycl::memory_scope::device>(*sum) += 1.0f;
  sycl::atomic_ref<double, sycl::memory_order::acq_rel, sycl::memory_scope::device>(*wide) += 0.5;
  sycl::atomic_ref<int, sycl::memory_order::relaxed, sycl::memory_scope::device>(*largest).fetch_max((id * 7919) % 10007);
})");
  auto *sum = sycl::malloc_shared<float>(1, queue);
  auto *wide = sycl::malloc_shared<double>(1, queue);
  auto *largest = sycl::malloc_shared<int>(1, queue);
  *sum = 0, *wide = 0, *largest = -1;
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(sum, wide, largest);
    handler.parallel_for(sycl::nd_range<1>(20000, 100), bundle.ext_oneapi_get_kernel("add"));
  }).wait();
  SAME(*sum, 20000.0f);
  SAME(*wide, 10000.0);
  SAME(*largest, 10006);
}

TEST(half_arithmetic_rounds_once) {
  if (!queue.get_device().has(sycl::aspect::fp16)) throw frame::Skip("the device has no fp16");
  auto bundle = frame::build(queue, KERNEL(1) R"(
void halves(const float *in, float *out) {
  int id = this_item::get_nd_item<1>().get_global_linear_id();
  sycl::half a = (sycl::half)in[id], b = (sycl::half)in[id + 1];
  out[id] = (float)(a * b + sycl::half(1.0f));
})");
  const int count = 1024;
  auto *in = sycl::malloc_shared<float>(2 * count + 1, queue), *out = in + count + 1;
  for (int i = 0; i <= count; ++i) in[i] = 0.01f * static_cast<float>(i) - 5.0f;
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(in, out);
    handler.parallel_for(sycl::nd_range<1>(count, 32), bundle.ext_oneapi_get_kernel("halves"));
  }).wait();
  for (int i = 0; i < count; ++i) {
    // sycl::half on the host is the reference; a fused multiply-add is allowed, too.
    const sycl::half a(in[i]), b(in[i + 1]);
    const float fused = static_cast<float>(sycl::half(static_cast<float>(a) * static_cast<float>(b) + 1.0f));
    const float apart = static_cast<float>(sycl::half(static_cast<float>(sycl::half(static_cast<float>(a) * static_cast<float>(b))) + 1.0f));
    CHECK(out[i] == fused || out[i] == apart);
  }
  sycl::free(in, queue);
}
