// Bindless images in memory of others, and the kinds that `images.cpp` leaves out: arrays of lines, samples of halves and of
// bytes, lines in the program's memory, and mipmaps, which no Level Zero device has.
#include "frame.hpp"

#include <sycl/ext/oneapi/bindless_images.hpp>

#include <cmath>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

using syclex::image_descriptor;
using syclex::image_type;
using sycl::image_channel_type;

static const char *const SOURCE = R"(
#include <sycl/ext/oneapi/bindless_images.hpp>
using unsampled = syclex::unsampled_image_handle;
using sampled = syclex::sampled_image_handle;
static sycl::int2 at2() {
  auto item = this_item::get_nd_item<2>();
  return {int(item.get_global_id(1)), int(item.get_global_id(0))};
}
)" KERNEL(2) R"(
void twice(unsampled from, unsampled to) {
  float texel = syclex::fetch_image<float>(from, at2());
  syclex::write_image(to, at2(), texel * 2.0f);
}
)" KERNEL(1) R"(
void sample_line(sampled from, float *out) {
  int at = this_item::get_nd_item<1>().get_global_id(0);
  out[at] = syclex::sample_image<float>(from, at + 0.5f);
}
)" KERNEL(2) R"(
void twice_layer(unsampled from, unsampled to) {
  auto at = at2();
  float texel = syclex::fetch_image_array<float>(from, at.x(), at.y());
  syclex::write_image_array(to, at.x(), at.y(), texel * 2.0f);
}
)" KERNEL(2) R"(
void sample_bytes(sampled from, float *out, int width, float scale) {
  auto at = at2();
  auto color = syclex::sample_image<sycl::float4>(from, sycl::float2((at.x() + 0.5f) * scale, (at.y() + 0.5f) * scale));
  for (int channel = 0; channel < 4; channel++) out[(at.y() * width + at.x()) * 4 + channel] = color[channel];
}
)" KERNEL(2) R"(
void sample_halves(sampled from, float *out, int width, float scale) {
  auto at = at2();
  auto color = syclex::sample_image<sycl::half4>(from, sycl::float2((at.x() + 0.5f) * scale, (at.y() + 0.5f) * scale));
  for (int channel = 0; channel < 4; channel++) out[(at.y() * width + at.x()) * 4 + channel] = float(color[channel]);
}
)" KERNEL(2) R"(
void invert_bytes(unsampled from, unsampled to) {
  auto color = syclex::fetch_image<sycl::float4>(from, at2());
  syclex::write_image(to, at2(), sycl::float4(1.0f - color.x(), 1.0f - color.y(), 1.0f - color.z(), 1.0f - color.w()));
}
)";

static Bundle &bundle(sycl::queue &queue) {
  static Bundle built = frame::build(queue, SOURCE);
  return built;
}

template <int Dims, typename... Arguments>
static void run(sycl::queue &queue, const char *kernel, sycl::range<Dims> global, Arguments... arguments) {
  auto group = global;
  for (int axis = 0; axis < Dims; axis++) group[axis] = axis == Dims - 1 && global[axis] % 8 == 0 ? 8 : 1;
  queue.submit([&](sycl::handler &handler) {
    handler.set_args(arguments...);
    handler.parallel_for(sycl::nd_range<Dims>(global, group), bundle(queue).ext_oneapi_get_kernel(kernel));
  });
  queue.wait_and_throw();
}

static void agree(const char *what, const float *seen, const std::vector<float> &expected, float bound = 0) {
  for (size_t at = 0; at < expected.size(); at++) {
    if (std::abs(seen[at] - expected[at]) <= bound) continue;
    std::ostringstream text;
    text << what << ": value " << at << " is " << seen[at] << ", expected " << expected[at];
    throw frame::Failure(text.str());
  }
}

static std::vector<float> numbers(size_t count) {
  std::vector<float> values(count);
  for (size_t at = 0; at < count; at++) values[at] = float(at * 31 % 251);
  return values;
}

static std::vector<float> doubled(std::vector<float> values) {
  for (float &value : values) value *= 2;
  return values;
}

