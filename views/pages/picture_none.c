// Replaces picture.c in a build without Duktape.
#include "views/pages/picture.h"

bool rb_picture_write(const char *chart, const char *document, struct rb_buf *out, struct rb_err *err)
{
    (void)document, (void)out;
    return rb_err_set(err, RB_E_PICTURE_BUILD,
                      "this build draws no SVG, so not the %s chart: build with -Dpictures=enabled "
                      "(Debian: duktape-dev), or take --html, which a browser draws",
                      chart);
}
