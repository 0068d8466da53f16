#include "views/pages/page.h"

#include "base/document/json.h"
#include "views/page_charts.h"
#include "views/page_library.h"
#include "views/page_script.h"
#include "views/page_style.h"
#include "views/pages/markup.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <string.h>

static void element(struct rb_page *p, const char *tag, const char *text)
{
    rb_buf_printf(p->out, "<%s>", tag);
    rb_markup_escape(text, p->out);
    rb_buf_printf(p->out, "</%s>\n", tag);
}

// The policy admits only what is in the page itself; a live page may also ask its own server.
void rb_page_begin(struct rb_page *p, const char *title, const char *summary, bool failed, bool live,
                   struct rb_buf *out)
{
    *p = (struct rb_page){.out = out};
    rb_buf_printf(
        out,
        "<!doctype html>\n<html lang=\"en\"%s>\n<head>\n<meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<meta name=\"color-scheme\" content=\"light dark\">\n"
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; "
        "script-src 'unsafe-inline'; img-src data:; connect-src %s\">\n",
        live ? " data-live" : "", live ? "'self'" : "'none'");
    element(p, "title", title);
    rb_buf_puts(out, "<style>\n");
    rb_buf_append(out, page_style, page_style_len);
    rb_buf_puts(out, "</style>\n<noscript><style>figure { display: none; }</style></noscript>\n</head>\n<body>\n"
                     "<a class=\"skip\" href=\"#main\">Skip to the content</a>\n<header>\n");
    element(p, "h1", title);
    rb_buf_printf(out, "<p class=\"summary%s\" id=\"summary\">", failed ? " failed" : "");
    rb_markup_escape(summary, out);
    rb_buf_puts(out, "</p>\n<noscript><p>Charts need JavaScript; words and tables do not.</p></noscript>\n</header>\n"
                     "<main id=\"main\" tabindex=\"-1\">\n");
}

void rb_page_begin_facts(struct rb_page *p)
{
    rb_buf_puts(p->out, "<dl class=\"facts\" id=\"facts\">\n");
}

static void fact(struct rb_page *p, const char *begin, const char *name, const char *figure, const char *remark)
{
    rb_buf_puts(p->out, begin);
    element(p, "dt", name);
    element(p, "dd", figure);
    element(p, "dd", remark);
    rb_buf_puts(p->out, "</div>\n");
}

void rb_page_fact(struct rb_page *p, const char *name, const char *figure, const char *remark)
{
    fact(p, "<div>\n", name, figure, remark);
}

void rb_page_failed_fact(struct rb_page *p, const char *name, const char *figure, const char *remark)
{
    fact(p, "<div class=\"failed\">\n", name, figure, remark);
}

void rb_page_end_facts(struct rb_page *p)
{
    rb_buf_puts(p->out, "</dl>\n");
}

void rb_page_end_section(struct rb_page *p)
{
    if (p->in_section)
        rb_buf_puts(p->out, "</section>\n");
    p->in_section = false;
}

void rb_page_section(struct rb_page *p, const char *id, const char *heading, const char *lead)
{
    rb_page_end_section(p);
    p->in_section = true;
    rb_buf_printf(p->out, "<section id=\"%s\" aria-labelledby=\"%s-heading\">\n<h2 id=\"%s-heading\">", id, id, id);
    rb_markup_escape(heading, p->out);
    rb_buf_puts(p->out, "</h2>\n");
    if (lead)
        element(p, "p", lead);
}

void rb_page_paragraph(struct rb_page *p, const char *fmt, ...)
{
    struct rb_buf text = RB_BUF_INIT;
    va_list ap;
    va_start(ap, fmt);
    rb_buf_vprintf(&text, fmt, ap);
    va_end(ap);
    element(p, "p", rb_buf_str(&text));
    rb_buf_finish(&text);
}

void rb_page_sentence(struct rb_page *p, const char *before, const char *text)
{
    struct rb_buf said = RB_BUF_INIT;
    rb_buf_printf(&said, "%s%s", before, text);
    while (said.len > 0 && strchr(". \n", said.data[said.len - 1]))
        said.data[--said.len] = '\0';
    if (said.len > 0 && !*before)
        said.data[0] = (char)toupper((unsigned char)said.data[0]);
    rb_buf_putc(&said, '.');
    element(p, "p", rb_buf_str(&said));
    rb_buf_finish(&said);
}

void rb_page_chart(struct rb_page *p, const char *chart, const char *caption)
{
    rb_buf_printf(p->out, "<figure class=\"chart\" data-chart=\"%s\">\n<figcaption>", chart);
    rb_markup_escape(caption, p->out);
    rb_buf_puts(p->out, "</figcaption>\n</figure>\n");
}

