// Placement by table: which GPUs of which nodes a trial gets; and a check of every answer against the rule's own words.
#include "engine/core/placement.h"

#include "base/stream.h"

#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_NODES 8

// "ff.. f..." : one word a node, 'f' free, '.' busy; GPU 0 first. Numbers from 10.
static void read_nodes(const char *text, struct rb_places *out)
{
    for (int n = 10; *text; n++) {
        uint64_t free = 0;
        int gpus = 0;
        for (; *text && *text != ' '; text++, gpus++)
            free |= (uint64_t)(*text == 'f') << gpus;
        rb_places_set(out, n, gpus, free);
        text += *text == ' ';
    }
}

static void free_nodes(int n, int gpus, struct rb_places *out)
{
    for (int i = 0; i < n; i++)
        rb_places_set(out, i, gpus, rb_gpu_mask(gpus));
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
        struct rb_places places = {0};
        struct rb_slot slots[MAX_NODES];
        char text[128] = "";
        int n_slots = 0;
        read_nodes(cases[i].nodes, &places);
        const bool placed = rb_places_take(&places, cases[i].g, slots, &n_slots);
        rb_places_finish(&places);
        print_slots(slots, n_slots, text, sizeof text);
        assert_string_equal(text, cases[i].slots);
        assert_int_equal(placed, cases[i].slots[0] != '\0');
    }
}

static void equal_shares_fill_one_gpu_before_the_next(void **state)
{
    (void)state;
    struct rb_places places = {0};
    struct rb_slot slots[6], whole;
    int n_slots;
    free_nodes(2, 2, &places);
    static const struct {
        int sharers, node;
        uint64_t gpus;
    } taken[] = {{2, 0, 1}, {2, 0, 1}, {3, 0, 2}, {2, 1, 1}, {3, 0, 2}, {1, 1, 2}};
    for (size_t i = 0; i < N_OF(taken); i++) {
        assert_true(rb_places_take_share(&places, taken[i].sharers, &slots[i]));
        assert_int_equal(slots[i].node, taken[i].node);
        assert_int_equal(slots[i].gpus, taken[i].gpus);
    }
    assert_false(rb_places_take(&places, 1, &whole, &n_slots));
    assert_false(rb_places_would_fit_share(&places, 4)); // room for one of two and one of three alone
    assert_true(rb_places_would_fit_share(&places, 3));
    rb_places_give_share(&places, &slots[0]);
    assert_false(rb_places_have_room(&places)); // the other half is still taken
    rb_places_give_share(&places, &slots[1]);
    assert_true(rb_places_take(&places, 1, &whole, &n_slots)); // free as a whole again
    assert_int_equal(whole.node, 0);
    assert_int_equal(whole.gpus, 1);
    rb_places_remove(&places, 1);
    rb_places_give_share(&places, &slots[3]); // of a node that has left: nothing happens
    assert_false(rb_places_would_fit_share(&places, 2));
    rb_places_finish(&places);
}

static void nodes_of_64_gpus_work(void **state)
{
    (void)state;
    struct rb_places places = {0};
    struct rb_slot slots[2];
    int n_slots;
    free_nodes(2, 64, &places);
    assert_true(rb_places_take(&places, 128, slots, &n_slots));
    assert_int_equal(n_slots, 2);
    assert_true(slots[0].gpus == UINT64_MAX && places.nodes[1].free == 0);
    assert_false(rb_places_take(&places, 1, slots, &n_slots));
    assert_false(rb_places_have_room(&places));
    rb_places_finish(&places);
}

