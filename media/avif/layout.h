// What is used of libavif's structures: their beginnings. They are the same in all
// releases of a version of the library's binary interface, and libavif itself allocates
// those that it owns.
#ifndef HR_AVIF_LAYOUT_H
#define HR_AVIF_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

// avifImage, the same in both versions.
typedef struct {
	uint32_t width, height, depth;
	int32_t yuv_format, yuv_range, chroma_position;
	uint8_t *yuv_planes[3];
	uint32_t yuv_row_bytes[3];
	int32_t owns_yuv;
	uint8_t *alpha_plane;
} hr_image;

// avifDecoder, the same in both versions as far as it is used.
typedef struct {
	int32_t codec, max_threads, source, progressive, incremental, ignore_exif, ignore_xmp;
	uint32_t size_limit, dimension_limit, count_limit, strict;
	hr_image *image;
	uint8_t unused[104];
	char error[256];
} hr_decoder;

_Static_assert(offsetof(hr_image, alpha_plane) == 64, "avifImage");
_Static_assert(offsetof(hr_decoder, image) == 48, "avifDecoder");
_Static_assert(offsetof(hr_decoder, error) == 160, "avifDecoder");

// avifRGBImage of libavif.so.15: 0.11.
typedef struct {
	uint32_t width, height, depth;
	int32_t format, upsampling, downsampling, avoid_libyuv, ignore_alpha, premultiplied, is_float;
	uint8_t *pixels;
	uint32_t row_bytes;
} hr_rgb_15;

// avifRGBImage of libavif.so.16: 1.0 and later.
typedef struct {
	uint32_t width, height, depth;
	int32_t format, upsampling, downsampling, avoid_libyuv, ignore_alpha, premultiplied, is_float, max_threads;
	uint8_t *pixels;
	uint32_t row_bytes;
} hr_rgb_16;

// Room for either, and for what later releases may add at the end.
typedef union {
	hr_rgb_15 v15;
	hr_rgb_16 v16;
	uint8_t room[256];
} hr_rgb;

#endif
