// Memory of the heap begins as zeros in these programs.
//
// The SYCL runtime (2026.2) reads the names of sets of virtual functions, which its compiler library puts into heap blocks of
// their exact length, as strings that end with a zero, and there is none: "_ZTSv" is followed by the byte that the heap's last
// user left there, often 0x55 of a pointer. The names of the images that define functions and of those that call them then
// differ, and the runtime builds the latter without the former, which no driver can link.
#include <cstdlib>

extern "C" void *malloc(std::size_t size) { return std::calloc(1, size); }
