#include "decode.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <jerror.h>
#include "memory.h"
#include "stream.h"

#ifndef LIBJPEG_TURBO_VERSION
#error "media/turbo needs the headers of libjpeg-turbo: apt-get install libjpeg-turbo8-dev (Ubuntu) or libjpeg62-turbo-dev (Debian)"
#endif

// More scans than any real picture has: each costs a pass over all coefficients, and a few bytes can ask for one.
enum { max_scans = 500 };

// Where a row begins in memory that is aligned: libjpeg-turbo writes aligned rows past the caches, and reading them back at once
// would wait for main memory.
enum { misalign = 8 };

// Columns and rows beyond the part that is needed, so that the interpolation of chroma sees its neighbours.
enum { margin = 2 };

struct hr_decoder {
	struct jpeg_decompress_struct jpeg;
	struct jpeg_error_mgr errors;
	struct jpeg_source_mgr source;
	struct jpeg_progress_mgr progress;
	jmp_buf failed;
	int status;
	char message[JMSG_LENGTH_MAX];
	hr_pools *pools;
	hr_stream stream;
	hr_buffer rows;         // as they come out of libjpeg
	hr_buffer part, turned; // for pictures that are turned
	hr_buffer output[2];
};

static hr_decoder *owner(j_common_ptr c) { return c->client_data; }

static _Noreturn void fail(j_common_ptr c, int status) {
	hr_decoder *d = owner(c);
	d->status = status;
	c->err->format_message(c, d->message);
	longjmp(d->failed, 1);
}

static void error_exit(j_common_ptr c) {
	switch (c->err->msg_code) {
	case JERR_OUT_OF_MEMORY:
		fail(c, HR_MEMORY);
	case JERR_INPUT_EMPTY:
	case JERR_INPUT_EOF:
		fail(c, HR_TRUNCATED);
	case JERR_ARITH_NOTIMPL:
	case JERR_BAD_J_COLORSPACE:
	case JERR_BAD_PRECISION:
	case JERR_CCIR601_NOTIMPL:
	case JERR_CONVERSION_NOTIMPL:
	case JERR_FRACT_SAMPLE_NOTIMPL:
	case JERR_NOT_COMPILED:
	case JERR_SOF_UNSUPPORTED:
		fail(c, HR_UNSUPPORTED);
	}
	fail(c, HR_CORRUPT);
}

// libjpeg goes on after a warning, with grey or wrong pixels. Here it ends, unless the pixels are right all the same.
static void emit_message(j_common_ptr c, int level) {
	if (level >= 0)
		return;
	switch (c->err->msg_code) {
	case JWRN_JFIF_MAJOR:
	case JWRN_ADOBE_XFORM:
	case JWRN_NOT_SEQUENTIAL:
	case JWRN_BOGUS_ICC:
		return;
	case JWRN_EXTRANEOUS_DATA: { // harmless in the header and after the last scan
		int marker = c->err->msg_parm.i[1];
		if (((j_decompress_ptr)c)->input_scan_number == 0 || marker == JPEG_EOI)
			return;
		break;
	}
	case JWRN_JPEG_EOF:
		fail(c, HR_TRUNCATED);
	}
	fail(c, HR_CORRUPT);
}

static void output_message(j_common_ptr c) { (void)c; }

static void init_source(j_decompress_ptr c) { (void)c; }

static boolean fill_input_buffer(j_decompress_ptr c) {
	WARNMS(c, JWRN_JPEG_EOF);
	return FALSE;
}

static void skip_input_data(j_decompress_ptr c, long n) {
	if (n <= 0)
		return;
	if ((size_t)n > c->src->bytes_in_buffer)
		fill_input_buffer(c);
	c->src->next_input_byte += n;
	c->src->bytes_in_buffer -= n;
}

static void term_source(j_decompress_ptr c) { (void)c; }

static void progress(j_common_ptr c) {
	if (((j_decompress_ptr)c)->input_scan_number > max_scans) {
		hr_decoder *d = owner(c);
		d->status = HR_CORRUPT;
		strcpy(d->message, "More scans than any picture needs");
		longjmp(d->failed, 1);
	}
}

