// Draws what ran where and when: nodes are rows, their GPUs lanes. Trials are blue, deeper the further they are
// trained, as on the page of a run; each job has a colour. Fonts and colours are those of views/charts/frame.js, which
// cannot draw the many thousand bars of a cluster in reasonable time. Knows no engine: its caller passes in what it
// draws.
#ifndef RB_VIEWS_GANTT_H
#define RB_VIEWS_GANTT_H

#include "base/text/buf.h"

#include <stdbool.h>
#include <stdint.h>

struct rb_gantt_node {
    const char *name;       // "0  g5.12xlarge"
    int gpus;
    int64_t requested_us;
    int64_t running_us;     // billed from here; -1: never
    int64_t ready_us;       // -1: never
    int64_t ended_us;
    bool lost;              // preempted
};

enum rb_gantt_end { RB_GANTT_DONE, RB_GANTT_GAVE_WAY, RB_GANTT_STOPPED, RB_GANTT_LOST };

// One start of a trial on one node.
struct rb_gantt_bar {
    int node;
    uint64_t gpus;          // bit mask
    int trial, level;       // stage or level it trained in
    int64_t start_us, end_us;
    int64_t resource_start, resource_end; // trained in this start
    enum rb_gantt_end end;
};

struct rb_gantt_line {
    int64_t at_us;
    const char *label;
    bool limit;             // the deadline, not a barrier
};

struct rb_gantt {
    const char *title, *subtitle;
    const char *what;       // what a bar stands for: "trial", "job"
    const char *unit;       // of resource
    int cpus;               // of one place of a node; 0: places are GPUs
    int n_levels;
    bool has_colours;       // colour distinguishes the bars, and its strength the levels
    const struct rb_gantt_node *nodes;
    int n_nodes;
    const struct rb_gantt_bar *bars;
    int n_bars;
    const struct rb_gantt_line *lines;
    int n_lines;
    int64_t end_us;         // of the run; > 0
};

// A picture, or a page that holds n of them and loads nothing from elsewhere.
void rb_gantt_write_svg(const struct rb_gantt *g, struct rb_buf *out);
void rb_gantt_write_html(const struct rb_gantt *g, int n, struct rb_buf *out);

#endif
