// A picture in memory becomes a WebP.
#ifndef HEADRACE_WEBP_ENCODE_H
#define HEADRACE_WEBP_ENCODE_H

#include <stddef.h>
#include <stdint.h>

typedef struct {
	int32_t width, height, alpha; // RGBA instead of RGB
	int32_t lossless;
	int32_t quality; // of lossy, 1 to 100
	int32_t effort;  // 1 to 9
} hr_webp_picture;

typedef struct {
	uint8_t *data; // to be given to hr_webp_release
	size_t size;
} hr_webp_file;

// Encodes rows of pixels that are stride bytes apart. Returns 0 and the file, or
// libwebp's code for what went wrong; -1 for options that libwebp does not take.
int hr_webp_encode(const hr_webp_picture *p, const uint8_t *pixels, int stride, hr_webp_file *file);
void hr_webp_release(uint8_t *data);

#endif
