// A configuration as numbers that models regress on: u itself, 1/2 where a parameter does not apply, a choice as one
// feature a category, 1/sqrt(2) for the one that is taken, so that two categories are 1 apart.
#ifndef RB_SAMPLERS_ENCODING_H
#define RB_SAMPLERS_ENCODING_H

#include "base/limits.h"
#include "samplers/coordinates.h"

// A choice of more categories than this has its u as its only feature: people order long lists.
#define RB_ENCODING_CATEGORIES 16
#define RB_ENCODING_MAX        (RB_ENCODING_CATEGORIES * RB_LIMIT_PARAMETERS)

int rb_encoding_count(const struct rb_coordinates *c);
int rb_encoding_width(const struct rb_coordinates *c, int coordinate); // features of one coordinate
void rb_encoding_of(const struct rb_coordinates *c, const double *u, double *out);

#endif
