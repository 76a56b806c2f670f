#include "hub/http.h"
#include "base/clock.h"
#include "base/error.h"
#include "hub/libraries.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

enum {
    ATTEMPTS = 6,
    HOPS = 8,
    CONNECT_S = 15,
    STALL_S = 30,
    PAUSE_MS = 500,
    MOST_WAIT_S = 60,
    PROGRESS_BYTES = 1 << 20 /* so many more than ever before, and attempts are counted anew */
};

/* One attempt: what was asked, and what came back. */
typedef struct exchange {
    hub_http *http;
    const char *name;
    hub_sink *sink;
    vact_error *err;
    vact_status failure; /* of the sink, or the answer makes no sense */
    bool begun;          /* the sink is ready for the body */
    uint64_t ignored;
    CURLcode result;
    long code;           /* of the last answer, 0: none */
    int64_t range_start; /* of Content-Range, -1: none */
    bool has_retry_after;
    double retry_after_s;
    char refusal[40]; /* X-Error-Code */
    char reason[CURL_ERROR_SIZE];
} exchange;

/* ---- opening ---- */

/* "scheme://host:port"; empty if it is no such URL. */
static void find_origin(const hub_libraries *lib, const char *url, char *out, size_t size)
{
    char *scheme = NULL, *host = NULL, *port = NULL;
    CURLU *u = lib->curl_url();
    out[0] = 0;
    if (u && lib->curl_url_set(u, CURLUPART_URL, url, 0) == CURLUE_OK &&
        lib->curl_url_get(u, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
        lib->curl_url_get(u, CURLUPART_HOST, &host, 0) == CURLUE_OK &&
        lib->curl_url_get(u, CURLUPART_PORT, &port, CURLU_DEFAULT_PORT) == CURLUE_OK &&
        (size_t)snprintf(out, size, "%s://%s:%s", scheme, host, port) >= size)
        out[0] = 0;
    lib->curl_free(scheme);
    lib->curl_free(host);
    lib->curl_free(port);
    lib->curl_url_cleanup(u);
}

static vact_status open_base(hub_http *http, vact_error *err)
{
    const char *base = http->settings->base ? http->settings->base : HUB_BASE;
    size_t n = strlen(base);
    while (n > 0 && base[n - 1] == '/')
        n--;
    if (n < sizeof http->base)
        snprintf(http->base, sizeof http->base, "%.*s", (int)n, base);
    find_origin(http->lib, http->base, http->origin, sizeof http->origin);
    const bool web = strncmp(http->origin, "http://", 7) == 0 || strncmp(http->origin, "https://", 8) == 0;
    if (!web || strpbrk(http->base, "?#@"))
        return vact_fail(err, VACT_EARG, "the hub is \"%s\", expected http:// or https:// with a host, such as %s",
                         base, HUB_BASE);
    return VACT_OK;
}

/* A token that was given is for the hub that was given. The one that lies in a user's home is for HUB_BASE: no other
 * host gets to see it. NULL: there is no file to be read. */
static const char *token_file(const hub_http *http, char *out, size_t size)
{
    const char *home = getenv("HOME");
    if (http->settings->token || strcmp(http->base, HUB_BASE) != 0 || !home)
        return http->settings->token;
    return (size_t)snprintf(out, size, "%s/.cache/huggingface/token", home) < size ? out : NULL;
}

static vact_status open_token(hub_http *http, vact_arena *arena, vact_error *err)
{
    char in_home[4096], line[1024];
    const char *path = token_file(http, in_home, sizeof in_home);
    FILE *file = path ? fopen(path, "r") : NULL;
    if (!file && path && (path != in_home || errno != ENOENT))
        return vact_fail(err, VACT_EIO, "the token's file %s: %s", vact_path_end(path), strerror(errno));
    if (!file)
        return VACT_OK;
    const bool read = fgets(line, sizeof line, file) != NULL;
    fclose(file);
    const size_t n = read ? strcspn(line, "\r\n") : 0;
    for (size_t i = 0; i < n; i++)
        if (line[i] <= ' ' || line[i] > '~')
            return vact_fail(err, VACT_EARG, "the token's file %s: the first line holds more than letters and digits",
                             vact_path_end(path));
    if (n == 0 || n == sizeof line - 1)
        return vact_fail(err, VACT_EARG, "the token's file %s: expected a token in its first line",
                         vact_path_end(path));
    http->token = vact_arena_text(arena, line, n);
    return http->token ? VACT_OK : vact_fail(err, VACT_ENOMEM, "out of memory");
}

vact_status hub_http_open(hub_http *out, const hub_settings *settings, vact_arena *arena, vact_error *err)
{
    *out = (hub_http){ .settings = settings };
    vact_status status = hub_libraries_open(&out->lib, err);
    if (status == VACT_OK)
        status = open_base(out, err);
    if (status == VACT_OK)
        status = open_token(out, arena, err);
    if (status != VACT_OK)
        return status;
    out->curl = out->lib->curl_easy_init();
    return out->curl ? VACT_OK : vact_fail(err, VACT_ENOMEM, "out of memory for a connection");
}

void hub_http_close(hub_http *http)
{
    if (http->curl)
        http->lib->curl_easy_cleanup(http->curl);
    *http = (hub_http){ .curl = NULL };
}

vact_status hub_url_add(hub_http *http, char *url, size_t size, const char *path, vact_error *err)
{
    const char *part = path;
    for (;; part++) {
        const size_t n = strcspn(part, "/"), used = strlen(url);
        char *escaped = http->lib->curl_easy_escape(http->curl, part, (int)n);
        if (!escaped)
            return vact_fail(err, VACT_ENOMEM, "out of memory");
        const int added = snprintf(url + used, size - used, "%s%s", escaped, part[n] ? "/" : "");
        http->lib->curl_free(escaped);
        if ((size_t)added >= size - used)
            return vact_fail(err, VACT_EARG, "%s: makes a URL that is too long", vact_path_end(path));
        part += n;
        if (!*part)
            return VACT_OK;
    }
}

/* ---- one request ---- */

/* What stands behind "field:", or NULL if the line is another field's. */
static const char *value_of(const char *line, const char *field)
{
    const size_t n = strlen(field);
    return strncasecmp(line, field, n) == 0 && line[n] == ':' ? line + n + 1 + strspn(line + n + 1, " \t") : NULL;
}

static size_t on_header(char *data, size_t one, size_t n, void *user)
{
    exchange *x = user;
    char line[256];
    const char *value;
    snprintf(line, sizeof line, "%.*s", (int)(n < sizeof line ? n : sizeof line - 1), data);
    line[strcspn(line, "\r\n")] = 0;
    if (strncmp(line, "HTTP/", 5) == 0) { /* the next answer: after 100, say */
        x->range_start = -1;
        x->has_retry_after = false;
        x->refusal[0] = 0;
    } else if ((value = value_of(line, "Content-Range"))) {
        char *end;
        const bool bytes = strncasecmp(value, "bytes ", 6) == 0;
        const long long start = bytes ? strtoll(value + 6, &end, 10) : -1;
        x->range_start = bytes && *end == '-' ? start : -1;
    } else if (value_of(line, "Retry-After")) {
        x->has_retry_after = true;
    } else if ((value = value_of(line, "X-Error-Code"))) {
        snprintf(x->refusal, sizeof x->refusal, "%s", value);
    }
    return one * n;
}

/* The first bytes of a body: is it the part that was asked for? */
static vact_status begin(exchange *x)
{
    x->begun = true;
    x->sink->resumed = x->code == 206;
    if (x->code == 206 && x->range_start == (int64_t)x->sink->offset)
        return VACT_OK;
    if (x->code == 206)
        return vact_fail(x->err, VACT_EFORMAT, "%s: the hub sent bytes from %lld on, asked for those from %llu on",
                         x->name, (long long)x->range_start, (unsigned long long)x->sink->offset);
    return x->sink->restart(x->sink, x->err);
}

static size_t on_body(char *data, size_t one, size_t n, void *user)
{
    enum { MOST_IGNORED = 1 << 20 }; /* of an error's page */
    exchange *x = user;
    hub_sink *sink = x->sink;
    n *= one;
    x->http->lib->curl_easy_getinfo(x->http->curl, CURLINFO_RESPONSE_CODE, &x->code);
    if (x->code != 200 && x->code != 206) {
        x->ignored += n;
        return x->ignored <= MOST_IGNORED ? n : 0;
    }
    if (!x->begun)
        x->failure = begin(x);
    if (x->failure == VACT_OK && n > sink->most - sink->offset)
        x->failure = vact_fail(x->err, VACT_EFORMAT, "%s: the hub sent more than %llu bytes, expected no more", x->name,
                               (unsigned long long)sink->most);
    if (x->failure == VACT_OK)
        x->failure = sink->put(sink, data, n, x->err);
    if (x->failure != VACT_OK)
        return 0;
    sink->offset += n;
    return n;
}

/* What a URL may begin with: once the hub is asked by HTTPS, nothing goes without. A libcurl older than its headers may
 * not know how. */
static CURLcode allow_protocols(const hub_libraries *lib, CURL *curl, const char *origin)
{
    const bool safe = strncmp(origin, "https:", 6) == 0;
#if LIBCURL_VERSION_NUM >= 0x075500
    return lib->curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, safe ? "https" : "http,https");
#else
    return lib->curl_easy_setopt(curl, CURLOPT_PROTOCOLS,
                                 (long)(safe ? CURLPROTO_HTTPS : CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
}

/* Redirects are followed by hand, for the token's sake: which hosts a libcurl sends it on to depends on its version. */
static void ask(exchange *x, const char *url)
{
    hub_http *http = x->http;
    const hub_libraries *lib = http->lib;
    CURL *curl = http->curl;
    char origin[sizeof http->origin], range[32];
    find_origin(lib, url, origin, sizeof origin);
    lib->curl_easy_reset(curl);
    x->result = allow_protocols(lib, curl, http->origin);
    if (x->result != CURLE_OK)
        return;
    lib->curl_easy_setopt(curl, CURLOPT_URL, url);
    lib->curl_easy_setopt(curl, CURLOPT_USERAGENT, "vact/" VACT_VERSION);
    lib->curl_easy_setopt(curl, CURLOPT_CONNECTTIMEOUT, (long)CONNECT_S);
    lib->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_LIMIT, 1L);
    lib->curl_easy_setopt(curl, CURLOPT_LOW_SPEED_TIME,
                          (long)(http->settings->stall_s ? http->settings->stall_s : STALL_S));
    lib->curl_easy_setopt(curl, CURLOPT_BUFFERSIZE, 1L << 18);
    lib->curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, x->reason);
    lib->curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    lib->curl_easy_setopt(curl, CURLOPT_HEADERDATA, x);
    lib->curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    lib->curl_easy_setopt(curl, CURLOPT_WRITEDATA, x);
    if (http->token && strcasecmp(origin, http->origin) == 0) {
        lib->curl_easy_setopt(curl, CURLOPT_HTTPAUTH, CURLAUTH_BEARER);
        lib->curl_easy_setopt(curl, CURLOPT_XOAUTH2_BEARER, http->token);
    }
    if (x->sink->offset > 0) {
        snprintf(range, sizeof range, "%llu-", (unsigned long long)x->sink->offset);
        lib->curl_easy_setopt(curl, CURLOPT_RANGE, range);
    }
    x->reason[0] = 0;
    x->result = lib->curl_easy_perform(curl);
    lib->curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &x->code);
    http->reached |= x->code > 0;
    curl_off_t wait = 0;
    lib->curl_easy_getinfo(curl, CURLINFO_RETRY_AFTER, &wait);
    x->retry_after_s = (double)wait;
}

