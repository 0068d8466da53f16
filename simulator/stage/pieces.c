#include "simulator/stage/pieces.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>

struct work {
    void *(*run)(void *);
    char *pieces;
    size_t size;
    int n;
    atomic_int next; // number of the pieces not taken yet
};

static void *take_pieces(void *arg)
{
    struct work *w = arg;
    for (int i = atomic_fetch_add(&w->next, 1); i < w->n; i = atomic_fetch_add(&w->next, 1))
        w->run(w->pieces + (size_t)i * w->size);
    return NULL;
}

void rb_pieces_run(void *(*run)(void *), void *pieces, size_t size, int n, int threads)
{
    struct work w = {.run = run, .pieces = pieces, .size = size, .n = n};
    pthread_t ids[RB_THREADS_MAX];
    int n_started = 0;
    assert(threads <= RB_THREADS_MAX);
    while (n_started + 1 < threads && n_started + 1 < n && pthread_create(&ids[n_started], NULL, take_pieces, &w) == 0)
        n_started++;
    take_pieces(&w);
    for (int i = 0; i < n_started; i++)
        pthread_join(ids[i], NULL);
}
