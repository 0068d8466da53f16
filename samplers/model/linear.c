#include "samplers/model/linear.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

void rb_factor_init(struct rb_factor *f, int cap)
{
    *f = (struct rb_factor){.cap = cap};
    f->l = rb_xcalloc((size_t)cap * (size_t)cap + 1, sizeof *f->l);
    f->rows = rb_xcalloc((size_t)cap * (size_t)cap + 1, sizeof *f->rows);
}

void rb_factor_finish(struct rb_factor *f)
{
    free(f->l);
    free(f->rows);
    *f = (struct rb_factor){0};
}

void rb_factor_truncate(struct rb_factor *f, int n)
{
    assert(n <= f->n);
    f->n = n;
}

static double *column_of(const struct rb_factor *f, int j)
{
    return f->l + (size_t)j * (size_t)f->cap;
}

bool rb_factor_append(struct rb_factor *f, const double *k, double diagonal)
{
    assert(f->n < f->cap);
    const int n = f->n;
    double *row = rb_xcalloc((size_t)n + 1, sizeof *row), pivot = diagonal;
    for (int j = 0; j < n; j++)
        row[j] = k[j];
    rb_factor_solve_lower(f, row);
    for (int j = 0; j < n; j++)
        pivot -= row[j] * row[j];
    const bool positive = pivot > 1e-12 * diagonal;
    if (positive) {
        row[n] = sqrt(pivot);
        for (int j = 0; j <= n; j++)
            column_of(f, j)[n] = f->rows[(size_t)n * (size_t)f->cap + (size_t)j] = row[j];
        f->n++;
    }
    free(row);
    return positive;
}

// By columns: the inner loops are independent sums, which compilers vectorise without changing a bit.
void rb_factor_solve_lower(const struct rb_factor *f, double *b)
{
    for (int j = 0; j < f->n; j++) {
        const double *column = column_of(f, j), x = b[j] / column[j];
        b[j] = x;
        for (int i = j + 1; i < f->n; i++)
            b[i] -= column[i] * x;
    }
}

void rb_factor_solve_upper(const struct rb_factor *f, double *b)
{
    for (int j = f->n - 1; j >= 0; j--) {
        const double *column = column_of(f, j);
        double x = b[j];
        for (int i = j + 1; i < f->n; i++)
            x -= column[i] * b[i];
        b[j] = x / column[j];
    }
}

// Two numbers that one instruction works on, of any memory.
typedef double pair __attribute__((vector_size(16), aligned(8), may_alias));

// By rows, for eight right-hand sides at a time, whose sums stay in registers.
static void solve_lower_lanes(const struct rb_factor *f, double *b, int m)
{
    for (int i = 0; i < f->n; i++) {
        const double *row = f->rows + (size_t)i * (size_t)f->cap;
        pair *out = (pair *)(b + (size_t)i * (size_t)m);
        pair x0 = out[0], x1 = out[1], x2 = out[2], x3 = out[3];
        for (int j = 0; j < i; j++) {
            const pair *solved = (const pair *)(b + (size_t)j * (size_t)m);
            x0 -= row[j] * solved[0];
            x1 -= row[j] * solved[1];
            x2 -= row[j] * solved[2];
            x3 -= row[j] * solved[3];
        }
        out[0] = x0 / row[i];
        out[1] = x1 / row[i];
        out[2] = x2 / row[i];
        out[3] = x3 / row[i];
    }
}

void rb_factor_solve_lower_many(const struct rb_factor *f, double *b, int m)
{
    assert(m % RB_FACTOR_LANES == 0);
    for (int c = 0; c < m; c += RB_FACTOR_LANES)
        solve_lower_lanes(f, b + c, m);
}

double rb_factor_log_det(const struct rb_factor *f)
{
    double sum = 0;
    for (int j = 0; j < f->n; j++)
        sum += log(column_of(f, j)[j]);
    return 2 * sum;
}
