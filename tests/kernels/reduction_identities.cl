// Reductions and scans of values that an identity could hide.
#pragma OPENCL EXTENSION cl_khr_subgroups : enable

kernel void reductions(global const float *in, global float *out) {
  size_t i = get_global_id(0);
  float x = in[i];
  global float *to = out + 6 * i;
  to[0] = sub_group_reduce_min(x);
  to[1] = sub_group_reduce_max(x);
  to[2] = sub_group_reduce_add(x);
  to[3] = work_group_reduce_min(x);
  to[4] = work_group_reduce_max(x);
  to[5] = work_group_reduce_add(x);
}

kernel void scans(global const float *in, global float *out) {
  size_t i = get_global_id(0);
  float x = in[i];
  global float *to = out + 6 * i;
  to[0] = sub_group_scan_inclusive_min(x);
  to[1] = sub_group_scan_inclusive_add(x);
  to[2] = work_group_scan_inclusive_min(x);
  to[3] = work_group_scan_inclusive_add(x);
  to[4] = work_group_scan_exclusive_min(x);
  to[5] = work_group_scan_exclusive_add(x);
}
