#include "decode.h"

#include <setjmp.h>
#include <stdlib.h>
#include <string.h>
#include <jerror.h>
#include "memory.h"
#include "planes.h"
#include "stream.h"

#ifndef LIBJPEG_TURBO_VERSION
#error "media/turbo needs the headers of libjpeg-turbo: apt-get install libjpeg-turbo8-dev (Ubuntu) or libjpeg62-turbo-dev (Debian)"
#endif

// More scans than any real picture has: each costs a pass over all coefficients, and a
// few bytes can ask for one. Encoders make a dozen; of a large picture, no more are
// read than pass over so many blocks.
enum { max_scans = 500, usual_scans = 32, max_visits = 1 << 26 };

// Where a row begins in memory that is aligned: libjpeg-turbo writes aligned rows past
// the caches, and reading them back at once would wait for main memory.
enum { misalign = 8 };

// Columns and rows beyond the part that is needed, so that the interpolation of chroma
// sees its neighbours.
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
	hr_planes planes;
	JSAMPIMAGE delivery;    // rows of all planes that libjpeg has just decoded
	int64_t blocks;         // of coefficients, in all components
	size_t left;            // bytes of the source behind the header that hr_open has read
	const hr_front *front;  // that other was made by
	void *other;
	hr_buffer rows;         // as they come out of libjpeg
	hr_buffer part, turned; // for pictures that are turned
	hr_buffer stage[3];
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

// libjpeg goes on after a warning, with grey or wrong pixels. Here it ends, unless the
// pixels are right all the same.
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
	hr_decoder *d = owner(c);
	const int scans = ((j_decompress_ptr)c)->input_scan_number;
	if (scans > max_scans || (scans > usual_scans && scans * d->blocks > max_visits)) {
		d->status = HR_CORRUPT;
		strcpy(d->message, "More scans than any image needs");
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
	if (d->other)
		d->front->destroy(d->other);
	hr_pools_remove(d->pools, &d->jpeg);
	jpeg_destroy_decompress(&d->jpeg);
	hr_stream_free(&d->stream);
	hr_planes_free(&d->planes);
	hr_buffer_free(&d->rows);
	hr_buffer_free(&d->part);
	hr_buffer_free(&d->turned);
	for (int i = 0; i < 3; i++)
		hr_buffer_free(&d->stage[i]);
	hr_release(d);
}

// A reused decoder must not remember anything: without tables of its own, a picture
// would be decoded with those of the one before.
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
	d->blocks = 0;
	for (int i = 0; i < c->num_components; i++)
		d->blocks += (int64_t)c->comp_info[i].width_in_blocks * c->comp_info[i].height_in_blocks;
	c->out_color_space = c->num_components == 4 ? JCS_CMYK : JCS_RGB;
	c->dct_method = JDCT_ISLOW;
	c->do_fancy_upsampling = TRUE;
}

static int channels(j_decompress_ptr c) { return c->out_color_space == JCS_CMYK ? 4 : 3; }

// A progressive picture whose last scans are missing is smoothed over block edges,
// where libjpeg must see all blocks.
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
		return (extent){left * channels(c), c->output_width * channels(c)};
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
	return (extent){(left - (int)from) * channels(c), c->output_width * channels(c)};
}

static inline int times255(int a, int b) { // a·b / 255, rounded
	int x = a * b + 128;
	return (x + (x >> 8)) >> 8;
}

// Printing inks become RGB, in place, as in Pillow. JPEG files have them inverted: 255
// is no ink.
static void from_cmyk(uint8_t *row, int pixels) {
	const uint8_t *from = row;
	for (int i = 0; i < pixels; i++, from += 4) {
		const int light = from[3];
		for (int c = 0; c < 3; c++, row++) {
			int v = light - times255(255 - from[c], light);
			*row = v < 0 ? 0 : v;
		}
	}
}

// Rows that are decoded, a few at a time, into the stream or, for later turning, into
// memory.
typedef struct {
	size_t stride; // between rows in d->rows
	int done;
	JSAMPROW rows[HR_ROWS];
} delivery;

// Gives the next rows their place, and says how many those are.
static int next_rows(const hr_decoder *d, const hr_job *job, delivery *v) {
	const int want = job->rows - v->done < HR_ROWS ? job->rows - v->done : HR_ROWS, held = hr_stream_held(&d->stream);
	for (int i = 0; i < want; i++)
		v->rows[i] = d->rows.data + (v->done + i) % held * v->stride + misalign;
	return want;
}

