// Each row is an equation: what it has of each part, times the parts' prices, is its price. Of all solutions the one nearest
// to zero is taken, measured in what the parts usually cost, by projecting onto the rows one after the other
// (Gram-Schmidt). Rounding is then checked row by row.
#include "providers/mock/gcp/gcp_skus.h"
#include "base/text/table.h"

#include "providers/mock/cloud/cloud_regions.h"

#include <math.h>
#include <string.h>

enum { NANOS_PER_UUSD = 1000, MIB_PER_GIB = 1024 };

static const struct part {
    const char *name;
    enum rb_gcp_sku_kind kind;
    double usual_usd;
} parts[] = {
    {"N1 Predefined Instance Core", RB_GCP_SKU_CORE, 0.03},
    {"N1 Predefined Instance Ram", RB_GCP_SKU_MEMORY, 0.004},
    {"N2 Instance Core", RB_GCP_SKU_CORE, 0.03},
    {"N2 Instance Ram", RB_GCP_SKU_MEMORY, 0.004},
    {"A2 Instance Core", RB_GCP_SKU_CORE, 0.03},
    {"A2 Instance Ram", RB_GCP_SKU_MEMORY, 0.004},
    {"G2 Instance Core", RB_GCP_SKU_CORE, 0.025},
    {"G2 Instance Ram", RB_GCP_SKU_MEMORY, 0.003},
    {"Nvidia L4 GPU", RB_GCP_SKU_GPU, 0.56},
    {"Nvidia Tesla A100 GPU", RB_GCP_SKU_GPU, 2.9},
    {"Nvidia Tesla P100 GPU", RB_GCP_SKU_GPU, 1.46},
    {"Nvidia Tesla P4 GPU", RB_GCP_SKU_GPU, 0.6},
    {"Nvidia Tesla T4 GPU", RB_GCP_SKU_GPU, 0.35},
    {"Nvidia Tesla V100 GPU", RB_GCP_SKU_GPU, 2.48},
};
enum { N_PARTS = sizeof parts / sizeof parts[0] };

static const struct family {
    const char *prefix, *core, *memory;
} families[] = {
    {"a2-highgpu-", "A2 Instance Core", "A2 Instance Ram"},
    {"a2-megagpu-", "A2 Instance Core", "A2 Instance Ram"},
    {"g2-standard-", "G2 Instance Core", "G2 Instance Ram"},
    {"n1-", "N1 Predefined Instance Core", "N1 Predefined Instance Ram"},
    {"n2-", "N2 Instance Core", "N2 Instance Ram"},
};
static const struct gpu {
    const char *accelerator, *part;
} gpus[] = {
    {"A100", "Nvidia Tesla A100 GPU"}, {"L4", "Nvidia L4 GPU"},       {"P100", "Nvidia Tesla P100 GPU"},
    {"P4", "Nvidia Tesla P4 GPU"},     {"T4", "Nvidia Tesla T4 GPU"}, {"V100", "Nvidia Tesla V100 GPU"},
};

// The amount of each part in a machine; memory in MiB.
struct amounts {
    int64_t of[N_PARTS];
};

static int part_of(const char *name)
{
    const struct part *part = RB_ROW_OF(parts, name);
    return (int)(part - parts);
}

static bool add_gpus(const struct rb_offer *o, struct amounts *a)
{
    if (strcmp(o->accelerator, "CPU") == 0)
        return true;
    const struct gpu *gpu = RB_ROW_OF(gpus, o->accelerator);
    if (gpu)
        a->of[part_of(gpu->part)] = o->gpus;
    return gpu != NULL;
}

// False: its parts have no names here.
static bool take_apart(const struct rb_offer *o, struct amounts *out)
{
    *out = (struct amounts){0};
    const struct family *f = RB_ROW_STARTING(families, o->instance_type);
    if (!f)
        return false;
    out->of[part_of(f->core)] = llround(o->vcpus);
    out->of[part_of(f->memory)] = llround(o->memory_gb * MIB_PER_GIB);
    return add_gpus(o, out);
}

// --- the parts' prices in one region on one market ---

struct system {
    double solution[N_PARTS];       // in units of what a part usually costs, nano-dollars
    double basis[N_PARTS][N_PARTS]; // orthonormal, [n_basis]
    int n_basis;
};

static double scale(int part)
{
    return parts[part].usual_usd;
}

static double dot(const double *a, const double *b)
{
    double sum = 0;
    for (int i = 0; i < N_PARTS; i++)
        sum += a[i] * b[i];
    return sum;
}

