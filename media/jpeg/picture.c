#include "picture.h"

#include <string.h>

// Bytes of coefficients that are kept for the next picture.
enum { coefficients_kept = 16 << 20 };
enum { block_memory = HJ_GROUP * HJ_MCU_BLOCKS * HJ_BLOCK * sizeof(int16_t) };

hj_picture *hj_picture_new(hj_memory m) {
	hj_picture *const p = m.take(sizeof(*p));
	if (!p)
		return NULL;
	memset(p, 0, sizeof(*p));
	p->memory = m;
	p->scan.data = m.take(HJ_PIECE + HJ_SLACK);
	p->tables.tables = m.take(HJ_KINDS * HJ_KEPT * sizeof(hj_table));
	p->blocks = m.take(block_memory);
	if (p->scan.data && p->tables.tables && p->blocks) {
		memset(p->tables.tables, 0, HJ_KINDS * HJ_KEPT * sizeof(hj_table));
		return p;
	}
	hj_picture_free(p);
	return NULL;
}

void hj_picture_free(hj_picture *p) {
	if (!p)
		return;
	p->memory.release(p->scan.data);
	p->memory.release(p->tables.tables);
	p->memory.release(p->blocks);
	p->memory.release(p->coefficients);
	p->memory.release(p->planes);
	p->memory.release(p->wide);
	p->memory.release(p);
}

static int need(hj_picture *p, uint8_t **at, size_t *have, size_t size) {
	if (size <= *have)
		return 1;
	p->memory.release(*at);
	*at = p->memory.take(size);
	*have = *at ? size : 0;
	return *at != NULL;
}

static int divide_up(int a, int b) { return (a + b - 1) / b; }
static int min(int a, int b) { return a < b ? a : b; }
static int max(int a, int b) { return a > b ? a : b; }

// The rules by which libjpeg chooses.
static int way(const hj_plane *c) {
	if (c->wider == 1 && c->taller == 1)
		return HJ_AS_IS;
	if (c->wider == 1 && c->taller == 2)
		return HJ_DOWN;
	if (c->wider == 2 && c->taller == 1 && c->width > 2)
		return HJ_ACROSS;
	if (c->wider == 2 && c->taller == 2 && c->width > 2)
		return HJ_BOTH;
	return HJ_REPEAT;
}

void hj_largest(const hj_header *h, int *across, int *down) {
	*across = *down = 1;
	for (int c = 0; c < h->components; c++) {
		*across = max(*across, h->across[c]);
		*down = max(*down, h->down[c]);
	}
}

int hj_block_size(const hj_header *h, int component, int eighths) {
	int across, down, size = eighths;
	hj_largest(h, &across, &down);
	while (size < 8 && across * eighths % (h->across[component] * size * 2) == 0 && down * eighths % (h->down[component] * size * 2) == 0)
		size *= 2;
	return size;
}

static void quantise(hj_quant *q, const int16_t *steps) {
	memcpy(q->step, steps, sizeof(q->step));
	for (int i = 0; i < 64; i++)
		q->limit[i] = HJ_NORM / steps[i];
}

// Says where the coefficients of each block of an MCU go.
static int place_blocks(hj_picture *p, const hj_header *h) {
	hj_scan *const s = &p->scan;
	int at = 0;
	s->blocks = 0;
	for (int c = 0; c < p->components; c++) {
		hj_plane *const plane = &p->plane[c];
		const hj_table *const dc = hj_tables_get(&p->tables, &h->dc_code[h->dc[c]], 1);
		const hj_table *const ac = hj_tables_get(&p->tables, &h->ac_code[h->ac[c]], 0);
		if (!dc->is_sound || !ac->is_sound || s->blocks + plane->across * plane->down > HJ_MCU_BLOCKS)
			return 0;
		plane->blocks = p->blocks + at * HJ_BLOCK;
		plane->last = p->last + at;
		for (int i = 0; i < plane->across * plane->down; i++, s->blocks++) {
			const int place = at + i / plane->across * HJ_GROUP * plane->across + i % plane->across;
			s->block[s->blocks].component = c;
			s->block[s->blocks].dc = dc;
			s->block[s->blocks].ac = ac;
			s->block[s->blocks].to = p->blocks + place * HJ_BLOCK;
			s->block[s->blocks].step = plane->across * HJ_BLOCK;
			s->block[s->blocks].last = p->last + place;
			s->block[s->blocks].last_step = plane->across;
			s->block[s->blocks].only_first = plane->size == 1;
		}
		at += HJ_GROUP * plane->across * plane->down;
	}
	return 1;
}

