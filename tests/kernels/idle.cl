// translate: --spirv-ext=+SPV_INTEL_subgroups
// Sums that all work-items add up and some store: what is behind the edges of a matrix, for one, whose tiles are larger.

int __attribute__((overloadable)) intel_sub_group_shuffle(int, uint);
uint __attribute__((overloadable)) get_sub_group_local_id(void);

__kernel void columns(__global const int *in, __global int *out, int n, int k)
{
    size_t x = get_global_id(0);
    int sum = 7;
    for (int i = 0; i < k; i++)
        sum = sum * 3 + in[x * 64 + i];
    if ((int)x < n)
        out[x] = sum;
}

// A work-item has two rows and three columns, and looks at what others of its sub-group have.
__kernel __attribute__((intel_reqd_sub_group_size(16)))
void tile(__global const int *a, __global const int *b, __global int *c, long m, long n, int k)
{
    long y = 2 * get_global_id(0), x = 3 * get_global_id(1);
    m -= y;
    n -= x;
    int sums[2][3] = { { 0 } };
    for (int i = 0; i < k; i++) {
        int left[2], right[3];
        for (int r = 0; r < 2; r++)
            left[r] = a[(y + r) * k + i];
        for (int s = 0; s < 3; s++)
            right[s] = intel_sub_group_shuffle(b[(x + s) * k + i], get_sub_group_local_id());
        for (int r = 0; r < 2; r++)
            for (int s = 0; s < 3; s++)
                sums[r][s] += left[r] * right[s];
    }
    if (n > 0) {
        if (m > 0)
            c[y * 64 + x] = sums[0][0];
        if (m > 1)
            c[(y + 1) * 64 + x] = sums[1][0];
    }
    if (n > 1) {
        if (m > 0)
            c[y * 64 + x + 1] = sums[0][1];
        if (m > 1)
            c[(y + 1) * 64 + x + 1] = sums[1][1];
    }
    if (n > 2) {
        if (m > 0)
            c[y * 64 + x + 2] = sums[0][2];
        if (m > 1)
            c[(y + 1) * 64 + x + 2] = sums[1][2];
    }
}

// What comes before is done by all, and what some of those do behind the loop who do not store is seen by nobody.
__kernel void counted(__global const int *in, __global int *out, __global int *steps, int n)
{
    size_t x = get_global_id(0);
    steps[x] = n - (int)x;
    int scratch[4] = { 1, 2, 3, 4 };
    int left = in[x];
    while (left > 0) {
        scratch[left & 3] += left;
        left -= 3;
    }
    if ((int)x * 2 < n)
        out[x] = scratch[0] + scratch[(in[x] + 1) & 3];
}
