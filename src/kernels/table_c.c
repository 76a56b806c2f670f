/* The scalar level's table. */
#include "kernels/kernels.h"
#include "kernels/scalar.h"

void vact_kernels_init_c(vact_kernels *kernels)
{
    *kernels = (vact_kernels){
        .isa = VACT_ISA_SCALAR,
        .decode = { [VACT_DTYPE_F32] = vact_decode_f32_c,
                    [VACT_DTYPE_F16] = vact_decode_f16_c,
                    [VACT_DTYPE_BF16] = vact_decode_bf16_c,
                    [VACT_DTYPE_Q8_0] = vact_decode_q8_0_c,
                    [VACT_DTYPE_Q4_0] = vact_decode_q4_0_c },
        .pack = { [VACT_DTYPE_F32] = vact_pack_f32_c,
                  [VACT_DTYPE_F16] = vact_pack_f16_c,
                  [VACT_DTYPE_BF16] = vact_pack_bf16_c,
                  [VACT_DTYPE_Q8_0] = vact_pack_q8_0_c,
                  [VACT_DTYPE_Q4_0] = vact_pack_q4_0_c },
        .gemm_rows = 1,
        .gemm = vact_gemm_c,
        .quantize = vact_quantize_c,
        .pack_int8 = { [VACT_DTYPE_Q8_0] = vact_pack_int8_q8_0_c, [VACT_DTYPE_Q4_0] = vact_pack_int8_q4_0_c },
        .int8_rows = 1,
        .gemm_int8 = { [VACT_DTYPE_Q8_0] = vact_gemm_int8_q8_0_c, [VACT_DTYPE_Q4_0] = vact_gemm_int8_q4_0_c },
        .layer_norm = vact_layer_norm_c,
        .rms_norm = vact_rms_norm_c,
        .gelu_erf = vact_gelu_erf_c,
        .gelu_tanh = vact_gelu_tanh_c,
        .silu = vact_silu_c,
        .softmax = vact_softmax_c,
        .scale = vact_scale_c,
        .add = vact_add_c,
        .mul = vact_mul_c,
        .axpy = vact_axpy_c,
        .rope = vact_rope_c,
        .pixels_u8 = vact_pixels_u8_c,
        .pixels_f32 = vact_pixels_f32_c,
        .fma_ceiling = vact_fma_ceiling_c,
        .dot_ceiling = vact_dot_ceiling_c,
    };
#define SET(type, TYPE, block, block_bytes)                                                                            \
    kernels->decode[VACT_DTYPE_##TYPE] = vact_decode_##type##_c;                                                       \
    kernels->pack[VACT_DTYPE_##TYPE] = vact_pack_##type##_c;
    VACT_READ_ONLY_TYPES(SET)
#undef SET
}