// Moves the solution along what is new in the row, so that the rows before it stay fulfilled. A row that says nothing new
// changes nothing; whether it agrees is checked in the end.
static void add_row(struct system *s, const struct amounts *a, double nanos)
{
    double row[N_PARTS], rest[N_PARTS];
    for (int i = 0; i < N_PARTS; i++)
        rest[i] = row[i] = (double)a->of[i] / (parts[i].kind == RB_GCP_SKU_MEMORY ? MIB_PER_GIB : 1) * scale(i);
    for (int b = 0; b < s->n_basis; b++) {
        const double along = dot(rest, s->basis[b]);
        for (int i = 0; i < N_PARTS; i++)
            rest[i] -= along * s->basis[b][i];
    }
    const double length = sqrt(dot(rest, rest));
    if (s->n_basis == N_PARTS || length < 1e-9 * sqrt(dot(row, row)))
        return;
    const double missing = nanos - dot(row, s->solution);
    for (int i = 0; i < N_PARTS; i++) {
        s->basis[s->n_basis][i] = rest[i] / length;
        s->solution[i] += missing / (length * length) * rest[i];
    }
    s->n_basis++;
}

// Downwards, so that the sum, which is rounded up, is not above the price; but what is a whole number stays it.
static int64_t whole_nanos(double x)
{
    const double nearest = round(x);
    return (int64_t)(fabs(x - nearest) < 1e-3 ? nearest : floor(x));
}

static int64_t sum_uusd(const struct amounts *a, const int64_t nanos[N_PARTS])
{
    int64_t sum = 0;
    for (int i = 0; i < N_PARTS; i++)
        sum += parts[i].kind == RB_GCP_SKU_MEMORY ? (a->of[i] * nanos[i] + MIB_PER_GIB - 1) / MIB_PER_GIB
                                                  : a->of[i] * nanos[i];
    return (sum + NANOS_PER_UUSD - 1) / NANOS_PER_UUSD;
}

static bool is_of(const struct rb_offer *o, const char *region, enum rb_market market)
{
    const size_t n = strlen(region);
    return o->market == market && strncmp(o->infra, "gcp/", 4) == 0 && strncmp(o->infra + 4, region, n) == 0 &&
           (o->infra[4 + n] == '\0' || o->infra[4 + n] == '/');
}

// used: is the part in any row? nanos: of those.
static bool solve(const struct rb_catalog *c, const char *region, enum rb_market market, bool used[N_PARTS],
                  int64_t nanos[N_PARTS], struct rb_err *err)
{
    struct system s = {0};
    struct amounts a;
    for (int k = 0; k < c->n_offers; k++)
        if (is_of(&c->offers[k], region, market) && take_apart(&c->offers[k], &a)) {
            add_row(&s, &a, (double)c->offers[k].rate.uusd_per_hour * NANOS_PER_UUSD);
            for (int i = 0; i < N_PARTS; i++)
                used[i] = used[i] || a.of[i] > 0;
        }
    for (int i = 0; i < N_PARTS; i++)
        nanos[i] = whole_nanos(s.solution[i] * scale(i));
    for (int k = 0; k < c->n_offers; k++) {
        const struct rb_offer *o = &c->offers[k];
        bool fits = true;
        if (!is_of(o, region, market) || !take_apart(o, &a))
            continue;
        for (int i = 0; i < N_PARTS; i++)
            fits = fits && (a.of[i] == 0 || nanos[i] > 0);
        if (!fits || sum_uusd(&a, nanos) != o->rate.uusd_per_hour)
            return rb_err_set(err, RB_E_MOCK_PRICES,
                              "the price list's %s %s (%s) is not the sum of cores, memory and GPUs at the prices that "
                              "the other rows of gcp/%s have them at",
                              o->infra, o->instance_type, rb_market_name(market), region);
    }
    return true;
}

static void add_skus(struct rb_gcp_skus *out, const char *region, enum rb_market market, const bool used[N_PARTS],
                     const int64_t nanos[N_PARTS])
{
    static const char *const groups[] = {"CPU", "RAM", "GPU"};
    for (int i = 0; i < N_PARTS; i++)
        if (used[i])
            out->skus[out->n++] =
                (struct rb_gcp_sku){parts[i].name, parts[i].kind, groups[parts[i].kind], region, market, nanos[i]};
}

bool rb_gcp_skus_of(const struct rb_catalog *catalog, struct rb_arena *arena, struct rb_gcp_skus *out,
                    struct rb_err *err)
{
    const struct rb_cloud_regions regions = rb_cloud_regions_of(catalog, arena);
    struct rb_gcp_skus all = {0};
    all.skus = rb_arena_array(arena, (size_t)regions.n * 2 * N_PARTS, sizeof *all.skus);
    for (int r = 0; r < regions.n; r++)
        for (int m = 0; m < 2 && regions.regions[r].is_gcp; m++) {
            bool used[N_PARTS] = {0};
            int64_t nanos[N_PARTS];
            if (!solve(catalog, regions.regions[r].name, (enum rb_market)m, used, nanos, err))
                return false;
            add_skus(&all, regions.regions[r].name, (enum rb_market)m, used, nanos);
        }
    *out = all;
    return true;
}
