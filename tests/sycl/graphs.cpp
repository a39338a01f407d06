// SYCL graphs (sycl_ext_oneapi_graph): recorded once, replayed without waiting, updated.
#include "frame.hpp"

static const char *const SOURCE = KERNEL(1) R"(
void increment(int *data, int by) {
  data[this_item::get_nd_item<1>().get_global_linear_id()] += by;
}
)";

static void replay(sycl::queue &queue, int times, bool in_order) {
  sycl::queue own = in_order ? sycl::queue(queue.get_context(), queue.get_device(), sycl::property::queue::in_order()) : queue;
  auto bundle = frame::build(own, SOURCE);
  auto kernel = bundle.ext_oneapi_get_kernel("increment");
  const int count = 256;
  auto *data = sycl::malloc_shared<int>(count, own);
  std::fill(data, data + count, 0);
  syclex::command_graph graph(own.get_context(), own.get_device());
  auto add = [&](sycl::handler &handler) {
    handler.set_args(data, 1);
    handler.parallel_for(sycl::nd_range<1>(count, 32), kernel);
  };
  auto first = graph.add(add);
  graph.add(add, {syclex::property::node::depends_on(first)});
  auto executable = graph.finalize();
  for (int i = 0; i < times; ++i) own.ext_oneapi_graph(executable);
  own.wait();
  for (int i = 0; i < count; ++i) SAME(data[i], 2 * times);
  sycl::free(data, own);
}

TEST(a_graph_that_is_replayed_1000_times_without_a_wait_runs_1000_times) { replay(queue, 1000, false); }
TEST(a_graph_that_is_replayed_1000_times_in_order_runs_1000_times) { replay(queue, 1000, true); }

TEST(a_recorded_queue_replays_its_copies_and_kernels) {
  auto bundle = frame::build(queue, SOURCE);
  auto kernel = bundle.ext_oneapi_get_kernel("increment");
  sycl::queue own(queue.get_context(), queue.get_device(), sycl::property::queue::in_order());
  const int count = 64;
  auto *data = sycl::malloc_device<int>(count, own), *result = sycl::malloc_host<int>(count, own);
  syclex::command_graph graph(own.get_context(), own.get_device());
  graph.begin_recording(own);
  own.memset(data, 1, count * sizeof(int));
  own.submit([&](sycl::handler &handler) {
    handler.set_args(data, 3);
    handler.parallel_for(sycl::nd_range<1>(count, 64), kernel);
  });
  own.memcpy(result, data, count * sizeof(int));
  graph.end_recording();
  auto executable = graph.finalize();
  for (int round = 0; round < 20; ++round) {
    std::fill(result, result + count, 0);
    own.ext_oneapi_graph(executable).wait();
    for (int i = 0; i < count; ++i) SAME(result[i], 0x01010101 + 3);
  }
  sycl::free(data, own);
  sycl::free(result, own);
}

TEST(a_graph_is_updated_with_other_arguments) {
  auto bundle = frame::build(queue, SOURCE);
  auto kernel = bundle.ext_oneapi_get_kernel("increment");
  if (!queue.get_device().has(sycl::aspect::ext_oneapi_graph)) throw frame::Skip("the device has no graphs that can be updated");
  const int count = 64;
  auto *one = sycl::malloc_shared<int>(2 * count, queue), *two = one + count;
  std::fill(one, one + 2 * count, 0);
  syclex::command_graph graph(queue.get_context(), queue.get_device());
  syclex::dynamic_parameter target(one);
  syclex::dynamic_parameter step(1);
  auto node = graph.add([&](sycl::handler &handler) {
    handler.set_arg(0, target);
    handler.set_arg(1, step);
    handler.parallel_for(sycl::nd_range<1>(count, 16), kernel);
  });
  auto executable = graph.finalize(syclex::property::graph::updatable{});
  queue.ext_oneapi_graph(executable).wait();
  target.update(two);
  step.update(10);
  executable.update(node);
  queue.ext_oneapi_graph(executable).wait();
  for (int i = 0; i < count; ++i) {
    SAME(one[i], 1);
    SAME(two[i], 10);
  }
  sycl::free(one, queue);
}
