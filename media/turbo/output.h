// Rows of pixels become numbers of the type and order that a batch has. What the
// numbers are is defined by github.com/headrace/headrace/media (Output.Write); every set of kernels gives
// the same bytes.
#ifndef HEADRACE_OUTPUT_H
#define HEADRACE_OUTPUT_H

#include "kernels.h"

enum { HR_UINT8, HR_UINT16, HR_FLOAT32, HR_FLOAT16, HR_BFLOAT16 };

typedef struct {
	int32_t from;     // HR_UINT8 or HR_UINT16
	int32_t to;       // the same, or floating point
	int32_t channels; // 1, 3, or 4 where to is no floating point
	int32_t planar;   // a plane for each channel
	float mean[3], std[3];
} hr_output_form;

struct hr_output;

typedef void (*hr_output_row_kernel)(const struct hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane);

// How rows of one form are written. It is set once and may then be used by many at once.
typedef struct hr_output {
	hr_output_row_kernel row;
	hr_output_form form;
	const hr_kernels *kernels;
	// For every value of 8 bits the number of each channel, as float32 or in the lower
	// half of its bits; and its bytes, the lowest first.
	uint32_t number[3][256];
	uint8_t bytes[3][4][256];
	// Where kernels that look bytes up find the values that they put together.
	uint8_t pick[3][64];
	// The inverse of std and what it lacks.
	float inverse[3], rest[3];
} hr_output;

// Prepares o, which is all zeros at first. It costs nothing where o was prepared for
// the same.
void hr_output_set(hr_output *o, const hr_kernels *k, const hr_output_form *form);

// Writes one row to dst; the row of the next channel, if planar, is plane bytes behind.
// Only bytes of the row are read and written; neither src nor dst need be aligned.
static inline void hr_output_row(const hr_output *o, const uint8_t *src, int pixels, uint8_t *dst, ptrdiff_t plane) {
	o->row(o, src, pixels, dst, plane);
}

// Writes all rows of a picture; planes follow each other, each height rows long.
void hr_output_picture(const hr_output *o, const uint8_t *src, ptrdiff_t src_stride, int width, int height, uint8_t *dst,
                       ptrdiff_t dst_stride);

// The fastest way of each set of kernels to write rows of this form; NULL where it has
// none of its own.
hr_output_row_kernel hr_output_plain(const hr_output *o);
#if defined(__x86_64__)
hr_output_row_kernel hr_output_avx2(const hr_output *o);
hr_output_row_kernel hr_output_avx512(hr_output *o);
#endif

#endif
