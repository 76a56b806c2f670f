#include "base/cpu.h"
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static void test_isa_names_round_trip(void **state)
{
    (void)state;
    for (int isa = VACT_ISA_SCALAR; isa < VACT_ISA_END; isa++)
        assert_int_equal(vact_isa_from_name(vact_isa_name((vact_isa)isa)), isa);
    assert_string_equal(vact_isa_name(VACT_ISA_SCALAR), "scalar");
    assert_string_equal(vact_isa_name(VACT_ISA_AVX2), "avx2");
    assert_string_equal(vact_isa_name(VACT_ISA_AVXVNNI), "avxvnni");
    assert_string_equal(vact_isa_name(VACT_ISA_AVX512), "avx512");
    assert_string_equal(vact_isa_name(VACT_ISA_NEON), "neon");
    assert_string_equal(vact_isa_name(VACT_ISA_DOTPROD), "dotprod");
    assert_string_equal(vact_isa_name(VACT_ISA_I8MM), "i8mm");
    assert_int_equal(vact_isa_from_name("avx"), -1);
    assert_int_equal(vact_isa_from_name(""), -1);
    assert_int_equal(vact_isa_from_name("AVX2"), -1);
}

static void test_isa_names_are_listed_in_their_order(void **state)
{
    (void)state;
    char list[128] = "";
    for (int isa = VACT_ISA_SCALAR; isa < VACT_ISA_END; isa++)
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s%s", isa ? ", " : "",
                 vact_isa_name((vact_isa)isa));
    assert_string_equal(list, VACT_ISA_NAMES);
}

static void test_isa_is_what_the_compiler_says(void **state)
{
    (void)state;
#if defined(__x86_64__)
    const bool avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    const bool avx512 = avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
                        __builtin_cpu_supports("avx512vnni");
    assert_int_equal(vact_cpu_has(VACT_ISA_AVX2), avx2);
    assert_int_equal(vact_cpu_has(VACT_ISA_AVX512), avx512);
    assert_false(vact_cpu_has(VACT_ISA_NEON));
#elif defined(__aarch64__)
    assert_true(vact_cpu_has(VACT_ISA_NEON));
    assert_false(vact_cpu_has(VACT_ISA_AVX2));
#endif
    assert_true(vact_cpu_has(VACT_ISA_SCALAR));
    assert_true(vact_cpu_has(vact_cpu_isa()));
    for (int isa = (int)vact_cpu_isa() + 1; isa < VACT_ISA_END; isa++)
        assert_false(vact_cpu_has((vact_isa)isa));
}

/* ---- processors that are not here ---- */

#define SET(name) (1u << VACT_ISA_##name)

/* What cpuid answers there, from libcpuid's collection of dumps (anrieff/libcpuid, tests/). The registers that the
 * system saves are all those that the processor can save (leaf 13). */
static void test_levels_of_known_x86_processors(void **state)
{
    static const struct {
        const char *name;
        vact_cpuid words;
        unsigned levels;
    } processors[] = {
        { "Core i7-2600, Sandy Bridge", { 0x1fbae3ff, 0, 0, 0, 0x7 }, SET(SCALAR) },
        { "Core i7-4770, Haswell", { 0x7ffafbff, 0x000027ab, 0, 0, 0x7 }, SET(SCALAR) | SET(AVX2) },
        { "Ryzen 9 5950X, Zen 3", { 0x7ed8320b, 0x219c97a9, 0x0040068c, 0, 0x207 }, SET(SCALAR) | SET(AVX2) },
        { "Core i9-7900X, Skylake-X, no VNNI", { 0x7ffefbbf, 0xd39ffffb, 0, 0, 0xff }, SET(SCALAR) | SET(AVX2) },
        { "Core i7-1065G7, Ice Lake",
          { 0x7ffafbbf, 0xf2bf27ef, 0x40405f4e, 0, 0x2e7 },
          SET(SCALAR) | SET(AVX2) | SET(AVX512) },
        { "Ryzen 9 7900X, Zen 4",
          { 0x7ef8320b, 0xf1bf97a9, 0x00405fce, 0x00000020, 0x2e7 },
          SET(SCALAR) | SET(AVX2) | SET(AVX512) },
        { "Core i9-12900K, Alder Lake",
          { 0x7ffafbff, 0x239ca7eb, 0x98c027ac, 0x00400810, 0x207 },
          SET(SCALAR) | SET(AVX2) | SET(AVXVNNI) },
        { "Core Ultra 7 155H, Meteor Lake",
          { 0x7ffafbff, 0x239c27eb, 0x994007ac, 0x40400910, 0x207 },
          SET(SCALAR) | SET(AVX2) | SET(AVXVNNI) },
        { "Ryzen 9 9950X, Zen 5",
          { 0x7ed8320b, 0xf1bf97ab, 0x19405fce, 0x00000030, 0x2e7 },
          SET(SCALAR) | SET(AVX2) | SET(AVXVNNI) | SET(AVX512) },
    };
    (void)state;
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++) {
        const unsigned levels = vact_cpuid_levels(&processors[i].words);
        if (levels != processors[i].levels)
            print_error("%s\n", processors[i].name);
        assert_int_equal(levels, processors[i].levels);
    }
}

