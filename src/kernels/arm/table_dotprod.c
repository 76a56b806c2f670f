/* What sdot does faster than NEON alone. */
#include "kernels/kernels.h"

void vact_kernels_init_dotprod(vact_kernels *kernels)
{
    kernels->isa = VACT_ISA_DOTPROD;
}
