// Work cut into pieces, one thread each. What comes out does not depend on how many threads there are.
#ifndef RB_SIMULATOR_PIECES_H
#define RB_SIMULATOR_PIECES_H

#include <stddef.h>

#define RB_PIECES_MAX 64 // threads; more than any machine that plans has use for

// Runs run(&pieces[i]) for all n <= RB_PIECES_MAX pieces of `size` bytes, the first on this thread, and waits for all. A
// thread that cannot be started costs time, not its piece.
void rb_pieces_run(void *(*run)(void *), void *pieces, size_t size, int n);

#endif
