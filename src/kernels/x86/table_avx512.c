/* What AVX-512 does faster than AVX2. */
#include "kernels/kernels.h"
#include "kernels/x86/avx512.h"

void vact_kernels_init_avx512(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_AVX512;
    kernels->gemm = vact_gemm_avx512;
}
