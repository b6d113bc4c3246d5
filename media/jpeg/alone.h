#ifndef HEADRACE_JPEG_ALONE_H
#define HEADRACE_JPEG_ALONE_H

#include "header.h"

// Decodes a whole picture to RGB with nothing to fall back on, or with rgb NULL its
// entropy-coded data alone. Returns 0 where there is a doubt.
int hj_alone(const hj_header *h, const char *kernels, const uint8_t *src, size_t n, uint8_t *rgb);
// Decodes planes at so many eighths of the size to to, row of MCUs after row, component
// after component. Returns how many samples those were, or -1.
int hj_alone_planes(const hj_header *h, const char *kernels, int eighths, const uint8_t *src, size_t n, uint8_t *to);

#endif
