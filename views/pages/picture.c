#include "views/pages/picture.h"

#include "views/page_charts.h"
#include "views/page_library.h"

#include <duktape.h>

// Browsers have these functions; the library requests a timer when it starts, and none of its animations run here.
static const char timers[] = "var setTimeout = function () { return 0; }, clearTimeout = function () {};";

// There is no font to measure text with. Letters count as wide as those of a wide font (DejaVu Sans); otherwise
// neighbouring texts in a browser would overlap.
static const char draw[] =
    "function (chart, text) {"
    "  echarts.setPlatformAPI({measureText: function (text, font) {"
    "    return {width: 0.58 * text.length * parseFloat(/[0-9.]+px/.exec(font) || 12)};"
    "  }});"
    "  var look = rb_charts.look(false), made = rb_charts.make(chart, JSON.parse(text), look, rb_charts.paper_width);"
    "  var canvas = echarts.init(null, null, {renderer: 'svg', ssr: true, width: rb_charts.paper_width, height: "
    "made.height});"
    "  made.option.animation = false;"
    "  made.option.backgroundColor = look.paper;"
    "  canvas.setOption(made.option);"
    "  return canvas.renderToSVGString();"
    "}";

// Each leaves its result, or the error, on top of the stack.
static bool evaluate(duk_context *js, const char *what, const void *bytes, size_t n, duk_uint_t flags)
{
    duk_push_string(js, what);
    return duk_pcompile_lstring_filename(js, flags, bytes, n) == 0;
}

static bool run(duk_context *js, const char *what, const void *bytes, size_t n)
{
    bool ok = evaluate(js, what, bytes, n, 0) && duk_pcall(js, 0) == DUK_EXEC_SUCCESS;
    if (ok)
        duk_pop(js);
    return ok;
}

static bool call(duk_context *js, const char *chart, const char *document)
{
    if (!evaluate(js, "picture.c", draw, sizeof draw - 1, DUK_COMPILE_FUNCTION))
        return false;
    duk_push_string(js, chart);
    duk_push_string(js, document);
    return duk_pcall(js, 2) == DUK_EXEC_SUCCESS;
}

bool rb_picture_write(const char *chart, const char *document, struct rb_buf *out, struct rb_err *err)
{
    duk_context *js = duk_create_heap_default();
    if (!js)
        return rb_err_set(err, RB_E_MEMORY, "no memory to draw the %s chart", chart);
    bool ok = run(js, "timers", timers, sizeof timers - 1) &&
              run(js, "echarts.min.js", page_library, page_library_len) &&
              run(js, "charts", page_charts, page_charts_len) && call(js, chart, document);
    if (ok)
        rb_buf_puts(out, duk_safe_to_string(js, -1));
    else
        rb_err_set(err, RB_E_PICTURE_DRAWING, "the %s chart cannot be drawn: %s", chart, duk_safe_to_string(js, -1));
    duk_destroy_heap(js);
    return ok;
}
