// The decoding half: one call decodes a picture into its place.
#ifndef HR_WEBP_DECODE_H
#define HR_WEBP_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum { HR_WEBP_OTHER_SIZE = 100 };

// hr_webp_decode writes a picture of width x height pixels, of 3 or 4 channels, into
// dst. src is a file, or the chunks of a frame. It returns libwebp's VP8StatusCode, or
// HR_WEBP_OTHER_SIZE if the picture has another size than that.
int hr_webp_decode(const uint8_t *src, size_t size, uint8_t *dst, ptrdiff_t stride, int width, int height, int channels);

// hr_webp_version is the version of the library: a byte each for major, minor and
// revision.
int hr_webp_version(void);

#endif
