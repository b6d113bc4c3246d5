#include "stream.h"

#include <string.h>

static int padded(int pixels, int pad) { return (pixels * 3 + pad + 63) / 64 * 64; }

int hr_stream_begin(hr_stream *s, const hr_kernels *k, hr_axis x, hr_axis y, int vertical_first, hr_target to) {
	if (hr_reach(&x) > HR_PAD)
		k = &hr_plain;
	s->pad = hr_reach(&x) > HR_PAD ? HR_PAD : hr_reach(&x);
	int repack = s->version != x.version || s->kernels != k || !s->packed.data;
	if (repack)
		s->version = 0;
	s->kernels = k;
	s->x = x;
	s->y = y;
	s->vertical_first = vertical_first;
	s->to = to;
	s->first = s->next = y.lo;
	s->last = y.lo + y.width;
	s->out = 0;
	s->ring = y.taps + HR_ROWS;
	s->narrow_width = padded(x.n, 64); // read and written by registers
	s->between_width = vertical_first ? padded(x.width, s->pad) : s->narrow_width;
	size_t between = (size_t)(vertical_first ? HR_ROWS : s->ring) * s->between_width;
	if (!hr_buffer_need(&s->between, between) || !hr_buffer_need(&s->kept, sizeof(uint8_t *) * (s->ring + y.taps)) ||
	    !hr_buffer_need(&s->narrow, (size_t)HR_ROWS * s->narrow_width))
		return 0;
	if (repack && !x.identity) {
		if (!hr_buffer_need(&s->packed, k->packed(&x)))
			return 0;
		k->pack(&x, s->packed.data);
		s->version = x.version;
	}
	return 1;
}

int hr_stream_held(const hr_stream *s) { return s->vertical_first ? s->ring : HR_ROWS; }

static const uint8_t **kept(hr_stream *s, int row) { return (const uint8_t **)s->kept.data + row % s->ring; }

// The rows of one span, below each other.
static const uint8_t *const *below(hr_stream *s, hr_span span) {
	const uint8_t **taps = (const uint8_t **)s->kept.data + s->ring;
	for (int i = 0; i < span.len; i++)
		taps[i] = *kept(s, span.start + i);
	return taps;
}

// Whether everything has come that the next row of the result needs.
static int is_ready(const hr_stream *s) {
	return s->out < s->y.n && s->y.spans[s->out].start + s->y.spans[s->out].len <= s->next;
}

// An axis that resizes nothing copies, forwards or backwards.
static void copy(const hr_axis *x, const uint8_t *src, uint8_t *dst) {
	const uint8_t *in = src + (ptrdiff_t)(x->spans[0].start - x->lo) * 3;
	if (x->n == 1 || x->spans[0].start < x->spans[1].start) {
		memcpy(dst, in, (size_t)x->n * 3);
		return;
	}
	for (int i = 0; i < x->n; i++, in -= 3, dst += 3) {
		dst[0] = in[0];
		dst[1] = in[1];
		dst[2] = in[2];
	}
}

// Brings a row of the result to its place.
static void deliver(const hr_stream *s, const uint8_t *rgb, int row) {
	uint8_t *to = hr_target_row(&s->to, row);
	if (s->to.out)
		hr_output_row(s->to.out, rgb, s->x.n, to, s->to.plane);
	else
		memcpy(to, rgb, (size_t)s->x.n * 3);
}

static void across_then_down(hr_stream *s, const uint8_t *const *rows, int n) {
	uint8_t *to[HR_ROWS];
	for (int i = 0; i < n; i++) {
		to[i] = s->between.data + (size_t)((s->next + i) % s->ring) * s->between_width;
		*kept(s, s->next + i) = to[i];
		if (s->x.identity)
			copy(&s->x, rows[i], to[i]);
	}
	if (!s->x.identity)
		s->kernels->rows(&s->x, s->packed.data, rows, to, n);
	for (s->next += n; is_ready(s); s->out++) {
		const hr_span span = s->y.spans[s->out];
		if (s->y.identity) {
			deliver(s, *kept(s, span.start), s->out);
		} else if (s->to.out) {
			s->kernels->column(s->narrow.data, s->x.n * 3, below(s, span), s->y.weights + span.at, span.len);
			deliver(s, s->narrow.data, s->out);
		} else {
			s->kernels->column(hr_target_row(&s->to, s->out), s->x.n * 3, below(s, span), s->y.weights + span.at, span.len);
		}
	}
}

static void down_then_across(hr_stream *s, const uint8_t *const *rows, int n) {
	for (int i = 0; i < n; i++)
		*kept(s, s->next + i) = rows[i];
	for (s->next += n; is_ready(s);) {
		const uint8_t *from[HR_ROWS];
		uint8_t *to[HR_ROWS];
		int done = 0;
		for (; done < HR_ROWS && is_ready(s); done++, s->out++) {
			const hr_span span = s->y.spans[s->out];
			uint8_t *between = s->between.data + (size_t)done * s->between_width;
			s->kernels->column(between, s->x.width * 3, below(s, span), s->y.weights + span.at, span.len);
			from[done] = between;
			to[done] = s->narrow.data + (size_t)done * s->narrow_width;
		}
		s->kernels->rows(&s->x, s->packed.data, from, to, done);
		for (int i = 0; i < done; i++)
			deliver(s, to[i], s->out - done + i);
	}
}

void hr_stream_rows(hr_stream *s, const uint8_t *const *rows, int n) {
	if (s->vertical_first)
		down_then_across(s, rows, n);
	else
		across_then_down(s, rows, n);
}

void hr_stream_trim(hr_stream *s) {
	hr_buffer_trim(&s->packed);
	hr_buffer_trim(&s->kept);
	hr_buffer_trim(&s->between);
	hr_buffer_trim(&s->narrow);
}

void hr_stream_free(hr_stream *s) {
	hr_buffer_free(&s->packed);
	hr_buffer_free(&s->kept);
	hr_buffer_free(&s->between);
	hr_buffer_free(&s->narrow);
}
