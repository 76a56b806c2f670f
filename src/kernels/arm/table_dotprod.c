/* What sdot does faster than NEON alone. */
#include "kernels/arm/dotprod.h"
#include "kernels/kernels.h"

void vact_kernels_init_dotprod(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_DOTPROD;
    kernels->pack_int8[VACT_DTYPE_Q8_0] = vact_pack_int8_q8_0_dotprod;
    kernels->pack_int8[VACT_DTYPE_Q4_0] = vact_pack_int8_q4_0_dotprod;
    kernels->int8_rows = 4;
    kernels->gemm_int8[VACT_DTYPE_Q8_0] = vact_gemm_int8_q8_0_dotprod;
    kernels->gemm_int8[VACT_DTYPE_Q4_0] = vact_gemm_int8_q4_0_dotprod;
    kernels->dot_ceiling = vact_dot_ceiling_dotprod;
}
