#include "stream.h"

#include <string.h>

int hr_stream_begin(hr_stream *s, const hr_kernels *k, hr_axis x, hr_axis y, uint8_t *dst, ptrdiff_t stride) {
	int repack = s->version != x.version || s->kernels != k || !s->packed.data;
	if (repack)
		s->version = 0;
	s->kernels = k;
	s->x = x;
	s->y = y;
	s->dst = dst;
	s->stride = stride;
	s->first = s->next = y.lo;
	s->last = y.n ? y.spans[y.n - 1].start + y.spans[y.n - 1].len : y.lo;
	s->out = 0;
	s->ring = y.taps + HR_ROWS;
	s->width = (x.n * 3 + HR_PAD + 63) / 64 * 64;
	if (!hr_buffer_need(&s->between, (size_t)s->ring * s->width) ||
	    !hr_buffer_need(&s->taps, sizeof(uint8_t *) * (y.taps + 1)))
		return 0;
	if (x.identity)
		return 1;
	if (repack) {
		if (!hr_buffer_need(&s->packed, k->packed(&x) + 64))
			return 0;
		k->pack(&x, s->packed.data);
		s->version = x.version;
	}
	return 1;
}

static uint8_t *between(hr_stream *s, int row) { return s->between.data + (size_t)(row % s->ring) * s->width; }

// An axis that resizes nothing copies, forwards or backwards.
static void copy(const hr_axis *x, const uint8_t *src, uint8_t *dst) {
	if (x->n == 1 || x->spans[0].start < x->spans[1].start) {
		memcpy(dst, src + (ptrdiff_t)(x->spans[0].start - x->lo) * 3, (size_t)x->n * 3);
		return;
	}
	const uint8_t *in = src + (ptrdiff_t)(x->spans[0].start - x->lo) * 3;
	for (int i = 0; i < x->n; i++, in -= 3, dst += 3) {
		dst[0] = in[0];
		dst[1] = in[1];
		dst[2] = in[2];
	}
}

// Writes the rows of the result for which everything has come.
static void columns(hr_stream *s) {
	const uint8_t **taps = (const uint8_t **)s->taps.data;
	for (; s->out < s->y.n; s->out++) {
		const hr_span span = s->y.spans[s->out];
		if (span.start + span.len > s->next)
			return;
		uint8_t *dst = s->dst + s->out * s->stride;
		if (s->y.identity) {
			memcpy(dst, between(s, span.start), (size_t)s->x.n * 3);
			continue;
		}
		for (int k = 0; k < span.len; k++)
			taps[k] = between(s, span.start + k);
		s->kernels->column(dst, s->x.n * 3, taps, s->y.weights + span.at, span.len);
	}
}

void hr_stream_rows(hr_stream *s, const uint8_t *const *rows, int n) {
	if (!s->x.n)
		return;
	uint8_t *to[HR_ROWS];
	for (int i = 0; i < n; i++) {
		to[i] = between(s, s->next + i);
		if (s->x.identity)
			copy(&s->x, rows[i], to[i]);
	}
	if (!s->x.identity)
		s->kernels->rows(&s->x, s->packed.data, rows, to, n);
	s->next += n;
	columns(s);
}

void hr_stream_trim(hr_stream *s) {
	hr_buffer_trim(&s->packed);
	hr_buffer_trim(&s->between);
	hr_buffer_trim(&s->taps);
}

void hr_stream_free(hr_stream *s) {
	hr_buffer_free(&s->packed);
	hr_buffer_free(&s->between);
	hr_buffer_free(&s->taps);
}
