// A picture in memory becomes a JPEG.
#ifndef HEADRACE_ENCODE_H
#define HEADRACE_ENCODE_H

#include <stddef.h>
#include <stdint.h>
#include "decode.h"

typedef struct {
	int32_t width, height, channels; // 1: grey, 3: RGB
	int32_t quality;                 // 1 to 100
	int32_t across, down;            // pixels for each sample of colour
	int32_t progressive;
} hr_picture;

typedef struct {
	uint8_t *data; // to be released with hr_release
	size_t size;
	char message[200];
} hr_file;

// Encodes rows of pixels that are stride bytes apart. Returns HR_OK and the file, or
// what went wrong, with libjpeg's words.
int hr_encode(const hr_picture *p, const uint8_t *pixels, ptrdiff_t stride, hr_file *file);

#endif
