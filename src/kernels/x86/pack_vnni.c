/* Panels for vpdpbusd: AVX2's, with 128 added to Q8_0's codes. Made of AVX2, since two levels take it. */
#include "kernels/x86/avx2.h"
#include "kernels/x86/vnni.h"

void vact_pack_int8_q8_0_vnni(void *dst, const void *src, size_t row_bytes, int rows, size_t k)
{
    vact_pack_int8_q8_0_avx2(dst, src, row_bytes, rows, k);
    unsigned char *codes = (unsigned char *)dst + SCALES_BYTES;
    for (; k > 0; k -= BLOCK, codes += Q8_0_PANEL_BYTES) {
        for (size_t at = 0; at < Q8_0_PANEL_BYTES - SCALES_BYTES; at += 32) {
            __m256i *p = (__m256i *)(void *)(codes + at);
            _mm256_store_si256(p, _mm256_xor_si256(_mm256_load_si256(p), _mm256_set1_epi8(-128)));
        }
    }
}
