// Physics: gravity, SPH, lattice Boltzmann, stencils, molecular dynamics, fields and rigid bodies.

#define NBODY_TILE 128

//@ nbody_accelerations_tiled | 4096 | 128 | int=4000 float=0.01 float*16384:-1..1 float*16384
__kernel void nbody_accelerations_tiled(const int bodies, const float softening2,
                                        __global const float4 *position_mass,
                                        __global float4 *acceleration)
{
    __local float4 tile[NBODY_TILE];
    const int lid = get_local_id(0);
    const int i = get_global_id(0);
    const float4 me = i < bodies ? position_mass[i] : (float4)(0.0f);

    float3 acc = (float3)(0.0f);
    for (int start = 0; start < bodies; start += NBODY_TILE) {
        const int j = start + lid;
        tile[lid] = j < bodies ? position_mass[j] : (float4)(0.0f);
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int t = 0; t < NBODY_TILE; ++t) {
            const float3 d = tile[t].xyz - me.xyz;
            const float inv = rsqrt(dot(d, d) + softening2);
            acc += d * (fabs(tile[t].w) * inv * inv * inv);
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < bodies)
        acceleration[i] = (float4)(acc, length(acc));
}

// Potential at probes from sources kept as separate arrays, Plummer-softened.
//@ plummer_potential_soa_f64 | 8192 | 64 | ulong=8192 ulong=301 double=0.05 double*400 double*400 double*400 double*400 double*24576 double*8192
__kernel void plummer_potential_soa_f64(const ulong probes, const ulong sources,
                                        const double softening, __global const double *sx,
                                        __global const double *sy, __global const double *sz,
                                        __global const double *mass,
                                        __global const double *probe,
                                        __global double *potential)
{
    const ulong i = get_global_id(0);
    if (i >= probes)
        return;

    const double3 at = vload3(i, probe);
    const double soft2 = softening * softening;
    double even = 0.0, odd = 0.0;
    ulong s = 0;
    for (; s + 1 < sources; s += 2) {
        const double2 dx = vload2(s >> 1, sx) - at.x;
        const double2 dy = vload2(s >> 1, sy) - at.y;
        const double2 dz = vload2(s >> 1, sz) - at.z;
        const double2 r = sqrt(fma(dx, dx, fma(dy, dy, fma(dz, dz, (double2)(soft2)))));
        const double2 u = vload2(s >> 1, mass) / r;
        even += u.x;
        odd += u.y;
    }
    if (s < sources) {
        const double dx = sx[s] - at.x, dy = sy[s] - at.y, dz = sz[s] - at.z;
        even += mass[s] / sqrt(dx * dx + dy * dy + dz * dz + soft2);
    }
    potential[i] = -(even + odd);
}

#define CELLS 16
#define PER_CELL 4

// Density from a grid of cells; particles of a cell are consecutive, their place in it is stored.
//@ sph_density_from_cells | 16384 | 64 | float=1 int*4097:x4 float*49152 float*16384:0.5..1.5 float*16384
__kernel void sph_density_from_cells(const float radius, __global const int *cell_start,
                                     __global const float *place, __global const float *mass,
                                     __global float *density)
{
    const int i = get_global_id(0);
    const int cell = i / PER_CELL;
    const int cx = cell % CELLS, cy = (cell / CELLS) % CELLS, cz = cell / (CELLS * CELLS);
    const float3 mine = vload3(i, place);
    const float r2 = radius * radius;

    float sum = 0.0f;
    for (int dz = -1; dz <= 1; ++dz) {
        for (int dy = -1; dy <= 1; ++dy) {
            for (int dx = -1; dx <= 1; ++dx) {
                const int3 c = (int3)(cx + dx, cy + dy, cz + dz);
                if (any(c < 0) || any(c >= CELLS))
                    continue;
                const int other = (c.z * CELLS + c.y) * CELLS + c.x;
                const float3 shift = (float3)(dx, dy, dz) - mine;
                const int end = cell_start[other + 1];
                for (int j = cell_start[other]; j < end; ++j) {
                    const float3 d = vload3(j, place) + shift;
                    const float q = r2 - dot(d, d);
                    if (q > 0.0f)
                        sum = mad(mass[j], q * q * q, sum);
                }
            }
        }
    }
    const float h3 = r2 * radius;
    density[i] = sum * 1.5666814f / (h3 * h3 * h3);
}

