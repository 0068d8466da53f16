// A part of rb-plan-page/1, docs/formats/page.md.
#include "simulator/world/timeline.h"

static void write_quantiles(const char *key, const struct rb_timeline_stage *t, const struct rb_quantiles *q,
                            struct rb_json *j)
{
    rb_json_key(j, key);
    if (t->n_runs > 0)
        rb_quantiles_write(q, j);
    else
        rb_json_null(j);
}

static void write_stage(const struct rb_timeline_stage *t, int stage, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kint(j, "stage", stage);
    rb_json_kint(j, "runs", t->n_runs);
    write_quantiles("begin_us", t, &t->begin_us, j);
    write_quantiles("provisioned_us", t, &t->provisioned_us, j);
    write_quantiles("end_us", t, &t->end_us, j);
    rb_json_key(j, "cost_uusd");
    rb_bill_parts_write(&t->cost, j);
    rb_json_end_object(j);
}

static void write_instant(const struct rb_timeline_instant *i, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kint(j, "at_us", i->at_us);
    rb_json_key(j, "nodes");
    rb_json_begin_object(j);
    rb_json_kdouble(j, "mean", i->nodes);
    rb_json_kint(j, "p5", i->nodes_p5);
    rb_json_kint(j, "p95", i->nodes_p95);
    rb_json_end_object(j);
    rb_json_kdouble(j, "gpus", i->gpus);
    rb_json_kdouble(j, "training_gpus", i->training_gpus);
    rb_json_end_object(j);
}

void rb_timeline_write(const struct rb_timeline *t, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kint(j, "runs", t->n_runs);
    rb_json_key(j, "stages");
    rb_json_begin_array(j);
    for (int i = 0; i < t->n_stages; i++)
        write_stage(&t->stages[i], i, j);
    rb_json_end_array(j);
    rb_json_key(j, "instants");
    rb_json_begin_array(j);
    for (int i = 0; i < RB_TIMELINE_INSTANTS; i++)
        write_instant(&t->instants[i], j);
    rb_json_end_array(j);
    rb_json_end_object(j);
}
