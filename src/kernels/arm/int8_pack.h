/* 16 rows of a quantized weight -> a panel of bytes: what the levels' layouts share. */
#ifndef VACT_KERNELS_ARM_INT8_PACK_H
#define VACT_KERNELS_ARM_INT8_PACK_H

#include "kernels/kernels.h"

#include <arm_neon.h>
#include <string.h>

/* A block in the file is an f16 scale and its codes; a panel's is 16 float scales and 16 times the codes. */
enum { BLOCK = VACT_INT8_BLOCK, SCALE_BYTES = 2, SCALES_BYTES = 64 };
enum { Q8_0_FILE_BYTES = 34, Q8_0_PANEL_BYTES = SCALES_BYTES + 512 };
enum { Q4_0_FILE_BYTES = 18, Q4_0_PANEL_BYTES = SCALES_BYTES + 256 };

static inline void pack_scales(unsigned char *dst, const unsigned char *const rows[VACT_PANEL])
{
    uint16_t halves[VACT_PANEL];
    for (size_t j = 0; j < VACT_PANEL; j++)
        memcpy(halves + j, rows[j], sizeof *halves);
    for (size_t j = 0; j < VACT_PANEL; j += 4)
        vst1q_f32((float *)dst + j, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(halves + j))));
}

/* pack_codes(dst, rows) packs the codes of 16 blocks. Channels beyond `rows` read a block whose scale is zero. */
#define PACK_INT8(name, pack_codes, file_bytes, panel_bytes)                                                           \
    void name(void *dst, const void *src, size_t row_bytes, int rows, size_t k)                                        \
    {                                                                                                                  \
        static const unsigned char none[file_bytes] = { 0 };                                                           \
        const unsigned char *row[VACT_PANEL];                                                                          \
        unsigned char *to = dst;                                                                                       \
        for (int j = 0; j < VACT_PANEL; j++)                                                                           \
            row[j] = j < rows ? (const unsigned char *)src + (size_t)j * row_bytes : none;                             \
        for (; k > 0; k -= BLOCK, to += (panel_bytes)) {                                                               \
            pack_scales(to, row);                                                                                      \
            pack_codes(to + SCALES_BYTES, row);                                                                        \
            for (int j = 0; j < rows; j++)                                                                             \
                row[j] += (file_bytes);                                                                                \
        }                                                                                                              \
    }

#endif
