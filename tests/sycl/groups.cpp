// Work-groups and sub-groups: local memory, collectives, shuffles.
#include "frame.hpp"

#include <numeric>

static const char *const SOURCE = R"(
syclex::work_group_static<float[16][17]> tile;
)" KERNEL(1) R"(
void collectives(const int *in, int *sums, int *scans, int *shuffled, int *votes) {
  auto item = this_item::get_nd_item<1>();
  auto group = item.get_group();
  auto lanes = item.get_sub_group();
  size_t id = item.get_global_linear_id();
  sums[id] = sycl::reduce_over_group(group, in[id], sycl::plus<>());
  scans[id] = sycl::exclusive_scan_over_group(group, in[id], sycl::maximum<>());
  shuffled[id] = sycl::permute_group_by_xor(lanes, in[id], 1);
  votes[id] = sycl::any_of_group(lanes, in[id] % 7 == 0) + 2 * sycl::all_of_group(lanes, in[id] >= 0);
}
)" KERNEL(2) R"(
void transpose(const float *in, float *out, int width, int height) {
  auto item = this_item::get_nd_item<2>();
  int x = item.get_group(1) * 16 + item.get_local_id(1), y = item.get_group(0) * 16 + item.get_local_id(0);
  if (x < width && y < height) tile[item.get_local_id(0)][item.get_local_id(1)] = in[y * width + x];
  sycl::group_barrier(item.get_group());
  int tx = item.get_group(0) * 16 + item.get_local_id(1), ty = item.get_group(1) * 16 + item.get_local_id(0);
  if (tx < height && ty < width) out[ty * height + tx] = tile[item.get_local_id(1)][item.get_local_id(0)];
}
)";

TEST(group_functions_agree_with_the_host) {
  auto bundle = frame::build(queue, SOURCE);
  auto kernel = bundle.ext_oneapi_get_kernel("collectives");
  for (const int local : {1, 7, 32, 100}) {
    const int groups = 5, count = groups * local;
    auto *memory = sycl::malloc_shared<int>(5 * count, queue);
    for (int i = 0; i < count; ++i) memory[i] = (i * 37) % 101 - (i % 50 == 9 ? 60 : 0);
    auto at = [&](int part) { return memory + part * count; };
    queue.submit([&](sycl::handler &handler) {
      handler.set_args(at(0), at(1), at(2), at(3), at(4));
      handler.parallel_for(sycl::nd_range<1>(count, local), kernel);
    }).wait();
    const int lanes = static_cast<int>(kernel.get_info<sycl::info::kernel_device_specific::max_sub_group_size>(queue.get_device()));
    for (int group = 0; group < groups; ++group) {
      const int *in = memory + group * local;
      const int sum = std::accumulate(in, in + local, 0);
      int running = std::numeric_limits<int>::lowest();
      for (int i = 0; i < local; ++i) {
        SAME(at(1)[group * local + i], sum);
        SAME(at(2)[group * local + i], running);
        running = std::max(running, in[i]);
      }
    }
    // Sub-groups may be smaller than the largest, never larger; an exchange of neighbours is right in any.
    for (int i = 0; i + 1 < local - local % 2; i += 2) {
      SAME(at(3)[i], memory[i + 1]);
      SAME(at(3)[i + 1], memory[i]);
    }
    CHECK(lanes >= 1);
    sycl::free(memory, queue);
  }
}

TEST(tiles_in_local_memory_transpose_a_matrix_with_partial_edges) {
  auto bundle = frame::build(queue, SOURCE);
  const int width = 70, height = 45;
  auto *in = sycl::malloc_shared<float>(2 * width * height, queue), *out = in + width * height;
  for (int i = 0; i < width * height; ++i) in[i] = static_cast<float>(i);
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(in, out, width, height);
    handler.parallel_for(sycl::nd_range<2>({48, 80}, {16, 16}), bundle.ext_oneapi_get_kernel("transpose"));
  }).wait();
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) SAME(out[x * height + y], in[y * width + x]);
  sycl::free(in, queue);
}
