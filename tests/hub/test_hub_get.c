/* hub_get against a server in this program, which says one thing to each kind of question or nothing at all: progress,
 * hashes, patience. What can go wrong on the way is test_hub.sh's business, which needs no emulator. */
#include "base/arena.h"
#include "folder.h"
#include "hub/hub.h"
#include <arpa/inet.h>
#include <ftw.h>
#include <pthread.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define GIT    "ce013625030ba8dba906f756967f9e9ca394464a"                         /* git's own, of "hello\n" */
#define SHA256 "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" /* sha256sum's, of the same */

static const char list[] = "{\"sha\": \"" COMMIT "\", \"siblings\": ["
                           "{\"rfilename\": \"config.json\", \"size\": 6, \"blobId\": \"" GIT "\"}, "
                           "{\"rfilename\": \"empty.json\", \"size\": 0, "
                           "\"blobId\": \"e69de29bb2d1d6434b8b29ae775ad8c2e48c5391\"}, " /* git's, of nothing */
                           "{\"rfilename\": \"m.safetensors\", \"lfs\": {\"size\": 6, \"sha256\": \"" SHA256 "\"}}]}";

static int listener = -1;
static char base[64];

static void answer(int connection)
{
    char question[4096] = "", text[1024];
    size_t n = 0;
    ssize_t more;
    while (n < sizeof question - 1 && (more = recv(connection, question + n, sizeof question - 1 - n, 0)) > 0) {
        n += (size_t)more;
        question[n] = 0;
        if (strstr(question, "\r\n\r\n"))
            break;
    }
    const char *body = strstr(question, "/api/models/u/r/revision/main?blobs=true ") ? list : "hello\n";
    const int length = snprintf(
        text, sizeof text, "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\nConnection: close\r\n\r\n%s", strlen(body), body);
    send(connection, text, (size_t)length, MSG_NOSIGNAL);
}

static void *serve(void *unused)
{
    for (int connection; (connection = accept(listener, NULL, NULL)) >= 0; close(connection))
        answer(connection);
    return unused;
}

static int listen_here(void **state)
{
    (void)state;
    struct sockaddr_in address = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;
    listener = socket(AF_INET, SOCK_STREAM, 0);
    if (folder_make("hf") != 0 || listener < 0 || bind(listener, (struct sockaddr *)&address, size) != 0 ||
        listen(listener, 16) != 0 || getsockname(listener, (struct sockaddr *)&address, &size) != 0)
        return -1;
    snprintf(base, sizeof base, "http://127.0.0.1:%d/", ntohs(address.sin_port));
    setenv("no_proxy", "*", 1);
    return 0;
}

typedef struct heard {
    double done[8];
    int n;
    char line[400];
} heard;

static void on_progress(void *user, double done)
{
    heard *h = user;
    assert_true(h->n < 8);
    h->done[h->n++] = done;
}

static void on_line(void *user, vact_log_level level, const char *line)
{
    heard *h = user;
    assert_int_equal(level, VACT_LOG_INFO);
    snprintf(h->line, sizeof h->line, "%s", line);
}

static int remove_one(const char *name, const struct stat *st, int kind, struct FTW *where)
{
    (void)st, (void)kind, (void)where;
    return remove(name);
}

static void check_file(const char *where, const char *name, const char *want)
{
    char full[300], found[16] = "";
    snprintf(full, sizeof full, "%s/%s", where, name);
    FILE *f = fopen(full, "rb");
    assert_non_null(f);
    found[fread(found, 1, sizeof found - 1, f)] = 0;
    fclose(f);
    assert_string_equal(found, want);
}

/* First, for it needs the listener without a thread. */
static void test_a_silent_hub_gets_a_few_attempts(void **state)
{
    (void)state;
    heard h = { .n = 0 };
    vact_arena arena = { 0 };
    vact_error err;
    char *found;
    const hub_settings s = {
        .base = base, .cache = folder, .stall_s = 1, .pause_ms = 1, .log = on_line, .progress = on_progress, .user = &h
    };
    assert_int_equal(hub_get(&found, "hf:u/r", &s, &arena, &err), VACT_EIO);
    assert_null(found);
    assert_int_equal(h.n, 0);
    const char begin[] = "hf:u/r: the connection broke, at attempt 6 as well: Operation too slow";
    if (strncmp(err.text, begin, sizeof begin - 1) != 0)
        fail_msg("%s", err.text);
    vact_arena_free(&arena);
}

static void test_a_checkpoint_is_fetched_once(void **state)
{
    (void)state;
    heard h = { .n = 0 };
    vact_arena arena = { 0 };
    vact_error err;
    char *found, want[200];
    const hub_settings s = {
        .base = base, .cache = folder, .pause_ms = 1, .log = on_line, .progress = on_progress, .user = &h
    };
    pthread_t server;
    assert_int_equal(pthread_create(&server, NULL, serve, NULL), 0);
    if (hub_get(&found, "hf:u/r", &s, &arena, &err) != VACT_OK)
        fail_msg("%s", err.text);
    snprintf(want, sizeof want, "%s/hf/u/r/" COMMIT, folder);
    assert_string_equal(found, want);
    check_file(found, "config.json", "hello\n");
    check_file(found, "empty.json", "");
    check_file(found, "m.safetensors", "hello\n");
    assert_int_equal(h.n, 2);
    assert_true(h.done[0] == 0.5 && h.done[1] == 1);
    snprintf(want, sizeof want, "hf:u/r: downloading 3 files, 0.0 MB, to %s/hf/u/r/" COMMIT, folder);
    assert_string_equal(h.line, want);
    shutdown(listener, SHUT_RDWR);
    pthread_join(server, NULL);
    close(listener);

    const hub_settings offline = { .base = base, .cache = folder, .offline = true };
    assert_int_equal(hub_get(&found, "hf:u/r/m.safetensors", &offline, &arena, &err), VACT_OK);
    snprintf(want, sizeof want, "%s/hf/u/r/" COMMIT "/m.safetensors", folder);
    assert_string_equal(found, want);
    vact_arena_free(&arena);
    assert_int_equal(nftw(path, remove_one, 8, FTW_DEPTH | FTW_PHYS), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_silent_hub_gets_a_few_attempts),
        cmocka_unit_test(test_a_checkpoint_is_fetched_once),
        cmocka_unit_test(folder_remove),
    };
    return cmocka_run_group_tests(tests, listen_here, NULL);
}
