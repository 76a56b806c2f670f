/* The system's clocks and counters -> milliseconds and bytes. */
#include "base/clock.h"
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <time.h>

static double read_clock(clockid_t id)
{
    struct timespec t = { 0 };
    clock_gettime(id, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

double vact_clock_ms(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

double vact_clock_cpu_ms(void)
{
    return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}

void vact_clock_sleep_ms(double ms)
{
    if (!(ms > 0))
        return;
    const double most = 1e11; /* three years; keeps infinity out of the conversion below */
    if (ms > most)
        ms = most;
    const time_t seconds = (time_t)(ms / 1e3);
    struct timespec left = { .tv_sec = seconds, .tv_nsec = (long)((ms - (double)seconds * 1e3) * 1e6) };
    while (nanosleep(&left, &left) != 0 && errno == EINTR)
        ;
}

uint64_t vact_peak_resident_bytes(void)
{
    /* getrusage also counts what the parent had resident before exec, so ask the system first. */
    unsigned long long kib = 0;
    FILE *f = fopen("/proc/self/status", "re");
    if (f) {
        char line[256];
        while (kib == 0 && fgets(line, sizeof line, f))
            if (sscanf(line, "VmHWM: %llu kB", &kib) != 1)
                kib = 0;
        fclose(f);
    }
    if (kib > 0)
        return (uint64_t)kib * 1024;
    struct rusage usage;
    if (getrusage(RUSAGE_SELF, &usage) != 0)
        return 0;
#if defined(__APPLE__)
    return (uint64_t)usage.ru_maxrss;
#else
    return (uint64_t)usage.ru_maxrss * 1024;
#endif
}
