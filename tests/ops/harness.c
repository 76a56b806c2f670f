#include "harness.h"

#include "ops/cost/cost.h"
#include "ops/cpu/cpu.h"
#include "ops/cpu/parts.h"
#include "ops/reference/reference.h"
#include "quants.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const ops_target ops_reference = { "reference", true, VACT_ISA_SCALAR, 1, false };

static vact_arena memory;
static char text[200];
static uint64_t random_state = 1;

/* ---- devices ---- */

size_t ops_levels(ops_target *out, int threads)
{
    size_t count = 0;
    for (int isa = 0; isa < VACT_ISA_END; isa++)
        if (vact_cpu_has((vact_isa)isa))
            out[count++] = (ops_target){ vact_isa_name((vact_isa)isa), false, (vact_isa)isa, threads, false };
    return count;
}

size_t ops_cpus(ops_target *out, int threads)
{
    const size_t levels = ops_levels(out, threads);
    size_t count = 0;
    vact_kernels kernels, kept = { 0 };
    for (size_t i = 0; i < levels; i++) {
        vact_kernels_init(&kernels, out[i].isa);
        if (kernels.gemm == kept.gemm)
            continue;
        kept = kernels;
        out[count++] = out[i];
    }
    return count;
}

size_t ops_all(ops_target out[OPS_CPUS + 1])
{
    out[0] = ops_reference;
    return 1 + ops_cpus(out + 1, 1);
}

/* Nothing that an op hasn't written may reach its results. */
static void poison(vact_run *r, size_t slab, const ops_target *target)
{
    const size_t rows = slab / 16;
    float *values = malloc((slab + 1) * sizeof *values);
    assert_non_null(values);
    for (size_t i = 0; i < slab; i++)
        values[i] = NAN;
    vact_upload(r, (vact_buf){ 0, (int32_t)rows, 16, 16 }, values);
    free(values);
    if (target->reference)
        return;
    const vact_cpu *cpu = (const vact_cpu *)r->device;
    const float *end = cpu->private + cpu->per_thread * (size_t)target->threads;
    for (float *scratch = cpu->shared; scratch < end; scratch++)
        *scratch = NAN;
}

void ops_run(const ops_target *target, ops_fn fn, void *user)
{
    vact_error err = { 0 };
    vact_arena arena = { 0 };
    vact_kernels kernels;
    vact_device *device = NULL, *cost = NULL;
    vact_kernels_init(&kernels, target->isa);
    assert_int_equal(target->reference ? vact_reference_open(&device, &kernels, &err)
                                       : vact_cpu_open(&device, &kernels, target->threads, target->int8, &err),
                     VACT_OK);
    assert_int_equal(vact_cost_open(&cost, device, &err), VACT_OK);
    vact_run r = { .device = cost, .arena = &arena, .err = &err };
    fn(&r, user);
    const size_t slab = r.peak;
    assert_int_equal(device->reserve(device, slab, vact_cost_get(cost)->scratch, &err), VACT_OK);
    cost->close(cost);

    r = (vact_run){ .device = device, .arena = &arena, .err = &err };
    poison(&r, slab, target);
    fn(&r, user);
    if (r.status != VACT_OK || r.peak != slab)
        fail_msg("%s on %s: status %d, %zu floats where %zu were planned", text, target->name, (int)r.status, r.peak,
                 slab);
    device->close(device);
    vact_arena_free(&arena);
}

/* ---- inside a program ---- */

vact_buf ops_put(vact_run *r, const float *values, int32_t rows, int32_t cols)
{
    const vact_buf buf = vact_tmp(r, rows, cols);
    vact_upload(r, buf, values);
    return buf;
}

vact_buf ops_cols(vact_buf buf, int32_t first, int32_t count)
{
    buf.at += (size_t)first;
    buf.cols = count;
    return buf;
}

void ops_get(vact_run *r, vact_buf buf, float *out)
{
    r->device->read(r->device, buf, out); /* the cost device has nothing to give */
}

/* ---- a case ---- */

void ops_begin(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    vact_arena_free(&memory);
}

void *ops_take(size_t count, size_t size)
{
    void *taken = vact_arena_take(&memory, count, size);
    assert_non_null(taken);
    return taken;
}

int ops_teardown(void **state)
{
    (void)state;
    vact_arena_free(&memory);
    return 0;
}

void ops_seed(uint64_t seed)
{
    random_state = seed * 0x9E3779B97F4A7C15u + 1;
}

static uint32_t next(void)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    const uint64_t x = random_state;
    return (uint32_t)((x ^ (x >> 31)) >> 16);
}

int32_t ops_range(int32_t low, int32_t high)
{
    return low + (int32_t)(next() % (uint32_t)(high - low + 1));
}

int32_t ops_pick(const int32_t *values, size_t n)
{
    return values[next() % n];
}

/* The sum of 12 uniform values has variance 1. */
static float normal(void)
{
    double sum = -6;
    for (int i = 0; i < 12; i++)
        sum += next() / 4294967296.0;
    return (float)sum;
}

float *ops_normal(size_t n)
{
    float *out = ops_take(n, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = normal();
    return out;
}

/* ---- weights ---- */

static void store_u16(uint8_t *to, uint32_t bits)
{
    to[0] = (uint8_t)bits;
    to[1] = (uint8_t)(bits >> 8);
}

/* A float16 in [2^(exponent - 15), 2^(exponent - 14)). */
static uint32_t half_bits(uint32_t exponent)
{
    return exponent << 10 | (next() & 0x3ff);
}

static void fill_block(vact_dtype dtype, uint8_t *to, float scale)
{
    const float value = scale * normal();
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    switch (dtype) {
    case VACT_DTYPE_F32:
        memcpy(to, &value, sizeof value);
        break;
    case VACT_DTYPE_BF16:
        store_u16(to, bits >> 16);
        break;
    case VACT_DTYPE_F16:
        store_u16(to, (next() & 1) << 15 | half_bits((uint32_t)ops_range(8, 12)));
        break;
    default:
        quant_fill(to, quant_find(dtype), (double)scale, next);
        break;
    }
}

vact_weight ops_weight(vact_dtype dtype, int32_t rows, int32_t cols)
{
    const vact_dtype_info *type = vact_dtype_get(dtype);
    const uint64_t row_bytes = vact_dtype_bytes(dtype, (uint64_t)cols);
    const size_t bytes = (size_t)rows * (size_t)row_bytes;
    const size_t shift = dtype == VACT_DTYPE_F32 ? 4 : 2; /* as little alignment as a view of columns may have */
    uint8_t *data = (uint8_t *)ops_take(bytes + shift, 1) + shift;
    for (size_t at = 0; at < bytes; at += type->block_bytes)
        fill_block(dtype, data + at, 1 / sqrtf((float)cols));
    return (vact_weight){ data, dtype, rows, cols, row_bytes };
}

/* ---- comparing ---- */

void ops_near(const ops_target *target, const float *want, const float *got, size_t n, double bound)
{
    for (size_t i = 0; i < n; i++)
        if (!(fabs((double)got[i] - (double)want[i]) <= bound * (1 + fabs((double)want[i]))))
            fail_msg("%s on %s: value %zu of %zu is %.9g, expected %.9g", text, target->name, i, n, (double)got[i],
                     (double)want[i]);
}

void ops_same(const ops_target *target, const float *want, const float *got, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (memcmp(&want[i], &got[i], sizeof *got) != 0)
            fail_msg("%s on %s, %d threads: value %zu of %zu is %a, expected %a", text, target->name, target->threads,
                     i, n, (double)got[i], (double)want[i]);
}
