/* What smmla does faster than sdot. */
#include "kernels/kernels.h"

void vact_kernels_init_i8mm(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_I8MM;
}
