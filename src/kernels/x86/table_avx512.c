/* What AVX-512 does faster than AVX2. */
#include "kernels/kernels.h"
#include "kernels/x86/avx512.h"
#include "kernels/x86/vnni.h"

void vact_kernels_init_avx512(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_AVX512;
    kernels->gemm_rows = 10;
    kernels->gemm = vact_gemm_avx512;
    kernels->pack_int8[VACT_DTYPE_Q8_0] = vact_pack_int8_q8_0_vnni;
    kernels->int8_rows = 4;
    kernels->gemm_int8[VACT_DTYPE_Q8_0] = vact_gemm_int8_q8_0_avx512;
    kernels->gemm_int8[VACT_DTYPE_Q4_0] = vact_gemm_int8_q4_0_avx512;
    kernels->fma_ceiling = vact_fma_ceiling_avx512;
    kernels->dot_ceiling = vact_dot_ceiling_avx512;
}
