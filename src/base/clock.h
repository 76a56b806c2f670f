/* Wall clock, CPU time and resident memory of this process. */
#ifndef VACT_BASE_CLOCK_H
#define VACT_BASE_CLOCK_H

#include <stdint.h>

double vact_clock_ms(void);     /* monotonic wall clock */
double vact_clock_cpu_ms(void); /* CPU time of all threads of this process */
void vact_clock_sleep_ms(double ms);
uint64_t vact_peak_resident_bytes(void); /* 0 where the system does not tell */

#endif
