// Writes a chart as SVG, for papers and for places without a browser: the same script that draws it in a page
// (views/charts/), run here by Duktape with the same charting library.
#ifndef RB_VIEWS_PICTURE_H
#define RB_VIEWS_PICTURE_H

#include "base/text/buf.h"
#include "base/errors/err.h"

// chart: a name of views/charts/; document: JSON text, as in a page of the same document. Appends one <svg> element.
// Errors: a document that is not JSON or lacks what the chart shows (INVALID, with the script's message); a build
// without Duktape.
bool rb_picture_write(const char *chart, const char *document, struct rb_buf *out, struct rb_err *err);

#endif
