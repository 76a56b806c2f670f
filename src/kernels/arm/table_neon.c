/* What NEON does faster than scalar code. */
#include "kernels/arm/neon.h"
#include "kernels/kernels.h"
#include "kernels/scalar.h"

void vact_kernels_init_neon(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_NEON;
    kernels->decode[VACT_DTYPE_F16] = vact_decode_f16_neon;
    kernels->decode[VACT_DTYPE_BF16] = vact_decode_bf16_neon;
    kernels->decode[VACT_DTYPE_Q8_0] = vact_decode_q8_0_neon;
    kernels->decode[VACT_DTYPE_Q4_0] = vact_decode_q4_0_neon;
    kernels->pack[VACT_DTYPE_F32] = vact_pack_f32_neon;
    kernels->pack[VACT_DTYPE_F16] = vact_pack_f16_neon;
    kernels->pack[VACT_DTYPE_BF16] = vact_pack_bf16_neon;
    kernels->pack[VACT_DTYPE_Q8_0] = vact_pack_q8_0_neon;
    kernels->pack[VACT_DTYPE_Q4_0] = vact_pack_q4_0_neon;
#define SET(type, TYPE, block, block_bytes) kernels->pack[VACT_DTYPE_##TYPE] = vact_pack_##type##_neon;
    VACT_READ_ONLY_TYPES(SET)
#undef SET
    kernels->gemm_rows = 6;
    kernels->gemm = vact_gemm_neon;
    kernels->quantize = vact_quantize_neon;
    kernels->pack_int8[VACT_DTYPE_Q8_0] = vact_pack_int8_q8_0_neon;
    kernels->pack_int8[VACT_DTYPE_Q4_0] = vact_pack_int8_q4_0_neon;
    kernels->int8_rows = 16;
    kernels->gemm_int8[VACT_DTYPE_Q8_0] = vact_gemm_int8_q8_0_neon;
    kernels->gemm_int8[VACT_DTYPE_Q4_0] = vact_gemm_int8_q4_0_neon;
    kernels->layer_norm = vact_layer_norm_neon;
    kernels->rms_norm = vact_rms_norm_neon;
    kernels->gelu_erf = vact_gelu_erf_neon;
    kernels->gelu_tanh = vact_gelu_tanh_neon;
    kernels->silu = vact_silu_neon;
    kernels->softmax = vact_softmax_neon;
    kernels->scale = vact_scale_neon;
    kernels->add = vact_add_neon;
    kernels->mul = vact_mul_neon;
    kernels->axpy = vact_axpy_neon;
    kernels->rope = vact_rope_neon;
    kernels->pixels_u8 = vact_pixels_u8_neon;
    kernels->pixels_f32 = vact_pixels_f32_neon;
    kernels->fma_ceiling = vact_fma_ceiling_neon;
    kernels->dot_ceiling = vact_dot_ceiling_neon;
}
