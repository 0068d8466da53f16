#include "simulator/cluster/apps_between.h"

#include "base/text/buf.h"

#include <float.h>
#include <libqhull_r/libqhull_r.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DIM     3
#define CORNERS (DIM + 1)
#define EPS     (100 * DBL_EPSILON)  // of a barycentric coordinate: on the face
#define FLAT    (1000 * DBL_EPSILON) // reciprocal condition number below which a simplex counts as flat

struct simplex {
    int corners[CORNERS];
    int neighbours[CORNERS];  // opposite of each corner, -1: none
    double plane[DIM + 2];    // of the lifted facet: normal, offset
    double inverse[DIM][DIM]; // point minus the last corner -> barycentric coordinates
    bool flat;
};

struct rb_app_between {
    double (*points)[DIM];
    struct rb_app_step *steps; // at each point
    int n_points;
    struct simplex *simplices;
    int n_simplices;
    double low[DIM], high[DIM];
    double lift_scale, lift_shift; // of the paraboloid
};

bool rb_app_between_available(void)
{
    return true;
}

// ---- triangulation

// Collects Qhull's messages until it is known whether there was an error.
struct messages {
    char *text;
    size_t len;
    FILE *file;
};

static void finish_messages(struct messages *m)
{
    if (m->file)
        fclose(m->file);
    free(m->text);
}

static bool refused(const struct messages *m, struct rb_err *err)
{
    fflush(m->file);
    const size_t line = strcspn(m->text, "\n");
    return rb_err_set(err, RB_E_APPS, "the measured placements span no space to interpolate in (%.*s)",
                      line < 120 ? (int)line : 120, m->text);
}

// Numbers the lower facets; the upper ones are not part of the triangulation.
static int number_facets(qhT *qh)
{
    int n = 0;
    facetT *facet;
    FORALLfacets facet->visitid = facet->upperdelaunay ? 0 : (unsigned)++n;
    return n;
}

static void copy_facet(qhT *qh, const facetT *facet, struct simplex *s)
{
    for (int i = 0; i < CORNERS; i++) {
        const vertexT *vertex = facet->vertices->e[i].p;
        const facetT *neighbour = facet->neighbors->e[i].p;
        s->corners[i] = qh_pointid(qh, vertex->point);
        s->neighbours[i] = (int)neighbour->visitid - 1;
    }
    memcpy(s->plane, facet->normal, CORNERS * sizeof *s->plane);
    s->plane[CORNERS] = facet->offset;
}

static void copy_facets(qhT *qh, struct rb_arena *arena, struct rb_app_between *b)
{
    b->n_simplices = number_facets(qh);
    b->simplices = rb_arena_array(arena, (size_t)b->n_simplices, sizeof *b->simplices);
    facetT *facet;
    FORALLfacets
    {
        if (facet->visitid > 0)
            copy_facet(qh, facet, &b->simplices[facet->visitid - 1]);
    }
    b->lift_scale = qh->last_newhigh / (qh->last_high - qh->last_low);
    b->lift_shift = -qh->last_low * b->lift_scale;
}

static bool triangulate(struct rb_arena *arena, struct rb_app_between *b, struct rb_err *err)
{
    char options[] = "qhull d Qbb Qc Qz Q12 Qt";
    RB_AUTO(finish_messages) struct messages m = {0};
    m.file = open_memstream(&m.text, &m.len);
    if (!m.file)
        abort();
    qhT qh;
    qh_zero(&qh, m.file);
    const int code = qh_new_qhull(&qh, DIM, b->n_points, b->points[0], False, options, NULL, m.file);
    const bool ok = code == 0 || refused(&m, err);
    if (ok)
        copy_facets(&qh, arena, b);
    int left, left_bytes;
    qh_freeqhull(&qh, !qh_ALL);
    qh_memfreeshort(&qh, &left, &left_bytes);
    return ok;
}

// ---- coordinates

static double norm(double (*m)[DIM])
{
    double most = 0;
    for (int c = 0; c < DIM; c++)
        most = fmax(most, fabs(m[0][c]) + fabs(m[1][c]) + fabs(m[2][c]));
    return most;
}

// Columns of the matrix are the corners relative to the last one.
static void invert(const struct rb_app_between *b, struct simplex *s)
{
    const double *last = b->points[s->corners[DIM]];
    double m[DIM][DIM];
    for (int r = 0; r < DIM; r++) {
        for (int c = 0; c < DIM; c++)
            m[r][c] = b->points[s->corners[c]][r] - last[r];
    }
    for (int r = 0; r < DIM; r++) {
        const int r1 = (r + 1) % DIM, r2 = (r + 2) % DIM;
        for (int c = 0; c < DIM; c++) {
            const int c1 = (c + 1) % DIM, c2 = (c + 2) % DIM;
            s->inverse[c][r] = m[r1][c1] * m[r2][c2] - m[r1][c2] * m[r2][c1];
        }
    }
    const double determinant = m[0][0] * s->inverse[0][0] + m[0][1] * s->inverse[1][0] + m[0][2] * s->inverse[2][0];
    for (int r = 0; r < DIM; r++) {
        for (int c = 0; c < DIM; c++)
            s->inverse[r][c] /= determinant;
    }
    s->flat = !(1 / (norm(m) * norm(s->inverse)) >= FLAT); // NaN: flat
}

static double coordinate(const struct rb_app_between *b, const struct simplex *s, const double *x, double *c, int i)
{
    const double *last = b->points[s->corners[DIM]];
    c[i] = i < DIM ? s->inverse[i][0] * (x[0] - last[0]) + s->inverse[i][1] * (x[1] - last[1]) +
                         s->inverse[i][2] * (x[2] - last[2])
                   : 1 - c[0] - c[1] - c[2];
    return c[i];
}

