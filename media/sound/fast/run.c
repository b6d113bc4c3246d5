#include "run.h"

#include <string.h>

// Products are rounded before they are added, also where the processor could do both at once: Go does so.
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

#define LANES 8
#define BESIDE 5 // samples that are made at once, so that no sum waits for the one before

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
	typedef float half __attribute__((vector_size(16)));
	half v[2];
	a += b;
	memcpy(v, &a, sizeof v);
	v[0] += v[1];
	return (v[0][0] + v[0][2]) + (v[0][1] + v[0][3]);
}

// A place is where a sample begins in what comes in, and which set it has.
typedef struct {
	const float *in;
	int64_t set;
} place;

static place place_of(const float *in, const hr_filter *f, int64_t n, int64_t first)
{
	int64_t phase = n % f->up * f->down;
	int64_t at = n / f->up * f->down + phase / f->up - f->before;
	return (place){in + (at - first), phase % f->up};
}

// Steps goes on to the next sample without a division, which takes as long as many sums.
typedef struct {
	int64_t whole, rest;
} steps;

static inline __attribute__((always_inline)) place after(place p, const hr_filter *f, steps s)
{
	int64_t over = (p.set += s.rest) >= f->up;
	p.set -= over ? f->up : 0;
	p.in += s.whole + over;
	return p;
}

// Samples that are made beside each other keep no sum waiting for the one before.
static inline __attribute__((always_inline)) void beside(float *to, const hr_filter *f, const place p[BESIDE], int64_t apart, int one)
{
	const float *in[BESIDE], *set[BESIDE];
	for (int j = 0; j < BESIDE; j++) {
		in[j] = p[j].in;
		set[j] = f->sets + p[j].set * f->taps;
	}
	lanes a[BESIDE] = {0}, b[BESIDE] = {0};
	for (int64_t k = 0; k < f->taps; k += 2 * LANES) {
		lanes x = load(set[0] + k), y = load(set[0] + k + LANES);
		for (int j = 0; j < BESIDE; j++) {
			a[j] += (one ? x : load(set[j] + k)) * load(in[j] + k);
			b[j] += (one ? y : load(set[j] + k + LANES)) * load(in[j] + k + LANES);
		}
	}
	for (int j = 0; j < BESIDE; j++)
		to[j * apart] = added(a[j], b[j]);
}

static inline __attribute__((always_inline)) void resample(float *to, const float *in, const hr_filter *f, int64_t n, int64_t first, int64_t count, int64_t stride)
{
	const steps s = {f->down / f->up, f->down % f->up};
	place next = place_of(in, f, n, first);
	int64_t i = 0;
	// Samples that are f->up apart have one set. Its coefficients are loaded once for four of them: all sets of two rates may be larger
	// than the first cache.
	for (; i + BESIDE * f->up <= count; i += BESIDE * f->up) {
		for (int64_t k = i; k < i + f->up; k++, next = after(next, f, s)) {
			place p[BESIDE];
			for (int j = 0; j < BESIDE; j++)
				p[j] = (place){next.in + j * f->down, next.set};
			beside(to + k * stride, f, p, f->up * stride, 1);
		}
		next.in += (BESIDE - 1) * f->down;
	}
	for (; i + BESIDE <= count; i += BESIDE) {
		place p[BESIDE];
		for (int j = 0; j < BESIDE; j++, next = after(next, f, s))
			p[j] = next;
		beside(to + i * stride, f, p, stride, 0);
	}
	for (; i < count; i++, next = after(next, f, s)) {
		const float *set = f->sets + next.set * f->taps;
		lanes a = {0}, b = {0};
		for (int64_t k = 0; k < f->taps; k += 2 * LANES) {
			a += load(set + k) * load(next.in + k);
			b += load(set + k + LANES) * load(next.in + k + LANES);
		}
		to[i * stride] = added(a, b);
	}
}

static void narrow(float *to, const float *in, const hr_filter *f, int64_t n, int64_t first, int64_t count, int64_t stride)
{
	resample(to, in, f, n, first, count, stride);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void widely(float *to, const float *in, const hr_filter *f, int64_t n, int64_t first, int64_t count, int64_t stride)
{
	resample(to, in, f, n, first, count, stride);
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

void hr_sound_mean(float *restrict to, const float *restrict pairs, int64_t n)
{
	for (int64_t i = 0; i < n; i++)
		to[i] = (pairs[2 * i] + pairs[2 * i + 1]) / 2;
}
