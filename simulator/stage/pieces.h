// Divides work into pieces shared among threads. The result does not depend on the number of threads.
#ifndef RB_SIMULATOR_PIECES_H
#define RB_SIMULATOR_PIECES_H

#include <stddef.h>

#define RB_THREADS_MAX 64 // more than any planning machine can use

// Runs run(&pieces[i]) for all n pieces of `size` bytes, in order, each on the next free thread, and waits for all. The
// caller's thread is one of `threads` <= RB_THREADS_MAX. If a thread cannot be started, the work takes longer but is
// complete.
void rb_pieces_run(void *(*run)(void *), void *pieces, size_t size, int n, int threads);

#endif
