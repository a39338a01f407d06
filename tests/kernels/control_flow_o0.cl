// build: -O0
// Control flow as nobody has optimised it.

// What the loop and the code behind it compute alike comes from two places, and is the same in all work-items that come there.
__kernel void skipped_loop(__global const int *in, __global int *out, uint n)
{
    uint gid = (uint)get_global_id(0);
    uint i = 0u;
    if (in[gid] & 1) {
        for (i = 0u; i < 0u; ++i)
            if (out[gid * 2u])
                goto end;
        out[gid * 2u + 1u] = 0;
    }
end:;
}
