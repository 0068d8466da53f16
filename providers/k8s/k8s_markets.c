#include "providers/k8s/k8s_markets.h"

#include <string.h>

static const struct {
    const char *label, *spot;
} marks[] = {
    {"karpenter.sh/capacity-type", "spot"},
    {"eks.amazonaws.com/capacityType", "SPOT"},
    {"cloud.google.com/gke-spot", "true"},
};
enum { N_MARKS = sizeof marks / sizeof *marks };

enum rb_market rb_kube_market_of(const struct rb_node *labels)
{
    for (int i = 0; i < N_MARKS; i++)
        if (strcmp(rb_node_member_text(labels, marks[i].label), marks[i].spot) == 0)
            return RB_MARKET_SPOT;
    return RB_MARKET_ON_DEMAND;
}

static bool job_chooses(const struct rb_kubernetes_spec *spec)
{
    for (int i = 0; i < spec->n_node_selector; i++)
        for (int k = 0; k < N_MARKS; k++)
            if (strcmp(spec->node_selector[i].key, marks[k].label) == 0)
                return true;
    return false;
}

static void put_expression(struct rb_json *j, int mark, const char *operator)
{
    rb_json_put(j, "{key: %s, operator: %s, values: [%s]}", marks[mark].label, operator, marks[mark].spot);
}

// Terms are alternatives, the expressions of a term hold together: a spot node has one of the marks, another none.
void rb_kube_put_market(struct rb_json *j, enum rb_market market, const struct rb_kubernetes_spec *spec)
{
    const bool spot = market == RB_MARKET_SPOT;
    if (job_chooses(spec))
        return;
    rb_json_put(j, "affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [");
    for (int i = 0; i < N_MARKS; i++) {
        if (spot || i == 0)
            rb_json_put(j, "{matchExpressions: [");
        put_expression(j, i, spot ? "In" : "NotIn");
        if (spot || i + 1 == N_MARKS)
            rb_json_put(j, "]}");
    }
    rb_json_put(j, "]}}}");
}

void rb_kube_put_market_toleration(struct rb_json *j, enum rb_market market)
{
    if (market == RB_MARKET_SPOT)
        rb_json_put(j, "{key: 'cloud.google.com/gke-spot', operator: 'Equal', value: 'true', effect: 'NoSchedule'}");
}
