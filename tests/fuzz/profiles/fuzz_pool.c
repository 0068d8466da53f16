// Any bytes as pool.yaml: refused with file and place, or a pool within its limits.
#include "profiles/job/pool_file.h"

#include "doc_check.h"
#include "fuzz.h"
#include "memory_file.h"
#include "require.h"

#include <string.h>

static void check(const struct rb_pool_file *pool)
{
    require(pool->name && pool->name[0]); // its jobs may be named on the command line
    require(pool->interval_us > 0 && pool->restart_us >= 0 && pool->budget_uusd >= -1);
    for (int i = 0; i < pool->n_jobs; i++) {
        const struct rb_pool_job *job = &pool->jobs[i];
        require(job->path && job->path[0] && job->arrives_us >= 0 && job->weight > 0);
        require(job->deadline_us == -1 || job->deadline_us > 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_arena arena;
    struct rb_pool_file pool;
    struct rb_err err = {0};
    rb_arena_init(&arena);
    const char *path = memory_file_with(bytes, n);
    if (rb_pool_file_load(path, &arena, &pool, &err))
        check(&pool);
    else
        check_error(&err, path);
    rb_arena_finish(&arena);
    return 0;
}
