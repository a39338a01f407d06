// What SYCL makes of profiles and of several devices. A process has one machine, so each is looked at in a process of its own.
#include "frame.hpp"

#include <cstdlib>
#include <utility>

using Variables = std::vector<std::pair<const char *, const char *>>;

// What a hidden test prints with variables, those of this process beside them.
static std::string with(const Variables &variables, const char *test) {
  for (const auto &[name, value] : variables) setenv(name, value, 1);
  const auto outcome = frame::run_in_its_own_process(test);
  for (const auto &variable : variables) unsetenv(variable.first);
  if (outcome.killed || outcome.code != 0) throw frame::Failure(std::string(test) + ":\n" + outcome.output);
  return outcome.output;
}

static void contains(const std::string &text, const std::string &part) {
  if (text.find(part) == std::string::npos) throw frame::Failure("no \"" + part + "\" in:\n" + text);
}

static const Variables ALL_DEVICES = {{"ONEAPI_DEVICE_SELECTOR", "level_zero:*"}};

static Variables machine(Variables variables) {
  variables.insert(variables.end(), ALL_DEVICES.begin(), ALL_DEVICES.end());
  return variables;
}

HIDDEN_TEST(prints_the_devices) {
  (void)queue;
  for (const auto &device : sycl::device::get_devices()) {
    std::cout << "device " << (device.is_cpu() ? "cpu" : device.is_gpu() ? "gpu" : "other") << " '"
              << device.get_info<sycl::info::device::name>() << "' sub-groups";
    for (auto size : device.get_info<sycl::info::device::sub_group_sizes>()) std::cout << " " << size;
    std::cout << " local " << device.get_info<sycl::info::device::local_mem_size>() / 1024 << " memory "
              << device.get_info<sycl::info::device::global_mem_size>() / (1ull << 30) << " fp64 "
              << device.has(sycl::aspect::fp64) << " fp16 " << device.has(sycl::aspect::fp16) << " atomic64 "
              << device.has(sycl::aspect::atomic64) << " architecture "
              << static_cast<unsigned long long>(device.get_info<syclex::info::device::architecture>()) << " parts ";
    try {
      using sycl::info::partition_property;
      const auto parts = device.create_sub_devices<partition_property::partition_by_affinity_domain>(
          sycl::info::partition_affinity_domain::next_partitionable);
      std::cout << parts.size() << std::endl;
    } catch (const sycl::exception &) {
      std::cout << "none" << std::endl;
    }
  }
}

HIDDEN_TEST(doubles_one_number) {
  auto *value = sycl::malloc_shared<double>(1, queue);
  *value = 1.5;
  try {
    auto bundle = frame::build(queue, KERNEL(1) R"(
void twice(double *value) { *value *= 2.0; })");
    queue.submit([&](sycl::handler &handler) {
      handler.set_args(value);
      handler.parallel_for(sycl::nd_range<1>(1, 1), bundle.ext_oneapi_get_kernel("twice"));
    }).wait();
    std::cout << "twice is " << *value << std::endl;
  } catch (const std::exception &error) {
    std::cout << "refused: " << error.what() << std::endl;
  }
}

// Every device, and every part, adds one to a number that the others see.
HIDDEN_TEST(counts_on_all_devices) {
  (void)queue;
  auto devices = sycl::device::get_devices();
  for (const auto &root : sycl::device::get_devices()) {
    try {
      using sycl::info::partition_property;
      for (const auto &part : root.create_sub_devices<partition_property::partition_by_affinity_domain>(
               sycl::info::partition_affinity_domain::next_partitionable))
        devices.push_back(part);
    } catch (const sycl::exception &) {
    }
  }
  // One context and one build for all of them: each has a module of it.
  sycl::context all(devices);
  sycl::queue first(all, devices.front());
  auto bundle = frame::build(first, KERNEL(1) R"(
void count(int *number) { *number += 1; })");
  int total = 0;
  for (const auto &device : devices) {
    sycl::queue own(all, device);
    auto *number = sycl::malloc_device<int>(1, own);
    own.memcpy(number, &total, sizeof total).wait();
    own.submit([&](sycl::handler &handler) {
      handler.set_args(number);
      handler.parallel_for(sycl::nd_range<1>(1, 1), bundle.ext_oneapi_get_kernel("count"));
    }).wait();
    own.memcpy(&total, number, sizeof total).wait();
    sycl::free(number, own);
  }
  std::cout << "counted " << total << " of " << devices.size() << std::endl;
}

TEST(profiles_are_the_devices_that_they_name) {
  (void)queue;
  const auto of = [](const char *profile) { return with(machine({{"ZE_CPU_PROFILE", profile}}), "prints_the_devices"); };
  const std::string a770 = of("arc-a770");
  contains(a770, "device gpu 'Intel(R) Arc(TM) A770 Graphics' sub-groups 8 16 32 local 64 memory");
  contains(a770, "fp64 0 fp16 1 atomic64 1");
  contains(of("arc-b580"), "sub-groups 16 32 local 128");
  contains(of("arc-b580"), "fp64 1 fp16 1 atomic64 1");
  contains(of("uhd-770"), "fp64 0 fp16 1");
  const std::string max = of("max-1550");
  contains(max, "device gpu 'Intel(R) Data Center GPU Max 1550' sub-groups 16 32 local 128 memory 64 fp64 1");
  SAME(max.find("device gpu") == max.rfind("device gpu"), false);
}

TEST(double_precision_needs_a_device_that_has_it) {
  (void)queue;
  contains(with({{"ZE_CPU_PROFILE", "arc-b580"}}, "doubles_one_number"), "twice is 3");
  contains(with({{"ZE_CPU_PROFILE", "arc-a770"}}, "doubles_one_number"), "refused: ");
}

TEST(the_cpu_is_a_device_of_its_own) {
  (void)queue;
  const std::string both = with(machine({{"ZE_CPU_PROFILE", "host-cpu"}}), "prints_the_devices");
  contains(both, "device gpu 'ze_cpu on ");
  contains(both, "device cpu 'ze_cpu on ");
  const Variables cpu = {{"ZE_CPU_PROFILE", "host-cpu"}, {"ONEAPI_DEVICE_SELECTOR", "level_zero:cpu"}};
  contains(with(cpu, "prints_the_devices"), "device cpu");
  contains(with(cpu, "doubles_one_number"), "twice is 3");
}

TEST(devices_and_their_parts_compute) {
  (void)queue;
  const Variables four = {{"ZE_CPU_DEVICES", "2"}, {"ZE_CPU_SUBDEVICES", "2"}};
  contains(with(machine(four), "counts_on_all_devices"), "counted 6 of 6");
  contains(with(machine(four), "prints_the_devices"), "parts 2");
  Variables flat = four;
  flat.push_back({"ZE_FLAT_DEVICE_HIERARCHY", "FLAT"});
  contains(with(machine(flat), "counts_on_all_devices"), "counted 4 of 4");
  flat.push_back({"ZE_AFFINITY_MASK", "0,3"});
  contains(with(machine(flat), "counts_on_all_devices"), "counted 2 of 2");
}
