// Source: client.authentication.k8s.io/v1, ExecCredential.
#include "providers/k8s/kube_login.h"

#include "base/document/doc.h"
#include "base/document/json.h"
#include "base/errors/log.h"
#include "base/text/units.h"
#include "providers/wire/child_answer.h"
#include "providers/wire/digest.h"
#include "providers/wire/expiry.h"
#include "providers/wire/private_file.h"

#include <stdlib.h>
#include <string.h>

extern char **environ;

static const int64_t reread_us = 60 * RB_US_PER_S;        // of a token file: kubelet replaces it at 80 % of its life
static const int64_t renew_before_us = 120 * RB_US_PER_S; // what an exec begun now still needs

enum { MAX_TOKEN_LEN = 16384 };

struct rb_kube_login {
    const struct rb_loop *loop;
    const struct rb_kubeconfig *config;
    struct rb_http_peer peer;
    char *token, *cert_pem, *key_pem; // of the file or the plugin; NULL: none
    int64_t stale_at_us;              // unix; when they are got again
};

static void wipe(char **text)
{
    if (*text)
        explicit_bzero(*text, strlen(*text));
    free(*text);
    *text = NULL;
}

static bool is_token(const char *s)
{
    for (; *s; s++)
        if (*s < 0x21 || *s > 0x7e)
            return false;
    return true;
}

static int64_t unix_us(const struct rb_kube_login *l)
{
    return l->loop->unix_us(l->loop->ctx);
}

// --- a file

static bool read_token_file(struct rb_kube_login *l, struct rb_err *err)
{
    struct rb_private_file file = {.path = rb_xstrdup(l->config->token_file)};
    bool ok = rb_private_file_read(&file, err);
    if (ok) {
        const size_t n = file.present ? strcspn(file.text, " \t\r\n") : 0;
        if (file.present)
            file.text[n] = '\0';
        ok = (n > 0 && n <= MAX_TOKEN_LEN && is_token(file.text)) ||
             rb_err_set_at(err, RB_E_K8S_CREDENTIALS, (struct rb_place){.file = file.path}, NULL,
                           "expected a file that holds one token");
    }
    if (ok) {
        wipe(&l->token);
        l->token = rb_xstrdup(file.text);
        l->stale_at_us = unix_us(l) + reread_us;
    }
    rb_private_file_finish(&file);
    return ok;
}

// --- a plugin

static char **plugin_env(const struct rb_kube_login *l, struct rb_arena *arena)
{
    const struct rb_kube_plugin *p = &l->config->plugin;
    RB_AUTO(rb_buf_finish) struct rb_buf info = RB_BUF_INIT;
    struct rb_json j;
    size_t n = 0, k = 0;
    while (environ[n])
        n++;
    while (p->env[k])
        k++;
    rb_buf_puts(&info, "KUBERNETES_EXEC_INFO=");
    rb_json_init(&j, &info, false);
    rb_json_put(&j, "{apiVersion: %s, kind: 'ExecCredential', spec: {interactive: false", p->version);
    if (p->wants_cluster) {
        RB_AUTO(rb_auto_free) char *ca = NULL;
        const char *pem = l->config->peer.ca_pem;
        if (pem) {
            ca = rb_xcalloc(4 * (strlen(pem) / 3 + 1) + 1, 1);
            rb_base64_encode(pem, strlen(pem), ca);
        }
        rb_json_put(&j, ", cluster: {server: %s, 'tls-server-name': %s, 'certificate-authority-data': %s}",
                    l->config->server, l->config->peer.tls_name, ca);
    }
    rb_json_put(&j, "}}");
    char **env = rb_arena_array(arena, n + k + 2, sizeof *env);
    size_t at = 0;
    // The first of two variables of one name counts.
    env[at++] = rb_arena_strdup(arena, rb_buf_str(&info));
    for (size_t i = 0; i < k; i++)
        env[at++] = rb_arena_strdup(arena, p->env[i]);
    for (size_t i = 0; i < n; i++)
        env[at++] = environ[i];
    return env;
}

static char *text_of(const struct rb_node *status, const char *key)
{
    const char *text = rb_node_member_text(status, key);
    return *text ? rb_xstrdup(text) : NULL;
}

