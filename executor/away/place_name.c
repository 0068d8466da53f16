// The names of places. rbplan reads them, too: nothing here needs a cloud.
#include "executor/away/place.h"

#include "base/text/number.h"
#include "profiles/catalog/infra.h"
#include "providers/controller_type.h"

#include <stdio.h>
#include <string.h>

static bool is_address(const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.-_@", text[i]))
            return false;
    return n > 0 && text[0] != '-' && text[0] != '@' && text[n - 1] != '@' && !strstr(text, "@-");
}

bool rb_host_parse(const char *text, struct rb_host *out, struct rb_err *err)
{
    struct rb_host host = {.port = ""};
    int64_t port;
    const char *address = strncmp(text, "ssh:", 4) == 0 ? text + 4 : "";
    const size_t n = strcspn(address, ":");
    const bool has_port = address[n] == ':';
    if (!is_address(address, n) || n >= sizeof host.address ||
        (has_port && (!rb_parse_int(address + n + 1, &port) || port < 1 || port > 65535)))
        return rb_err_set(err, RB_E_PLACE, "expected a place such as ssh:HOST or ssh:USER@HOST:PORT, got \"%.80s\"; in a "
                          "place of the plan a machine is made for a run that begins: `rbrun plan.json --at aws/REGION`",
                          text);
    snprintf(host.name, sizeof host.name, "%s", text);
    snprintf(host.address, sizeof host.address, "%.*s", (int)n, address);
    if (has_port)
        snprintf(host.port, sizeof host.port, "%d", (int)port);
    *out = host;
    return true;
}

// NULL: no machine is made there.
static const char *type_made_at(const char *infra)
{
    const bool is_place = strlen(infra) < 64 && rb_infra_check(infra, NULL) && rb_infra_is_priceable(infra);
    return is_place ? rb_controller_type(infra) : NULL;
}

bool rb_place_parse(const char *text, struct rb_controller_place *out, struct rb_err *err)
{
    struct rb_host host;
    const char *type = type_made_at(text);
    if (!type && !rb_host_parse(text, &host, err))
        return false;
    out->machine_type = type;
    snprintf(out->name, sizeof out->name, "%s", text);
    return true;
}

bool rb_place_of_run(const char *text, bool *out_is, char out_run[static 128], struct rb_controller_place *out, struct rb_err *err)
{
    const char *at = strchr(text, '@');
    *out_is = at != NULL;
    if (!at)
        return true;
    if (at - text >= 128)
        return rb_err_set(err, RB_E_PLACE, "expected RUN@ssh:HOST, got \"%.80s\"", text);
    snprintf(out_run, 128, "%.*s", (int)(at - text), text);
    return rb_place_parse(at + 1, out, err);
}
