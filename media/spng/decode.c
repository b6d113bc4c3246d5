#include "decode.h"

#include <spng.h>
#include <string.h>

// A source is what of a file has not been read yet.
typedef struct {
	const uint8_t *at, *end;
	size_t left; // bytes up to the next chunk
} source;

static int read_needed(spng_ctx *ctx, void *from, void *dst, size_t n);
static int rows(spng_ctx *ctx, uint8_t *dst, ptrdiff_t stride, int width, int height, int form);
static int kind(int error);

int hr_spng_decode(const uint8_t *src, size_t size, uint8_t *dst, ptrdiff_t stride, int width, int height, int form, const char **message) {
	spng_ctx *ctx = spng_ctx_new(0);
	if (ctx == NULL) return HR_SPNG_MEMORY;
	struct spng_ihdr header;
	// Checksums are verified already, by faster code.
	spng_set_crc_action(ctx, SPNG_CRC_USE, SPNG_CRC_USE);
	source from = {src, src + size, 8};
	int error = spng_set_png_stream(ctx, read_needed, &from);
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

// next_chunk goes to the next chunk on which pixels depend. Others are never shown to
// libspng, which would uncompress texts and profiles of any size and keep them.
static int next_chunk(source *s) {
	while (s->end - s->at >= 8) {
		const uint8_t *c = s->at;
		const size_t size = ((size_t)c[0] << 24 | (size_t)c[1] << 16 | (size_t)c[2] << 8 | c[3]) + 12;
		const int ancillary = c[4] & 0x20;
		if (!ancillary || memcmp(c + 4, "tRNS", 4) == 0) {
			s->left = size;
			return 1;
		}
		if (size > (size_t)(s->end - s->at)) return 0;
		s->at += size;
	}
	return 0;
}

static int read_needed(spng_ctx *ctx, void *from, void *dst, size_t n) {
	(void)ctx;
	source *s = from;
	for (uint8_t *to = dst; n > 0;) {
		if (s->left == 0 && !next_chunk(s)) return SPNG_IO_EOF;
		const size_t m = n < s->left ? n : s->left;
		if (m > (size_t)(s->end - s->at)) return SPNG_IO_EOF;
		memcpy(to, s->at, m);
		to += m;
		n -= m;
		s->at += m;
		s->left -= m;
	}
	return 0;
}

// rows writes row by row, since rows of dst may have gaps between them. Those of an
// interlaced picture come several times, a few pixels at a time.
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
	case SPNG_IO_EOF:
	case SPNG_EIDAT_TOO_SHORT:
		return HR_SPNG_TRUNCATED;
	}
	return HR_SPNG_CORRUPT;
}

const char *hr_spng_version(void) { return spng_version_string(); }
