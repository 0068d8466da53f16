// Linear algebra of symmetric positive definite matrices: a Cholesky factor that grows row by row, and solves. Every
// sum is formed in one order, so a factor that was extended equals one that was computed at once, to the bit.
#ifndef RB_SAMPLERS_LINEAR_H
#define RB_SAMPLERS_LINEAR_H

#include <stdbool.h>

struct rb_factor {
    int n, cap;
    double *l;                  // lower triangle by columns: L(i,j) = l[j * cap + i]
    double *rows;               // the same by rows: rows[i * cap + j]
};

void rb_factor_init(struct rb_factor *f, int cap);
void rb_factor_finish(struct rb_factor *f);
void rb_factor_truncate(struct rb_factor *f, int n); // drops the last rows
// Appends the row k [n] with the diagonal element. false: the matrix is not positive definite; nothing is appended.
bool rb_factor_append(struct rb_factor *f, const double *k, double diagonal);
void rb_factor_solve_lower(const struct rb_factor *f, double *b);  // L x = b, in place
void rb_factor_solve_upper(const struct rb_factor *f, double *b);  // L' x = b
// L X = B, b [n][m] by rows, m a multiple of RB_FACTOR_LANES.
#define RB_FACTOR_LANES 8
void rb_factor_solve_lower_many(const struct rb_factor *f, double *b, int m);
double rb_factor_log_det(const struct rb_factor *f);               // of the matrix, not of L

#endif
