#include "decode.h"

#include <spng.h>

static int rows(spng_ctx *ctx, uint8_t *dst, ptrdiff_t stride, int width, int height, int form);
static int kind(int error);

int hr_spng_decode(const uint8_t *src, size_t size, uint8_t *dst, ptrdiff_t stride, int width, int height, int form, const char **message) {
	spng_ctx *ctx = spng_ctx_new(0);
	if (ctx == NULL) return HR_SPNG_MEMORY;
	struct spng_ihdr header;
	// Checksums are verified already, by faster code; and text is kept, by libspng, although nobody reads it.
	spng_set_crc_action(ctx, SPNG_CRC_USE, SPNG_CRC_USE);
	spng_set_chunk_limits(ctx, HR_SPNG_TEXT, HR_SPNG_TEXT);
	int error = spng_set_png_buffer(ctx, src, size);
	if (error == 0) error = spng_get_ihdr(ctx, &header);
	int result = HR_SPNG_OK;
	if (error == 0 && (header.width != (uint32_t)width || header.height != (uint32_t)height)) {
		result = HR_SPNG_OTHER_SIZE;
	} else {
		if (error == 0) error = rows(ctx, dst, stride, width, height, form);
		if (error != 0) {
			result = kind(error);
			*message = spng_strerror(error);
		}
	}
	spng_ctx_free(ctx);
	return result;
}

// rows writes row by row, since rows of dst may have gaps between them. Those of an interlaced picture come several times, a few pixels at a time.
static int rows(spng_ctx *ctx, uint8_t *dst, ptrdiff_t stride, int width, int height, int form) {
	static const struct {
		int format, bytes, flags;
	} forms[] = {
		[HR_SPNG_RGB8] = {SPNG_FMT_RGB8, 3, 0},
		[HR_SPNG_RGBA8] = {SPNG_FMT_RGBA8, 4, SPNG_DECODE_TRNS},
		[HR_SPNG_RGBA16] = {SPNG_FMT_RGBA16, 8, SPNG_DECODE_TRNS},
		[HR_SPNG_G8] = {SPNG_FMT_G8, 1, 0},
	};
	size_t n = (size_t)width * (size_t)forms[form].bytes;
	int error = spng_decode_image(ctx, NULL, 0, forms[form].format, forms[form].flags | SPNG_DECODE_PROGRESSIVE);
	while (error == 0) {
		struct spng_row_info row;
		error = spng_get_row_info(ctx, &row);
		if (error != 0) break;
		if (row.row_num >= (uint32_t)height) return SPNG_EINTERNAL;
		error = spng_decode_row(ctx, dst + (ptrdiff_t)row.row_num * stride, n);
	}
	return error == SPNG_EOI ? 0 : error;
}

static int kind(int error) {
	switch (error) {
	case SPNG_EMEM:
		return HR_SPNG_MEMORY;
	case SPNG_ECHUNK_LIMITS:
		return HR_SPNG_TOO_LARGE;
	case SPNG_IO_EOF:
	case SPNG_EIDAT_TOO_SHORT:
		return HR_SPNG_TRUNCATED;
	}
	return HR_SPNG_CORRUPT;
}
