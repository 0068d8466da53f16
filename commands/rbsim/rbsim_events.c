// The events of a simulated run, one a line (docs/formats/events.md).
#include "commands/rbsim/rbsim.h"

#include "base/file.h"

static void observe(void *ctx, uint32_t replicate, const struct rb_engine *e, const struct rb_event *event,
                    const struct rb_actions *actions)
{
    struct rb_buf *out = ctx;
    struct rb_json j;
    (void)replicate, (void)e, (void)actions;
    rb_json_init(&j, out, false);
    rb_event_write(event, &j);
    rb_buf_printf(out, "\n");
}

bool rb_sim_save_events(const struct rb_simulation *sim, const char *path, struct rb_err *err)
{
    RB_AUTO(rb_buf_finish) struct rb_buf out = RB_BUF_INIT;
    struct rb_world_result result;
    return rb_sim_watch(sim, &sim->variants[0], observe, &out, &result, err) &&
           rb_write_file(path, rb_buf_str(&out), out.len, err);
}
