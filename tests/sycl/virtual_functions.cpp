// Virtual functions (sycl_ext_oneapi_virtual_functions): objects that one kernel constructs, and others call.
// See heap.cpp for what they need of the heap.
#include "frame.hpp"

static const char *const SHAPES = R"(
#define CALLABLE SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(syclex::indirectly_callable)

struct Shape {
  CALLABLE virtual int area(int x) { return x; }
  CALLABLE virtual void grow() { size += 1; }
  int size = 0;
};

struct Strip : Shape {
  CALLABLE int area(int x) override { return 2 * x; }
};

struct Square : Shape {
  CALLABLE int area(int x) override { return x * x; }
  CALLABLE void grow() override { size += 100; }
};

struct Cell { alignas(16) char bytes[32]; };
)";

// Cells of 32 bytes for objects of the three classes in turn.
static const char *const CONSTRUCT = KERNEL(1) R"(
void construct(Cell *cells) {
  size_t i = this_item::get_nd_item<1>().get_global_linear_id();
  switch (i % 3) {
    case 0: new (cells + i) Shape; break;
    case 1: new (cells + i) Strip; break;
    default: new (cells + i) Square;
  }
}
)";

static int area(int i) { return i % 3 == 0 ? i : i % 3 == 1 ? 2 * i : i * i; }

TEST(virtual_functions_are_those_of_each_work_items_object) {
  CHECK(queue.get_device().has(sycl::aspect::ext_oneapi_virtual_functions));
  auto bundle = frame::build(queue, std::string(SHAPES) + CONSTRUCT +
                                        KERNEL(1) "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(syclex::assume_indirect_calls)\n" R"(
void call(Cell *cells, int *out) {
  size_t i = this_item::get_nd_item<1>().get_global_linear_id();
  Shape *shape = reinterpret_cast<Shape *>(cells + i);
  shape->grow();
  out[i] = shape->area(static_cast<int>(i)) + 1000000 * shape->size;
}
)");
  const int count = 960;
  auto *cells = sycl::malloc_device<char>(32 * count, queue);
  auto *out = sycl::malloc_shared<int>(count, queue);
  auto construct = bundle.ext_oneapi_get_kernel("construct"), call = bundle.ext_oneapi_get_kernel("call");
  for (int size : {1, 32, 96}) {
    auto run = [&](sycl::kernel &kernel, auto... arguments) {
      queue.submit([&](sycl::handler &handler) {
        handler.set_args(arguments...);
        handler.parallel_for(sycl::nd_range<1>(count, size), kernel);
      }).wait_and_throw();
    };
    run(construct, cells);
    run(call, cells, out);
    for (int i = 0; i < count; ++i) SAME(out[i], area(i) + 1000000 * (i % 3 == 2 ? 100 : 1));
  }
  sycl::free(cells, queue);
  sycl::free(out, queue);
}

TEST(virtual_functions_of_an_object_in_private_memory) {
  auto bundle = frame::build(queue, std::string(SHAPES) +
                                        KERNEL(1) "SYCL_EXT_ONEAPI_FUNCTION_PROPERTY(syclex::assume_indirect_calls)\n" R"(
void call(int *out) {
  int i = this_item::get_nd_item<1>().get_global_linear_id();
  Shape shape; Strip strip; Square square;
  Shape *chosen = i % 3 == 0 ? &shape : i % 3 == 1 ? static_cast<Shape *>(&strip) : &square;
  for (int step = 0; step <= i % 5; ++step) chosen->grow();
  out[i] = chosen->area(i) + 1000000 * (shape.size + strip.size + square.size);
}
)");
  auto call = bundle.ext_oneapi_get_kernel("call");
  const int count = 320;
  auto *out = sycl::malloc_shared<int>(count, queue);
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(out);
    handler.parallel_for(sycl::nd_range<1>(count, 40), call);
  }).wait_and_throw();
  for (int i = 0; i < count; ++i) SAME(out[i], area(i) + 1000000 * (i % 5 + 1) * (i % 3 == 2 ? 100 : 1));
  sycl::free(out, queue);
}
