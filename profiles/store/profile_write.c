// rb-profile/1 in its two forms: canonical JSON for programs and digests, YAML for people. Both read back
// equal.
#include "profiles/store/profile.h"

// --- JSON ---

static void write_layouts(const struct rb_training *t, struct rb_json *j)
{
    rb_json_karray(j, "layouts");
    for (int i = 0; i < t->n_layouts; i++)
        rb_json_put(j, "{gpus: %d nodes: %d speedup: %g}", t->layouts[i].gpus, t->layouts[i].nodes,
                    t->layouts[i].speedup);
    rb_json_end_array(j);
}

static void write_throughput(const struct rb_training *t, struct rb_json *j)
{
    rb_json_kobject(j, "throughput");
    rb_throughput_write(&t->throughput, j);
    rb_json_put(j, "batch: %g units_per_epoch: %g max_gpus: %d max_nodes: %d}", t->batch, t->units_per_epoch,
                t->max_gpus, t->max_nodes);
}

static void write_sharing(const struct rb_training *t, struct rb_json *j)
{
    rb_json_karray(j, "sharing");
    for (int i = 0; i < t->n_sharing; i++)
        rb_json_put(j, "{trials: %d slowdown: %g}", t->sharing[i].trials, t->sharing[i].slowdown);
    rb_json_end_array(j);
}

static void write_training(const struct rb_training *t, struct rb_json *j)
{
    rb_json_put(j, "{accelerator: %s|null base_s: %g", t->accelerator, t->base_s);
    if (t->relative_error > 0)
        rb_json_kdouble(j, "relative_error", t->relative_error);
    if (t->has_throughput)
        write_throughput(t, j);
    else
        write_layouts(t, j);
    if (t->n_sharing > 0)
        write_sharing(t, j);
    if (t->has_goodput) {
        rb_json_key(j, "goodput");
        rb_training_goodput_write(&t->goodput, j);
    }
    rb_json_end_object(j);
}

static void write_dist(struct rb_json *j, const char *key, const struct rb_dist *d)
{
    rb_json_key(j, key);
    rb_dist_write(d, j);
}

static void write_provisioning(const struct rb_provisioning *p, struct rb_json *j)
{
    rb_json_put(j, "{infra: %s instance_type: %s market: %s", p->infra, p->instance_type, p->market);
    write_dist(j, "queue_s", &p->queue_s);
    write_dist(j, "init_s", &p->init_s);
    rb_json_put(j, "capacity_failure: %g preemption_per_hour:", p->capacity_failure);
    if (p->has_preemption)
        rb_json_double(j, p->preemption_per_hour);
    else
        rb_json_null(j);
    rb_json_end_object(j);
}

static const char *source_or_null(const struct rb_profile *p)
{
    return p->source && *p->source ? p->source : NULL;
}

static void write_basis_list(const struct rb_profile *p, struct rb_json *j)
{
    rb_json_begin_array(j);
    for (int i = 0; i < p->n_basis; i++)
        rb_json_put(j, "{what: %s from: %s log_sd: %g}", p->basis[i].what, p->basis[i].from, p->basis[i].log_sd);
    rb_json_end_array(j);
}

void rb_profile_write(const struct rb_profile *p, struct rb_json *j)
{
    rb_json_put(j, "{format: 'rb-profile/1' name: %s|null unit: %s source: %s|null training: [", p->name, p->unit,
                source_or_null(p));
    for (int i = 0; i < p->n_training; i++)
        write_training(&p->training[i], j);
    rb_json_put(j, "] noise: {");
    write_dist(j, "between", &p->between);
    write_dist(j, "within", &p->within);
    rb_json_end_object(j);
    write_dist(j, "startup_s", &p->startup_s);
    write_dist(j, "checkpoint_s", &p->checkpoint_s);
    rb_json_karray(j, "provisioning");
    for (int i = 0; i < p->n_provisioning; i++)
        write_provisioning(&p->provisioning[i], j);
    rb_json_end_array(j);
    if (p->restarts)
        rb_json_kbool(j, "resumes", false);
    if (p->exact)
        rb_json_kbool(j, "exact", true);
    if (p->has_measured) {
        rb_json_key(j, "measured");
        rb_measured_write(&p->measured, j);
    }
    if (p->n_basis > 0) {
        rb_json_key(j, "basis");
        write_basis_list(p, j);
    }
    rb_json_end_object(j);
}

// --- YAML ---

// JSON's strings and numbers are YAML's.
static void put_text(struct rb_buf *out, const char *key, const char *text)
{
    rb_buf_puts(out, key);
    struct rb_json j = {.out = out};
    rb_json_string(&j, text);
    rb_buf_putc(out, '\n');
}

static void put_number(struct rb_buf *out, const char *key, double v)
{
    rb_buf_puts(out, key);
    struct rb_json j = {.out = out};
    rb_json_double(&j, v);
}

