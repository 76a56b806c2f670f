/* cpuid, the affinity mask and the control groups -> what may be used. */
#include "base/cpu.h"
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#if defined(__linux__)
#include <sched.h>
#endif
#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
#endif

static const char *const isa_names[VACT_ISA_END] = {
    [VACT_ISA_SCALAR] = "scalar", [VACT_ISA_AVX2] = "avx2", [VACT_ISA_AVXVNNI] = "avxvnni",
    [VACT_ISA_AVX512] = "avx512", [VACT_ISA_NEON] = "neon", [VACT_ISA_DOTPROD] = "dotprod",
    [VACT_ISA_I8MM] = "i8mm",
};

const char *vact_isa_name(vact_isa isa)
{
    return isa_names[isa];
}

int vact_isa_from_name(const char *name)
{
    for (int isa = 0; isa < VACT_ISA_END; isa++)
        if (strcmp(name, isa_names[isa]) == 0)
            return isa;
    return -1;
}

static bool all(unsigned long word, unsigned long bits)
{
    return (word & bits) == bits;
}

/* Bits as the manuals number them: <cpuid.h> has no names for some, and other processors no such header. */
unsigned vact_cpuid_levels(const vact_cpuid *words)
{
    const unsigned fma = 1u << 12, avx = 1u << 28, f16c = 1u << 29;                           /* leaf 1, ecx */
    const unsigned avx2 = 1u << 5, f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31; /* leaf 7, ebx */
    const unsigned avx512_vnni = 1u << 11;                                                    /* leaf 7, ecx */
    const unsigned avx_vnni = 1u << 4;                                                        /* leaf 7.1, eax */
    /* A processor that has the instructions is not enough: the system has to save the registers they use. */
    const unsigned ymm = 1u << 1 | 1u << 2, zmm = ymm | 1u << 5 | 1u << 6 | 1u << 7;

    unsigned levels = 1u << VACT_ISA_SCALAR;
    if (!all(words->leaf1_c, fma | avx | f16c) || !all(words->leaf7_b, avx2) || !all(words->saved, ymm))
        return levels;
    levels |= 1u << VACT_ISA_AVX2;
    if (all(words->leaf7_1_a, avx_vnni))
        levels |= 1u << VACT_ISA_AVXVNNI;
    if (all(words->leaf7_b, f | dq | bw | vl) && all(words->leaf7_c, avx512_vnni) && all(words->saved, zmm))
        levels |= 1u << VACT_ISA_AVX512;
    return levels;
}

/* As Linux numbers them. */
unsigned vact_hwcap_levels(unsigned long hwcap, unsigned long hwcap2)
{
    const unsigned long dotprod = 1ul << 20, i8mm = 1ul << 13;

    unsigned levels = 1u << VACT_ISA_SCALAR | 1u << VACT_ISA_NEON;
    if (!all(hwcap, dotprod))
        return levels;
    levels |= 1u << VACT_ISA_DOTPROD;
    if (all(hwcap2, i8mm))
        levels |= 1u << VACT_ISA_I8MM;
    return levels;
}

static unsigned cpu_levels(void)
{
#if defined(__x86_64__)
    vact_cpuid words = { 0 };
    unsigned a = 0, b = 0, c = 0, d = 0;
    if (__get_cpuid(1, &a, &b, &c, &d))
        words.leaf1_c = c;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        words.leaf7_b = b;
        words.leaf7_c = c;
        if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d))
            words.leaf7_1_a = a;
    }
    if (words.leaf1_c & bit_OSXSAVE)
        __asm__ volatile("xgetbv" : "=a"(words.saved), "=d"(d) : "c"(0));
    return vact_cpuid_levels(&words);
#elif defined(__aarch64__) && defined(__linux__)
    return vact_hwcap_levels(getauxval(AT_HWCAP), getauxval(AT_HWCAP2));
#elif defined(__aarch64__)
    return vact_hwcap_levels(0, 0);
#else
    return 1u << VACT_ISA_SCALAR;
#endif
}

bool vact_cpu_has(vact_isa isa)
{
    return cpu_levels() >> isa & 1;
}

vact_isa vact_cpu_isa(void)
{
    int isa = VACT_ISA_END - 1;
    while (!vact_cpu_has((vact_isa)isa))
        isa--;
    return (vact_isa)isa;
}

/* ---- how many CPUs ---- */

/* First line of the file dir/name, without its newline. */
static bool read_line(char *line, size_t size, const char *dir, const char *name)
{
    char path[PATH_MAX];
    const int n = snprintf(path, sizeof path, "%s/%s", dir, name);
    if (n < 0 || (size_t)n >= sizeof path)
        return false;
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    const bool ok = fgets(line, (int)size, f) != NULL;
    fclose(f);
    return ok;
}

