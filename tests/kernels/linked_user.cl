// Uses what linked_library.cl exports, and exports a function for linked_chain.cl.
extern global int counter;
int count_call(void);

global int own = 3;
// Its value is known when the library is.
global int *global where = &counter;

int own_and_calls(void) {
  return 100 * own + count_call();
}

kernel void user_state(global int *out) {
  out[0] = counter;
  out[1] = count_call();
  out[2] = own;
  out[3] = *where;
  counter += 10;
}
