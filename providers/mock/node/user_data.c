// cloud-config, and the search for paths to the host's own tools.
#include "providers/mock/node/user_data.h"
#include "base/text/buf.h"
#include "base/document/doc.h"

#include <ctype.h>
#include <string.h>

const char *const rb_user_data_tools[] = {"apt",         "apt-get", "dnf",      "dpkg", "halt", "init",
                                          "poweroff",    "reboot",  "shutdown", "snap", "sudo", "systemctl",
                                          "systemd-run", "telinit", "yum",      NULL};

// --- the search ---

static bool is_path_char(char c)
{
    return isalnum((unsigned char)c) || strchr("._-+/", c);
}

static bool is_tool(const char *name, size_t n)
{
    for (int i = 0; rb_user_data_tools[i]; i++)
        if (strlen(rb_user_data_tools[i]) == n && strncmp(rb_user_data_tools[i], name, n) == 0)
            return true;
    return false;
}

// Is the word a path into some bin folder that ends in a tool's name? /sbin/halt, /usr/bin/../sbin/halt,
// $ROOT/bin/halt
static bool is_tool_path(const char *word, size_t n)
{
    size_t base = n;
    while (base > 0 && word[base - 1] != '/')
        base--;
    if (base < 4 || !is_tool(word + base, n - base))
        return false;
    size_t slashes = base;
    while (slashes > 0 && (word[slashes - 1] == '/' || word[slashes - 1] == '.'))
        slashes--;
    return slashes >= 3 && strncmp(word + slashes - 3, "bin", 3) == 0;
}

static bool starts_word(const char *text, size_t at)
{
    return at == 0 || (!isalnum((unsigned char)text[at - 1]) && text[at - 1] != '_');
}

// PATH=..., but for PATH=$PATH... and PATH="${PATH}...", which only append.
static bool replaces_path(const char *text, size_t n, size_t at)
{
    static const char *const appending[] = {"$PATH", "\"$PATH", "${PATH", "\"${PATH"};
    if (n - at < 5 || strncmp(text + at, "PATH=", 5) != 0 || !starts_word(text, at))
        return false;
    for (size_t i = 0; i < sizeof appending / sizeof *appending; i++) {
        size_t len = strlen(appending[i]);
        if (n - at - 5 >= len && strncmp(text + at + 5, appending[i], len) == 0)
            return false;
    }
    return true;
}

// `command -p` and `env -i` forget the node's PATH.
static bool forgets_path(const char *text, size_t n, size_t at)
{
    static const char *const words[] = {"command -p", "env -i", "env -"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        size_t len = strlen(words[i]);
        if (n - at >= len && strncmp(text + at, words[i], len) == 0 && starts_word(text, at) &&
            (n - at == len || isspace((unsigned char)text[at + len])))
            return true;
    }
    return false;
}

bool rb_user_data_is_harmless(const char *text, size_t n, struct rb_err *err)
{
    int line = 1;
    for (size_t at = 0; at < n; at++) {
        line += text[at] == '\n';
        if (replaces_path(text, n, at))
            return rb_err_set(err, RB_E_MOCK_USER_DATA,
                              "line %d: PATH= must begin with $PATH, or the node's commands would be the "
                              "host's",
                              line);
        if (forgets_path(text, n, at))
            return rb_err_set(err, RB_E_MOCK_USER_DATA,
                              "line %d: `command -p` and `env -i` would run the host's commands on a mock "
                              "node",
                              line);
        if (!is_path_char(text[at]) || (at > 0 && is_path_char(text[at - 1])))
            continue;
        size_t len = 1;
        while (at + len < n && is_path_char(text[at + len]))
            len++;
        while (len > 1 && text[at + len - 1] == '.') // a full stop after the path
            len--;
        if (is_tool_path(text + at, len))
            return rb_err_set(err, RB_E_MOCK_USER_DATA,
                              "line %d: %.*s is the host's; write the command's name alone and the node's own "
                              "is found in its PATH",
                              line, (int)(len < 80 ? len : 80), text + at);
    }
    return true;
}

// --- cloud-config ---

static bool join_lines(const struct rb_node *list, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    if (list && !rb_node_list(list, err))
        return false;
    for (const struct rb_node *item = list ? list->first : NULL; item; item = item->next) {
        const char *line;
        if (!rb_node_string(item, &line, err))
            return false;
        rb_buf_printf(&text, "%s\n", line);
    }
    *out = rb_arena_strdup(arena, rb_buf_str(&text));
    return true;
}

