// Checks that fail early with a remedy, instead of nodes that never answer.
#include "providers/mock/node/node_host.h"

#include <arpa/inet.h>
#include <errno.h>
#include <pwd.h>
#include <shadow.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define LOOPBACK    UINT32_C(0x7f000000)
#define FIRST_BLOCK 1 // 127.0.x.y is used by other programs
#define LAST_BLOCK  254

// The socket never listens: being bound is the claim, and it ends with the process.
static int try_claim(uint32_t address, int port)
{
    struct sockaddr_in at = {
        .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(address)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&at, sizeof at) == 0)
        return fd;
    int saved = errno;
    if (fd >= 0)
        close(fd);
    errno = saved;
    return -1;
}

bool rb_node_host_claim(int ssh_port, uint32_t *out_first, uint32_t *out_count, int *out_lock, struct rb_err *err)
{
    for (uint32_t block = FIRST_BLOCK; block <= LAST_BLOCK; block++) {
        uint32_t base = LOOPBACK | block << 16;
        int fd = try_claim(base | 1, ssh_port);
        if (fd < 0 && errno == EADDRINUSE)
            continue;
        if (fd < 0)
            return rb_err_set(err, RB_E_MOCK_SOCKET, "cannot bind to 127.%u.0.1:%d: %s", block, ssh_port,
                              strerror(errno));
        *out_first = base | 2;
        *out_count = 0xfffd; // 127.K.255.255 is left out
        *out_lock = fd;
        return true;
    }
    return rb_err_set(
        err, RB_E_MOCK_SOCKET,
        "port %d is taken on every 127.K.0.1: something listens on 0.0.0.0:%d, or 254 rbmocks run; choose "
        "another ssh_port",
        ssh_port, ssh_port);
}

static bool check_account(struct rb_err *err)
{
    const struct passwd *me = getpwuid(getuid());
    if (!me)
        return rb_err_set(err, RB_E_MOCK_ACCOUNT, "user %d has no entry in /etc/passwd, so sshd would refuse it",
                          (int)getuid());
    const struct spwd *shadow = getspnam(me->pw_name); // NULL for ordinary users, who may not look
    if (shadow && shadow->sp_pwdp[0] == '!')
        return rb_err_set(err, RB_E_MOCK_ACCOUNT,
                          "the account %s is locked, and sshd without PAM refuses locked accounts even with a key; "
                          "`usermod -p '*' %s` leaves it without a password but unlocked",
                          me->pw_name, me->pw_name);
    const char *shell = me->pw_shell && *me->pw_shell ? me->pw_shell : "/bin/sh";
    if (access(shell, X_OK) != 0 || strstr(shell, "nologin") || strstr(shell, "/false"))
        return rb_err_set(err, RB_E_MOCK_ACCOUNT,
                          "the account %s has no login shell (%s); run rbmock as a user that has one", me->pw_name,
                          shell);
    return true;
}

bool rb_node_host_check(struct rb_err *err)
{
    if (access("/usr/sbin/sshd", X_OK) != 0 || access("/usr/bin/ssh-keygen", X_OK) != 0)
        return rb_err_set(err, RB_E_MOCK_SSHD, "/usr/sbin/sshd or ssh-keygen is missing: install openssh-server");
    if (getuid() == 0 && mkdir("/run/sshd", 0755) != 0 && errno != EEXIST)
        return rb_err_set(err, RB_E_MOCK_SYSTEM, "/run/sshd: %s", strerror(errno));
    return check_account(err);
}