static void test_every_word_counts(void **state)
{
    (void)state;
    const vact_cpuid zen5 = { 0x7ed8320b, 0xf1bf97ab, 0x19405fce, 0x00000030, 0x2e7 };
    static const struct {
        unsigned leaf1_c, leaf7_b, leaf7_c, leaf7_1_a, saved; /* bits to take away */
        unsigned levels;                                      /* that go with them */
    } without[] = {
        { .leaf1_c = 1u << 12, .levels = SET(AVX2) | SET(AVXVNNI) | SET(AVX512) }, /* FMA */
        { .leaf1_c = 1u << 28, .levels = SET(AVX2) | SET(AVXVNNI) | SET(AVX512) }, /* AVX */
        { .leaf1_c = 1u << 29, .levels = SET(AVX2) | SET(AVXVNNI) | SET(AVX512) }, /* F16C */
        { .leaf7_b = 1u << 5, .levels = SET(AVX2) | SET(AVXVNNI) | SET(AVX512) },  /* AVX2 */
        { .leaf7_b = 1u << 16, .levels = SET(AVX512) },                            /* AVX512F */
        { .leaf7_b = 1u << 17, .levels = SET(AVX512) },                            /* AVX512DQ */
        { .leaf7_b = 1u << 30, .levels = SET(AVX512) },                            /* AVX512BW */
        { .leaf7_b = 1u << 31, .levels = SET(AVX512) },                            /* AVX512VL */
        { .leaf7_c = 1u << 11, .levels = SET(AVX512) },                            /* AVX512-VNNI */
        { .leaf7_1_a = 1u << 4, .levels = SET(AVXVNNI) },                          /* AVX-VNNI */
        { .saved = 1u << 1, .levels = SET(AVX2) | SET(AVXVNNI) | SET(AVX512) },    /* xmm */
        { .saved = 1u << 2, .levels = SET(AVX2) | SET(AVXVNNI) | SET(AVX512) },    /* upper halves of ymm */
        { .saved = 1u << 5, .levels = SET(AVX512) },                               /* masks */
        { .saved = 1u << 6, .levels = SET(AVX512) },                               /* upper halves of zmm */
        { .saved = 1u << 7, .levels = SET(AVX512) },                               /* zmm16 to zmm31 */
    };
    const unsigned whole = vact_cpuid_levels(&zen5);
    for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
        const vact_cpuid words = { zen5.leaf1_c & ~without[i].leaf1_c, zen5.leaf7_b & ~without[i].leaf7_b,
                                   zen5.leaf7_c & ~without[i].leaf7_c, zen5.leaf7_1_a & ~without[i].leaf7_1_a,
                                   zen5.saved & ~without[i].saved };
        assert_int_equal(vact_cpuid_levels(&words), whole & ~without[i].levels);
    }
}

/* Bits of Linux's arch/arm64/include/uapi/asm/hwcap.h: sdot is bit 20 of the first word, smmla bit 13 of the second. */
static void test_levels_of_arm_processors(void **state)
{
    (void)state;
    const unsigned long all_but_dotprod = ~(1ul << 20), all_but_i8mm = ~(1ul << 13);
    assert_int_equal(vact_hwcap_levels(0xff, 0), SET(SCALAR) | SET(NEON)); /* Cortex-A72 */
    assert_int_equal(vact_hwcap_levels(1ul << 20, 0), SET(SCALAR) | SET(NEON) | SET(DOTPROD));
    assert_int_equal(vact_hwcap_levels(~0ul, all_but_i8mm), SET(SCALAR) | SET(NEON) | SET(DOTPROD));
    assert_int_equal(vact_hwcap_levels(~0ul, 1ul << 13), SET(SCALAR) | SET(NEON) | SET(DOTPROD) | SET(I8MM));
    assert_int_equal(vact_hwcap_levels(all_but_dotprod, ~0ul), SET(SCALAR) | SET(NEON));
}

static void test_count_is_at_least_one(void **state)
{
    (void)state;
    const int count = vact_cpu_count();
    assert_in_range(count, 1, sysconf(_SC_NPROCESSORS_CONF));
}

/* ---- quotas, on a made-up tree ---- */

static char root[] = "/tmp/vact-test-cpu-XXXXXX";

