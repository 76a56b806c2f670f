/* What the processor and the system let this process use. */
#ifndef VACT_BASE_CPU_H
#define VACT_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* Levels of instruction sets: of one family of processors in ascending order, one family after the other. */
typedef enum vact_isa {
    VACT_ISA_SCALAR, /* every processor */
    VACT_ISA_AVX2,   /* x86-64 with FMA and F16C */
    VACT_ISA_NEON,   /* 64-bit Arm, always */
    VACT_ISA_END
} vact_isa;

/* Whether the processor and the operating system support a level. */
bool vact_cpu_has(vact_isa isa);

/* The highest level that they support. */
vact_isa vact_cpu_isa(void);

/* CPUs in this process's affinity mask, at most the cgroup's quota rounded up; at least 1. */
int vact_cpu_count(void);

/* The cgroup's part of it: the least CPU quota, rounded up, of the groups that cgroup_file
 * (/proc/self/cgroup) lists and of their parents below mount (/sys/fs/cgroup); 0: no limit. */
int vact_cpu_quota(const char *cgroup_file, const char *mount);

/* The processor as cpuinfo_file (/proc/cpuinfo) names it, cut to size: a model's name or, as on most Arms, the numbers
 * of its maker and part; "unknown processor" if it says neither. Returns out; size >= 1. */
const char *vact_cpu_model(char *out, size_t size, const char *cpuinfo_file);

/* Name of a level; level of a name, or -1; all names. */
#define VACT_ISA_NAMES "scalar, avx2, neon"
const char *vact_isa_name(vact_isa isa);
int vact_isa_from_name(const char *name);

#endif
