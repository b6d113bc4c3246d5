// Resizing of the planes of a frame of video, each in its own resolution.
#ifndef HEADRACE_FRAME_H
#define HEADRACE_FRAME_H

#include "kernels.h"

// What is resized of a plane: a rectangle of samples of one byte, rows stride bytes apart,
// with so many readable bytes behind the last of them. First of all, 1<<across times 1<<down
// of them become their mean.
typedef struct {
	int64_t stride, behind;
	int32_t width, height, across, down;
} hr_frame_plane;

typedef struct hr_frame hr_frame;

hr_frame *hr_frame_new(void);
void hr_frame_free(hr_frame *f);

// Resizes one plane or three, of which the second and the third are alike: x and y are of
// the first, chroma_x and chroma_y of these. Axes are of means, and come without their
// pointers. Returns 0 if there is no memory.
int hr_frame_resize(hr_frame *f, const hr_kernels *k, int count, const hr_frame_plane *luma, const hr_frame_plane *chroma, const uint8_t *a, const uint8_t *b,
                    const uint8_t *c, const hr_axis axes[4], const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
                    const int32_t *y_weights, const hr_span *chroma_x_spans, const int32_t *chroma_x_weights, const hr_span *chroma_y_spans,
                    const int32_t *chroma_y_weights);

// A plane of the result, until the next is made or memory is given back, and the bytes from
// row to row.
const uint8_t *hr_frame_result(const hr_frame *f, int plane, int64_t *stride);

// Gives back such memory as is beyond reason.
void hr_frame_trim(hr_frame *f);

#endif