static const char *in_root(const char *name)
{
    static char path[256];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

static void put(const char *name, const char *text)
{
    FILE *f = fopen(in_root(name), "w");
    assert_non_null(f);
    fputs(text, f);
    assert_int_equal(fclose(f), 0);
}

static int quota(const char *cgroup)
{
    char file[256];
    put("cgroup", cgroup);
    snprintf(file, sizeof file, "%s", in_root("cgroup"));
    return vact_cpu_quota(file, root);
}

static const char *const folders[] = { "robot", "robot/arm", "cpu", "cpu/robot" };
static const char *const files[] = {
    "robot/cpu.max", "robot/arm/cpu.max", "cpu.max", "cpu/robot/cpu.cfs_quota_us", "cpu/robot/cpu.cfs_period_us",
    "cgroup"
};

static int make_tree(void **state)
{
    (void)state;
    if (!mkdtemp(root))
        return -1;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        if (mkdir(in_root(folders[i]), 0700) != 0)
            return -1;
    return 0;
}

static void test_v2_quota_is_the_least_of_the_group_and_its_parents(void **state)
{
    (void)state;
    put("robot/arm/cpu.max", "max 100000\n");
    put("robot/cpu.max", "250000 100000\n");
    assert_int_equal(quota("0::/robot/arm\n"), 3);
    put("robot/arm/cpu.max", "50000 100000\n");
    assert_int_equal(quota("0::/robot/arm\n"), 1);
    assert_int_equal(quota("0::/robot\n"), 3);
    assert_int_equal(quota("0::/\n"), 0);
    put("cpu.max", "200000 100000\n"); /* a container's own group is its mount point */
    assert_int_equal(quota("0::/\n"), 2);
    assert_int_equal(quota("0::/seen/by/the/host\n"), 2);
    unlink(in_root("cpu.max"));
}

static void test_v1_quota_is_read(void **state)
{
    (void)state;
    put("cpu/robot/cpu.cfs_period_us", "100000\n");
    put("cpu/robot/cpu.cfs_quota_us", "400000\n");
    assert_int_equal(quota("7:memory:/x\n4:cpu,cpuacct:/robot\n"), 4);
    assert_int_equal(quota("4:cpuacct,cpu:/robot\n"), 4);
    assert_int_equal(quota("4:cpuset,cpuacct:/robot\n"), 0);
    put("cpu/robot/cpu.cfs_quota_us", "-1\n");
    assert_int_equal(quota("4:cpu:/robot\n"), 0);
}

static void test_senseless_quotas_are_no_limit(void **state)
{
    (void)state;
    static const char *const lines[] = { "", "\n", "0 100000", "100000 0", "-5 100000", "abc", "100000" };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        put("robot/cpu.max", lines[i]);
        assert_int_equal(quota("0::/robot\n"), 0);
    }
    put("robot/cpu.max", "9223372036854775807 1\n");
    assert_true(quota("0::/robot\n") > 1000000);
    assert_int_equal(quota("no colons here\n:\n"), 0);
    assert_int_equal(vact_cpu_quota("/nonexistent/cgroup", root), 0);
}

static const char *model(const char *cpuinfo)
{
    static char out[40];
    char file[256];
    put("cgroup", cpuinfo);
    snprintf(file, sizeof file, "%s", in_root("cgroup"));
    return vact_cpu_model(out, sizeof out, file);
}

static void test_model_is_what_the_system_tells(void **state)
{
    (void)state;
    assert_string_equal(model("processor\t: 0\nmodel\t\t: 1\nmodel name\t: AMD EPYC 7763\nstepping\t: 1\n"),
                        "AMD EPYC 7763");
    assert_string_equal(model("BogoMIPS\t: 243.75\nCPU implementer\t: 0x41\nCPU part\t: 0xd0b\n"),
                        "processor of maker 0x41, part 0xd0b");
    assert_string_equal(model("CPU implementer\t: 0x41\n"), "unknown processor");
    assert_string_equal(model("model name\t:\nmodel names: x\nno colon\n"), "unknown processor");
    assert_string_equal(model("model name\t: a\x1b[31m\xc3\xa9"), "a?[31m??");
    assert_string_equal(model("model name: 0123456789012345678901234567890123456789"),
                        "012345678901234567890123456789012345678");
    char out[32];
    assert_string_equal(vact_cpu_model(out, sizeof out, "/nonexistent/cpuinfo"), "unknown processor");
}

/* The last test, not a tear-down: cmocka does not count those that fail. */
static void test_reading_quotas_leaves_nothing(void **state)
{
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++)
        unlink(in_root(files[i]));
    for (size_t i = sizeof folders / sizeof *folders; i-- > 0;)
        rmdir(in_root(folders[i]));
    assert_int_equal(rmdir(root), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_isa_names_round_trip),
        cmocka_unit_test(test_isa_names_are_listed_in_their_order),
        cmocka_unit_test(test_isa_is_what_the_compiler_says),
        cmocka_unit_test(test_levels_of_known_x86_processors),
        cmocka_unit_test(test_every_word_counts),
        cmocka_unit_test(test_levels_of_arm_processors),
        cmocka_unit_test(test_count_is_at_least_one),
        cmocka_unit_test(test_v2_quota_is_the_least_of_the_group_and_its_parents),
        cmocka_unit_test(test_v1_quota_is_read),
        cmocka_unit_test(test_senseless_quotas_are_no_limit),
        cmocka_unit_test(test_model_is_what_the_system_tells),
        cmocka_unit_test(test_reading_quotas_leaves_nothing),
    };
    return cmocka_run_group_tests(tests, make_tree, NULL);
}
