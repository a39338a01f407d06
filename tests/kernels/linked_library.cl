// What linked_user.cl imports: a variable, and a function that keeps a count in a variable of its own.
global int counter = 5;
static global int calls;

int count_call(void) {
  return ++calls;
}

kernel void library_state(global int *out) {
  out[0] = counter;
  out[1] = count_call();
}
