#include "views/tables/gantt.h"

#include "base/text/units.h"
#include "profiles/job/job_trial.h"
#include "views/pages/markup.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

// All in pixels of the picture.
#define WIDTH       1280
#define LEFT        150 // names of nodes
#define RIGHT       24
#define TOP         104  // title, legend
#define BOTTOM      56   // time axis and its name
#define RAMP        8    // shades that distinguish levels
#define N_COLOURS   8    // of jobs
#define MOST_HEIGHT 2400 // above it lanes become thinner
#define LEAST_LANE  2.0
#define MOST_LANE   18.0
#define NODE_GAP    6.0
#define LABEL_LANE  9.0 // a thinner bar has no text
#define CHARACTER   6.2 // width of a character in a bar

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

// ---- colours: those of the other charts (views/charts/frame.js, run_parts.js)

struct look {
    const char *ink, *faint, *rule, *paper, *alarm;
    const char *colours[N_COLOURS];
    int shallow[3], deep[3]; // of the first and the last level, red, green, blue
    const char *on_shallow, *on_deep;
};

static const struct look light = {
    "#1b1f24",       "#5d6670",
    "#d9dde2",       "#ffffff",
    "#b3261e",       {"#0072b2", "#b87700", "#006b4d", "#cc79a7", "#7a6f00", "#c04a00", "#4a5fc1", "#6a717a"},
    {176, 213, 238}, {0, 74, 128},
    "#1b1f24",       "#ffffff"};
static const struct look dark = {
    "#e6e8eb",     "#9aa3ad",
    "#333a43",     "#14171c",
    "#ff7b72",     {"#56b4e9", "#e69f00", "#4be0b0", "#c06a9c", "#f0e442", "#ef8a52", "#8fa8ff", "#a0a7b0"},
    {58, 98, 131}, {126, 205, 255},
    "#e6e8eb",     "#14171c"};

static int shade_of(const struct rb_gantt *g, int level)
{
    return g->n_levels > 1 ? level * (RAMP - 1) / (g->n_levels - 1) : RAMP - 1;
}

// Levels are steps of one blue, as on the page of a run. Each job has a colour, whose strength is the level.
static void put_classes(const struct picture *p, int trial, int level)
{
    const int shade = shade_of(p->g, level);
    if (p->g->has_colours)
        rb_buf_printf(p->out, "c%d d%d", trial % N_COLOURS, shade);
    else
        rb_buf_printf(p->out, "s%d", shade);
}

static void put_ramp(const struct look *k, struct rb_buf *out)
{
    for (int i = 0; i < RAMP; i++) {
        const double share = (double)i / (RAMP - 1);
        rb_buf_printf(out, ".s%d{fill:rgb(%.0f,%.0f,%.0f)}.d%d{fill-opacity:%.2f}.on%d{fill:%s}", i,
                      k->shallow[0] + share * (k->deep[0] - k->shallow[0]),
                      k->shallow[1] + share * (k->deep[1] - k->shallow[1]),
                      k->shallow[2] + share * (k->deep[2] - k->shallow[2]), i, 0.45 + 0.55 * share, i,
                      share > 0.5 ? k->on_deep : k->on_shallow);
    }
    for (int i = 0; i < N_COLOURS; i++)
        rb_buf_printf(out, ".c%d{fill:%s}", i, k->colours[i]);
}

