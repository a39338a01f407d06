// One step of an all-pairs gravitational simulation; xyz is the position, w the mass.
__kernel void nbody_step(__global const float4 *position, __global const float4 *velocity,
                         __global float4 *next_position, __global float4 *next_velocity, uint count, float dt,
                         float softening)
{
    size_t i = get_global_id(0);
    if (i >= count)
        return;
    float4 me = position[i];
    float3 acceleration = (float3)(0.0f);
    for (uint j = 0; j < count; ++j) {
        float4 other = position[j];
        float3 away = other.xyz - me.xyz;
        float distance2 = away.x * away.x + away.y * away.y + away.z * away.z + softening;
        float inverse = rsqrt(distance2);
        acceleration += away * (other.w * inverse * inverse * inverse);
    }
    float4 v = velocity[i];
    v.xyz += acceleration * dt;
    me.xyz += v.xyz * dt;
    next_velocity[i] = v;
    next_position[i] = me;
}
