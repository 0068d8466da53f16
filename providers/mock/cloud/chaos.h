// Injects faults into a mock cloud: rb-chaos/1. Rules define where, when, how often and which; a chaos counts the calls
// it has seen and the faults it has injected. Fronts ask it about every request, the cloud about every new instance.
// Draws depend only on the seed, the rule and the number of calls that the rule has seen: the same requests in the same
// order meet the same faults.
//
//   format: rb-chaos/1
//   rules:
//     - name: lost launches
//       where: {front: ec2, action: RunInstances, region: us-east-1}
//       when: {after: 30s, call: 2, every: 3, probability: 0.5}
//       times: 4
//       what: lost_response
#ifndef RB_PROVIDERS_MOCK_CHAOS_H
#define RB_PROVIDERS_MOCK_CHAOS_H

#include "base/arena.h"
#include "base/document/doc.h"
#include "profiles/catalog/catalog.h"

enum rb_chaos_fault {
    // Faults of a request and its answer.
    RB_CHAOS_CLOCK_SKEW,       // the cloud's clock is `delay_us` ahead while it checks who is asking
    RB_CHAOS_THROTTLE,         // asked to slow down, in the front's own format
    RB_CHAOS_ERROR,            // `status`, `code`, `message`; with `after_effect` the request takes effect nevertheless
    RB_CHAOS_HTML_502,         // a load balancer's page; `after_effect` likewise
    RB_CHAOS_CONNECTION_RESET, // before anything happens
    RB_CHAOS_LOST_RESPONSE,    // the request takes effect, the connection closes without a byte
    RB_CHAOS_TRUNCATED_BODY,   // `fraction` of the body arrives
    RB_CHAOS_SLOW_DRIP,        // `bytes_per_s`
    RB_CHAOS_PARTIAL_PAGE,     // at most `items` on a page, 0 included; the rest is on the next
    RB_CHAOS_UNREACHABLE,      // Compute Engine's aggregatedList omits `zone` and reports that
    RB_CHAOS_DROPPED_FIELD,    // Kubernetes: the object is made without `field`, without a message
    RB_CHAOS_EXEC_CUT,         // Kubernetes: the connection is reset after `bytes` of output
    RB_CHAOS_NO_STATUS,        // Kubernetes: the command's connection ends without a status
    // Faults of an instance.
    RB_CHAOS_FAILS_TO_START,   // `code`: the machine never comes; the cloud reports that after the queueing delay
    RB_CHAOS_NEVER_BOOTS,      // it runs and is billed, but never answers
    RB_CHAOS_BOOTS_SLOWLY,     // initialisation takes `factor` times as long
    RB_CHAOS_DIES_AT,          // `delay_us` after it runs its node goes dark; the cloud continues billing
    RB_CHAOS_WRONG_MARKET,     // spot for on-demand and vice versa, where both are sold
    RB_CHAOS_INTERRUPTED,      // a spot instance is preempted `delay_us` after it runs, with the usual notice
    RB_CHAOS_REPLACED,         // Kubernetes: `delay_us` after it runs another pod of the same name takes its place
    RB_CHAOS_N_FAULTS,
};

struct rb_chaos_rule {
    const char *name;
    const char *front, *action, *region, *zone, *instance_type; // NULL: any
    bool has_market;
    enum rb_market market;
    int64_t after_us, until_us; // [after, until) on the cloud's clock, since it began
    int64_t call, every;        // the first matching call that counts, from 1, and every how many after it
    double probability;
    int64_t times;              // fires at most this often; INT64_MAX: always
    enum rb_chaos_fault fault;
    int64_t status;
    const char *code, *message, *unreachable_zone, *field;
    bool after_effect;
    double factor, fraction;
    int64_t delay_us, bytes_per_s, items, bytes;
};

struct rb_chaos_rules {
    const struct rb_chaos_rule *rules; // [n]
    int n;
};

// Reads FILE.yaml; everything lives in the arena. Errors: INVALID with file, line and key.
bool rb_chaos_read(const char *path, struct rb_arena *arena, struct rb_chaos_rules *out, struct rb_err *err);
// The same from bytes, for tests.
bool rb_chaos_parse(const char *name, const char *yaml, size_t n, struct rb_arena *arena, struct rb_chaos_rules *out,
                    struct rb_err *err);
const char *rb_chaos_fault_name(enum rb_chaos_fault fault); // "lost_response"

// --- a cloud's own ---

struct rb_chaos {
    struct rb_chaos_rules rules;
    uint64_t seed;
    int64_t epoch_us;
    struct rb_chaos_count {
        int64_t seen, fired;
    } *counts;                // [rules.n], in the arena given
};

void rb_chaos_init(struct rb_chaos *c, const struct rb_chaos_rules *rules, uint64_t seed, int64_t epoch_us,
                   struct rb_arena *arena);

// The request or launch; NULL where it has no such part. A rule that names a place matches only a request that names
// the same.
struct rb_chaos_subject {
    const char *front, *action, *region, *zone, *instance_type;
    bool has_market;
    enum rb_market market;
};

// The rules that strike, by fault; NULL: none. Of two of one kind the earlier in the file wins.
struct rb_chaos_verdict {
    const struct rb_chaos_rule *by[RB_CHAOS_N_FAULTS];
};
void rb_chaos_request(struct rb_chaos *c, const struct rb_chaos_subject *s, int64_t now_us,
                      struct rb_chaos_verdict *out);
void rb_chaos_instance(struct rb_chaos *c, const struct rb_chaos_subject *s, int64_t now_us,
                       struct rb_chaos_verdict *out);

#endif
