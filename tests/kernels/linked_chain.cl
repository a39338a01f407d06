// Imports from linked_user.cl, which has imports itself.
int own_and_calls(void);

kernel void chain(global int *out) {
  out[0] = own_and_calls();
}
