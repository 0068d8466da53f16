#include "views/gantt.h"

#include "base/units.h"
#include "views/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// All in pixels of the picture.
#define WIDTH       1280
#define LEFT        150 // names of nodes
#define RIGHT       24
#define TOP         92   // title, legend
#define BOTTOM      40   // time axis
#define MOST_HEIGHT 2400 // beyond it lanes get thinner than they like
#define LEAST_LANE  2.0
#define MOST_LANE   18.0
#define NODE_GAP    6.0
#define LABEL_LANE  9.0 // a bar that is thinner is not written on
#define CHARACTER   6.2 // width of one in a bar

struct picture {
    const struct rb_gantt *g;
    struct rb_buf *out;
    double lane, gap;
    double height;
};

// ---- geometry

static int count_lanes(const struct rb_gantt *g)
{
    int n = 0;
    for (int i = 0; i < g->n_nodes; i++)
        n += g->nodes[i].gpus;
    return n;
}

static struct picture lay_out(const struct rb_gantt *g, struct rb_buf *out)
{
    const int n_lanes = count_lanes(g);
    struct picture p = {.g = g, .out = out, .gap = g->n_nodes > 100 ? 1 : NODE_GAP};
    const double room = MOST_HEIGHT - TOP - BOTTOM - p.gap * g->n_nodes;
    p.lane = fmin(MOST_LANE, fmax(LEAST_LANE, room / (n_lanes > 0 ? n_lanes : 1)));
    p.height = TOP + BOTTOM + p.lane * n_lanes + p.gap * g->n_nodes;
    return p;
}

static double x_of(const struct picture *p, int64_t us)
{
    return LEFT + (double)us / (double)p->g->end_us * (WIDTH - LEFT - RIGHT);
}

static double width_of(const struct picture *p, int64_t from_us, int64_t to_us)
{
    return fmax(0.3, x_of(p, to_us) - x_of(p, from_us));
}

// ---- text

static void put_text(const struct picture *p, double x, double y, const char *class, const char *anchor,
                     const char *text)
{
    rb_buf_printf(p->out, "<text x=\"%.1f\" y=\"%.1f\" class=\"%s\" text-anchor=\"%s\">", x, y, class, anchor);
    rb_markup_escape(text, p->out);
    rb_buf_puts(p->out, "</text>\n");
}

// ---- colours

// Neighbouring trials lie far apart on the circle of hues (the golden angle); the deeper the level, the darker.
static void put_fill(const struct picture *p, int trial, int level)
{
    const double hue = fmod(137.50776405 * trial, 360);
    const double depth = p->g->n_levels > 1 ? (double)level / (p->g->n_levels - 1) : 0;
    rb_buf_printf(p->out, "fill=\"hsl(%.0f,%.0f%%,%.0f%%)\"", hue, 55 + 20 * depth, 80 - 42 * depth);
}

static bool is_dark(const struct picture *p, int level)
{
    return p->g->n_levels > 1 && 2 * level > p->g->n_levels;
}

// ---- axis

// The step of the axis: the first of a list that people read easily which makes at most ten.
static int64_t step_of(int64_t span_us)
{
    static const int64_t steps_s[] = {1,   2,    5,    10,   15,    30,    60,    120,   300,    600,
                                      900, 1800, 3600, 7200, 14400, 21600, 43200, 86400, 172800, 604800};
    const size_t n = sizeof steps_s / sizeof steps_s[0];
    for (size_t i = 0; i < n; i++) {
        if (span_us / (steps_s[i] * RB_US_PER_S) <= 10)
            return steps_s[i] * RB_US_PER_S;
    }
    return span_us / 10 > 0 ? span_us / 10 : 1;
}

// "0", "45 m", "1 h 30 m": without the units that a round step has none of.
static const char *tick_text(int64_t us, char text[static 32])
{
    rb_format_duration(us, text);
    char *none = strstr(text, " 0 "), *tenths = strstr(text, ".0 s");
    if (none)
        *none = '\0';
    if (tenths)
        memcpy(tenths, " s", sizeof " s");
    return us == 0 ? "0" : text;
}

static void put_axis(const struct picture *p)
{
    const int64_t span_us = p->g->end_us, step_us = span_us < 2 * RB_US_PER_S ? span_us : step_of(span_us);
    const double bottom = p->height - BOTTOM;
    for (int64_t at_us = 0; at_us <= span_us; at_us += step_us) {
        char text[32];
        const double x = x_of(p, at_us);
        rb_buf_printf(p->out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\" class=\"grid\"/>\n", x, x, TOP - 6,
                      bottom + 4);
        put_text(p, x, bottom + 18, "axis", "middle", tick_text(at_us, text));
    }
}

