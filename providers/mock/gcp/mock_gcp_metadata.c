// Reads the metadata of an insert: what the instance keeps, and the user data of the node.
#include "providers/mock/gcp/mock_gcp_body.h"
#include "providers/mock/node/user_data.h"

#include <string.h>

#define MAX_METADATA (512 * 1024)

const char *rb_gcp_metadata_of(const struct rb_mock_gcp_instance *i, const char *key)
{
    for (int k = 0; k < i->n_metadata; k++)
        if (strcmp(i->metadata[k].key, key) == 0)
            return i->metadata[k].value;
    return NULL;
}

bool rb_gcp_read_items(struct rb_mock_gcp_call *call, const struct rb_node *list, struct rb_mock_gcp_instance *i)
{
    static const struct rb_member item[] = {
        {"key", RB_MEMBER_TEXT, offsetof(struct rb_mock_gcp_pair, key), .needed = true},
        {"value", RB_MEMBER_TEXT, offsetof(struct rb_mock_gcp_pair, value)},
        {0},
    };
    size_t total = 0;
    if (!list)
        return true;
    if (!rb_gcp_is_list(call, list))
        return false;
    struct rb_mock_gcp_pair *pairs = rb_arena_array(call->arena, (size_t)list->n_children + 1, sizeof *pairs);
    i->metadata = pairs;
    for (const struct rb_node *child = list->first; child; child = child->next) {
        struct rb_mock_gcp_pair pair = {.value = ""};
        if (!rb_gcp_members_read(call, child, item, &pair))
            return false;
        if (rb_gcp_metadata_of(i, pair.key))
            return rb_gcp_refuse_field(call, child, "duplicate metadata key");
        total += strlen(pair.key) + strlen(pair.value);
        pairs[i->n_metadata++] = pair;
    }
    return total <= MAX_METADATA || rb_gcp_refuse_field(call, list, "metadata is limited to 512 KB in all");
}

// A startup script and ssh-keys as cloud-config, the one format that nodes read. "ssh-keys" has lines USER:KEY.
static const char *as_cloud_config(struct rb_mock_gcp_call *call, const char *script, const char *keys)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    struct rb_json j;
    rb_buf_puts(&text, "#cloud-config\nssh_authorized_keys:\n");
    for (const char *at = keys; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        const char *colon = strchr(at, ':');
        size_t n = strcspn(at, "\n");
        if (colon && (size_t)(colon - at) < n)
            rb_buf_printf(&text, "  - %.*s\n", (int)(n - (size_t)(colon - at) - 1), colon + 1);
    }
    if (*script) {
        bool bash = strncmp(script, "#!", 2) == 0 && memchr(script, 'b', strcspn(script, "\n")) &&
                    strstr(rb_arena_strndup(call->arena, script, strcspn(script, "\n")), "bash");
        rb_buf_printf(&text, "runcmd:\n  - [%s, -c, ", bash ? "bash" : "sh");
        rb_json_init(&j, &text, false);
        rb_json_string(&j, script); // a JSON string is a YAML string
        rb_buf_puts(&text, "]\n");
    }
    return rb_arena_strdup(call->arena, rb_buf_str(&text));
}

bool rb_gcp_read_metadata(struct rb_mock_gcp_call *call, const struct rb_node *node, struct rb_mock_gcp_instance *i,
                          struct rb_cloud_launch *l)
{
    static const struct rb_member members[] = {{"items", RB_MEMBER_NODE, 0}, {0}};
    const struct rb_node *items = NULL;
    struct rb_err err;
    if (!rb_gcp_members_read(call, node, members, &items) || !rb_gcp_read_items(call, items, i))
        return false;
    const char *user_data = rb_gcp_metadata_of(i, "user-data"), *script = rb_gcp_metadata_of(i, "startup-script"),
               *keys = rb_gcp_metadata_of(i, "ssh-keys");
    if (user_data && (script || keys))
        return rb_gcp_refuse_field(call, node,
                                   "this mock cloud carries out either user-data or startup-script and ssh-keys");
    if (!user_data)
        user_data = keys ? as_cloud_config(call, script ? script : "", keys) : script ? script : "";
    if (!rb_user_data_is_harmless(user_data, strlen(user_data), &err))
        return rb_gcp_refuse_field(call, node, err.message);
    l->user_data = user_data;
    l->user_data_len = strlen(user_data);
    return true;
}
