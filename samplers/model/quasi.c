#include "samplers/model/quasi.h"

#include "base/arena.h"
#include "samplers/draws.h"

#include <gsl/gsl_qrng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SOBOL 40 // dimensions that GSL has
#define BITS       30 // of its Sobol points

struct rb_quasi {
    int n;
    uint64_t seed;
    gsl_qrng *sobol;  // NULL: Halton
    uint32_t at;      // index of the point in `point`
    double *point;    // [n]
    double *shift;    // [n] in (0,1)
    uint32_t *primes; // [n], for Halton
};

static void find_primes(uint32_t *primes, int n)
{
    int found = 0;
    for (uint32_t k = 2; found < n; k++) {
        int i = 0;
        while (i < found && k % primes[i] != 0)
            i++;
        if (i == found)
            primes[found++] = k;
    }
}

struct rb_quasi *rb_quasi_new(int n_dims, uint64_t seed)
{
    struct rb_quasi *q = rb_xcalloc(1, sizeof *q);
    q->n = n_dims;
    q->point = rb_xcalloc((size_t)n_dims + 1, sizeof *q->point);
    q->shift = rb_xcalloc((size_t)n_dims + 1, sizeof *q->shift);
    q->primes = rb_xcalloc((size_t)n_dims + 1, sizeof *q->primes);
    if (n_dims > 0 && n_dims <= MOST_SOBOL)
        q->sobol = gsl_qrng_alloc(gsl_qrng_sobol, (unsigned)n_dims);
    else
        find_primes(q->primes, n_dims);
    struct rb_stream s;
    rb_draws_init(&s, seed, RB_FOR_SHIFT, 0);
    for (int i = 0; i < n_dims; i++)
        q->shift[i] = rb_stream_uniform(&s);
    return q;
}

void rb_quasi_free(struct rb_quasi *q)
{
    if (!q)
        return;
    if (q->sobol)
        gsl_qrng_free(q->sobol);
    free(q->point);
    free(q->shift);
    free(q->primes);
    free(q);
}

// GSL leaves out the first point of the sequence, the origin; with it the first 2^k points are a net.
static void sobol_point(struct rb_quasi *q, uint32_t index, double *out)
{
    if (index < q->at) {
        gsl_qrng_init(q->sobol);
        memset(q->point, 0, (size_t)q->n * sizeof *q->point);
        q->at = 0;
    }
    for (; q->at < index; q->at++)
        gsl_qrng_get(q->sobol, q->point);
    for (int i = 0; i < q->n; i++) {
        const uint32_t digits = (uint32_t)ldexp(q->point[i], BITS) ^ (uint32_t)ldexp(q->shift[i], BITS);
        out[i] = ldexp(digits + 0.5, -BITS);
    }
}

static double radical_inverse(uint32_t index, uint32_t base)
{
    double inverse = 0, digit = 1.0 / base;
    for (; index > 0; index /= base, digit /= base)
        inverse += (index % base) * digit;
    return inverse;
}

void rb_quasi_point(struct rb_quasi *q, uint32_t index, double *out)
{
    if (q->sobol) {
        sobol_point(q, index, out);
        return;
    }
    for (int i = 0; i < q->n; i++) {
        const double u = radical_inverse(index, q->primes[i]) + q->shift[i];
        out[i] = u < 1 ? u : u - 1;
    }
}