/* To the end of the redirects. */
static void follow(exchange *x, const char *url)
{
    char *next = NULL, *here = NULL;
    for (int hop = 0; hop < HOPS; hop++) {
        ask(x, here ? here : url);
        free(here);
        here = NULL;
        if (x->result != CURLE_OK || x->code / 100 != 3)
            return;
        x->http->lib->curl_easy_getinfo(x->http->curl, CURLINFO_REDIRECT_URL, &next);
        here = next ? strdup(next) : NULL; /* the connection's own goes with the next request */
        if (!here)
            return;
    }
    free(here);
}

/* ---- attempts ---- */

static bool is_busy(long code)
{
    return code == 408 || code == 429 || code == 500 || code == 502 || code == 503 || code == 504;
}

/* Whatever the network may have broken. A host that never was there won't be there in a second. */
static bool may_work_again(const exchange *x)
{
    switch (x->result) {
    case CURLE_OK:
    case CURLE_WRITE_ERROR: /* of an error's page */
        return is_busy(x->code);
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_CONNECT:
        return x->http->reached;
    case CURLE_PARTIAL_FILE:
    case CURLE_OPERATION_TIMEDOUT:
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_HTTP2:
    case CURLE_HTTP2_STREAM:
        return true;
    default:
        return false;
    }
}