// Memory of another process, or of another API: a sealed file, which this process has mapped as well.
struct Foreign {
  size_t bytes;
  int fd;
  float *data;
  explicit Foreign(size_t bytes) : bytes(bytes), fd(memfd_create("foreign", MFD_ALLOW_SEALING)) {
    if (ftruncate(fd, bytes) != 0 || fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK) != 0) throw frame::Failure("no memory");
    data = static_cast<float *>(mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0));
  }
  ~Foreign() { munmap(data, bytes); }
};

TEST(bindless_images_are_in_external_memory) {
  // Rows of 64 bytes, which is what rows of images begin at multiples of.
  sycl::range<2> extents(16, 9);
  image_descriptor desc(extents, 1, image_channel_type::fp32);
  Foreign from(extents.size() * 4), to(extents.size() * 4);
  const auto texels = numbers(extents.size());
  std::memcpy(from.data, texels.data(), from.bytes);
  std::vector<syclex::external_mem> memories;
  std::vector<syclex::image_mem_handle> mapped;
  std::vector<syclex::unsampled_image_handle> images;
  for (Foreign *foreign : {&from, &to}) {
    syclex::external_mem_descriptor<syclex::resource_fd> external{
        {foreign->fd}, syclex::external_mem_handle_type::opaque_fd, foreign->bytes};
    memories.push_back(syclex::import_external_memory(external, queue));
    mapped.push_back(syclex::map_external_image_memory(memories.back(), desc, queue));
    images.push_back(syclex::create_image(mapped.back(), desc, queue));
  }
  run(queue, "twice", sycl::range<2>(9, 16), images[0], images[1]);
  agree("what the other side sees", to.data, doubled(texels));
  for (int which : {0, 1}) {
    syclex::destroy_image_handle(images[which], queue);
    syclex::unmap_external_image_memory(mapped[which], image_type::standard, queue);
    syclex::release_external_memory(memories[which], queue);
  }
}

TEST(bindless_arrays_of_lines_have_layers) {
  const unsigned layers = 5;
  image_descriptor desc(sycl::range<1>(40), 1, image_channel_type::fp32, image_type::array, 1, layers);
  syclex::image_mem from(desc, queue), to(desc, queue);
  auto in = syclex::create_image(from, desc, queue), out = syclex::create_image(to, desc, queue);
  const auto texels = numbers(40 * layers);
  std::vector<float> seen(texels.size());
  queue.ext_oneapi_copy(texels.data(), from.get_handle(), desc).wait();
  run(queue, "twice_layer", sycl::range<2>(layers, 40), in, out);
  queue.ext_oneapi_copy(to.get_handle(), seen.data(), desc).wait();
  agree("layers", seen.data(), doubled(texels));
  syclex::destroy_image_handle(in, queue);
  syclex::destroy_image_handle(out, queue);
}

// The library creates images in the program's memory with samplers only. A line is in any memory.
TEST(lines_of_texels_are_in_the_programs_memory) {
  image_descriptor desc(sycl::range<1>(168), 1, image_channel_type::fp32);
  float *memory = sycl::malloc_shared<float>(168, queue), *out = sycl::malloc_shared<float>(168, queue);
  const auto texels = numbers(168);
  std::memcpy(memory, texels.data(), 168 * sizeof(float));
  syclex::bindless_image_sampler sampler(sycl::addressing_mode::clamp_to_edge,
                                         sycl::coordinate_normalization_mode::unnormalized, sycl::filtering_mode::nearest);
  auto image = syclex::create_image(memory, 0, sampler, desc, queue);
  run(queue, "sample_line", sycl::range<1>(168), image, out);
  agree("texels of a line", out, texels);
  // The kernel saw the memory, no copy of it.
  memory[5] = 1234.0f;
  run(queue, "sample_line", sycl::range<1>(168), image, out);
  CHECK(out[5] == 1234.0f);
  syclex::destroy_image_handle(image, queue);
  for (float *pointer : {memory, out}) sycl::free(pointer, queue);
}

