// A picture, decoded a row of MCUs at a time: the planes of its components.
#ifndef HEADRACE_JPEG_PICTURE_H
#define HEADRACE_JPEG_PICTURE_H

#include "kernels.h"
#include "passes.h"

typedef struct {
	void *(*take)(size_t n); // aligned to 64 bytes; NULL if there is none
	void (*release)(void *p);
} hj_memory;

// How a plane is brought to the size of the picture.
enum { HJ_AS_IS, HJ_ACROSS, HJ_BOTH, HJ_DOWN, HJ_REPEAT };

typedef struct {
	int across, down;  // sampling factors
	int width, height; // samples that belong to the picture
	int size;          // of a block, in samples: 8, or reduced 4, 2, 1
	hj_transform *transform;
	int way;
	int wider, taller; // pixels for a sample
	uint8_t *at;       // sample 0 of the first row in memory
	int stride, ring;  // rows that are kept
	int first;         // the sample of a row that is kept first
	int16_t *blocks;   // of a group of MCUs
	uint8_t *last;
	hj_quant quant;
	const int16_t *made_from; // rows of steps; NULL before
} hj_plane;

typedef struct {
	hj_memory memory;
	const hj_kernels *kernels;
	hj_scan scan;
	hj_tables tables;
	int width, height, components;
	int across, down;             // largest sampling factors
	int mcus_across, mcus_down;
	int from, to, top;            // MCUs of a row that are transformed, and the first row of them
	int row;                      // of MCUs, that comes next
	int context;                  // some plane needs rows from above and below
	hj_plane plane[HJ_COMPONENTS];
	int is_progressive;
	hj_coefficients held[HJ_COMPONENTS]; // of a progressive picture
	uint8_t *coefficients;        // what they lie in
	size_t coefficients_size;
	int16_t *blocks;              // zero between groups
	uint8_t last[HJ_GROUP * HJ_MCU_BLOCKS];
	uint8_t *planes, *wide;
	size_t planes_size, wide_size;

	int left, cols, next;         // pixels of a row that are wanted, and the row that is wanted next
} hj_picture;

// Memory for pictures, one after the other. Returns NULL if there is none.
hj_picture *hj_picture_new(hj_memory m);
void hj_picture_free(hj_picture *p);

// A part of a picture, in pixels.
typedef struct {
	int left, top, cols, rows;
} hj_part;

// Begins a picture. Only samples that the part needs are transformed. margin is how many
// pixels beside it are needed. Blocks come out at so many eighths of their size: 8, 4, 2
// or 1, or larger where a plane is smaller anyway. Returns 0 where there is a doubt.
int hj_picture_begin(hj_picture *p, const hj_header *h, const hj_kernels *k, const uint8_t *src, size_t n, hj_part part, int margin, int rows_of_mcus, int eighths);
// Decodes the next row of MCUs. Returns 0 where there is a doubt.
int hj_picture_next(hj_picture *p);
// Gives large memory back that only this picture needed; all of it where libjpeg is to
// begin anew.
void hj_picture_end(hj_picture *p, int is_doubtful);

// The largest sampling factors.
void hj_largest(const hj_header *h, int *across, int *down);

// The size of the blocks of a component.
int hj_block_size(const hj_header *h, int component, int eighths);

static inline uint8_t *hj_plane_row(const hj_plane *p, int row) { return p->at + (ptrdiff_t)(row % p->ring) * p->stride; }

#endif