// Takes n rows that have come, from byte skip on.
static void take_rows(hr_decoder *d, const hr_job *job, delivery *v, int skip, int n) {
	const uint8_t *needed[HR_ROWS];
	for (int i = 0; i < n; i++)
		needed[i] = v->rows[i] + skip;
	if (job->upright)
		hr_stream_rows(&d->stream, needed, n);
	else
		for (int i = 0; i < n; i++)
			memcpy(d->part.data + (size_t)(v->done + i) * job->cols * 3, needed[i], (size_t)job->cols * 3);
	v->done += n;
}

static delivery begin_delivery(const hr_decoder *d, int bytes) {
	return (delivery){.stride = (misalign + bytes + d->stream.pad + 63) / 64 * 64};
}

// Decodes the part that is needed.
static void decode_rows(hr_decoder *d, const hr_job *job) {
	j_decompress_ptr c = &d->jpeg;
	const extent e = begin_part(c, job);
	for (delivery v = begin_delivery(d, e.size); v.done < job->rows;) {
		const int want = next_rows(d, job, &v);
		for (int have = 0; have < want;)
			have += jpeg_read_scanlines(c, v.rows + have, want - have);
		for (int i = 0; channels(c) == 4 && i < want; i++)
			from_cmyk(v.rows[i] + e.skip, job->cols);
		take_rows(d, job, &v, e.skip, want);
	}
}

// Makes what decodes by front. Returns 0 if there is no memory.
static int has_other(hr_decoder *d, const hr_front *front) {
	if (d->other && d->front == front)
		return 1;
	if (d->other)
		d->front->destroy(d->other);
	d->front = front;
	d->other = front->create(hr_alloc, hr_release);
	return d->other != NULL;
}

// Decodes the part that is needed by front. Returns 0 where libjpeg has to.
static int decode_front(hr_decoder *d, const hr_kernels *k, const hr_front *front, const void *header, const hr_job *job, const uint8_t *src, size_t n) {
	if (!front || !has_other(d, front) ||
	    !front->begin(d->other, header, k->name, src, n, job->left, job->top, job->cols, job->rows))
		return 0;
	for (delivery v = begin_delivery(d, job->cols * 3); v.done < job->rows;) {
		const int want = next_rows(d, job, &v);
		if (!front->rows(d->other, v.rows, want))
			return 0;
		take_rows(d, job, &v, 0, want);
	}
	return 1;
}

// Turns a part of a picture upright, into d->turned.
static void turn(hr_decoder *d, const hr_job *job, const uint8_t *part) {
	uint8_t *to = d->turned.data;
	for (int y = 0; y < job->turned_rows; y++) {
		const uint8_t *from = part + job->origin + y * job->step_y;
		if (job->step_x == 3) {
			memcpy(to, from, (size_t)job->turned_cols * 3);
			to += (size_t)job->turned_cols * 3;
			continue;
		}
		for (int x = 0; x < job->turned_cols; x++, to += 3, from += job->step_x) {
			to[0] = from[0];
			to[1] = from[1];
			to[2] = from[2];
		}
	}
}

static int turned_memory(hr_decoder *d, const hr_job *job) {
	return hr_buffer_need(&d->turned, (size_t)job->turned_cols * job->turned_rows * 3 + HR_PAD);
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
	hr_planes_trim(&d->planes);
	hr_buffer_trim(&d->rows);
	hr_buffer_trim(&d->part);
	hr_buffer_trim(&d->turned);
	if (d->other)
		d->front->end(d->other);
}

static hr_axis axis(hr_axis a, const hr_span *spans, const int32_t *weights) {
	a.spans = spans;
	a.weights = weights;
	return a;
}

