// A directory of its own for every test of the store, and samples to put into it.
#ifndef RB_TESTS_PROFILES_STORE_WORLD_H
#define RB_TESTS_PROFILES_STORE_WORLD_H

#include "base/text/buf.h"
#include "base/document/doc.h"
#include "profiles/store/store.h"
#include "tests/base/remove_tree.h"
#include "tests/profiles/measured.h"

#include <sys/stat.h>
#include <unistd.h>

struct world {
    char dir[64], db[96];
    struct rb_arena arena;
    struct rb_err err;
};

static inline int world_setup(void **state)
{
    struct world *w = rb_xcalloc(1, sizeof(*w));
    snprintf(w->dir, sizeof(w->dir), "/tmp/rb-store-test-XXXXXX");
    assert_non_null(mkdtemp(w->dir));
    snprintf(w->db, sizeof(w->db), "%s/p.db", w->dir);
    rb_arena_init(&w->arena);
    *state = w;
    return 0;
}

static inline int world_teardown(void **state)
{
    struct world *w = *state;
    remove_tree(w->dir);
    rb_arena_finish(&w->arena);
    free(w);
    return 0;
}

static inline struct rb_store *open_store(struct world *w, bool read_only)
{
    struct rb_store *s;
    assert_ok(rb_store_open(w->db, read_only, &s, &w->err), &w->err);
    return s;
}

static inline void write_text(const char *path, const char *text)
{
    struct rb_err err;
    assert_ok(rb_write_file(path, text, strlen(text), &err), &err);
}

// A run of `n` units of about `unit_s` seconds each.
static inline struct rb_run_sample make_run(int gpus, int nodes, const char *config, const double *unit_s, int n)
{
    return (struct rb_run_sample){.accelerator = "A10G", .infra = "mock/us-east-1", .instance_type = "g5.12xlarge",
                                  .gpus = gpus, .nodes = nodes, .config_json = config,
                                  .command = "python train.py", .commit = "abc123", .machine = "host",
                                  .measured_at_us = INT64_C(1785585600000000), .startup_s = 8, .checkpoint_s = 2,
                                  .unit_s = unit_s, .n_units = n};
}

#endif