static const char *reason(const exchange *x)
{
    return x->reason[0] ? x->reason : x->http->lib->curl_easy_strerror(x->result);
}

static vact_status explain_refusal(const exchange *x, const char *repo, vact_error *err)
{
    const hub_http *http = x->http;
    if (!http->token)
        return vact_fail(err, VACT_EIO,
                         "%s: the hub refuses it without a token (%ld): if %s/%s exists, accept its terms there and "
                         "give --hub-token <file>",
                         x->name, x->code, http->base, repo);
    return vact_fail(err, VACT_EIO,
                     "%s: the hub refuses it with this token (%ld): accept the terms on %s/%s with the token's account",
                     x->name, x->code, http->base, repo);
}

static vact_status explain(const exchange *x, int attempts, const char *repo, vact_error *err)
{
    const char *base = x->http->base;
    const bool transport = x->result != CURLE_OK && x->result != CURLE_WRITE_ERROR;
    x->http->unreachable = transport || is_busy(x->code);
    if (transport && attempts > 1)
        return vact_fail(err, VACT_EIO, "%s: the connection broke, at attempt %d as well: %s", x->name, attempts,
                         reason(x));
    if (transport)
        return vact_fail(err, VACT_EIO, "%s: no connection to %s: %s", x->name, base, reason(x));
    if (x->has_retry_after && is_busy(x->code) && x->retry_after_s > MOST_WAIT_S)
        return vact_fail(err, VACT_EIO, "%s: the hub is busy (%ld) and asks to come back in %.0f s", x->name, x->code,
                         x->retry_after_s);
    if (is_busy(x->code))
        return vact_fail(err, VACT_EIO, "%s: the hub is busy (%ld), at attempt %d as well", x->name, x->code, attempts);
    if (x->code == 401 || x->code == 403)
        return explain_refusal(x, repo, err);
    if (x->code == 404 && strcmp(x->refusal, "RevisionNotFound") == 0)
        return vact_fail(err, VACT_EIO, "%s: %s/%s has no such revision (404)", x->name, base, repo);
    if (x->code == 404 && strcmp(x->refusal, "EntryNotFound") == 0)
        return vact_fail(err, VACT_EIO, "%s: %s/%s lists the file but does not have it (404)", x->name, base, repo);
    if (x->code == 404)
        return vact_fail(err, VACT_EIO, "%s: there is no %s/%s (404)", x->name, base, repo);
    if (x->code / 100 == 3)
        return vact_fail(err, VACT_EIO, "%s: the hub redirects (%ld) to nowhere, or again and again", x->name, x->code);
    return vact_fail(err, VACT_EIO, "%s: the hub answers %ld, expected 200", x->name, x->code);
}

