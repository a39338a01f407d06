// build: -DWIDTH=32
#include "short_rows.cl"
