// USM: kinds, alignment, copies, fills, pointer queries.
#include "frame.hpp"

TEST(memory_is_aligned_as_it_is_asked_to_be_and_can_be_freed) {
  for (const size_t alignment : {size_t{64}, size_t{4096}, size_t{65536}, size_t{2} << 20}) {
    for (const auto kind : {sycl::usm::alloc::device, sycl::usm::alloc::host, sycl::usm::alloc::shared}) {
      void *memory = sycl::aligned_alloc(alignment, 3 << 20, queue, kind);
      // The first adapter refuses more than 64 KiB itself, before it asks the driver.
      if (memory == nullptr && alignment > 65536) continue;
      CHECK(memory != nullptr);
      SAME(reinterpret_cast<uintptr_t>(memory) % alignment, 0u);
      CHECK(sycl::get_pointer_type(static_cast<char *>(memory) + 100, queue.get_context()) == kind);
      sycl::free(memory, queue);
    }
  }
}

// Large device allocations come out of the runtime's pools, which lie at multiples of 2 MiB.
TEST(many_device_allocations_of_all_sizes_live_and_die) {
  std::vector<void *> live;
  uint32_t seed = 1;
  for (int i = 0; i < 2000; ++i) {
    seed = seed * 1664525 + 1013904223;
    if (live.size() > 40 || (seed >> 30 == 0 && !live.empty())) {
      const size_t which = (seed >> 8) % live.size();
      sycl::free(live[which], queue);
      live.erase(live.begin() + which);
    } else {
      void *memory = sycl::malloc_device((size_t{1} << ((seed >> 8) % 24)) + (seed >> 16) % 100, queue);
      CHECK(memory != nullptr);
      live.push_back(memory);
    }
  }
  for (void *memory : live) sycl::free(memory, queue);
}

TEST(copies_and_fills_in_two_dimensions) {
  const size_t pitch = 100, width = 60, height = 33;
  auto *source = sycl::malloc_device<int>(pitch * height, queue);
  auto *back = sycl::malloc_host<int>(width * height, queue);
  std::vector<int> host(pitch * height);
  for (size_t i = 0; i < host.size(); ++i) host[i] = static_cast<int>(i);
  queue.memcpy(source, host.data(), host.size() * sizeof(int)).wait();
  queue.ext_oneapi_memcpy2d(back, width * sizeof(int), source, pitch * sizeof(int), width * sizeof(int), height).wait();
  for (size_t y = 0; y < height; ++y)
    for (size_t x = 0; x < width; ++x) SAME(back[y * width + x], host[y * pitch + x]);
  auto filled = queue.memset(source, 0x21, pitch * height * sizeof(int));
  queue.memcpy(back, source, width * sizeof(int), filled).wait();
  for (size_t x = 0; x < width; ++x) SAME(back[x], 0x21212121);
  sycl::free(source, queue);
  sycl::free(back, queue);
}
