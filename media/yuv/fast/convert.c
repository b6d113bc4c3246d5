#include "convert.h"

#include <stdlib.h>
#include <string.h>

#define INLINE static inline __attribute__((always_inline))

// Rows of 16 bits that a picture's rows go through. Between are samples of chroma, of one row or of two that were mixed, with one more before the first and behind the last.
typedef struct {
	uint16_t *sample[3]; // Y or R, and those whose number is that of pixels
	uint16_t *first, *second, *between;
} rows;

// sample returns one as package yuv does: of at most `depth` bits.
INLINE uint32_t sample(const hr_yuv_job *j, const hr_yuv_part *p, const uint8_t *at, int depth) {
	uint32_t v = p->bytes == 1 ? at[0] : (uint32_t)at[0] | (uint32_t)at[1] << 8;
	v = v >> p->shift & ((1u << j->bits) - 1);
	if (j->bits > depth) {
		int more = j->bits - depth;
		v = (v + (1u << (more - 1))) >> more;
		if (v > (1u << depth) - 1)
			v = (1u << depth) - 1;
	}
	return v;
}

// ── To bytes

INLINE void widen(uint16_t *to, const uint8_t *from, int n, int step) {
	for (int i = 0; i < n; i++)
		to[i] = from[(ptrdiff_t)i * step];
}

// load has the samples of a row in 16 bits each.
INLINE void load(const hr_yuv_job *j, const hr_yuv_part *p, const uint8_t *from, uint16_t *to) {
	if (p->bytes == 1 && p->shift == 0 && p->step == 1)
		widen(to, from, p->width, 1);
	else if (p->bytes == 1 && p->shift == 0 && p->step == 2)
		widen(to, from, p->width, 2);
	else if (p->bytes == 1 && p->shift == 0 && p->step == 3)
		widen(to, from, p->width, 3);
	else if (p->step == 2 && p->shift == 0 && j->bits <= j->depth) {
		uint16_t mask = (1u << j->bits) - 1;
		memcpy(to, from, 2 * (size_t)p->width);
		for (int i = 0; i < p->width; i++)
			to[i] &= mask;
	} else
		for (int i = 0; i < p->width; i++)
			to[i] = sample(j, p, from + (ptrdiff_t)i * p->step, j->depth);
}

// A place between two samples, of which the second has weight parts of 1<<bits.
typedef struct {
	int first, weight, bits;
} place;

INLINE place between(int pixel, int shift, int centred) {
	if (shift == 0)
		return (place){pixel, 0, 0};
	int at = 2 * pixel + (centred ? 1 - (1 << shift) : 0);
	return (place){at >> (shift + 1), at & ((2 << shift) - 1), shift + 1};
}

INLINE int inside(int i, int n) { return i < 0 ? 0 : i < n ? i : n - 1; }

