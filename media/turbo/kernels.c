#include "kernels.h"

int hr_kernel_sets(void) {
#if defined(__x86_64__)
	return 4;
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
		return __builtin_cpu_supports("sse4.1") ? &hr_sse41 : NULL;
	case 2:
		return __builtin_cpu_supports("avx2") ? &hr_avx2 : NULL;
	case 3:
		return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl") &&
		       __builtin_cpu_supports("avx512vbmi") && __builtin_cpu_supports("avx512vnni") ? &hr_avx512 : NULL;
#endif
	}
	return NULL;
}
