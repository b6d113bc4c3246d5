#include "mix.h"

// Products are rounded before they are added, also where the processor could do both at once: Go does so.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

// The compiler makes vectors of these, as wide as the function around them may have. Sums of bytes fit 16 bits: 255 · 256 + 128.
static inline __attribute__((always_inline)) void bytes(uint8_t *restrict to, const uint8_t *a, const uint8_t *b, int64_t n, int w) {
	uint16_t of = w, rest = 256 - w;
	for (int64_t i = 0; i < n; i++)
		to[i] = (uint16_t)(a[i] * of + b[i] * rest + 128) >> 8;
}

static inline __attribute__((always_inline)) void floats(float *restrict to, const float *a, const float *b, int64_t n, float of, float rest) {
	for (int64_t i = 0; i < n; i++)
		to[i] = a[i] * of + b[i] * rest;
}

#if defined(__x86_64__)

__attribute__((target("avx2"))) static void wide_bytes(uint8_t *to, const uint8_t *a, const uint8_t *b, int64_t n, int w) {
	bytes(to, a, b, n, w);
}

__attribute__((target("avx2"))) static void wide_floats(float *to, const float *a, const float *b, int64_t n, float of, float rest) {
	floats(to, a, b, n, of, rest);
}

static int wide(const hr_kernels *set) { return set == &hr_avx2 || set == &hr_avx512; }

#else

#define wide_bytes bytes
#define wide_floats floats
#define wide(set) ((void)(set), 0)

#endif

void hr_mix_bytes(const hr_kernels *set, uint8_t *to, const uint8_t *a, const uint8_t *b, int64_t n, int w) {
	if (wide(set))
		wide_bytes(to, a, b, n, w);
	else
		bytes(to, a, b, n, w);
}

void hr_mix_floats(const hr_kernels *set, float *to, const float *a, const float *b, int64_t n, float of, float rest) {
	if (wide(set))
		wide_floats(to, a, b, n, of, rest);
	else
		floats(to, a, b, n, of, rest);
}
