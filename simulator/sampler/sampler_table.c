#include "simulator/sampler/sampler_table.h"

#include <stdbool.h>
#include <stdint.h>

#define CELLS_PER_OCTAVE (1 << RB_TABLE_CELL_BITS)
#define N_CELLS          (31 * CELLS_PER_OCTAVE)

static double node_at(int cell)
{
    const int octave = cell / CELLS_PER_OCTAVE, within = cell % CELLS_PER_OCTAVE;
    return (double)(UINT32_C(1) << octave) * (1 + (double)within / CELLS_PER_OCTAVE);
}

static double quantile_at(rb_quantile_fn *quantile, const void *ctx, double y, bool upper)
{
    const double tail = y * 0x1p-32;
    return quantile(ctx, upper ? 1 - tail : tail);
}

static void fill_side(struct rb_table_cell *cells, rb_quantile_fn *quantile, const void *ctx, bool upper)
{
    double from = node_at(0), at_from = quantile_at(quantile, ctx, from, upper);
    for (int i = 0; i < N_CELLS; i++) {
        const double to = node_at(i + 1), at_to = quantile_at(quantile, ctx, to, upper);
        const double slope = (at_to - at_from) / (to - from);
        cells[i] = (struct rb_table_cell){(float)(at_from - slope * from), (float)slope};
        from = to;
        at_from = at_to;
    }
    for (int i = N_CELLS; i < RB_TABLE_SIDE; i++)
        cells[i] = cells[N_CELLS - 1];
}

void rb_sampler_table_fill(struct rb_sampler_table *table, rb_quantile_fn *quantile, const void *ctx)
{
    fill_side(table->cells, quantile, ctx, false);
    fill_side(table->cells + RB_TABLE_SIDE, quantile, ctx, true);
}
