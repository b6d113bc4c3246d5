#include "run.h"

#include <string.h>

// Products are rounded before they are added, also where the processor could do both at once: Go does so.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

#define LANES 8
#define BESIDE 4 // samples that are made at once, so that no sum waits for the one before

typedef float lanes __attribute__((vector_size(4 * LANES)));

static inline __attribute__((always_inline)) lanes load(const float *p)
{
	lanes v;
	memcpy(&v, p, sizeof v);
	return v;
}

// The two halves of 16 sums are added, then the halves of that, and so on: as dot does in Go, so that results are the same everywhere.
static inline __attribute__((always_inline)) float added(lanes a, lanes b)
{
	float v[LANES];
	a += b;
	memcpy(v, &a, sizeof v);
	for (int n = LANES / 2; n > 0; n /= 2)
		for (int k = 0; k < n; k++)
			v[k] += v[k + n];
	return v[0];
}

typedef struct {
	const float *in, *set;
} place;

static inline __attribute__((always_inline)) place place_of(const float *in, const hr_filter *f, int64_t n, int64_t first)
{
	int64_t phase = n % f->up * f->down;
	int64_t at = n / f->up * f->down + phase / f->up - f->before;
	return (place){in + (at - first), f->sets + phase % f->up * f->taps};
}

// one: there is one set, so that its coefficients are loaded once for all that are made beside each other.
static inline __attribute__((always_inline)) void resample(float *to, const float *in, const hr_filter *f, int64_t n, int64_t first, int64_t count, int64_t stride, int one)
{
	int64_t i = 0;
	for (; i + BESIDE <= count; i += BESIDE) {
		place p[BESIDE];
		lanes a[BESIDE] = {0}, b[BESIDE] = {0};
		for (int j = 0; j < BESIDE; j++)
			p[j] = place_of(in, f, n + i + j, first);
		for (int64_t k = 0; k < f->taps; k += 2 * LANES) {
			lanes x = load(p[0].set + k), y = load(p[0].set + k + LANES);
			for (int j = 0; j < BESIDE; j++) {
				a[j] += (one ? x : load(p[j].set + k)) * load(p[j].in + k);
				b[j] += (one ? y : load(p[j].set + k + LANES)) * load(p[j].in + k + LANES);
			}
		}
		for (int j = 0; j < BESIDE; j++)
			to[(i + j) * stride] = added(a[j], b[j]);
	}
	for (; i < count; i++) {
		place p = place_of(in, f, n + i, first);
		lanes a = {0}, b = {0};
		for (int64_t k = 0; k < f->taps; k += 2 * LANES) {
			a += load(p.set + k) * load(p.in + k);
			b += load(p.set + k + LANES) * load(p.in + k + LANES);
		}
		to[i * stride] = added(a, b);
	}
}

static void narrow(float *to, const float *in, const hr_filter *f, int64_t n, int64_t first, int64_t count, int64_t stride)
{
	if (f->up == 1)
		resample(to, in, f, n, first, count, stride, 1);
	else
		resample(to, in, f, n, first, count, stride, 0);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void widely(float *to, const float *in, const hr_filter *f, int64_t n, int64_t first, int64_t count, int64_t stride)
{
	if (f->up == 1)
		resample(to, in, f, n, first, count, stride, 1);
	else
		resample(to, in, f, n, first, count, stride, 0);
}
#else
#define widely narrow
#endif

void hr_sound_run(float *to, const float *in, hr_filter f, int64_t n, int64_t first, int64_t count, int64_t stride, int wide)
{
	if (wide)
		widely(to, in, &f, n, first, count, stride);
	else
		narrow(to, in, &f, n, first, count, stride);
}