// Memory for the planes between the first and the last MCU that are transformed.
static int place_planes(hj_picture *p, int rows_of_mcus) {
	size_t size = HJ_PAD, at[HJ_COMPONENTS];
	for (int c = 0; c < p->components; c++) {
		hj_plane *const plane = &p->plane[c];
		const int mcus = p->to - p->from + HJ_GROUP - 1;
		plane->stride = mcus * plane->across * plane->size + 2 * HJ_PAD;
		plane->ring = rows_of_mcus * plane->down * plane->size;
		plane->first = p->from * plane->across * plane->size;
		at[c] = size;
		size += (size_t)plane->stride * plane->ring;
	}
	if (!need(p, &p->planes, &p->planes_size, size + 1024))
		return 0;
	for (int c = 0; c < p->components; c++)
		p->plane[c].at = p->planes + at[c];
	return 1;
}

// Where the blocks of a group of MCUs lie while they are transformed.
static void place_groups(hj_picture *p) {
	for (int c = 0, at = 0; c < p->components; c++) {
		hj_plane *const plane = &p->plane[c];
		plane->blocks = p->blocks + at * HJ_BLOCK;
		plane->last = p->last + at;
		at += HJ_GROUP * plane->across * plane->down;
	}
}

// Decodes all that a progressive picture has.
static int read_passes(hj_picture *p, const hj_header *h, const uint8_t *src, size_t n) {
	for (int c = 0; c < p->components; c++) {
		const hj_plane *const plane = &p->plane[c];
		p->held[c].across = p->mcus_across * plane->across;
		p->held[c].down = p->mcus_down * plane->down;
		p->held[c].cols = divide_up(plane->width, 8);
		p->held[c].rows = divide_up(plane->height, 8);
	}
	if (!need(p, &p->coefficients, &p->coefficients_size, hj_coefficients_size(p->held, p->components)))
		return 0;
	hj_coefficients_place(p->held, p->components, p->coefficients);
	place_groups(p);
	return hj_passes(p->kernels, &p->scan, &p->tables, h, p->held, p->mcus_across, p->mcus_down, src, n);
}

// Takes the blocks of n MCUs from where they are held.
static void fetch(hj_picture *p, int mcu, int n) {
	for (int c = 0; c < p->components; c++) {
		const hj_plane *const plane = &p->plane[c];
		for (int y = 0; y < plane->down; y++) {
			const size_t from = (size_t)(p->row * plane->down + y) * p->held[c].across + (size_t)mcu * plane->across;
			const int to = y * HJ_GROUP * plane->across;
			for (int x = 0; x < n * plane->across; x++) {
				memcpy(plane->blocks + (to + x) * HJ_BLOCK, p->held[c].to + (from + x) * 64, 64 * sizeof(int16_t));
				plane->last[to + x] = 63 - __builtin_clzll(p->held[c].set[from + x] | 1);
			}
		}
	}
}

