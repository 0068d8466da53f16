#include "providers/mock/cloud/members.h"

#include <stdlib.h>
#include <string.h>

// What a row puts into its field.
union value {
    const char *text;
    int choice;
    bool flag;
    int64_t integer;
    double number;
    const struct rb_node *node;
};

static size_t size_of(enum rb_member_kind kind)
{
    static const size_t sizes[] = {
        [RB_MEMBER_TEXT] = sizeof(char *),     [RB_MEMBER_WORD] = sizeof(char *), [RB_MEMBER_CHOICE] = sizeof(int),
        [RB_MEMBER_BOOL] = sizeof(bool),       [RB_MEMBER_INT] = sizeof(int64_t), [RB_MEMBER_DOUBLE] = sizeof(double),
        [RB_MEMBER_DURATION] = sizeof(int64_t)};
    return kind >= RB_MEMBER_NODE ? sizeof(struct rb_node *) : sizes[kind];
}

static bool read_choice(const struct rb_member *m, const struct rb_node *node, union value *out, struct rb_err *err)
{
    int n = 0, which;
    while (m->choices[n])
        n++;
    if (!rb_node_choice(node, m->choices, n, &which, err))
        return false;
    if (m->kind == RB_MEMBER_WORD)
        out->text = m->choices[which];
    else
        out->choice = which;
    return true;
}

static bool read_int(const struct rb_member *m, const struct rb_node *node, int64_t *out, struct rb_err *err)
{
    const int64_t min = (int64_t)m->min, max = (int64_t)m->max;
    char *stop;
    if (!m->is_text_too || node->kind != RB_NODE_STRING)
        return rb_node_int(node, min, max, out, err);
    *out = strtoll(node->text, &stop, 10);
    return (*node->text && !*stop && strlen(node->text) <= 18 && *out >= min && *out <= max) ||
           rb_node_refuse(node, err, RB_E_TEXT_FORM, "expected %lld to %lld", (long long)min, (long long)max);
}

static bool read_only(const struct rb_member *m, const struct rb_node *list, struct rb_arena *arena,
                      const struct rb_node **inout, void *out, struct rb_err *err)
{
    if (!rb_node_list(list, err))
        return false;
    if (list->n_children > 1 || (m->needed && list->n_children == 0))
        return rb_node_refuse(list, err, RB_E_TEXT_FORM, "%s", m->refusal);
    *inout = list->first;
    return !list->first || rb_members_read(list->first, m->members, arena, out, err);
}

static bool read_node(const struct rb_member *m, const struct rb_node *node, struct rb_arena *arena,
                      const struct rb_node **inout, void *out, struct rb_err *err)
{
    struct rb_map any;
    *inout = node;
    switch (m->kind) {
    case RB_MEMBER_LIST:
        return rb_node_list(node, err);
    case RB_MEMBER_MAP:
        return m->members ? rb_members_read(node, m->members, arena, out, err) : rb_map_begin(&any, node, err);
    case RB_MEMBER_ONLY:
        return read_only(m, node, arena, inout, out, err);
    case RB_MEMBER_EMPTY:
        return (node->kind == RB_NODE_MAP && node->n_children == 0) ||
               rb_node_refuse(node, err, RB_E_TEXT_FORM, "%s", m->refusal);
    default:
        return true;
    }
}

static bool read_value(const struct rb_member *m, const struct rb_node *node, struct rb_arena *arena, union value *v,
                       void *out, struct rb_err *err)
{
    switch (m->kind) {
    case RB_MEMBER_TEXT:
        if (!rb_node_string(node, &v->text, err))
            return false;
        v->text = arena ? rb_arena_strdup(arena, v->text) : v->text;
        return *v->text || !m->refusal || rb_node_refuse(node, err, RB_E_TEXT_FORM, "%s", m->refusal);
    case RB_MEMBER_WORD:
    case RB_MEMBER_CHOICE:
        return read_choice(m, node, v, err);
    case RB_MEMBER_BOOL:
        return rb_node_bool(node, &v->flag, err);
    case RB_MEMBER_INT:
        return read_int(m, node, &v->integer, err);
    case RB_MEMBER_DOUBLE:
        return rb_node_double(node, m->min, m->max, &v->number, err);
    case RB_MEMBER_DURATION:
        return rb_node_duration(node, &v->integer, err);
    default:
        return read_node(m, node, arena, &v->node, out, err);
    }
}

bool rb_members_get(struct rb_map *map, const struct rb_member *members, struct rb_arena *arena, void *out,
                    struct rb_err *err)
{
    for (const struct rb_member *m = members; m->key; m++) {
        const struct rb_node *node = rb_map_get(map, m->key);
        union value v;
        if (!node && m->needed)
            return rb_map_need(map, m->key, &node, err);
        if (node && !read_value(m, node, arena, &v, out, err))
            return false;
        if (node && m->at != RB_MEMBER_IGNORED)
            memcpy((char *)out + m->at, &v, size_of(m->kind));
    }
    return true;
}

bool rb_members_read(const struct rb_node *node, const struct rb_member *members, struct rb_arena *arena, void *out,
                     struct rb_err *err)
{
    struct rb_map map;
    return rb_map_begin(&map, node, err) && rb_members_get(&map, members, arena, out, err) && rb_map_end(&map, err);
}
