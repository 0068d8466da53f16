// Samplers and schedulers on tables: mean regret after a quarter, half and all of a budget.
// Usage: search_study FOLDER [seeds=10] [first=1] [tasks=A,B,...] [workers=1] [ahead=0] [in=units|seconds] [budget=2000] METHOD...
//   METHOD: SCHEDULER:SAMPLER[:KEY=VALUE...], for example asha:tpe asha:gp:cost=blind hyperband:bohb random:random
// tasks are names of tables without .csv.gz; without them all tables of the folder.
#include "bench/search/play.h"

#include "base/order.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_TABLES  256
#define MAX_SEEDS   1000
#define MAX_OPTIONS 8

struct study {
    const char *folder;
    int n_seeds, first_seed, workers, ahead;
    bool in_seconds;
    double budget;
    char *names[MAX_TABLES];
    struct rb_blackbox tables[MAX_TABLES];
    int n_tables;
    struct rb_arena arena;
};

static void die(const struct rb_err *err)
{
    rb_err_print(err, "search_study", false);
    exit(1);
}

// ---- arguments

static void add_task(struct study *s, const char *name, size_t len)
{
    if (s->n_tables < MAX_TABLES)
        s->names[s->n_tables++] = rb_arena_strndup(&s->arena, name, len);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static void list_folder(struct study *s)
{
    DIR *d = opendir(s->folder);
    for (struct dirent *e; d && (e = readdir(d));) {
        const char *end = strstr(e->d_name, ".csv.gz");
        if (end)
            add_task(s, e->d_name, (size_t)(end - e->d_name));
    }
    if (d)
        closedir(d);
    qsort(s->names, (size_t)s->n_tables, sizeof s->names[0], compare_names);
}

static void list_tasks(struct study *s, const char *list)
{
    for (const char *at = list; *at; at += *at == ',') {
        const size_t len = strcspn(at, ",");
        add_task(s, at, len);
        at += len;
    }
}

static const char *value_of(const char *argument, const char *key)
{
    const size_t n = strlen(key);
    return strncmp(argument, key, n) == 0 && argument[n] == '=' ? argument + n + 1 : NULL;
}

static bool read_option(struct study *s, const char *argument)
{
    const char *v;
    if ((v = value_of(argument, "seeds")))
        s->n_seeds = atoi(v) < MAX_SEEDS ? atoi(v) : MAX_SEEDS;
    else if ((v = value_of(argument, "first")))
        s->first_seed = atoi(v);
    else if ((v = value_of(argument, "workers")))
        s->workers = atoi(v);
    else if ((v = value_of(argument, "ahead")))
        s->ahead = atoi(v);
    else if ((v = value_of(argument, "in")))
        s->in_seconds = strcmp(v, "seconds") == 0;
    else if ((v = value_of(argument, "budget")))
        s->budget = atof(v);
    else if ((v = value_of(argument, "tasks")))
        list_tasks(s, v);
    else
        return false;
    return true;
}

// scheduler:sampler:key=value...
static void read_method(const char *text, struct game *g, struct rb_setting *options, struct rb_arena *arena)
{
    char *copy = rb_arena_strdup(arena, text), *rest = copy;
    g->scheduler = strsep(&rest, ":");
    g->sampler = (struct rb_sampler_spec){.type = rest ? strsep(&rest, ":") : "random", .options = {.items = options}};
    for (char *option; rest && (option = strsep(&rest, ":"));) {
        struct rb_setting *o = &options[g->sampler.options.n++];
        char *value = option;
        *o = (struct rb_setting){.key = strsep(&value, "="), .path = option, .text = value ? value : ""};
        char *end;
        o->number = strtod(o->text, &end);
        o->boolean = strcmp(o->text, "true") == 0;
        o->kind = *end == '\0'                                  ? (strchr(o->text, '.') ? RB_NODE_FLOAT : RB_NODE_INT)
                  : o->boolean || strcmp(o->text, "false") == 0 ? RB_NODE_BOOL
                                                                : RB_NODE_STRING;
    }
}

// ---- one method

struct sums {
    double by_seed[MAX_SEEDS][N_BUDGETS];
    double by_task[MAX_TABLES][N_BUDGETS];
    double *times;
    int n_times;
};

static void add_times(struct sums *s, struct outcome *o)
{
    s->times = rb_xrealloc(s->times, (size_t)(s->n_times + o->n_suggest + 1), sizeof *s->times);
    memcpy(s->times + s->n_times, o->suggest_s, (size_t)o->n_suggest * sizeof *s->times);
    s->n_times += o->n_suggest;
    outcome_finish(o);
}

static void print_method(const struct study *st, const char *name, struct sums *s)
{
    qsort(s->times, (size_t)s->n_times, sizeof *s->times, rb_order_doubles);
    printf("| %s |", name);
    for (int b = 0; b < N_BUDGETS; b++) {
        double mean = 0, var = 0;
        for (int i = 0; i < st->n_seeds; i++)
            mean += s->by_seed[i][b] / st->n_seeds;
        for (int i = 0; i < st->n_seeds; i++)
            var += pow(s->by_seed[i][b] - mean, 2);
        printf(" %.3f ± %.3f |", mean, st->n_seeds > 1 ? sqrt(var / (st->n_seeds - 1) / st->n_seeds) : 0);
    }
    printf(" %.2f | %.2f |\n", 1e3 * s->times[s->n_times / 2], 1e3 * s->times[s->n_times * 99 / 100]);
    if (getenv("BY_TASK"))
        for (int t = 0; t < st->n_tables; t++)
            printf("  %s %.4f %.4f %.4f\n", st->names[t], s->by_task[t][0], s->by_task[t][1], s->by_task[t][2]);
    fflush(stdout);
}

static void run_method(const struct study *st, const char *method, struct rb_arena *arena)
{
    struct rb_setting options[MAX_OPTIONS];
    struct game g = {.workers = st->workers,
                     .ahead = st->ahead,
                     .in_seconds = st->in_seconds,
                     .budgets = {st->budget / 4, st->budget / 2, st->budget}};
    struct sums *s = rb_xcalloc(1, sizeof *s);
    struct rb_err err;
    read_method(method, &g, options, arena);
    g.num_trials = strcmp(g.scheduler, "sha") == 0 ? 27 : 1000;
    for (int i = 0; i < st->n_seeds; i++)
        for (int t = 0; t < st->n_tables; t++) {
            struct outcome o;
            if (!play(&g, &st->tables[t], (uint64_t)(st->first_seed + i), &o, &err))
                die(&err);
            for (int b = 0; b < N_BUDGETS; b++) {
                s->by_seed[i][b] += o.regret[b] / st->n_tables;
                s->by_task[t][b] += o.regret[b] / st->n_seeds;
            }
            add_times(s, &o);
        }
    print_method(st, method, s);
    free(s->times);
    free(s);
}

int main(int argc, char **argv)
{
    static struct study st = {.n_seeds = 10, .first_seed = 1, .workers = 1, .budget = 2000};
    struct rb_err err;
    int first_method = 2;
    if (argc < 3) {
        fprintf(stderr, "usage: search_study FOLDER [seeds=N] [first=N] [tasks=A,B] [workers=N] [in=units|seconds] "
                        "SCHEDULER:SAMPLER...\n");
        return 2;
    }
    rb_arena_init(&st.arena);
    st.folder = argv[1];
    while (first_method < argc && read_option(&st, argv[first_method]))
        first_method++;
    if (st.n_tables == 0)
        list_folder(&st);
    for (int i = 0; i < st.n_tables; i++)
        if (!rb_blackbox_read(rb_arena_printf(&st.arena, "%s/%s.csv.gz", st.folder, st.names[i]), &st.arena, &st.tables[i], &err))
            die(&err);
    printf("%d tables, seeds %d to %d, %d workers, budgets in %s\n\n", st.n_tables, st.first_seed,
           st.first_seed + st.n_seeds - 1, st.workers, st.in_seconds ? "mean unit seconds" : "units");
    printf("| method | %g | %g | %g | ms a suggestion | p99 |\n|---|---|---|---|---|---|\n", st.budget / 4,
           st.budget / 2, st.budget);
    for (int i = first_method; i < argc; i++)
        run_method(&st, argv[i], &st.arena);
    for (int i = 0; i < st.n_tables; i++)
        rb_blackbox_finish(&st.tables[i]);
    rb_arena_finish(&st.arena);
    return 0;
}
