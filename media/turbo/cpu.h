// What this processor has, as far as kernels ask for it, and the system keeps over a
// switch of threads. __builtin_cpu_supports would ask the compiler's runtime: zig's
// says that no processor has anything.
#ifndef HEADRACE_CPU_H
#define HEADRACE_CPU_H

enum {
	HR_CPU_KNOWN = 1, // the question was asked
	HR_CPU_SSE41 = 2,
	HR_CPU_AVX2 = 4,
	HR_CPU_FMA = 8,
	HR_CPU_F16C = 16,
	HR_CPU_AVX512 = 32, // F, BW, VL, VBMI and VNNI
};

// Whether the processor has all of these.
int hr_cpu_has(unsigned what);

#endif
