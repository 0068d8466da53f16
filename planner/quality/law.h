// The law of quality: what the result of a configuration after some training says about its result at the end, and
// which metrics configurations have.
//
// The model is a Gaussian copula. A configuration drawn from the declared space has a final normal score z ~ N(0, 1):
// its metric at R is the Phi(z) quantile of all configurations' metrics there, higher z being better. Its result after
// the share s of R has a normal score y(s) ~ N(0, 1) among all results at s, with correlation rho(s) to z. A later
// result knows all that an earlier one knew of the end: corr(y(s), y(t)) = rho(s) / rho(t) for s < t.
//
// Where nothing is known of the job, rho is a prior: .75, .85, .93 at 4, 12, 36 % of R, from 12 tables of measured and
// modelled curves (docs/MODEL.md). Jobs differ: in each draw rho is taken to the power e^(spread N(0, 1)). Which metric
// a score is, is then unknown. Earlier runs of the job make both narrower (planner/quality/runs.h).
#ifndef RB_PLANNER_QUALITY_LAW_H
#define RB_PLANNER_QUALITY_LAW_H

#include "simulator/blackbox/table.h"

#define RB_QUALITY_SHARES 64

// Which metric a final normal score is, in one of the ways in which it may be: knots, linear between.
struct rb_quality_map {
    const double *z, *scores; // ascending, [n]; scores as below
    int n;
};

struct rb_quality_law {
    const char *source;        // "a prior", "the table lcbench_3945": what every sentence about it names
    double share[RB_QUALITY_SHARES], rho[RB_QUALITY_SHARES]; // ascending; rho never falls; the last is (1, 1)
    int n;
    double spread;             // of rho between jobs; 0: it is this job's own
    const double *scores;      // of a table, at each share, ascending, higher is better: metrics, negated under
    int n_scores;              // `minimize`; [n][n_scores]. NULL: no table
    const struct rb_quality_map *maps; // of earlier runs, equally likely; draw k takes map k mod n_maps. 0: no run
    int n_maps;                        // trained a trial to the end
    int n_runs;                // earlier runs on which it rests
    enum rb_goal goal;         // where it has scores or maps
};

void rb_quality_law_prior(struct rb_quality_law *out);
// From a table of trained configurations that are like the job's. Diverged ones count as the worst finite result.
// Errors (BLACKBOX_JOB): its metric or goal is not the job's. *out lives in `arena`.
bool rb_quality_law_of_table(const struct rb_blackbox *table, const struct rb_job *job, struct rb_arena *arena,
                             struct rb_quality_law *out, struct rb_err *err);

// rho at a share in (0, 1]: between known shares linear in ln s; below the first it falls to 0 with s, because results
// after very little training mislead.
double rb_quality_correlation(const struct rb_quality_law *law, double share);

// Without scores and maps it is unknown which metric a normal score is.
bool rb_quality_knows_metrics(const struct rb_quality_law *law);
// The metric of a final normal score in draw k; beyond the best known one, that one. NAN: unknown.
double rb_quality_metric(const struct rb_quality_law *law, double z, int k);
// Is it better than every metric that earlier runs know? A table's best is the best there is.
bool rb_quality_is_beyond(const struct rb_quality_law *law, double z, int k);
// The least normal score at a share that has at least this metric. INFINITY: no known configuration has. The law has
// scores.
double rb_quality_score_of(const struct rb_quality_law *law, double share, double metric);

#endif
