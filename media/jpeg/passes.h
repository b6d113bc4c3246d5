// The scans of a picture that has several: they fill the coefficients of all its blocks
// before the first is transformed.
#ifndef HEADRACE_JPEG_PASSES_H
#define HEADRACE_JPEG_PASSES_H

#include "scan.h"

// The coefficients of a component, in the order of rows, block after block, row after
// row.
typedef struct {
	int across, down; // blocks of whole MCUs
	int cols, rows;   // of them, those that the component's own scans have
	int16_t *to;
	uint64_t *set; // of each block, the places in zigzag order of coefficients behind the first that are not zero
} hj_coefficients;

// Where there is room for components of such sizes, in bytes.
size_t hj_coefficients_size(const hj_coefficients *c, int components);
void hj_coefficients_place(hj_coefficients *c, int components, uint8_t *at);

typedef struct hj_kernels hj_kernels;

// Decodes all scans. Returns 0 where there is a doubt.
int hj_passes(const hj_kernels *k, hj_scan *s, hj_tables *tables, const hj_header *h, const hj_coefficients *c, int mcus_across, int mcus_down,
              const uint8_t *src, size_t n);

#endif
