// The benchmark's kernels that are bound by memory, with indices of 32 bits, as people write them.

__kernel void triad(__global double *a, __global const double *b, __global const double *c, double factor, int n)
{
    int i = get_global_id(0);
    if (i < n)
        a[i] = b[i] + factor * c[i];
}

// A structure of arrays.
__kernel void move_soa(__global float *x, __global float *y, __global float *z, __global const float *vx,
                       __global const float *vy, __global const float *vz, float dt, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    x[i] += dt * vx[i];
    y[i] += dt * vy[i];
    z[i] += dt * vz[i];
}

typedef struct {
    float x, y, z;
    float vx, vy, vz;
} Particle;

// An array of structures of six members.
__kernel void move_aos(__global Particle *particles, float dt, int n)
{
    int i = get_global_id(0);
    if (i >= n)
        return;
    Particle p = particles[i];
    p.x += dt * p.vx;
    p.y += dt * p.vy;
    p.z += dt * p.vz;
    particles[i] = p;
}

// How often four bytes stand in a text. Each work-item looks at a piece of it.
__kernel void search(__global const uchar *text, __global int *found, int n, int piece, uchar a, uchar b, uchar c, uchar d)
{
    int first = get_global_id(0) * piece;
    int count = 0;
    for (int i = first; i < first + piece && i + 3 < n; ++i)
        if (text[i] == a && text[i + 1] == b && text[i + 2] == c && text[i + 3] == d)
            ++count;
    if (count)
        atomic_add(found, count);
}

// The same with a byte a work-item.
__kernel void search_each(__global const uchar *text, __global int *found, int n, uchar a, uchar b, uchar c, uchar d)
{
    int i = get_global_id(0);
    if (i + 3 < n && text[i] == a && text[i + 1] == b && text[i + 2] == c && text[i + 3] == d)
        atomic_inc(found);
}
