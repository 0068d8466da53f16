#include "planner/request/stay.h"

#include "profiles/catalog/infra.h"

#include <string.h>

// How much of the infra names its place.
static size_t place_length(const char *infra)
{
    const size_t cloud = strcspn(infra, "/");
    return rb_infra_within(infra, "k8s") && infra[cloud] ? cloud + 1 + strcspn(infra + cloud + 1, "/") : cloud;
}

static bool same_place(const char *a, const char *b)
{
    return place_length(a) == place_length(b) && strncmp(a, b, place_length(a)) == 0;
}

// Is it the first of its place?
static bool begins_place(const struct rb_string_list *infra, int i)
{
    int k = 0;
    while (!same_place(infra->items[k], infra->items[i]))
        k++;
    return k == i;
}

int rb_stay_n_places(const struct rb_job *job)
{
    int n = 0;
    for (int i = 0; i < job->resources.infra.n; i++)
        n += begins_place(&job->resources.infra, i);
    return job->data_stays ? n : 1;
}

const char *rb_stay_place(const struct rb_job *job, struct rb_arena *arena)
{
    const char *infra = job->resources.infra.items[0];
    return rb_arena_strndup(arena, infra, place_length(infra));
}

static struct rb_string_list within(const struct rb_string_list *infra, const char *place, struct rb_arena *arena)
{
    const char **items = rb_arena_array(arena, (size_t)infra->n, sizeof *items);
    struct rb_string_list list = {.items = items};
    for (int i = 0; i < infra->n; i++)
        if (same_place(infra->items[i], place))
            items[list.n++] = infra->items[i];
    return list;
}

int rb_stay_jobs(const struct rb_job *job, struct rb_arena *arena, const struct rb_job **out)
{
    const struct rb_string_list *infra = &job->resources.infra;
    struct rb_job *jobs = rb_arena_array(arena, (size_t)infra->n, sizeof *jobs);
    int n = 0;
    *out = job;
    if (rb_stay_n_places(job) == 1)
        return 1;
    for (int i = 0; i < infra->n; i++) {
        if (!begins_place(infra, i))
            continue;
        jobs[n] = *job;
        jobs[n++].resources.infra = within(infra, infra->items[i], arena);
    }
    *out = jobs;
    return n;
}
