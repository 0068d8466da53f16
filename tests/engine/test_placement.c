// Placement by table: which GPUs of which nodes a trial gets; and a check of every answer against the rule's own words.
#include "engine/placement.h"

#include "base/stream.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>

#define MAX_NODES 8

// "ff.. f..." : one word a node, 'f' free, '.' busy; GPU 0 first.
static int read_nodes(const char *text, struct rb_placement_node *nodes)
{
    int n = 0;
    while (*text) {
        struct rb_placement_node *node = &nodes[n];
        *node = (struct rb_placement_node){.node = 10 + n};
        for (; *text && *text != ' '; text++, node->gpus++)
            node->free |= (uint64_t)(*text == 'f') << node->gpus;
        n++;
        text += *text == ' ';
    }
    return n;
}

static void print_slots(const struct rb_slot *slots, int n, char *out, size_t size)
{
    size_t at = 0;
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, size - at, "%s%d:%llx", i ? " " : "", slots[i].node,
                               (unsigned long long)slots[i].gpus);
}

static void trials_go_where_they_fit_best(void **state)
{
    (void)state;
    static const struct {
        const char *nodes;
        int g;
        const char *slots; // "" : does not fit now
    } cases[] = {
        {"ffff", 1, "10:1"},
        {"ffff ffff", 4, "10:f"}, // ties by index
        {"ffff ff..", 2, "11:3"}, // fewest left free
        {"f... ff.. fff.", 1, "10:1"},
        {"f... ff.. fff.", 2, "11:3"},
        {"f... ff.. fff.", 3, "12:7"},
        {"f... ff.. fff.", 4, ""},
        {".f.f", 2, "10:a"}, // lowest free GPUs
        {".f.f ..ff", 1, "10:2"},
        {"ffff ffff", 5, "10:f 11:f"}, // a gang holds whole nodes, its last one too
        {"ffff ffff ffff", 8, "10:f 11:f"},
        {"fff. ffff ffff", 8, "11:f 12:f"}, // only wholly free nodes
        {"ffff fff. .fff ffff", 7, "10:f 13:f"},
        {"ffff fff.", 8, ""},
        {"", 1, ""},
        {"f f f", 3, "10:1 11:1 12:1"},
    };
    for (size_t i = 0; i < N_OF(cases); i++) {
        struct rb_placement_node nodes[MAX_NODES];
        struct rb_slot slots[MAX_NODES];
        char text[128] = "";
        int n_slots = 0;
        const int n = read_nodes(cases[i].nodes, nodes);
        const bool placed = rb_place(nodes, n, cases[i].g, slots, &n_slots);
        print_slots(slots, n_slots, text, sizeof text);
        assert_string_equal(text, cases[i].slots);
        assert_int_equal(placed, cases[i].slots[0] != '\0');
    }
}

static void nodes_of_64_gpus_work(void **state)
{
    (void)state;
    struct rb_placement_node nodes[2] = {{.node = 0, .gpus = 64, .free = UINT64_MAX},
                                         {.node = 1, .gpus = 64, .free = UINT64_MAX}};
    struct rb_slot slots[2];
    int n_slots;
    assert_true(rb_place(nodes, 2, 128, slots, &n_slots));
    assert_int_equal(n_slots, 2);
    assert_true(slots[0].gpus == UINT64_MAX && nodes[1].free == 0);
    assert_false(rb_place(nodes, 2, 1, slots, &n_slots));
}

// Survivors of a barrier, placed anew, leave as many nodes wholly free as can be: those the next stage releases.
static void survivors_are_packed(void **state)
{
    (void)state;
    for (int per_node = 1; per_node <= 8; per_node++)
        for (int g = 1; g <= per_node; g++)
            for (int n_trials = 1; n_trials <= 6 * (per_node / g); n_trials++) {
                struct rb_placement_node nodes[6];
                for (int i = 0; i < 6; i++)
                    nodes[i] = (struct rb_placement_node){i, per_node, (UINT64_C(1) << per_node) - 1};
                struct rb_slot slot;
                int n_slots, n_used = 0;
                for (int k = 0; k < n_trials; k++)
                    assert_true(rb_place(nodes, 6, g, &slot, &n_slots));
                for (int i = 0; i < 6; i++)
                    n_used += nodes[i].free != (UINT64_C(1) << per_node) - 1;
                assert_int_equal(n_used, (n_trials + per_node / g - 1) / (per_node / g));
                assert_true(n_used == 6 || nodes[n_used].free != 0); // the lowest numbers hold them
            }
}

// Capacity is what filling up reaches.
static void capacity_is_reached_exactly(void **state)
{
    (void)state;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 1, .purpose = RB_DRAW_SEARCH});
    for (int round = 0; round < 2000; round++) {
        const int per_node = 1 + (int)rb_stream_below(&s, 8), n = 1 + (int)rb_stream_below(&s, MAX_NODES);
        const int g = 1 + (int)rb_stream_below(&s, (uint64_t)(3 * per_node));
        struct rb_placement_node nodes[MAX_NODES];
        struct rb_slot slots[MAX_NODES];
        int n_slots, placed = 0;
        uint64_t held[MAX_NODES] = {0};
        for (int i = 0; i < n; i++)
            nodes[i] = (struct rb_placement_node){i, per_node, (UINT64_C(1) << per_node) - 1};
        while (rb_place(nodes, n, g, slots, &n_slots)) {
            int n_gpus = 0;
            for (int i = 0; i < n_slots; i++) {
                assert_true((held[slots[i].node] & slots[i].gpus) == 0); // no GPU twice
                held[slots[i].node] |= slots[i].gpus;
                n_gpus += __builtin_popcountll(slots[i].gpus);
            }
            assert_true(g <= per_node ? n_gpus == g : n_gpus >= g && n_gpus == n_slots * per_node);
            placed++;
        }
        assert_int_equal(placed, rb_placement_capacity(n, per_node, g));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_go_where_they_fit_best),
        cmocka_unit_test(nodes_of_64_gpus_work),
        cmocka_unit_test(survivors_are_packed),
        cmocka_unit_test(capacity_is_reached_exactly),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
