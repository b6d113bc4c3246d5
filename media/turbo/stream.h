// Resampling of rows as they come, while they are in the first-level cache: each is
// made narrow at once, and the rows of the result are written as soon as all that they
// need has come. Where the vertical pass comes first, it is the other way about.
#ifndef HEADRACE_STREAM_H
#define HEADRACE_STREAM_H

#include "kernels.h"
#include "memory.h"
#include "output.h"

// Rows handed to a stream at once, at most.
#define HR_ROWS 4

// Where the rows of a result go.
typedef struct {
	uint8_t *rows;
	ptrdiff_t stride;     // from row to row; negative where the last comes first
	const hr_output *out; // that writes them; NULL: they are RGB as computed
	ptrdiff_t plane;      // from channel to channel, where out needs it
} hr_target;

static inline uint8_t *hr_target_row(const hr_target *t, int row) { return t->rows + row * t->stride; }

typedef struct {
	const hr_kernels *kernels;
	hr_axis x, y;
	int vertical_first;
	uint64_t version; // of the axis that packed was made from
	int pad; // bytes behind an input row that must be readable
	hr_target to;
	int first; // input row that comes first
	int last;  // input row after the last that is needed
	int next;  // input row that comes next
	int out;   // rows of the result that are done
	int ring;  // input rows that are remembered: as many as the longest span and one delivery need
	hr_buffer packed;
	hr_buffer kept;    // where they are: as they came, or in between after the horizontal pass
	hr_buffer between; // rows between the passes
	hr_buffer narrow;  // rows of the result, with room behind them
	int between_width, narrow_width;
} hr_stream;

// Begins a picture. Returns 0 if there is no memory.
int hr_stream_begin(hr_stream *s, const hr_kernels *k, hr_axis x, hr_axis y, int vertical_first, hr_target to);
// Rows that must stay where they are after they have been handed over, including those
// of the last delivery.
int hr_stream_held(const hr_stream *s);
// Takes the next n rows, with s->pad readable bytes behind each.
void hr_stream_rows(hr_stream *s, const uint8_t *const *rows, int n);
void hr_stream_trim(hr_stream *s);
void hr_stream_free(hr_stream *s);

#endif
