// JSON out; errors as {"error": ...}.
#include "providers/mock/cloud/control.h"
#include "base/document/json.h"
#include "providers/mock/cloud/ledger.h"
#include "providers/mock/node/metadata.h"

#include <arpa/inet.h>
#include <pwd.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void fail(struct rb_exchange_answer *out, int status, const char *message)
{
    struct rb_json j;
    rb_json_init(&j, &out->body, false);
    rb_json_put(&j, "{error: %s}", message);
    rb_buf_putc(&out->body, '\n');
    out->status = status;
}

static void write_chaos(const struct rb_mock_control *c, struct rb_buf *out)
{
    struct rb_json j;
    const struct rb_chaos *chaos = rb_cloud_chaos(c->cloud);
    rb_json_init(&j, out, true);
    rb_json_begin_array(&j);
    for (int k = 0; k < chaos->rules.n; k++)
        rb_json_put(&j, "{name: %s, what: %s, seen: %jd, fired: %jd}", chaos->rules.rules[k].name,
                    rb_chaos_fault_name(chaos->rules.rules[k].fault), (intmax_t)chaos->counts[k].seen,
                    (intmax_t)chaos->counts[k].fired);
    rb_json_end_array(&j);
    rb_buf_putc(out, '\n');
}

static void write_instances(const struct rb_mock_control *c, struct rb_buf *out)
{
    struct rb_json j;
    const struct passwd *me = getpwuid(getuid());
    rb_json_init(&j, out, true);
    rb_json_begin_array(&j);
    for (int k = 0; k < rb_cloud_n_instances(c->cloud); k++) {
        const struct rb_cloud_instance *i = rb_cloud_instance(c->cloud, k);
        struct in_addr address = {.s_addr = htonl(i->address)};
        char dir[4096];
        snprintf(dir, sizeof dir, "%s/%s", c->nodes_dir, i->id);
        rb_json_put(&j, "{id: %s, state: %s, reachable: %i", i->id, rb_cloud_state_name(i->state),
                    i->state == RB_CLOUD_RUNNING && i->ready_us >= 0 && !i->node_failure);
        rb_json_kstring(&j, "node_failure", i->node_failure);
        rb_json_kstring(&j, "ssh_user", me ? me->pw_name : NULL);
        rb_json_put(&j, "address: %s, ssh_port: %jd, dir: %s}", inet_ntoa(address),
                    (intmax_t)rb_cloud_config_of(c->cloud)->ssh_port, dir);
    }
    rb_json_end_array(&j);
    rb_buf_putc(out, '\n');
}

static int count_members(const struct rb_cloud *c, const struct rb_cloud_group *g)
{
    int n = 0;
    for (int k = 0; k < rb_cloud_n_instances(c); k++)
        n += rb_cloud_instance(c, k)->group == g;
    return n;
}

static void write_groups(const struct rb_mock_control *c, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, true);
    rb_json_begin_array(&j);
    for (int k = 0; k < rb_cloud_n_groups(c->cloud); k++) {
        const struct rb_cloud_group *g = rb_cloud_group(c->cloud, k);
        rb_json_put(&j, "{name: %s, region: %s, instances: %d, deleted: %i}", g->name, g->region,
                    count_members(c->cloud, g), g->deleted);
    }
    rb_json_end_array(&j);
    rb_buf_putc(out, '\n');
}

// Of a pod's machine. False: no such pod, or it has no cable.
static bool strike_pod(const struct rb_mock_control *c, const char *uid, enum rb_node_accident accident, int64_t now_us)
{
    if (!c->k8s)
        return false;
    if (accident == RB_NODE_POWEROFF)
        return rb_mock_k8s_lose_node(c->k8s, uid, now_us);
    if (accident == RB_NODE_FREEZE || accident == RB_NODE_THAW)
        return rb_pods_signal(c->pods, uid, accident == RB_NODE_FREEZE ? SIGSTOP : SIGCONT);
    return false;
}

// nodes/<id>/<accident>
static void cause_accident(const struct rb_mock_control *c, const char *path, int64_t now_us,
                           struct rb_exchange_answer *out)
{
    char id[40], name[32];
    enum rb_node_accident accident;
    struct rb_err err;
    if (sscanf(path, "nodes/%39[^/]/%31[^/]", id, name) != 2 || !rb_node_accident_parse(name, &accident))
        fail(out, 404, "expected nodes/<id>/ and one of cut, heal, drop, undrop, freeze, thaw, poweroff");
    else if (strike_pod(c, id, accident, now_us))
        rb_buf_puts(&out->body, "{}\n");
    else if (!rb_nodes_accident(c->nodes, id, accident, &err))
        fail(out, err.code == RB_ERR_NOT_FOUND ? 404 : 409, err.message);
    else
        rb_buf_puts(&out->body, "{}\n");
}

void rb_mock_control_answer(const struct rb_mock_control *c, const struct rb_exchange_request *request, int64_t now_us,
                            struct rb_exchange_answer *out)
{
    const char *what = request->path + strlen(RB_MOCK_CONTROL_PREFIX);
    bool get = strcmp(request->method, "GET") == 0;
    out->content_type = "application/json";
    out->status = 200;
    if (strncmp(what, "metadata/", 9) == 0)
        rb_mock_metadata_answer(&(struct rb_mock_metadata){c->cloud, c->gcp, c->metadata_secret}, request, what + 9, now_us, out);
    else if (get && strcmp(what, "ledger") == 0)
        rb_ledger_write(c->cloud, now_us, &out->body);
    else if (get && strcmp(what, "instances") == 0)
        write_instances(c, &out->body);
    else if (get && strcmp(what, "groups") == 0)
        write_groups(c, &out->body);
    else if (get && strcmp(what, "chaos") == 0)
        write_chaos(c, &out->body);
    else if (!get && strncmp(what, "nodes/", 6) == 0)
        cause_accident(c, what, now_us, out);
    else
        fail(out, 404,
             "expected GET ledger, GET instances, GET groups, GET chaos, metadata/<id>/... or POST "
             "nodes/<id>/<accident>");
}
