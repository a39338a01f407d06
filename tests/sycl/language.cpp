// What SYCL 2020 programs are written with: specialization constants, ranges of one to three dimensions, local accessors,
// reductions, structures that move between work-items, errors that are exceptions.
#include "frame.hpp"

#include <cmath>
#include <numeric>

TEST(nd_ranges_of_every_dimension_number_their_work_items) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void one(int *out) {
  auto item = this_item::get_nd_item<1>();
  out[item.get_global_id(0)] = item.get_group(0) * 1000 + item.get_local_id(0);
}
)" KERNEL(2) R"(
void two(int *out) {
  auto item = this_item::get_nd_item<2>();
  out[item.get_global_linear_id()] = item.get_group(0) * 100000 + item.get_group(1) * 1000 + item.get_local_id(0) * 10 + item.get_local_id(1);
}
)" KERNEL(3) R"(
void three(int *out) {
  auto item = this_item::get_nd_item<3>();
  out[item.get_global_linear_id()] = item.get_group_linear_id() * 1000 + item.get_local_linear_id();
}
)" "extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(syclex::single_task_kernel)\n" R"(
void single(int *out) { out[0] = 41; }
)");
  auto *out = sycl::malloc_shared<int>(1000, queue);
  auto run = [&](const char *name, auto range) {
    std::fill(out, out + 1000, -1);
    auto kernel = bundle.ext_oneapi_get_kernel(name);
    queue.submit([&](sycl::handler &handler) {
      handler.set_args(out);
      handler.parallel_for(range, kernel);
    }).wait_and_throw();
  };
  run("one", sycl::nd_range<1>(60, 12));
  for (int i = 0; i < 60; ++i) SAME(out[i], i / 12 * 1000 + i % 12);
  run("two", sycl::nd_range<2>({6, 20}, {3, 5}));
  for (int y = 0; y < 6; ++y)
    for (int x = 0; x < 20; ++x) SAME(out[y * 20 + x], y / 3 * 100000 + x / 5 * 1000 + y % 3 * 10 + x % 5);
  run("three", sycl::nd_range<3>({4, 6, 10}, {2, 3, 5}));
  for (int z = 0; z < 4; ++z)
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 10; ++x)
        SAME(out[(z * 6 + y) * 10 + x], ((z / 2 * 2 + y / 3) * 2 + x / 5) * 1000 + (z % 2 * 3 + y % 3) * 5 + x % 5);
  auto kernel = bundle.ext_oneapi_get_kernel("single");
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(out);
    handler.single_task(kernel);
  }).wait_and_throw();
  SAME(out[0], 41);
  sycl::free(out, queue);
}

// The compiler in SYCL's runtime leaves calls that read them, and a program has no way to set one of such a bundle.
TEST(specialization_constants_of_code_that_is_built_at_run_time_are_their_defaults) {
  auto bundle = frame::build(queue, "struct Pair { float first; int second; };\n"
      "constexpr sycl::specialization_id<int> times(3);\n"
      "constexpr sycl::specialization_id<Pair> pair(Pair{0.5f, 7});\n" KERNEL(1) R"(
void read(float *out, sycl::kernel_handler handler) {
  auto item = this_item::get_nd_item<1>();
  Pair both = handler.get_specialization_constant<pair>();
  out[item.get_global_id(0)] = handler.get_specialization_constant<times>() * both.second + both.first;
}
)");
  auto kernel = bundle.ext_oneapi_get_kernel("read");
  auto *out = sycl::malloc_shared<float>(24, queue);
  queue.submit([&](sycl::handler &handler) {
    handler.set_arg(0, out);
    // A handler is the address of the values that were set.
    handler.set_arg(1, std::uint64_t(0));
    handler.parallel_for(sycl::nd_range<1>(24, 8), kernel);
  }).wait_and_throw();
  for (int i = 0; i < 24; ++i) SAME(out[i], 21.5f);
  sycl::free(out, queue);
}

