// Matrices of sub-groups (sycl_ext_oneapi_matrix): products, what is done with elements, and what the device says it has.
#include "frame.hpp"

#include <cmath>
#include <vector>

namespace {

// A product of matrices of 32 x K and K x 32 in tiles of `rows` x 16, in elements of `A`, summed in `C`.
const char *const PRODUCT = R"(
using namespace sycl::ext::oneapi::experimental::matrix;
using bfloat16 = sycl::ext::oneapi::bfloat16;
)" KERNEL(2) R"(
void product(const A *a, const A *b, C *c, int depth) {
  auto item = this_item::get_nd_item<2>();
  auto lanes = item.get_sub_group();
  const int row = item.get_group(0) * ROWS, column = item.get_group(1) * 16;
  joint_matrix<sycl::sub_group, ELEMENT, use::a, ROWS, DEPTH, layout::row_major> left;
  joint_matrix<sycl::sub_group, ELEMENT, use::b, DEPTH, 16, layout::LAYOUT> right;
  joint_matrix<sycl::sub_group, C, use::accumulator, ROWS, 16> sum;
  joint_matrix_fill(lanes, sum, C(1));
  auto global = [](auto *p) { return sycl::address_space_cast<sycl::access::address_space::global_space, sycl::access::decorated::no>(p); };
  for (int k = 0; k < depth; k += DEPTH) {
    joint_matrix_load(lanes, left, global(a + row * depth + k), depth);
    joint_matrix_load(lanes, right, global(b + STEP), LEADING);
    joint_matrix_mad(lanes, sum, left, right, sum);
  }
  joint_matrix_apply(lanes, sum, [](C &x) { x = x * C(2); });
  joint_matrix_store(lanes, sum, global(c + row * 32 + column), 32, layout::row_major);
}
)";

template <typename A, typename C>
void products(sycl::queue &queue, const std::string &names, int tile_depth, bool packed, double (*value)(int)) {
  const int depth = 4 * tile_depth, side = 32, pack = packed ? 4 / static_cast<int>(sizeof(A)) : 1;
  for (const int rows : {1, 8}) {
    const std::string step = packed ? "(k / PACK) * 32 * PACK + column * PACK" : "k * 32 + column";
    auto define = [](const char *name, auto value) {
      std::ostringstream text;
      text << "#define " << name << " " << value << "\n";
      return text.str();
    };
    auto bundle = frame::build(queue, names + define("ROWS", rows) + define("DEPTH", tile_depth) + define("PACK", pack) +
                                          define("LAYOUT", packed ? "ext_intel_packed" : "row_major") + define("STEP", step) +
                                          define("LEADING", 32 * pack) + PRODUCT);
    auto kernel = bundle.ext_oneapi_get_kernel("product");
    auto *a = sycl::malloc_shared<A>(side * depth, queue), *b = sycl::malloc_shared<A>(side * depth, queue);
    auto *c = sycl::malloc_shared<C>(side * side, queue);
    std::vector<double> left(side * depth), right(side * depth);
    for (int i = 0; i < side * depth; ++i) {
      a[i] = A(static_cast<float>(left[i] = value(i)));
      const int k = i / side, j = i % side;
      right[i] = value(i + 5);
      b[packed ? (k / pack * side + j) * pack + k % pack : i] = A(static_cast<float>(right[i]));
    }
    queue.submit([&](sycl::handler &handler) {
      handler.set_args(a, b, c, depth);
      handler.parallel_for(sycl::nd_range<2>({static_cast<size_t>(side / rows), 2 * 16}, {1, 16}), kernel);
    }).wait_and_throw();
    for (int i = 0; i < side; ++i)
      for (int j = 0; j < side; ++j) {
        double sum = 1;
        for (int k = 0; k < depth; ++k) sum += left[i * depth + k] * right[k * side + j];
        SAME(static_cast<double>(c[i * side + j]), 2 * sum);
      }
    sycl::free(a, queue);
    sycl::free(b, queue);
    sycl::free(c, queue);
  }
}

// Small numbers, whose products and sums are exact in every type here.
double small(int i) { return (i * 7) % 11 - 5; }

} // namespace

TEST(the_device_says_which_matrices_it_has) {
  CHECK(queue.get_device().has(sycl::aspect::ext_intel_matrix));
  const auto all = queue.get_device().get_info<syclex::info::device::matrix_combinations>();
  CHECK(!all.empty());
}

TEST(matrices_of_half_are_multiplied) {
  products<sycl::half, float>(queue, "#define A sycl::half\n#define ELEMENT sycl::half\n#define C float\n", 16, false, small);
}

TEST(matrices_of_half_are_multiplied_in_packed_layout) {
  products<sycl::half, float>(queue, "#define A sycl::half\n#define ELEMENT sycl::half\n#define C float\n", 16, true, small);
}

TEST(matrices_of_bfloat16_are_multiplied) {
  products<sycl::ext::oneapi::bfloat16, float>(
      queue, "#define A sycl::ext::oneapi::bfloat16\n#define ELEMENT sycl::ext::oneapi::bfloat16\n#define C float\n", 16, true, small);
}

TEST(matrices_of_signed_bytes_are_multiplied) {
  products<int8_t, int>(queue, "#define A int8_t\n#define ELEMENT int8_t\n#define C int\n", 32, true, small);
}

TEST(matrices_of_tf32_are_multiplied) {
  products<float, float>(
      queue, "#define A float\n#define ELEMENT sycl::ext::oneapi::experimental::matrix::precision::tf32\n#define C float\n", 8, false, small);
}
