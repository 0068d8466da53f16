// Scripts of several styles: their options and what they print, what is certain of them, and that no text harms, however it
// ends. tests/cli/scripts has the scripts, tests/cli/cases/rbplan_init.txt the jobs that are drafted of them.
#include "profiles/script/script.h"

#include "base/text/buf.h"
#include "base/file.h"

#include "check.h"

#include <string.h>

static char *read_sample(const char *name)
{
    char path[512], *text;
    size_t n;
    struct rb_err err = {0};
    snprintf(path, sizeof path, RB_SOURCE_ROOT "/tests/cli/scripts/%s", name);
    if (!rb_read_file(path, 1 << 20, &text, &n, &err))
        fail_msg("%s", err.message);
    return text;
}

// name:type form=default{choices}, ! required, ~ another name; then metrics: name goal, ! a report, ? logged only, v validation.
static void describe(const struct rb_script *s, struct rb_buf *out)
{
    static const char *const styles[] = {"argparse",  "click",        "typer", "absl",  "dataclasses",
                                         "lightning", "configurator", "argv",  "hydra", "constants"};
    static const char *const types[] = {"any", "int", "float", "text", "bool"}, *const forms[] = {"", "/switch",
                                                                                                  "/either", "/other",
                                                                                                  "/place"};
    rb_buf_printf(out, "%s%s%s\n", styles[s->style], s->knows_all ? " all" : "", s->is_keras ? " keras" : "");
    for (int i = 0; i < s->n_options; i++) {
        const struct rb_script_option *o = &s->options[i];
        rb_buf_printf(out, "%s%s:%s%s%s%s%s%s ", o->is_alias ? "~" : "", o->name, types[o->type], forms[o->form],
                      o->default_value ? "=" : "", o->default_value ? o->default_value : "",
                      o->choices ? o->choices : "", o->is_required ? "!" : "");
    }
    rb_buf_putc(out, '\n');
    for (int i = 0; i < s->n_metrics; i++) {
        const struct rb_script_metric *m = &s->metrics[i];
        rb_buf_printf(out, "%s%+d%s%s%s@%s ", m->name, m->goal, m->is_report ? "!" : "", m->is_printed ? "" : "?",
                      m->is_validation ? "v" : "", m->resource ? m->resource : "-");
    }
}

static void expect(const char *source, const char *where, const char *description)
{
    struct rb_arena arena;
    struct rb_script s;
    struct rb_buf got = RB_BUF_INIT;
    rb_arena_init(&arena);
    rb_script_read(source, &arena, &s);
    describe(&s, &got);
    if (strcmp(rb_buf_str(&got), description) != 0)
        fail_msg("%s: expected\n%s\ngot\n%s", where, description, rb_buf_str(&got));
    rb_buf_finish(&got);
    rb_arena_finish(&arena);
}

