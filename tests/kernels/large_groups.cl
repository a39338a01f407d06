// Work-groups of more work-items than most devices have.

kernel void remainder(global uint *dst) {
    dst[get_local_id(0) % 70001] = 1;
}