static void put_dist(struct rb_buf *out, const char *key, const struct rb_dist *d)
{
    rb_buf_printf(out, "%s{distribution: %s", key, rb_dist_kind_name(d->kind));
    if (d->kind == RB_DIST_EMPIRICAL) {
        rb_buf_puts(out, ", values: [");
        for (int i = 0; i < d->n_values; i++)
            put_number(out, i > 0 ? ", " : "", d->values[i]);
        rb_buf_puts(out, "]");
    } else {
        put_number(out, ", mean: ", d->mean);
        if (d->kind != RB_DIST_CONSTANT && d->kind != RB_DIST_EXPONENTIAL)
            put_number(out, ", cv: ", d->cv);
    }
    if (d->relative_error > 0)
        put_number(out, ", relative_error: ", d->relative_error);
    rb_buf_puts(out, "}\n");
}

static void put_throughput(struct rb_buf *out, const struct rb_training *t)
{
    put_number(out, "    throughput: {alpha_c: ", t->throughput.alpha_c);
    put_number(out, ", beta_c: ", t->throughput.beta_c);
    put_number(out, ", alpha_n: ", t->throughput.alpha_n);
    put_number(out, ", beta_n: ", t->throughput.beta_n);
    put_number(out, ", alpha_r: ", t->throughput.alpha_r);
    put_number(out, ", beta_r: ", t->throughput.beta_r);
    put_number(out, ", gamma: ", t->throughput.gamma);
    put_number(out, ",\n                 batch: ", t->batch);
    put_number(out, ", units_per_epoch: ", t->units_per_epoch);
    rb_buf_printf(out, ", max_gpus: %d, max_nodes: %d}\n", t->max_gpus, t->max_nodes);
}

static void put_layouts(struct rb_buf *out, const struct rb_training *t)
{
    rb_buf_puts(out, "    layouts:\n");
    for (int i = 0; i < t->n_layouts; i++) {
        rb_buf_printf(out, "      - {gpus: %d, nodes: %d", t->layouts[i].gpus, t->layouts[i].nodes);
        put_number(out, ", speedup: ", t->layouts[i].speedup);
        rb_buf_puts(out, "}\n");
    }
}

static void put_sharing(struct rb_buf *out, const struct rb_training *t)
{
    rb_buf_puts(out, "    sharing:\n");
    for (int i = 0; i < t->n_sharing; i++) {
        rb_buf_printf(out, "      - {trials: %d", t->sharing[i].trials);
        put_number(out, ", slowdown: ", t->sharing[i].slowdown);
        rb_buf_puts(out, "}\n");
    }
}

static void put_training(struct rb_buf *out, const struct rb_training *t)
{
    put_text(out, "  - accelerator: ", t->accelerator);
    put_number(out, "    base_s: ", t->base_s);
    rb_buf_putc(out, '\n');
    if (t->relative_error > 0) {
        put_number(out, "    relative_error: ", t->relative_error);
        rb_buf_putc(out, '\n');
    }
    if (t->has_throughput)
        put_throughput(out, t);
    else
        put_layouts(out, t);
    if (t->n_sharing > 0)
        put_sharing(out, t);
    if (t->has_goodput) {
        rb_buf_puts(out, "    goodput: ");
        struct rb_json j = {.out = out};
        rb_training_goodput_write(&t->goodput, &j); // on one line JSON is YAML
        rb_buf_putc(out, '\n');
    }
}

static void put_provisioning(struct rb_buf *out, const struct rb_provisioning *p)
{
    put_text(out, "  - infra: ", p->infra);
    put_text(out, "    instance_type: ", p->instance_type);
    put_text(out, "    market: ", p->market);
    put_dist(out, "    queue_s: ", &p->queue_s);
    put_dist(out, "    init_s: ", &p->init_s);
    put_number(out, "    capacity_failure: ", p->capacity_failure);
    if (p->has_preemption)
        put_number(out, "\n    preemption_per_hour: ", p->preemption_per_hour);
    rb_buf_putc(out, '\n');
}

void rb_profile_write_yaml(const struct rb_profile *p, struct rb_buf *out)
{
    rb_buf_puts(out, "format: rb-profile/1\n");
    put_text(out, "name: ", p->name);
    put_text(out, "unit: ", p->unit);
    if (source_or_null(p))
        put_text(out, "source: ", p->source);
    rb_buf_puts(out, "training:\n");
    for (int i = 0; i < p->n_training; i++)
        put_training(out, &p->training[i]);
    rb_buf_puts(out, "noise:\n");
    put_dist(out, "  between: ", &p->between);
    put_dist(out, "  within: ", &p->within);
    put_dist(out, "startup_s: ", &p->startup_s);
    put_dist(out, "checkpoint_s: ", &p->checkpoint_s);
    rb_buf_puts(out, p->n_provisioning > 0 ? "provisioning:\n" : "provisioning: []\n");
    for (int i = 0; i < p->n_provisioning; i++)
        put_provisioning(out, &p->provisioning[i]);
    if (p->restarts)
        rb_buf_puts(out, "resumes: false\n");
    if (p->exact)
        rb_buf_puts(out, "exact: true\n");
    if (p->has_measured) {
        rb_buf_puts(out, "measured: ");
        struct rb_json j = {.out = out};
        rb_measured_write(&p->measured, &j); // on one line JSON is YAML
        rb_buf_putc(out, '\n');
    }
    if (p->n_basis > 0) {
        struct rb_json j = {.out = out};
        rb_buf_puts(out, "basis: ");
        write_basis_list(p, &j);
        rb_buf_putc(out, '\n');
    }
}
