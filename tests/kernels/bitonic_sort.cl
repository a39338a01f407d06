// Bitonic sort of a power-of-two number of keys.
// One compare-exchange pass over the whole array.
__kernel void bitonic_pass(__global int *keys, uint block, uint distance)
{
    uint i = get_global_id(0);
    uint partner = i ^ distance;
    if (partner <= i)
        return;
    int a = keys[i];
    int b = keys[partner];
    bool ascending = (i & block) == 0;
    if ((a > b) == ascending) {
        keys[i] = b;
        keys[partner] = a;
    }
}

// Sorts each group's keys in local memory: barriers inside two nested uniform loops.
__kernel void bitonic_local(__global int *keys, __local int *scratch)
{
    uint lid = get_local_id(0);
    uint size = get_local_size(0);
    scratch[lid] = keys[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint block = 2; block <= size; block <<= 1) {
        for (uint distance = block >> 1; distance > 0; distance >>= 1) {
            uint partner = lid ^ distance;
            if (partner > lid) {
                int a = scratch[lid];
                int b = scratch[partner];
                bool ascending = (lid & block) == 0;
                if ((a > b) == ascending) {
                    scratch[lid] = b;
                    scratch[partner] = a;
                }
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
    }
    keys[get_global_id(0)] = scratch[lid];
}
