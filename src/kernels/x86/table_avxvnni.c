/* What AVX-VNNI does faster than AVX2. */
#include "kernels/kernels.h"

void vact_kernels_init_avxvnni(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_AVXVNNI;
}
