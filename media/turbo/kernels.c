#include "kernels.h"

#include "cpu.h"

int hr_kernel_sets(void) {
#if defined(__x86_64__)
	return 4;
#elif defined(__aarch64__)
	return 2;
#else
	return 1;
#endif
}

const hr_kernels *hr_kernel_set(int i) {
	switch (i) {
	case 0:
		return &hr_plain;
#if defined(__x86_64__)
	case 1:
		return hr_cpu_has(HR_CPU_SSE41) ? &hr_sse41 : NULL;
	case 2:
		return hr_cpu_has(HR_CPU_AVX2) ? &hr_avx2 : NULL;
	case 3:
		return hr_cpu_has(HR_CPU_AVX512) ? &hr_avx512 : NULL;
#elif defined(__aarch64__)
	case 1:
		return &hr_neon;
#endif
	}
	return NULL;
}