// chroma makes a row of chroma at the places of pixels, in 16ths of a level.
INLINE void chroma(const hr_yuv_job *j, const rows *r, const hr_yuv_part *p, const uint8_t *from, int y, uint16_t *to) {
	const int n = p->width, centred = j->siting == HR_YUV_CENTRE;
	const place down = between(y, j->chroma_y, j->siting != HR_YUV_TOP_LEFT);
	uint16_t *t = r->between + 1, *a = r->first, *b = r->second;

	if (j->chroma_x == 0 && j->chroma_y == 0) {
		load(j, p, from + y * p->stride, to);
		for (int i = 0; i < n; i++)
			to[i] *= 16;
		return;
	}
	load(j, p, from + inside(down.first, p->height) * p->stride, a);
	if (down.weight > 0)
		load(j, p, from + inside(down.first + 1, p->height) * p->stride, b);

	if (j->chroma_x > 1 || j->chroma_y > 1) { // rare
		for (int x = 0; x < j->width; x++) {
			const place across = between(x, j->chroma_x, centred);
			const int i = inside(across.first, n), k = inside(across.first + 1, n);
			const uint32_t ax = across.weight, bx = (1u << across.bits) - ax, ay = down.weight, by = (1u << down.bits) - ay;
			uint32_t sum = bx * by * a[i] + ax * by * a[k];
			if (ay > 0)
				sum += bx * ay * b[i] + ax * ay * b[k];
			const int more = across.bits + down.bits - 4;
			to[x] = more > 0 ? (sum + (1u << (more - 1))) >> more : sum << -more;
		}
		return;
	}

	// In quarters of a level between the rows, and in quarters of these between the columns: nothing is rounded.
	if (down.weight == 0)
		for (int i = 0; i < n; i++)
			t[i] = 4 * a[i];
	else {
		const uint16_t w = down.weight, v = 4 - w;
		for (int i = 0; i < n; i++)
			t[i] = v * a[i] + w * b[i];
	}
	if (j->chroma_x == 0) {
		for (int i = 0; i < n; i++)
			to[i] = 4 * t[i];
		return;
	}
	t[-1] = t[0];
	t[n] = t[n - 1];
	if (centred)
		for (int i = 0; i < n; i++) {
			to[2 * i] = t[i - 1] + 3 * t[i];
			to[2 * i + 1] = 3 * t[i] + t[i + 1];
		}
	else
		for (int i = 0; i < n; i++) {
			to[2 * i] = 4 * t[i];
			to[2 * i + 1] = 2 * t[i] + 2 * t[i + 1];
		}
}

INLINE uint8_t level(int32_t v, int point) {
	v >>= point;
	return v < 0 ? 0 : v > 255 ? 255 : v;
}

// colours makes pixels of samples, of which those of chroma are in 16ths of a level.
INLINE void colours(const hr_yuv_job *j, const uint16_t *restrict y, const uint16_t *restrict u, const uint16_t *restrict v, uint8_t *restrict to) {
	const int32_t luma = 16 * j->luma, red_v = j->red_v, green_u = j->green_u, green_v = j->green_v, blue_u = j->blue_u;
	const int32_t red = j->red, green = j->green, blue = j->blue, point = j->point;
	for (int i = 0; i < j->width; i++) {
		const int32_t l = luma * y[i];
		to[3 * i] = level(l + red_v * v[i] + red, point);
		to[3 * i + 1] = level(l + green_u * u[i] + green_v * v[i] + green, point);
		to[3 * i + 2] = level(l + blue_u * u[i] + blue, point);
	}
}

INLINE void levels(const hr_yuv_job *j, const uint16_t *from, uint8_t *to) {
	const int32_t luma = 16 * j->luma, bias = j->red, point = j->point;
	for (int i = 0; i < j->width; i++)
		to[3 * i] = level(luma * from[i] + bias, point);
}

typedef void colouring(const hr_yuv_job *j, const uint16_t *y, const uint16_t *u, const uint16_t *v, uint8_t *to);

INLINE void bytes(const hr_yuv_job *j, const rows *r, const uint8_t *const from[3], uint8_t *to, colouring *colour) {
	for (int y = 0; y < j->height; y++, to += j->stride) {
		load(j, &j->part[0], from[0] + y * j->part[0].stride, r->sample[0]);
		switch (j->kind) {
		case HR_YUV_YUV:
			for (int i = 1; i < 3; i++)
				chroma(j, r, &j->part[i], from[i], y, r->sample[i]);
			colour(j, r->sample[0], r->sample[1], r->sample[2], to);
			break;
		case HR_YUV_RGB:
			for (int i = 1; i < 3; i++)
				load(j, &j->part[i], from[i] + y * j->part[i].stride, r->sample[i]);
			for (int i = 0; i < 3; i++)
				levels(j, r->sample[i], to + i);
			break;
		default:
			for (int i = 0; i < 3; i++)
				levels(j, r->sample[0], to + i);
		}
	}
}

// ── To words: the definition, without tricks

