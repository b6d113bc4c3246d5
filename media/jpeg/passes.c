#include "passes.h"

#include <string.h>
#include "kernels.h"

enum { block_bytes = 64 * sizeof(int16_t) };

static size_t blocks(const hj_coefficients *c) { return (size_t)c->across * c->down; }

size_t hj_coefficients_size(const hj_coefficients *c, int components) {
	size_t n = 0;
	for (int i = 0; i < components; i++)
		n += blocks(&c[i]) * (block_bytes + sizeof(uint64_t));
	return n;
}

void hj_coefficients_place(hj_coefficients *c, int components, uint8_t *at) {
	for (int i = 0; i < components; i++) {
		c[i].to = (int16_t *)at;
		at += blocks(&c[i]) * block_bytes;
	}
	for (int i = 0; i < components; i++) {
		c[i].set = (uint64_t *)at;
		memset(at, 0, blocks(&c[i]) * sizeof(uint64_t));
		at += blocks(&c[i]) * sizeof(uint64_t);
	}
}

// Says which blocks an MCU has in a scan of one component, or of all.
static int place_blocks(hj_scan *s, hj_tables *tables, const hj_header *h, const hj_pass *p, const hj_coefficients *c) {
	s->blocks = 0;
	for (int i = 0; i < p->components; i++) {
		const int component = p->component[i];
		const int is_single = p->components == 1;
		const int across = is_single ? 1 : h->across[component], down = is_single ? 1 : h->down[component];
		const hj_table *dc = NULL;
		if (p->high == 0) {
			dc = hj_tables_get(tables, &p->code[i], HJ_DC);
			if (!dc->is_sound)
				return 0;
		}
		for (int b = 0; b < across * down; b++, s->blocks++) {
			s->block[s->blocks].component = component;
			s->block[s->blocks].dc = dc;
			s->block[s->blocks].to = c[component].to + ((ptrdiff_t)(b / across) * c[component].across + b % across) * 64;
			s->block[s->blocks].step = across * 64;
		}
	}
	return 1;
}

// Sets the coefficients of a row of MCUs to zero, just before they are written to.
static void clear(const hj_header *h, const hj_pass *p, const hj_coefficients *c, int row) {
	for (int i = 0; i < p->components; i++) {
		const hj_coefficients *const to = &c[p->component[i]];
		const size_t across = to->across, down = p->components == 1 ? 1 : h->down[p->component[i]];
		memset(to->to + row * down * across * 64, 0, down * across * block_bytes);
	}
}

static int dc_pass(const hj_kernels *k, hj_scan *s, hj_tables *tables, const hj_header *h, const hj_pass *p, const hj_coefficients *c, int cols, int rows) {
	if (!place_blocks(s, tables, h, p, c))
		return 0;
	const hj_coefficients *const single = &c[p->component[0]];
	if (p->components == 1)
		cols = single->cols, rows = single->rows;
	for (int y = 0; y < rows; y++) {
		if (p->high == 0)
			clear(h, p, c, y);
		if (!(p->high ? k->dc_bit : k->dc)(s, cols, p->low))
			return 0;
		for (int i = 0; i < s->blocks; i++) {
			const int component = s->block[i].component;
			s->block[i].to += (ptrdiff_t)c[component].across * 64 * (p->components == 1 ? 1 : h->down[component]);
		}
	}
	if (p->high == 0 && p->components == 1) // what no scan of its own has
		for (int y = rows; y < single->down; y++)
			clear(h, p, c, y);
	return 1;
}

static int ac_pass(const hj_kernels *k, hj_scan *s, hj_tables *tables, const hj_pass *p, const hj_coefficients *c) {
	hj_band band = {hj_tables_get(tables, &p->code[0], HJ_PROGRESSIVE), p->from, p->to, p->low, 0};
	if (!band.table->is_sound)
		return 0;
	const hj_coefficients *const to = &c[p->component[0]];
	for (int y = 0; y < to->rows; y++) {
		const size_t at = (size_t)y * to->across;
		if (!(p->high ? k->ac_bit : k->ac)(s, &band, to->to + at * 64, to->set + at, to->cols))
			return 0;
	}
	return 1;
}

// A scan that has all of a component.
static int whole_pass(const hj_kernels *k, hj_scan *s, hj_tables *tables, const hj_pass *p, const hj_coefficients *c) {
	const hj_table *const dc = hj_tables_get(tables, &p->code[0], HJ_DC), *const ac = hj_tables_get(tables, &p->code[1], HJ_AC);
	if (!dc->is_sound || !ac->is_sound)
		return 0;
	const hj_coefficients *const to = &c[p->component[0]];
	memset(to->to, 0, blocks(to) * block_bytes);
	int16_t block[HJ_BLOCK];
	uint8_t last;
	s->blocks = 1;
	s->block[0].component = p->component[0];
	s->block[0].dc = dc;
	s->block[0].ac = ac;
	s->block[0].to = block;
	s->block[0].last = &last;
	s->block[0].only_first = 0;
	for (int y = 0; y < to->rows; y++)
		for (int x = 0; x < to->cols; x++) {
			const size_t at = (size_t)y * to->across + x;
			memset(block, 0, sizeof(block));
			if (!k->keep(s, 1))
				return 0;
			memcpy(to->to + at * 64, block, block_bytes);
			to->set[at] = 1ull << last;
		}
	return 1;
}

int hj_passes(const hj_kernels *k, hj_scan *s, hj_tables *tables, const hj_header *h, const hj_coefficients *c, int mcus_across, int mcus_down,
              const uint8_t *src, size_t n) {
	for (int i = 0; i < h->passes; i++) {
		const hj_pass *const p = &h->pass[i];
		hj_scan_begin(s, src + p->at, src + n, p->restart);
		const int is_sound = p->from == 0 && p->to == 63 ? whole_pass(k, s, tables, p, c) : p->from == 0 ? dc_pass(k, s, tables, h, p, c, mcus_across, mcus_down) : ac_pass(k, s, tables, p, c);
		if (!is_sound || !hj_scan_ends_at(s, src + p->end))
			return 0;
	}
	return 1;
}