static bool keep_credential(struct rb_kube_login *l, const struct rb_node *root, struct rb_err *err)
{
    const struct rb_node *status = rb_node_member(root, "status"),
                         *ends = rb_node_member(status, "expirationTimestamp");
    int64_t expires_us = INT64_MAX;
    if (strcmp(rb_node_member_text(root, "kind"), "ExecCredential") != 0 || !status)
        return rb_err_set(err, RB_E_K8S_CREDENTIALS, "%s: expected an ExecCredential with a status",
                          l->config->plugin.argv[0]);
    if (ends && (ends->kind != RB_NODE_STRING || !rb_parse_instant(ends->text, &expires_us, NULL)))
        return rb_err_set(err, RB_E_K8S_CREDENTIALS, "%s: status.expirationTimestamp: expected an instant",
                          l->config->plugin.argv[0]);
    wipe(&l->token);
    wipe(&l->cert_pem);
    wipe(&l->key_pem);
    l->token = text_of(status, "token");
    l->cert_pem = text_of(status, "clientCertificateData");
    l->key_pem = text_of(status, "clientKeyData");
    l->stale_at_us = expires_us == INT64_MAX ? INT64_MAX : expires_us - renew_before_us;
    if ((l->token && is_token(l->token) && strlen(l->token) <= MAX_TOKEN_LEN) || (l->cert_pem && l->key_pem))
        return true;
    wipe(&l->token);
    return rb_err_set(err, RB_E_K8S_CREDENTIALS,
                      "%s: expected status.token, or status.clientCertificateData and clientKeyData",
                      l->config->plugin.argv[0]);
}

static bool run_plugin(struct rb_kube_login *l, struct rb_err *err)
{
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    RB_AUTO(rb_private_doc_finish) struct rb_doc doc = {0};
    struct rb_buf out = RB_BUF_INIT;
    const struct rb_child_question q = {
        .setting = "users.user.exec",
        .argv = l->config->plugin.argv,
        .env = plugin_env(l, &arena),
    };
    const bool ok = rb_child_answer(&q, &out, err) &&
                    rb_doc_parse_json(&doc, q.argv[0], rb_buf_str(&out), out.len, err) &&
                    keep_credential(l, doc.root, err);
    if (out.data)
        explicit_bzero(out.data, out.cap);
    rb_buf_finish(&out);
    if (ok)
        rb_trace("provider", "%s gave a credential", q.argv[0]);
    return ok;
}

// --- the interface

bool rb_kube_login_get(struct rb_kube_login *l, const char **out_token, struct rb_err *err)
{
    const bool is_kept = (l->token || l->cert_pem) && unix_us(l) < l->stale_at_us;
    if (l->config->token_file && !is_kept && !read_token_file(l, err))
        return false;
    if (l->config->plugin.argv && !is_kept && !run_plugin(l, err))
        return false;
    l->peer = l->config->peer;
    if (l->cert_pem) {
        l->peer.cert_pem = l->cert_pem;
        l->peer.key_pem = l->key_pem;
    }
    *out_token = l->token ? l->token : l->config->token;
    return true;
}

bool rb_kube_login_forget(struct rb_kube_login *l)
{
    l->stale_at_us = 0;
    return l->config->token_file || l->config->plugin.argv;
}

int64_t rb_kube_login_ends_us(const struct rb_kube_login *l)
{
    const struct rb_kubeconfig *c = l->config;
    if (c->token_file || c->plugin.argv)
        return -1;
    return c->token ? rb_jwt_ends_us(c->token) : c->peer.cert_pem ? rb_certificate_ends_us(c->peer.cert_pem) : -1;
}

const struct rb_http_peer *rb_kube_login_peer(const struct rb_kube_login *l)
{
    return &l->peer;
}

struct rb_kube_login *rb_kube_login_create(const struct rb_loop *loop, const struct rb_kubeconfig *config)
{
    struct rb_kube_login *l = rb_xcalloc(1, sizeof *l);
    l->loop = loop;
    l->config = config;
    l->peer = config->peer;
    return l;
}

void rb_kube_login_destroy(struct rb_kube_login *l)
{
    if (!l)
        return;
    wipe(&l->token);
    wipe(&l->cert_pem);
    wipe(&l->key_pem);
    free(l);
}