// ---- nodes

static void put_span(const struct picture *p, const char *class, int64_t from_us, int64_t to_us, double y,
                     double height)
{
    if (from_us >= 0 && to_us > from_us)
        rb_buf_printf(p->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"%s\"/>\n",
                      x_of(p, from_us), y, width_of(p, from_us, to_us), height, class);
}

// Asked for, booting (billed), ready: the lanes that trials lie on.
static void put_node(const struct picture *p, int index, double y)
{
    const struct rb_gantt_node *n = &p->g->nodes[index];
    const double height = p->lane * n->gpus;
    const int64_t running_us = n->running_us >= 0 ? n->running_us : n->ended_us;
    const int64_t ready_us = n->ready_us >= 0 ? n->ready_us : n->ended_us;
    put_span(p, "asked", n->requested_us, running_us, y, height);
    put_span(p, "boot", running_us, ready_us, y, height);
    put_span(p, "owned", ready_us, n->ended_us, y, height);
    if (n->lost)
        rb_buf_printf(p->out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%.1f\" y2=\"%.1f\" class=\"lost\"/>\n",
                      x_of(p, n->ended_us), x_of(p, n->ended_us), y, y + height);
    if (height + p->gap >= LABEL_LANE)
        put_text(p, LEFT - 10, y + height / 2 + 4, "node", "end", n->name);
}

// ---- trials

static void put_bar_title(const struct picture *p, const struct rb_gantt_bar *b)
{
    static const char *const ends[] = {[RB_GANTT_DONE] = "done",
                                       [RB_GANTT_GAVE_WAY] = "gave way",
                                       [RB_GANTT_STOPPED] = "stopped",
                                       [RB_GANTT_LOST] = "its node was lost"};
    char from[32], took[32];
    rb_buf_printf(p->out, "<title>%s %d, level %d: %s %lld to %lld on %d GPU%s of node %d\n%s from %s, %s</title>",
                  p->g->what, b->trial, b->level, p->g->unit, (long long)b->resource_start, (long long)b->resource_end,
                  __builtin_popcountll(b->gpus), b->gpus & (b->gpus - 1) ? "s" : "", b->node,
                  rb_format_duration(b->end_us - b->start_us, took), rb_format_duration(b->start_us, from),
                  ends[b->end]);
}

// GPUs `first`..`first + n - 1` of the node, which lie side by side.
static void put_bar_part(const struct picture *p, const struct rb_gantt_bar *b, double y, int first, int n)
{
    const double x = x_of(p, b->start_us), width = width_of(p, b->start_us, b->end_us);
    const double top = y + p->lane * first, height = p->lane * n;
    char name[16];
    const int len = snprintf(name, sizeof name, "%d", b->trial);
    rb_buf_printf(p->out, "<g><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" ", x, top + 0.5, width,
                  fmax(1, height - 1));
    put_fill(p, b->trial, b->level);
    rb_buf_printf(p->out, " class=\"bar%s\">", b->end == RB_GANTT_LOST ? " gone" : "");
    put_bar_title(p, b);
    rb_buf_puts(p->out, "</rect>");
    if (height >= LABEL_LANE && width > len * CHARACTER + 4)
        put_text(p, x + width / 2, top + height / 2 + 3.5, is_dark(p, b->level) ? "on dark" : "on", "middle", name);
    rb_buf_puts(p->out, "</g>\n");
}

static void put_bar(const struct picture *p, const struct rb_gantt_bar *b, double y)
{
    const int n_gpus = p->g->nodes[b->node].gpus;
    for (int first = 0; first < n_gpus; first++) {
        int n = 0;
        while (first + n < n_gpus && b->gpus >> (first + n) & 1)
            n++;
        if (n > 0)
            put_bar_part(p, b, y, first, n);
        first += n;
    }
}

// Bars of one node after another would need an index; there are few nodes on a picture that is worth looking at.
static void put_rows(const struct picture *p)
{
    double y = TOP;
    for (int i = 0; i < p->g->n_nodes; i++) {
        put_node(p, i, y);
        for (int k = 0; k < p->g->n_bars; k++) {
            if (p->g->bars[k].node == i)
                put_bar(p, &p->g->bars[k], y);
        }
        y += p->lane * p->g->nodes[i].gpus + p->gap;
    }
}

// ---- lines and legend

