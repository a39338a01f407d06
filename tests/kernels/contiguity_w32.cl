// build: -DWIDTH=32
#include "contiguity.cl"