static const struct {
    const char *file, *description;
} samples[] = {
    {"argparse_flags.py",
     "argparse all\n"
     "lr:float=1e-3 ~learning-rate:float=1e-3 batch-size:int=64 dropout:float=0.1 momentum:float=0.9 "
     "label_smoothing:float=0.0 weight-decay:float=0.0 opt:text=\"sgd\"[\"sgd\", \"adam\"] amp:bool/switch "
     "no-cuda:bool/switch epochs:int=20 resume:text checkpoint-dir:text=\"ckpt\" seed:int=1 \n"
     "train_loss-1!@epoch val_acc+1!v@epoch "},
    {"click_options.py",
     "click all\n"
     "learning-rate:float=0.01 layers:int=4 optimizer:text=\"adam\"[\"sgd\", \"adam\"] nesterov:bool/switch=False "
     "~no-nesterov:bool/switch=False amp:bool/switch max-epochs:int=30 out-dir:text=\"out\" \n"
     "val_loss-1!v@epoch "},
    {"absl_flags.py", "absl\n"
                      "learning_rate:float=3e-4 hidden:int=128 schedule:text=\"cosine\"[\"cosine\", \"linear\"] "
                      "augment:bool/either=True train_steps:int=10000 model_dir:text \n"
                      "eval_accuracy+1!v@step "},
    {"hf_trainer.py", "dataclasses\n"
                      "model_name_or_path:text! hidden_dropout:float=0.1 cache_dir:text freeze:bool/either=False \n"
                      ""},
    {"lightning_cli.py",
     "lightning\n"
     "model.lr:float=1e-3 model.hidden:int=64 model.dropout:float=0.2 model.name:text=\"net\" data.batch_size:int=32 \n"
     "val_loss-1?v@- "},
    {"keras_fit.py", "argparse all keras\n"
                     "units:int=32 n_epochs:int=12 \n"
                     ""},
    {"constants.py", "constants\n"
                     "BATCH_SIZE:int=128 LR:float=0.05 EPOCHS:int=40 DATA:text=\"/data\" \n"
                     "val_acc+1v@- "},
    {"argv.py", "argv\n"
                "lr:float/place batch_size:int/place epochs:int/place out:text/place \n"
                "test_error-1!v@epoch "},
    {"nanogpt.py",
     "configurator all\n"
     "out_dir:text='out' eval_interval:int=2000 init_from:text='scratch' batch_size:int=12 dropout:float=0.0 "
     "learning_rate:float=6e-4 max_iters:int=600000 beta2:float=0.95 lr_decay_iters:int=600000 bias:bool=False "
     "compile:bool=True \n"
     "train_loss-1@- val_loss-1v@- "},
    {"mnist.py", "argparse all\n"
                 "batch-size:int=64 test-batch-size:int=1000 epochs:int=14 lr:float=1.0 gamma:float=0.7 "
                 "no-accel:bool/switch=False dry-run:bool/switch=False seed:int=1 log-interval:int=10 "
                 "save-model:bool/switch=False \n"
                 "test_loss-1v@- loss-1@- "},
    {"silent.py", "argparse all\n"
                  "data:text/place depth:int! alpha:float=0.3 resume:bool/switch output_dir:text! \n"
                  ""},
    {"typer_app.py", "typer\n"
                     "data:text/place lr:float=1e-3 batch:int=64 amp:bool/switch=False dropout:float=0.1 epochs:int=12 "
                     "out-dir:text=\"out\" \n"
                     "val_acc+1v@- "},
    {"contract.py", "argparse all\n"
                    "lr:float=0.05 \n"
                    "val/f1+1!v@step "},
};

// The pattern of the last metric that a line prints, or of the unit where it prints none.
static void lines_become_patterns(void **unused)
{
    (void)unused;
    static const struct {
        const char *source, *pattern;
    } cases[] = {
        {"print(f'step {i}: train loss {a:.4f}, val loss {b:.4f}')",
         "step {resource}: train loss {train_loss}, val loss {val_loss}"},
        {"print('\\nTest set: Average loss: {:.4f}, Accuracy: {}/{} ({:.0f}%)\\n'.format(l, a, b, c))",
         "Test set: Average loss: {test_loss}, Accuracy: {*} ({acc}%)"},
        {"print('Epoch %d/%d | val loss %.3f | %.1f s' % (e, n, l, t))",
         "Epoch {resource}/{*} | val loss {val_loss} |"},
        {"print('[%d] {x} Val Acc: %.2f%%' % (e, a))", "[{*}] {{x}} Val Acc: {val_acc}%"},
        {"print('Train Epoch: {} [{}/{}]'.format(e, i, n))", "Train Epoch: {resource} ["},
        {"print('Iter', i)", "Iter {resource}"},
        {"print(f'val loss {a}{b}')", "none"}, // two values touch
        {"print('done')", "none"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_arena arena;
        struct rb_script s;
        rb_arena_init(&arena);
        rb_script_read(cases[i].source, &arena, &s);
        const char *unit = s.epochs.pattern ? s.epochs.pattern : s.steps.pattern;
        const char *got = s.n_metrics > 0 ? s.metrics[s.n_metrics - 1].pattern : unit;
        if (strcmp(got ? got : "none", cases[i].pattern) != 0)
            fail_msg("%s: expected %s, got %s", cases[i].source, cases[i].pattern, got ? got : "none");
        rb_arena_finish(&arena);
    }
}

static void every_style_is_read(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < N_OF(samples); i++) {
        char *text = read_sample(samples[i].file);
        expect(text, samples[i].file, samples[i].description);
        free(text);
    }
}

