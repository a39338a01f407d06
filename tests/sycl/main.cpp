// Runs the tests whose names contain an argument, or all. Exit status 1 where one fails.
#include "frame.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace frame {

std::vector<Test> &tests() {
  static std::vector<Test> all;
  return all;
}

Bundle build(sycl::queue &queue, const std::string &source, const std::vector<std::string> &options) {
  const std::string names = R"(
#include <sycl/sycl.hpp>
#include <cassert>
namespace syclex = sycl::ext::oneapi::experimental;
namespace this_item = sycl::ext::oneapi::this_work_item;
)";
  auto text = syclex::create_kernel_bundle_from_source(queue.get_context(), syclex::source_language::sycl, names + source);
  std::string log;
  try {
    return syclex::build(text, syclex::properties{syclex::build_options{options}, syclex::save_log{&log}});
  } catch (const sycl::exception &error) {
    throw Failure(std::string("the device code is not built: ") + error.what() + "\n" + log);
  }
}

Outcome run_in_its_own_process(const char *test) {
  int ends[2];
  if (pipe(ends) != 0) throw Failure("no pipe");
  const pid_t child = fork();
  if (child < 0) throw Failure("no process");
  if (child == 0) {
    dup2(ends[1], 1);
    dup2(ends[1], 2);
    close(ends[0]);
    close(ends[1]);
    // By its path, so that it starts as this one did.
    std::vector<char *> arguments;
    static std::string loader = getenv("SYCL_TESTS_LAUNCH") ? getenv("SYCL_TESTS_LAUNCH") : "";
    static std::string self = getenv("SYCL_TESTS_SELF") ? getenv("SYCL_TESTS_SELF") : "/proc/self/exe";
    static std::string name = std::string("=") + test;
    if (!loader.empty()) arguments.push_back(loader.data());
    arguments.push_back(self.data());
    arguments.push_back(name.data());
    arguments.push_back(nullptr);
    execv(arguments[0], arguments.data());
    _exit(127);
  }
  close(ends[1]);
  Outcome outcome;
  char buffer[4096];
  for (ssize_t length; (length = read(ends[0], buffer, sizeof buffer)) > 0;) outcome.output.append(buffer, length);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  outcome.killed = WIFSIGNALED(status);
  outcome.code = outcome.killed ? WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

std::string printed_by(const std::function<void()> &body) {
  char name[] = "/tmp/sycl-tests-XXXXXX";
  const int file = mkstemp(name);
  if (file < 0) throw Failure("no temporary file");
  unlink(name);
  std::cout.flush();
  fflush(stdout);
  const int kept = dup(1);
  dup2(file, 1);
  std::exception_ptr error;
  try {
    body();
  } catch (...) {
    error = std::current_exception();
  }
  std::cout.flush();
  fflush(stdout);
  dup2(kept, 1);
  close(kept);
  std::string text;
  lseek(file, 0, SEEK_SET);
  char buffer[4096];
  for (ssize_t length; (length = read(file, buffer, sizeof buffer)) > 0;) text.append(buffer, length);
  close(file);
  if (error) std::rethrow_exception(error);
  return text;
}

} // namespace frame

int main(int count, char **arguments) {
  const std::string wanted = count > 1 ? arguments[1] : "";
  const bool exact = !wanted.empty() && wanted[0] == '=';
  int passed = 0, failed = 0, skipped = 0;
  for (const auto &test : frame::tests()) {
    const std::string name = test.name;
    if (exact ? name != wanted.substr(1) : test.hidden || name.find(wanted) == std::string::npos) continue;
    std::string verdict = "ok";
    try {
      sycl::queue queue;
      test.body(queue);
      queue.wait_and_throw();
      ++passed;
    } catch (const frame::Skip &reason) {
      verdict = std::string("skipped: ") + reason.what();
      ++skipped;
    } catch (const std::exception &error) {
      verdict = std::string("FAILED: ") + error.what();
      ++failed;
    }
    std::cout << "sycl " << name << " ... " << verdict << std::endl;
  }
  std::cout << passed << " passed, " << failed << " failed, " << skipped << " skipped" << std::endl;
  return failed || passed + skipped == 0;
}
