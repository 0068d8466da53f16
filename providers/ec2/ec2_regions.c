// Lists the regions that are enabled for this account.
#include "providers/ec2/ec2_verbs.h"
#include "providers/wire/xml.h"

#include <stdlib.h>
#include <string.h>

enum { TRIES = 3, MAX_REGIONS = 128 }; // EC2 has some 40

struct question {
    struct rb_arena arena;
    const char *names[MAX_REGIONS];
    int n;
    rb_regions_fn *fn;
    void *arg;
};

// It becomes part of a host name: the endpoint's own check comes on top of this one.
static bool is_region(const char *s)
{
    return *s && strlen(s) < 32 && strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789-") == strlen(s);
}

static bool decode(void *arg, const char *body, size_t n, struct rb_err *err)
{
    struct question *q = arg;
    const struct rb_xml *root;
    if (!rb_xml_parse(body, n, &q->arena, &root, err))
        return false;
    q->n = 0;
    const struct rb_xml *item = rb_xml_child(rb_xml_child(root, "regionInfo"), "item");
    for (; item && q->n < MAX_REGIONS; item = rb_xml_next(item, "item")) {
        const char *name = rb_xml_text(item, "regionName");
        if (!name || !is_region(name))
            return rb_err_set(err, RB_E_ANSWER, "regionName: expected a region");
        q->names[q->n++] = name;
    }
    return q->n > 0 || rb_err_set(err, RB_E_ANSWER, "regionInfo: expected at least one region");
}

static void done(void *arg, const struct rb_err *err)
{
    struct question *q = arg;
    q->fn(q->arg, err, q->names, err ? 0 : q->n);
    rb_api_state_free(q);
}

void rb_ec2_regions(struct rb_provider *p, rb_regions_fn *fn, void *arg)
{
    const struct rb_ec2 *ec2 = p->state;
    struct question *q = rb_api_state_create(sizeof *q);
    struct rb_api_call call = rb_api_call_new("DescribeRegions", TRIES, q, decode, done);
    q->fn = fn;
    q->arg = arg;
    rb_buf_puts(&call.body, "Action=DescribeRegions&Version=2016-11-15");
    rb_aws_send(ec2->client, &call);
}