// What prints a report, and what only looks like one: the line that rbrun gets is in the comment.
static void lines_are_taken_apart_as_rbrun_does(void **unused)
{
    (void)unused;
    static const struct {
        const char *source, *metrics;
    } cases[] = {
        {"print(f'epoch={e} loss={l:.4f}')", "loss-1!@epoch "},
        {"print(f'{epoch=} {val_acc=:.3f}')", "val_acc+1!v@epoch "},
        {"print('epoch=%d, val_loss=%.3f; x' % (e, l))", "val_loss-1!v@epoch "},
        {"print('epoch=' + str(e) + ' f1=' + str(x))", "f1+1!@epoch "},
        {"print('step=' f'{s}', f'acc={a}', sep=' ', flush=True)", "acc+1!@step "},
        {"log.info('epoch=%d top1=%f', e, t)", "top1+1!@epoch "},
        {"print(json.dumps({'epoch': e, 'rmse': r}))", "rmse-1!@epoch "},
        {"print(f'epoch={e} fitness2={l}')", "fitness2+1!@epoch "},
        {"print(f'epoch={e} zeal={l}')", "zeal+0!@epoch "},
        {"print(f'acc={a}')", "acc+1@- "},
        {"print(f'epoch={e}/9 acc={a}')", "acc+1@- "},
        {"print(f'[epoch={e}] acc={a}')", "acc+1@- "},
        {"print(f'epoch={e} acc={a:.1%}')", "acc+1@epoch "},
        {"print(f'Epoch {e}/{n} loss: {l:.4f}')", "loss-1@- "},
        {"print('Validation accuracy', acc)", "validation_accuracy+1v@- "},
        {"print('Loss:', loss.item(), 'Val F1-score:', f)", "loss-1@- val_f1_score+1v@- "},
        {"print(f'lr={lr} time={t} {a} {b}')", ""},
        {"print('loss'); print(loss); print()", ""},
        {"# print(f'epoch={e} loss={l}')\n'''print(f\"epoch={e} loss={l}\")'''", ""},
        {"self.log('val/acc', a)\nwriter.add_scalar('train/loss', l, s)\nwandb.log({'test_err': e, 'lr': 1})",
         "val/acc+1?v@- train/loss-1?@- test_err-1?v@- "},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char description[200];
        snprintf(description, sizeof description, "constants\n\n%s", cases[i].metrics);
        expect(cases[i].source, cases[i].source, description);
    }
}

