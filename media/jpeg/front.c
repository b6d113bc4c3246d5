// The functions that media/turbo calls in place of libjpeg's.
#include "../turbo/front.h"

#include <string.h>
#include "front.h"
#include "rows.h"

static void *create(void *(*take)(size_t), void (*release)(void *)) { return hj_picture_new((hj_memory){take, release}); }

static void destroy(void *front) { hj_picture_free(front); }

const hj_kernels *hj_kernels_named(const char *name) {
#if defined(__x86_64__)
	if (!strncmp(name, "avx", 3)) // what is for AVX-512 as well
		return &hj_avx2;
	if (!strcmp(name, "sse4.1"))
		return &hj_sse41;
#elif defined(__aarch64__)
	if (!strcmp(name, "neon"))
		return &hj_neon;
#else
	(void)name;
#endif
	return &hj_plain;
}

static void end(void *front) { hj_picture_end(front, 0); }

// Passes a result on. Where libjpeg begins anew, it needs the memory.
static int sound(void *front, int is_sound) {
	if (!is_sound)
		hj_picture_end(front, 1);
	return is_sound;
}

static int begin(void *front, const void *header, const char *name, const uint8_t *src, size_t n, int left, int top, int cols, int rows) {
	return sound(front, hj_rows_begin(front, header, hj_kernels_named(name), src, n, (hj_part){left, top, cols, rows}));
}

static int rows(void *front, uint8_t *const *to, int n) { return sound(front, hj_rows_next(front, to, n)); }

static int divide_up(int a, int b) { return (a + b - 1) / b; }

static int shape(const void *header, int eighths, hr_shape *s) {
	const hj_header *const h = header;
	int across, down;
	hj_largest(h, &across, &down);
	if (h->across[0] != across || h->down[0] != down || (h->components == 3 && (h->across[1] != h->across[2] || h->down[1] != h->down[2])))
		return 0;
	memset(s, 0, sizeof(*s));
	s->planes = h->components;
	s->kind = h->components == 1 ? HR_GRAY : HR_YCC;
	s->pixels_across = across * 8;
	s->pixels_down = down * 8;
	for (int i = 0; i < h->components && i < 2; i++) {
		const int size = hj_block_size(h, i, eighths);
		s->across[i] = h->across[i] * size;
		s->down[i] = h->down[i] * size;
		s->width[i] = divide_up(h->width * s->across[i], s->pixels_across);
		s->height[i] = divide_up(h->height * s->down[i], s->pixels_down);
	}
	return 1;
}

static int begin_planes(void *front, const void *header, const char *name, const uint8_t *src, size_t n, int eighths, const hr_region *needed) {
	const hj_header *const h = header;
	int across = h->across[0], down = h->down[0]; // the largest
	int left = h->width, top = h->height, right = 0, bottom = 0;
	for (int i = 0; i < h->components && i < 2; i++) {
		const int size = hj_block_size(h, i, eighths);
		const int wider = across * 8 / (h->across[i] * size), taller = down * 8 / (h->down[i] * size);
		const int x = needed->x[i] * wider, y = needed->y[i] * taller;
		const int x2 = (needed->x[i] + needed->width[i]) * wider, y2 = (needed->y[i] + needed->height[i]) * taller;
		left = x < left ? x : left;
		top = y < top ? y : top;
		right = x2 > right ? x2 : right;
		bottom = y2 > bottom ? y2 : bottom;
	}
	const hj_part part = {left, top, right - left, bottom - top};
	return sound(front, hj_picture_begin(front, h, hj_kernels_named(name), src, n, part, 0, 1, eighths));
}

static int band(void *front, hr_band *b) {
	hj_picture *const p = front;
	while (p->row < p->top)
		if (!hj_picture_next(p))
			return sound(p, 0);
	if (p->row == p->mcus_down || !hj_picture_next(p))
		return sound(p, 0);
	for (int i = 0; i < p->components; i++) {
		const hj_plane *const c = &p->plane[i];
		b->n[i] = c->down * c->size;
		b->row[i] = (p->row - 1) * b->n[i];
		b->from[i] = c->first;
		for (int y = 0; y < b->n[i]; y++)
			b->rows[i][y] = hj_plane_row(c, b->row[i] + y);
	}
	return 1;
}

const void *hj_front(void) {
	static const hr_front functions = {create, destroy, begin, rows, shape, begin_planes, band, end};
	return &functions;
}
