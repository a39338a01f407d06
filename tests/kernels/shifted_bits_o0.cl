// build: -O0 -Xclang -disable-O0-optnone
#include "shifted_bits.cl"
