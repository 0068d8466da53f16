// rb-profile/1 in its two forms: canonical JSON for programs and digests, YAML for people. Both read back
// equal.
#include "profiles/store/profile.h"

#include <string.h>

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
    if (t->transfer.from)
        rb_json_put(j, "transfer: {from: %s faster: %g log_sd: %g}", t->transfer.from, t->transfer.faster,
                    t->transfer.log_sd);
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
    rb_json_put(j, "capacity_failure: %g", p->capacity_failure);
    rb_json_key(j, p->spells ? "spells" : "preemption_per_hour");
    if (p->spells)
        rb_spells_write(p->spells, j);
    else if (p->has_preemption)
        rb_json_double(j, p->preemption_per_hour);
    else
        rb_json_null(j);
    if (p->release_s > 0)
        rb_json_kint(j, "release_s", p->release_s);
    rb_json_end_object(j);
}

static void write_readings(const struct rb_profile *p, struct rb_json *j)
{
    char size[32];
    rb_json_karray(j, "data");
    for (int i = 0; i < p->n_readings; i++) {
        const struct rb_reading *r = &p->readings[i];
        rb_json_put(j, "{fetch: %s infra: %s instance_type: %s size: %s", r->fetch, r->infra, r->instance_type,
                    rb_format_size_exact(r->bytes, size));
        write_dist(j, "read_s", &r->read_s);
        rb_json_put(j, "nodes: %d}", r->nodes);
    }
    rb_json_end_array(j);
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
    if (p->configuration)
        write_dist(j, "configuration", p->configuration);
    rb_json_end_object(j);
    write_dist(j, "startup_s", &p->startup_s);
    write_dist(j, "checkpoint_s", &p->checkpoint_s);
    rb_json_karray(j, "provisioning");
    for (int i = 0; i < p->n_provisioning; i++)
        write_provisioning(&p->provisioning[i], j);
    rb_json_end_array(j);
    if (p->n_readings > 0)
        write_readings(p, j);
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

static bool is_scalar(const struct rb_node *node)
{
    return node->kind != RB_NODE_MAP && node->kind != RB_NODE_LIST;
}

// Fits on one line: a scalar, a list of scalars, or a map of either.
static bool is_flat(const struct rb_node *node)
{
    for (const struct rb_node *child = node->first; child; child = child->next)
        if (!is_scalar(child) && (node->kind == RB_NODE_LIST || child->kind == RB_NODE_MAP || !is_flat(child)))
            return false;
    return true;
}

// JSON's strings and numbers are YAML's. The words of this format stand without quotes.
static void put_scalar(const struct rb_node *node, struct rb_buf *out)
{
    struct rb_json j = {.out = out};
    if (node->key && (strcmp(node->key, "format") == 0 || strcmp(node->key, "distribution") == 0))
        rb_buf_puts(out, node->text);
    else
        rb_json_node(&j, node);
}

static void put_flat(const struct rb_node *node, struct rb_buf *out)
{
    if (is_scalar(node)) {
        put_scalar(node, out);
        return;
    }
    rb_buf_putc(out, node->kind == RB_NODE_MAP ? '{' : '[');
    for (const struct rb_node *child = node->first; child; child = child->next) {
        rb_buf_printf(out, "%s%s%s", child == node->first ? "" : ", ", child->key ? child->key : "",
                      child->key ? ": " : "");
        put_flat(child, out);
    }
    rb_buf_putc(out, node->kind == RB_NODE_MAP ? '}' : ']');
}

// A null is left out. begun: the first member stands behind the dash of its list.
static void put_block(const struct rb_node *node, int indent, bool begun, struct rb_buf *out)
{
    for (const struct rb_node *child = node->first; child; child = child->next) {
        if (child->kind == RB_NODE_NULL)
            continue;
        rb_buf_printf(out, "%*s%s%s", begun ? 0 : indent, "", child->key ? child->key : "-", child->key ? ":" : "");
        begun = false;
        if (is_flat(child)) {
            rb_buf_putc(out, ' ');
            put_flat(child, out);
            rb_buf_putc(out, '\n');
        } else {
            rb_buf_putc(out, child->key ? '\n' : ' ');
            put_block(child, indent + 2, !child->key, out);
        }
    }
}

void rb_profile_write_yaml(const struct rb_profile *p, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_doc_finish) struct rb_doc doc = {0};
    struct rb_json j = {.out = &text};
    rb_profile_write(p, &j);
    if (rb_doc_parse_json(&doc, "profile", rb_buf_str(&text), text.len, NULL))
        put_block(doc.root, 0, false, out);
    else
        rb_buf_append(out, text.data, text.len); // too long to be parsed again; JSON is YAML
}
