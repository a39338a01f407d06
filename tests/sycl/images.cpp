// Bindless images: kernels read, write and sample images of every kind that the adapter offers, by handles.
#include "frame.hpp"

#include <sycl/ext/oneapi/bindless_images.hpp>

#include <array>
#include <cmath>

using syclex::image_descriptor;
using syclex::image_type;
using sycl::image_channel_type;

static const char *const SOURCE = R"(
#include <sycl/ext/oneapi/bindless_images.hpp>
using unsampled = syclex::unsampled_image_handle;
using sampled = syclex::sampled_image_handle;

template <typename T, typename At> static void add_one(unsampled from, unsampled to, At at) {
  T texel = syclex::fetch_image<T>(from, at);
  syclex::write_image(to, at, T(texel + T(1)));
}
static int at1() { return this_item::get_nd_item<1>().get_global_id(0); }
static sycl::int2 at2() {
  auto item = this_item::get_nd_item<2>();
  return {int(item.get_global_id(1)), int(item.get_global_id(0))};
}
static sycl::int3 at3() {
  auto item = this_item::get_nd_item<3>();
  return {int(item.get_global_id(2)), int(item.get_global_id(1)), int(item.get_global_id(0))};
}
struct Two {
  unsampled images[2];
};
)" KERNEL(1) R"(
void float_1(unsampled from, unsampled to) { add_one<float>(from, to, at1()); }
)" KERNEL(2) R"(
void float_2(unsampled from, unsampled to) { add_one<float>(from, to, at2()); }
)" KERNEL(3) R"(
void float_3(unsampled from, unsampled to) { add_one<float>(from, to, at3()); }
)" KERNEL(2) R"(
void float4_2(unsampled from, unsampled to) { add_one<sycl::float4>(from, to, at2()); }
)" KERNEL(2) R"(
void half4_2(unsampled from, unsampled to) { add_one<sycl::half4>(from, to, at2()); }
)" KERNEL(2) R"(
void int4_2(unsampled from, unsampled to) { add_one<sycl::int4>(from, to, at2()); }
)" KERNEL(2) R"(
void uint_2(unsampled from, unsampled to) { add_one<unsigned>(from, to, at2()); }
)" KERNEL(2) R"(
void short2_2(unsampled from, unsampled to) { add_one<sycl::short2>(from, to, at2()); }
)" KERNEL(2) R"(
void fractions(unsampled from, float *out, int width) {
  auto at = at2();
  auto texel = syclex::fetch_image<sycl::float4>(from, at);
  for (int channel = 0; channel < 4; channel++) out[(at.y() * width + at.x()) * 4 + channel] = texel[channel];
}
)" KERNEL(2) R"(
void layers_2(unsampled from, unsampled to, int layers) {
  for (int layer = 0; layer < layers; layer++) {
    float texel = syclex::fetch_image_array<float>(from, at2(), layer);
    syclex::write_image_array(to, at2(), layer, texel + 1.0f);
  }
}
)" KERNEL(1) R"(
void sample_1(sampled from, float *out, float scale, float shift) {
  out[at1()] = syclex::sample_image<float>(from, at1() * scale + shift);
}
)" KERNEL(2) R"(
void sample_2(sampled from, float *out, int width, float scale, float shift) {
  auto at = at2();
  out[at.y() * width + at.x()] =
      syclex::sample_image<float>(from, sycl::float2(at.x() * scale + shift, at.y() * scale + shift));
}
)" KERNEL(3) R"(
void sample_3(sampled from, float *out, int width, int height, float scale, float shift) {
  auto at = at3();
  out[(at.z() * height + at.y()) * width + at.x()] = syclex::sample_image<float>(
      from, sycl::float3(at.x() * scale + shift, at.y() * scale + shift, at.z() * scale + shift));
}
)" KERNEL(2) R"(
void fetch_sampled(sampled from, float *out, int width) {
  auto at = at2();
  out[at.y() * width + at.x()] = syclex::fetch_image<float>(from, at);
}
)" KERNEL(2) R"(
void pick(Two two, unsampled *table, float *out, int width) {
  auto at = at2();
  float sum = syclex::fetch_image<float>(two.images[at.x() & 1], at);
  sum += 100.0f * syclex::fetch_image<float>(table[at.y() & 1], at);
  out[at.y() * width + at.x()] = sum;
}
)";

