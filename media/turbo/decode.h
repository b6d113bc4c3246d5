// One picture in one call: header, the part of the pixels that is needed, resampling, into the row of a batch.
#ifndef HEADRACE_DECODE_H
#define HEADRACE_DECODE_H

#include <stddef.h>
#include <stdint.h>
#include "kernels.h"

enum { HR_OK, HR_TRUNCATED, HR_CORRUPT, HR_UNSUPPORTED, HR_MEMORY };

typedef struct hr_decoder hr_decoder;

typedef struct {
	int32_t width, height;          // of the stored picture, as its header must say
	int32_t left, top, cols, rows;  // the part of the stored picture that is needed
	int32_t turned_cols, turned_rows; // the same, turned upright
	int32_t origin, step_x, step_y; // pixel of the part, counted row by row, that is upright pixel (0,0); steps to the next ones
	int32_t upright;                // nothing is to be turned
	int32_t vertical_first;         // the vertical pass comes before the horizontal one
	hr_axis x, y;                   // without their pointers, which are handed over beside it
} hr_job;

hr_decoder *hr_new(void);
void hr_free(hr_decoder *d);

// Memory of the decoder for the result of a pass that is not the last, 0 or 1; NULL if there is none.
uint8_t *hr_stage_memory(hr_decoder *d, int which, size_t size);

// Decodes src and resamples it into dst. Returns HR_OK or what went wrong; hr_message tells more.
int hr_decode(hr_decoder *d, const hr_kernels *k, const hr_job *job, const uint8_t *src, size_t n, uint8_t *dst, ptrdiff_t stride,
              const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans, const int32_t *y_weights);

// Resamples pixels: rows from job->y.lo on, which begin with pixel job->x.lo, with HR_PAD readable bytes behind the last.
int hr_resample(hr_decoder *d, const hr_kernels *k, const hr_job *job, const uint8_t *src, ptrdiff_t src_stride, uint8_t *dst,
                ptrdiff_t stride, const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
                const int32_t *y_weights);

// Gives back such memory of hr_stage_memory as is beyond reason.
void hr_trim(hr_decoder *d);

// libjpeg's words for the last failure.
const char *hr_message(const hr_decoder *d);

#endif
