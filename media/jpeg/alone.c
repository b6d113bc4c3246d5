#include "front.h"

#include <stdlib.h>
#include "alone.h"
#include "rows.h"

static void *take(size_t n) { return aligned_alloc(64, (n + 63) / 64 * 64); }

static _Thread_local hj_picture *kept; // as a decoder would

int hj_alone(const hj_header *h, const char *kernels, const uint8_t *src, size_t n, uint8_t *rgb) {
	if (!kept)
		kept = hj_picture_new((hj_memory){take, free});
	const hj_kernels *const k = hj_kernels_named(kernels);
	if (!kept || !hj_rows_begin(kept, h, k, src, n, (hj_part){0, 0, h->width, h->height}))
		return 0;
	if (!rgb && h->passes)
		return 1; // it has been decoded
	if (!rgb) {
		for (int y = 0; y < kept->mcus_down; y++)
			if (!k->skip(&kept->scan, kept->mcus_across))
				return 0;
		return 1;
	}
	for (int y = 0; y < h->height; y++, rgb += 3 * (size_t)h->width)
		if (!hj_rows_next(kept, &rgb, 1))
			return 0;
	return 1;
}

int hj_alone_planes(const hj_header *h, const char *kernels, int eighths, const uint8_t *src, size_t n, uint8_t *to) {
	if (!kept)
		kept = hj_picture_new((hj_memory){take, free});
	if (!kept || !hj_picture_begin(kept, h, hj_kernels_named(kernels), src, n, (hj_part){0, 0, h->width, h->height}, 0, 1, eighths))
		return -1;
	uint8_t *const begin = to;
	for (int row = 0; row < kept->mcus_down; row++) {
		if (!hj_picture_next(kept))
			return -1;
		for (int i = 0; i < kept->components; i++) {
			const hj_plane *const c = &kept->plane[i];
			const int cols = kept->mcus_across * c->across * c->size;
			for (int y = 0; y < c->down * c->size; y++, to += cols)
				for (int x = 0; x < cols; x++)
					to[x] = hj_plane_row(c, row * c->down * c->size + y)[x];
		}
	}
	return to - begin;
}
