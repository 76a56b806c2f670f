/* any bytes -> a hub's listing, and the name of something in it: a status and one line; or files that stay below the
 * folder they go to. The first line is the name's path, the rest the listing. */
#include "hub/listing.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_failure(vact_status status, const vact_error *err)
{
    if (err->code != status || !err->text[0] || strchr(err->text, '\n'))
        abort();
}

/* Said in another way than hub_path_fault does: joined to a folder, no step leads back. */
static void check_path(const char *path)
{
    char framed[1100];
    if ((size_t)snprintf(framed, sizeof framed, "/%s/", path) >= sizeof framed)
        abort();
    if (strstr(framed, "//") || strstr(framed, "/./") || strstr(framed, "/../") || strpbrk(framed, "\\\n\r\x1b\x7f"))
        abort();
}

static void check_listing(const hub_listing *listing, const char *path, vact_arena *arena)
{
    hub_selection chosen;
    vact_error err = { 0 };
    for (size_t i = 0; i < listing->n; i++)
        check_path(listing->files[i].path);
    const vact_status status = hub_select(&chosen, listing, "fuzz", path, arena, &err);
    if (status != VACT_OK) {
        check_failure(status, &err);
        return;
    }
    if (chosen.n == 0 || chosen.n > listing->n)
        abort();
    for (size_t i = 0; i < chosen.n; i++)
        if (chosen.files[i] < listing->files || chosen.files[i] >= listing->files + listing->n)
            abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[1200];
    hub_name name;
    hub_listing listing;
    vact_error err = { 0 };
    vact_arena arena = { 0 };
    const uint8_t *end = size > 0 ? memchr(data, '\n', size) : NULL;
    const size_t first = end ? (size_t)(end - data) : 0, rest = end ? first + 1 : 0;
    snprintf(text, sizeof text, "hf:%.*s", (int)(first < 1100 ? first : 1100), (const char *)data);
    vact_status status = hub_name_parse(&name, text, &err);
    if (status != VACT_OK) {
        check_failure(status, &err);
        name.path = "";
    } else if (name.path[0]) {
        check_path(name.path);
    }
    err = (vact_error){ 0 };
    status = hub_listing_parse(&listing, "fuzz", (const char *)data + rest, size - rest, &arena, &err);
    if (status == VACT_OK)
        check_listing(&listing, name.path, &arena);
    else
        check_failure(status, &err);
    vact_arena_free(&arena);
    return 0;
}
