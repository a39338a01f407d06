// Which address space a generic pointer points to.

__kernel void address_spaces(__global int *data, __global int *out, __local int *scratch)
{
    int mine = data[0];
    int *pointers[3] = { data, scratch, &mine };
    int r = 0;
    for (int k = 0; k < 3; ++k) {
        r = r * 2 + (to_global(pointers[k]) != 0);
        r = r * 2 + (to_local(pointers[k]) != 0);
        r = r * 2 + (to_private(pointers[k]) != 0);
    }
    out[get_global_id(0)] = r;
}
