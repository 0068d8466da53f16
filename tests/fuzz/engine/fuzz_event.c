// Any bytes as one line of the journal: refused with a place, or an event that reads back from its own text to the same
// bytes.
#include "doc_check.h"
#include "fuzz.h"

#include "engine/events/event.h"

#include <stdlib.h>
#include <string.h>

static void require(bool holds)
{
    if (!holds)
        abort();
}

static void write_event(const struct rb_event *e, struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_event_write(e, &j);
}

static void check_event(const struct rb_event *e)
{
    RB_AUTO(rb_buf_finish) struct rb_buf text = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf again = RB_BUF_INIT;
    struct rb_doc doc;
    struct rb_event back;
    require(e->time_us >= 0 && e->node >= 0 && e->trial >= 0 && e->attempt >= 0 && e->resource >= 0);
    write_event(e, &text);
    require(rb_doc_parse_json(&doc, "again.json", rb_buf_str(&text), text.len, NULL));
    require(rb_event_read(doc.root, &doc.arena, &back, NULL));
    rb_doc_finish(&doc);
    write_event(&back, &again);
    require(strcmp(rb_buf_str(&text), rb_buf_str(&again)) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n)
{
    struct rb_doc doc;
    struct rb_event event;
    struct rb_err err = {0};
    if (!rb_doc_parse_json(&doc, "events.jsonl", (const char *)bytes, n, &err)) {
        check_error(&err, "events.jsonl");
        return 0;
    }
    if (rb_event_read(doc.root, &doc.arena, &event, &err))
        check_event(&event);
    else
        check_error(&err, "events.jsonl");
    rb_doc_finish(&doc);
    return 0;
}
