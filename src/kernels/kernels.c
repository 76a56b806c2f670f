/* Choosing the level: each setter overwrites what its level does faster than the one below. */
#include "kernels/kernels.h"

void vact_kernels_init(vact_kernels *kernels, vact_isa isa)
{
    vact_kernels_init_c(kernels);
#if defined(__x86_64__)
    if (isa >= VACT_ISA_AVX2)
        vact_kernels_init_avx2(kernels);
    if (isa == VACT_ISA_AVXVNNI)
        vact_kernels_init_avxvnni(kernels);
    if (isa == VACT_ISA_AVX512)
        vact_kernels_init_avx512(kernels);
#elif defined(__aarch64__)
    if (isa >= VACT_ISA_NEON)
        vact_kernels_init_neon(kernels);
    if (isa >= VACT_ISA_DOTPROD)
        vact_kernels_init_dotprod(kernels);
    if (isa >= VACT_ISA_I8MM)
        vact_kernels_init_i8mm(kernels);
#else
    (void)isa;
#endif
}
