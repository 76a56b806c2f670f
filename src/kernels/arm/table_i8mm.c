/* What smmla does faster than sdot. */
#include "kernels/arm/dotprod.h"
#include "kernels/kernels.h"

void vact_kernels_init_i8mm(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_I8MM;
    kernels->pack_int8[VACT_DTYPE_Q8_0] = vact_pack_int8_q8_0_i8mm;
    kernels->pack_int8[VACT_DTYPE_Q4_0] = vact_pack_int8_q4_0_i8mm;
    kernels->int8_rows = 4;
    kernels->gemm_int8[VACT_DTYPE_Q8_0] = vact_gemm_int8_q8_0_i8mm;
    kernels->gemm_int8[VACT_DTYPE_Q4_0] = vact_gemm_int8_q4_0_i8mm;
    kernels->dot_ceiling = vact_dot_ceiling_i8mm;
}
