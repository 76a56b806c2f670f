/* What AVX2 with FMA and F16C does faster than scalar code. */
#include "kernels/kernels.h"
#include "kernels/scalar.h"
#include "kernels/x86/avx2.h"

void vact_kernels_init_avx2(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_AVX2;
    kernels->decode[VACT_DTYPE_F16] = vact_decode_f16_avx2;
    kernels->decode[VACT_DTYPE_BF16] = vact_decode_bf16_avx2;
    kernels->decode[VACT_DTYPE_Q8_0] = vact_decode_q8_0_avx2;
    kernels->decode[VACT_DTYPE_Q4_0] = vact_decode_q4_0_avx2;
    kernels->pack[VACT_DTYPE_F32] = vact_pack_f32_avx2;
    kernels->pack[VACT_DTYPE_F16] = vact_pack_f16_avx2;
    kernels->pack[VACT_DTYPE_BF16] = vact_pack_bf16_avx2;
    kernels->pack[VACT_DTYPE_Q8_0] = vact_pack_q8_0_avx2;
    kernels->pack[VACT_DTYPE_Q4_0] = vact_pack_q4_0_avx2;
#define SET(type, TYPE, block, block_bytes) kernels->pack[VACT_DTYPE_##TYPE] = vact_pack_##type##_avx2;
    VACT_READ_ONLY_TYPES(SET)
#undef SET
    kernels->gemm_rows = 6;
    kernels->gemm = vact_gemm_avx2;
    kernels->quantize = vact_quantize_avx2;
    kernels->pack_int8[VACT_DTYPE_Q8_0] = vact_pack_int8_q8_0_avx2;
    kernels->pack_int8[VACT_DTYPE_Q4_0] = vact_pack_int8_q4_0_avx2;
    kernels->int8_rows = 4;
    kernels->gemm_int8[VACT_DTYPE_Q8_0] = vact_gemm_int8_q8_0_avx2;
    kernels->gemm_int8[VACT_DTYPE_Q4_0] = vact_gemm_int8_q4_0_avx2;
    kernels->layer_norm = vact_layer_norm_avx2;
    kernels->rms_norm = vact_rms_norm_avx2;
    kernels->gelu_erf = vact_gelu_erf_avx2;
    kernels->gelu_tanh = vact_gelu_tanh_avx2;
    kernels->silu = vact_silu_avx2;
    kernels->softmax = vact_softmax_avx2;
    kernels->scale = vact_scale_avx2;
    kernels->add = vact_add_avx2;
    kernels->mul = vact_mul_avx2;
    kernels->axpy = vact_axpy_avx2;
    kernels->rope = vact_rope_avx2;
    kernels->pixels_u8 = vact_pixels_u8_avx2;
    kernels->pixels_f32 = vact_pixels_f32_avx2;
    kernels->fma_ceiling = vact_fma_ceiling_avx2;
    kernels->dot_ceiling = vact_dot_ceiling_avx2;
}