hr_decoder *hr_new(void) {
	hr_decoder *const d = hr_alloc(sizeof(*d));
	if (!d)
		return NULL;
	memset(d, 0, sizeof(*d));
	d->jpeg.err = jpeg_std_error(&d->errors);
	d->errors.error_exit = error_exit;
	d->errors.emit_message = emit_message;
	d->errors.output_message = output_message;
	d->jpeg.client_data = d;
	if (setjmp(d->failed)) {
		jpeg_destroy_decompress(&d->jpeg);
		hr_release(d);
		return NULL;
	}
	jpeg_create_decompress(&d->jpeg);
	d->pools = hr_pools_install(&d->jpeg);
	if (!d->pools) {
		jpeg_destroy_decompress(&d->jpeg);
		hr_release(d);
		return NULL;
	}
	d->source.init_source = init_source;
	d->source.fill_input_buffer = fill_input_buffer;
	d->source.skip_input_data = skip_input_data;
	d->source.resync_to_restart = jpeg_resync_to_restart;
	d->source.term_source = term_source;
	d->jpeg.src = &d->source;
	d->progress.progress_monitor = progress;
	d->jpeg.progress = &d->progress;
	return d;
}

void hr_free(hr_decoder *d) {
	if (!d)
		return;
	hr_pools_remove(d->pools, &d->jpeg);
	jpeg_destroy_decompress(&d->jpeg);
	hr_stream_free(&d->stream);
	hr_buffer_free(&d->rows);
	hr_buffer_free(&d->part);
	hr_buffer_free(&d->turned);
	hr_buffer_free(&d->output[0]);
	hr_buffer_free(&d->output[1]);
	hr_release(d);
}

// A reused decoder must not remember anything: without tables of its own, a picture would be decoded with those of the one before.
static void reset(hr_decoder *d) {
	jpeg_abort_decompress(&d->jpeg);
	for (int i = 0; i < NUM_QUANT_TBLS; i++)
		d->jpeg.quant_tbl_ptrs[i] = NULL;
	for (int i = 0; i < NUM_HUFF_TBLS; i++)
		d->jpeg.dc_huff_tbl_ptrs[i] = d->jpeg.ac_huff_tbl_ptrs[i] = NULL;
	hr_pools_reset(d->pools);
}

static int out_of_memory(hr_decoder *d) {
	strcpy(d->message, "Insufficient memory");
	return d->status = HR_MEMORY;
}

static void read_header(hr_decoder *d, const hr_job *job, const uint8_t *src, size_t n) {
	j_decompress_ptr c = &d->jpeg;
	d->source.next_input_byte = src;
	d->source.bytes_in_buffer = n;
	jpeg_read_header(c, TRUE);
	if ((int32_t)c->image_width != job->width || (int32_t)c->image_height != job->height) {
		d->status = HR_CORRUPT;
		strcpy(d->message, "Two headers of different size");
		longjmp(d->failed, 1);
	}
	c->out_color_space = JCS_RGB;
	c->dct_method = JDCT_ISLOW;
	c->do_fancy_upsampling = TRUE;
}

// A progressive picture whose last scans are missing is smoothed over block edges, where libjpeg must see all blocks.
static int is_smoothed(j_decompress_ptr c) {
	if (!c->progressive_mode || !c->coef_bits)
		return 0;
	for (int i = 0; i < c->num_components; i++)
		for (int k = 1; k < 10; k++)
			if (c->coef_bits[i][k] != 0)
				return 1;
	return 0;
}

// What a row holds that comes out of libjpeg.
typedef struct {
	int skip; // bytes at its beginning that are not needed
	int size; // all bytes
} extent;

// Begins the output of the part that is needed, and of few pixels besides.
static extent begin_part(j_decompress_ptr c, const hr_job *job) {
	jpeg_start_decompress(c);
	int left = job->left, top = job->top;
	if (is_smoothed(c)) {
		for (int y = 0; y < top; y++) { // jpeg_skip_scanlines leaves blocks out
			JSAMPROW row = owner((j_common_ptr)c)->rows.data;
			jpeg_read_scanlines(c, &row, 1);
		}
		return (extent){left * 3, c->output_width * 3};
	}
	JDIMENSION from = left > margin ? left - margin : 0;
	JDIMENSION to = left + job->cols + margin;
	if (to > c->output_width)
		to = c->output_width;
	if (from > 0 || to < c->output_width) {
		JDIMENSION width = to - from;
		jpeg_crop_scanline(c, &from, &width);
	}
	if (top > 0)
		jpeg_skip_scanlines(c, top);
	return (extent){(left - (int)from) * 3, c->output_width * 3};
}

