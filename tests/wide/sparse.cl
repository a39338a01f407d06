// Sparse matrices: products, solves and conversions over CSR, COO, ELL, BSR, DIA and SELL storage.

//@ csr_spmv_row_per_item | 65536 | 128 | int=65500 float=1.25 int*65537:x12 int*786432:0..65536 float*786432 float*65536 float*65536
__kernel void csr_spmv_row_per_item(const int rows, const float alpha,
                                    __global const int *row_ptr, __global const int *col_idx,
                                    __global const float *values, __global const float *x,
                                    __global float *y)
{
    const int row = get_global_id(0);
    if (row >= rows)
        return;

    const int end = row_ptr[row + 1];
    float sum = 0.0f, carry = 0.0f;
    for (int k = row_ptr[row]; k < end; ++k) {
        const float term = values[k] * x[col_idx[k]] - carry;
        const float next = sum + term;
        carry = (next - sum) - term;
        sum = next;
    }
    y[row] = alpha * sum;
}

#define VEC_LANES 32
#define VEC_ROWS 4

// 32 lanes share a row and fold their sums in local memory.
//@ csr_spmv_vector_f64 | 262144 | 128 | uint=8190 uint*8193:x80 uint*655360:0..65536 double*655360 double*65536 double*8192
__kernel void csr_spmv_vector_f64(const uint rows, __global const uint *row_ptr,
                                  __global const uint *col_idx, __global const double *values,
                                  __global const double *x, __global double *y)
{
    __local double folded[VEC_ROWS][VEC_LANES];
    const uint lane = get_local_id(0) % VEC_LANES;
    const uint slot = get_local_id(0) / VEC_LANES;
    const uint row = get_group_id(0) * VEC_ROWS + slot;

    double sum = 0.0;
    if (row < rows) {
        const uint end = row_ptr[row + 1];
        for (uint k = row_ptr[row] + lane; k < end; k += VEC_LANES)
            sum = fma(values[k], x[col_idx[k]], sum);
    }
    folded[slot][lane] = sum;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint width = VEC_LANES / 2; width > 0; width /= 2) {
        if (lane < width)
            folded[slot][lane] += folded[slot][lane + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lane == 0 && row < rows)
        y[row] = folded[slot][0];
}

#define STREAM_ROWS 64

// Products are formed with coalesced loads, then every work-item sums its row from local memory.
//@ csr_stream_products | 65536 | 64 | uint=65530 uint=512 uint*65537:x8 ushort*524288 float*524288 float*65536 local*2048 float*65536
__kernel void csr_stream_products(const uint rows, const uint capacity,
                                  __global const uint *row_ptr, __global const ushort *col_idx,
                                  __global const float *values, __global const float *x,
                                  __local float *products, __global float *y)
{
    const uint lid = get_local_id(0);
    const uint first_row = get_group_id(0) * STREAM_ROWS;
    const uint last_row = min(first_row + STREAM_ROWS, rows);
    const uint first = row_ptr[first_row];
    const uint count = min(row_ptr[last_row] - first, capacity);

    for (uint k = lid; k < count; k += STREAM_ROWS)
        products[k] = values[first + k] * x[col_idx[first + k]];
    barrier(CLK_LOCAL_MEM_FENCE);

    const uint row = first_row + lid;
    if (row >= last_row)
        return;
    const uint begin = min(row_ptr[row] - first, count);
    const uint end = min(row_ptr[row + 1] - first, count);
    float sum = 0.0f;
    for (uint k = begin; k < end; ++k)
        sum += products[k];
    y[row] = sum;
}

#define ELL_PAD (-1)

// Column-major ELL; a negative column ends the row.
//@ ell_spmv_padded | 98304 | 128 | int=98000 int=98304 int=16 int*1572864:-3000..98000 float*1572864 float*98304 float*98304 float*98304
__kernel void ell_spmv_padded(const int rows, const int pitch, const int width,
                              __global const int *cols, __global const float *values,
                              __global const float *x, __global const float *y_in,
                              __global float *y_out)
{
    for (int row = get_global_id(0); row < rows; row += (int)get_global_size(0)) {
        float acc = y_in[row];
        int at = row;
        for (int k = 0; k < width; ++k, at += pitch) {
            const int col = cols[at];
            if (col <= ELL_PAD)
                break;
            acc = mad(values[at], x[col], acc);
        }
        y_out[row] = acc;
    }
}