static void put_style(const struct look *k, struct rb_buf *out)
{
    rb_buf_printf(out,
                  "text{font:12px system-ui,sans-serif;fill:%s}.head{font-size:16px;font-weight:600}.axis{fill:%s}"
                  ".red{fill:%s}.on{font-size:10px;pointer-events:none}.grid,.edge{stroke:%s}.paper{fill:%s}"
                  ".asked{fill:#808080;fill-opacity:.08;stroke:%s;stroke-width:.8;stroke-dasharray:3 3}"
                  ".boot{fill:%s;fill-opacity:.75}.owned{fill:%s;fill-opacity:.28}.lost{stroke:%s;stroke-width:2}"
                  ".bar{stroke:%s;stroke-width:.5}.gone{opacity:.35}.barrier{stroke:%s;stroke-dasharray:2 3}"
                  ".limit{stroke:%s;stroke-width:1.5}",
                  k->ink, k->faint, k->alarm, k->rule, k->paper, k->faint, k->colours[1], k->colours[7], k->alarm,
                  k->paper, k->faint, k->alarm);
    put_ramp(k, out);
}

// ---- axis

// The step of the axis: the first of a list of readable steps that gives at most ten.
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

// "0", "45 m", "1 h 30 m": without units that a round step does not have.
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
        put_text(p, x, bottom + 20, "axis", "middle", tick_text(at_us, text));
    }
    rb_buf_printf(p->out, "<line x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\" class=\"edge\"/>\n", LEFT, WIDTH - RIGHT,
                  bottom + 2, bottom + 2);
    put_text(p, LEFT + (WIDTH - LEFT - RIGHT) / 2.0, bottom + 42, "axis", "middle", "since the start");
}

// ---- nodes

static void put_span(const struct picture *p, const char *class, int64_t from_us, int64_t to_us, double y,
                     double height)
{
    if (from_us >= 0 && to_us > from_us)
        rb_buf_printf(p->out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"%s\"/>\n",
                      x_of(p, from_us), y, width_of(p, from_us, to_us), height, class);
}

// Requested, booting (billed), ready: the lanes on which trials lie.
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
    char from[32], took[32], on[32];
    rb_buf_printf(p->out, "<title>%s %d, level %d: %s %lld to %lld on %s of node %d\n%s from %s, %s</title>",
                  p->g->what, b->trial, b->level, p->g->unit, (long long)b->resource_start, (long long)b->resource_end,
                  rb_trial_unit_text(&(struct rb_trial_spec){.cpus = p->g->cpus}, __builtin_popcountll(b->gpus), on),
                  b->node, rb_format_duration(b->end_us - b->start_us, took), rb_format_duration(b->start_us, from),
                  ends[b->end]);
}

