// rb-what-if/1 and rb-sensitivity/1, docs/formats/json.md.
#include "planner/questions/nearest.h"
#include "planner/questions/sensitivity.h"
#include "planner/questions/what_if.h"

static void write_nearest(const struct rb_what_if_row *row, struct rb_json *j)
{
    if (!row->feasible) {
        rb_nearest_write(&row->result, j);
        return;
    }
    rb_json_key(j, "nearest");
    rb_json_null(j);
}

static void write_estimate(const struct rb_what_if_row *row, const char *key, struct rb_json *j)
{
    rb_json_key(j, key);
    if (row->feasible)
        rb_estimate_write(&row->estimate, j);
    else
        rb_json_null(j);
}

static void write_changes(const struct rb_what_if *scenario, struct rb_json *j)
{
    rb_json_key(j, "changes");
    rb_json_begin_object(j);
    for (int i = 0; i < scenario->n_changes; i++)
        rb_json_kstring(j, scenario->changes[i].key, scenario->changes[i].value);
    rb_json_end_object(j);
}

static void write_difference(const struct rb_what_if_row *base, const struct rb_what_if_row *row, struct rb_json *j)
{
    rb_json_key(j, "difference");
    if (!base->feasible || !row->feasible) {
        rb_json_null(j);
        return;
    }
    rb_json_begin_object(j);
    rb_json_kint(j, "cost_uusd", row->estimate.cost_uusd.mean - base->estimate.cost_uusd.mean);
    rb_json_kint(j, "time_us", row->estimate.time_us.mean - base->estimate.time_us.mean);
    rb_json_end_object(j);
}

static void write_base(const struct rb_what_if_table *table, struct rb_json *j)
{
    write_estimate(&table->base, "base", j);
    write_nearest(&table->base, j);
}

static void write_scenario(const struct rb_what_if_table *table, int scenario, struct rb_json *j)
{
    const struct rb_what_if_row *row = &table->rows[scenario];
    rb_json_begin_object(j);
    write_changes(&table->scenarios[scenario], j);
    rb_json_kbool(j, "feasible", row->feasible);
    write_estimate(row, "estimate", j);
    write_difference(&table->base, row, j);
    write_nearest(row, j);
    rb_json_key(j, "warnings");
    rb_json_begin_array(j);
    for (int i = 0; i < row->n_warnings; i++)
        rb_json_string(j, row->warnings[i]);
    rb_json_end_array(j);
    rb_json_end_object(j);
}

void rb_what_if_write(const struct rb_what_if_table *table, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "format", "rb-what-if/1");
    write_base(table, j);
    rb_json_key(j, "scenarios");
    rb_json_begin_array(j);
    for (int i = 0; i < table->n; i++)
        write_scenario(table, i, j);
    rb_json_end_array(j);
    rb_json_end_object(j);
}

void rb_sensitivity_write(const struct rb_sensitivities *s, struct rb_json *j)
{
    rb_json_begin_object(j);
    rb_json_kstring(j, "format", "rb-sensitivity/1");
    write_base(&s->what_if, j);
    rb_json_key(j, "inputs");
    rb_json_begin_array(j);
    for (int i = 0; i < s->n; i++) {
        const struct rb_sensitivity *input = &s->inputs[i];
        rb_json_begin_object(j);
        rb_json_kstring(j, "input", input->input);
        rb_json_kint_or_null(j, "effect_uusd", input->has_effect ? input->effect_uusd : -1);
        rb_json_key(j, "scenarios");
        rb_json_begin_array(j);
        for (int k = input->first; k < input->first + input->n; k++)
            write_scenario(&s->what_if, k, j);
        rb_json_end_array(j);
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
    rb_json_end_object(j);
}