// A colour between the texels around a place, clamped to the edges.
static float between(const std::vector<float> &texels, int width, int height, float x, float y, int channel) {
  auto at = [&](int x, int y) {
    x = std::min(std::max(x, 0), width - 1), y = std::min(std::max(y, 0), height - 1);
    return texels[(y * width + x) * 4 + channel];
  };
  const float left = std::floor(x - 0.5f), top = std::floor(y - 0.5f), right_share = x - 0.5f - left, low_share = y - 0.5f - top;
  auto row = [&](int y) { return at(int(left), y) * (1 - right_share) + at(int(left) + 1, y) * right_share; };
  return row(int(top)) * (1 - low_share) + row(int(top) + 1) * low_share;
}

template <typename T> static void filter(sycl::queue &queue, const char *kernel, image_channel_type type, float unit) {
  const int width = 24, height = 10;
  image_descriptor desc(sycl::range<2>(width, height), 4, type);
  syclex::image_mem memory(desc, queue);
  syclex::bindless_image_sampler sampler(sycl::addressing_mode::clamp_to_edge,
                                         sycl::coordinate_normalization_mode::unnormalized, sycl::filtering_mode::linear);
  auto image = syclex::create_image(memory, sampler, desc, queue);
  std::vector<T> texels(width * height * 4);
  std::vector<float> values(texels.size()), expected(texels.size());
  for (size_t at = 0; at < texels.size(); at++) {
    texels[at] = T(int(at * 37 % 256));
    values[at] = float(texels[at]) / unit;
  }
  const float scale = 0.9f;
  for (int at = 0; at < width * height; at++)
    for (int channel = 0; channel < 4; channel++) {
      const float x = (float(at % width) + 0.5f) * scale, y = (float(at / width) + 0.5f) * scale;
      expected[at * 4 + channel] = between(values, width, height, x, y, channel);
    }
  queue.ext_oneapi_copy(texels.data(), memory.get_handle(), desc).wait();
  float *out = sycl::malloc_shared<float>(texels.size(), queue);
  run(queue, kernel, sycl::range<2>(height, width), image, out, width, scale);
  // Weights of linear filters have 8 bits at least; halves have 11.
  agree(kernel, out, expected, 255 / unit * (2.0f / 256 + 1.0f / 1024));
  syclex::destroy_image_handle(image, queue);
  sycl::free(out, queue);
}

TEST(samples_of_bytes_and_of_halves_are_filtered) {
  filter<uint8_t>(queue, "sample_bytes", image_channel_type::unorm_int8, 255.0f);
  filter<sycl::half>(queue, "sample_halves", image_channel_type::fp16, 1.0f);
}

TEST(fractions_are_written_as_bytes) {
  sycl::range<2> extents(16, 16);
  image_descriptor desc(extents, 4, image_channel_type::unorm_int8);
  syclex::image_mem from(desc, queue), to(desc, queue);
  auto in = syclex::create_image(from, desc, queue), out = syclex::create_image(to, desc, queue);
  std::vector<uint8_t> texels(extents.size() * 4), seen(texels.size());
  for (size_t at = 0; at < texels.size(); at++) texels[at] = uint8_t(at * 7);
  queue.ext_oneapi_copy(texels.data(), from.get_handle(), desc).wait();
  run(queue, "invert_bytes", sycl::range<2>(16, 16), in, out);
  queue.ext_oneapi_copy(to.get_handle(), seen.data(), desc).wait();
  for (size_t at = 0; at < texels.size(); at++) CHECK(seen[at] == 255 - texels[at]);
  syclex::destroy_image_handle(in, queue);
  syclex::destroy_image_handle(out, queue);
}

// The adapter has mipmaps for no Level Zero device, as the API has images of one level and no function for more.
TEST(mipmaps_are_refused_with_an_exception) {
  CHECK(!queue.get_device().has(sycl::aspect::ext_oneapi_mipmap));
  image_descriptor desc(sycl::range<2>(16, 16), 4, image_channel_type::fp32, image_type::mipmap, 3);
  bool refused = false;
  try {
    syclex::image_mem memory(desc, queue);
  } catch (const sycl::exception &) {
    refused = true;
  }
  CHECK(refused);
}
