#include "samplers/linear.h"

#include "base/arena.h"

#include <assert.h>
#include <math.h>
#include <stdlib.h>

void rb_factor_init(struct rb_factor *f, int cap)
{
    *f = (struct rb_factor){.cap = cap, .l = rb_xcalloc((size_t)cap * (size_t)cap + 1, sizeof *f->l)};
}

void rb_factor_finish(struct rb_factor *f)
{
    free(f->l);
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
        for (int j = 0; j < n; j++)
            column_of(f, j)[n] = row[j];
        column_of(f, n)[n] = sqrt(pivot);
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

static void subtract_row(double *restrict b, const double *restrict x, double factor, int m)
{
    for (int c = 0; c < m; c++)
        b[c] -= factor * x[c];
}

void rb_factor_solve_lower_many(const struct rb_factor *f, double *b, int m)
{
    for (int j = 0; j < f->n; j++) {
        const double *column = column_of(f, j);
        double *x = b + (size_t)j * (size_t)m;
        for (int c = 0; c < m; c++)
            x[c] /= column[j];
        for (int i = j + 1; i < f->n; i++)
            subtract_row(b + (size_t)i * (size_t)m, x, column[i], m);
    }
}

double rb_factor_log_det(const struct rb_factor *f)
{
    double sum = 0;
    for (int j = 0; j < f->n; j++)
        sum += log(column_of(f, j)[j]);
    return 2 * sum;
}