TEST(local_accessors_are_memory_of_each_work_group) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void reverse(sycl::local_accessor<int, 1> tile, sycl::local_accessor<double, 2> square, int *data, double *sums) {
  auto item = this_item::get_nd_item<1>();
  int me = item.get_local_id(0), last = item.get_local_range(0) - 1;
  tile[me] = data[item.get_global_id(0)];
  square[me % 4][me / 4] = me;
  sycl::group_barrier(item.get_group());
  data[item.get_global_id(0)] = tile[last - me];
  sums[item.get_global_id(0)] = square[(last - me) % 4][(last - me) / 4];
}
)");
  const int count = 96, size = 24;
  auto *data = sycl::malloc_shared<int>(count, queue);
  auto *sums = sycl::malloc_shared<double>(count, queue);
  std::iota(data, data + count, 0);
  auto kernel = bundle.ext_oneapi_get_kernel("reverse");
  queue.submit([&](sycl::handler &handler) {
    sycl::local_accessor<int, 1> tile(size, handler);
    sycl::local_accessor<double, 2> square(sycl::range<2>(4, size / 4), handler);
    handler.set_args(tile, square, data, sums);
    handler.parallel_for(sycl::nd_range<1>(count, size), kernel);
  }).wait_and_throw();
  for (int i = 0; i < count; ++i) {
    SAME(data[i], i / size * size + size - 1 - i % size);
    SAME(sums[i], size - 1 - i % size);
  }
  sycl::free(data, queue);
  sycl::free(sums, queue);
}

TEST(structures_move_between_work_items_of_a_sub_group) {
  auto bundle = frame::build(queue, R"(
struct Particle { float position[3]; int id; double mass; char tag; };
)" KERNEL(1) R"(
void move(Particle *particles, int *votes) {
  auto item = this_item::get_nd_item<1>();
  auto lanes = item.get_sub_group();
  int id = item.get_global_id(0);
  Particle mine{{id + 0.5f, id * 2.0f, -id * 1.0f}, id, id * 0.25, static_cast<char>(id)};
  Particle other = sycl::permute_group_by_xor(lanes, mine, 3);
  Particle first = sycl::group_broadcast(lanes, mine, 0);
  Particle up = sycl::shift_group_right(lanes, mine, 1);
  particles[2 * id] = other;
  particles[2 * id + 1] = first;
  int linear = lanes.get_local_linear_id();
  votes[id] = linear == 0 || (up.id == id - 1 && up.tag == static_cast<char>(id - 1) && up.mass == (id - 1) * 0.25);
}
)");
  struct Particle { float position[3]; int id; double mass; char tag; };
  const int count = 128;
  auto *particles = sycl::malloc_shared<Particle>(2 * count, queue);
  auto *votes = sycl::malloc_shared<int>(count, queue);
  auto kernel = bundle.ext_oneapi_get_kernel("move");
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(particles, votes);
    handler.parallel_for(sycl::nd_range<1>(count, 64), kernel);
  }).wait_and_throw();
  for (int i = 0; i < count; ++i) {
    const Particle &other = particles[2 * i], &first = particles[2 * i + 1];
    const int from = i ^ 3;
    SAME(other.id, from);
    SAME(other.position[0], from + 0.5f);
    SAME(other.position[1], from * 2.0f);
    SAME(other.position[2], -from * 1.0f);
    SAME(other.mass, from * 0.25);
    SAME(static_cast<int>(other.tag), static_cast<int>(static_cast<char>(from)));
    CHECK(first.id <= i && first.id % 4 == 0 && first.mass == first.id * 0.25);
    SAME(votes[i], 1);
  }
  sycl::free(particles, queue);
  sycl::free(votes, queue);
}

TEST(work_groups_reduce_by_every_operation) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void reduce(const int *in, long long *sums, int *extremes, unsigned *bits, float *products) {
  auto item = this_item::get_nd_item<1>();
  auto group = item.get_group();
  int id = item.get_global_id(0), at = item.get_group(0);
  long long sum = sycl::reduce_over_group(group, static_cast<long long>(in[id]) << 20, sycl::plus<>());
  int least = sycl::reduce_over_group(group, in[id], sycl::minimum<>());
  int most = sycl::joint_reduce(group, in + at * item.get_local_range(0), in + (at + 1) * item.get_local_range(0), sycl::maximum<>());
  unsigned all = sycl::reduce_over_group(group, static_cast<unsigned>(in[id]) | 0xFF0000u, sycl::bit_and<>());
  float product = sycl::reduce_over_group(group, in[id] % 2 ? 2.0f : 1.0f, sycl::multiplies<>());
  if (group.leader()) { sums[at] = sum; extremes[2 * at] = least; extremes[2 * at + 1] = most; bits[at] = all; products[at] = product; }
  sycl::atomic_ref<int, sycl::memory_order::relaxed, sycl::memory_scope::device>(extremes[100]) += in[id];
}
)");
  const int groups = 7, size = 40, count = groups * size;
  auto *in = sycl::malloc_shared<int>(count, queue);
  auto *sums = sycl::malloc_shared<long long>(groups, queue);
  auto *extremes = sycl::malloc_shared<int>(101, queue);
  auto *bits = sycl::malloc_shared<unsigned>(groups, queue);
  auto *products = sycl::malloc_shared<float>(groups, queue);
  int total = 0;
  for (int i = 0; i < count; ++i) total += in[i] = (i * 37) % 113 - 50;
  extremes[100] = 0;
  auto kernel = bundle.ext_oneapi_get_kernel("reduce");
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(in, sums, extremes, bits, products);
    handler.parallel_for(sycl::nd_range<1>(count, size), kernel);
  }).wait_and_throw();
  for (int group = 0; group < groups; ++group) {
    long long sum = 0;
    int least = 1 << 30, most = -least;
    unsigned all = ~0u;
    float product = 1;
    for (int i = group * size; i < (group + 1) * size; ++i) {
      sum += in[i];
      least = std::min(least, in[i]), most = std::max(most, in[i]);
      all &= static_cast<unsigned>(in[i]) | 0xFF0000u;
      product *= in[i] % 2 ? 2.0f : 1.0f;
    }
    SAME(sums[group], sum << 20);
    SAME(extremes[2 * group], least);
    SAME(extremes[2 * group + 1], most);
    SAME(bits[group], all);
    SAME(products[group], product);
  }
  SAME(extremes[100], total);
  for (void *memory : {static_cast<void *>(in), static_cast<void *>(sums), static_cast<void *>(extremes), static_cast<void *>(bits), static_cast<void *>(products)})
    sycl::free(memory, queue);
}

