#include "providers/mock/cloud/page.h"

#include <stdlib.h>
#include <string.h>

bool rb_mock_page_begin(struct rb_mock_page *p, int64_t limit, const char *token, const struct rb_chaos_verdict *v)
{
    const struct rb_chaos_rule *partial = v->by[RB_CHAOS_PARTIAL_PAGE];
    char *end = NULL;
    *p = (struct rb_mock_page){.limit = partial && partial->items < limit ? partial->items : limit, .after = -1};
    if (token && strncmp(token, "page", 4) == 0 && strlen(token) == 20)
        p->after = strtoll(token + 4, &end, 16) - 1;
    p->last = p->after;
    return !token || (end && !*end && p->after >= -1);
}

bool rb_mock_page_take(struct rb_mock_page *p, int64_t position)
{
    if (position <= p->after)
        return false;
    if (p->n == p->limit) {
        p->more = true;
        return false;
    }
    p->n++;
    p->last = position;
    return true;
}

const char *rb_mock_page_next(const struct rb_mock_page *p, struct rb_arena *arena)
{
    return p->more ? rb_arena_printf(arena, "page%016llx", (unsigned long long)p->last + 1) : NULL;
}
