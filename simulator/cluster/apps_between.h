// Iteration times between the measured (nodes, GPUs, batch per GPU): the Delaunay triangulation of the measured points,
// linear inside each simplex. Measured points lie on a grid, so the triangulation is not unique and faces may overlap,
// and the result depends on the simplex chosen for a point on a face. Therefore Qhull's own triangulation is walked as
// SciPy's LinearNDInterpolator walks it, from the first simplex, point by point, as in the published simulator.
#ifndef RB_SIMULATOR_APPS_BETWEEN_H
#define RB_SIMULATOR_APPS_BETWEEN_H

#include "simulator/cluster/apps.h"

struct rb_app_point {
    int nodes, gpus, local_batch;
    struct rb_app_step step;
};

// False: this program was built without Qhull; no other function here may be called.
bool rb_app_between_available(void);

// Lives in `arena`. The order of the points affects the result. Errors: too few points to span a space.
bool rb_app_between_init(struct rb_arena *arena, const struct rb_app_point *points, int n,
                         const struct rb_app_between **out, struct rb_err *err);
// False: outside the measured range.
bool rb_app_between_step(const struct rb_app_between *b, int nodes, int gpus, int local_batch, struct rb_app_step *out);

#endif