/* quota / period of one group rounded up; 0: no limit, or not a group with a cpu controller. */
static int group_limit(const char *dir, bool v2)
{
    char line[128], period_line[64];
    long long quota = 0, period = 0;
    if (v2) {
        if (!read_line(line, sizeof line, dir, "cpu.max") || sscanf(line, "%lld %lld", &quota, &period) != 2)
            return 0; /* "max 100000" as well */
    } else {
        if (!read_line(line, sizeof line, dir, "cpu.cfs_quota_us") ||
            !read_line(period_line, sizeof period_line, dir, "cpu.cfs_period_us") ||
            sscanf(line, "%lld", &quota) != 1 || sscanf(period_line, "%lld", &period) != 1)
            return 0; /* quota -1: no limit */
    }
    if (quota <= 0 || period <= 0)
        return 0;
    const long long cpus = quota / period + (quota % period != 0);
    return cpus < INT_MAX ? (int)cpus : INT_MAX;
}

static int smaller_limit(int a, int b)
{
    return a == 0 || (b != 0 && b < a) ? b : a;
}

/* The least limit from group `path` below mount point `mount` up to the mount point itself. A container may
 * see the host's path where its own group is the mount point, so a folder that is missing is no error. */
static int limit_upwards(const char *mount, const char *path, bool v2)
{
    char dir[PATH_MAX];
    const int n = snprintf(dir, sizeof dir, "%s%s", mount, path);
    if (n < 0 || (size_t)n >= sizeof dir)
        return 0;
    const size_t root = strlen(mount);
    int limit = 0;
    for (;;) {
        limit = smaller_limit(limit, group_limit(dir, v2));
        char *slash = strrchr(dir + root, '/');
        if (!slash)
            return limit;
        *slash = '\0';
    }
}

static bool lists_cpu(const char *controllers)
{
    for (const char *c = controllers; *c; c += strcspn(c, ","), c += *c == ',')
        if (strcspn(c, ",") == 3 && strncmp(c, "cpu", 3) == 0)
            return true;
    return false;
}

int vact_cpu_quota(const char *cgroup_file, const char *mount)
{
    FILE *f = fopen(cgroup_file, "re");
    if (!f)
        return 0;
    int limit = 0;
    char line[PATH_MAX + 256], dir[PATH_MAX];
    while (fgets(line, sizeof line, f)) { /* id:controllers:path; id 0 and no controllers: version 2 */
        line[strcspn(line, "\n")] = '\0';
        char *controllers = strchr(line, ':');
        char *path = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!path)
            continue;
        *path++ = '\0';
        controllers++;
        if (*controllers == '\0') {
            limit = smaller_limit(limit, limit_upwards(mount, path, true));
        } else if (lists_cpu(controllers)) {
            const int n = snprintf(dir, sizeof dir, "%s/cpu", mount);
            if (n > 0 && (size_t)n < sizeof dir)
                limit = smaller_limit(limit, limit_upwards(dir, path, false));
        }
    }
    fclose(f);
    return limit;
}

static int count_affinity(void)
{
#if defined(__linux__)
    /* The kernel refuses a mask that is smaller than its own. */
    for (int cpus = 1024; cpus <= 1 << 20; cpus *= 4) {
        cpu_set_t *set = CPU_ALLOC((size_t)cpus);
        if (!set)
            break;
        const size_t size = CPU_ALLOC_SIZE((size_t)cpus);
        const int count = sched_getaffinity(0, size, set) == 0 ? CPU_COUNT_S(size, set) : 0;
        CPU_FREE(set);
        if (count > 0)
            return count;
    }
#endif
    const long online = sysconf(_SC_NPROCESSORS_ONLN);
    return online > 0 && online < INT_MAX ? (int)online : 1;
}

int vact_cpu_count(void)
{
    const int count = count_affinity();
    const int quota = vact_cpu_quota("/proc/self/cgroup", "/sys/fs/cgroup");
    return quota > 0 && quota < count ? quota : count;
}

/* ---- which processor ---- */

/* What follows "key : " if the line starts so; else NULL. Ends at the newline. */
static const char *field(char *line, const char *key)
{
    const size_t length = strlen(key);
    line[strcspn(line, "\n")] = '\0';
    char *colon = strchr(line, ':');
    if (!colon || strncmp(line, key, length) != 0 || line + length + strspn(line + length, " \t") != colon)
        return NULL;
    return colon + 1 + strspn(colon + 1, " \t");
}

/* Printable ASCII only, whatever the file holds. */
const char *vact_cpu_model(char *out, size_t size, const char *cpuinfo_file)
{
    char line[256], maker[16] = "", part[16] = "";
    const char *value;
    snprintf(out, size, "unknown processor");
    FILE *f = fopen(cpuinfo_file, "re");
    bool named = false;
    while (f && !named && fgets(line, sizeof line, f)) {
        if ((value = field(line, "model name")) && *value) {
            snprintf(out, size, "%s", value);
            named = true;
        } else if ((value = field(line, "CPU implementer"))) {
            snprintf(maker, sizeof maker, "%s", value);
        } else if ((value = field(line, "CPU part"))) {
            snprintf(part, sizeof part, "%s", value);
        }
    }
    if (!named && *maker && *part)
        snprintf(out, size, "processor of maker %s, part %s", maker, part);
    if (f)
        fclose(f);
    for (char *c = out; *c; c++)
        if (*c < ' ' || *c > '~')
            *c = '?';
    return out;
}