static void put_lines(const struct picture *p)
{
    const double bottom = p->height - BOTTOM;
    for (int i = 0; i < p->g->n_lines; i++) {
        const struct rb_gantt_line *l = &p->g->lines[i];
        if (l->at_us > p->g->end_us)
            continue;
        const double x = x_of(p, l->at_us);
        const char *class = l->limit ? "limit" : "barrier";
        rb_buf_printf(p->out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%.1f\" class=\"%s\"/>\n", x, x, TOP - 12,
                      bottom, class);
        put_text(p, x, TOP - 16, l->limit ? "axis red" : "axis", x > WIDTH - 100 ? "end" : "middle", l->label);
    }
}

static double put_key(const struct picture *p, double x, const char *fill, const char *text)
{
    rb_buf_printf(p->out, "<rect x=\"%.1f\" y=\"52\" width=\"14\" height=\"10\" %s/>\n", x, fill);
    put_text(p, x + 20, 61, "axis", "start", text);
    return x + 20 + 6.3 * (double)strlen(text) + 18;
}

static bool has_barriers(const struct rb_gantt *g)
{
    for (int i = 0; i < g->n_lines; i++) {
        if (!g->lines[i].limit)
            return true;
    }
    return false;
}

static void put_legend(const struct picture *p)
{
    double x = LEFT;
    char colours[64];
    x = put_key(p, x, "class=\"asked\"", "asked for");
    x = put_key(p, x, "class=\"boot\"", "booting, billed");
    x = put_key(p, x, "class=\"owned\"", "idle, billed");
    if (has_barriers(p->g)) {
        rb_buf_printf(p->out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"51\" y2=\"63\" class=\"barrier\"/>\n", x, x);
        put_text(p, x + 8, 61, "axis", "start", "the lowest level is done");
        x += 8 + 6.3 * 24 + 18;
    }
    x += 6 * snprintf(colours, sizeof colours, "a colour a %s, darker at higher levels:", p->g->what);
    put_text(p, x - 10, 61, "axis", "end", colours);
    const int n = p->g->n_levels < 8 ? p->g->n_levels : 8;
    for (int i = 0; i < n; i++) {
        const int level = n > 1 ? i * (p->g->n_levels - 1) / (n - 1) : 0;
        rb_buf_printf(p->out, "<rect x=\"%.1f\" y=\"52\" width=\"14\" height=\"10\" ", x + 16 * i);
        put_fill(p, 1, level);
        rb_buf_puts(p->out, "/>\n");
    }
}

static const char style[] =
    "<style>text{font:11px system-ui,sans-serif;fill:#333}.head{font-size:16px;font-weight:600}.axis{fill:#666}"
    ".red{fill:#c22}.on{font-size:10px;fill:#222;pointer-events:none}.dark{fill:#fff}.grid{stroke:#e4e4e4}"
    ".asked{fill:#fafafa;stroke:#d5d5d5;stroke-width:.6;stroke-dasharray:3 2}.boot{fill:#d6d6d6}"
    ".owned{fill:#f1f1f1}.lost{stroke:#c22;stroke-width:2}.bar{stroke:#fff;stroke-width:.4}.gone{opacity:.35}"
    ".barrier{stroke:#888;stroke-dasharray:2 3}.limit{stroke:#c22;stroke-width:1.5}</style>\n";

void rb_gantt_write_svg(const struct rb_gantt *g, struct rb_buf *out)
{
    const struct picture p = lay_out(g, out);
    rb_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
                  "role=\"img\" aria-label=\"",
                  WIDTH, p.height, WIDTH, p.height);
    rb_markup_escape(g->title, out);
    rb_buf_puts(out, "\">\n");
    rb_buf_puts(out, style);
    rb_buf_printf(out, "<rect width=\"%d\" height=\"%.0f\" fill=\"#fff\"/>\n", WIDTH, p.height);
    put_text(&p, 16, 24, "head", "start", g->title);
    put_text(&p, 16, 42, "axis", "start", g->subtitle);
    put_legend(&p);
    put_axis(&p);
    put_rows(&p);
    put_lines(&p);
    rb_buf_puts(out, "</svg>\n");
}

void rb_gantt_write_html(const struct rb_gantt *g, int n, struct rb_buf *out)
{
    rb_buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"><title>");
    rb_markup_escape(g->title, out);
    rb_buf_puts(out, "</title><style>body{margin:1rem}svg{max-width:100%;height:auto}.bar:hover{stroke:#000;"
                     "stroke-width:1.5}</style></head><body>\n");
    for (int i = 0; i < n; i++)
        rb_gantt_write_svg(&g[i], out);
    rb_buf_puts(out, "</body></html>\n");
}