#define SPH_NEIGHBOURS 24

// Pressure and viscosity from neighbour lists; an index of 0xffff ends a list.
//@ sph_forces_neighbour_lists | 16384 | 64 | uint=16384 float=1.2 float=0.3 ushort*393216:0..16384 float*65536 float*65536:-1..1 float*65536
__kernel void sph_forces_neighbour_lists(const uint particles, const float h,
                                         const float viscosity,
                                         __global const ushort *neighbours,
                                         __global const float4 *position_density,
                                         __global const float4 *velocity_pressure,
                                         __global float4 *force)
{
    const uint i = get_global_id(0);
    if (i >= particles)
        return;

    const float4 pi = position_density[i];
    const float4 vi = velocity_pressure[i];
    float3 total = (float3)(0.0f, 0.0f, -9.81f);
    for (uint k = 0; k < SPH_NEIGHBOURS; ++k) {
        const ushort j = neighbours[k * particles + i];
        if (j == USHRT_MAX)
            break;
        if (j == i)
            continue;
        const float4 pj = position_density[j];
        const float4 vj = velocity_pressure[j];
        const float3 d = pi.xyz - pj.xyz;
        const float r = sqrt(dot(d, d) + 1e-4f);
        const float gap = fmax(h - r, 0.0f);
        const float inv_rho = 1.0f / (pj.w + 0.5f);
        const float push = 0.5f * (fabs(vi.w) + fabs(vj.w)) * inv_rho * gap * gap / r;
        total += d * push + (vj.xyz - vi.xyz) * (viscosity * gap * inv_rho);
    }
    force[i] = (float4)(total, fast_length(total));
}

__constant int d2q9_x[9] = {0, 1, 0, -1, 0, 1, -1, -1, 1};
__constant int d2q9_y[9] = {0, 0, 1, 0, -1, 1, 1, -1, -1};
__constant uchar d2q9_back[9] = {0, 3, 4, 1, 2, 7, 8, 5, 6};
__constant float d2q9_weight[9] = {4.0f / 9,  1.0f / 9,  1.0f / 9,  1.0f / 9, 1.0f / 9,
                                   1.0f / 36, 1.0f / 36, 1.0f / 36, 1.0f / 36};

// Pull, bounce back from solid cells, relax; one plane of the arrays per direction.
//@ lbm_d2q9_pull_collide | 256 256 | 64 2 | int=256 int=256 float=1.2 uchar*65536:0..20 float*589824:0.5..1 float*589824
__kernel void lbm_d2q9_pull_collide(const int width, const int height, const float omega,
                                    __global const uchar *cell_type, __global const float *f_in,
                                    __global float *f_out)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;

    const int plane = width * height;
    const int here = y * width + x;
    float f[9];
    float rho = 0.0f, ux = 0.0f, uy = 0.0f;
    for (int q = 0; q < 9; ++q) {
        int sx = x - d2q9_x[q], sy = y - d2q9_y[q];
        sx = sx < 0 ? sx + width : (sx >= width ? sx - width : sx);
        sy = sy < 0 ? sy + height : (sy >= height ? sy - height : sy);
        const int from = sy * width + sx;
        const float pulled = f_in[q * plane + from];
        const float bounced = f_in[d2q9_back[q] * plane + here];
        f[q] = (cell_type[from] == 0 ? bounced : pulled) * d2q9_weight[q];
        rho += f[q];
        ux += f[q] * (float)d2q9_x[q];
        uy += f[q] * (float)d2q9_y[q];
    }
    ux /= rho;
    uy /= rho;

    const float u2 = 1.5f * (ux * ux + uy * uy);
    for (int q = 0; q < 9; ++q) {
        const float cu = 3.0f * (ux * (float)d2q9_x[q] + uy * (float)d2q9_y[q]);
        const float equilibrium = rho * d2q9_weight[q] * (1.0f + cu + 0.5f * cu * cu - u2);
        f_out[q * plane + here] = f[q] + omega * (equilibrium - f[q]);
    }
}

#define AT3(x, y, z) (((size_t)(z) * ny + (y)) * nx + (x))

