/* decode: levels agree to the bit; hashes and closed forms that don't come from our code. */
#include "check.h"
#include "fnv.h"
#include "quants.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const struct {
    vact_dtype type;
    const char *name;
    size_t block, bytes;
} types[] = {
    { VACT_DTYPE_F32, "f32", 1, 4 },     { VACT_DTYPE_F16, "f16", 1, 2 },     { VACT_DTYPE_BF16, "bf16", 1, 2 },
    { VACT_DTYPE_Q8_0, "q8_0", 32, 34 }, { VACT_DTYPE_Q4_0, "q4_0", 32, 18 },
};

void check_decode(void **state)
{
    (void)state;
    for (int level = 1; level < check_levels(); level++) {
        for (size_t t = 0; t < sizeof types / sizeof *types; t++) {
            const vact_dtype type = types[t].type;
            if (!CHECK_CHANGED(level, decode[type]))
                continue;
            for (int i = 0; i < CHECK_CASES; i++) {
                const size_t n = check_range(0, 100) * types[t].block, offset = 2 * check_range(0, 15);
                check_begin(level, "decode %s n=%zu", types[t].name, n);
                const void *src = check_bytes(n / types[t].block * types[t].bytes, offset);
                float *want = check_output(n, 0), *got = check_output(n, 4 * check_range(0, 7));
                check_level(0)->decode[type](want, src, n);
                check_level(level)->decode[type](got, src, n);
                check_same(want, got, n);
                check_end();
            }
            const void *src = check_bytes(4096 / types[t].block * types[t].bytes, 0);
            float *dst = check_output(4096, 0);
            char name[32];
            snprintf(name, sizeof name, "decode %s 4096", types[t].name);
            CHECK_BENCH(level, name, check_level(0)->decode[type](dst, src, 4096),
                        check_level(level)->decode[type](dst, src, 4096));
            check_end();
        }
    }
}

/* 64 blocks of bytes from a linear congruential generator, then scales and minima that are ordinary numbers. The hashes
 * of the outputs are those of ggml's own decoders. */
void test_quant_blocks_decode_to_golden_hashes(void **state)
{
    enum { BLOCKS = 64 };
    static const struct {
        uint64_t input, output;
    } golden[QUANT_TYPES] = {
        { 0x66e1449b7375fbfe, 0x3e5468668ee5f74b }, { 0x36bbeef17d6940d1, 0xcd0c329f9483b293 },
        { 0x649f8b2e8fd28be3, 0xc4bceeb6b45e67bb }, { 0xb524748be2654ab8, 0x25c9e4eb2be1c9b7 },
        { 0x406844d74836e96c, 0x03426dd1df7b1f36 }, { 0x4fd2745cc036ff27, 0xdaebf349ce199edb },
        { 0x81e8875ea1e9fca5, 0xd2e47e895720688b }, { 0x3fbbd5c114c20ec4, 0x4e19eac34ab83a68 },
        { 0xe4912f2ecaf2f361, 0xbddef4e8d06f3f83 }, { 0xedd24486924a0a6c, 0x45e3585813fefa1a },
    };

    (void)state;
    for (size_t g = 0; g < QUANT_TYPES; g++) {
        static unsigned char src[BLOCKS * 210];
        static float dst[BLOCKS * 256];
        const quant_type *q = &quant_types[g];
        const size_t bytes = BLOCKS * q->bytes, n = BLOCKS * q->block;
        uint32_t s = 0x1234567;
        for (size_t i = 0; i < bytes; i++) {
            s = s * 1664525 + 1013904223;
            src[i] = (unsigned char)(s >> 24);
        }
        for (size_t k = 0; k < BLOCKS; k++) {
            const uint16_t d = (uint16_t)(0x2000 + 37 * k), m = (uint16_t)(0x2400 + 53 * k);
            memcpy(src + k * q->bytes + q->d, &d, sizeof d);
            if (q->m)
                memcpy(src + k * q->bytes + q->m, &m, sizeof m);
        }
        assert_true(fnv1a64(src, bytes) == golden[g].input);
        for (int level = 0; level < check_levels(); level++) {
            check_begin(level, "decode %s", vact_dtype_get(q->type)->name);
            check_level(level)->decode[q->type](dst, src, n);
            check_true(fnv1a64(dst, n * sizeof *dst) == golden[g].output, "hash differs");
        }
    }
}

/* Value of a 16-bit float with `fraction` bits of fraction and exponent bias `bias`; finite patterns. */
static double value16(unsigned half, int fraction, int bias)
{
    const int exponent = (int)(half & 0x7fff) >> fraction;
    const int low = (int)half & ((1 << fraction) - 1);
    const double magnitude =
        exponent ? ldexp((1 << fraction) + low, exponent - bias - fraction) : ldexp(low, 1 - bias - fraction);
    return half & 0x8000 ? -magnitude : magnitude;
}

void test_every_f16_and_bf16_decodes_to_its_value(void **state)
{
    enum { PATTERNS = 65536 };

    (void)state;
    for (int level = 0; level < check_levels(); level++) {
        uint16_t *src = check_bytes(PATTERNS * sizeof *src, 0);
        float *f16 = check_output(PATTERNS, 0), *bf16 = check_output(PATTERNS, 0);
        check_begin(level, "decode of all 16-bit patterns");
        for (unsigned i = 0; i < PATTERNS; i++)
            src[i] = (uint16_t)i;
        check_level(level)->decode[VACT_DTYPE_F16](f16, src, PATTERNS);
        check_level(level)->decode[VACT_DTYPE_BF16](bf16, src, PATTERNS);
        for (unsigned i = 0; i < PATTERNS; i++) {
            /* exponent 31 by its definition: infinity, or a NaN made quiet with its payload on top */
            const uint32_t special = (i & 0x8000) << 16 | 0x7f800000 | (i & 0x3ff ? 0x400000 : 0) | (i & 0x3ff) << 13;
            const uint32_t wide = i << 16;
            float want = (float)value16(i, 10, 15);
            if ((i & 0x7c00) == 0x7c00)
                memcpy(&want, &special, sizeof want);
            check_same(&want, f16 + i, 1);
            want = (float)value16(i, 7, 127);
            if ((i & 0x7f80) == 0x7f80)
                memcpy(&want, &wide, sizeof want);
            check_same(&want, bf16 + i, 1);
        }
        check_end();
    }
}
