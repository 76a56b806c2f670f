/* What the processor and the system let this process use. */
#ifndef VACT_BASE_CPU_H
#define VACT_BASE_CPU_H

#include <stdbool.h>
#include <stddef.h>

/* Levels of instruction sets: of one family of processors in ascending order, one family after the other. avx512 is
 * above avxvnni but doesn't contain it: both stand on avx2. */
typedef enum vact_isa {
    VACT_ISA_SCALAR,  /* every processor */
    VACT_ISA_AVX2,    /* x86-64 with FMA and F16C */
    VACT_ISA_AVXVNNI, /* AVX2 and the 256-bit integer products of client processors */
    VACT_ISA_AVX512,  /* AVX2 and AVX-512 F, BW, DQ, VL and VNNI */
    VACT_ISA_NEON,    /* 64-bit Arm, always */
    VACT_ISA_DOTPROD, /* NEON with sdot */
    VACT_ISA_I8MM,    /* NEON with sdot and smmla */
    VACT_ISA_END
} vact_isa;

/* What cpuid and xgetbv answer on an x86-64 processor. */
typedef struct vact_cpuid {
    unsigned leaf1_c;          /* leaf 1, ecx */
    unsigned leaf7_b, leaf7_c; /* leaf 7, subleaf 0, ebx and ecx; 0 where there is no such leaf */
    unsigned leaf7_1_a;        /* leaf 7, subleaf 1, eax; 0 where there is no such leaf */
    unsigned saved;            /* low word of xcr0: registers that the system saves; 0 without OSXSAVE */
} vact_cpuid;

/* The levels of an x86-64 processor that answers so, scalar among them: a set of 1u << level. */
unsigned vact_cpuid_levels(const vact_cpuid *words);

/* The same of a 64-bit Arm processor whose system reports these words (AT_HWCAP, AT_HWCAP2). */
unsigned vact_hwcap_levels(unsigned long hwcap, unsigned long hwcap2);

/* Whether this processor and the operating system support a level; the highest that they support. */
bool vact_cpu_has(vact_isa isa);
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
#define VACT_ISA_NAMES "scalar, avx2, avxvnni, avx512, neon, dotprod, i8mm"
const char *vact_isa_name(vact_isa isa);
int vact_isa_from_name(const char *name);

#endif
