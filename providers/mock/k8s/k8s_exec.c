// Opens a command's connection: everything that can be refused before the WebSocket begins.
#include "providers/mock/k8s/k8s_call.h"
#include "providers/mock/k8s/websocket.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FIRST_V5 30 // minor version

// One of the names in a comma-separated header?
static bool offers(const char *header, const char *name)
{
    const size_t n = strlen(name);
    for (const char *at = header; at && *at; at += strcspn(at, ",")) {
        at += strspn(at, ", ");
        if (strncasecmp(at, name, n) == 0 && strchr(", ", at[n]) != NULL)
            return true;
    }
    return false;
}

static bool check_upgrade(struct rb_k8s_call *call, struct rb_k8s_exec *exec)
{
    const struct rb_exchange_request *r = call->request;
    const char *upgrade = rb_exchange_header(r, "Upgrade"), *version = rb_exchange_header(r, "Sec-WebSocket-Version"),
               *key = rb_exchange_header(r, "Sec-WebSocket-Key"),
               *protocols = rb_exchange_header(r, "Sec-WebSocket-Protocol");
    char accept[RB_WEBSOCKET_ACCEPT];
    if (!upgrade || strcasecmp(upgrade, "websocket") != 0)
        return rb_k8s_refuse(call, 400, "BadRequest", "Upgrade request required");
    if (!version || strcmp(version, "13") != 0 || !key || !rb_websocket_accept(key, accept))
        return rb_k8s_refuse(call, 400, "BadRequest", "expected Sec-WebSocket-Version: 13 and a Sec-WebSocket-Key");
    exec->is_v5 = call->k->config->minor >= FIRST_V5 && offers(protocols, "v5.channel.k8s.io");
    if (!exec->is_v5 && !offers(protocols, "v4.channel.k8s.io"))
        return rb_k8s_refuse(call, 403, "Forbidden",
                             "websocket: no protocol in common: this server has %sv4.channel.k8s.io",
                             call->k->config->minor >= FIRST_V5 ? "v5.channel.k8s.io and " : "");
    rb_buf_printf(&call->out->headers, "Upgrade: websocket\nSec-WebSocket-Accept: %s\nSec-WebSocket-Protocol: %s\n",
                  accept, exec->is_v5 ? "v5.channel.k8s.io" : "v4.channel.k8s.io");
    return true;
}

static bool check_pod(struct rb_k8s_call *call, const char *container, struct rb_k8s_exec *exec)
{
    const struct rb_k8s_pod *p = rb_k8s_find_pod(call->k, call->name);
    if (!p)
        return rb_k8s_not_found(call, "pods", call->name);
    const char *name = rb_node_member_text(rb_node_first(rb_node_member(p->spec, "containers")), "name");
    if (container && strcmp(container, name) != 0)
        return rb_k8s_refuse(call, 400, "BadRequest", "container %.60s is not valid for pod %s", container, p->name);
    if (p->scheduled_us < 0)
        return rb_k8s_refuse(call, 400, "BadRequest", "pod %s does not have a host assigned", p->name);
    if (p->is_silent)
        return rb_k8s_refuse(call, 500, "InternalError",
                             "error dialing backend: dial tcp 127.0.0.1:10250: connect: no route to host");
    if (p->container.started_us < 0 || !p->has_process)
        return rb_k8s_refuse(call, 500, "InternalError", "unable to upgrade connection: container not found (\"%s\")",
                             name);
    if (p->deletion_us >= 0 && !call->k->config->exec_while_terminating)
        return rb_k8s_refuse(call, 500, "InternalError",
                             "error executing command in container: container is being stopped");
    memcpy(exec->uid, p->uid, sizeof exec->uid);
    return true;
}

bool rb_k8s_pod_exec(struct rb_k8s_call *call)
{
    static const char *const streams[] = {"stdin", "stdout", "stderr"};
    const struct rb_chaos_rule *cut = call->chaos.by[RB_CHAOS_EXEC_CUT];
    struct rb_k8s_exec *exec = rb_xcalloc(1, sizeof *exec + (size_t)(call->n_query + 1) * sizeof *exec->argv);
    size_t n_words = 0, length = 0;
    for (int i = 0; i < 3; i++)
        exec->has[i] = rb_k8s_query_bool(call, streams[i]);
    for (int i = 0; i < call->n_query; i++)
        if (strcmp(call->query[i].name, "command") == 0) {
            call->query[i].asked = true;
            exec->argv[n_words++] = call->query[i].value;
            length += strlen(call->query[i].value) + 1;
        }
    const char *container = rb_k8s_query(call, "container");
    bool ok = (!rb_k8s_query_bool(call, "tty") ||
               rb_k8s_refuse(call, 400, "BadRequest", "tty: a mock pod has no terminals")) &&
              rb_k8s_checked(call) &&
              (n_words > 0 ||
               rb_k8s_refuse(call, 400, "BadRequest", "you must specify at least one command for the container")) &&
              (exec->has[0] || exec->has[1] || exec->has[2] ||
               rb_k8s_refuse(call, 400, "BadRequest", "you must specify at least 1 of stdin, stdout, stderr")) &&
              check_pod(call, container, exec) && check_upgrade(call, exec);
    if (!ok) {
        free(exec);
        return false;
    }
    // The words move behind the struct: they outlive the call.
    struct rb_k8s_exec *whole = rb_xcalloc(1, sizeof *exec + (n_words + 1) * sizeof *exec->argv + length);
    char *to = (char *)&whole->argv[n_words + 1];
    memcpy(whole, exec, sizeof *exec);
    for (size_t i = 0; i < n_words; i++) {
        whole->argv[i] = strcpy(to, exec->argv[i]);
        to += strlen(to) + 1;
    }
    free(exec);
    whole->cut_at = cut ? cut->bytes : -1;
    whole->lacks_status = call->chaos.by[RB_CHAOS_NO_STATUS] != NULL;
    call->out->delivery = RB_EXCHANGE_SWITCH;
    call->out->session = whole;
    call->status = 101;
    return true;
}
