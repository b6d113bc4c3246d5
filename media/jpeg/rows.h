// Rows of RGB pixels out of planes.
#ifndef HEADRACE_JPEG_ROWS_H
#define HEADRACE_JPEG_ROWS_H

#include "picture.h"

// Begins a part of a picture. Returns 0 where there is a doubt.
int hj_rows_begin(hj_picture *p, const hj_header *h, const hj_kernels *k, const uint8_t *src, size_t n, hj_part part);
// Writes the next n rows of the part. Returns 0 where there is a doubt.
int hj_rows_next(hj_picture *p, uint8_t *const *rows, int n);

#endif
