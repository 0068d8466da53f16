#include "providers/mock/k8s/selector.h"

#include <ctype.h>
#include <string.h>

#define MAX        (int)(sizeof((struct rb_k8s_selector){0}.list) / sizeof(struct rb_k8s_requirement))
#define MAX_VALUES 16

struct reader {
    const char *at;
    struct rb_arena *arena;
};

static void skip_blanks(struct reader *r)
{
    while (*r->at == ' ')
        r->at++;
}

static bool take(struct reader *r, const char *word)
{
    skip_blanks(r);
    const size_t n = strlen(word);
    const bool is_name = isalpha((unsigned char)*word);
    if (strncmp(r->at, word, n) != 0 || (is_name && r->at[n] != ' ' && r->at[n] != '('))
        return false;
    r->at += n;
    return true;
}

static const char *read_word(struct reader *r)
{
    skip_blanks(r);
    size_t n = 0;
    while (r->at[n] && (isalnum((unsigned char)r->at[n]) || strchr("-_./", r->at[n])))
        n++;
    const char *word = rb_arena_strndup(r->arena, r->at, n);
    r->at += n;
    return word;
}

static bool read_values(struct reader *r, struct rb_k8s_requirement *q)
{
    if (!take(r, "("))
        return false;
    do {
        if (q->n_values == MAX_VALUES)
            return false;
        q->values[q->n_values++] = read_word(r);
    } while (take(r, ","));
    return take(r, ")");
}

static bool read_requirement(struct reader *r, struct rb_k8s_requirement *q)
{
    const bool is_absent = take(r, "!");
    q->key = read_word(r);
    q->operation = is_absent ? RB_K8S_EXISTS_NOT : RB_K8S_EXISTS;
    if (!*q->key || is_absent)
        return *q->key != '\0';
    const bool differs = take(r, "!=");
    if (differs || take(r, "==") || take(r, "=")) {
        q->operation = differs ? RB_K8S_NOT_IN : RB_K8S_IN;
        q->values[q->n_values++] = read_word(r);
        return true;
    }
    const bool is_out = take(r, "notin");
    if (!is_out && !take(r, "in"))
        return true;
    q->operation = is_out ? RB_K8S_NOT_IN : RB_K8S_IN;
    return read_values(r, q);
}

bool rb_k8s_selector_parse(const char *text, struct rb_arena *arena, struct rb_k8s_selector *out)
{
    struct reader r = {.at = text ? text : "", .arena = arena};
    *out = (struct rb_k8s_selector){0};
    if (!*r.at)
        return true;
    do {
        if (out->n == MAX || !read_requirement(&r, &out->list[out->n++]))
            return false;
    } while (take(&r, ","));
    return *r.at == '\0';
}

bool rb_k8s_selector_holds(const struct rb_k8s_selector *s, const void *object, rb_k8s_value_fn *value)
{
    for (int k = 0; k < s->n; k++) {
        const struct rb_k8s_requirement *q = &s->list[k];
        const char *is = value(object, q->key);
        bool found = is && (q->operation == RB_K8S_EXISTS || q->operation == RB_K8S_EXISTS_NOT);
        for (int v = 0; is && v < q->n_values; v++)
            found |= strcmp(is, q->values[v]) == 0;
        if (found != (q->operation == RB_K8S_IN || q->operation == RB_K8S_EXISTS))
            return false;
    }
    return true;
}
