// The conversion that package yuv defines, in C.
#ifndef HEADRACE_YUV_CONVERT_H
#define HEADRACE_YUV_CONVERT_H

#include <stddef.h>
#include <stdint.h>

enum { HR_YUV_GRAY = 1, HR_YUV_YUV = 2, HR_YUV_RGB = 3 };
enum { HR_YUV_LEFT = 0, HR_YUV_CENTRE = 1, HR_YUV_TOP_LEFT = 2 };

// How a part's samples are found: those of a row step bytes apart, of one byte or two, above shift bits.
typedef struct {
	int64_t stride;
	int32_t step, bytes, shift, width, height;
} hr_yuv_part;

typedef struct {
	hr_yuv_part part[3];
	int32_t kind, width, height, bits, chroma_x, chroma_y, siting;
	int32_t wide; // 16 bits come out
	int32_t avx2; // the processor has it
	int32_t depth, point, parts; // of yuv.Factors
	int64_t luma, red_v, green_u, green_v, blue_u, red, green, blue;
	int64_t stride; // of the target
} hr_yuv_job;

// Converts a picture, given the first rows of its parts. Returns 0 if there is no memory.
int hr_yuv_convert(const hr_yuv_job *job, const uint8_t *a, const uint8_t *b, const uint8_t *c, uint8_t *to);

#endif
