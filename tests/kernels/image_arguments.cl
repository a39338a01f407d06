// Images and samplers as arguments: each kernel uses what it takes, so that it matters.

kernel void copy_2d(read_only image2d_t from, write_only image2d_t to, sampler_t sampler) {
  const int2 at = {get_global_id(0), get_global_id(1)};
  write_imageui(to, at, read_imageui(from, sampler, at));
}

kernel void extents(read_only image1d_t line, read_only image1d_array_t lines, read_only image2d_t plane,
                    read_only image2d_array_t planes, read_only image3d_t space, global int *out) {
  out[0] = get_image_width(line);
  out[1] = get_image_width(lines);
  out[2] = get_image_array_size(lines);
  out[3] = get_image_width(plane);
  out[4] = get_image_height(plane);
  out[5] = get_image_width(planes);
  out[6] = get_image_height(planes);
  out[7] = get_image_array_size(planes);
  out[8] = get_image_width(space);
  out[9] = get_image_height(space);
  out[10] = get_image_depth(space);
}

kernel void read_all(read_only image2d_t from, global uint4 *out, int width) {
  const int2 at = {get_global_id(0), get_global_id(1)};
  out[at.y * width + at.x] = read_imageui(from, at);
}

kernel void texels_of_buffer(read_only image1d_buffer_t from, global uint4 *out) {
  const int at = get_global_id(0);
  out[at] = read_imageui(from, at);
}
