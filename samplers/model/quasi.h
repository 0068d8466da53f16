// Points that fill the cube evenly: Sobol's sequence up to 40 dimensions, Halton's above, moved by a shift that the
// seed keys. The shift of Sobol's is digital (it keeps the sequence's property), that of Halton's a rotation.
#ifndef RB_SAMPLERS_QUASI_H
#define RB_SAMPLERS_QUASI_H

#include <stdint.h>

struct rb_quasi;

struct rb_quasi *rb_quasi_new(int n_dims, uint64_t seed);
void rb_quasi_free(struct rb_quasi *q);
void rb_quasi_point(struct rb_quasi *q, uint32_t index, double *out); // [n_dims], each in (0,1)

#endif