int hr_decode(hr_decoder *d, const hr_kernels *k, const hr_front *front, const void *header, const hr_job *job, const uint8_t *src, size_t n,
              uint8_t *dst, ptrdiff_t stride, const hr_output *out, const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
              const int32_t *y_weights) {
	const hr_axis x = axis(job->x, x_spans, x_weights), y = axis(job->y, y_spans, y_weights);
	const hr_target to = {dst, stride, out, job->plane};
	if (!hr_stream_begin(&d->stream, k, x, y, job->vertical_first, to) ||
	    !hr_buffer_need(&d->rows, hr_stream_held(&d->stream) * (misalign + (size_t)job->width * 4 + HR_PAD + 64)))
		return out_of_memory(d);
	if (!job->upright && (!hr_buffer_need(&d->part, (size_t)job->cols * job->rows * 3) || !turned_memory(d, job)))
		return out_of_memory(d);

	d->status = HR_OK;
	if (!decode_front(d, k, front, header, job, src, n)) {
		if (!hr_stream_begin(&d->stream, k, x, y, job->vertical_first, to))
			return out_of_memory(d);
		if (!setjmp(d->failed)) {
			read_header(d, job, src, n);
			decode_rows(d, job);
		}
		reset(d);
	}

	if (d->status == HR_OK && !job->upright) {
		turn(d, job, d->part.data);
		stream_memory(&d->stream, d->turned.data, (ptrdiff_t)job->turned_cols * 3);
	}
	trim(d);
	return d->status;
}

int hr_resample(hr_decoder *d, const hr_kernels *k, const hr_job *job, const uint8_t *src, ptrdiff_t src_stride, uint8_t *dst,
                ptrdiff_t stride, const hr_output *out, const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
                const int32_t *y_weights) {
	if (!hr_stream_begin(&d->stream, k, axis(job->x, x_spans, x_weights), axis(job->y, y_spans, y_weights), job->vertical_first,
	                     (hr_target){dst, stride, out, job->plane}))
		return out_of_memory(d);
	if (!job->upright) {
		if (!turned_memory(d, job))
			return out_of_memory(d);
		turn(d, job, src);
		src = d->turned.data;
		src_stride = (ptrdiff_t)job->turned_cols * 3;
	}
	stream_memory(&d->stream, src, src_stride);
	trim(d);
	return HR_OK;
}

#if JPEG_LIB_VERSION >= 70
#define BLOCK_ACROSS(part) ((part)->DCT_h_scaled_size)
#define BLOCK_DOWN(part) ((part)->DCT_v_scaled_size)
#define LEAST_BLOCK(c) ((c)->min_DCT_v_scaled_size)
#else
#define BLOCK_ACROSS(part) ((part)->DCT_scaled_size)
#define BLOCK_DOWN(part) ((part)->DCT_scaled_size)
#define LEAST_BLOCK(c) ((c)->min_DCT_scaled_size)
#endif

// Samples that one step of libjpeg decodes of a component: across, in an MCU, and down,
// in a row of MCUs. Alone in a picture, a component has MCUs of one block.
static int step_across(j_decompress_ptr c, const jpeg_component_info *part) {
	return (c->num_components == 1 ? 1 : part->h_samp_factor) * BLOCK_ACROSS(part);
}
static int step_down(const jpeg_component_info *part) { return part->v_samp_factor * BLOCK_DOWN(part); }

static int plane_kind(j_decompress_ptr c) {
	switch (c->jpeg_color_space) {
	case JCS_YCbCr:
		return HR_YCC;
	case JCS_RGB:
		return HR_RGB;
	default:
		return HR_GRAY;
	}
}

// Whether the two last of three components are alike, and the first is none of those
// that libjpeg would call subsampled.
static int has_planes(j_decompress_ptr c) {
	const jpeg_component_info *p = c->comp_info;
	if (c->num_components == 1)
		return c->jpeg_color_space == JCS_GRAYSCALE;
	return c->num_components == 3 && (c->jpeg_color_space == JCS_YCbCr || c->jpeg_color_space == JCS_RGB) &&
	       p[0].h_samp_factor == c->max_h_samp_factor && p[0].v_samp_factor == c->max_v_samp_factor &&
	       p[1].h_samp_factor == p[2].h_samp_factor && p[1].v_samp_factor == p[2].v_samp_factor;
}