// What has no name is no option, a text without an end no literal, and choices are those of a list in sight.
static void halves_of_options_are_none(void **unused)
{
    (void)unused;
    static const struct {
        const char *option, *description;
    } cases[] = {
        {"'--a/--no-a'", "click all\na:bool/switch ~no-a:bool/switch \n"},
        {"'--a/--'", "click\na:bool/switch \n"},
        {"'--/--a'", "click\na:bool/switch \n"},
        {"'--n', type=click.Choice(['x', 'y'])", "click all\nn:any['x', 'y'] \n"},
        {"'--n', type=click.Choice(NAMES)", "click all\nn:any \n"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char source[300];
        snprintf(source, sizeof source, "import click\n@click.command()\n@click.option(%s)\ndef f(): pass\n",
                 cases[i].option);
        expect(source, cases[i].option, cases[i].description);
    }
    expect("import click\n@click.option('--lr", "no end", "constants\n\n");
}

// Options may come from elsewhere: then nothing is said of one that is not seen.
static void certainty_needs_every_call(void **unused)
{
    (void)unused;
    static const char head[] = "import argparse\np = argparse.ArgumentParser()\np.add_argument('--lr', type=float)\n";
    static const struct {
        const char *rest;
        bool all;
    } cases[] = {
        {"a = p.parse_args()\n", true},
        {"p.add_argument('-v', action='count')\na = p.parse_args()\n", true},
        {"g = p.add_argument_group('x')\ng.add_argument('--a')\na = p.parse_args()\n", true},
        {"def more(q):\n    q.add_argument('--a')\nmore(p)\na = p.parse_args()\n", true},
        {"a, rest = p.parse_known_args()\n", false},
        {"add_more(p)\na = p.parse_args()\n", false},
        {"Model.add_args(parser=p)\na = p.parse_args()\n", false},
        {"for n in NAMES:\n    p.add_argument('--' + n)\na = p.parse_args()\n", false},
        {"p.add_argument(*names)\na = p.parse_args()\n", false},
        {"s = p.add_subparsers()\na = p.parse_args()\n", false},
        {"q = argparse.ArgumentParser(parents=[p])\na = q.parse_args()\n", false},
        {"", false},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        char source[400];
        struct rb_arena arena;
        struct rb_script s;
        rb_arena_init(&arena);
        snprintf(source, sizeof source, "%s%s", head, cases[i].rest);
        rb_script_read(source, &arena, &s);
        if (s.knows_all != cases[i].all)
            fail_msg("case %zu: %s", i, cases[i].rest);
        rb_arena_finish(&arena);
    }
}

// In memory of its own, so that a step beyond the end is seen.
static void a_text_may_end_anywhere(void **unused)
{
    (void)unused;
    for (size_t i = 0; i < N_OF(samples); i++) {
        char *text = read_sample(samples[i].file);
        for (size_t n = 0; n < strlen(text); n += 3) {
            char *start = strndup(text, n);
            struct rb_arena arena;
            struct rb_script s;
            rb_arena_init(&arena);
            rb_script_read(start, &arena, &s);
            rb_arena_finish(&arena);
            free(start);
        }
        free(text);
    }
}

static void nonsense_does_no_harm(void **unused)
{
    (void)unused;
    static const char *const sources[] = {"",
                                          ")",
                                          "((((((",
                                          "print(",
                                          "add_argument(",
                                          ".add_argument(,)",
                                          "f'{'",
                                          "'''",
                                          "\"\\",
                                          "add_argument('--', '')",
                                          "x.option(",
                                          "DEFINE_(",
                                          "HfArgumentParser(A",
                                          "class A:\n x:",
                                          "LightningCLI(A)\nclass A:\n def __init__(",
                                          "sys.argv[1]",
                                          "= sys.argv[1]",
                                          "print('%')",
                                          "print('%(')",
                                          "print('{'.format())",
                                          "print(f'{{{')",
                                          "\x01\x01",
                                          "print('\x01')",
                                          "@\n@",
                                          "p.add_argument(p)",
                                          "exec(open('configurator.py'))\nx =",
                                          "x: = 3",
                                          "log({)"};
    for (size_t i = 0; i < N_OF(sources); i++) {
        char *source = strdup(sources[i]);
        struct rb_arena arena;
        struct rb_script s;
        rb_arena_init(&arena);
        rb_script_read(source, &arena, &s);
        rb_arena_finish(&arena);
        free(source);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_style_is_read),
        cmocka_unit_test(lines_become_patterns),
        cmocka_unit_test(lines_are_taken_apart_as_rbrun_does),
        cmocka_unit_test(halves_of_options_are_none),
        cmocka_unit_test(certainty_needs_every_call),
        cmocka_unit_test(a_text_may_end_anywhere),
        cmocka_unit_test(nonsense_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
