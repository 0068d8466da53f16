#include "executor/away/reach.h"

#include "executor/run/infras.h"
#include "executor/transport/ssh_command.h"
#include "profiles/catalog/infra.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONNECT_MS = 10000, MOST_TRIES = 8 };

static bool connects(const struct addrinfo *a)
{
    const int fd = socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    struct pollfd p = {.fd = fd, .events = POLLOUT};
    int why = 0;
    socklen_t n = sizeof why;
    const bool begun = fd >= 0 && (connect(fd, a->ai_addr, a->ai_addrlen) == 0 || errno == EINPROGRESS);
    const bool done =
        begun && poll(&p, 1, CONNECT_MS) == 1 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &why, &n) == 0 && why == 0;
    if (fd >= 0)
        close(fd);
    return done;
}

static bool takes_connections(const char *address, const char *port)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM};
    struct addrinfo *found = NULL;
    bool ok = false;
    if (getaddrinfo(address, port, &hints, &found) != 0)
        return false;
    for (const struct addrinfo *a = found; a && !ok; a = a->ai_next)
        ok = connects(a);
    freeaddrinfo(found);
    return ok;
}

static bool is_by_ssh(const char *infra)
{
    const struct rb_provider_ops *ops;
    char region[64];
    return rb_provider_find(infra, &ops, region, NULL) && !ops->transport;
}

static bool reach_infra(const char *infra, const struct rb_launch_row *rows, int n, const char *port,
                        struct rb_err *err)
{
    const char *tried = NULL;
    int n_tried = 0;
    for (int i = 0; i < n && n_tried < MOST_TRIES; i++) {
        const bool up = rows[i].state == RB_LAUNCH_RUNNING || rows[i].state == RB_LAUNCH_READY;
        if (!up || !rows[i].address[0] || !rb_infra_within(rows[i].infra, infra))
            continue;
        tried = rows[i].address;
        n_tried++;
        if (takes_connections(tried, port))
            return true;
    }
    return !tried ||
           rb_err_set(err, RB_E_NODE_LOST,
                      "none of the run's nodes in %s takes a connection from here (the last tried: %s, port %s): "
                      "is this host in their network?",
                      infra, tried, port);
}

bool rb_reach_nodes(const struct rb_plan *plan, struct rb_journal *journal, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    char infras[RB_RUN_INFRAS][64], port[16];
    struct rb_launch_row *rows;
    const int n_infras = rb_run_infras(plan, infras, RB_RUN_INFRAS);
    int n;
    if (!rb_journal_launches(journal, &arena, &rows, &n, err))
        return false;
    snprintf(port, sizeof port, "%d", rb_ssh_port(&plan->job->resources));
    for (int i = 0; i < n_infras; i++)
        if (is_by_ssh(infras[i]) && !reach_infra(infras[i], rows, n, port, err))
            return false;
    return true;
}
