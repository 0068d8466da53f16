#include "providers/k8s/kubeconfig.h"

#include "base/document/doc.h"
#include "base/text/buf.h"
#include "base/text/closest.h"
#include "providers/wire/digest.h"
#include "providers/wire/http_url.h"
#include "providers/wire/private_file.h"

#include <libgen.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FILES = 32 };

// Where a pod finds its service account. Source: kubelet; the tests have one of their own.
static const char service_account_dir[] = "/var/run/secrets/kubernetes.io/serviceaccount";

struct files {
    struct rb_private_file items[MAX_FILES];
    struct rb_doc docs[MAX_FILES];
    int n;
};

static void files_finish(struct files *f)
{
    for (int i = 0; i < f->n; i++) {
        rb_private_doc_finish(&f->docs[i]);
        rb_private_file_finish(&f->items[i]);
    }
}

static const char *env(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

// --- the files

static bool add_file(struct files *f, char *path, struct rb_err *err)
{
    struct rb_private_file *file = &f->items[f->n];
    file->path = path;
    if (!rb_private_file_read(file, err))
        return false;
    if (!file->present || file->len == 0) {
        rb_private_file_finish(file);
        return true;
    }
    // Most are YAML; JSON is YAML as far as this parser reads it.
    if (!rb_doc_parse_yaml(&f->docs[f->n], file->path, file->text, file->len, err))
        return false;
    f->n++;
    return true;
}

static bool read_files(struct files *f, struct rb_err *err)
{
    const char *list = env("KUBECONFIG");
    if (!list)
        return add_file(f, rb_private_file_path(NULL, ".kube/config"), err);
    for (const char *p = list; *p; p += strspn(p, ":")) {
        const size_t n = strcspn(p, ":");
        if (f->n == MAX_FILES)
            return rb_err_set(err, RB_E_K8S_CONFIG, "KUBECONFIG: expected at most %d files", MAX_FILES);
        char *path = rb_xcalloc(n + 1, 1);
        memcpy(path, p, n);
        p += n;
        if (!add_file(f, path, err))
            return false;
    }
    return true;
}

// --- the parts of a context

// An entry of a list of {name, what}; the first file that has one.
static const struct rb_node *find(const struct files *f, const char *list, const char *what, const char *name,
                                  const struct rb_private_file **out_file)
{
    for (int i = 0; i < f->n; i++)
        for (const struct rb_node *entry = rb_node_first(rb_node_member(f->docs[i].root, list)); entry;
             entry = entry->next) {
            const struct rb_node *known = rb_node_member(entry, "name");
            if (!known || !known->text || strcmp(known->text, name) != 0)
                continue;
            *out_file = &f->items[i];
            return rb_node_member(entry, what);
        }
    return NULL;
}

// Numbers and the like count as they are written; NULL: absent or empty.
static const char *scalar(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_node_member(map, key);
    return n && n->kind >= RB_NODE_BOOL && n->kind <= RB_NODE_STRING && n->text_len > 0 ? n->text : NULL;
}

static const char *copy(const struct rb_node *map, const char *key, struct rb_arena *arena)
{
    const char *text = scalar(map, key);
    return text ? rb_arena_strdup(arena, text) : NULL;
}

// Relative to the file that names it.
static char *path_beside(const struct rb_private_file *file, const char *path)
{
    RB_AUTO(rb_auto_free) char *own = rb_xstrdup(file->path);
    RB_AUTO(rb_buf_finish) struct rb_buf whole = RB_BUF_INIT;
    if (path[0] != '/')
        rb_buf_printf(&whole, "%s/", dirname(own));
    rb_buf_puts(&whole, path);
    return rb_xstrdup(rb_buf_str(&whole));
}

static bool read_pem_file(const struct rb_node *node, const struct rb_private_file *beside, bool is_secret,
                          struct rb_arena *arena, const char **out, struct rb_err *err)
{
    struct rb_private_file file = {.path = path_beside(beside, node->text)};
    bool ok = rb_private_file_read(&file, err);
    if (ok && !file.present)
        ok = rb_node_refuse(node, err, RB_E_K8S_CONFIG, "%s does not exist", file.path);
    ok = ok && (!is_secret || rb_private_file_check(&file, err));
    if (ok)
        *out = rb_arena_strndup(arena, file.text, file.len);
    rb_private_file_finish(&file);
    return ok;
}

static bool read_pem_data(const struct rb_node *node, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    char *pem = rb_arena_alloc(arena, node->text_len + 4);
    const int n = rb_base64_decode(node->text, node->text_len, pem);
    if (n <= 0 || !strstr(pem, "-----BEGIN "))
        return rb_node_refuse(node, err, RB_E_K8S_CONFIG, "expected a PEM text in base64");
    pem[n] = '\0';
    *out = pem;
    return true;
}

// KEY-data goes before KEY, as in client-go.
static bool read_pem(const struct rb_node *map, const char *key, const char *data_key,
                     const struct rb_private_file *file, bool is_secret, struct rb_arena *arena, const char **out,
                     struct rb_err *err)
{
    if (scalar(map, data_key))
        return (!is_secret || rb_private_file_check(file, err)) &&
               read_pem_data(rb_node_member(map, data_key), arena, out, err);
    return !scalar(map, key) || read_pem_file(rb_node_member(map, key), file, is_secret, arena, out, err);
}

static bool check_url(const struct rb_node *node, struct rb_err *err)
{
    struct rb_err why;
    CURLU *url = rb_http_url_parse(node->text, &why);
    curl_url_cleanup(url);
    return url || rb_node_refuse(node, err, RB_E_ENDPOINT, "%s", why.message);
}

static bool is_true(const struct rb_node *map, const char *key)
{
    const struct rb_node *n = rb_node_member(map, key);
    return n && n->kind == RB_NODE_BOOL && n->boolean;
}

static bool read_cluster(const struct rb_node *c, const struct rb_private_file *file, struct rb_kubeconfig *out,
                         struct rb_err *err)
{
    if (!scalar(c, "server"))
        return rb_node_refuse(c, err, RB_E_K8S_CONFIG, "expected server: https://HOST:PORT");
    if (!check_url(rb_node_member(c, "server"), err))
        return false;
    char *server = rb_arena_strdup(&out->arena, scalar(c, "server"));
    for (size_t n = strlen(server); n > 0 && server[n - 1] == '/'; n--)
        server[n - 1] = '\0';
    out->server = server;
    if (is_true(c, "insecure-skip-tls-verify") && !rb_http_is_loopback(server))
        return rb_node_refuse(
            rb_node_member(c, "insecure-skip-tls-verify"), err, RB_E_K8S_CONFIG,
            "refused: anyone on the way could take the credentials; give the cluster's certificate in "
            "certificate-authority-data");
    out->peer.tls_name = copy(c, "tls-server-name", &out->arena);
    out->peer.proxy = copy(c, "proxy-url", &out->arena);
    return read_pem(c, "certificate-authority", "certificate-authority-data", file, false, &out->arena,
                    &out->peer.ca_pem, err);
}

// --- the user

static bool read_plugin_args(const struct rb_node *exec, const char *command, struct rb_kubeconfig *out,
                             struct rb_err *err)
{
    const struct rb_node *args = rb_node_member(exec, "args"), *vars = rb_node_member(exec, "env");
    const int n_args = args && args->kind == RB_NODE_LIST ? args->n_children : 0;
    const int n_vars = vars && vars->kind == RB_NODE_LIST ? vars->n_children : 0;
    const char **argv = rb_arena_array(&out->arena, (size_t)n_args + 2, sizeof *argv);
    const char **env_lines = rb_arena_array(&out->arena, (size_t)n_vars + 1, sizeof *env_lines);
    int n = 0;
    argv[n++] = command;
    for (const struct rb_node *arg = n_args ? args->first : NULL; arg; arg = arg->next) {
        if (!arg->text)
            return rb_node_refuse(arg, err, RB_E_K8S_CONFIG, "expected a word");
        argv[n++] = rb_arena_strdup(&out->arena, arg->text);
    }
    n = 0;
    for (const struct rb_node *var = n_vars ? vars->first : NULL; var; var = var->next) {
        const char *name = scalar(var, "name"), *value = scalar(var, "value");
        if (!name)
            return rb_node_refuse(var, err, RB_E_K8S_CONFIG, "expected name and value");
        env_lines[n++] = rb_arena_printf(&out->arena, "%s=%s", name, value ? value : "");
    }
    out->plugin.argv = argv;
    out->plugin.env = env_lines;
    return true;
}

static bool read_plugin(const struct rb_node *exec, const struct rb_private_file *file, struct rb_kubeconfig *out,
                        struct rb_err *err)
{
    static const char *const versions[] = {"client.authentication.k8s.io/v1", "client.authentication.k8s.io/v1beta1",
                                           NULL};
    const char *command = scalar(exec, "command"), *version = scalar(exec, "apiVersion"),
               *mode = scalar(exec, "interactiveMode");
    if (!rb_private_file_check(file, err))
        return false;
    if (!command)
        return rb_node_refuse(exec, err, RB_E_K8S_CONFIG, "expected command: the program that prints a credential");
    if (!version || !rb_is_one_of(version, versions))
        return rb_node_refuse(exec, err, RB_E_K8S_CONFIG, "expected apiVersion: %s, got \"%.80s\"", versions[0],
                              version ? version : "");
    if (mode && strcmp(mode, "Always") == 0)
        return rb_node_refuse(rb_node_member(exec, "interactiveMode"), err, RB_E_K8S_CONFIG,
                              "a run has no terminal for %.80s: use a way to log in that asks nothing", command);
    // With a slash in it the program lies beside the file; else it is looked up in PATH.
    RB_AUTO(rb_auto_free) char *beside = strchr(command, '/') ? path_beside(file, command) : rb_xstrdup(command);
    out->plugin.version = rb_arena_strdup(&out->arena, version);
    out->plugin.wants_cluster = is_true(exec, "provideClusterInfo");
    return read_plugin_args(exec, rb_arena_strdup(&out->arena, beside), out, err);
}

static bool read_user(const struct rb_node *u, const struct rb_private_file *file, struct rb_kubeconfig *out,
                      struct rb_err *err)
{
    static const char *const unsupported[] = {"username", "password", "auth-provider", "as", NULL};
    for (const char *const *key = unsupported; *key; key++)
        if (rb_node_member(u, *key))
            return rb_node_refuse(rb_node_member(u, *key), err, RB_E_K8S_CONFIG,
                                  "not supported; use a token, tokenFile, a client certificate or exec");
    const struct rb_node *exec = rb_node_member(u, "exec");
    out->token = copy(u, "token", &out->arena);
    if (out->token && !rb_private_file_check(file, err))
        return false;
    if (scalar(u, "tokenFile")) { // it goes before the token, as in client-go
        RB_AUTO(rb_auto_free) char *path = path_beside(file, scalar(u, "tokenFile"));
        out->token_file = rb_arena_strdup(&out->arena, path);
    }
    if (!read_pem(u, "client-certificate", "client-certificate-data", file, false, &out->arena, &out->peer.cert_pem,
                  err) ||
        !read_pem(u, "client-key", "client-key-data", file, true, &out->arena, &out->peer.key_pem, err))
        return false;
    if (!out->peer.cert_pem != !out->peer.key_pem)
        return rb_node_refuse(u, err, RB_E_K8S_CONFIG, "expected a client certificate and its key, got one of them");
    return !exec || exec->kind == RB_NODE_NULL || read_plugin(exec, file, out, err);
}

// --- the whole

static bool unknown_context(const struct files *f, const char *name, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf known = RB_BUF_INIT;
    for (int i = 0; i < f->n; i++)
        for (const struct rb_node *c = rb_node_first(rb_node_member(f->docs[i].root, "contexts")); c; c = c->next)
            if (scalar(c, "name") && known.len < 300)
                rb_buf_printf(&known, "%s%.80s", known.len ? ", " : "", scalar(c, "name"));
    return rb_err_set_at(
        err, RB_E_K8S_CONFIG, (struct rb_place){.file = f->items[0].path}, "contexts",
        "no context \"%.100s\" (there are: %s); name it in resources.kubernetes.context, or rename one "
        "with `kubectl config rename-context`",
        name, known.len ? rb_buf_str(&known) : "none");
}

static bool read_context(const struct files *f, const char *name, const char *namespace, struct rb_kubeconfig *out,
                         struct rb_err *err)
{
    const struct rb_private_file *file, *cluster_file, *user_file;
    const struct rb_node *context = find(f, "contexts", "context", name, &file), *cluster, *user;
    if (!context)
        return unknown_context(f, name, err);
    const char *cluster_name = scalar(context, "cluster"), *user_name = scalar(context, "user");
    if (!cluster_name || !(cluster = find(f, "clusters", "cluster", cluster_name, &cluster_file)))
        return rb_node_refuse(context, err, RB_E_K8S_CONFIG, "its cluster \"%.80s\" is not among clusters",
                              cluster_name ? cluster_name : "");
    if (!user_name || !(user = find(f, "users", "user", user_name, &user_file)))
        return rb_node_refuse(context, err, RB_E_K8S_CONFIG, "its user \"%.80s\" is not among users",
                              user_name ? user_name : "");
    out->context = rb_arena_strdup(&out->arena, name);
    out->namespace = namespace ? rb_arena_strdup(&out->arena, namespace) : copy(context, "namespace", &out->arena);
    if (!out->namespace)
        out->namespace = "default";
    out->source = rb_arena_printf(&out->arena, "context %s of %s", name, file->path);
    return read_cluster(cluster, cluster_file, out, err) && read_user(user, user_file, out, err);
}

static bool read_service_account(const char *namespace, struct rb_kubeconfig *out, struct rb_err *err)
{
    const char *dir = env("RB_TEST_SERVICE_ACCOUNT"), *host = env("KUBERNETES_SERVICE_HOST"),
               *port = env("KUBERNETES_SERVICE_PORT");
    if (!dir)
        dir = service_account_dir;
    if (!host)
        return rb_err_set(err, RB_E_K8S_CONFIG,
                          "no kubeconfig: expected ~/.kube/config, files named by KUBECONFIG, or a pod with a service "
                          "account");
    static const char *const names[] = {"ca.crt", "namespace"};
    const char *texts[2] = {0};
    for (int i = 0; i < 2; i++) {
        struct rb_private_file file = {.path = rb_xstrdup(rb_arena_printf(&out->arena, "%s/%s", dir, names[i]))};
        const bool ok = rb_private_file_read(&file, err);
        if (ok && file.present)
            texts[i] = rb_arena_strndup(&out->arena, file.text, file.len);
        rb_private_file_finish(&file);
        if (!ok)
            return false;
    }
    const bool is_v6 = strchr(host, ':') != NULL;
    out->context = "in-cluster";
    out->namespace = namespace ? rb_arena_strdup(&out->arena, namespace) : texts[1] ? texts[1] : "default";
    out->server = rb_arena_printf(&out->arena, "https://%s%s%s:%s", is_v6 ? "[" : "", host, is_v6 ? "]" : "",
                                  port ? port : "443");
    out->peer = (struct rb_http_peer){.ca_pem = texts[0], .proxy = ""};
    out->token_file = rb_arena_printf(&out->arena, "%s/token", dir);
    out->source = "the service account of this pod";
    return true;
}

bool rb_kubeconfig_load(const char *context, const char *namespace, struct rb_kubeconfig *out, struct rb_err *err)
{
    struct rb_kubeconfig config = {0};
    RB_AUTO(files_finish) struct files files = {0};
    const bool ok = read_files(&files, err) && (files.n > 0 ? read_context(&files, context, namespace, &config, err)
                                                            : read_service_account(namespace, &config, err));
    if (ok)
        *out = config;
    else
        rb_kubeconfig_finish(&config);
    return ok;
}

bool rb_kube_place(const char *name, const struct rb_kubernetes_spec *spec, struct rb_kubeconfig *out,
                   struct rb_err *err)
{
    const char *context = env("RB_KUBE_CONTEXT"), *namespace = env("RB_KUBE_NAMESPACE");
    if (!context)
        context = spec->context ? spec->context : name;
    return rb_kubeconfig_load(context, namespace ? namespace : spec->namespace, out, err);
}

void rb_kubeconfig_finish(struct rb_kubeconfig *c)
{
    const char *secrets[] = {c->token, c->peer.key_pem};
    for (size_t i = 0; i < sizeof secrets / sizeof *secrets; i++)
        if (secrets[i])
            explicit_bzero((char *)(uintptr_t)secrets[i], strlen(secrets[i]));
    rb_arena_finish(&c->arena);
    *c = (struct rb_kubeconfig){0};
}
