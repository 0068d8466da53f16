// Goodput against its definition, its search against trying every batch, and both against the optima of Pollux's
// released code.
#include "profiles/fit/goodput.h"
#include "tests/profiles/measured.h"

enum { N_ROWS = 9 };

// Optima of GoodputFunction.optimize with the parameters fitted to each model's measured placements and the gradient
// statistics of its first epoch (petuum/adaptdl, branch osdi21-artifact, numpy 1.24).
static const struct reference {
    const char *name;
    struct rb_goodput model;
    struct {
        int nodes, gpus;
        double goodput;
        struct rb_batch batch;
        double speedup; // over one GPU
    } rows[N_ROWS];
} references[] = {
    {"bert",
     {{0.16918035559021416, 0.05859840059504753, 1.3517349800674594, 0.014259171366114383, 0.2871993210727028,
       0.01119565129065054, 1.9003739526281909},
      {195590723287826.75, 6894015304034181.0},
      {12, 384, 4, 12},
      NULL},
     {{1, 1, 13.7557705600235, {12, 0}, 1.0},
      {1, 2, 25.21029362400628, {12, 0}, 1.8327067548852176},
      {1, 4, 47.439388264398055, {12, 0}, 3.4486899921306198},
      {2, 2, 18.924122770216517, {12, 3}, 1.3757224786238502},
      {2, 8, 52.6411814053862, {12, 1}, 3.8268435181937397},
      {3, 5, 38.01579304889232, {12, 2}, 2.7636251188553826},
      {4, 16, 77.27874227882165, {12, 1}, 5.617914455727127},
      {8, 32, 103.08032230194071, {12, 0}, 7.493605818165421},
      {16, 64, 89.65896072211109, {6, 0}, 6.517916268731216}}},
    {"cifar10",
     {{0.017327800655416427, 0.0007017618556254223, 0.12105412538305303, 0.0023929304381593596, 0.031604234460463954,
       0.001011097613262567, 1.998582116997388},
      {0.1796564287525152, 3.5984356449070787},
      {128, 4096, 32, 1024},
      NULL},
     {{1, 1, 1194.5500352158126, {128, 0}, 1.0},
      {1, 2, 2259.0402436144973, {213, 0}, 1.891122328087638},
      {1, 4, 4015.922712225728, {152, 0}, 3.361870657431435},
      {2, 2, 1994.0643255506848, {350, 0}, 1.6693016338913158},
      {2, 8, 5014.71544972178, {232, 0}, 4.197995313620998},
      {3, 5, 3815.0138209584275, {266, 0}, 3.193682732820137},
      {4, 16, 6767.103794981438, {199, 0}, 5.664981453672524},
      {8, 32, 7502.835030410165, {128, 0}, 6.28088804087195},
      {16, 64, 5986.8059826873505, {64, 0}, 5.011766611857115}}},
    {"ncf",
     {{0.006923895826714426, 6.322012160393414e-07, 0.018165640906443237, 0.000427691378313507, 0.00619150610873958,
       0.0001516826795667564, 1.2257254914650697},
      {14733.392100561354, 17120616.11685375},
      {256, 32768, 32, 32768},
      NULL},
     {{1, 1, 854712.3414953534, {16384, 1}, 1.0},
      {1, 2, 1393898.1436744027, {16384, 0}, 1.6308389103586853},
      {1, 4, 1786243.1789486774, {8192, 0}, 2.089876432372058},
      {2, 2, 946806.6615070973, {16384, 0}, 1.1077489063169736},
      {2, 8, 1092525.9488088829, {4096, 0}, 1.2782381811610033},
      {3, 5, 1090591.9574143214, {6554, 0}, 1.2759754416395663},
      {4, 16, 1008504.0611091806, {2048, 0}, 1.179933893717695},
      {8, 32, 834022.0160198556, {1024, 0}, 0.9757926445296212},
      {16, 64, 608273.9805092362, {512, 0}, 0.7116709926582276}}},
    {"imagenet",
     {{0.0645412329102628, 0.004473530182406831, 0.299007308032595, 0.005552709719488289, 0.00015702831535118083, 1e-08,
       2.4889393756113},
      {0.1723444569603961, 5.157831409120635},
      {200, 12800, 20, 200},
      NULL},
     {{1, 1, 208.4968145146177, {200, 0}, 1.0},
      {1, 2, 403.91165066298817, {198, 0}, 1.9372557398696848},
      {1, 4, 766.128359002847, {151, 0}, 3.674532681884853},
      {2, 2, 395.1279761560539, {198, 0}, 1.895127160939677},
      {2, 8, 1334.6543156289638, {162, 0}, 6.401317539244184},
      {3, 5, 901.3616054586792, {185, 0}, 4.323143293853464},
      {4, 16, 2249.9537899117654, {132, 0}, 10.791310146151039},
      {8, 32, 3390.6424425304635, {126, 0}, 16.262322522403554},
      {16, 64, 4226.604615835748, {126, 0}, 20.27179468269248}}},
    {"deepspeech2",
     {{0.30405850799741624, 0.024234349397137974, 0.37777870703403205, 0.02849982192048667, 0.08693004850199285,
       0.0018561953302408186, 1.4319047209355844},
      {0.0017965544157151, 0.2460254180047136},
      {20, 640, 10, 80},
      NULL},
     {{1, 1, 33.876084862319836, {78, 1}, 1.0},
      {1, 2, 67.29119060770971, {78, 0}, 1.9863921961819528},
      {1, 4, 127.57049213060836, {77, 0}, 3.765797985483979},
      {2, 2, 64.18501775383622, {78, 0}, 1.894699993068822},
      {2, 8, 213.51016378572206, {80, 0}, 6.302681217545541},
      {3, 5, 145.70767653217266, {77, 0}, 4.301195876806958},
      {4, 16, 310.2147704872245, {40, 0}, 9.157338333163597},
      {8, 32, 315.3214108562378, {20, 0}, 9.308083036684321},
      {16, 64, 222.18585309522666, {10, 0}, 6.5587819253092805}}},
    {"yolov3",
     {{0.18271996014957434, 0.025952699637812198, 0.6989579112367449, 0.023358496350877517, 0.138954787812709,
       0.0214814032193731, 1.1631728550937337},
      {381.3629258598358, 20659.549338681983},
      {8, 512, 4, 8},
      NULL},
     {{1, 1, 20.494871327944985, {8, 0}, 1.0},
      {1, 2, 34.65365522591983, {8, 2}, 1.6908452203195432},
      {1, 4, 62.050550435281934, {8, 1}, 3.0276135645055415},
      {2, 2, 27.164015717559366, {8, 5}, 1.3254055262362603},
      {2, 8, 71.29798079058571, {8, 3}, 3.478820610762758},
      {3, 5, 53.31593450198736, {8, 3}, 2.60142811578868},
      {4, 16, 99.33595797994623, {8, 2}, 4.846869072288371},
      {8, 32, 116.12413762573125, {8, 1}, 5.66600959662502},
      {16, 64, 99.64577111045413, {8, 0}, 4.861985689785035}}},
};

