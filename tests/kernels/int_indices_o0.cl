// build: -O0 -Xclang -disable-O0-optnone
#include "int_indices.cl"