// GPUs `first`..`first + n - 1` of the node, which are adjacent.
static void put_bar_part(const struct picture *p, const struct rb_gantt_bar *b, double y, int first, int n)
{
    const double x = x_of(p, b->start_us), width = width_of(p, b->start_us, b->end_us);
    const double top = y + p->lane * first, height = p->lane * n;
    char name[16], class[16];
    const int len = snprintf(name, sizeof name, "%d", b->trial);
    rb_buf_printf(p->out, "<g><rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" class=\"bar%s ", x, top + 0.5,
                  width, fmax(1, height - 1), b->end == RB_GANTT_LOST ? " gone" : "");
    put_classes(p, b->trial, b->level);
    rb_buf_puts(p->out, "\">");
    put_bar_title(p, b);
    rb_buf_puts(p->out, "</rect>");
    if (height >= LABEL_LANE && width > len * CHARACTER + 4) {
        snprintf(class, sizeof class, "on on%d", shade_of(p->g, b->level));
        put_text(p, x + width / 2, top + height / 2 + 3.5, class, "middle", name);
    }
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

// Collecting the bars of one node after another would need an index; a readable picture has few nodes.
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

static double put_key(const struct picture *p, double x, const char *classes, const char *text)
{
    rb_buf_printf(p->out, "<rect x=\"%.1f\" y=\"60\" width=\"18\" height=\"10\" rx=\"2\" class=\"%s\"/>\n", x, classes);
    put_text(p, x + 24, 69, "key", "start", text);
    return x + 24 + 6.8 * (double)strlen(text) + 14;
}

static bool has_barriers(const struct rb_gantt *g)
{
    for (int i = 0; i < g->n_lines; i++) {
        if (!g->lines[i].limit)
            return true;
    }
    return false;
}

static void put_levels(const struct picture *p, double x)
{
    const int n = p->g->n_levels < RAMP ? p->g->n_levels : RAMP;
    char text[64], classes[16];
    for (int i = 0; i < n; i++) {
        const int level = n > 1 ? i * (p->g->n_levels - 1) / (n - 1) : 0;
        snprintf(classes, sizeof classes, p->g->has_colours ? "c0 d%d" : "s%d", shade_of(p->g, level));
        if (p->g->has_colours)
            snprintf(text, sizeof text, "%s", i < n - 1 ? "" : "a colour a job, stronger the further trained");
        else
            snprintf(text, sizeof text, "stage %d", level);
        x = put_key(p, x, classes, text) - (*text ? 0 : 20);
    }
}

static void put_legend(const struct picture *p)
{
    double x = 16;
    x = put_key(p, x, "asked", "provisioning");
    x = put_key(p, x, "boot", "set-up");
    x = put_key(p, x, "owned", "waiting");
    if (has_barriers(p->g)) {
        rb_buf_printf(p->out, "<line x1=\"%.1f\" x2=\"%.1f\" y1=\"59\" y2=\"71\" class=\"barrier\"/>\n", x + 4, x + 4);
        put_text(p, x + 12, 69, "key", "start", "ends of stages");
        x += 12 + 6.8 * 14 + 14;
    }
    put_levels(p, x);
}

static void put_picture(const struct rb_gantt *g, bool with_style, struct rb_buf *out)
{
    const struct picture p = lay_out(g, out);
    rb_buf_printf(out,
                  "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 %d %.0f\" width=\"%d\" height=\"%.0f\" "
                  "role=\"img\" aria-label=\"",
                  WIDTH, p.height, WIDTH, p.height);
    rb_markup_escape(g->title, out);
    rb_buf_puts(out, "\">\n");
    if (with_style) {
        rb_buf_puts(out, "<style>");
        put_style(&light, out);
        rb_buf_puts(out, "</style>\n");
    }
    rb_buf_printf(out, "<rect width=\"%d\" height=\"%.0f\" class=\"paper\"/>\n", WIDTH, p.height);
    put_text(&p, 16, 24, "head", "start", g->title);
    put_text(&p, 16, 44, "axis", "start", g->subtitle);
    put_legend(&p);
    put_axis(&p);
    put_rows(&p);
    put_lines(&p);
    rb_buf_puts(out, "</svg>\n");
}

void rb_gantt_write_svg(const struct rb_gantt *g, struct rb_buf *out)
{
    put_picture(g, true, out); // on white, like all pictures in files
}

static void put_page_style(const struct look *k, struct rb_buf *out)
{
    rb_buf_printf(out, "body{background:%s;color:%s}", k->paper, k->ink);
    put_style(k, out);
    rb_buf_printf(out, ".bar:hover{stroke:%s;stroke-width:1.5}", k->ink);
}

void rb_gantt_write_html(const struct rb_gantt *g, int n, struct rb_buf *out)
{
    rb_buf_puts(out, "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"
                     "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">"
                     "<meta name=\"color-scheme\" content=\"light dark\"><title>");
    rb_markup_escape(g->title, out);
    rb_buf_puts(out,
                "</title><style>body{margin:1rem}div{overflow-x:auto}svg{max-width:100%;min-width:45rem;height:auto}");
    put_page_style(&light, out);
    rb_buf_puts(out, "@media screen and (prefers-color-scheme:dark){");
    put_page_style(&dark, out);
    rb_buf_puts(out, "}</style></head><body>\n");
    for (int i = 0; i < n; i++) {
        rb_buf_puts(out, "<div>");
        put_picture(&g[i], false, out);
        rb_buf_puts(out, "</div>\n");
    }
    rb_buf_puts(out, "</body></html>\n");
}
