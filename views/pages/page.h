// Writes a page for a browser: one file that needs nothing from elsewhere. Headings, text and tables are written here,
// and can be read without a script, by a screen reader or on paper. The page's script (views/page/page.js) draws charts
// on the figures named here, from the page's document. The document is JSON inside the page, so a reader can check the
// drawings against it. views/charts/ decides what a chart shows, one file per chart, shared with views/pages/picture.h.
#ifndef RB_VIEWS_PAGE_H
#define RB_VIEWS_PAGE_H

#include "base/document/doc.h"
#include "views/tables/text_table.h"

struct rb_page {
    struct rb_buf *out; // borrowed
    bool in_section;
};

// title: of the tab and the heading; summary: the one sentence under it; live: the script asks for newer documents at
// "data.json" beside the page until one says that the run has ended. Everything given is text, escaped here.
// failed: the run failed its purpose, so the summary is red.
void rb_page_begin(struct rb_page *p, const char *title, const char *summary, bool failed, bool live, struct rb_buf *out);
// Key facts, in large type: a name, a figure, and a remark of some lines under it. Between the beginning and the first
// section.
void rb_page_begin_facts(struct rb_page *p);
void rb_page_fact(struct rb_page *p, const char *name, const char *figure, const char *remark);
void rb_page_failed_fact(struct rb_page *p, const char *name, const char *figure, const char *remark); // in red
void rb_page_end_facts(struct rb_page *p);
// Also ends the previous section. id: for links, [a-z-]. lead: a sentence under the heading; NULL: none.
void rb_page_section(struct rb_page *p, const char *id, const char *heading, const char *lead);
void rb_page_end_section(struct rb_page *p); // the next section and the end of the page do so, too
void rb_page_paragraph(struct rb_page *p, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
// A paragraph of text of others, which may or may not begin and end as sentences do: after `before`, or with a capital where
// that is "", and with one full stop.
void rb_page_sentence(struct rb_page *p, const char *before, const char *text);
// A chart of views/charts/ by its name. caption: says in words what is to be seen; read aloud in its place.
void rb_page_chart(struct rb_page *p, const char *chart, const char *caption);
// A command of one line or more, to be copied as a whole.
void rb_page_command(struct rb_page *p, const char *command);
// The same table as on a terminal, with all its columns. With a script its rows can be sorted by the headings that are
// not empty; a row named "all" is a total and stays last.
void rb_page_table(struct rb_page *p, const char *caption, const struct rb_text_table *table);
// The first cell of a row links to addresses[row], [rows]; NULL: no link.
void rb_page_linked_table(struct rb_page *p, const char *caption, const struct rb_text_table *table,
                          const char *const *addresses);
// document: JSON text, written into the page byte for byte except that `<` becomes \u003c.
void rb_page_end(struct rb_page *p, const char *document);

// Writes what a live page receives, rb-live/1 (docs/live.md): main is the page's sections as HTML; document: parsed.
void rb_page_live(const char *summary, bool failed, const char *main, const struct rb_node *document, bool ended, struct rb_buf *out);

#endif