static void the_optima_are_those_of_the_reference(void **state)
{
    (void)state;
    for (int i = 0; i < N_OF(references); i++) {
        const struct reference *r = &references[i];
        double one_gpu = 0;
        for (int k = 0; k < N_ROWS; k++) {
            // theirs counts 1e-8 s of synchronisation on one GPU, ours none
            const double tolerance = r->rows[k].gpus == 1 ? 2e-6 : 1e-12;
            struct rb_batch best;
            const double goodput = rb_goodput_best(&r->model, r->rows[k].nodes, r->rows[k].gpus, &best);
            assert_int_equal(best.per_gpu, r->rows[k].batch.per_gpu);
            assert_int_equal(best.accumulation, r->rows[k].batch.accumulation);
            assert_close(goodput / r->rows[k].goodput, 1, tolerance);
            one_gpu = k == 0 ? goodput : one_gpu;
            assert_close(goodput / one_gpu / r->rows[k].speedup, 1, 2e-6);
        }
    }
}

static void goodput_is_throughput_times_efficiency(void **state)
{
    (void)state;
    const struct rb_goodput g = {.throughput = {0.1, 0.01, 0.3, 0.02, 0.05, 0.004, 1.0},
                                 .noise = {.sqr = 2, .var = 6},
                                 .limits = {32, 512, 8, 64}};
    const struct rb_batch b = {.per_gpu = 16, .accumulation = 1};
    // total 128 = 4 M0; gain (6 + 2) / (6 / 4 + 2); an accumulated gradient 0.26 s, the last 0.26 + 0.05 + 2 * 0.004
    assert_close(rb_batch_total(&b, 4), 128, 0);
    assert_close(rb_goodput_at(&g, 1, 4, &b), 128 / (0.26 + 0.318) * (8 / 3.5) / 4, 1e-9);
}

// A model whose every part is drawn: fast and slow, noisy and not, tight limits and wide ones.
static struct rb_goodput random_model(struct rb_stream *s)
{
    const int initial = 1 + (int)(exp(rb_stream_uniform(s) * 9));
    const int min_per_gpu = 1 + (int)(rb_stream_uniform(s) * initial);
    return (struct rb_goodput){.throughput = {exp(-6 + 5 * rb_stream_uniform(s)), exp(-14 + 10 * rb_stream_uniform(s)),
                                              exp(-6 + 5 * rb_stream_uniform(s)), exp(-12 + 8 * rb_stream_uniform(s)),
                                              exp(-8 + 5 * rb_stream_uniform(s)), exp(-12 + 8 * rb_stream_uniform(s)),
                                              1 + 9 * rb_stream_uniform(s)},
                               .noise = {.sqr = rb_stream_uniform(s), .var = exp(-3 + 8 * rb_stream_uniform(s))},
                               .limits = {.initial = initial,
                                          .max = (int)(initial * (1 + 100 * rb_stream_uniform(s))),
                                          .min_per_gpu = min_per_gpu,
                                          .max_per_gpu = min_per_gpu + (int)(rb_stream_uniform(s) * 2 * initial)}};
}

