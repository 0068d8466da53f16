// ip(8) and nft(8), run one after the other; each takes a few milliseconds.
#include "providers/mock/node/node_net.h"

#include <errno.h>
#include <fcntl.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define BRIDGE         "rbmock0"
#define BRIDGE_ADDRESS "10.99.0.1/16"
#define MAX_ARGS       24

extern char **environ;

// Runs a command given as words in one text. false: it could not run, or ended badly.
static bool run(bool quiet, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
static bool run(bool quiet, const char *fmt, ...)
{
    char text[512], *argv[MAX_ARGS + 1], *save;
    int n = 0, status;
    pid_t pid;
    posix_spawn_file_actions_t actions;
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    for (char *word = strtok_r(text, " ", &save); word && n < MAX_ARGS; word = strtok_r(NULL, " ", &save))
        argv[n++] = word;
    argv[n] = NULL;
    posix_spawn_file_actions_init(&actions);
    if (quiet)
        posix_spawn_file_actions_addopen(&actions, 2, "/dev/null", O_WRONLY, 0);
    bool ok = posix_spawnp(&pid, argv[0], &actions, NULL, argv, environ) == 0 && waitpid(pid, &status, 0) == pid &&
              status == 0;
    posix_spawn_file_actions_destroy(&actions);
    return ok;
}

bool rb_node_net_up(struct rb_err *err)
{
    if (getuid() != 0)
        return rb_err_set(err, RB_E_MOCK_NETWORK,
                          "--nodes netns needs root; without it every node has a loopback address of "
                          "its own, which is enough unless nodes must be cut off");
    if (run(true, "ip link show " BRIDGE))
        return rb_err_set(err, RB_E_MOCK_NETWORK,
                          "the bridge " BRIDGE " exists: another rbmock --nodes netns runs, or one was "
                          "killed; if none runs, `ip link del " BRIDGE "` removes it");
    if (run(false, "ip link add " BRIDGE " type bridge") && run(false, "ip addr add " BRIDGE_ADDRESS " dev " BRIDGE) &&
        run(false, "ip link set " BRIDGE " up"))
        return true;
    rb_node_net_down();
    return rb_err_set(err, RB_E_MOCK_NETWORK,
                      "--nodes netns: ip(8) could not make the bridge " BRIDGE "; it needs iproute2 and CAP_NET_ADMIN");
}

void rb_node_net_down(void)
{
    run(true, "ip link del " BRIDGE);
}

bool rb_node_cable_add(uint32_t address, struct rb_node_cable *out, struct rb_err *err)
{
    struct rb_node_cable c;
    unsigned low = address & 0xffff;
    snprintf(c.netns, sizeof c.netns, "rbm-%04x", low);
    snprintf(c.link, sizeof c.link, "rbm%04x", low);
    if (run(false, "ip netns add %s", c.netns) &&
        run(false, "ip link add %s type veth peer name eth0 netns %s", c.link, c.netns) &&
        run(false, "ip link set %s master " BRIDGE " up", c.link) &&
        run(false, "ip -n %s addr add 10.99.%u.%u/16 dev eth0", c.netns, low >> 8, low & 0xff) &&
        run(false, "ip -n %s link set eth0 up", c.netns) && run(false, "ip -n %s link set lo up", c.netns)) {
        *out = c;
        return true;
    }
    rb_node_cable_remove(&c);
    return rb_err_set(err, RB_E_MOCK_SYSTEM, "ip(8) could not make the network namespace %s", c.netns);
}

void rb_node_cable_remove(const struct rb_node_cable *c)
{
    run(true, "ip link del %s", c->link);
    run(true, "ip netns del %s", c->netns);
}

bool rb_node_cable_set(const struct rb_node_cable *c, bool connected, struct rb_err *err)
{
    if (run(false, "ip link set %s %s", c->link, connected ? "up" : "down"))
        return true;
    return rb_err_set(err, RB_E_MOCK_SYSTEM, "ip(8) could not set %s", c->link);
}

bool rb_node_cable_drop(const struct rb_node_cable *c, bool drop, struct rb_err *err)
{
    run(true, "ip netns exec %s nft delete table inet cutoff", c->netns);
    if (!drop)
        return true;
    char nft[64];
    snprintf(nft, sizeof nft, "ip netns exec %s nft", c->netns);
    if (run(false, "%s add table inet cutoff", nft) &&
        run(false, "%s add chain inet cutoff i { type filter hook input priority 0 ; policy drop ; }", nft) &&
        run(false, "%s add chain inet cutoff o { type filter hook output priority 0 ; policy drop ; }", nft))
        return true;
    return rb_err_set(err, RB_E_MOCK_SYSTEM, "nft(8) could not drop the packets of %s", c->netns);
}
