/* Types of blocks against Python's gguf package (tests/data/quants.json, made by tools/reference/make_quants.py):
 * decoders at every level that this machine has, encoders where there are some. */
#include "fnv.h"
#include "kernels/kernels.h"
#include "load_json.h"
#include "quants.h"

#include <stdio.h>
#include <stdlib.h>

enum { MOST_BLOCKS = 256 };

static json_t *golden;
static vact_kernels levels[VACT_ISA_END];
static int n_levels;
static float values[MOST_BLOCKS * 256];
static uint8_t bytes[MOST_BLOCKS * 210];

static int set_up(void **state)
{
    (void)state;
    golden = load_json(TEST_DATA "/quants.json");
    for (int isa = 0; isa < VACT_ISA_END; isa++)
        if (vact_cpu_has((vact_isa)isa))
            vact_kernels_init(&levels[n_levels++], (vact_isa)isa);
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    json_decref(golden);
    return 0;
}

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    assert_non_null(text);
    return text;
}

static const quant_type *type_of(const json_t *object)
{
    const quant_type *q = quant_find((uint32_t)vact_dtype_from_name(text_of(object, "type")));
    assert_non_null(q);
    return q;
}

static size_t from_hex(void *out, size_t most, const char *hex)
{
    const size_t n = strlen(hex) / 2;
    assert_true(n <= most);
    for (size_t i = 0; i < n; i++) {
        unsigned byte;
        assert_int_equal(sscanf(hex + 2 * i, "%2x", &byte), 1);
        ((uint8_t *)out)[i] = (uint8_t)byte;
    }
    return n;
}

/* `bytes` decode to what has this hash, at every level. */
static void check_decoded(const quant_type *q, size_t blocks, const char *hash, const char *name)
{
    for (int i = 0; i < n_levels; i++) {
        char got[17];
        memset(values, 0xff, sizeof values);
        levels[i].decode[q->type](values, bytes, blocks * q->block);
        snprintf(got, sizeof got, "%016llx", (unsigned long long)fnv1a64(values, blocks * q->block * sizeof *values));
        if (strcmp(got, hash) != 0)
            fail_msg("%s, %s, level %s: hash is %s, expected %s", vact_dtype_get(q->type)->name, name,
                     vact_isa_name(levels[i].isa), got, hash);
    }
}

/* ---- decoders ---- */

static void test_many_blocks_decode_to_the_packages_values(void **state)
{
    (void)state;
    size_t i;
    json_t *type;
    json_array_foreach(json_object_get(golden, "decode"), i, type)
    {
        const json_t *many = json_object_get(type, "many");
        const quant_type *q = type_of(type);
        const size_t blocks = (size_t)json_integer_value(json_object_get(many, "blocks")), size = blocks * q->bytes;
        uint32_t s = (uint32_t)json_integer_value(json_object_get(many, "seed"));
        assert_true(blocks > 0 && blocks <= MOST_BLOCKS);
        for (size_t at = 0; at < size; at++)
            bytes[at] = (uint8_t)((s = s * 1664525 + 1013904223) >> 24);
        for (size_t at = 0; at < size; at += q->bytes)
            for (int half = 0; half < (q->m ? 2 : 1); half++) {
                uint16_t bits = (uint16_t)((s = s * 1664525 + 1013904223) >> 16);
                bits = (bits & 0x7c00) == 0x7c00 ? bits & 0xbfff : bits; /* neither infinity nor NaN */
                memcpy(bytes + at + (half ? q->m : q->d), &bits, sizeof bits);
            }
        char hash[17];
        snprintf(hash, sizeof hash, "%016llx", (unsigned long long)fnv1a64(bytes, size));
        assert_string_equal(hash, text_of(many, "bytes"));
        check_decoded(q, blocks, text_of(many, "hash"), "many");
    }
    assert_int_equal(i, QUANT_TYPES);
}

static void test_the_ends_of_codes_and_scales_decode_to_the_packages_values(void **state)
{
    (void)state;
    size_t i, k;
    json_t *type, *block;
    json_array_foreach(json_object_get(golden, "decode"), i, type)
    {
        const quant_type *q = type_of(type);
        json_array_foreach(json_object_get(type, "blocks"), k, block)
        {
            const char *at;
            json_t *want;
            assert_int_equal(from_hex(bytes, sizeof bytes, text_of(block, "bytes")), q->bytes);
            levels[0].decode[q->type](values, bytes, q->block);
            json_object_foreach(json_object_get(block, "values"), at, want)
            {
                const double got = (double)values[strtoul(at, NULL, 10)];
                if (got != json_real_value(want))
                    fail_msg("%s, %s: value %s is %.9g, expected %.9g", text_of(type, "type"), text_of(block, "name"),
                             at, got, json_real_value(want));
            }
            check_decoded(q, 1, text_of(block, "hash"), text_of(block, "name"));
        }
        assert_int_equal(k, 6);
    }
    assert_int_equal(i, QUANT_TYPES);
}

/* ---- encoders ---- */

/* Where a block is all zeros and the first is negative, the package's scale in Q4_0 is 0 and that of ggml's reference
 * encoder, which ours follows, -0: its largest value starts as 0 and none is larger. */
static uint8_t as_ggml(const quant_type *q, const char *name, size_t at, uint8_t byte)
{
    return q->type == VACT_DTYPE_Q4_0 && strcmp(name, "negative zeros") == 0 && at == 1 ? byte | 0x80 : byte;
}

/* Of all the types that the package encodes; ours are two, the others' blocks are decoded. */
static void test_hard_values_encode_to_the_packages_bytes(void **state)
{
    (void)state;
    size_t i, k;
    json_t *hard, *entry;
    int encoded = 0, decoded = 0;
    json_array_foreach(json_object_get(golden, "encode"), i, hard)
    {
        float x[32];
        assert_int_equal(from_hex(x, sizeof x, text_of(hard, "values")), sizeof x);
        json_array_foreach(json_object_get(hard, "encoded"), k, entry)
        {
            const quant_type *q = type_of(entry);
            const vact_encode_fn encode = vact_dtype_encoder(q->type);
            uint8_t ours[36];
            assert_int_equal(from_hex(bytes, sizeof bytes, text_of(entry, "bytes")), q->bytes);
            if (encode) {
                encode(ours, x, 32);
                for (size_t at = 0; at < q->bytes; at++) {
                    const uint8_t want = as_ggml(q, text_of(hard, "name"), at, bytes[at]);
                    if (ours[at] != want)
                        fail_msg("%s, %s: byte %zu is %02x, expected %02x", text_of(entry, "type"),
                                 text_of(hard, "name"), at, ours[at], want);
                }
                encoded++;
            }
            if (json_object_get(entry, "hash")) { /* not where a scale is infinite */
                check_decoded(q, 1, text_of(entry, "hash"), text_of(hard, "name"));
                decoded++;
            }
        }
    }
    assert_int_equal(encoded, 2 * 17);
    assert_int_equal(decoded, 5 * 15);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_many_blocks_decode_to_the_packages_values),
        cmocka_unit_test(test_the_ends_of_codes_and_scales_decode_to_the_packages_values),
        cmocka_unit_test(test_hard_values_encode_to_the_packages_bytes),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