int hr_open(hr_decoder *d, const hr_job *job, const uint8_t *src, size_t n, int eighths, hr_shape *shape) {
	j_decompress_ptr c = &d->jpeg;
	memset(shape, 0, sizeof(*shape));
	d->status = HR_OK;
	if (setjmp(d->failed)) {
		reset(d);
		return d->status;
	}
	read_header(d, job, src, n);
	d->left = d->source.bytes_in_buffer;
	if (!has_planes(c)) {
		reset(d);
		return HR_OK;
	}
	c->out_color_space = c->jpeg_color_space;
	c->do_fancy_upsampling = FALSE;
	c->scale_num = eighths;
	c->scale_denom = 8;
	jpeg_calc_output_dimensions(c);
	shape->planes = c->num_components;
	shape->kind = plane_kind(c);
	shape->pixels_across = c->max_h_samp_factor * DCTSIZE;
	shape->pixels_down = c->max_v_samp_factor * DCTSIZE;
	for (int i = 0; i < c->num_components && i < 2; i++) {
		const jpeg_component_info *part = &c->comp_info[i];
		shape->width[i] = part->downsampled_width;
		shape->height[i] = part->downsampled_height;
		shape->across[i] = part->h_samp_factor * BLOCK_ACROSS(part);
		shape->down[i] = part->v_samp_factor * BLOCK_DOWN(part);
	}
	return HR_OK;
}

// libjpeg's modules begin with two functions: one that begins a pass, and one that does
// the work. Of those between inverse transform and output, the work of the last is
// taken over here, which sees the planes that it would have made pixels of.
typedef struct {
	void (*start)(j_decompress_ptr c);
	void (*process)(j_decompress_ptr c, JSAMPIMAGE planes, JDIMENSION *group, JDIMENSION groups, JSAMPARRAY rows, JDIMENSION *row,
	                JDIMENSION max_rows);
} module;

static void take_planes(j_decompress_ptr c, JSAMPIMAGE planes, JDIMENSION *group, JDIMENSION groups, JSAMPARRAY rows, JDIMENSION *row,
                        JDIMENSION max_rows) {
	(void)rows;
	owner((j_common_ptr)c)->delivery = planes;
	*group = groups;
	*row = max_rows;
}

// The last module hands over to the upsampler where colours are not quantised: both
// have the same function then, or they are not what they are taken for, as in some
// libjpeg of the future.
static int can_take_planes(j_decompress_ptr c) {
	const module *last = (const module *)c->post, *upsampler = (const module *)c->upsample;
	return last->process && last->process == upsampler->process;
}

// Begins the output of the MCUs that are needed. Returns the first, and the number of
// rows of MCUs that were skipped.
static void begin_planes(j_decompress_ptr c, const hr_planes *s, int *first_across, int *first_down) {
	*first_across = *first_down = 0;
	if (is_smoothed(c))
		return;
	int across = INT32_MAX, end = 0, down = INT32_MAX;
	for (int i = 0; i < s->count; i++) {
		const hr_plane *p = &s->plane[i];
		const int w = step_across(c, &c->comp_info[i]), h = step_down(&c->comp_info[i]);
		const int a = p->x.lo / w, b = (p->x.lo + p->x.width + w - 1) / w, y = p->y.lo / h;
		across = a < across ? a : across;
		end = b > end ? b : end;
		down = y < down ? y : down;
	}
	const JDIMENSION unit = LEAST_BLOCK(c) * (c->num_components == 1 ? 1 : c->max_h_samp_factor);
	JDIMENSION from = across * unit, to = end * unit;
	if (to > c->output_width)
		to = c->output_width;
	if (from > 0 || to < c->output_width) {
		JDIMENSION width = to - from;
		jpeg_crop_scanline(c, &from, &width);
	}
	if (down > 0)
		jpeg_skip_scanlines(c, (JDIMENSION)down * c->max_v_samp_factor * LEAST_BLOCK(c));
	*first_across = from / unit;
	*first_down = down;
}

static void decode_planes(hr_decoder *d) {
	j_decompress_ptr c = &d->jpeg;
	hr_planes *s = &d->planes;
	int across, down;
	begin_planes(c, s, &across, &down);
	((module *)c->post)->process = take_planes;
	for (; hr_planes_wants(s); down++) {
		JSAMPROW unused = d->rows.data;
		const JDIMENSION left = c->output_height - c->output_scanline;
		const JDIMENSION rows = c->max_v_samp_factor * LEAST_BLOCK(c);
		jpeg_read_scanlines(c, &unused, left < rows ? left : rows);
		for (int i = 0; i < s->count; i++) {
			const jpeg_component_info *part = &c->comp_info[i];
			const int n = step_down(part);
			hr_planes_rows(s, i, (const uint8_t *const *)d->delivery[i], down * n, n, across * step_across(c, part));
		}
		hr_planes_flush(s);
	}
}