static void put(const hr_yuv_job *j, uint8_t *to, int64_t v) {
	v >>= j->point;
	v = v < 0 ? 0 : v > 65535 ? 65535 : v;
	to[0] = v & 255;
	to[1] = v >> 8;
}

static int64_t chroma_at(const hr_yuv_job *j, const hr_yuv_part *p, const uint8_t *from, place across, place down) {
	const int64_t ax = across.weight, bx = (1 << across.bits) - ax, ay = down.weight, by = (1 << down.bits) - ay;
	int64_t sum = 0;
	for (int dy = 0; dy < 2; dy++)
		for (int dx = 0; dx < 2; dx++) {
			const uint8_t *at = from + inside(down.first + dy, p->height) * p->stride + (ptrdiff_t)inside(across.first + dx, p->width) * p->step;
			sum += (dx ? ax : bx) * (dy ? ay : by) * sample(j, p, at, j->depth);
		}
	return sum << (j->parts - across.bits - down.bits); // 64ths are exact
}

static void words(const hr_yuv_job *j, const uint8_t *const from[3], uint8_t *to) {
	for (int y = 0; y < j->height; y++, to += j->stride) {
		const place down = between(y, j->chroma_y, j->siting != HR_YUV_TOP_LEFT);
		for (int x = 0; x < j->width; x++) {
			int64_t l[3], u = 0, v = 0;
			for (int i = 0; i < (j->kind == HR_YUV_RGB ? 3 : 1); i++)
				l[i] = (j->luma << j->parts) * sample(j, &j->part[i], from[i] + y * j->part[i].stride + (ptrdiff_t)x * j->part[i].step, j->depth);
			if (j->kind != HR_YUV_RGB)
				l[1] = l[2] = l[0];
			if (j->kind == HR_YUV_YUV) {
				const place across = between(x, j->chroma_x, j->siting == HR_YUV_CENTRE);
				u = chroma_at(j, &j->part[1], from[1], across, down);
				v = chroma_at(j, &j->part[2], from[2], across, down);
			}
			put(j, to + 6 * (ptrdiff_t)x, l[0] + j->red_v * v + j->red);
			put(j, to + 6 * (ptrdiff_t)x + 2, l[1] + j->green_u * u + j->green_v * v + j->green);
			put(j, to + 6 * (ptrdiff_t)x + 4, l[2] + j->blue_u * u + j->blue);
		}
	}
}

// ── For every processor

static void colours_plain(const hr_yuv_job *j, const uint16_t *y, const uint16_t *u, const uint16_t *v, uint8_t *to) { colours(j, y, u, v, to); }

static void narrow(const hr_yuv_job *j, const rows *r, const uint8_t *const from[3], uint8_t *to) { bytes(j, r, from, to, colours_plain); }

#if defined(__x86_64__)
#include "convert_avx2.h"

__attribute__((target("avx2"))) static void widely(const hr_yuv_job *j, const rows *r, const uint8_t *const from[3], uint8_t *to) { bytes(j, r, from, to, colours_avx2); }
#else
#define widely narrow
#endif

int hr_yuv_convert(const hr_yuv_job *job, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *to) {
	const uint8_t *const from[3] = {a, b, c};
	if (job->wide) {
		words(job, from, to);
		return 1;
	}

	// Chroma of an odd width is of one pixel more, and kernels read 32 pixels at once, whatever those behind the last may be.
	const size_t width = ((size_t)job->width + 2 + 31) / 32 * 32;
	uint16_t *memory = calloc(6 * width, sizeof *memory);
	if (memory == NULL)
		return 0;
	rows r;
	for (int i = 0; i < 3; i++)
		r.sample[i] = memory + i * width;
	r.first = memory + 3 * width;
	r.second = memory + 4 * width;
	r.between = memory + 5 * width;
	if (job->avx2)
		widely(job, &r, from, to);
	else
		narrow(job, &r, from, to);
	free(memory);
	return 1;
}
