#include "rows.h"

// Pixels beside a part whose samples its interpolation looks at.
enum { margin = 2 };

int hj_rows_begin(hj_picture *p, const hj_header *h, const hj_kernels *k, const uint8_t *src, size_t n, hj_part part) {
	p->left = part.left;
	p->cols = part.cols;
	p->next = part.top;
	if (!hj_picture_begin(p, h, k, src, n, part, margin, 2, 8))
		return 0;
	const size_t size = (size_t)part.cols + 8 + 2 * HJ_PAD;
	if (p->wide_size < HJ_COMPONENTS * size) {
		p->memory.release(p->wide);
		p->wide = p->memory.take(HJ_COMPONENTS * size);
		p->wide_size = p->wide ? HJ_COMPONENTS * size : 0;
	}
	return p->wide != NULL;
}

static int clamp(int v, int most) { return v < 0 ? 0 : v > most ? most : v; }

// The samples of a component for a row of pixels, from p->left on.
static const uint8_t *samples(const hj_picture *p, int component, int y) {
	const hj_plane *const c = &p->plane[component];
	uint8_t *const to = p->wide + (p->wide_size / HJ_COMPONENTS) * component;
	const int row = y / c->taller, from = p->left / c->wider, to_sample = (p->left + p->cols - 1) / c->wider + 1;
	const int beside = clamp(y & 1 ? row + 1 : row - 1, c->height - 1), n = to_sample - from;
	const uint8_t *const in = hj_plane_row(c, row) + from - c->first;
	const uint8_t *const farther = hj_plane_row(c, beside) + from - c->first;
	switch (c->way) {
	case HJ_AS_IS:
		return in;
	case HJ_ACROSS:
		p->kernels->across(in, to, n);
		return to + (p->left & 1);
	case HJ_BOTH:
		p->kernels->both(in, farther, to, n);
		return to + (p->left & 1);
	case HJ_DOWN:
		p->kernels->down(in, farther, to, n, y & 1);
		return to;
	}
	for (int x = 0; x < p->cols; x++)
		to[x] = in[(p->left + x) / c->wider - from];
	return to;
}

static void pixels(const hj_picture *p, int y, uint8_t *rgb) {
	const uint8_t *const a = samples(p, 0, y);
	if (p->components == 3) {
		p->kernels->ycc(a, samples(p, 1, y), samples(p, 2, y), rgb, p->cols);
		return;
	}
	for (int i = 0; i < p->cols; i++, rgb += 3)
		rgb[0] = rgb[1] = rgb[2] = a[i];
}

// The rows of pixels that can be made of the rows of MCUs there are. Where planes are
// interpolated downwards, the last rows wait for what is below, as they do in libjpeg.
static int ready(const hj_picture *p) {
	const int rows = p->row * p->down * 8;
	if (rows >= p->height)
		return p->height;
	return p->context ? rows - p->down : rows;
}

int hj_rows_next(hj_picture *p, uint8_t *const *rows, int n) {
	for (int i = 0; i < n; i++, p->next++) {
		while (ready(p) <= p->next)
			if (!hj_picture_next(p))
				return 0;
		pixels(p, p->next, rows[i]);
	}
	return 1;
}
