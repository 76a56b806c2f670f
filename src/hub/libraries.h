/* libcurl and libcrypto, loaded when a hub is first asked. Linked, the two and the thirty libraries that they bring
 * would be mapped at every start of the command, and it would not start where they are missing. */
#ifndef HUB_LIBRARIES_H
#define HUB_LIBRARIES_H

#define CURL_DISABLE_TYPECHECK /* its macros call by name what is called by pointer here */

#include "vact.h"
#include <curl/curl.h>
#include <openssl/evp.h>

#define HUB_CURL(X)                                                                                                    \
    X(curl_easy_cleanup)                                                                                               \
    X(curl_easy_escape)                                                                                                \
    X(curl_easy_getinfo)                                                                                               \
    X(curl_easy_init)                                                                                                  \
    X(curl_easy_perform)                                                                                               \
    X(curl_easy_reset)                                                                                                 \
    X(curl_easy_setopt)                                                                                                \
    X(curl_easy_strerror)                                                                                              \
    X(curl_free)                                                                                                       \
    X(curl_url)                                                                                                        \
    X(curl_url_cleanup)                                                                                                \
    X(curl_url_get)                                                                                                    \
    X(curl_url_set)

#define HUB_CRYPTO(X)                                                                                                  \
    X(EVP_DigestFinal_ex)                                                                                              \
    X(EVP_DigestInit_ex)                                                                                               \
    X(EVP_DigestUpdate)                                                                                                \
    X(EVP_MD_CTX_free)                                                                                                 \
    X(EVP_MD_CTX_new)                                                                                                  \
    X(EVP_sha1)                                                                                                        \
    X(EVP_sha256)

/* Their functions, each with the type that its header gives it. */
typedef struct hub_libraries {
#define DECLARE(name) __typeof__(name) *name;
    HUB_CURL(DECLARE)
    HUB_CRYPTO(DECLARE)
#undef DECLARE
} hub_libraries;

/* They stay loaded until the process ends. For one thread. EIO: a library is missing or is none; the error names it and
 * its package. */
vact_status hub_libraries_open(const hub_libraries **out, vact_error *err);

#endif
