#include "views/live/status_line.h"

#include "base/arena.h"
#include "views/tables/text_table.h"

#include <assert.h>
#include <string.h>

struct rb_buf *rb_status_line_add(struct rb_status_line *l, int importance, bool joined)
{
    assert(l->n < RB_STATUS_PARTS);
    l->parts[l->n] = (struct rb_status_part){RB_BUF_INIT, importance, joined};
    return &l->parts[l->n++].text;
}

void rb_status_line_finish(struct rb_status_line *l)
{
    for (int i = 0; i < l->n; i++)
        rb_buf_finish(&l->parts[i].text);
}

static void drop_part(struct rb_status_line *l, int at)
{
    int n = 1;
    while (at + n < l->n && l->parts[at + n].joined)
        n++;
    for (int i = at; i < at + n; i++)
        rb_buf_finish(&l->parts[i].text);
    memmove(&l->parts[at], &l->parts[at + n], (size_t)(l->n - at - n) * sizeof l->parts[0]);
    l->n -= n;
}

static int least_important(const struct rb_status_line *l)
{
    int least = 0;
    for (int i = 1; i < l->n; i++) {
        if (l->parts[i].importance < l->parts[least].importance)
            least = i;
    }
    return least;
}

static void join(const struct rb_status_line *l, struct rb_buf *out)
{
    rb_buf_clear(out);
    for (int i = 0; i < l->n; i++)
        rb_buf_printf(out, "%s%s", i == 0 ? "" : l->parts[i].joined ? " " : "  ", rb_buf_str(&l->parts[i].text));
}

void rb_status_line_write(struct rb_status_line *l, int width, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    int least;
    for (join(l, &text); width > 0 && rb_text_columns(rb_buf_str(&text)) > width; join(l, &text)) {
        least = least_important(l);
        if (l->parts[least].importance == RB_STATUS_ALWAYS)
            break;
        drop_part(l, least);
    }
    rb_text_cut(rb_buf_str(&text), width, out);
}