TEST(half_vectors_and_mathematics_agree_with_the_host) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void compute(const sycl::half *in, sycl::half *out, float *wide) {
  int id = this_item::get_nd_item<1>().get_global_id(0);
  sycl::half x = in[id];
  sycl::vec<sycl::half, 4> v{x, x + sycl::half(1), x * x, -x};
  auto w = v * v + sycl::vec<sycl::half, 4>(sycl::half(0.5f));
  out[4 * id] = w.x(); out[4 * id + 1] = w.y(); out[4 * id + 2] = sycl::fabs(v.w()); out[4 * id + 3] = sycl::fmax(v.x(), v.z());
  wide[id] = static_cast<float>(sycl::sqrt(sycl::fabs(x)));
}
)");
  const int count = 256;
  auto *in = sycl::malloc_shared<sycl::half>(count, queue), *out = sycl::malloc_shared<sycl::half>(4 * count, queue);
  auto *wide = sycl::malloc_shared<float>(count, queue);
  for (int i = 0; i < count; ++i) in[i] = sycl::half((i - 128) * 0.125f);
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(in, out, wide);
    handler.parallel_for(sycl::nd_range<1>(count, 32), bundle.ext_oneapi_get_kernel("compute"));
  }).wait_and_throw();
  auto half = [](float value) { return static_cast<float>(sycl::half(value)); };
  for (int i = 0; i < count; ++i) {
    const float x = in[i], next = half(x + 1), square = half(x * x);
    // A compiler may contract the product and the sum: either is right.
    const float a = out[4 * i], b = out[4 * i + 1];
    CHECK(a == half(square + 0.5f) || a == half(x * x + 0.5f));
    CHECK(b == half(half(next * next) + 0.5f) || b == half(next * next + 0.5f));
    SAME(static_cast<float>(out[4 * i + 2]), std::fabs(x));
    SAME(static_cast<float>(out[4 * i + 3]), std::max(x, square));
    SAME(wide[i], half(std::sqrt(std::fabs(x))));
  }
  sycl::free(in, queue);
  sycl::free(out, queue);
  sycl::free(wide, queue);
}

TEST(what_a_device_cannot_do_is_an_exception) {
  auto bundle = frame::build(queue, KERNEL(1) "void nothing(int *out) { out[this_item::get_nd_item<1>().get_global_id(0)] = 1; }\n");
  auto kernel = bundle.ext_oneapi_get_kernel("nothing");
  auto *out = sycl::malloc_shared<int>(64, queue);
  auto launch = [&](size_t global, size_t local) {
    queue.submit([&](sycl::handler &handler) {
      handler.set_args(out);
      handler.parallel_for(sycl::nd_range<1>(global, local), kernel);
    }).wait_and_throw();
  };
  auto refused = [&](size_t global, size_t local) {
    try {
      launch(global, local);
    } catch (const sycl::exception &error) {
      return error.code() == sycl::errc::nd_range || error.code() == sycl::errc::invalid || error.code() == sycl::errc::runtime;
    }
    return false;
  };
  CHECK(refused(100, 7));
  CHECK(refused(1 << 20, 1 << 20));
  // The queue is of use afterwards.
  launch(64, 16);
  for (int i = 0; i < 64; ++i) SAME(out[i], 1);
  bool thrown = false;
  try {
    frame::build(queue, "this is no program\n");
  } catch (const frame::Failure &) {
    thrown = true;
  }
  CHECK(thrown);
  sycl::free(out, queue);
}
