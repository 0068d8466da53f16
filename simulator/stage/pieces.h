// Work cut into pieces, shared among threads. What comes out does not depend on how many threads there are.
#ifndef RB_SIMULATOR_PIECES_H
#define RB_SIMULATOR_PIECES_H

#include <stddef.h>

#define RB_THREADS_MAX 64 // more than any machine that plans has use for

// Runs run(&pieces[i]) for all n pieces of `size` bytes, in order, each on whichever thread is free next, and waits for all.
// The caller's thread is one of `threads` <= RB_THREADS_MAX; one that cannot be started costs time, not pieces.
void rb_pieces_run(void *(*run)(void *), void *pieces, size_t size, int n, int threads);

#endif