// The bundle, built once.
static Bundle &bundle(sycl::queue &queue) {
  static Bundle built = frame::build(queue, SOURCE);
  return built;
}

// Coordinates begin with the one that varies fastest, ranges end with it.
template <int Dims> static sycl::range<Dims> reversed(sycl::range<Dims> range) {
  sycl::range<Dims> out = range;
  for (int axis = 0; axis < Dims; axis++) out[axis] = range[Dims - 1 - axis];
  return out;
}

template <int Dims, typename... Arguments>
static void run(sycl::queue &queue, const char *kernel, sycl::range<Dims> extents, Arguments... arguments) {
  auto range = reversed(extents), group = range;
  for (int axis = 0; axis < Dims; axis++) group[axis] = axis == Dims - 1 && range[axis] % 8 == 0 ? 8 : 1;
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(arguments...);
    handler.parallel_for(sycl::nd_range<Dims>(range, group), bundle(queue).ext_oneapi_get_kernel(kernel));
  });
  queue.wait_and_throw();
}

// Values that are equal, or near where a bound is given.
template <typename T>
static void agree(const char *what, const T *seen, const std::vector<T> &expected, double bound = 0) {
  for (size_t at = 0; at < expected.size(); at++) {
    const double difference = std::abs(double(seen[at]) - double(expected[at]));
    if (difference <= bound) continue;
    std::ostringstream text;
    text << what << ": value " << at << " is " << double(seen[at]) << ", expected " << double(expected[at]);
    throw frame::Failure(text.str());
  }
}

// Memory that kernels write and the host reads.
template <typename T> struct Shared {
  sycl::queue queue;
  T *data;
  Shared(sycl::queue &queue, size_t count) : queue(queue), data(sycl::malloc_shared<T>(count, queue)) {}
  ~Shared() { sycl::free(data, queue); }
};

// A kernel that adds one to each channel of an image and writes the sum to another.
template <typename T, int Dims>
static void add_one(sycl::queue &queue, const char *kernel, sycl::range<Dims> extents, unsigned channels,
                    image_channel_type type) {
  image_descriptor desc(extents, channels, type);
  syclex::image_mem from(desc, queue), to(desc, queue);
  auto in = syclex::create_image(from, desc, queue), out = syclex::create_image(to, desc, queue);
  std::vector<T> texels(extents.size() * channels), seen(texels.size()), expected(texels.size());
  for (size_t at = 0; at < texels.size(); at++) {
    texels[at] = T(int(at * 7 % 1000));
    expected[at] = T(texels[at] + T(1));
  }
  queue.ext_oneapi_copy(texels.data(), from.get_handle(), desc).wait();
  run(queue, kernel, extents, in, out);
  queue.ext_oneapi_copy(to.get_handle(), seen.data(), desc).wait();
  agree(kernel, seen.data(), expected);
  syclex::destroy_image_handle(in, queue);
  syclex::destroy_image_handle(out, queue);
}

TEST(the_device_has_bindless_images) {
  auto device = queue.get_device();
  CHECK(device.has(sycl::aspect::ext_oneapi_bindless_images));
  CHECK(device.has(sycl::aspect::ext_oneapi_bindless_images_1d_usm));
  CHECK(device.has(sycl::aspect::ext_oneapi_bindless_images_2d_usm));
  CHECK(device.has(sycl::aspect::ext_oneapi_image_array));
  CHECK(device.get_info<syclex::info::device::max_image_linear_width>() >= 16384);
  CHECK(device.get_info<syclex::info::device::image_row_pitch_align>() > 0);
}

