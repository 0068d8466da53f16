#include "simulator/pieces.h"

#include <pthread.h>
#include <stdbool.h>

void rb_pieces_run(void *(*run)(void *), void *pieces, size_t size, int n)
{
    pthread_t ids[RB_PIECES_MAX];
    bool started[RB_PIECES_MAX] = {0};
    char *const first = pieces;
    for (int i = 1; i < n; i++)
        started[i] = pthread_create(&ids[i], NULL, run, first + (size_t)i * size) == 0;
    for (int i = 0; i < n; i++) {
        if (!started[i])
            run(first + (size_t)i * size);
    }
    for (int i = 1; i < n; i++) {
        if (started[i])
            pthread_join(ids[i], NULL);
    }
}
