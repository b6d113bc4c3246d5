#include "planes.h"

#include <string.h>

static int padded(int bytes) { return (bytes + 64 + 63) / 64 * 64; }

static int pack(hr_planes *s, const hr_axis *x, int i) {
	if (s->version[i] == x->version && s->packed_for == s->kernels)
		return 1;
	s->version[i] = 0;
	if (!hr_buffer_need(&s->packed[i], s->kernels->packed1(x) + 1))
		return 0;
	s->kernels->pack1(x, s->packed[i].data);
	s->version[i] = x->version;
	return 1;
}

int hr_planes_begin(hr_planes *s, const hr_kernels *k, int count, int kind, const hr_axis x[2], const hr_axis y[2], hr_target to) {
	if (hr_reach(&x[0]) > HR_PAD || hr_reach(&x[1]) > HR_PAD)
		k = &hr_plain;
	if (s->packed_for != k)
		s->version[0] = s->version[1] = 0;
	s->kernels = s->packed_for = k;
	s->count = count;
	s->kind = kind;
	s->to = to;
	s->out = 0;
	const size_t width = padded(x[0].n), size = width * y[0].n;
	const int taps = y[0].taps > y[1].taps ? y[0].taps : y[1].taps, ring = taps + HR_ROWS;
	if (!hr_buffer_need(&s->between, count * ring * width) || !hr_buffer_need(&s->result, count * size + 64) ||
	    !hr_buffer_need(&s->taps, taps * sizeof(uint8_t *)) || !hr_buffer_need(&s->line, (size_t)x[0].n * 3))
		return 0;
	for (int i = 0; i < count; i++) {
		int kept = i > 0;
		if (!pack(s, &x[kept], kept))
			return 0;
		s->plane[i] = (hr_plane){
			.x = x[kept],
			.y = y[kept],
			.packed = s->packed[kept].data,
			.between = s->between.data + i * ring * width,
			.ring = ring,
			.width = (int)width,
			.next = y[kept].lo,
			.result = s->result.data + i * size,
		};
	}
	return 1;
}

int hr_planes_wants(const hr_planes *s) {
	for (int i = 0; i < s->count; i++)
		if (s->plane[i].next < s->plane[i].y.lo + s->plane[i].y.width)
			return 1;
	return 0;
}

static uint8_t *between(const hr_plane *p, int row) { return p->between + (size_t)(row % p->ring) * p->width; }

static void down(hr_planes *s, hr_plane *p) {
	const uint8_t **taps = (const uint8_t **)s->taps.data;
	for (; p->out < p->y.n; p->out++) {
		const hr_span span = p->y.spans[p->out];
		if (span.start + span.len > p->next)
			return;
		for (int k = 0; k < span.len; k++)
			taps[k] = between(p, span.start + k);
		s->kernels->column(p->result + (size_t)p->out * p->width, p->x.n, taps, p->y.weights + span.at, span.len);
	}
}

void hr_planes_rows(hr_planes *s, int i, const uint8_t *const *rows, int row, int n, int from) {
	hr_plane *p = &s->plane[i];
	const int last = p->y.lo + p->y.width, end = row + n < last ? row + n : last;
	while (p->next < end) {
		const uint8_t *in[HR_ROWS];
		uint8_t *out[HR_ROWS];
		int have = 0;
		for (; have < HR_ROWS && p->next + have < end; have++) {
			in[have] = rows[p->next + have - row] + (p->x.lo - from);
			out[have] = between(p, p->next + have);
		}
		s->kernels->rows1(&p->x, p->packed, in, out, have);
		p->next += have;
		down(s, p);
	}
}

static void rgb(const hr_planes *s, int row, uint8_t *to) {
	const uint8_t *a = s->plane[0].result + (size_t)row * s->plane[0].width;
	if (s->kind == HR_GRAY) {
		for (int i = 0; i < s->plane[0].x.n; i++)
			to[3 * i] = to[3 * i + 1] = to[3 * i + 2] = a[i];
		return;
	}
	const uint8_t *b = s->plane[1].result + (size_t)row * s->plane[1].width;
	const uint8_t *c = s->plane[2].result + (size_t)row * s->plane[2].width;
	if (s->kind == HR_YCC) {
		s->kernels->ycc(a, b, c, to, s->plane[0].x.n);
		return;
	}
	for (int i = 0; i < s->plane[0].x.n; i++) {
		to[3 * i] = a[i];
		to[3 * i + 1] = b[i];
		to[3 * i + 2] = c[i];
	}
}

void hr_planes_flush(hr_planes *s) {
	int ready = s->plane[0].out;
	for (int i = 1; i < s->count; i++)
		if (s->plane[i].out < ready)
			ready = s->plane[i].out;
	for (; s->out < ready; s->out++) {
		uint8_t *to = hr_target_row(&s->to, s->out);
		if (!s->to.out) {
			rgb(s, s->out, to);
			continue;
		}
		rgb(s, s->out, s->line.data);
		hr_output_row(s->to.out, s->line.data, s->plane[0].x.n, to, s->to.plane);
	}
}

void hr_convert(const hr_kernels *k, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb, int pixels) {
	k->ycc(y, cb, cr, rgb, pixels);
}

void hr_planes_trim(hr_planes *s) {
	if (s->packed[0].size > HR_KEEP || s->packed[1].size > HR_KEEP)
		s->version[0] = s->version[1] = 0;
	hr_buffer_trim(&s->packed[0]);
	hr_buffer_trim(&s->packed[1]);
	hr_buffer_trim(&s->between);
	hr_buffer_trim(&s->result);
	hr_buffer_trim(&s->taps);
	hr_buffer_trim(&s->line);
}

void hr_planes_free(hr_planes *s) {
	hr_buffer_free(&s->packed[0]);
	hr_buffer_free(&s->packed[1]);
	hr_buffer_free(&s->between);
	hr_buffer_free(&s->result);
	hr_buffer_free(&s->taps);
	hr_buffer_free(&s->line);
}