int hr_decode_planes(hr_decoder *d, const hr_kernels *k, const hr_job *job, const uint8_t *src, size_t n, uint8_t *dst, ptrdiff_t stride,
                     const hr_output *out, const hr_span *x_spans, const int32_t *x_weights, const hr_span *y_spans,
                     const int32_t *y_weights, const hr_span *chroma_x_spans, const int32_t *chroma_x_weights,
                     const hr_span *chroma_y_spans, const int32_t *chroma_y_weights) {
	j_decompress_ptr c = &d->jpeg;
	const hr_axis x[2] = {axis(job->x, x_spans, x_weights), axis(job->chroma_x, chroma_x_spans, chroma_x_weights)};
	const hr_axis y[2] = {axis(job->y, y_spans, y_weights), axis(job->chroma_y, chroma_y_spans, chroma_y_weights)};
	d->source.next_input_byte = src + (n - d->left);
	d->source.bytes_in_buffer = d->left;
	d->status = HR_OK;
	if (!hr_planes_begin(&d->planes, k, c->num_components, plane_kind(c), x, y, (hr_target){dst, stride, out, job->plane}) ||
	    !hr_buffer_need(&d->rows, 64)) {
		out_of_memory(d);
	} else if (!setjmp(d->failed)) {
		jpeg_start_decompress(c);
		if (can_take_planes(c))
			decode_planes(d);
		else
			d->status = HR_OTHERWISE;
	}
	reset(d);
	trim(d);
	return d->status;
}

int hr_front_shape(const hr_front *front, const void *header, int eighths, hr_shape *shape) { return front->shape(header, eighths, shape); }

int hr_front_planes(hr_decoder *d, const hr_kernels *k, const hr_front *front, const void *header, const hr_job *job, int eighths, int kind, const uint8_t *src,
                    size_t n, uint8_t *dst, ptrdiff_t stride, const hr_output *out, const hr_span *x_spans, const int32_t *x_weights,
                    const hr_span *y_spans, const int32_t *y_weights, const hr_span *chroma_x_spans, const int32_t *chroma_x_weights,
                    const hr_span *chroma_y_spans, const int32_t *chroma_y_weights) {
	const hr_axis x[2] = {axis(job->x, x_spans, x_weights), axis(job->chroma_x, chroma_x_spans, chroma_x_weights)};
	const hr_axis y[2] = {axis(job->y, y_spans, y_weights), axis(job->chroma_y, chroma_y_spans, chroma_y_weights)};
	const hr_region needed = {{x[0].lo, x[1].lo}, {y[0].lo, y[1].lo}, {x[0].width, x[1].width}, {y[0].width, y[1].width}};
	hr_planes *const s = &d->planes;
	if (!has_other(d, front) || !hr_planes_begin(s, k, kind == HR_GRAY ? 1 : 3, kind, x, y, (hr_target){dst, stride, out, job->plane}))
		return out_of_memory(d);
	d->status = HR_OK;
	if (!front->begin_planes(d->other, header, k->name, src, n, eighths, &needed))
		d->status = HR_OTHERWISE;
	while (d->status == HR_OK && hr_planes_wants(s)) {
		hr_band band;
		if (!front->band(d->other, &band)) {
			d->status = HR_OTHERWISE;
			break;
		}
		for (int i = 0; i < s->count; i++)
			hr_planes_rows(s, i, band.rows[i], band.row[i], band.n[i], band.from[i]);
		hr_planes_flush(s);
	}
	trim(d);
	return d->status;
}

void hr_transpose(uint8_t *dst, ptrdiff_t dst_stride, const uint8_t *src, ptrdiff_t src_stride, int width, int height) {
	for (int x = 0; x < width; x++, dst += dst_stride, src += 3) {
		const uint8_t *from = src;
		uint8_t *to = dst;
		for (int y = 0; y < height; y++, from += src_stride, to += 3) {
			to[0] = from[0];
			to[1] = from[1];
			to[2] = from[2];
		}
	}
}

uint8_t *hr_stage_memory(hr_decoder *d, int which, size_t size) {
	return hr_buffer_need(&d->stage[which], size + HR_PAD) ? d->stage[which].data : NULL;
}

void hr_trim(hr_decoder *d) {
	for (int i = 0; i < 3; i++)
		hr_buffer_trim(&d->stage[i]);
}

const char *hr_message(const hr_decoder *d) { return d->message; }
