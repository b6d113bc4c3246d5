// Resampling of planes: Y, Cb and Cr, each in its own resolution, become rows of RGB
// pixels of one resolution. Colours are converted last, where there is least of them.
#ifndef HEADRACE_PLANES_H
#define HEADRACE_PLANES_H

#include "kernels.h"
#include "memory.h"
#include "shape.h"
#include "stream.h"

typedef struct {
	hr_axis x, y;
	const void *packed;
	uint8_t *between; // a ring of rows between the passes
	int ring, width;  // rows of it, and bytes of a row
	int next;         // row of the plane that comes next
	int out;          // rows of the result that are done
	uint8_t *result;  // all of it, rows width bytes apart
} hr_plane;

typedef struct {
	const hr_kernels *kernels;
	int count, kind;
	hr_target to;
	hr_plane plane[3];
	int out;             // rows of RGB that are done
	uint64_t version[2]; // of the axes that packed was made from
	const hr_kernels *packed_for;
	hr_buffer packed[2], between, result, taps, line;
} hr_planes;

// Begins a picture of one plane, or of three, of which the second and the third are
// alike: x[1] and y[1] are theirs. Returns 0 if there is no memory.
int hr_planes_begin(hr_planes *s, const hr_kernels *k, int count, int kind, const hr_axis x[2], const hr_axis y[2], hr_target to);
// Whether a plane needs rows that have not come.
int hr_planes_wants(const hr_planes *s);
// Takes rows of plane i, of which the first is that row of the plane; those that are
// not needed are passed over. Rows begin with column from of the plane and have HR_PAD
// readable bytes behind them.
void hr_planes_rows(hr_planes *s, int i, const uint8_t *const *rows, int row, int n, int from);
// Writes all rows of the result for which everything has come.
void hr_planes_flush(hr_planes *s);
// One row of RGB alone.
void hr_convert(const hr_kernels *k, const uint8_t *y, const uint8_t *cb, const uint8_t *cr, uint8_t *rgb, int pixels);
void hr_planes_trim(hr_planes *s);
void hr_planes_free(hr_planes *s);

#endif