TEST(bindless_images_of_every_channel_type_are_read_and_written) {
  add_one<float>(queue, "float_1", sycl::range<1>(200), 1, image_channel_type::fp32);
  add_one<float>(queue, "float_2", sycl::range<2>(40, 21), 1, image_channel_type::fp32);
  add_one<float>(queue, "float_3", sycl::range<3>(16, 9, 5), 1, image_channel_type::fp32);
  add_one<float>(queue, "float4_2", sycl::range<2>(37, 11), 4, image_channel_type::fp32);
  add_one<sycl::half>(queue, "half4_2", sycl::range<2>(24, 10), 4, image_channel_type::fp16);
  add_one<int32_t>(queue, "int4_2", sycl::range<2>(24, 10), 4, image_channel_type::signed_int32);
  add_one<uint32_t>(queue, "uint_2", sycl::range<2>(24, 10), 1, image_channel_type::unsigned_int32);
  add_one<int16_t>(queue, "short2_2", sycl::range<2>(24, 10), 2, image_channel_type::signed_int16);
}

TEST(bytes_of_bindless_images_are_fractions) {
  sycl::range<2> extents(32, 8);
  image_descriptor desc(extents, 4, image_channel_type::unorm_int8);
  syclex::image_mem memory(desc, queue);
  auto image = syclex::create_image(memory, desc, queue);
  std::vector<uint8_t> texels(extents.size() * 4);
  std::vector<float> expected(texels.size());
  for (size_t at = 0; at < texels.size(); at++) {
    texels[at] = uint8_t(at);
    expected[at] = float(texels[at]) / 255.0f;
  }
  queue.ext_oneapi_copy(texels.data(), memory.get_handle(), desc).wait();
  Shared<float> out(queue, texels.size());
  run(queue, "fractions", extents, image, out.data, int(extents[0]));
  agree("fractions", out.data, expected, 1e-6);
  syclex::destroy_image_handle(image, queue);
}

TEST(bindless_arrays_have_layers) {
  sycl::range<2> extents(24, 6);
  const unsigned layers = 3;
  image_descriptor desc(extents, 1, image_channel_type::fp32, image_type::array, 1, layers);
  syclex::image_mem from(desc, queue), to(desc, queue);
  auto in = syclex::create_image(from, desc, queue), out = syclex::create_image(to, desc, queue);
  std::vector<float> texels(extents.size() * layers), seen(texels.size()), expected(texels.size());
  for (size_t at = 0; at < texels.size(); at++) expected[at] = (texels[at] = float(at)) + 1.0f;
  queue.ext_oneapi_copy(texels.data(), from.get_handle(), desc).wait();
  run(queue, "layers_2", extents, in, out, int(layers));
  queue.ext_oneapi_copy(to.get_handle(), seen.data(), desc).wait();
  agree("layers", seen.data(), expected);
  syclex::destroy_image_handle(in, queue);
  syclex::destroy_image_handle(out, queue);
}

// A sample of an array of floats, clamped to its edges, with coordinates in texels.
static float sampled(const std::vector<float> &texels, const std::array<size_t, 3> &extents, const std::array<float, 3> &at,
                     int dims, bool linear) {
  float sum = 0;
  for (int corner = 0; corner < (linear ? 1 << dims : 1); corner++) {
    float weight = 1;
    size_t index[3] = {0, 0, 0};
    for (int axis = 0; axis < dims; axis++) {
      const float place = linear ? at[axis] - 0.5f : at[axis], below = std::floor(place);
      const bool upper = corner >> axis & 1;
      if (linear) weight *= upper ? place - below : 1 - (place - below);
      const long texel = long(below) + upper;
      index[axis] = size_t(std::min(std::max(texel, 0L), long(extents[axis]) - 1));
    }
    sum += weight * texels[(index[2] * extents[1] + index[1]) * extents[0] + index[0]];
  }
  return sum;
}

static syclex::bindless_image_sampler clamped(bool linear) {
  return {sycl::addressing_mode::clamp_to_edge, sycl::coordinate_normalization_mode::unnormalized,
          linear ? sycl::filtering_mode::linear : sycl::filtering_mode::nearest};
}

