// Built without Qhull: interpolation between the measured placements uses the grids of the folder.
#include "simulator/cluster/apps_between.h"

#include <stdlib.h>

bool rb_app_between_available(void)
{
    return false;
}

bool rb_app_between_init(struct rb_arena *arena, const struct rb_app_point *points, int n,
                         const struct rb_app_between **out, struct rb_err *err)
{
    (void)arena;
    (void)points;
    (void)n;
    (void)out;
    return rb_err_set(err, RB_E_WITHOUT_QHULL, "this program was built without Qhull");
}

bool rb_app_between_step(const struct rb_app_between *b, int nodes, int gpus, int local_batch, struct rb_app_step *out)
{
    (void)b;
    (void)nodes;
    (void)gpus;
    (void)local_batch;
    (void)out;
    abort(); // none can exist
}
