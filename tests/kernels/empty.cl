// Does nothing: the cost of a launch.
__kernel void empty(void)
{
}
