// Shell words are quoted, since a directory may be called anything.
#include "providers/mock/node/passport.h"

#include "base/arena.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_PATH 4096

static void add_quoted(struct rb_buf *out, const char *value)
{
    rb_buf_putc(out, '\'');
    for (const char *c = value; *c; c++)
        if (*c == '\'')
            rb_buf_puts(out, "'\\''");
        else
            rb_buf_putc(out, *c);
    rb_buf_putc(out, '\'');
}

static void add_word(struct rb_buf *out, const char *name, const char *value)
{
    rb_buf_printf(out, " %s=", name);
    add_quoted(out, value);
}

static bool write_private(const char *path, const struct rb_buf *text, struct rb_err *err)
{
    unlink(path); // one that is there may have been opened by another user
    const int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
    const bool ok = fd >= 0 && write(fd, text->data, text->len) == (ssize_t)text->len;
    const int saved = errno;
    if (fd >= 0)
        close(fd);
    return ok || rb_err_set(err, RB_E_MOCK_SYSTEM, "cannot write %s: %s", path, strerror(saved));
}

static bool write_key(const struct rb_mock_passport *p, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_printf(&text, "[default]\naws_access_key_id = %s\naws_secret_access_key = %s\n", p->key->access_key,
                  p->key->secret_key);
    return write_private(path, &text, err);
}

// Contexts: NAME, without TLS, and NAME-tls, which is the current one: kubectl sends no token without TLS.
static bool write_kubeconfig(const struct rb_mock_passport *p, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    rb_buf_printf(&text,
                  "apiVersion: v1\nkind: Config\ncurrent-context: %s-tls\nclusters:\n"
                  "- {name: %s, cluster: {server: \"%s\"}}\n"
                  "- {name: %s-tls, cluster: {server: \"%s\", certificate-authority-data: %s}}\ncontexts:\n",
                  p->cluster, p->cluster, p->k8s_url, p->cluster, p->k8s_tls_url, p->authority);
    for (int tls = 0; tls < 2; tls++)
        rb_buf_printf(&text, "- {name: %s%s, context: {cluster: %s%s, user: rbmock, namespace: %s}}\n", p->cluster,
                      tls ? "-tls" : "", p->cluster, tls ? "-tls" : "", p->space);
    rb_buf_printf(&text, "users:\n- {name: rbmock, user: {token: \"%s\"}}\n", p->key->secret_key);
    return write_private(path, &text, err);
}

static void write_lines(const struct rb_mock_passport *p, const char *key_path, const char *account_path,
                        const char *kubeconfig, struct rb_buf *out)
{
    rb_buf_puts(out,
                "unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_PROFILE AWS_DEFAULT_PROFILE\n");
    rb_buf_puts(out, "export");
    add_word(out, "AWS_SHARED_CREDENTIALS_FILE", key_path);
    rb_buf_puts(out, " AWS_CONFIG_FILE=/dev/null\nexport");
    add_word(out, "AWS_ENDPOINT_URL", p->ec2_url);
    if (p->region)
        add_word(out, "AWS_DEFAULT_REGION", p->region);
    if (account_path) {
        rb_buf_puts(out, "\nexport");
        add_word(out, "GOOGLE_APPLICATION_CREDENTIALS", account_path);
    }
    rb_buf_puts(out, "\nexport");
    add_word(out, "RB_GCP_COMPUTE_ENDPOINT", p->gcp_url);
    add_word(out, "RB_GCP_BILLING_ENDPOINT", p->gcp_url);
    if (p->k8s_url) {
        rb_buf_puts(out, "\nexport");
        add_word(out, "KUBECONFIG", kubeconfig);
    }
    rb_buf_puts(out, "\nexport");
    add_word(out, "RB_SSH_USER", p->user);
    rb_buf_putc(out, '\n');
}

bool rb_mock_passport_write(const struct rb_mock_passport *p, struct rb_buf *lines, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    char key_path[MAX_PATH], account_path[MAX_PATH], env_path[MAX_PATH], kubeconfig[MAX_PATH], token_url[256];
    snprintf(key_path, sizeof key_path, "%s/credentials", p->dir);
    snprintf(env_path, sizeof env_path, "%s/env", p->dir);
    snprintf(account_path, sizeof account_path, "%s/account.json", p->dir);
    snprintf(kubeconfig, sizeof kubeconfig, "%s/kubeconfig", p->dir);
    snprintf(token_url, sizeof token_url, "%s/token", p->gcp_url);
    const char *account = p->account_path ? p->account_path : account_path;
    if (!write_key(p, key_path, err) || (p->account && !rb_mock_gcp_account_write(p->account, account, token_url, err)) ||
        (p->k8s_url && !write_kubeconfig(p, kubeconfig, err)))
        return false;
    RB_AUTO(rb_auto_free) char *absolute = p->account ? realpath(account, NULL) : NULL;
    write_lines(p, key_path, absolute, kubeconfig, &text);
    if (!write_private(env_path, &text, err))
        return false;
    rb_buf_append(lines, text.data, text.len);
    rb_buf_puts(lines, "# paste these lines into a shell, or run: . ");
    add_quoted(lines, env_path);
    rb_buf_putc(lines, '\n');
    return true;
}

void rb_mock_passport_remove(const char *dir)
{
    static const char *const names[] = {"credentials", "account.json", "kubeconfig", "env"};
    char path[MAX_PATH];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        snprintf(path, sizeof path, "%s/%s", dir, names[i]);
        unlink(path);
    }
}