// Triples sorted by row; a group's first row may be shared with its neighbour and is set aside.
//@ coo_spmv_segmented_scan | 262144 | 256 | uint=262144 uint*262144:x1 ushort*262144 float*262144 float*65536 float*65536 float*1024
__kernel void coo_spmv_segmented_scan(const uint nnz, __global const uint *packed_row,
                                      __global const ushort *cols, __global const float *values,
                                      __global const float *x, __global float *y,
                                      __global float *first_row_sum)
{
    __local float sums[256];
    __local uint row_of[256];
    const uint gid = get_global_id(0);
    const uint lid = get_local_id(0);

    // The low three bits of a packed row number an entry within the row.
    uint row = UINT_MAX;
    float sum = 0.0f;
    if (gid < nnz) {
        row = packed_row[gid] >> 3;
        sum = values[gid] * x[cols[gid]];
    }
    sums[lid] = sum;
    row_of[lid] = row;
    barrier(CLK_LOCAL_MEM_FENCE);

    for (uint step = 1; step < 256; step <<= 1) {
        float left = 0.0f;
        if (lid >= step && row_of[lid - step] == row)
            left = sums[lid - step];
        barrier(CLK_LOCAL_MEM_FENCE);
        sum += left;
        sums[lid] = sum;
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    const bool is_tail = lid == 255 || row_of[lid + 1] != row;
    if (!is_tail || row == UINT_MAX)
        return;
    if (row == row_of[0])
        first_row_sum[get_group_id(0)] = sum;
    else if (row < 65536)
        y[row] = sum;
}

// Integer matrix in unsorted triples; the sums wrap, so the order of the atomics is irrelevant.
//@ coo_spmv_fixed_point_atomic | 131072 | 128 | int=524288 int=8192 ushort*524288:0..8192 ushort*524288:0..8192 short*524288 short*8192 int*8192
__kernel void coo_spmv_fixed_point_atomic(const int nnz, const int rows,
                                          __global const ushort *row_idx,
                                          __global const ushort *col_idx,
                                          __global const short *values, __global const short *x,
                                          __global int *y)
{
    const int stride = get_global_size(0);
    int pending_row = -1;
    int pending = 0;
    for (int k = get_global_id(0); k < nnz; k += stride) {
        const int row = row_idx[k];
        const int term = mul24((int)values[k], (int)x[col_idx[k]]) >> 4;
        if (row != pending_row) {
            if (pending_row >= 0 && pending_row < rows)
                atomic_add(&y[pending_row], pending);
            pending_row = row;
            pending = 0;
        }
        pending += term;
    }
    if (pending_row >= 0 && pending_row < rows && pending != 0)
        atomic_add(&y[pending_row], pending);
}

// 4x4 blocks stored row by row; one work-item per block row.
//@ bsr_spmv_4x4 | 8192 | 64 | uint=8192 uint*8193:x10 uint*81920:0..8192 float*1310720 float*32768 float*32768
__kernel void bsr_spmv_4x4(const uint block_rows, __global const uint *block_ptr,
                           __global const uint *block_col, __global const float4 *blocks,
                           __global const float4 *x, __global float4 *y)
{
    const uint br = get_global_id(0);
    if (br >= block_rows)
        return;

    float4 acc = (float4)(0.0f);
    const uint end = block_ptr[br + 1];
    for (uint b = block_ptr[br]; b < end; ++b) {
        const float4 v = x[block_col[b]];
        __global const float4 *block = blocks + 4 * b;
        acc.x += dot(block[0], v);
        acc.y += dot(block[1], v);
        acc.z += dot(block[2], v);
        acc.w += dot(block[3], v);
    }
    y[br] = acc;
}

// 3x3 blocks stored by columns, three work-items per block row (one per scalar row).
//@ bsr_spmv_3x3_by_components_f64 | 49152 | 192 | uint=16384 uint*16385:x9 uint*147456:0..16384 double*1327104 double*49152 double*49152
__kernel void bsr_spmv_3x3_by_components_f64(const uint block_rows,
                                             __global const uint *block_ptr,
                                             __global const uint *block_col,
                                             __global const double *blocks,
                                             __global const double *x, __global double *residual)
{
    const uint gid = get_global_id(0);
    const uint br = gid / 3;
    const uint component = gid - br * 3;
    if (br >= block_rows)
        return;

    double acc = 0.0;
    const uint end = block_ptr[br + 1];
    for (uint b = block_ptr[br]; b < end; ++b) {
        const double3 v = vload3(block_col[b], x);
        __global const double *c = blocks + 9 * (size_t)b + component;
        acc += c[0] * v.x + c[3] * v.y + c[6] * v.z;
    }
    residual[gid] = acc - 0.125 * x[gid];
}

#define DIA_MAX 32

//@ dia_spmv_clipped | 262144 | 256 | int=262144 int=11 int*32:-600..600 float*2883584 float*262144 float*262144
__kernel void dia_spmv_clipped(const int n, const int diagonals, __constant int *offsets,
                               __global const float *diag, __global const float *x,
                               __global float *y)
{
    __local int shared_offsets[DIA_MAX];
    const int lid = get_local_id(0);
    if (lid < DIA_MAX)
        shared_offsets[lid] = lid < diagonals ? offsets[lid] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    const int row = get_global_id(0);
    if (row >= n)
        return;
    float sum = 0.0f;
    for (int d = 0; d < diagonals && d < DIA_MAX; ++d) {
        const int col = row + shared_offsets[d];
        if ((uint)col >= (uint)n)
            continue;
        sum = fma(diag[d * n + row], x[col], sum);
    }
    y[row] = sum;
}

#define SELL_HEIGHT 32

// Sliced ELL with sorted rows: lengths differ inside a slice and a permutation restores the order.
//@ sell_spmv_sorted_f64 | 65536 | 128 | uint=65536 uint*2049:x384 uchar*65536:3..13 uint*65536:x1 int*786432:0..65536 double*786432 double*65536 double*65536
__kernel void sell_spmv_sorted_f64(const uint rows, __global const uint *slice_start,
                                   __global const uchar *row_length,
                                   __global const uint *permutation, __global const int *cols,
                                   __global const double *values, __global const double *x,
                                   __global double *y)
{
    const uint row = get_global_id(0);
    if (row >= rows)
        return;

    const uint slice = row / SELL_HEIGHT;
    const uint start = slice_start[slice];
    const uint width = (slice_start[slice + 1] - start) / SELL_HEIGHT;
    const uint length = min((uint)row_length[row], width);
    uint at = start + row % SELL_HEIGHT;
    double even = 0.0, odd = 0.0;

    uint k = 0;
    for (; k + 1 < length; k += 2) {
        even += values[at] * x[cols[at]];
        odd += values[at + SELL_HEIGHT] * x[cols[at + SELL_HEIGHT]];
        at += 2 * SELL_HEIGHT;
    }
    if (k < length)
        even += values[at] * x[cols[at]];
    y[permutation[row]] = even + odd;
}

// Eight right-hand sides at once, stored side by side; Y = A X + beta Y0.
//@ csr_spmm_eight_columns | 16384 | 64 | int=16384 float=0.5 long*16385:x10 int*163840:0..16384 float*163840 float*131072 float*131072 float*131072
__kernel void csr_spmm_eight_columns(const int rows, const float beta,
                                     __global const long *row_ptr,
                                     __global const int *col_idx, __global const float *values,
                                     __global const float *X, __global const float *Y0,
                                     __global float *Y)
{
    const int row = get_global_id(0);
    if (row >= rows)
        return;

    float8 acc = beta * vload8(row, Y0);
    const long end = row_ptr[row + 1];
    for (long k = row_ptr[row]; k < end; ++k)
        acc = mad((float8)(values[k]), vload8(col_idx[k], X), acc);
    vstore8(acc, row, Y);
}

// Dense-dense product sampled at the entries of a COO pattern: out = pattern .* (U V').
//@ coo_sampled_dense_product | 65536 | 256 | uint=65000 uint=8 ushort*65536:0..4096 ushort*65536:0..4096 float*65536 float*131072 float*131072 float*65536
__kernel void coo_sampled_dense_product(const uint nnz, const uint rank4,
                                        __global const ushort *row_idx,
                                        __global const ushort *col_idx,
                                        __global const float *pattern,
                                        __global const float4 *U, __global const float4 *V,
                                        __global float *out)
{
    const uint k = get_global_id(0);
    if (k >= nnz)
        return;

    const float scale = pattern[k];
    if (scale < 0.0f) {
        out[k] = 0.0f;
        return;
    }
    __global const float4 *u = U + row_idx[k] * rank4;
    __global const float4 *v = V + col_idx[k] * rank4;
    float4 acc = u[0] * v[0];
    for (uint r = 1; r < rank4; ++r)
        acc = fma(u[r], v[r], acc);
    out[k] = scale * (acc.x + acc.y + acc.z + acc.w);
}

// One weighted Jacobi sweep; entries on the diagonal are merged into the pivot.
//@ csr_weighted_jacobi_f64 | 65536 | 64 | uint=65536 double=0.8 uint*65537:x11 uint*720896:0..65536 double*720896 double*65536:1..3 double*65536 double*65536
__kernel void csr_weighted_jacobi_f64(const uint rows, const double omega,
                                      __global const uint *row_ptr,
                                      __global const uint *col_idx,
                                      __global const double *values, __global const double *rhs,
                                      __global const double *x_old, __global double *x_new)
{
    const uint row = get_global_id(0);
    if (row >= rows)
        return;

    double off_diagonal = 0.0, pivot = 0.0, row_norm = 0.0;
    const uint end = row_ptr[row + 1];
    for (uint k = row_ptr[row]; k < end; ++k) {
        const uint col = col_idx[k];
        const double a = values[k];
        if (col == row) {
            pivot += a;
        } else {
            off_diagonal += a * x_old[col];
            row_norm += fabs(a);
        }
    }
    pivot += 1.0 + row_norm;
    const double old = x_old[row];
    x_new[row] = old + omega * ((rhs[row] - off_diagonal) / pivot - old);
}

#define HASH_SLOTS 512
#define HASH_EMPTY (-1)

// Counts the distinct columns of a row of A*B with a hash table per work-group.
//@ csr_spgemm_symbolic_hash | 65536 | 64 | int=1024 int*1025:x16 int*16384:0..2048 int*2049:x12 int*24576:0..4096 int*1024
__kernel void csr_spgemm_symbolic_hash(const int rows, __global const int *a_ptr,
                                       __global const int *a_col, __global const int *b_ptr,
                                       __global const int *b_col, __global int *row_nnz)
{
    __local int table[HASH_SLOTS];
    __local int distinct;
    const int row = get_group_id(0);
    const int lid = get_local_id(0);
    if (row >= rows)
        return;

    for (int s = lid; s < HASH_SLOTS; s += get_local_size(0))
        table[s] = HASH_EMPTY;
    if (lid == 0)
        distinct = 0;
    barrier(CLK_LOCAL_MEM_FENCE);

    // Sixteen lanes walk one row of B each round, four rows at a time.
    for (int ka = a_ptr[row] + lid / 16; ka < a_ptr[row + 1]; ka += 4) {
        const int mid = a_col[ka];
        for (int kb = b_ptr[mid] + lid % 16; kb < b_ptr[mid + 1]; kb += 16) {
            const int key = b_col[kb];
            uint slot = ((uint)key * 2654435761u) >> 23;
            for (int probe = 0; probe < HASH_SLOTS; ++probe) {
                const int seen = atomic_cmpxchg(&table[slot], HASH_EMPTY, key);
                if (seen == HASH_EMPTY)
                    atomic_inc(&distinct);
                if (seen == HASH_EMPTY || seen == key)
                    break;
                slot = (slot + 1) & (HASH_SLOTS - 1);
            }
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (lid == 0)
        row_nnz[row] = distinct;
}

// Columns are stored as 16-bit steps from the one before, and wrap inside the matrix.
//@ csr_delta16_spmv | 65536 | 256 | uint=65536 uint=65535 uint*65537:x14 ushort*917504:1..9000 float*917504 float*65536 float*65536
__kernel void csr_delta16_spmv(const uint rows, const uint col_mask,
                               __global const uint *row_ptr, __global const ushort *delta,
                               __global const float *values, __global const float *x,
                               __global float *y)
{
    const uint row = get_global_id(0);
    if (row >= rows)
        return;

    uint k = row_ptr[row];
    const uint end = row_ptr[row + 1];
    uint col = row;
    float sum = 0.0f;
    while (k + 4 <= end) {
        uint4 step = convert_uint4(vload4(0, delta + k));
        step.y += step.x;
        step.zw += (uint2)(step.y, step.y + step.z);
        const uint4 at = (step + col) & col_mask;
        const float4 v = vload4(0, values + k);
        sum += v.x * x[at.x] + v.y * x[at.y] + v.z * x[at.z] + v.w * x[at.w];
        col = at.w;
        k += 4;
    }
    for (; k < end; ++k) {
        col = (col + delta[k]) & col_mask;
        sum = mad(values[k], x[col], sum);
    }
    y[row] = sum;
}

// Rows of one level of a level-scheduled triangular solve; earlier levels are already in x_known.
//@ csr_sptrsv_one_level | 32768 | 64 | uint=32700 uint=32768 uint*32768:x1 uint*65537:x13 uint*851968:0..65536 float*851968 float*65536 float*65536 float*65536
__kernel void csr_sptrsv_one_level(const uint level_size, const uint level_begin,
                                   __global const uint *level_rows,
                                   __global const uint *row_ptr, __global const uint *col_idx,
                                   __global const float *values, __global const float *rhs,
                                   __global const float *x_known, __global float *x)
{
    const uint i = get_global_id(0);
    if (i >= level_size)
        return;

    const uint row = level_begin + level_rows[i];
    float r = rhs[row] + 16.0f;
    float diagonal = 0.0f;
    for (uint k = row_ptr[row], end = row_ptr[row + 1]; k < end; ++k) {
        const uint col = col_idx[k];
        if (col > row)
            continue;
        if (col == row)
            diagonal += values[k];
        else
            r -= values[k] * x_known[col];
    }
    if (diagonal < 1.0f)
        diagonal = 1.0f + diagonal * 0.5f;
    x[row] = r / diagonal;
}
