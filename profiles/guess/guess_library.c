#include "profiles/guess/guess_library.h"

#include "base/document/csv.h"
#include "base/text/closest.h"
#include "profiles/guess_models.h"

#include <string.h>

#define MOST_GPUS 8

enum column {
    MODEL,
    KIND,
    OF,
    GPU,
    GPUS,
    PER_SECOND,
    LOG_SD,
    HOW,
    LEAST_GPUS,
    LEAST_GB,
    SCALING,
    SOURCE,
    DATE,
    N_COLUMNS
};
static const char *const column_names[N_COLUMNS] = {"model",      "kind",   "of",  "gpu",        "gpus",
                                                    "per_second", "log_sd", "how", "least_gpus", "least_gpu_gb",
                                                    "scaling",    "source", "date"};

struct reader {
    const struct rb_csv *csv;
    int columns[N_COLUMNS];
    struct rb_arena *arena;
    struct rb_err *err;
};

static const char *text(const struct reader *r, int row, enum column c)
{
    return rb_arena_strdup(r->arena, r->csv->cells[row][r->columns[c]]);
}

static bool read_figure(const struct reader *r, int row, struct rb_library_figure *f)
{
    int64_t gpus;
    if (!rb_csv_int(r->csv, row, r->columns[GPUS], 1, MOST_GPUS, &gpus, r->err) ||
        !rb_csv_double(r->csv, row, r->columns[PER_SECOND], 1e-6, 1e12, &f->per_second, r->err) ||
        !rb_csv_double(r->csv, row, r->columns[LOG_SD], 0.01, 2, &f->log_sd, r->err))
        return false;
    f->gpu = text(r, row, GPU);
    f->gpus = (int)gpus;
    f->how = text(r, row, HOW);
    f->source = text(r, row, SOURCE);
    f->date = text(r, row, DATE);
    return true;
}

static bool read_model(const struct reader *r, int row, struct rb_library_model *m)
{
    int64_t least;
    m->name = text(r, row, MODEL);
    m->of = text(r, row, OF);
    if (!rb_guess_kind_parse(text(r, row, KIND), &m->kind))
        return rb_csv_error(r->csv, row, r->columns[KIND], r->err, "expected cnn, transformer or llm");
    if (!rb_csv_int(r->csv, row, r->columns[LEAST_GPUS], 1, MOST_GPUS, &least, r->err) ||
        !rb_csv_double(r->csv, row, r->columns[LEAST_GB], 0, 1e4, &m->least_gpu_gb, r->err) ||
        !rb_csv_double(r->csv, row, r->columns[SCALING], 0, MOST_GPUS, &m->scaling, r->err))
        return false;
    m->least_gpus = (int)least;
    return true;
}

static bool read_rows(const struct reader *r, struct rb_library_model *models, int *out_n)
{
    struct rb_library_figure *figures = rb_arena_array(r->arena, (size_t)r->csv->n_rows, sizeof *figures);
    int n = 0;
    for (int row = 0; row < r->csv->n_rows; row++) {
        if (n == 0 || strcmp(models[n - 1].name, r->csv->cells[row][r->columns[MODEL]]) != 0) {
            models[n].figures = &figures[row];
            if (!read_model(r, row, &models[n++]))
                return false;
        }
        if (!read_figure(r, row, &figures[row]))
            return false;
        models[n - 1].n_figures++;
    }
    *out_n = n;
    return true;
}

bool rb_library_read(struct rb_arena *arena, const struct rb_library_model **out, int *out_n, struct rb_err *err)
{
    static const bool required[N_COLUMNS] = {true, true, true, true, true, true, true,
                                             true, true, true, true, true, true};
    RB_AUTO(rb_csv_finish) struct rb_csv csv = {0};
    struct reader r = {.csv = &csv, .arena = arena, .err = err};
    if (!rb_csv_parse(&csv, "models.csv", (const char *)guess_models, guess_models_len, err) ||
        !rb_csv_check_columns(&csv, column_names, required, N_COLUMNS, err))
        return false;
    for (int c = 0; c < N_COLUMNS; c++)
        r.columns[c] = rb_csv_column(&csv, column_names[c]);
    struct rb_library_model *models = rb_arena_array(arena, (size_t)csv.n_rows + 1, sizeof *models);
    memset(models, 0, ((size_t)csv.n_rows + 1) * sizeof *models);
    *out = models;
    return read_rows(&r, models, out_n);
}

bool rb_library_find(const struct rb_node *name, struct rb_arena *arena, const struct rb_library_model **out,
                     struct rb_err *err)
{
    const struct rb_library_model *models;
    const char *wanted, *known = "";
    int n;
    if (!rb_node_string(name, &wanted, err) || !rb_library_read(arena, &models, &n, err))
        return false;
    for (int i = 0; i < n; i++) {
        if (strcmp(models[i].name, wanted) == 0) {
            *out = &models[i];
            return true;
        }
        known = rb_arena_printf(arena, "%s%s%s", known, *known ? ", " : "", models[i].name);
    }
    return rb_node_refuse(name, err, RB_E_CHOICE, "expected one of %s; got \"%.40s\"", known, wanted);
}
