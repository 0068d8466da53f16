// A list of names, each alone or with its settings: [tensorboard, {mlflow: {uri: ...}}].
#include "profiles/job/job_sinks.h"

#include "profiles/job/job_names.h"
#include "profiles/job/keys.h"

#include <string.h>

const char *const rb_sink_names[] = {"mlflow", "tensorboard", "optuna", "csv", "prometheus", NULL};
static const char *const schemas[] = {"3.2", "3.0", NULL};

enum { N_SINKS = 5, MAX_NAME = 250 };

bool rb_sink_check_uri(const char *uri, struct rb_err *err)
{
    const char *host = strncmp(uri, "https://", 8) == 0 ? uri + 8 : strncmp(uri, "http://", 7) == 0 ? uri + 7 : NULL;
    if (!host || !host[0] || host[0] == '/' || host[0] == ':')
        return rb_err_set(err, RB_E_SINK_URI,
                          "expected the address of a tracking server, http(s)://HOST[:PORT], got \"%.80s\"", uri);
    if (strchr(uri, '@'))
        return rb_err_set(err, RB_E_SINK_URI,
                          "an address holds no user and no password; set MLFLOW_TRACKING_USERNAME and "
                          "MLFLOW_TRACKING_PASSWORD, or MLFLOW_TRACKING_TOKEN, in the environment");
    for (const char *p = uri; *p; p++)
        if ((unsigned char)*p <= ' ' || *p == '?' || *p == '#' || *p == 0x7f)
            return rb_err_set(err, RB_E_SINK_URI, "an address holds no blank, ? or #, got \"%.80s\"", uri);
    return true;
}

static bool read_uri(struct rb_map *m, struct rb_arena *arena, struct rb_sink_spec *s, struct rb_err *err)
{
    struct rb_err why;
    if (!rb_keys_text(m, "uri", NULL, arena, &s->uri, err))
        return false;
    return !s->uri || rb_sink_check_uri(s->uri, &why) ||
           rb_node_refuse(rb_map_get(m, "uri"), err, rb_err_number(&why), "%s", why.message);
}

static bool read_experiment(struct rb_map *m, struct rb_arena *arena, struct rb_sink_spec *s, struct rb_err *err)
{
    if (!rb_keys_text(m, "experiment", NULL, arena, &s->experiment, err))
        return false;
    return !s->experiment || strlen(s->experiment) <= MAX_NAME ||
           rb_node_refuse(rb_map_get(m, "experiment"), err, RB_E_TEXT_FORM,
                          "expected a name of at most %d bytes, got %d", MAX_NAME, (int)strlen(s->experiment));
}

static bool read_mlflow(const struct rb_node *node, struct rb_arena *arena, struct rb_sink_spec *s, struct rb_err *err)
{
    static const char *const keys[] = {"uri", "experiment", NULL};
    struct rb_map m;
    return rb_keys_begin(&m, node, keys, err) && read_uri(&m, arena, s, err) && read_experiment(&m, arena, s, err);
}

static bool read_optuna(const struct rb_node *node, struct rb_arena *arena, struct rb_sink_spec *s, struct rb_err *err)
{
    static const char *const keys[] = {"file", "schema", NULL};
    struct rb_map m;
    int schema;
    if (!rb_keys_begin(&m, node, keys, err) || !rb_keys_text(&m, "file", NULL, arena, &s->path, err) ||
        !rb_keys_choice(&m, "schema", schemas, rb_names_count(schemas), 0, &schema, err))
        return false;
    s->schema = schemas[schema];
    return true;
}

static bool read_dir(const struct rb_node *node, struct rb_arena *arena, struct rb_sink_spec *s, struct rb_err *err)
{
    static const char *const keys[] = {"dir", NULL};
    struct rb_map m;
    return rb_keys_begin(&m, node, keys, err) && rb_keys_text(&m, "dir", NULL, arena, &s->path, err);
}

