#include "policy/noise.h"

#include "base/clock.h"
#include <math.h>
#include <string.h>
#include <sys/random.h>

static uint64_t splitmix64(uint64_t seed, uint64_t i)
{
    uint64_t z = seed + (i + 1) * 0x9E3779B97F4A7C15u;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
}

/* In (0, 1]: its logarithm is finite. */
static double uniform(uint64_t bits)
{
    return ((double)(bits >> 11) + 1) / 9007199254740992.0;
}

void vact_noise_normal(float *out, size_t n, uint64_t seed)
{
    /* The seed is mixed first, so that streams of neighbouring seeds have nothing in common. */
    const uint64_t stream = splitmix64(seed, 0);
    for (size_t i = 0; i < n; i += 2) {
        const double radius = sqrt(-2 * log(uniform(splitmix64(stream, i))));
        const double angle = 6.283185307179586476925 * uniform(splitmix64(stream, i + 1));
        out[i] = (float)(radius * cos(angle));
        if (i + 1 < n)
            out[i + 1] = (float)(radius * sin(angle));
    }
}

uint64_t vact_noise_seed(void)
{
    uint64_t seed;
    if (getrandom(&seed, sizeof seed, 0) != (ssize_t)sizeof seed) {
        const double now = vact_clock_ms();
        memcpy(&seed, &now, sizeof seed);
    }
    return seed >> 11; /* 53 bits: the number survives any JSON reader, so that it can be asked for again */
}