static void tell_pause(const exchange *x, double ms)
{
    char line[400];
    const hub_settings *s = x->http->settings;
    if (!s->log)
        return;
    if (x->result != CURLE_OK)
        snprintf(line, sizeof line, "%s: %s; trying again in %g s", x->name, reason(x), ms / 1e3);
    else
        snprintf(line, sizeof line, "%s: the hub is busy (%ld); trying again in %g s", x->name, x->code, ms / 1e3);
    s->log(s->user, VACT_LOG_INFO, line);
}

vact_status hub_http_get(hub_http *http, const char *name, const char *repo, const char *url, hub_sink *sink,
                         vact_error *err)
{
    const double first = http->settings->pause_ms ? http->settings->pause_ms : PAUSE_MS;
    double pause = first;
    uint64_t furthest = sink->offset;
    vact_status status;
    for (int attempt = 1;; attempt++) {
        exchange x = { .http = http, .name = name, .sink = sink, .err = err };
        if (sink->whole && sink->offset > 0 && (status = sink->restart(sink, err)) != VACT_OK)
            return status;
        follow(&x, url);
        if (x.failure != VACT_OK)
            return x.failure;
        if (x.result == CURLE_OK && (x.code == 200 || x.code == 206))
            return VACT_OK;
        if (sink->offset >= furthest + PROGRESS_BYTES) { /* a server that begins anew each time doesn't get there */
            furthest = sink->offset;
            attempt = 1;
            pause = first;
        }
        if (x.result == CURLE_OK && x.code == 416 && sink->offset > 0) { /* there is no such part */
            if ((status = sink->restart(sink, err)) != VACT_OK)
                return status;
            continue;
        }
        const double ms = x.has_retry_after ? 1e3 * x.retry_after_s : pause;
        if (!may_work_again(&x) || attempt == ATTEMPTS || ms > 1e3 * MOST_WAIT_S)
            return explain(&x, attempt, repo, err);
        tell_pause(&x, ms);
        vact_clock_sleep_ms(ms);
        pause *= 2;
    }
}
