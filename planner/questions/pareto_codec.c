// rb-pareto/1, docs/formats/json.md.
#include "planner/questions/pareto.h"

static void write_change(struct rb_json *j, const struct rb_marginal *m, const char *key, int64_t step_us,
                         int64_t change_uusd)
{
    rb_json_key(j, key);
    rb_json_begin_object(j);
    rb_json_kint(j, "deadline_us", m->deadline_us + step_us);
    rb_json_kint(j, "cost_uusd", change_uusd);
    rb_json_kint(j, "uusd_per_minute", rb_marginal_per_minute(m, change_uusd));
    rb_json_end_object(j);
}

static void write_marginal(struct rb_json *j, const struct rb_marginal *m)
{
    rb_json_key(j, "marginal");
    if (!m->exists) {
        rb_json_null(j);
        return;
    }
    rb_json_begin_object(j);
    rb_json_kint(j, "deadline_us", m->deadline_us);
    write_change(j, m, "more", m->step_us, m->more_uusd);
    if (m->has_less) {
        write_change(j, m, "less", -m->step_us, m->less_uusd);
    } else {
        rb_json_key(j, "less");
        rb_json_null(j);
    }
    rb_json_end_object(j);
}

// Only where it is known.
static void write_beside(struct rb_json *j, const struct rb_pareto *pareto)
{
    if (pareto->spot == RB_PARETO_ALONE)
        return;
    rb_json_key(j, pareto->spot == RB_PARETO_WITH_SPOT ? "with_spot" : "without_spot");
    rb_json_begin_array(j);
    for (int i = 0; i < pareto->n_beside; i++) {
        rb_json_begin_object(j);
        rb_json_kint(j, "deadline_us", pareto->beside[i].deadline_us);
        rb_json_key(j, "estimate");
        rb_estimate_write(&pareto->beside[i].estimate, j);
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
}

void rb_pareto_write(const struct rb_pareto *pareto, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "format", "rb-pareto/1");
    rb_json_kdouble(j, "confidence", pareto->confidence);
    rb_json_key(j, "points");
    rb_json_begin_array(j);
    for (int i = 0; i < pareto->n_points; i++) {
        const struct rb_pareto_point *p = &pareto->points[i];
        rb_json_begin_object(j);
        rb_json_kint(j, "deadline_us", p->deadline_us);
        rb_json_kstring(j, "planner", p->planner);
        rb_json_key(j, "estimate");
        rb_estimate_write(&p->estimate, j);
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
    write_beside(j, pareto);
    write_marginal(j, &pareto->marginal);
    rb_json_end_object(j);
}