// Heat with a conductivity that varies in space; walls keep their temperature.
//@ heat_step_variable_conductivity_3d | 64 64 48 | 32 4 1 | int=64 int=62 int=48 float=0.1 float*196608 float*196608 float*196608
__kernel void heat_step_variable_conductivity_3d(const int nx, const int ny, const int nz,
                                                 const float dt, __global const float *kappa,
                                                 __global const float *t_old,
                                                 __global float *t_new)
{
    const int x = get_global_id(0), y = get_global_id(1), z = get_global_id(2);
    if (x >= nx || y >= ny || z >= nz)
        return;

    const size_t c = AT3(x, y, z);
    const float t = t_old[c];
    if (x == 0 || y == 0 || z == 0 || x == nx - 1 || y == ny - 1 || z == nz - 1) {
        t_new[c] = t;
        return;
    }

    const float k = kappa[c];
    const size_t around[6] = {AT3(x - 1, y, z), AT3(x + 1, y, z), AT3(x, y - 1, z),
                              AT3(x, y + 1, z), AT3(x, y, z - 1), AT3(x, y, z + 1)};
    float flux = 0.0f;
    for (int n = 0; n < 6; ++n) {
        const float kn = kappa[around[n]];
        const float harmonic = 2.0f * k * kn / (k + kn + 1e-6f);
        flux = fma(harmonic, t_old[around[n]] - t, flux);
    }
    t_new[c] = t + dt * flux;
}

#define WAVE_X 32
#define WAVE_Y 8
#define WAVE_HALO 2

