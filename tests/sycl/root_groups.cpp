// Root groups (sycl_ext_oneapi_root_group): all work-groups of a launch wait for each other.
#include "frame.hpp"

TEST(root_groups_wait_for_all_work_groups) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
// Each work-item takes its neighbour's number and adds one, step by step: some neighbours are in other work-groups.
void rotate(int *numbers, int *next, int steps) {
  auto item = this_item::get_nd_item<1>();
  auto root = item.ext_oneapi_get_root_group();
  size_t i = item.get_global_linear_id(), count = item.get_global_range(0);
  for (int step = 0; step < steps; ++step) {
    next[i] = numbers[(i + 1) % count] + 1;
    sycl::group_barrier(root);
    numbers[i] = next[i];
    sycl::group_barrier(root);
  }
}
)");
  auto rotate = bundle.ext_oneapi_get_kernel("rotate");
  using Most = syclex::info::kernel_queue_specific::max_num_work_groups;
  for (size_t size : {1, 24, 64}) {
    const size_t most = rotate.ext_oneapi_get_info<Most>(queue, sycl::range<1>(size), 0);
    CHECK(most >= 16);
    for (size_t groups : {size_t(1), size_t(5), most}) {
      const int count = static_cast<int>(groups * size), steps = 5;
      auto *numbers = sycl::malloc_shared<int>(count, queue);
      auto *next = sycl::malloc_shared<int>(count, queue);
      for (int i = 0; i < count; ++i) numbers[i] = 7 * i;
      syclex::launch_config config{sycl::nd_range<1>(count, size), syclex::properties{syclex::use_root_sync}};
      syclex::nd_launch(queue, config, rotate, numbers, next, steps);
      queue.wait_and_throw();
      for (int i = 0; i < count; ++i) SAME(numbers[i], 7 * ((i + steps) % count) + steps);
      sycl::free(numbers, queue);
      sycl::free(next, queue);
    }
  }
}