int hj_picture_begin(hj_picture *p, const hj_header *h, const hj_kernels *k, const uint8_t *src, size_t n, hj_part part, int margin,
                     int rows_of_mcus, int eighths) {
	p->kernels = k;
	p->width = h->width;
	p->height = h->height;
	p->components = h->components;
	hj_largest(h, &p->across, &p->down);

	const int wide = p->across * 8, tall = p->down * 8;
	p->mcus_across = divide_up(p->width, wide);
	p->mcus_down = divide_up(p->height, tall);
	p->from = max(part.left - margin, 0) / wide;
	p->to = divide_up(min(part.left + part.cols + margin, p->width), wide);
	p->top = max(part.top - margin, 0) / tall;
	p->row = 0;

	p->context = 0;
	for (int c = 0; c < p->components; c++) {
		hj_plane *const plane = &p->plane[c];
		plane->across = h->across[c];
		plane->down = h->down[c];
		plane->wider = p->across / plane->across;
		plane->taller = p->down / plane->down;
		plane->width = divide_up(p->width, plane->wider);
		plane->height = divide_up(p->height, plane->taller);
		plane->size = hj_block_size(h, c, eighths);
		plane->transform = plane->size == 8 ? k->transform : k->reduced[2 - __builtin_ctz(plane->size)];
		plane->way = eighths == 8 ? way(plane) : HJ_AS_IS; // what is reduced is not interpolated
		p->context |= plane->way == HJ_BOTH || plane->way == HJ_DOWN;
		quantise(&plane->quant, h->quant[h->quantised[c]]);
	}

	memset(p->blocks, 0, block_memory);
	memset(p->last, 0, sizeof(p->last));
	p->is_progressive = h->passes > 0;
	if (p->is_progressive)
		return place_planes(p, rows_of_mcus) && read_passes(p, h, src, n);
	hj_scan_begin(&p->scan, src + h->scan, src + n, h->restart);
	return place_blocks(p, h) && place_planes(p, rows_of_mcus);
}

void hj_picture_end(hj_picture *p, int is_doubtful) {
	if (p->coefficients_size <= coefficients_kept && !is_doubtful)
		return;
	p->memory.release(p->coefficients);
	p->coefficients = NULL;
	p->coefficients_size = 0;
}

// Transforms the blocks of a group of MCUs, of which mcu is the first.
static int transform(hj_picture *p, int mcu) {
	int is_sound = 1;
	for (int c = 0; c < p->components; c++) {
		hj_plane *const plane = &p->plane[c];
		const int pairs = plane->across * plane->down;
		const int x = (mcu - p->from) * plane->across * plane->size;
		for (int i = 0; i < pairs; i++) {
			const int y = i / plane->across, pair = i % plane->across;
			uint8_t *const last = plane->last + 2 * i;
			uint8_t *const to = hj_plane_row(plane, (p->row * plane->down + y) * plane->size) + x + pair * 2 * plane->size;
			is_sound &= plane->transform(plane->blocks + 2 * i * HJ_BLOCK, &plane->quant, max(last[0], last[1]), to, plane->stride);
			last[0] = last[1] = 0;
		}
	}
	return is_sound;
}

// Lets the outermost samples of rows that have just come be their own neighbours.
static void extend(const hj_picture *p, const hj_plane *plane) {
	const int right = plane->width - plane->first;
	const int rows = plane->down * 8;
	for (int i = 0; i < rows; i++) {
		uint8_t *const row = hj_plane_row(plane, p->row * rows + i);
		row[-1] = row[0]; // where it is not the edge, this is not looked at
		if (p->to == p->mcus_across)
			row[right] = row[right - 1];
	}
}

// Passes over MCUs, or takes those that follow.
static int skip(hj_picture *p, int n) { return p->is_progressive || p->kernels->skip(&p->scan, n); }

static int take(hj_picture *p, int mcu, int n) {
	if (!p->is_progressive)
		return p->kernels->keep(&p->scan, n);
	fetch(p, mcu, n);
	return 1;
}

int hj_picture_next(hj_picture *p) {
	if (p->row < p->top) {
		p->row++;
		return skip(p, p->mcus_across);
	}

	if (!skip(p, p->from))
		return 0;
	for (int mcu = p->from; mcu < p->to; mcu += HJ_GROUP)
		if (!take(p, mcu, min(HJ_GROUP, p->to - mcu)) || !transform(p, mcu))
			return 0;
	if (!skip(p, p->mcus_across - p->to))
		return 0;

	for (int c = 0; c < p->components; c++)
		if (p->plane[c].way == HJ_ACROSS || p->plane[c].way == HJ_BOTH)
			extend(p, &p->plane[c]);
	p->row++;
	return 1;
}