// Leapfrog for the wave equation, fourth order in space, with a sponge near the border.
//@ wave_leapfrog_4th_order_f64 | 512 256 | 32 8 | uint=500 uint=250 double=0.2 double*125000 double*125000 double*125000
__kernel void wave_leapfrog_4th_order_f64(const uint width, const uint height,
                                          const double courant2, __global const double *before,
                                          __global const double *now, __global double *next)
{
    __local double tile[WAVE_Y + 2 * WAVE_HALO][WAVE_X + 2 * WAVE_HALO];
    const uint lx = get_local_id(0), ly = get_local_id(1);
    const int x = get_global_id(0), y = get_global_id(1);
    const int w = width, h = height;

    for (uint ty = ly; ty < WAVE_Y + 2 * WAVE_HALO; ty += WAVE_Y) {
        for (uint tx = lx; tx < WAVE_X + 2 * WAVE_HALO; tx += WAVE_X) {
            const int sx = x - (int)lx - WAVE_HALO + (int)tx;
            const int sy = y - (int)ly - WAVE_HALO + (int)ty;
            const bool inside = sx >= 0 && sy >= 0 && sx < w && sy < h;
            tile[ty][tx] = inside ? now[sy * w + sx] : 0.0;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE);
    if (x >= w || y >= h)
        return;

    const uint cx = lx + WAVE_HALO, cy = ly + WAVE_HALO;
    const double centre = tile[cy][cx];
    const double near_sum = tile[cy][cx - 1] + tile[cy][cx + 1] +
                            tile[cy - 1][cx] + tile[cy + 1][cx];
    const double far_sum = tile[cy][cx - 2] + tile[cy][cx + 2] +
                           tile[cy - 2][cx] + tile[cy + 2][cx];
    const double laplacian = (16.0 * near_sum - far_sum - 60.0 * centre) / 12.0;
    const int border = min(min(x, w - 1 - x), min(y, h - 1 - y));
    const double damping = border < 20 ? 0.005 * (20 - border) : 0.0;
    const double old = before[y * w + x];
    const double momentum = (centre - old) * (1.0 - damping);
    next[y * w + x] = centre + momentum + courant2 * laplacian;
}

#define MD_NEIGHBOURS 32

// Lennard-Jones, faded out at the cutoff, in a periodic box of side one; atoms are of four kinds.
//@ lennard_jones_switched | 16384 | 64 | int=16384 float=0.3 float=0.06 int*524288:0..16384 uchar*16384:0..4 float*65536 float*65536
__kernel void lennard_jones_switched(const int atoms, const float cutoff, const float sigma,
                                     __global const int *neighbours, __global const uchar *kind,
                                     __global const float4 *position,
                                     __global float4 *force_energy)
{
    const int i = get_global_id(0);
    if (i >= atoms)
        return;

    const float4 me = position[i];
    const float cut2 = cutoff * cutoff;
    const float floor2 = 0.9f * sigma * sigma;
    const float depth = 1.0f + 0.25f * (float)kind[i];
    float4 sum = (float4)(0.0f);
    for (int k = 0; k < MD_NEIGHBOURS; ++k) {
        const int j = neighbours[k * atoms + i];
        if (j == i)
            continue;
        float4 d = me - position[j];
        d -= rint(d);
        d.w = 0.0f;
        const float r2 = fmax(dot(d, d), floor2);
        if (r2 >= cut2)
            continue;
        const float s2 = sigma * sigma / r2;
        const float s6 = s2 * s2 * s2;
        const float pair_depth = depth * (1.0f + 0.25f * (float)kind[j]);
        const float fade = 1.0f - r2 / cut2;
        const float energy = 4.0f * pair_depth * s6 * (s6 - 1.0f);
        const float pull = 24.0f * pair_depth * s6 * (2.0f * s6 - 1.0f) / r2;
        sum.xyz += d.xyz * (pull * fade * fade + 4.0f * energy * fade / cut2);
        sum.w += 0.5f * energy * fade * fade;
    }
    force_energy[i] = sum;
}

// Real-space part of an Ewald sum: screened charges against every ion of a chunk.
//@ ewald_real_space_f64 | 2048 | 64 | int=2000 int=100 double=2.5 double*8192 double*400 double*2048
__kernel void ewald_real_space_f64(const int sites, const int ions, const double alpha,
                                   __global const double4 *site, __global const double4 *ion,
                                   __global double *energy)
{
    __local double4 chunk[64];
    const int lid = get_local_id(0);
    const int i = get_global_id(0);
    const double4 me = site[min(i, sites - 1)];

    double sum = 0.0;
    for (int first = 0; first < ions; first += 64) {
        const int count = min(64, ions - first);
        if (lid < count)
            chunk[lid] = ion[first + lid];
        barrier(CLK_LOCAL_MEM_FENCE);
        for (int k = 0; k < count; ++k) {
            double3 d = me.xyz - chunk[k].xyz;
            d -= rint(d);
            const double r = sqrt(dot(d, d) + 1e-4);
            sum += chunk[k].w * erfc(alpha * r) / r;
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    if (i < sites)
        energy[i] = 0.5 * me.w * sum;
}

typedef struct {
    float position[3];
    float orientation[4];
    float linear[3];
    float angular[3];
    float inv_inertia[3];
} Body;

float4 quaternion_product(float4 a, float4 b)
{
    return (float4)(a.w * b.xyz + b.w * a.xyz + cross(a.xyz, b.xyz),
                    a.w * b.w - dot(a.xyz, b.xyz));
}

float3 rotate_by(float4 q, float3 v)
{
    const float3 t = 2.0f * cross(q.xyz, v);
    return v + q.w * t + cross(q.xyz, t);
}

// Semi-implicit step of free bodies: torque turned into the body's axes, quaternion kept unit.
//@ rigid_bodies_integrate | 32768 | 64 | uint=32768 uint=4 float=0.01 float*524288 float*98304:-1..1 float*524288
__kernel void rigid_bodies_integrate(const uint bodies, const uint substeps, const float dt,
                                     __global const Body *in, __global const float *torque,
                                     __global Body *out)
{
    const uint i = get_global_id(0);
    if (i >= bodies)
        return;

    Body b = in[i];
    float3 x = vload3(0, b.position);
    float3 v = vload3(0, b.linear);
    float3 w = vload3(0, b.angular);
    float4 q = normalize(vload4(0, b.orientation) + (float4)(0.0f, 0.0f, 0.0f, 0.1f));
    const float3 inv_inertia = vload3(0, b.inv_inertia) + 0.5f;
    const float3 push = vload3(i, torque);

    for (uint s = 0; s < substeps; ++s) {
        const float4 conjugate = (float4)(-q.xyz, q.w);
        const float3 local_push = rotate_by(conjugate, push);
        w += dt * rotate_by(q, inv_inertia * local_push);
        v.z -= dt * 9.81f;
        x += dt * v;
        q += 0.5f * dt * quaternion_product((float4)(w, 0.0f), q);
        q = normalize(q);
    }
    vstore3(x, 0, b.position);
    vstore3(v, 0, b.linear);
    vstore3(w, 0, b.angular);
    vstore4(q, 0, b.orientation);
    out[i] = b;
}

float spring_pull(float3 d, float rest, float stiffness, float3 *force)
{
    const float stretched = sqrt(dot(d, d) + 1e-6f);
    *force += d * (stiffness * (stretched - rest) / stretched);
    return stretched - rest;
}

// Cloth on a grid: structural, shear and bending springs by a table of offsets; top row is pinned.
__constant char cloth_dx[12] = {-1, 1, 0, 0, -1, 1, -1, 1, -2, 2, 0, 0};
__constant char cloth_dy[12] = {0, 0, -1, 1, -1, -1, 1, 1, 0, 0, -2, 2};

//@ cloth_spring_step | 256 128 | 32 4 | int=250 int=128 float=0.02 float*96000 float*96000:-0.1..0.1 float*96000 float*32000
__kernel void cloth_spring_step(const int columns, const int rows, const float dt,
                                __global const float *position, __global const float *velocity,
                                __global float *next_position, __global float *strain)
{
    const int x = get_global_id(0);
    const int y = get_global_id(1);
    if (x >= columns || y >= rows)
        return;

    const int at = y * columns + x;
    const float3 p = vload3(at, position);
    if (y == 0) {
        vstore3(p, at, next_position);
        strain[at] = 0.0f;
        return;
    }
    float3 force = (float3)(0.0f, -0.98f, 0.0f);
    float worst = 0.0f;
    for (int s = 0; s < 12; ++s) {
        const int dx = cloth_dx[s], dy = cloth_dy[s];
        const int nx = x + dx, ny = y + dy;
        if (nx < 0 || ny < 0 || nx >= columns || ny >= rows)
            continue;
        const float3 grid = (float3)(0.4f * dx, 0.4f * dy, 0.0f);
        const float3 d = vload3(ny * columns + nx, position) - p + grid;
        const float rest = 0.4f * hypot((float)dx, (float)dy);
        const float stiffness = s < 4 ? 30.0f : (s < 8 ? 15.0f : 5.0f);
        worst = fmax(worst, fabs(spring_pull(d, rest, stiffness, &force)));
    }
    const float3 v = (vload3(at, velocity) + dt * force) * 0.99f;
    vstore3(p + dt * v, at, next_position);
    strain[at] = worst;
}

__constant float permittivity[4] = {1.0f, 2.25f, 4.0f, 11.7f};
__constant float loss[4] = {0.0f, 0.01f, 0.05f, 0.2f};

// Electric field of a TM wave in a lossy medium, from the magnetic field on a staggered grid.
//@ fdtd_tm_update_ez | 512 512 | 64 1 | int=512 int=500 float=0.5 uchar*256000:0..6 float*256000 float*256000 float*256000 float*256000
__kernel void fdtd_tm_update_ez(const int nx, const int ny, const float courant,
                                __global const uchar *material, __global const float *hx,
                                __global const float *hy, __global const float *ez,
                                __global float *ez_next)
{
    const int x = get_global_id(0), y = get_global_id(1);
    if (x >= nx || y >= ny)
        return;

    const int c = y * nx + x;
    const uchar m = material[c];
    if (m >= 4) {
        ez_next[c] = 0.0f;
        return;
    }
    const float hy_left = x > 0 ? hy[c - 1] : 0.0f;
    const float hx_below = y > 0 ? hx[c - nx] : 0.0f;
    const float curl = (hy[c] - hy_left) - (hx[c] - hx_below);
    const float half_loss = 0.5f * loss[m] / permittivity[m];
    const float keep = (1.0f - half_loss) / (1.0f + half_loss);
    const float gain = courant / (permittivity[m] * (1.0f + half_loss));
    ez_next[c] = fma(keep, ez[c], gain * curl);
}

uint spin_hash(uint a, uint b)
{
    uint h = a * 0x9e3779b9u ^ rotate(b, 16u);
    h = (h ^ (h >> 16)) * 0x7feb352du;
    h = (h ^ (h >> 15)) * 0x846ca68bu;
    return h ^ (h >> 16);
}

// Metropolis on one colour of a chessboard; the acceptance of each energy is a 32-bit threshold.
//@ ising_checkerboard_sweep | 512 512 | 64 2 | uint=512 uint=512 uint=1 uint=12345 char*262144 uint*5 char*262144
__kernel void ising_checkerboard_sweep(const uint width, const uint height, const uint colour,
                                       const uint seed, __global const char *spin_in,
                                       __constant uint *acceptance, __global char *spin_out)
{
    const uint x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;

    const uint c = y * width + x;
    const int spin = spin_in[c] < 0 ? -1 : 1;
    if (((x + y) & 1u) != colour) {
        spin_out[c] = (char)spin;
        return;
    }
    const uint left = x == 0 ? c + width - 1 : c - 1;
    const uint right = x == width - 1 ? c + 1 - width : c + 1;
    const uint up = y == 0 ? c + (height - 1) * width : c - width;
    const uint down = y == height - 1 ? x : c + width;
    const int field = (spin_in[left] < 0 ? -1 : 1) + (spin_in[right] < 0 ? -1 : 1) +
                      (spin_in[up] < 0 ? -1 : 1) + (spin_in[down] < 0 ? -1 : 1);

    const int alignment = (spin * field + 4) >> 1;
    const bool flip = alignment <= 2 || spin_hash(c, seed) < acceptance[alignment];
    spin_out[c] = (char)(flip ? -spin : spin);
}

// Charge of particles with fixed-point places spread over the four corners of their cell.
//@ pic_deposit_charge_fixed_point | 131072 | 128 | uint=131072 uint=128 ushort*131072 ushort*131072 char*131072 int*16384
__kernel void pic_deposit_charge_fixed_point(const uint particles, const uint side,
                                             __global const ushort *px,
                                             __global const ushort *py,
                                             __global const char *charge, __global int *grid)
{
    const uint i = get_global_id(0);
    if (i >= particles)
        return;

    // Nine fractional bits below seven bits of cell.
    const uint cx = px[i] >> 9, cy = py[i] >> 9;
    const int fx = px[i] & 511, fy = py[i] & 511;
    const uint nx = (cx + 1) & (side - 1), ny = (cy + 1) & (side - 1);
    const int q = charge[i];
    if (q == 0)
        return;

    atomic_add(&grid[cy * side + cx], q * (512 - fx) * (512 - fy));
    atomic_add(&grid[cy * side + nx], q * fx * (512 - fy));
    atomic_add(&grid[ny * side + cx], q * (512 - fx) * fy);
    atomic_add(&grid[ny * side + nx], q * fx * fy);
}

#define FLUX_G 9.81f

float3 shallow_flux(float3 cell)
{
    const float u = cell.y / cell.x;
    return (float3)(cell.y, cell.y * u + 0.5f * FLUX_G * cell.x * cell.x, cell.z * u);
}

float3 rusanov(float3 left, float3 right)
{
    const float speed = fmax(fabs(left.y / left.x) + sqrt(FLUX_G * left.x),
                             fabs(right.y / right.x) + sqrt(FLUX_G * right.x));
    return 0.5f * (shallow_flux(left) + shallow_flux(right)) - 0.5f * speed * (right - left);
}

// Finite-volume step of (depth, momentum x, momentum y) in separate planes, walls reflect.
//@ shallow_water_rusanov_step | 256 256 | 32 4 | short=256 short=250 float=0.05 float*192000 float*192000
__kernel void shallow_water_rusanov_step(const short width, const short height,
                                         const float dt_dx, __global const float *state,
                                         __global float *next)
{
    const short x = get_global_id(0), y = get_global_id(1);
    if (x >= width || y >= height)
        return;

    const int plane = width * height;
    float3 cell[5];
    for (int k = 0; k < 5; ++k) {
        const int sx = x + (k == 1 ? -1 : k == 2 ? 1 : 0);
        const int sy = y + (k == 3 ? -1 : k == 4 ? 1 : 0);
        const int cx = clamp(sx, 0, width - 1), cy = clamp(sy, 0, height - 1);
        const int at = cy * width + cx;
        cell[k] = (float3)(state[at] + 1.0f, state[plane + at], state[2 * plane + at]);
        if (cx != sx)
            cell[k].y = -cell[k].y;
        if (cy != sy)
            cell[k].z = -cell[k].z;
    }
    const float3 in_x = rusanov(cell[1], cell[0]) - rusanov(cell[0], cell[2]);
    const float3 in_y = rusanov(cell[3].xzy, cell[0].xzy) - rusanov(cell[0].xzy, cell[4].xzy);
    const float3 updated = cell[0] + dt_dx * (in_x + in_y.xzy);

    const int here = y * width + x;
    next[here] = updated.x - 1.0f;
    next[plane + here] = updated.y;
    next[2 * plane + here] = updated.z;
}