void rb_page_command(struct rb_page *p, const char *command)
{
    rb_buf_puts(p->out, "<pre class=\"command\" tabindex=\"0\"><code>");
    rb_markup_escape(command, p->out);
    rb_buf_puts(p->out, "</code></pre>\n");
}

// address: where the text links to; NULL: no link.
static void cell(struct rb_page *p, const char *tag, const char *scope, bool right, bool failed, const char *text,
                 const char *address)
{
    static const char *const classes[2][2] = {{"", " class=\"failed\""},
                                              {" class=\"number\"", " class=\"number failed\""}};
    rb_buf_printf(p->out, "<%s%s%s>", tag, scope, classes[right][failed]);
    if (address) {
        rb_buf_puts(p->out, "<a href=\"");
        rb_markup_escape(address, p->out);
        rb_buf_puts(p->out, "\">");
    }
    rb_markup_escape(text, p->out);
    rb_buf_printf(p->out, "%s</%s>", address ? "</a>" : "", tag);
}

void rb_page_table(struct rb_page *p, const char *caption, const struct rb_text_table *table)
{
    rb_page_linked_table(p, caption, table, NULL);
}

void rb_page_linked_table(struct rb_page *p, const char *caption, const struct rb_text_table *table,
                          const char *const *addresses)
{
    assert(table->n_cells % table->n_columns == 0);
    rb_buf_puts(p->out, "<div class=\"table\" tabindex=\"0\" role=\"region\" aria-label=\"");
    rb_markup_escape(caption, p->out);
    rb_buf_puts(p->out, "\">\n<table>\n<caption>");
    rb_markup_escape(caption, p->out);
    rb_buf_puts(p->out, "</caption>\n<thead><tr>");
    for (int c = 0; c < table->n_columns; c++)
        cell(p, "th", " scope=\"col\"", table->columns[c].right, false, table->columns[c].title, NULL);
    rb_buf_puts(p->out, "</tr></thead>\n<tbody>\n");
    for (int at = 0; at < table->n_cells; at += table->n_columns) {
        rb_buf_puts(p->out, strcmp(table->cells[at], "all") == 0 ? "<tr class=\"total\">" : "<tr>");
        for (int c = 0; c < table->n_columns; c++)
            cell(p, c ? "td" : "th", c ? "" : " scope=\"row\"", table->columns[c].right,
                 rb_text_table_has_failed(table, at + c), table->cells[at + c],
                 c == 0 && addresses ? addresses[at / table->n_columns] : NULL);
        rb_buf_puts(p->out, "</tr>\n");
    }
    rb_buf_puts(p->out, "</tbody>\n</table>\n</div>\n");
}

// `</script` cannot end the element early, and JSON reads \u003c as `<` again: in JSON text `<` stands only in strings.
static void write_document(const char *document, struct rb_buf *out)
{
    for (const char *from = document; *from;) {
        size_t n = strcspn(from, "<");
        rb_buf_append(out, from, n);
        from += n;
        if (*from == '<') {
            rb_buf_puts(out, "\\u003c");
            from++;
        }
    }
}

static void script(struct rb_buf *out, const unsigned char *bytes, size_t n)
{
    rb_buf_puts(out, "<script>\n");
    rb_buf_append(out, bytes, n);
    rb_buf_puts(out, "</script>\n");
}

void rb_page_end(struct rb_page *p, const char *document)
{
    rb_page_end_section(p);
    rb_buf_puts(p->out, "</main>\n<script type=\"application/json\" id=\"document\">");
    write_document(document, p->out);
    rb_buf_puts(p->out, "</script>\n");
    script(p->out, page_library, page_library_len);
    script(p->out, page_charts, page_charts_len);
    script(p->out, page_script, page_script_len);
    rb_buf_puts(p->out, "</body>\n</html>\n");
}

void rb_page_live(const char *summary, bool failed, const char *main, const struct rb_node *document, bool ended,
                  struct rb_buf *out)
{
    struct rb_json j;
    rb_json_init(&j, out, false);
    rb_json_begin_object(&j);
    rb_json_kstring(&j, "format", "rb-live/1");
    rb_json_kbool(&j, "ended", ended);
    rb_json_kstring(&j, "summary", summary);
    rb_json_kbool(&j, "failed", failed);
    rb_json_kstring(&j, "main", main);
    rb_json_key(&j, "document");
    rb_json_node(&j, document);
    rb_json_end_object(&j);
}
