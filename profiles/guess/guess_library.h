// What is known of well-known models: profiles/library/models.csv, built into the programs.
#ifndef RB_PROFILES_GUESS_LIBRARY_H
#define RB_PROFILES_GUESS_LIBRARY_H

#include "profiles/guess/guess.h"

// One row: a model on one kind of GPU. Columns: profiles/library/README.md.
struct rb_library_figure {
    const char *gpu;
    int gpus;
    double per_second, log_sd; // samples a second of all `gpus` together
    const char *how, *source, *date;
};

struct rb_library_model {
    const char *name, *of;
    enum rb_guess_kind kind;
    const struct rb_library_figure *figures; // [n_figures], at least one
    int n_figures;
    int least_gpus;
    double least_gpu_gb;
    double scaling; // 0: the prior
};

// All rows, in the order of the file. An error is one of the file itself.
bool rb_library_read(struct rb_arena *arena, const struct rb_library_model **out, int *out_n, struct rb_err *err);
// Error at the node: there is no such model, with the names that there are.
bool rb_library_find(const struct rb_node *name, struct rb_arena *arena, const struct rb_library_model **out,
                     struct rb_err *err);

#endif