// Survivors of a barrier, placed again, leave as many nodes wholly free as can be: those the next stage releases.
static void survivors_are_packed(void **state)
{
    (void)state;
    for (int per_node = 1; per_node <= 8; per_node++)
        for (int g = 1; g <= per_node; g++)
            for (int n_trials = 1; n_trials <= 6 * (per_node / g); n_trials++) {
                struct rb_places places = {0};
                struct rb_slot slot;
                int n_slots, n_used = 0;
                free_nodes(6, per_node, &places);
                for (int k = 0; k < n_trials; k++)
                    assert_true(rb_places_take(&places, g, &slot, &n_slots));
                for (int i = 0; i < 6; i++)
                    n_used += places.nodes[i].free != rb_gpu_mask(per_node);
                assert_int_equal(n_used, (n_trials + per_node / g - 1) / (per_node / g));
                assert_true(n_used == 6 || places.nodes[n_used].free != 0); // the lowest numbers hold them
                rb_places_finish(&places);
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
        struct rb_places places = {0};
        struct rb_slot slots[MAX_NODES];
        int n_slots, placed = 0;
        uint64_t held[MAX_NODES] = {0};
        free_nodes(n, per_node, &places);
        while (rb_places_take(&places, g, slots, &n_slots)) {
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
        rb_places_finish(&places);
    }
}

// ---- the index against the rule looked up node by node

struct plain_node {
    bool held;
    uint64_t free;
};

static bool place_plainly(struct plain_node *nodes, int n, int per_node, int g, struct rb_slot *out, int *out_n)
{
    if (g <= per_node) {
        int best = -1;
        for (int i = 0; i < n; i++) {
            const int free = __builtin_popcountll(nodes[i].free);
            if (nodes[i].held && free >= g && (best < 0 || free < __builtin_popcountll(nodes[best].free)))
                best = i;
        }
        if (best < 0)
            return false;
        *out = (struct rb_slot){.node = best};
        for (int i = 0, k = 0; k < g; i++) {
            if (nodes[best].free >> i & 1) {
                out->gpus |= UINT64_C(1) << i;
                k++;
            }
        }
        nodes[best].free &= ~out->gpus;
        *out_n = 1;
        return true;
    }
    const int n_wanted = (g + per_node - 1) / per_node;
    int n_whole = 0;
    for (int i = 0; i < n; i++)
        n_whole += nodes[i].held && nodes[i].free == rb_gpu_mask(per_node);
    if (n_whole < n_wanted)
        return false;
    for (int i = 0, k = 0; k < n_wanted; i++) {
        if (!nodes[i].held || nodes[i].free != rb_gpu_mask(per_node))
            continue;
        out[k++] = (struct rb_slot){.node = i, .gpus = nodes[i].free};
        nodes[i].free = 0;
    }
    *out_n = n_wanted;
    return true;
}

#define PLAIN_NODES 300 // several words of the index

static void the_index_follows_the_rule(void **state)
{
    (void)state;
    struct rb_stream s;
    rb_stream_init(&s, &(struct rb_stream_key){.seed = 2, .purpose = RB_DRAW_SEARCH});
    for (int round = 0; round < 60; round++) {
        const int per_node = 1 + (int)rb_stream_below(&s, 16);
        struct rb_places places = {0};
        struct plain_node plain[PLAIN_NODES] = {0};
        struct {
            struct rb_slot slots[3];
            int n;
        } held[400];
        int n_held = 0;
        for (int turn = 0; turn < 1500; turn++) {
            const int node = (int)rb_stream_below(&s, PLAIN_NODES);
            struct rb_slot a[3], b[3];
            int n_a = 0, n_b = 0;
            switch (rb_stream_below(&s, 6)) {
            case 0:
                if (!plain[node].held) {
                    plain[node] = (struct plain_node){true, rb_gpu_mask(per_node)};
                    rb_places_set(&places, node, per_node, rb_gpu_mask(per_node));
                }
                break;
            case 1:
                if (rb_stream_below(&s, 8) == 0) {
                    plain[node].held = false;
                    rb_places_remove(&places, node);
                }
                break;
            case 2:
                if (n_held > 0) {
                    const int at = (int)rb_stream_below(&s, (uint64_t)n_held);
                    for (int i = 0; i < held[at].n; i++) {
                        plain[held[at].slots[i].node].free |= held[at].slots[i].gpus;
                        rb_places_give(&places, held[at].slots[i].node, held[at].slots[i].gpus);
                    }
                    held[at] = held[--n_held];
                }
                break;
            default: {
                const int g = 1 + (int)rb_stream_below(&s, (uint64_t)(per_node * 5 / 2 + 1));
                const bool placed = n_held < 400 && place_plainly(plain, PLAIN_NODES, per_node, g, a, &n_a);
                if (n_held == 400)
                    break;
                assert_int_equal(rb_places_take(&places, g, b, &n_b), placed);
                assert_int_equal(n_a, n_b);
                for (int i = 0; i < n_a; i++)
                    assert_true(a[i].node == b[i].node && a[i].gpus == b[i].gpus);
                if (placed) {
                    memcpy(held[n_held].slots, b, sizeof b);
                    held[n_held++].n = n_b;
                }
            }
            }
        }
        rb_places_clear(&places);
        assert_false(rb_places_have_room(&places));
        rb_places_finish(&places);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trials_go_where_they_fit_best), cmocka_unit_test(equal_shares_fill_one_gpu_before_the_next),
        cmocka_unit_test(nodes_of_64_gpus_work),         cmocka_unit_test(survivors_are_packed),
        cmocka_unit_test(capacity_is_reached_exactly),   cmocka_unit_test(the_index_follows_the_rule),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
