// What device code prints, and failed assertions.
#include "frame.hpp"

#include <algorithm>
#include <csignal>

TEST(printf_prints_each_work_item_in_order) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void say(float scale) {
  auto item = this_item::get_nd_item<1>();
  int id = item.get_global_linear_id();
  syclex::printf("%d|%5.2f|%s|%c|%x|%lld\n", id, scale * id, "text", 'a' + id, id * 16, 1ll << (32 + id));
})");
  auto kernel = bundle.ext_oneapi_get_kernel("say");
  const auto text = frame::printed_by([&] {
    queue.submit([&](sycl::handler &handler) {
      handler.set_args(0.25f);
      handler.parallel_for(sycl::nd_range<1>{4, 4}, kernel);
    }).wait();
  });
  SAME(text, "0| 0.00|text|a|0|4294967296\n1| 0.25|text|b|10|8589934592\n"
             "2| 0.50|text|c|20|17179869184\n3| 0.75|text|d|30|34359738368\n");
}

TEST(printf_under_a_divergent_branch_prints_only_the_lanes_that_are_on) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void odd() {
  int id = this_item::get_nd_item<1>().get_global_linear_id();
  for (int i = 0; i < id; ++i)
    if (id & 1) syclex::printf("%d.%d ", id, i);
})");
  auto kernel = bundle.ext_oneapi_get_kernel("odd");
  const auto text = frame::printed_by([&] {
    queue.submit([&](sycl::handler &handler) { handler.parallel_for(sycl::nd_range<1>{5, 5}, kernel); }).wait();
  });
  std::vector<std::string> words;
  std::istringstream stream(text);
  for (std::string word; stream >> word;) words.push_back(word);
  std::sort(words.begin(), words.end());
  SAME((words == std::vector<std::string>{"1.0", "3.0", "3.1", "3.2"}), true);
}

TEST(streams_print_what_each_work_item_says) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void say(sycl::stream out, int total) {
  int id = this_item::get_nd_item<1>().get_global_linear_id();
  out << "item " << id << " of " << total << ", " << sycl::setprecision(3) << 0.125f * id << " " << sycl::hex << 16 * id << sycl::endl;
})");
  auto kernel = bundle.ext_oneapi_get_kernel("say");
  const auto text = frame::printed_by([&] {
    queue.submit([&](sycl::handler &handler) {
      sycl::stream out(4096, 128, handler);
      handler.set_args(out, 6);
      handler.parallel_for(sycl::nd_range<1>{6, 3}, kernel);
    }).wait();
    queue.wait();
  });
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  std::sort(lines.begin(), lines.end());
  SAME(lines.size(), 6u);
  const char *const numbers[] = {"0 0", "0.125 10", "0.25 20", "0.375 30", "0.5 40", "0.625 50"};
  for (int i = 0; i < 6; ++i) SAME(lines[i], "item " + std::to_string(i) + " of 6, " + numbers[i]);
}

HIDDEN_TEST(an_assertion_that_fails) {
  auto bundle = frame::build(queue, KERNEL(1) R"(
void checks(int *data) {
  int id = this_item::get_nd_item<1>().get_global_linear_id();
  assert(data[id] != 7 && "seven");
  data[id] = 1;
})");
  auto kernel = bundle.ext_oneapi_get_kernel("checks");
  auto *data = sycl::malloc_shared<int>(64, queue);
  for (int i = 0; i < 64; ++i) data[i] = i;
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(data);
    handler.parallel_for(sycl::nd_range<1>{64, 16}, kernel);
  }).wait();
  std::cout << "went on behind the assertion" << std::endl;
}

TEST(a_failed_assertion_ends_the_process_with_its_message) {
  const auto outcome = frame::run_in_its_own_process("an_assertion_that_fails");
  CHECK(outcome.killed);
  SAME(outcome.code, SIGABRT);
  CHECK(outcome.output.find("Assertion `data[id] != 7 && \"seven\"` failed") != std::string::npos);
  CHECK(outcome.output.find("global id: [7,0,0]") != std::string::npos);
  CHECK(outcome.output.find("went on") == std::string::npos);
}
