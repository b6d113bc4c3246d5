#include "cpu.h"

#if defined(__x86_64__)

#include <cpuid.h>
#include <stdatomic.h>

static int all(unsigned bits, unsigned mask) { return (bits & mask) == mask; }

// Which registers the system keeps.
static unsigned kept(void) {
	unsigned low, high;
	__asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
	return low;
}

static unsigned ask(void) {
	unsigned a, b, c, d, has = HR_CPU_KNOWN;
	if (!__get_cpuid(1, &a, &b, &c, &d))
		return has;
	if (all(c, bit_SSE4_1))
		has |= HR_CPU_SSE41;
	if (!all(c, bit_OSXSAVE | bit_AVX))
		return has;
	unsigned registers = kept();
	if (!all(registers, 0x06)) // XMM, YMM
		return has;
	if (all(c, bit_FMA))
		has |= HR_CPU_FMA;
	if (all(c, bit_F16C))
		has |= HR_CPU_F16C;
	if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
		return has;
	if (all(b, bit_AVX2 | bit_BMI2)) // what has the first has the second
		has |= HR_CPU_AVX2;
	if (all(registers, 0xe6) && // and the masks and both parts of ZMM
	    all(b, bit_AVX512F | bit_AVX512BW | bit_AVX512VL) && all(c, bit_AVX512VBMI | bit_AVX512VNNI))
		has |= HR_CPU_AVX512;
	return has;
}

// The instruction is slow, many times so under a hypervisor, which answers in the
// processor's place.
int hr_cpu_has(unsigned what) {
	static atomic_uint answer;
	unsigned has = atomic_load_explicit(&answer, memory_order_relaxed);
	if (!has) {
		has = ask();
		atomic_store_explicit(&answer, has, memory_order_relaxed);
	}
	return all(has, what);
}

#else

int hr_cpu_has(unsigned what) {
	(void)what;
	return 0;
}

#endif
