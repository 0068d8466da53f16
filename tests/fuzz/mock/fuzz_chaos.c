// Any bytes as rb-chaos/1: refused with a place, or rules that count what they see and never strike more often than they
// may.
#include "doc_check.h"
#include "fuzz.h"

#include "providers/mock/cloud/chaos.h"

#include <stdlib.h>

#define EPOCH_US INT64_C(1767225600000000)

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void check_rules(const struct rb_chaos_rules *rules, struct rb_arena *arena)
{
    static const struct rb_chaos_subject subject = {"ec2",       "RunInstances", "us-east-1",   "us-east-1a",
                                                    "g5.xlarge", true,           RB_MARKET_SPOT};
    struct rb_chaos chaos;
    struct rb_chaos_verdict v;
    rb_chaos_init(&chaos, rules, 1, EPOCH_US, arena);
    for (int k = 0; k < 20; k++) {
        rb_chaos_request(&chaos, &subject, EPOCH_US + k * RB_US_PER_S, &v);
        rb_chaos_instance(&chaos, &subject, EPOCH_US + k * RB_US_PER_S, &v);
    }
    for (int k = 0; k < rules->n; k++) {
        const struct rb_chaos_rule *r = &rules->rules[k];
        require(chaos.counts[k].seen <= 20 && chaos.counts[k].fired <= chaos.counts[k].seen);
        require(chaos.counts[k].fired <= r->times && r->delay_us >= 0 && r->items >= 0);
        require(r->fault != RB_CHAOS_ERROR || (r->status >= 400 && r->status <= 599 && r->code && r->message));
        require(r->fault != RB_CHAOS_UNREACHABLE || r->unreachable_zone);
        require(rb_chaos_fault_name(r->fault)[0] && r->name);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_arena arena;
    struct rb_chaos_rules rules;
    struct rb_err err = {0};
    rb_arena_init(&arena);
    if (rb_chaos_parse("chaos.yaml", (const char *)bytes, n, &arena, &rules, &err))
        check_rules(&rules, &arena);
    else
        check_error(&err, "chaos.yaml");
    rb_arena_finish(&arena);
    return 0;
}
