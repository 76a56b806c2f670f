/* What AVX-VNNI does faster than AVX2. */
#include "kernels/kernels.h"
#include "kernels/x86/vnni.h"

void vact_kernels_init_avxvnni(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_AVXVNNI;
    kernels->pack_int8[VACT_DTYPE_Q8_0] = vact_pack_int8_q8_0_vnni;
    kernels->int8_rows = 6; /* two tiles of three, three of two */
    kernels->gemm_int8[VACT_DTYPE_Q8_0] = vact_gemm_int8_q8_0_avxvnni;
    kernels->gemm_int8[VACT_DTYPE_Q4_0] = vact_gemm_int8_q4_0_avxvnni;
    kernels->dot_ceiling = vact_dot_ceiling_avxvnni;
}