template <int Dims> static void sample(sycl::queue &queue, const char *kernel, sycl::range<Dims> extents, bool linear) {
  image_descriptor desc(extents, 1, image_channel_type::fp32);
  syclex::image_mem memory(desc, queue);
  auto sampler = clamped(linear);
  auto image = syclex::create_image(memory, sampler, desc, queue);
  std::vector<float> texels(extents.size()), expected;
  for (size_t at = 0; at < texels.size(); at++) texels[at] = float(at * 13 % 101);
  queue.ext_oneapi_copy(texels.data(), memory.get_handle(), desc).wait();
  std::array<size_t, 3> box = {1, 1, 1};
  for (int axis = 0; axis < Dims; axis++) box[axis] = extents[axis];
  const float scale = 0.75f, shift = -1.3f;
  for (size_t z = 0; z < box[2]; z++)
    for (size_t y = 0; y < box[1]; y++)
      for (size_t x = 0; x < box[0]; x++)
        expected.push_back(
            sampled(texels, box, {x * scale + shift, y * scale + shift, z * scale + shift}, Dims, linear));
  Shared<float> out(queue, texels.size());
  const int width = int(box[0]), height = int(box[1]);
  if constexpr (Dims == 1)
    run(queue, kernel, extents, image, out.data, scale, shift);
  else if constexpr (Dims == 2)
    run(queue, kernel, extents, image, out.data, width, scale, shift);
  else
    run(queue, kernel, extents, image, out.data, width, height, scale, shift);
  // Weights of linear filters have 8 bits at least (OpenCL C 2.0 §8.2), of differences up to 100.
  agree(kernel, out.data, expected, linear ? Dims * 100.0 / 256 : 0);
  syclex::destroy_image_handle(image, queue);
}

TEST(bindless_images_are_sampled_in_every_dimension) {
  for (bool linear : {false, true}) {
    sample(queue, "sample_1", sycl::range<1>(64), linear);
    sample(queue, "sample_2", sycl::range<2>(40, 30), linear);
    sample(queue, "sample_3", sycl::range<3>(16, 10, 6), linear);
  }
}

TEST(bindless_images_are_in_pitched_memory_of_the_program) {
  sycl::range<2> extents(50, 12);
  image_descriptor desc(extents, 1, image_channel_type::fp32);
  size_t pitch = 0;
  void *memory = syclex::pitched_alloc_device(&pitch, desc, queue);
  auto sampler = clamped(false);
  auto image = syclex::create_image(memory, pitch, sampler, desc, queue);
  std::vector<float> texels(extents.size());
  for (size_t at = 0; at < texels.size(); at++) texels[at] = float(at);
  queue.ext_oneapi_copy(texels.data(), memory, desc, pitch).wait();
  Shared<float> out(queue, texels.size());
  run(queue, "fetch_sampled", extents, image, out.data, int(extents[0]));
  agree("fetched texels", out.data, texels);
  run(queue, "sample_2", extents, image, out.data, int(extents[0]), 1.0f, 0.5f);
  agree("sampled texels", out.data, texels);
  syclex::destroy_image_handle(image, queue);
  sycl::free(memory, queue);
}

TEST(handles_are_in_structures_and_in_memory_and_lanes_have_different_ones) {
  sycl::range<2> extents(16, 6);
  image_descriptor desc(extents, 1, image_channel_type::fp32);
  syclex::image_mem memory[2] = {{desc, queue}, {desc, queue}};
  struct {
    syclex::unsampled_image_handle images[2];
  } two;
  Shared<syclex::unsampled_image_handle> table(queue, 2);
  std::vector<float> texels[2], expected;
  for (int which : {0, 1}) {
    table.data[which] = two.images[which] = syclex::create_image(memory[which], desc, queue);
    for (size_t at = 0; at < extents.size(); at++) texels[which].push_back(float(at % 90) + (which ? 0.5f : 0.0f));
    queue.ext_oneapi_copy(texels[which].data(), memory[which].get_handle(), desc).wait();
  }
  for (size_t y = 0; y < extents[1]; y++)
    for (size_t x = 0; x < extents[0]; x++) {
      const size_t at = y * extents[0] + x;
      expected.push_back(texels[x & 1][at] + 100.0f * texels[y & 1][at]);
    }
  Shared<float> out(queue, expected.size());
  run(queue, "pick", extents, two, table.data, out.data, int(extents[0]));
  agree("picked texels", out.data, expected, 1e-2);
  for (auto &image : two.images) syclex::destroy_image_handle(image, queue);
}
