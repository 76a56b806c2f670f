/* Choosing the level: each setter overwrites what its level does faster than the one below. */
#include "kernels/kernels.h"

void vact_kernels_init(vact_kernels *kernels, vact_isa isa)
{
    vact_kernels_init_c(kernels);
#if defined(__x86_64__)
    if (isa == VACT_ISA_AVX2)
        vact_kernels_init_avx2(kernels);
#elif defined(__aarch64__)
    if (isa == VACT_ISA_NEON)
        vact_kernels_init_neon(kernels);
#else
    (void)isa;
#endif
}
