// One picture in one call: header, the part of the pixels that is needed, resampling,
// into the row of a batch.
#ifndef HEADRACE_DECODE_H
#define HEADRACE_DECODE_H

#include <stddef.h>
#include <stdint.h>
#include "front.h"
#include "kernels.h"
#include "output.h"

enum { HR_OK, HR_TRUNCATED, HR_CORRUPT, HR_UNSUPPORTED, HR_MEMORY, HR_OTHERWISE /* than by planes */ };

typedef struct hr_decoder hr_decoder;

typedef struct {
	int32_t width, height;            // of the stored picture, as its header must say
	int32_t left, top, cols, rows;    // the part of the stored picture that is needed
	int32_t turned_cols, turned_rows; // the same, turned upright
	ptrdiff_t origin, step_x, step_y; // bytes from the part's first to upright pixel (0,0); steps to the next ones
	int32_t upright;                  // nothing is to be turned
	int32_t vertical_first;           // the vertical pass comes before the horizontal one
	hr_axis x, y;                     // without their pointers, which are handed over beside it
	hr_axis chroma_x, chroma_y;       // of planes
	ptrdiff_t plane;                  // bytes of the result from channel to channel, where the output asks for it
} hr_job;

hr_decoder *hr_new(void);
void hr_free(hr_decoder *d);

// Memory of the decoder for the result of a stage, 0 to 2, with HR_PAD bytes behind it;
// NULL if there is none.
uint8_t *hr_stage_memory(hr_decoder *d, int which, size_t size);

// Decodes src and resamples it into dst, by out where that is not NULL. Returns HR_OK or
// what went wrong; hr_message tells more. front and its header may be NULL: then libjpeg
// decodes.
int hr_decode(hr_decoder *d, const hr_kernels *k, const hr_front *front, const void *header, const hr_job *job, const uint8_t *src, size_t n, uint8_t *dst, ptrdiff_t stride,
              const hr_output *out, const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
              const int32_t *y_weights);

// What planes front has at so many eighths of the size. Returns 0 where libjpeg has to
// decode.
int hr_front_shape(const hr_front *front, const void *header, int eighths, hr_shape *shape);

// Reads the header of src and says what planes it has at so many eighths of its size, of
// which 8, 4, 2 and 1 are fast.
int hr_open(hr_decoder *d, const hr_job *job, const uint8_t *src, size_t n, int eighths, hr_shape *shape);

// The same by front, of which the shape was had.
int hr_front_planes(hr_decoder *d, const hr_kernels *k, const hr_front *front, const void *header, const hr_job *job, int eighths, int kind, const uint8_t *src,
                    size_t n, uint8_t *dst, ptrdiff_t stride, const hr_output *out, const hr_span *x_spans, const int32_t *x_weights,
                    const hr_span *y_spans, const int32_t *y_weights, const hr_span *chroma_x_spans, const int32_t *chroma_x_weights,
                    const hr_span *chroma_y_spans, const int32_t *chroma_y_weights);

// Goes on after hr_open gave a shape with planes: decodes those, resamples them, and
// converts what comes of them to RGB. The axes are in samples of the planes.
int hr_decode_planes(hr_decoder *d, const hr_kernels *k, const hr_job *job, const uint8_t *src, size_t n, uint8_t *dst, ptrdiff_t stride,
                     const hr_output *out, const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
                     const int32_t *y_weights, const hr_span *chroma_x_spans, const int32_t *chroma_x_weights,
                     const hr_span *chroma_y_spans, const int32_t *chroma_y_weights);

// Resamples pixels: rows from job->y.lo on, which begin with pixel job->x.lo, with
// HR_PAD readable bytes behind the last unless they are to be turned.
int hr_resample(hr_decoder *d, const hr_kernels *k, const hr_job *job, const uint8_t *src, ptrdiff_t src_stride, uint8_t *dst,
                ptrdiff_t stride, const hr_output *out, const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
                const int32_t *y_weights);

// Exchanges rows and columns of RGB pixels: dst gets width rows of height pixels.
void hr_transpose(uint8_t *dst, ptrdiff_t dst_stride, const uint8_t *src, ptrdiff_t src_stride, int width, int height);

// Gives back such memory of hr_stage_memory as is beyond reason.
void hr_trim(hr_decoder *d);

// libjpeg's words for the last failure.
const char *hr_message(const hr_decoder *d);

#endif