// Prometheus reads a folder of its own, which no default can know.
static bool read_prometheus(const struct rb_node *node, struct rb_arena *arena, struct rb_sink_spec *s,
                            struct rb_err *err)
{
    static const char *const keys[] = {"dir", NULL};
    struct rb_map m;
    return rb_keys_begin(&m, node, keys, err) && rb_keys_need_text(&m, "dir", arena, &s->path, err);
}

typedef bool read_fn(const struct rb_node *node, struct rb_arena *arena, struct rb_sink_spec *s, struct rb_err *err);
static read_fn *const readers[] = {[RB_SINK_MLFLOW] = read_mlflow,
                                   [RB_SINK_TENSORBOARD] = read_dir,
                                   [RB_SINK_OPTUNA] = read_optuna,
                                   [RB_SINK_CSV] = read_dir,
                                   [RB_SINK_PROMETHEUS] = read_prometheus};

// "tensorboard", or {tensorboard: {dir: tb}}.
static bool read_one(const struct rb_node *item, struct rb_arena *arena, struct rb_sink_spec *out, struct rb_err *err)
{
    const struct rb_node none = {.kind = RB_NODE_MAP,
                                 .line = item->line,
                                 .column = item->column,
                                 .doc = item->doc,
                                 .parent = item->parent,
                                 .index = item->index};
    const struct rb_node *settings = &none;
    int kind;
    if (item->kind == RB_NODE_MAP) {
        struct rb_map m;
        if (!rb_keys_begin(&m, item, rb_sink_names, err))
            return false;
        if (item->n_children != 1)
            return rb_node_refuse(item, err, RB_E_LIST_LENGTH,
                                  "expected one sink an entry, got %d; write a \"-\" before each", item->n_children);
        for (kind = 0; strcmp(rb_sink_names[kind], item->first->key) != 0; kind++)
            ;
        if (item->first->kind != RB_NODE_NULL)
            settings = item->first;
    } else if (!rb_node_choice(item, rb_sink_names, N_SINKS, &kind, err)) {
        return false;
    }
    *out = (struct rb_sink_spec){.kind = (enum rb_sink_kind)kind};
    return readers[kind](settings, arena, out, err);
}

bool rb_sinks_read(const struct rb_node *node, struct rb_arena *arena, struct rb_sink_list *out, struct rb_err *err)
{
    if (!node)
        return true;
    if (!rb_node_list(node, err))
        return false;
    struct rb_sink_spec *items = rb_arena_array(arena, (size_t)node->n_children + 1, sizeof *items);
    int n = 0;
    for (const struct rb_node *item = node->first; item; item = item->next, n++) {
        if (!read_one(item, arena, &items[n], err))
            return false;
        for (int k = 0; k < n; k++)
            if (items[k].kind == items[n].kind)
                return rb_node_refuse(item, err, RB_E_LIST_REPEATED, "\"%s\" is listed twice; remove one",
                                      rb_sink_names[items[n].kind]);
    }
    *out = (struct rb_sink_list){.items = items, .n = n};
    return true;
}

static void write_text(struct rb_json *j, const char *key, const char *text)
{
    if (text)
        rb_json_kstring(j, key, text);
}

void rb_sinks_write(const struct rb_sink_list *sinks, struct rb_json *j)
{
    rb_json_begin_array(j);
    for (int i = 0; i < sinks->n; i++) {
        const struct rb_sink_spec *s = &sinks->items[i];
        rb_json_begin_object(j);
        rb_json_kobject(j, rb_sink_names[s->kind]);
        write_text(j, "uri", s->uri);
        write_text(j, "experiment", s->experiment);
        write_text(j, s->kind == RB_SINK_OPTUNA ? "file" : "dir", s->path);
        write_text(j, "schema", s->schema);
        rb_json_end_object(j);
        rb_json_end_object(j);
    }
    rb_json_end_array(j);
}
