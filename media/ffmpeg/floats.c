#include "floats.h"

// What is multiplied by is a power of two, so the product is exact.
#define EACH_TYPE                                       \
	case 0: DO(uint8_t, 1.0f / (1 << 7), -1.0f) break;  \
	case 1: DO(int16_t, 1.0f / (1 << 15), 0) break;     \
	case 2: DO(int32_t, 1.0f / (1u << 31), 0) break;    \
	case 3: DO(float, 1, 0) break;                      \
	case 4: DO(double, 1, 0) break;                     \
	case 5: DO(int64_t, 1.0f / (1ull << 63), 0) break;

void hr_floats(float *restrict to, size_t stride, const void *from, size_t n, int type) {
#define DO(kind, scale, add)                                                                              \
	for (size_t i = 0; i < n; i++) to[i * stride] = (float)((const kind *)from)[i] * (scale) + (add);
	switch (type) { EACH_TYPE }
#undef DO
}

void hr_pairs(float *restrict to, const void *left, const void *right, size_t n, int type) {
#define DO(kind, scale, add)                                               \
	for (size_t i = 0; i < n; i++) {                                       \
		to[2 * i] = (float)((const kind *)left)[i] * (scale) + (add);      \
		to[2 * i + 1] = (float)((const kind *)right)[i] * (scale) + (add); \
	}
	switch (type) { EACH_TYPE }
#undef DO
}
