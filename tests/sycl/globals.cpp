// Variables of modules: device_global.
#include "frame.hpp"

// Of image scope, which the host cannot ask the address of: for others this runtime asks the driver for a name whose first six
// characters it has cut off. One kernel, since each may get an image of its own.
TEST(a_device_global_outlives_launches) {
  auto bundle = frame::build(queue, R"(
using scope = decltype(syclex::properties{syclex::device_image_scope});
syclex::device_global<int[4], scope> table;
syclex::device_global<long, scope> counter;
)" KERNEL(1) R"(
void step(bool reads, int start, int *out) {
  int id = this_item::get_nd_item<1>().get_global_linear_id();
  if (reads) {
    out[id] = table[id] * 10 + (int)counter.get();
  } else {
    table[id] = start + id;
    sycl::atomic_ref<long, sycl::memory_order::relaxed, sycl::memory_scope::device> count(counter.get());
    count += id;
  }
})");
  CHECK(bundle.ext_oneapi_has_device_global("table"));
  CHECK(!bundle.ext_oneapi_has_device_global("chair"));
  auto *out = sycl::malloc_shared<int>(4, queue);
  auto kernel = bundle.ext_oneapi_get_kernel("step");
  auto run = [&](bool reads, int start) {
    queue.submit([&](sycl::handler &handler) {
      handler.set_args(reads, start, out);
      handler.parallel_for(sycl::nd_range<1>{4, 4}, kernel);
    }).wait();
  };
  run(false, 100);
  run(true, 0);
  for (int i = 0; i < 4; ++i) SAME(out[i], (100 + i) * 10 + 6);
  sycl::free(out, queue);
}
