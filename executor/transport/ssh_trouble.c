#include "executor/transport/ssh_trouble.h"

#include <string.h>

// ssh prints English in every locale. The first match counts.
static const struct {
    const char *words;
    bool passes;
    const char *remedy;
} troubles[] = {
    {"IDENTIFICATION HAS CHANGED", false,
     "another machine than the launched one answers there: check who has that address before you continue"},
    {"Host key verification failed", false,
     "it does not have the host key it was launched with: use an image that runs cloud-init (resources.image_id), and "
     "look whether another machine has that address"},
    {"Permission denied", false,
     "the image's login user may have another name: set resources.ssh.user (ubuntu, debian, ec2-user, ...); or it does "
     "not run cloud-init"},
    {"Connection refused", true,
     "no sshd listens on that port: check resources.ssh.port, and that the image starts sshd at boot"},
    {"timed out", true,
     "nothing comes back from there: let this machine in on the ssh port (resources.security_groups, the network's "
     "firewall), and give its subnet a way out"},
    {"No route to host", true,
     "there is no way to that address from here: use a subnet with public addresses (resources.subnets), or run this "
     "inside the cloud's network"},
    {"Network is unreachable", true, "this machine has no network, or none that leads there"},
    {"Could not resolve", true, "this machine cannot look the name up: check its DNS"},
    {"Connection reset", true, "sshd answers and hangs up: the image may still boot, or be out of memory"},
    {"Connection closed", true, "sshd answers and hangs up: the image may still boot, or be out of memory"},
    {"kex_exchange", true, "sshd answers and hangs up: the image may still boot, or be out of memory"},
};
enum { N_TROUBLES = sizeof troubles / sizeof *troubles };

static int find(const char *said)
{
    int i = 0;
    while (i < N_TROUBLES && !strstr(said, troubles[i].words))
        i++;
    return i;
}

bool rb_ssh_trouble_passes(const char *said)
{
    const int i = find(said);
    return i == N_TROUBLES || troubles[i].passes;
}

// The last line has the reason. Line ends, CR LF, were replaced by '?' before.
static void last_line(const char *said, struct rb_buf *out)
{
    size_t n = strlen(said);
    while (n > 0 && strchr(" .?", said[n - 1]))
        n--;
    size_t first = n;
    while (first > 0 && strncmp(said + first - 1, "??", 2) != 0)
        first--;
    first += first > 0;
    rb_buf_append(out, said + first, n - first);
}

void rb_ssh_trouble_text(const char *said, struct rb_buf *out)
{
    const int i = find(said);
    const size_t before = out->len;
    last_line(said, out);
    if (out->len == before)
        rb_buf_puts(out, "the connection ended without a word");
    if (i < N_TROUBLES)
        rb_buf_printf(out, "; %s", troubles[i].remedy);
}
