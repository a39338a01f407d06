// build: -O0 -Xclang -disable-O0-optnone
#include "matmul.cl"