// Decodes the part that is needed, a few rows at a time, into the stream or, for later turning, into memory.
static void decode_rows(hr_decoder *d, const hr_job *job) {
	j_decompress_ptr c = &d->jpeg;
	const extent e = begin_part(c, job);
	const size_t stride = (misalign + e.size + HR_PAD + 63) / 64 * 64;
	const int held = hr_stream_held(&d->stream);
	for (int done = 0; done < job->rows;) {
		int want = job->rows - done < HR_ROWS ? job->rows - done : HR_ROWS, have = 0;
		JSAMPROW rows[HR_ROWS];
		const uint8_t *needed[HR_ROWS];
		for (int i = 0; i < want; i++) {
			rows[i] = d->rows.data + (done + i) % held * stride + misalign;
			needed[i] = rows[i] + e.skip;
		}
		while (have < want)
			have += jpeg_read_scanlines(c, rows + have, want - have);
		if (job->upright)
			hr_stream_rows(&d->stream, needed, have);
		else
			for (int i = 0; i < have; i++)
				memcpy(d->part.data + (size_t)(done + i) * job->cols * 3, needed[i], (size_t)job->cols * 3);
		done += have;
	}
}

// Turns d->part upright.
static void turn(hr_decoder *d, const hr_job *job) {
	uint8_t *to = d->turned.data;
	for (int y = 0; y < job->turned_rows; y++) {
		const uint8_t *from = d->part.data + ((ptrdiff_t)job->origin + (ptrdiff_t)y * job->step_y) * 3;
		for (int x = 0; x < job->turned_cols; x++, to += 3, from += (ptrdiff_t)job->step_x * 3) {
			to[0] = from[0];
			to[1] = from[1];
			to[2] = from[2];
		}
	}
}

static void stream_memory(hr_stream *s, const uint8_t *src, ptrdiff_t stride) {
	for (int y = s->first; y < s->last; y += HR_ROWS) {
		const uint8_t *rows[HR_ROWS];
		int n = s->last - y < HR_ROWS ? s->last - y : HR_ROWS;
		for (int i = 0; i < n; i++)
			rows[i] = src + (y - s->first + i) * stride;
		hr_stream_rows(s, rows, n);
	}
}

// Gives back what is beyond reason.
static void trim(hr_decoder *d) {
	hr_stream_trim(&d->stream);
	hr_buffer_trim(&d->rows);
	hr_buffer_trim(&d->part);
	hr_buffer_trim(&d->turned);
}

static int begin_stream(hr_decoder *d, const hr_kernels *k, const hr_job *job, uint8_t *dst, ptrdiff_t stride,
                        const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans, const int32_t *y_weights) {
	hr_axis x = job->x, y = job->y;
	x.spans = x_spans;
	x.weights = x_weights;
	y.spans = y_spans;
	y.weights = y_weights;
	return hr_stream_begin(&d->stream, k, x, y, job->vertical_first, dst, stride);
}

int hr_decode(hr_decoder *d, const hr_kernels *k, const hr_job *job, const uint8_t *src, size_t n, uint8_t *dst, ptrdiff_t stride,
              const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans, const int32_t *y_weights) {
	size_t part = (size_t)job->cols * job->rows * 3;
	if (!begin_stream(d, k, job, dst, stride, x_spans, x_weights, y_spans, y_weights) ||
	    !hr_buffer_need(&d->rows, hr_stream_held(&d->stream) * (misalign + (size_t)job->width * 3 + HR_PAD + 64)))
		return out_of_memory(d);
	if (!job->upright && (!hr_buffer_need(&d->part, part) || !hr_buffer_need(&d->turned, part + HR_PAD)))
		return out_of_memory(d);
	d->status = HR_OK;
	if (!setjmp(d->failed)) {
		read_header(d, job, src, n);
		decode_rows(d, job);
	}
	reset(d);
	if (d->status == HR_OK && !job->upright) {
		turn(d, job);
		stream_memory(&d->stream, d->turned.data, (ptrdiff_t)job->turned_cols * 3);
	}
	trim(d);
	return d->status;
}

int hr_resample(hr_decoder *d, const hr_kernels *k, const hr_job *job, const uint8_t *src, ptrdiff_t src_stride, uint8_t *dst,
                ptrdiff_t stride, const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
                const int32_t *y_weights) {
	if (!begin_stream(d, k, job, dst, stride, x_spans, x_weights, y_spans, y_weights))
		return out_of_memory(d);
	stream_memory(&d->stream, src, src_stride);
	trim(d);
	return HR_OK;
}

uint8_t *hr_stage_memory(hr_decoder *d, int which, size_t size) {
	return hr_buffer_need(&d->output[which], size + HR_PAD) ? d->output[which].data : NULL;
}

void hr_trim(hr_decoder *d) {
	hr_buffer_trim(&d->output[0]);
	hr_buffer_trim(&d->output[1]);
}

const char *hr_message(const hr_decoder *d) { return d->message; }
