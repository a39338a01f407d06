// What every work-item built-in returns, in every dimension: FIELDS numbers a work-item, at its linear global id.
#define FIELDS 27

__kernel void work_item_ids(__global ulong *out)
{
    size_t x = get_global_id(0) - get_global_offset(0);
    size_t y = get_global_id(1) - get_global_offset(1);
    size_t z = get_global_id(2) - get_global_offset(2);
    size_t linear = (z * get_global_size(1) + y) * get_global_size(0) + x;
    __global ulong *r = out + linear * FIELDS;
    r[0] = get_global_id(0);
    r[1] = get_global_id(1);
    r[2] = get_global_id(2);
    r[3] = get_local_id(0);
    r[4] = get_local_id(1);
    r[5] = get_local_id(2);
    r[6] = get_group_id(0);
    r[7] = get_group_id(1);
    r[8] = get_group_id(2);
    r[9] = get_global_size(0);
    r[10] = get_global_size(1);
    r[11] = get_global_size(2);
    r[12] = get_local_size(0);
    r[13] = get_local_size(1);
    r[14] = get_local_size(2);
    r[15] = get_num_groups(0);
    r[16] = get_num_groups(1);
    r[17] = get_num_groups(2);
    r[18] = get_global_offset(0);
    r[19] = get_global_offset(1);
    r[20] = get_global_offset(2);
    r[21] = get_enqueued_local_size(0);
    r[22] = get_enqueued_local_size(1);
    r[23] = get_enqueued_local_size(2);
    r[24] = get_work_dim();
    r[25] = get_global_linear_id();
    r[26] = get_local_linear_id();
}

// The dimension is a run-time value.
__kernel void dynamic_dimension(__global ulong *out, uint dimension)
{
    size_t linear = get_global_linear_id();
    out[linear] = get_global_id(dimension) + 1000 * get_local_id(dimension) + 1000000 * get_local_size(dimension);
}

// Numbers the work-items of a group through local memory, in every group shape.
__kernel void reverse_in_group(__global uint *out, __local uint *scratch)
{
    uint lid = get_local_linear_id();
    uint size = get_local_size(0) * get_local_size(1) * get_local_size(2);
    scratch[lid] = (uint)get_global_linear_id();
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_linear_id()] = scratch[size - 1 - lid];
}

__kernel __attribute__((reqd_work_group_size(4, 2, 3))) void required_group_size(__global uint *out)
{
    out[get_global_linear_id()] = (uint)(get_local_size(0) * 100 + get_local_size(1) * 10 + get_local_size(2));
}
