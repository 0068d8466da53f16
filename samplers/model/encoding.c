#include "samplers/model/encoding.h"

#include <math.h>

int rb_encoding_width(const struct rb_coordinates *c, int coordinate)
{
    const struct rb_coordinate *k = &c->items[coordinate];
    return k->is_choice && k->n_cells <= RB_ENCODING_CATEGORIES ? k->n_cells : 1;
}

int rb_encoding_count(const struct rb_coordinates *c)
{
    int n = 0;
    for (int i = 0; i < c->n; i++)
        n += rb_encoding_width(c, i);
    return n;
}

void rb_encoding_of(const struct rb_coordinates *c, const double *u, double *out)
{
    for (int i = 0; i < c->n; i++) {
        const int width = rb_encoding_width(c, i);
        if (width == 1 && !c->items[i].is_choice) {
            *out++ = isnan(u[i]) ? 0.5 : u[i];
            continue;
        }
        const int cell = isnan(u[i]) ? -1 : rb_coordinates_cell(c, i, u[i]);
        for (int j = 0; j < width; j++)
            *out++ = width == 1 ? (cell < 0 ? 0.5 : u[i]) : j == cell ? M_SQRT1_2 : 0;
    }
}
