#include "hub/libraries.h"
#include "base/error.h"
#include <dlfcn.h>

#define TEXT_OF(x) #x
#define TEXT(x)    TEXT_OF(x)

/* The name holds the version of the headers, for it is theirs that the functions' types are. */
#ifdef OPENSSL_SHLIB_VERSION
#define CRYPTO_FILE    "libcrypto.so." TEXT(OPENSSL_SHLIB_VERSION)
#define CRYPTO_PACKAGE "libssl" TEXT(OPENSSL_SHLIB_VERSION)
#else /* before OpenSSL 3 */
#define CRYPTO_FILE    "libcrypto.so." SHLIB_VERSION_NUMBER
#define CRYPTO_PACKAGE "libssl" SHLIB_VERSION_NUMBER
#endif

static vact_status load(void **library, const char *file, const char *package, vact_error *err)
{
    *library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (*library)
        return VACT_OK;
    return vact_fail(err, VACT_EIO, "hf: names need %s (Debian: the package %s): %s", file, package, dlerror());
}

static vact_status lacks(const char *file, const char *function, vact_error *err)
{
    return vact_fail(err, VACT_EIO, "hf: names need %s, and the one that is there has no %s", file, function);
}

/* dlsym's pointer to a function, which C only lets us copy. */
#define TAKE(name)                                                                                                     \
    if (!(*(void **)(void *)&out->name = dlsym(library, #name)))                                                       \
        return lacks(file, #name, err);

static vact_status take_curl(hub_libraries *out, vact_error *err)
{
    const char *file = "libcurl.so.4";
    void *library;
    const vact_status status = load(&library, file, "libcurl4", err);
    if (status != VACT_OK)
        return status;
    HUB_CURL(TAKE)
    return VACT_OK;
}

static vact_status take_crypto(hub_libraries *out, vact_error *err)
{
    const char *file = CRYPTO_FILE;
    void *library;
    const vact_status status = load(&library, file, CRYPTO_PACKAGE, err);
    if (status != VACT_OK)
        return status;
    HUB_CRYPTO(TAKE)
    return VACT_OK;
}

vact_status hub_libraries_open(const hub_libraries **out, vact_error *err)
{
    static hub_libraries libraries;
    static bool complete;
    vact_status status = VACT_OK;
    if (!complete)
        status = take_curl(&libraries, err);
    if (!complete && status == VACT_OK)
        status = take_crypto(&libraries, err);
    complete = status == VACT_OK;
    *out = complete ? &libraries : NULL;
    return status;
}
