// Free settings: collected when the job is read, understood by their owner.
#include "profiles/job/settings.h"

#include "base/text/buf.h"
#include "base/text/closest.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static bool collect_one(const struct rb_node *node, struct rb_arena *arena, struct rb_setting *out, struct rb_err *err)
{
    char path[160];
    if (node->kind == RB_NODE_NULL || node->kind == RB_NODE_LIST || node->kind == RB_NODE_MAP)
        return rb_node_refuse(node, err, RB_E_TYPE_WRONG, "expected a number, a text, true or false");
    *out = (struct rb_setting){
        .key = rb_arena_strdup(arena, node->key),
        .kind = node->kind,
        .number = node->number,
        .boolean = node->boolean,
        .text = rb_arena_strdup(arena, node->text),
        .place = rb_node_place(node),
        .path = rb_arena_strdup(arena, rb_node_path(node, path, sizeof path)),
    };
    out->place.file = out->place.file ? rb_arena_strdup(arena, out->place.file) : NULL;
    return true;
}

// A misspelt key of ours would otherwise be taken for an option, and be refused much later, or by another name.
static bool refuse_misspelt(const struct rb_node *node, const char *const *known, struct rb_err *err)
{
    int n = 0;
    while (known[n])
        n++;
    return !rb_closest(node->key, known, n) || rb_node_refuse_key(node, known, n, err);
}

bool rb_settings_collect(const struct rb_node *map, const char *const *known, struct rb_arena *arena,
                         struct rb_settings *out, struct rb_err *err)
{
    struct rb_setting *items = rb_arena_array(arena, (size_t)map->n_children + 1, sizeof *items);
    int n = 0;
    for (const struct rb_node *child = map->first; child; child = child->next)
        if (!rb_is_one_of(child->key, known) &&
            (!refuse_misspelt(child, known, err) || !collect_one(child, arena, &items[n++], err)))
            return false;
    *out = (struct rb_settings){.items = items, .n = n};
    return true;
}

static bool refuse(const struct rb_setting *s, struct rb_err *err, int number, const char *expected)
{
    return rb_err_set_at(err, number, s->place, s->path, "expected %s, got %s", expected, s->text);
}

static bool read_number(const struct rb_setting *s, const struct rb_setting_rule *rule, double *out, struct rb_err *err)
{
    char expected[96];
    const bool whole = rule->kind == RB_SETTING_INT;
    snprintf(expected, sizeof expected, "a %s from %g to %g", whole ? "whole number" : "number", rule->min, rule->max);
    if (s->kind != RB_NODE_INT && (whole || s->kind != RB_NODE_FLOAT))
        return refuse(s, err, RB_E_TYPE_WRONG, expected);
    if (s->number < rule->min || s->number > rule->max)
        return refuse(s, err, RB_E_OUT_OF_RANGE, expected);
    *out = s->number;
    return true;
}

static bool read_choice(const struct rb_setting *s, const struct rb_setting_rule *rule, double *out, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf expected = RB_BUF_INIT;
    for (int i = 0; rule->choices[i]; i++) {
        if (s->kind == RB_NODE_STRING && strcmp(s->text, rule->choices[i]) == 0) {
            *out = i;
            return true;
        }
        rb_buf_printf(&expected, i ? " | %s" : "one of %s", rule->choices[i]);
    }
    return refuse(s, err, RB_E_CHOICE, rb_buf_str(&expected));
}

static bool read_one(const struct rb_setting *s, const struct rb_setting_rule *rule, double *out, struct rb_err *err)
{
    switch (rule->kind) {
    case RB_SETTING_INT:
    case RB_SETTING_NUMBER:
        return read_number(s, rule, out, err);
    case RB_SETTING_BOOL:
        *out = s->boolean;
        return s->kind == RB_NODE_BOOL || refuse(s, err, RB_E_TYPE_WRONG, "true or false");
    case RB_SETTING_CHOICE:
        return read_choice(s, rule, out, err);
    }
    return false;
}

static bool refuse_unknown(const struct rb_setting *s, const char *owner, const struct rb_setting_rule *rules, int n,
                           struct rb_err *err)
{
    const char *names[RB_SETTINGS_MAX + 1];
    for (int i = 0; i < n; i++)
        names[i] = rules[i].key;
    const char *closest = rb_closest(s->key, names, n);
    return rb_err_set_at(err, RB_E_KEY_UNKNOWN, s->place, s->path, closest ? "%s has no such option; did you mean %s?" : "%s has no such option",
                         owner, closest);
}

bool rb_settings_read(const struct rb_settings *s, const char *owner, const struct rb_setting_rule *rules, int n_rules,
                      double *out, struct rb_err *err)
{
    double values[RB_SETTINGS_MAX];
    assert(n_rules <= RB_SETTINGS_MAX);
    for (int i = 0; i < n_rules; i++)
        values[i] = rules[i].fallback;
    for (int i = 0; i < s->n; i++) {
        int at = 0;
        while (at < n_rules && strcmp(rules[at].key, s->items[i].key) != 0)
            at++;
        if (at == n_rules)
            return refuse_unknown(&s->items[i], owner, rules, n_rules, err);
        if (!read_one(&s->items[i], &rules[at], &values[at], err))
            return false;
    }
    memcpy(out, values, (size_t)n_rules * sizeof *out);
    return true;
}

void rb_settings_write(const struct rb_settings *s, struct rb_json *j)
{
    for (int i = 0; i < s->n; i++) {
        const struct rb_setting *item = &s->items[i];
        rb_json_key(j, item->key);
        if (item->kind == RB_NODE_BOOL)
            rb_json_bool(j, item->boolean);
        else if (item->kind == RB_NODE_STRING)
            rb_json_string(j, item->text);
        else if (item->kind == RB_NODE_INT)
            rb_json_int(j, (int64_t)item->number);
        else
            rb_json_double(j, item->number);
    }
}
