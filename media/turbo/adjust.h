// Changes of colours, in place. What they compute is defined by github.com/headrace/headrace/media
// (Adjust.Apply); every set of kernels gives the same bytes.
#ifndef HEADRACE_ADJUST_H
#define HEADRACE_ADJUST_H

#include "kernels.h"

// In the order of media.AdjustKind.
enum { HR_BRIGHTNESS, HR_CONTRAST, HR_SATURATION, HR_HUE, HR_GRAYSCALE, HR_TO_GRAY };

// Laid out as media.Adjust.
typedef struct {
	uint8_t kind;
	float factor; // finite; for a hue from -1/2 to 1/2
} hr_adjust;

// Applies a list of changes to a picture: rows of pixels of 1, 3 or 4 channels, of
// which the fourth stays as it is. After HR_TO_GRAY a pixel has one channel, and each
// row begins where it began. Only bytes of pixels are read and written. Where the list
// has no HR_CONTRAST, a picture may be given in parts: it makes no difference.
void hr_adjust_picture(const hr_kernels *k, const hr_adjust *list, int n, uint8_t *pixels, int channels, int width, int height,
                       ptrdiff_t stride);

// The same for channels of 16 bits, which HR_GRAYSCALE and HR_TO_GRAY alone can change;
// the others are passed over.
void hr_adjust_picture16(const hr_adjust *list, int n, uint8_t *pixels, int channels, int width, int height, ptrdiff_t stride);

// Every byte goes from one value to its own by factor; table says where that is.
typedef struct {
	uint8_t table[256];
	uint8_t from;
	float factor;
} hr_blend;

void hr_blend_set(hr_blend *b, uint8_t from, float factor);

// Gives every byte of a picture but its fourth channel that of a table of 256.
void hr_table_picture(const hr_kernels *k, const uint8_t *table, uint8_t *pixels, int channels, int width, int height, ptrdiff_t stride);

// Gives every byte of a picture but its fourth channel that of the table of its channel.
void hr_tables_picture(const hr_kernels *k, const uint8_t tables[3][256], uint8_t *pixels, int channels, int width, int height,
                       ptrdiff_t stride);

// The kernels, one per change. All but look_up3 take RGB rows and touch nothing beyond them.
typedef struct {
	void (*blend)(const hr_blend *b, uint8_t *row, int bytes);
	void (*saturate)(float factor, uint8_t *rgb, int pixels);
	// Hues, of which the circle has 256, are turned by so many.
	void (*turn)(uint8_t by, uint8_t *rgb, int pixels);
	void (*grayscale)(uint8_t *rgb, int pixels);
	// gray may be rgb.
	void (*to_gray)(const uint8_t *rgb, uint8_t *gray, int pixels);
	// The sum of all pixels' lightness.
	uint64_t (*lightness)(const uint8_t *rgb, int pixels);
	void (*look_up)(const uint8_t *table, uint8_t *row, int bytes);
	// A table for each of three channels; a fourth stays as it is.
	void (*look_up3)(const uint8_t tables[3][256], uint8_t *row, int channels, int pixels);
} hr_adjust_kernels;

extern const hr_adjust_kernels hr_adjust_plain;
void hr_look_up3(const uint8_t tables[3][256], uint8_t *row, int channels, int pixels); // of several sets
#if defined(__x86_64__)
extern const hr_adjust_kernels hr_adjust_avx2, hr_adjust_avx512;
#endif

#endif
