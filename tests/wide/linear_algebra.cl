// Dense linear algebra: products, triangular solves, factorisations, banded and batched systems.

#define GEMM_TILE 64
#define GEMM_DEPTH 16
#define GEMM_REG 4

//@ sgemm_register_blocked | 64 64 | 16 16 | int=256 int=256 int=128 float=1.5 float=0.5 float*32768 float*32768 float*65536 float*65536
__kernel void sgemm_register_blocked(const int M, const int N, const int K, const float alpha,
                                     const float beta, __global const float *restrict A,
                                     __global const float *restrict B,
                                     __global const float *restrict C, __global float *restrict D)
{
    __local float a_tile[GEMM_DEPTH][GEMM_TILE + 1];
    __local float b_tile[GEMM_DEPTH][GEMM_TILE];
    const int lx = get_local_id(0), ly = get_local_id(1);
    const int row0 = get_group_id(1) * GEMM_TILE;
    const int col0 = get_group_id(0) * GEMM_TILE;
    float acc[GEMM_REG][GEMM_REG];

    for (int i = 0; i < GEMM_REG; ++i)
        for (int j = 0; j < GEMM_REG; ++j)
            acc[i][j] = 0.0f;

    for (int k0 = 0; k0 < K; k0 += GEMM_DEPTH) {
        for (int t = ly * 16 + lx; t < GEMM_TILE * GEMM_DEPTH; t += 256) {
            const int ar = t / GEMM_DEPTH, ak = t % GEMM_DEPTH;
            const int bk = t / GEMM_TILE, bc = t % GEMM_TILE;
            const int in_a = row0 + ar < M && k0 + ak < K;
            const int in_b = col0 + bc < N && k0 + bk < K;
            a_tile[ak][ar] = in_a ? A[(row0 + ar) * K + k0 + ak] : 0.0f;
            b_tile[bk][bc] = in_b ? B[(k0 + bk) * N + col0 + bc] : 0.0f;
        }
        barrier(CLK_LOCAL_MEM_FENCE);

        for (int k = 0; k < GEMM_DEPTH; ++k) {
            float a_reg[GEMM_REG];
            for (int i = 0; i < GEMM_REG; ++i)
                a_reg[i] = a_tile[k][ly + 16 * i];
            for (int j = 0; j < GEMM_REG; ++j) {
                const float b = b_tile[k][lx + 16 * j];
                for (int i = 0; i < GEMM_REG; ++i)
                    acc[i][j] = fma(a_reg[i], b, acc[i][j]);
            }
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }

    for (int i = 0; i < GEMM_REG; ++i) {
        const int row = row0 + ly + 16 * i;
        if (row >= M)
            break;
        for (int j = 0; j < GEMM_REG; ++j) {
            const int col = col0 + lx + 16 * j;
            if (col < N)
                D[row * N + col] = alpha * acc[i][j] + beta * C[row * N + col];
        }
    }
}

// C = A * B', both operands stored with their inner dimension contiguous.
//@ dgemm_nt_row_dots | 192 256 | 64 1 | long=250 long=190 long=120 double*30720 double*24576 double*49152
__kernel void dgemm_nt_row_dots(const long m, const long n, const long k,
                                __global const double *A, __global const double *B,
                                __global double *C)
{
    const long j = get_global_id(0);
    const long i = get_global_id(1);
    if (i >= m || j >= n)
        return;

    __global const double *a_row = A + i * k;
    __global const double *b_row = B + j * k;
    double4 sum4 = (double4)(0.0);
    long p = 0;
    for (; p + 4 <= k; p += 4)
        sum4 = fma(vload4(0, a_row + p), vload4(0, b_row + p), sum4);

    double sum = (sum4.x + sum4.y) + (sum4.z + sum4.w);
    for (; p < k; ++p)
        sum = fma(a_row[p], b_row[p], sum);
    C[i * n + j] = sum;
}

#define SYRK_TS 16

// Lower triangle of A * A'; groups that lie strictly above the diagonal leave at once.
//@ ssyrk_lower_tiles | 320 320 | 16 16 | uint=310 uint=64 float*20480 float*102400
__kernel void ssyrk_lower_tiles(const uint n, const uint k, __global const float *A,
                                __global float *C)
{
    __local float rows[SYRK_TS][SYRK_TS + 1];
    __local float cols[SYRK_TS][SYRK_TS + 1];
    const uint gx = get_group_id(0), gy = get_group_id(1);
    if (gx > gy)
        return;

    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint row = gy * SYRK_TS + ly;
    const uint col = gx * SYRK_TS + lx;
    const uint col_for_load = gx * SYRK_TS + ly;
    float sum = 0.0f;

    for (uint k0 = 0; k0 < k; k0 += SYRK_TS) {
        const uint kk = k0 + lx;
        rows[ly][lx] = (row < n && kk < k) ? A[row * k + kk] : 0.0f;
        if (gx == gy)
            cols[ly][lx] = rows[ly][lx];
        else
            cols[ly][lx] = (col_for_load < n && kk < k) ? A[col_for_load * k + kk] : 0.0f;
        barrier(CLK_LOCAL_MEM_FENCE);
#pragma unroll
        for (uint t = 0; t < SYRK_TS; ++t)
            sum = mad(rows[ly][t], cols[lx][t], sum);
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (row < n && col <= row)
        C[row * n + col] = sum;
}

#define TRSM_N 24

// Forward substitution, one right-hand side per work-item; the diagonal is shifted to dominate.
//@ strsm_lower_column_per_item | 24576 | 128 | int=24500 float*576 float*589824 float*589824
__kernel void strsm_lower_column_per_item(const int rhs_count, __constant float *L,
                                          __global const float *B, __global float *X)
{
    const int j = get_global_id(0);
    if (j >= rhs_count)
        return;

    float x[TRSM_N];
    for (int i = 0; i < TRSM_N; ++i) {
        float r = B[i * rhs_count + j];
        for (int p = 0; p < i; ++p)
            r = fma(-L[i * TRSM_N + p], x[p], r);
        x[i] = r / (L[i * TRSM_N + i] + (float)TRSM_N);
    }
    for (int i = 0; i < TRSM_N; ++i)
        X[i * rhs_count + j] = x[i];
}

#define TRSV_N 64

// One work-group per system: the solved unknown is broadcast, the rows below eliminate it.
//@ dtrsv_column_sweep | 16384 | 64 | double*1048576 double*16384 double*16384
__kernel __attribute__((reqd_work_group_size(TRSV_N, 1, 1)))
void dtrsv_column_sweep(__global const double *restrict L, __global const double *restrict b,
                        __global double *restrict x)
{
    __local double solved;
    const uint row = get_local_id(0);
    const size_t system = get_group_id(0);
    __global const double *Lsys = L + system * TRSV_N * TRSV_N;

    double rhs = b[system * TRSV_N + row];
    for (uint col = 0; col < TRSV_N; ++col) {
        const double l = Lsys[col * TRSV_N + row];
        if (row == col) {
            rhs /= l + 2.0 * TRSV_N;
            solved = rhs;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (row > col)
            rhs -= l * solved;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    x[system * TRSV_N + row] = rhs;
}

#define PANEL_ROWS 128
#define PANEL_COLS 8

// Tall panel without pivoting; every work-item keeps its row in registers.
//@ lu_panel_rows_in_registers | 65536 | 128 | uint=512 float*524288 float*524288
__kernel void lu_panel_rows_in_registers(const uint panels, __global const float *src,
                                         __global float *dst)
{
    __local float pivot_row[PANEL_COLS];
    const uint panel = get_group_id(0);
    const uint r = get_local_id(0);
    if (panel >= panels)
        return;

    const uint base = (panel * PANEL_ROWS + r) * PANEL_COLS;
    float row[PANEL_COLS];
    for (uint c = 0; c < PANEL_COLS; ++c)
        row[c] = src[base + c] + (c == r ? 16.0f : 0.0f);

    for (uint k = 0; k < PANEL_COLS; ++k) {
        if (r == k) {
            for (uint c = k; c < PANEL_COLS; ++c)
                pivot_row[c] = row[c];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
        if (r > k) {
            const float mult = row[k] / pivot_row[k];
            row[k] = mult;
            for (uint c = k + 1; c < PANEL_COLS; ++c)
                row[c] -= mult * pivot_row[c];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint c = 0; c < PANEL_COLS; ++c)
        dst[base + c] = row[c];
}

#define LU_N 8

//@ dgetrf_8x8_pivoted_batch | 8192 | 64 | int=8192 double*524288 double*524288 uchar*65536
__kernel void dgetrf_8x8_pivoted_batch(const int batch, __global const double *A,
                                       __global double *LU, __global uchar *pivots)
{
    const int id = get_global_id(0);
    if (id >= batch)
        return;

    double m[LU_N][LU_N];
    for (int e = 0; e < LU_N * LU_N; ++e)
        m[e / LU_N][e % LU_N] = A[e * batch + id];

    for (int k = 0; k < LU_N; ++k) {
        int p = k;
        double best = fabs(m[k][k]);
        for (int i = k + 1; i < LU_N; ++i) {
            const double cand = fabs(m[i][k]);
            if (cand > best) {
                best = cand;
                p = i;
            }
        }
        pivots[k * batch + id] = (uchar)p;
        if (p != k) {
            for (int j = 0; j < LU_N; ++j) {
                const double t = m[k][j];
                m[k][j] = m[p][j];
                m[p][j] = t;
            }
        }
        if (best == 0.0)
            continue;
        const double inv = 1.0 / m[k][k];
        for (int i = k + 1; i < LU_N; ++i) {
            m[i][k] *= inv;
            for (int j = k + 1; j < LU_N; ++j)
                m[i][j] -= m[i][k] * m[k][j];
        }
    }
    for (int e = 0; e < LU_N * LU_N; ++e)
        LU[e * batch + id] = m[e / LU_N][e % LU_N];
}

#define QR_M 12
#define QR_N 4

//@ householder_qr_12x4_batch | 16384 | 64 | float*786432 float*163840
__kernel void householder_qr_12x4_batch(__global const float *A, __global float *R)
{
    const size_t id = get_global_id(0);
    const size_t batch = get_global_size(0);
    float a[QR_N][QR_M];

    for (int j = 0; j < QR_N; ++j)
        for (int i = 0; i < QR_M; ++i)
            a[j][i] = A[(j * QR_M + i) * batch + id] + (i == j ? 6.0f : 0.0f);

    for (int k = 0; k < QR_N; ++k) {
        float norm2 = 0.0f;
        for (int i = k; i < QR_M; ++i)
            norm2 = fma(a[k][i], a[k][i], norm2);
        const float alpha = -copysign(sqrt(norm2), a[k][k]);
        const float v0 = a[k][k] - alpha;
        const float beta = 1.0f / (norm2 - alpha * a[k][k]);

        for (int j = k + 1; j < QR_N; ++j) {
            float proj = v0 * a[j][k];
            for (int i = k + 1; i < QR_M; ++i)
                proj = fma(a[k][i], a[j][i], proj);
            proj *= beta;
            a[j][k] -= proj * v0;
            for (int i = k + 1; i < QR_M; ++i)
                a[j][i] -= proj * a[k][i];
        }
        a[k][k] = alpha;
    }

    int slot = 0;
    for (int j = 0; j < QR_N; ++j)
        for (int i = 0; i <= j; ++i, ++slot)
            R[slot * batch + id] = a[j][i];
}

#define MGS_ROWS 64
#define MGS_COLS 8

// Modified Gram-Schmidt, one matrix per work-group; all projections of a step share one reduction.
//@ gram_schmidt_group | 32768 | 64 | float*262144 float*262144 float*32768
__kernel void gram_schmidt_group(__global const float *A, __global float *Q, __global float *R)
{
    __local float partial[MGS_COLS][MGS_ROWS];
    const int lid = get_local_id(0);
    const int matrix = get_group_id(0);
    const int base = matrix * MGS_ROWS * MGS_COLS;
    float col[MGS_COLS];

    for (int j = 0; j < MGS_COLS; ++j)
        col[j] = A[base + j * MGS_ROWS + lid] + ((lid & (MGS_COLS - 1)) == j ? 2.0f : 0.0f);

    for (int k = 0; k < MGS_COLS; ++k) {
        for (int j = k; j < MGS_COLS; ++j)
            partial[j][lid] = col[k] * col[j];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int half_width = MGS_ROWS / 2; half_width > 0; half_width >>= 1) {
            if (lid < half_width) {
                for (int j = k; j < MGS_COLS; ++j)
                    partial[j][lid] += partial[j][lid + half_width];
            }
            barrier(CLK_LOCAL_MEM_FENCE);
        }
        const float norm = sqrt(partial[k][0]);
        const float q = col[k] / norm;
        for (int j = k + 1; j < MGS_COLS; ++j)
            col[j] -= q * (partial[j][0] / norm);
        if (lid >= k && lid < MGS_COLS)
            R[(matrix * MGS_COLS + k) * MGS_COLS + lid] = partial[lid][0] / norm;
        Q[base + k * MGS_ROWS + lid] = q;
        barrier(CLK_LOCAL_MEM_FENCE);
    }
}

// y = alpha A x + beta y0 with A in the usual band layout (diagonal j of a column at ku + i - j).
//@ dgbmv_band_columns | 131072 | 128 | int=131000 int=7 int=5 double=0.75 double=2 double*1703936 double*131072 double*131072 double*131072
__kernel void dgbmv_band_columns(const int n, const int kl, const int ku, const double alpha,
                                 const double beta, __global const double *ab,
                                 __global const double *x, __global const double *y0,
                                 __global double *y)
{
    const int i = get_global_id(0);
    if (i >= n)
        return;

    const int ld = kl + ku + 1;
    const int first = max(0, i - kl);
    const int last = min(n - 1, i + ku);
    __global const double *entry = ab + (ku + i - first) + first * ld;

    double sum = 0.0;
    for (int j = first; j <= last; ++j) {
        sum = fma(*entry, x[j], sum);
        entry += ld - 1;
    }
    y[i] = alpha * sum + (beta == 0.0 ? 0.0 : beta * y0[i]);
}

#define PENTA_N 40

// LDL' of symmetric systems with two off-diagonals, one system per work-item, interleaved.
//@ pentadiagonal_ldlt_solve | 16384 | 64 | float*655360 float*655360 float*655360 float*655360 float*655360
__kernel void pentadiagonal_ldlt_solve(__global const float *diag, __global const float *off1,
                                       __global const float *off2, __global const float *rhs,
                                       __global float *x)
{
    const uint id = get_global_id(0);
    const uint stride = get_global_size(0);
    float inv_d[PENTA_N], l1[PENTA_N], l2[PENTA_N], z[PENTA_N];
    float d1 = 0.0f, d2 = 0.0f;
    float l1_prev = 0.0f, l2_prev = 0.0f, l2_prev2 = 0.0f;
    float z1 = 0.0f, z2 = 0.0f;

    for (uint i = 0; i < PENTA_N; ++i) {
        const uint at = i * stride + id;
        float d = diag[at] + 5.0f;
        d -= d1 * l1_prev * l1_prev + d2 * l2_prev2 * l2_prev2;
        const float r = 1.0f / d;
        inv_d[i] = r;
        l1[i] = (off1[at] - d1 * l1_prev * l2_prev) * r;
        l2[i] = off2[at] * r;
        z[i] = rhs[at] - l1_prev * z1 - l2_prev2 * z2;

        z2 = z1;
        z1 = z[i];
        d2 = d1;
        d1 = d;
        l2_prev2 = l2_prev;
        l2_prev = l2[i];
        l1_prev = l1[i];
    }

    float x1 = 0.0f, x2 = 0.0f;
    for (int i = PENTA_N - 1; i >= 0; --i) {
        const float xi = z[i] * inv_d[i] - l1[i] * x1 - l2[i] * x2;
        x[(uint)i * stride + id] = xi;
        x2 = x1;
        x1 = xi;
    }
}

#define CHOL_N 6
#define CHOL_PACKED 21
#define PACKED(i, j) ((i) * ((i) + 1) / 2 + (j))

//@ cholesky_packed_6x6_batch | 65536 | 256 | ulong=65000 float*1376256 float*1376256 float*65536
__kernel void cholesky_packed_6x6_batch(const ulong batch, __global const float *packed,
                                        __global float *factor, __global float *log_det)
{
    const ulong id = get_global_id(0);
    if (id >= batch)
        return;

    float l[CHOL_PACKED];
    for (int e = 0; e < CHOL_PACKED; ++e)
        l[e] = packed[e * batch + id];

    float logs = 0.0f;
    for (int j = 0; j < CHOL_N; ++j) {
        float d = l[PACKED(j, j)] + (float)CHOL_N;
        for (int p = 0; p < j; ++p)
            d -= l[PACKED(j, p)] * l[PACKED(j, p)];
        const float root = sqrt(d);
        const float inv = 1.0f / root;
        l[PACKED(j, j)] = root;
        logs += log(d);
        for (int i = j + 1; i < CHOL_N; ++i) {
            float s = l[PACKED(i, j)];
            for (int p = 0; p < j; ++p)
                s -= l[PACKED(i, p)] * l[PACKED(j, p)];
            l[PACKED(i, j)] = s * inv;
        }
    }
    for (int e = 0; e < CHOL_PACKED; ++e)
        factor[e * batch + id] = l[e];
    log_det[id] = logs;
}

#define GEMVT_X 32
#define GEMVT_Y 8

//@ sgemv_transposed_split_rows | 1024 8 | 32 8 | uint=1500 uint=1000 float*1500000 float*1500 float*1000
__kernel void sgemv_transposed_split_rows(const uint rows, const uint cols,
                                          __global const float *A, __global const float *x,
                                          __global float *y)
{
    __local float sums[GEMVT_Y][GEMVT_X];
    const uint lx = get_local_id(0), ly = get_local_id(1);
    const uint col = get_global_id(0);

    float s0 = 0.0f, s1 = 0.0f;
    if (col < cols) {
        uint r = ly;
        for (; r + GEMVT_Y < rows; r += 2 * GEMVT_Y) {
            s0 = mad(A[r * cols + col], x[r], s0);
            s1 = mad(A[(r + GEMVT_Y) * cols + col], x[r + GEMVT_Y], s1);
        }
        if (r < rows)
            s0 = mad(A[r * cols + col], x[r], s0);
    }
    sums[ly][lx] = s0 + s1;
    barrier(CLK_LOCAL_MEM_FENCE);

    if (ly == 0 && col < cols) {
        float total = sums[0][lx];
        for (uint p = 1; p < GEMVT_Y; ++p)
            total += sums[p][lx];
        y[col] = total;
    }
}

void jacobi_rotation(double app, double aqq, double apq, double *c, double *s, double *t)
{
    if (fabs(apq) < 1e-200) {
        *c = 1.0;
        *s = 0.0;
        *t = 0.0;
        return;
    }
    const double theta = (aqq - app) / (2.0 * apq);
    *t = copysign(1.0, theta) / (fabs(theta) + sqrt(theta * theta + 1.0));
    *c = rsqrt(*t * *t + 1.0);
    *s = *t * *c;
}

// Cyclic Jacobi on symmetric 3x3 matrices (xx, yy, zz, xy, xz, yz), eigenvalues ascending.
//@ jacobi_eigenvalues_sym3 | 16384 | 64 | double*98304 double*49152
__kernel void jacobi_eigenvalues_sym3(__global const double *sym, __global double *eigen)
{
    const size_t id = get_global_id(0);
    __global const double *in = sym + 6 * id;
    double xx = in[0] + 1.0, yy = in[1] + 2.0, zz = in[2] + 3.0;
    double xy = in[3], xz = in[4], yz = in[5];

    for (int sweep = 0; sweep < 5; ++sweep) {
        double c, s, t, u;
        jacobi_rotation(xx, yy, xy, &c, &s, &t);
        xx -= t * xy;
        yy += t * xy;
        xy = 0.0;
        u = c * xz - s * yz;
        yz = s * xz + c * yz;
        xz = u;

        jacobi_rotation(xx, zz, xz, &c, &s, &t);
        xx -= t * xz;
        zz += t * xz;
        xz = 0.0;
        u = c * xy - s * yz;
        yz = s * xy + c * yz;
        xy = u;

        jacobi_rotation(yy, zz, yz, &c, &s, &t);
        yy -= t * yz;
        zz += t * yz;
        yz = 0.0;
        u = c * xy - s * xz;
        xz = s * xy + c * xz;
        xy = u;
    }
    const double lo = fmin(xx, fmin(yy, zz));
    const double hi = fmax(xx, fmax(yy, zz));
    vstore3((double3)(lo, xx + yy + zz - lo - hi, hi), id, eigen);
}

// Quantised product: int8 operands, int32 accumulation, fixed-point rescale back to int8.
//@ igemm_int8_requantize | 256 256 | 32 4 | int=256 int=250 int=16 int=1431655765 int=-3 char*16384 char*16384 int*256:-2000..2000 char*65536
__kernel void igemm_int8_requantize(const int rows, const int cols, const int depth4,
                                    const int multiplier, const int zero_point,
                                    __global const char4 *A, __global const char4 *Bt,
                                    __global const int *bias, __global char *out)
{
    const int col = get_global_id(0);
    const int row = get_global_id(1);
    if (row >= rows || col >= cols)
        return;

    int acc = bias[col];
    for (int k = 0; k < depth4; ++k) {
        const short4 a = convert_short4(A[row * depth4 + k]);
        const short4 b = convert_short4(Bt[col * depth4 + k]);
        const int4 p = convert_int4(a) * convert_int4(b);
        acc += p.x + p.y + p.z + p.w;
    }
    int scaled = mul_hi(acc, multiplier);
    scaled = (scaled + (1 << 9)) >> 10;
    out[row * cols + col] = convert_char_sat(scaled + zero_point);
}

// Half-precision weights, float accumulation, one row per work-group, leaky activation at the end.
//@ hgemv_row_per_group | 65536 | 64 | int=1024 float=0.1 ushort*1048576:0..15360 float*1024 float*1024:-90..-10 float*1024
__kernel void hgemv_row_per_group(const int cols, const float slope,
                                  __global const half *weights, __global const float *x,
                                  __global const float *bias, __global float *y)
{
    __local float sums[64];
    const int lid = get_local_id(0);
    const size_t row = get_group_id(0);
    __global const half *w = weights + row * cols;

    float4 acc = (float4)(0.0f);
    for (int c = lid * 4; c + 3 < cols; c += 64 * 4)
        acc += vload_half4(0, w + c) * vload4(0, x + c);
    sums[lid] = dot(acc, (float4)(1.0f));
    barrier(CLK_LOCAL_MEM_FENCE);

    for (int width = 32; width > 0; width >>= 1) {
        if (lid < width)
            sums[lid] += sums[lid + width];
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (lid == 0) {
        const float v = sums[0] + bias[row];
        y[row] = v > 0.0f ? v : slope * v;
    }
}
