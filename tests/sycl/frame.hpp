// The frame of the SYCL programs: tests that name themselves, checks that say what they saw, device code built at run time.
//
// Device code is a string that the SYCL runtime's own compiler translates (sycl_ext_oneapi_kernel_compiler), so that any
// C++ compiler builds the host's half.
#pragma once
#define SYCL_DISABLE_FSYCL_SYCLHPP_WARNING
#include <sycl/sycl.hpp>

#include <cstdint>
#include <functional>
#include <iostream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace syclex = sycl::ext::oneapi::experimental;
using Bundle = sycl::kernel_bundle<sycl::bundle_state::executable>;

namespace frame {

struct Test {
  const char *name;
  std::function<void(sycl::queue &)> body;
  // A test that is run by its name only: it ends the process, or cannot be relied on yet.
  bool hidden;
};

std::vector<Test> &tests();

struct Registered {
  Registered(const char *name, std::function<void(sycl::queue &)> body, bool hidden = false) {
    tests().push_back({name, std::move(body), hidden});
  }
};

struct Failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// A test that does not apply here, with the reason.
struct Skip : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// What a hidden test writes to standard output and standard error, and how its process ended.
struct Outcome {
  std::string output;
  bool killed;
  int code;
};
Outcome run_in_its_own_process(const char *test);

// Standard output of this process while `body` runs.
std::string printed_by(const std::function<void()> &body);

template <typename A, typename B> void same(const A &seen, const B &expected, const char *what, const char *file, int line) {
  if (seen == expected) return;
  std::ostringstream text;
  text << file << ":" << line << ": " << what << " is " << seen << ", expected " << expected;
  throw Failure(text.str());
}

// Device code with the names that all of it uses.
Bundle build(sycl::queue &queue, const std::string &source, const std::vector<std::string> &options = {});

} // namespace frame

#define TEST(name)                                                                                                     \
  static void name(sycl::queue &);                                                                                     \
  static frame::Registered name##_registered(#name, name);                                                             \
  static void name([[maybe_unused]] sycl::queue &queue)

#define HIDDEN_TEST(name)                                                                                              \
  static void name(sycl::queue &);                                                                                     \
  static frame::Registered name##_registered(#name, name, true);                                                       \
  static void name([[maybe_unused]] sycl::queue &queue)

#define SAME(seen, expected) frame::same((seen), (expected), #seen, __FILE__, __LINE__)
#define CHECK(condition) frame::same(static_cast<bool>(condition), true, #condition, __FILE__, __LINE__)

// The declaration of a kernel over one, two or three dimensions.
#define KERNEL(dimensions) "extern \"C\" SYCL_EXT_ONEAPI_FUNCTION_PROPERTY((syclex::nd_range_kernel<" #dimensions ">))\n"
