// build: -DWIDTH=16
#include "short_rows.cl"
