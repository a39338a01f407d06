// Does nothing, with as many arguments as the name says: the cost of a launch.
kernel void arguments_0(void)
{
}

kernel void arguments_4(global const float *a, global float *b, float c, uint n)
{
}

kernel void arguments_16(global const float *a, global float *b, float c, uint n, global const float *d, global float *e,
                         float f, uint g, global const float *h, global float *i, float j, uint k,
                         global const float *l, global float *m, float o, uint p)
{
}

// Runs until it is told to stop.
kernel void wait_for_host(global volatile uint *started, global volatile uint *stop)
{
  *started = 1;
  while (*stop == 0)
    ;
}

// More local memory than a device has, beside a kernel that is no part of the problem.
kernel void too_much_local_memory(global float *out)
{
  local float values[1 << 20];
  values[get_local_id(0)] = 1;
  barrier(CLK_LOCAL_MEM_FENCE);
  out[get_global_id(0)] = values[get_local_size(0) - 1 - get_local_id(0)];
}