static bool append_command(const struct rb_node *item, struct rb_buf *out, struct rb_err *err)
{
    if (item->kind != RB_NODE_LIST) {
        const char *text;
        if (!rb_node_string(item, &text, err))
            return false;
        rb_buf_printf(out, "%s\n", text);
        return true;
    }
    for (const struct rb_node *word = item->first; word; word = word->next) {
        if (word->kind == RB_NODE_LIST || word->kind == RB_NODE_MAP || word->kind == RB_NODE_NULL)
            return rb_node_refuse(word, err, RB_E_MOCK_USER_DATA, "expected a word of a command");
        rb_buf_shell_quote(out, word->text);
        rb_buf_putc(out, ' ');
    }
    rb_buf_putc(out, '\n');
    return true;
}

static bool join_commands(const struct rb_node *list, struct rb_arena *arena, const char **out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    if (list && !rb_node_list(list, err))
        return false;
    for (const struct rb_node *item = list ? list->first : NULL; item; item = item->next)
        if (!append_command(item, &text, err))
            return false;
    *out = rb_arena_strdup(arena, rb_buf_str(&text));
    return true;
}

static bool read_host_key(const struct rb_node *node, struct rb_arena *arena, struct rb_user_data *out,
                          struct rb_err *err)
{
    struct rb_map m;
    const struct rb_node *private_key, *public_key;
    const char *private_text, *public_text;
    if (!node)
        return true;
    if (!rb_map_begin(&m, node, err) || !rb_map_need(&m, "ed25519_private", &private_key, err) ||
        !rb_map_need(&m, "ed25519_public", &public_key, err) || !rb_map_end(&m, err) ||
        !rb_node_string(private_key, &private_text, err) || !rb_node_string(public_key, &public_text, err))
        return false;
    out->host_private = rb_arena_strdup(arena, private_text);
    out->host_public = rb_arena_strdup(arena, public_text);
    return true;
}

static bool read_cloud_config(const struct rb_node *root, struct rb_arena *arena, struct rb_user_data *out,
                              struct rb_err *err)
{
    struct rb_map m;
    bool delete_keys;
    if (!rb_map_begin(&m, root, err))
        return false;
    const struct rb_node *deletekeys = rb_map_get(&m, "ssh_deletekeys");
    rb_map_get(&m, "users");
    rb_map_get(&m, "disable_root");
    return join_lines(rb_map_get(&m, "ssh_authorized_keys"), arena, &out->authorized_keys, err) &&
           read_host_key(rb_map_get(&m, "ssh_keys"), arena, out, err) &&
           join_commands(rb_map_get(&m, "bootcmd"), arena, &out->boot_script, err) &&
           join_commands(rb_map_get(&m, "runcmd"), arena, &out->run_script, err) &&
           (!deletekeys || rb_node_bool(deletekeys, &delete_keys, err)) && rb_map_end(&m, err);
}

bool rb_user_data_read(const char *text, size_t n, struct rb_arena *arena, struct rb_user_data *out, struct rb_err *err)
{
    static const char header[] = "#cloud-config";
    struct rb_user_data u = {.authorized_keys = "", .boot_script = "", .run_script = ""};
    if (!rb_user_data_is_harmless(text, n, err))
        return false;
    if (memchr(text, '\0', n))
        return rb_err_set(err, RB_E_MOCK_USER_DATA, "NUL bytes; compressed user data is not supported");
    if (n >= 2 && text[0] == '#' && text[1] == '!') {
        u.run_script = rb_arena_strndup(arena, text, n);
    } else if (n >= sizeof header && strncmp(text, header, sizeof header - 1) == 0 &&
               isspace((unsigned char)text[sizeof header - 1])) {
        struct rb_doc doc;
        if (!rb_doc_parse_yaml(&doc, "user-data", text, n, err))
            return false;
        bool ok = read_cloud_config(doc.root, arena, &u, err);
        rb_doc_finish(&doc);
        if (!ok)
            return false;
    } else if (n > 0) {
        return rb_err_set(err, RB_E_MOCK_USER_DATA, "expected a first line of #cloud-config or #!");
    }
    *out = u;
    return true;
}
