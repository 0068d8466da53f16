// expat's events become a tree in an arena. EC2 never sends a DOCTYPE: without one there are no entities to expand, so
// the tree cannot grow beyond the bytes that came in.
#include "providers/wire/xml.h"

#include "base/text/buf.h"
#include "base/limits.h"

#include <assert.h>
#include <expat.h>
#include <string.h>

struct open_element {
    struct rb_xml *node, *last_child;
    size_t text_start; // in reader.text
};

struct reader {
    XML_Parser expat;
    struct rb_arena *arena;
    struct rb_err *err;
    bool failed; // err is set
    int depth, n_nodes;
    struct open_element open[RB_LIMIT_XML_DEPTH + 1]; // open[0] is above the root
    struct rb_buf text;                               // character data of the open elements, outermost first
};

static void fail(struct reader *r, const char *reason)
{
    if (r->failed)
        return;
    r->failed = true;
    rb_err_set(r->err, RB_E_ANSWER, "XML answer, line %lu: %s", (unsigned long)XML_GetCurrentLineNumber(r->expat),
               reason);
    XML_StopParser(r->expat, XML_FALSE);
}

static void on_doctype(void *arg, const XML_Char *name, const XML_Char *system_id, const XML_Char *public_id,
                       int has_internal_subset)
{
    (void)name, (void)system_id, (void)public_id, (void)has_internal_subset;
    fail(arg, "a DOCTYPE is refused");
}

static void on_start(void *arg, const XML_Char *name, const XML_Char **attributes)
{
    (void)attributes;
    struct reader *r = arg;
    if (r->failed)
        return;
    if (r->depth == RB_LIMIT_XML_DEPTH) {
        fail(r, "elements are nested deeper than RB_LIMIT_XML_DEPTH");
        return;
    }
    if (r->n_nodes == RB_LIMIT_DOC_NODES) {
        fail(r, "more elements than RB_LIMIT_DOC_NODES");
        return;
    }
    r->n_nodes++;
    const char *colon = strrchr(name, ':');
    struct rb_xml *node = rb_arena_alloc(r->arena, sizeof *node);
    node->name = rb_arena_strdup(r->arena, colon ? colon + 1 : name);
    node->text = "";

    struct open_element *parent = &r->open[r->depth++];
    if (parent->last_child)
        parent->last_child->next = node;
    else
        parent->node->first = node;
    parent->last_child = node;
    r->open[r->depth] = (struct open_element){.node = node, .text_start = r->text.len};
}

static void on_text(void *arg, const XML_Char *s, int n)
{
    struct reader *r = arg;
    if (!r->failed)
        rb_buf_append(&r->text, s, (size_t)n);
}

// The blanks between child elements are layout, not text.
static bool is_layout(const struct open_element *e, const char *text, size_t n)
{
    if (!e->node->first)
        return n == 0;
    for (size_t i = 0; i < n; i++)
        if (!strchr(" \t\r\n", text[i]))
            return false;
    return true;
}

static void on_end(void *arg, const XML_Char *name)
{
    (void)name;
    struct reader *r = arg;
    if (r->failed)
        return;
    struct open_element *e = &r->open[r->depth--];
    const char *text = rb_buf_str(&r->text) + e->text_start;
    const size_t n = r->text.len - e->text_start;
    if (!is_layout(e, text, n))
        e->node->text = rb_arena_strndup(r->arena, text, n);
    r->text.len = e->text_start;
}

static void parse(struct reader *r, const char *bytes, size_t n)
{
    XML_SetUserData(r->expat, r);
    XML_SetElementHandler(r->expat, on_start, on_end);
    XML_SetCharacterDataHandler(r->expat, on_text);
    XML_SetStartDoctypeDeclHandler(r->expat, on_doctype);
    if (XML_Parse(r->expat, bytes, (int)n, XML_TRUE) != XML_STATUS_OK)
        fail(r, XML_ErrorString(XML_GetErrorCode(r->expat)));
}

bool rb_xml_parse(const char *bytes, size_t n, struct rb_arena *arena, const struct rb_xml **out, struct rb_err *err)
{
    if (n > RB_LIMIT_HTTP_BYTES)
        return rb_err_set(err, RB_E_ANSWER, "XML answer: %zu bytes, more than RB_LIMIT_HTTP_BYTES (%d)", n,
                          RB_LIMIT_HTTP_BYTES);
    struct rb_xml above = {0};
    struct reader r = {.arena = arena, .err = err, .open = {{.node = &above}}};
    r.expat = XML_ParserCreate(NULL);
    if (!r.expat)
        return rb_err_set(err, RB_E_MEMORY, "XML answer: no memory for a parser");
    parse(&r, bytes, n);
    XML_ParserFree(r.expat);
    rb_buf_finish(&r.text);
    if (r.failed)
        return false;
    assert(above.first && r.depth == 0);
    *out = above.first;
    return true;
}

const struct rb_xml *rb_xml_child(const struct rb_xml *x, const char *name)
{
    if (!x)
        return NULL;
    if (x->first && strcmp(x->first->name, name) == 0)
        return x->first;
    return rb_xml_next(x->first, name);
}

const char *rb_xml_text(const struct rb_xml *x, const char *name)
{
    const struct rb_xml *child = rb_xml_child(x, name);
    return child ? child->text : NULL;
}

const struct rb_xml *rb_xml_next(const struct rb_xml *x, const char *name)
{
    if (!x)
        return NULL;
    for (x = x->next; x; x = x->next)
        if (strcmp(x->name, name) == 0)
            return x;
    return NULL;
}