static void the_search_finds_what_trying_all_finds(void **state)
{
    (void)state;
    struct rb_stream s = test_stream(11, 0);
    int n_fit = 0;
    for (int i = 0; i < 20000; i++) {
        const struct rb_goodput g = random_model(&s);
        const int nodes = 1 + (int)(rb_stream_uniform(&s) * 4), gpus = nodes * (1 + (int)(rb_stream_uniform(&s) * 8));
        struct rb_batch tried[RB_N_TOTALS], expected = {-1, -1}, best = {-1, -1};
        const int n = rb_batch_candidates(&g.limits, gpus, tried);
        double largest = 0;
        for (int k = 0; k < n; k++) {
            const double goodput = rb_goodput_at(&g, nodes, gpus, &tried[k]);
            if (goodput > largest) {
                largest = goodput;
                expected = tried[k];
            }
        }
        assert_close(rb_goodput_best(&g, nodes, gpus, &best), largest, 0);
        assert_memory_equal(&best, &expected, sizeof(best));
        n_fit += n > 0;
    }
    assert_true(n_fit > 5000);
}

static void candidates_keep_the_limits_and_ascend(void **state)
{
    (void)state;
    struct rb_stream s = test_stream(12, 0);
    for (int i = 0; i < 5000; i++) {
        const struct rb_goodput g = random_model(&s);
        const int gpus = 1 + (int)(rb_stream_uniform(&s) * 64);
        struct rb_batch b[RB_N_TOTALS];
        const int n = rb_batch_candidates(&g.limits, gpus, b);
        double previous = 0;
        for (int k = 0; k < n; k++) {
            const double total = rb_batch_total(&b[k], gpus);
            assert_true(b[k].per_gpu >= g.limits.min_per_gpu && b[k].per_gpu <= g.limits.max_per_gpu);
            assert_true(total > previous && total >= g.limits.initial);
            // rounding up to whole samples may pass the largest total, by less than one sample each
            assert_true(total < g.limits.max + (double)gpus * (b[k].accumulation + 1));
            const struct rb_batch within = rb_batch_within(&g.limits, gpus, b[k]);
            assert_true(rb_batch_total(&within, gpus) <= g.limits.max && within.per_gpu > 0 &&
                        within.per_gpu > b[k].per_gpu - 2);
            previous = total;
        }
    }
}

static void one_gpu_accumulates_to_see_its_noise(void **state)
{
    (void)state;
    const struct rb_batch_limits limits = {.initial = 32, .max = 64, .min_per_gpu = 8, .max_per_gpu = 64};
    struct rb_batch b[RB_N_TOTALS];
    const int n = rb_batch_candidates(&limits, 1, b);
    assert_int_equal(b[0].per_gpu, 32);
    assert_int_equal(b[0].accumulation, 0);
    for (int k = 1; k < n; k++) {
        assert_int_equal(b[k].accumulation, 1);
    }
}

static void no_batch_fits_too_many_gpus(void **state)
{
    (void)state;
    const struct rb_goodput g = {.throughput = {0.1, 0.01, 0.3, 0.02, 0.05, 0.004, 1.0},
                                 .noise = {.sqr = 1, .var = 1},
                                 .limits = {32, 64, 8, 64}};
    struct rb_batch b = {42, 42};
    assert_true(rb_goodput_best(&g, 1, 8, &b) > 0); // 8 * 8 = 64
    assert_int_equal(b.per_gpu, 8);
    b = (struct rb_batch){42, 42};
    assert_close(rb_goodput_best(&g, 3, 9, &b), 0, 0);
    assert_int_equal(b.per_gpu, 42);
}

static void lists_made_before_answer_the_same(void **state)
{
    (void)state;
    struct rb_stream s = test_stream(13, 0);
    for (int i = 0; i < 50; i++) {
        struct rb_goodput g = random_model(&s), listed = g;
        struct rb_goodput_batches *batches = rb_goodput_batches_create(&g.limits, 16);
        listed.batches = batches;
        for (int gpus = 1; gpus <= 20; gpus++) { // beyond 16 they are listed on demand
            struct rb_batch a = {0, 0}, b = {0, 0};
            assert_close(rb_goodput_best(&listed, 1, gpus, &a), rb_goodput_best(&g, 1, gpus, &b), 0);
            assert_memory_equal(&a, &b, sizeof(a));
        }
        rb_goodput_batches_destroy(batches);
    }
    rb_goodput_batches_destroy(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_optima_are_those_of_the_reference),
        cmocka_unit_test(goodput_is_throughput_times_efficiency),
        cmocka_unit_test(the_search_finds_what_trying_all_finds),
        cmocka_unit_test(candidates_keep_the_limits_and_ascend),
        cmocka_unit_test(one_gpu_accumulates_to_see_its_noise),
        cmocka_unit_test(no_batch_fits_too_many_gpus),
        cmocka_unit_test(lists_made_before_answer_the_same),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
