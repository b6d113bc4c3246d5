#include "frame.h"

#include <stdlib.h>
#include <string.h>

#include "planes.h"

#define INLINE static inline __attribute__((always_inline))

struct hr_frame {
	hr_planes planes;
	hr_buffer rows; // HR_ROWS of them that are means, or have nothing behind them in the frame
	hr_buffer sums;
};

hr_frame *hr_frame_new(void) {
	hr_frame *f = hr_alloc(sizeof *f);
	if (f != NULL)
		memset(f, 0, sizeof *f);
	return f;
}

void hr_frame_free(hr_frame *f) {
	if (f == NULL)
		return;
	hr_planes_free(&f->planes);
	hr_buffer_free(&f->rows);
	hr_buffer_free(&f->sums);
	hr_release(f);
}

void hr_frame_trim(hr_frame *f) {
	hr_planes_trim(&f->planes);
	hr_buffer_trim(&f->rows);
	hr_buffer_trim(&f->sums);
}

// ── Means

typedef uint16_t __attribute__((aligned(1), may_alias)) two_bytes;
typedef uint32_t __attribute__((aligned(2), may_alias)) two_words;

// Adds n samples of a row, or n pairs of them.
INLINE void add_row(uint16_t *sums, const uint8_t *row, int n, int pairs) {
	if (!pairs) {
		for (int i = 0; i < n; i++)
			sums[i] += row[i];
		return;
	}
	const two_bytes *pair = (const two_bytes *)row;
	for (int i = 0; i < n; i++)
		sums[i] += (pair[i] & 255) + (pair[i] >> 8);
}

// The mean of each rectangle of a row of them, of which the last may reach beyond the plane: then
// its samples are those at the edge again. What lies in the middle between two levels goes up in one
// row and down in the next: colours would drift otherwise.
INLINE void means(const hr_frame_plane *p, const uint8_t *plane, int row, int first, int n, uint16_t *sums, uint8_t *to) {
	const int across = p->across, side = 1 << across, bits = across + p->down;
	const int half = bits > 0 ? (1 << (bits - 1)) - (row & 1) : 0;
	const int whole = p->width >> across, end = first + n < whole ? first + n : whole, inside = end - first;
	int count = across > 0 ? inside << (across - 1) : inside;

	memset(sums, 0, (size_t)count * sizeof *sums);
	for (int i = 0; i < 1 << p->down; i++) {
		int y = (row << p->down) + i;
		y = y < p->height ? y : p->height - 1;
		add_row(sums, plane + y * p->stride + ((ptrdiff_t)first << across), count, across > 0);
	}
	for (int more = across; more > 1; more--) {
		const two_words *pair = (const two_words *)sums;
		count /= 2;
		for (int i = 0; i < count; i++)
			sums[i] = (uint16_t)((pair[i] & 65535) + (pair[i] >> 16));
	}
	for (int i = 0; i < inside; i++)
		to[i] = (uint8_t)((sums[i] + half) >> bits);

	if (end < first + n) {
		int sum = half;
		for (int i = 0; i < 1 << p->down; i++)
			for (int k = 0; k < side; k++) {
				int y = (row << p->down) + i, x = (end << across) + k;
				y = y < p->height ? y : p->height - 1;
				x = x < p->width ? x : p->width - 1;
				sum += plane[y * p->stride + x];
			}
		to[inside] = (uint8_t)(sum >> bits);
	}
}

static void means_plain(const hr_frame_plane *p, const uint8_t *plane, int row, int first, int n, uint16_t *sums, uint8_t *to) {
	means(p, plane, row, first, n, sums, to);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void means_avx2(const hr_frame_plane *p, const uint8_t *plane, int row, int first, int n, uint16_t *sums, uint8_t *to) {
	means(p, plane, row, first, n, sums, to);
}

static int has_avx2(const hr_kernels *k) { return k == &hr_avx2 || k == &hr_avx512; }
#else
#define means_avx2 means_plain
static int has_avx2(const hr_kernels *k) { return (void)k, 0; }
#endif

// ── Planes

static int64_t rounded(int64_t n) { return (n + 63) / 64 * 64; }

static int resize(hr_frame *f, const hr_kernels *k, int i, const hr_frame_plane *p, const uint8_t *from, const hr_axis *x, const hr_axis *y) {
	const int64_t length = rounded(x->width + HR_PAD);
	const int reduced = p->across > 0 || p->down > 0;
	if (!hr_buffer_need(&f->rows, (size_t)length * HR_ROWS) || !hr_buffer_need(&f->sums, sizeof(uint16_t) * (size_t)(p->width + 64)))
		return 0;
	for (int row = y->lo, last = y->lo + y->width; row < last; row += HR_ROWS) {
		const uint8_t *rows[HR_ROWS];
		const int n = last - row < HR_ROWS ? last - row : HR_ROWS;
		for (int r = 0; r < n; r++) {
			uint8_t *own = f->rows.data + r * length;
			rows[r] = own;
			if (reduced) {
				(has_avx2(k) ? means_avx2 : means_plain)(p, from, row + r, x->lo, x->width, (uint16_t *)f->sums.data, own);
				continue;
			}
			const uint8_t *at = from + (row + r) * p->stride + x->lo;
			const int64_t behind = (p->height - 1 - row - r) * p->stride + p->behind;
			if (behind >= HR_PAD)
				rows[r] = at;
			else
				memcpy(own, at, x->width);
		}
		hr_planes_rows(&f->planes, i, rows, row, n, x->lo);
	}
	return 1;
}

int hr_frame_resize(hr_frame *f, const hr_kernels *k, int count, const hr_frame_plane *luma, const hr_frame_plane *chroma, const uint8_t *a, const uint8_t *b,
                    const uint8_t *c, const hr_axis axes[4], const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
                    const int32_t *y_weights, const hr_span *chroma_x_spans, const int32_t *chroma_x_weights, const hr_span *chroma_y_spans,
                    const int32_t *chroma_y_weights) {
	hr_axis x[2] = {axes[0], axes[2]}, y[2] = {axes[1], axes[3]};
	x[0].spans = x_spans, x[0].weights = x_weights;
	y[0].spans = y_spans, y[0].weights = y_weights;
	x[1].spans = chroma_x_spans, x[1].weights = chroma_x_weights;
	y[1].spans = chroma_y_spans, y[1].weights = chroma_y_weights;
	if (!hr_planes_begin(&f->planes, k, count, HR_YCC, x, y, (hr_target){0}))
		return 0;
	const uint8_t *const from[3] = {a, b, c};
	for (int i = 0; i < count; i++)
		if (!resize(f, k, i, i == 0 ? luma : chroma, from[i], &x[i > 0], &y[i > 0]))
			return 0;
	return 1;
}

const uint8_t *hr_frame_result(const hr_frame *f, int plane, int64_t *stride) {
	*stride = f->planes.plane[plane].width;
	return f->planes.plane[plane].result;
}
