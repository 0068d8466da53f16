#include "views/simulations/sim_regret.h"

#include "base/file.h"
#include "views/pages/page.h"
#include "views/pages/picture.h"
#include "views/simulations/sim_search.h"
#include "views/simulations/sim_table.h"

#include <string.h>

// ---- the page

static void chart(struct rb_page *p, const struct rb_simulation *sim)
{
    rb_page_section(p, "regret", "Regret over dollars",
                    "Regret is what is missing to the best row of the table, as a share of the distance between the best "
                    "row and the median one: 1 is no better than a random guess, 0 the best there is.");
    rb_page_chart(p, "regret",
                  sim->variants[0].plan.job->has_target
                      ? "Mean regret of each search against dollars, with the 95 % interval of the mean; a line ends with "
                        "the last run. Below, the dollars until the target was reported: 5 % to 95 % of the runs that "
                        "reported it, with a mark at half of them."
                      : "Mean regret of each search against dollars, with the 95 % interval of the mean; a line ends with "
                        "the last run.");
}

static void searches(struct rb_page *p, const struct rb_simulation *sim)
{
    struct rb_text_table table;
    rb_page_section(p, "searches", "The searches", NULL);
    rb_sim_search_cells(sim, &table);
    rb_page_table(p, "Regret at the end, with the 95 % interval of its mean, and dollars to the target", &table);
    rb_text_table_finish(&table);
    for (int i = 0; i < sim->n_variants; i++) {
        RB_AUTO(rb_buf_finish) struct rb_buf said = RB_BUF_INIT;
        if (rb_sim_ran_out(sim, &sim->variants[i], &said))
            rb_page_paragraph(p, "%s.", rb_buf_str(&said));
    }
}

static bool is_same(const struct rb_offer *a, const struct rb_offer *b)
{
    return strcmp(a->infra, b->infra) == 0 && strcmp(a->instance_type, b->instance_type) == 0 && a->market == b->market;
}

static bool has_same_source(const struct rb_offer *a, const struct rb_offer *b)
{
    return a->source && b->source && strcmp(a->source, b->source) == 0;
}

static bool is_among(bool (*equal)(const struct rb_offer *, const struct rb_offer *), const struct rb_offer *offer,
                     const struct rb_offer *const *offers, int n)
{
    for (int i = 0; i < n; i++)
        if (equal(offers[i], offer))
            return true;
    return false;
}

// Of all variants' plans, each once, in `arena`; their number.
static int find_offers(const struct rb_simulation *sim, struct rb_arena *arena, const struct rb_offer ***out)
{
    int most = 0, n = 0;
    for (int v = 0; v < sim->n_variants; v++)
        most += sim->variants[v].plan.n_offers;
    *out = rb_arena_array(arena, (size_t)most, sizeof **out);
    for (int v = 0; v < sim->n_variants; v++) {
        const struct rb_plan *plan = &sim->variants[v].plan;
        for (int i = 0; i < plan->n_offers; i++)
            if (!is_among(is_same, &plan->offers[i], *out, n))
                (*out)[n++] = &plan->offers[i];
    }
    return n;
}

static void price_row(struct rb_text_table *table, const struct rb_offer *offer)
{
    char text[32];
    rb_text_table_cell(table, "%s", offer->instance_type);
    rb_text_table_cell(table, "%s", offer->infra);
    rb_text_table_cell(table, "%s", rb_market_name(offer->market));
    rb_text_table_cell(table, "%s", rb_format_money(offer->rate.uusd_per_hour, text));
    rb_text_table_cell(table, "%s", offer->fetched_at_us < 0 ? "-" : rb_format_instant(offer->fetched_at_us, text));
}

static void prices(struct rb_page *p, const struct rb_simulation *sim)
{
    static const struct rb_text_column columns[] = {
        {"machine", false, 0}, {"where", false, 0}, {"market", false, 0}, {"an hour", true, 0}, {"fetched", false, 0}};
    RB_AUTO(rb_arena_finish) struct rb_arena arena = {0};
    struct rb_text_table table;
    const struct rb_offer **offers;
    const int n = find_offers(sim, &arena, &offers);
    rb_page_section(p, "prices", "What the dollars are", NULL);
    rb_text_table_init(&table, columns, sizeof columns / sizeof columns[0]);
    for (int i = 0; i < n; i++)
        price_row(&table, offers[i]);
    rb_page_table(p, "Prices of the machines in the searches' plans", &table);
    rb_text_table_finish(&table);
    for (int i = 0; i < n; i++) {
        const char *before = rb_arena_printf(&arena, "%s, %s: ", offers[i]->instance_type, rb_market_name(offers[i]->market));
        if (offers[i]->source && !is_among(has_same_source, offers[i], offers, i))
            rb_page_sentence(p, before, offers[i]->source);
    }
}

static void write_page(const struct rb_simulation *sim, const char *document, struct rb_buf *out)
{
    RB_AUTO(rb_buf_finish) struct rb_buf title = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf summary = RB_BUF_INIT;
    const struct rb_blackbox *t = sim->table;
    struct rb_page p;
    rb_buf_printf(&title, "%s: regret over dollars", sim->variants[0].plan.job->name);
    rb_buf_printf(&summary, "%d %s on the table %s, of %d rows: %d simulated runs%s.", sim->n_variants,
                  sim->n_variants == 1 ? "search" : "searches", t->path, t->n_rows, sim->n,
                  sim->n_variants == 1 ? "" : " of each, on the same draws");
    rb_page_begin(&p, rb_buf_str(&title), rb_buf_str(&summary), false, false, out);
    chart(&p, sim);
    searches(&p, sim);
    prices(&p, sim);
    rb_page_end(&p, document);
}

// ---- files

bool rb_sim_regret_save(const struct rb_simulation *sim, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf document = RB_BUF_INIT;
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    if (rb_sim_most_spent(sim) == 0)
        return rb_err_set(err, RB_E_ANY_PRICE,
                          "--regret %s: no run cost anything, so there are no dollars to draw: name machines that have a "
                          "price in the job's resources",
                          path);
    if (sim->n_variants > 1)
        rb_sim_show_comparison(sim, true, &document);
    else
        rb_sim_show(sim, true, &document);
    if (rb_has_ending(path, ".html"))
        write_page(sim, rb_buf_str(&document), &out);
    else if (!rb_picture_write("regret", rb_buf_str(&document), &out, err))
        return false;
    return rb_write_file(path, rb_buf_str(&out), out.len, err);
}
