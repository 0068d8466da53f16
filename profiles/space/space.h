// The search space: describes hyperparameters and draws configurations of them. The order of parameters and a trial's index
// are the keys of its draws, so a job's trials never depend on the plan.
#ifndef RB_PROFILES_SPACE_H
#define RB_PROFILES_SPACE_H

#include "base/arena.h"
#include "base/text/buf.h"
#include "base/document/doc.h"
#include "base/document/json.h"

enum rb_param_kind {
    RB_PARAM_CONSTANT, RB_PARAM_CHOICE, RB_PARAM_UNIFORM, RB_PARAM_LOG_UNIFORM, RB_PARAM_NORMAL, RB_PARAM_LOG_NORMAL,
    RB_PARAM_INT_UNIFORM, RB_PARAM_Q_UNIFORM,
};

// A concrete value; also the elements of `values`.
struct rb_value {
    // ABSENT: the parameter does not apply, because of its `if:`.
    enum { RB_VALUE_INT, RB_VALUE_FLOAT, RB_VALUE_STRING, RB_VALUE_BOOL, RB_VALUE_ABSENT } kind;
    int64_t integer;
    double number;
    const char *string; // borrowed from the job's arena
    bool boolean;
};

struct rb_param {
    const char *name;        // [A-Za-z_][A-Za-z0-9_.-]{0,63}
    enum rb_param_kind kind;
    double min, max, q;      // UNIFORM, LOG_UNIFORM, INT_UNIFORM, Q_UNIFORM: min, min + q, ..., not beyond max
    bool whole;              // Q_UNIFORM whose min, max and q were written as integers: so are its draws
    double mu, sigma;        // NORMAL, LOG_NORMAL (of the logarithm)
    const struct rb_value *values;     // CHOICE and CONSTANT (one)
    const double *probabilities;       // CHOICE, or NULL: equal
    int n_values;
    bool is_flag;            // CHOICE of true and false: an argument --name if true, none if false
    // `if: {booster: [gbtree, dart]}`: it applies only if an earlier CHOICE has one of these values.
    int parent;              // index of that parameter, below its own
    const int *parent_values; // indices into the parent's `values`, ascending, [n_parent_values]
    int n_parent_values;     // 0: it always applies
};

struct rb_space {
    const struct rb_param *params; // file order
    int n_params;
};

// Does parameter `param` apply, given the values of the parameters before it? A parameter whose parent does not apply does not either.
bool rb_space_applies(const struct rb_space *space, const struct rb_value *values, int param);

bool rb_space_read(const struct rb_node *node, struct rb_arena *arena, struct rb_space *out, struct rb_err *err);
void rb_space_write(const struct rb_space *space, struct rb_json *j);

// The configuration of trial `trial` by random draw; out_values [n_params]. The same for every tuner that draws.
void rb_space_sample(const struct rb_space *space, uint64_t seed, uint32_t trial, struct rb_value *out_values);
// Grid: number of points (product of n_values and of q-steps), 0 if a parameter is continuous (err names it).
bool rb_space_grid_size(const struct rb_space *space, int64_t *out_n, struct rb_err *err);
void rb_space_grid_point(const struct rb_space *space, int64_t point, struct rb_value *out_values);

// A copy in the arena, texts included; NULL of NULL. [n_params]
const struct rb_value *rb_values_copy(const struct rb_space *space, const struct rb_value *values, struct rb_arena *arena);
// Equal kind and value; ABSENT equals nothing.
bool rb_value_equal(const struct rb_value *a, const struct rb_value *b);
// The same configuration: the same parameters apply, with equal values. [n_params]
bool rb_values_same(const struct rb_space *space, const struct rb_value *a, const struct rb_value *b);
// Parameters that do not apply are left out of all of these.
// "--lr=0.01 --batch_size=64 --amp", each word shell-safe; a false flag is left out.
void rb_space_args(const struct rb_space *space, const struct rb_value *values, struct rb_buf *out);
// {"lr":0.01,"batch_size":64}
void rb_space_json(const struct rb_space *space, const struct rb_value *values, struct rb_json *j);
// Reads an object of values, as rb_space_json writes it. Every parameter that applies must be there, within its range, and
// no other. Whole numbers are taken for floats. Errors name the key. Values are copied into `arena`; out_values [n_params].
bool rb_space_read_values(const struct rb_space *space, const struct rb_node *node, struct rb_arena *arena,
                          struct rb_value *out_values, struct rb_err *err);
// A scalar of a document; texts are copied into `arena`.
bool rb_value_read(const struct rb_node *node, struct rb_arena *arena, struct rb_value *out, struct rb_err *err);
void rb_value_text(const struct rb_value *v, struct rb_buf *out); // as in RB_PARAM_<NAME>
void rb_value_json(const struct rb_value *v, struct rb_json *j);  // a float keeps its point: 1.0, never 1

#endif
