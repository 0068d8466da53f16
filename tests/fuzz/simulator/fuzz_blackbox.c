// Any bytes as a family's file and, after a line `%`, its table: refused with a reason, or a table in which every row can
// be found, once, and has a regret within 0..1.
#include "fuzz.h"
#include "require.h"

#include "simulator/blackbox/table.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void check_table(const struct rb_blackbox *t)
{
    bool *used = rb_xcalloc((size_t)t->n_rows, sizeof *used);
    require(t->n_rows >= 1 && isfinite(t->best) && isfinite(t->median));
    for (int i = 0; i < t->n_rows; i++) {
        const int row = rb_blackbox_nearest(t, t->u, used);
        require(row >= 0 && row < t->n_rows && !used[row] && (i > 0 || row == 0));
        used[row] = true;
        const double regret = rb_blackbox_regret(t, rb_blackbox_metric(t, row, 1));
        require(regret >= 0 && regret <= 1);
        require(!t->unit_s || t->unit_s[row] > 0);
    }
    require(rb_blackbox_nearest(t, t->u, used) == -1);
    free(used);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    static const char mark[] = "\n%\n";
    const char *text = (const char *)bytes, *cut = n > 0 ? memmem(text, n, mark, sizeof mark - 1) : NULL;
    if (!cut)
        return 0;
    const char *csv = cut + sizeof mark - 1;
    struct rb_arena arena = {0};
    struct rb_blackbox t = {0};
    struct rb_err err = {0};
    if (rb_blackbox_parse("f.yaml", text, (size_t)(cut - text), "f_1.csv", csv, n - (size_t)(csv - text), &arena, &t, &err))
        check_table(&t);
    else
        require(err.code == RB_ERR_INVALID && err.message[0]);
    rb_blackbox_finish(&t);
    rb_arena_finish(&arena);
    return 0;
}
