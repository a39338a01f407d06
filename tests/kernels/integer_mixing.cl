// Rounds of a 32-bit integer mixer: multiplications, shifts and exclusive ors only.
__kernel void integer_mixing(__global uint *state, uint n, uint rounds)
{
    size_t i = get_global_id(0);
    if (i >= n)
        return;
    uint h = state[i];
    for (uint round = 0; round < rounds; ++round) {
        h ^= h >> 16;
        h *= 0x7feb352du;
        h ^= h >> 15;
        h *= 0x846ca68bu;
        h ^= h >> 16;
        h += round;
    }
    state[i] = h;
}