bool rb_app_between_init(struct rb_arena *arena, const struct rb_app_point *points, int n,
                         const struct rb_app_between **out, struct rb_err *err)
{
    struct rb_app_between *b = rb_arena_alloc(arena, sizeof *b);
    b->n_points = n;
    b->points = rb_arena_array(arena, (size_t)n, sizeof *b->points);
    b->steps = rb_arena_array(arena, (size_t)n, sizeof *b->steps);
    for (int d = 0; d < DIM; d++) {
        b->low[d] = INFINITY;
        b->high[d] = -INFINITY;
    }
    for (int i = 0; i < n; i++) {
        const double x[DIM] = {points[i].nodes, points[i].gpus, points[i].local_batch};
        memcpy(b->points[i], x, sizeof x);
        b->steps[i] = points[i].step;
        for (int d = 0; d < DIM; d++) {
            b->low[d] = fmin(b->low[d], x[d]);
            b->high[d] = fmax(b->high[d], x[d]);
        }
    }
    if (n <= CORNERS || !triangulate(arena, b, err))
        return n > CORNERS
                   ? false
                   : rb_err_set(err, RB_E_APPS, "expected more than %d measured placements, got %d", CORNERS, n);
    for (int i = 0; i < b->n_simplices; i++)
        invert(b, &b->simplices[i]);
    *out = b;
    return true;
}

// ---- the walk

static double distance(const struct simplex *s, const double *lifted)
{
    double d = s->plane[CORNERS];
    for (int i = 0; i < CORNERS; i++)
        d += s->plane[i] * lifted[i];
    return d;
}

// Moves uphill over the planes of the lifted facets, to one near the point.
static int climb(const struct rb_app_between *b, const double *x)
{
    const double square = x[0] * x[0] + x[1] * x[1] + x[2] * x[2];
    const double lifted[CORNERS] = {x[0], x[1], x[2], square * b->lift_scale + b->lift_shift};
    int at = 0;
    double best = distance(&b->simplices[at], lifted);
    for (bool changed = true; changed && !(best > 0);) {
        changed = false;
        for (int k = 0; k < CORNERS; k++) { // continues with the next k of the current simplex
            const int next = b->simplices[at].neighbours[k];
            const double d = next < 0 ? -INFINITY : distance(&b->simplices[next], lifted);
            if (d > best + EPS * (1 + fabs(best))) {
                at = next;
                best = d;
                changed = true;
            }
        }
    }
    return at;
}

static bool is_inside(const struct rb_app_between *b, const struct simplex *s, const double *x, double *c)
{
    for (int k = 0; k < CORNERS; k++) {
        const double at = coordinate(b, s, x, c, k);
        if (!(at >= -EPS && at <= 1 + EPS))
            return false;
    }
    return true;
}

// A flat simplex has no interior; a point near it is assigned to a neighbour that almost contains it.
static int take_from_flat(const struct rb_app_between *b, int flat, const double *x, double *c)
{
    const double leeway = sqrt(DBL_EPSILON);
    for (int k = 0; k < CORNERS; k++) {
        const int next = b->simplices[flat].neighbours[k];
        if (next < 0 || b->simplices[next].flat)
            continue;
        const struct simplex *s = &b->simplices[next];
        bool inside = true;
        for (int i = 0; i < CORNERS; i++)
            coordinate(b, s, x, c, i);
        for (int i = 0; i < CORNERS; i++)
            inside = inside && c[i] >= (s->neighbours[i] == flat ? -leeway : -EPS) && c[i] <= 1 + EPS;
        if (inside)
            return next;
    }
    return -1;
}

static int find_anywhere(const struct rb_app_between *b, const double *x, double *c)
{
    for (int i = 0; i < b->n_simplices; i++) {
        if (!b->simplices[i].flat && is_inside(b, &b->simplices[i], x, c))
            return i;
        const int next = b->simplices[i].flat ? take_from_flat(b, i, x, c) : -1;
        if (next >= 0)
            return next;
    }
    return -1;
}

// Moves from simplex to simplex through the face that the point is beyond. -1: outside all.
static int find(const struct rb_app_between *b, const double *x, double *c)
{
    int at = climb(b, x);
    for (int hops = 0; hops <= b->n_simplices / 4; hops++) {
        const struct simplex *s = &b->simplices[at];
        int beyond = -1;
        bool inside = !s->flat;
        for (int k = 0; !s->flat && k < CORNERS && beyond < 0; k++) {
            beyond = coordinate(b, s, x, c, k) < -EPS ? k : -1;
            inside = inside && c[k] <= 1 + EPS;
        }
        if (beyond < 0)
            return inside ? at : find_anywhere(b, x, c);
        at = s->neighbours[beyond];
        if (at < 0)
            return -1;
    }
    return find_anywhere(b, x, c);
}

bool rb_app_between_step(const struct rb_app_between *b, int nodes, int gpus, int local_batch, struct rb_app_step *out)
{
    const double x[DIM] = {nodes, gpus, local_batch};
    double c[CORNERS];
    for (int d = 0; d < DIM; d++) {
        if (x[d] < b->low[d] || x[d] > b->high[d])
            return false;
    }
    const int at = find(b, x, c);
    if (at < 0)
        return false;
    *out = (struct rb_app_step){0};
    for (int k = 0; k < CORNERS; k++) {
        const struct rb_app_step corner = b->steps[b->simplices[at].corners[k]];
        out->step_s += c[k] * corner.step_s;
        out->sync_s += c[k] * corner.sync_s;
    }
    return true;
}
