#include "blur.h"

static const hr_blur_kernels *kernels_for(const hr_kernels *k) {
#if defined(__x86_64__)
	if (k == &hr_avx512 || k == &hr_avx2)
		return &hr_blur_avx2;
#endif
	(void)k;
	return &hr_blur_plain;
}

static int mirrored(int i, int n) {
	if (n == 1)
		return 0;
	int period = 2 * (n - 1);
	i %= period;
	if (i < 0)
		i += period;
	return i < period - i ? i : period - i;
}

static int held(int height, int reach) { return height < 2 * reach + 1 ? height : 2 * reach + 1; }

static size_t padded(int n) { return ((size_t)n + HR_BLUR_STEP - 1) / HR_BLUR_STEP * HR_BLUR_STEP; }

size_t hr_blur_scratch(int channels, int width, int height, int reach) {
	size_t n = padded(width * channels);
	return n * held(height, reach) + n + 2 * (size_t)reach * channels;
}

// Gives a row the pixels beyond both edges.
static void widen(int16_t *to, const uint8_t *row, int width, int channels, int reach) {
	int16_t *in = to + reach * channels;
	for (int i = 0; i < width * channels; i++)
		in[i] = row[i];
	for (int k = 1; k <= reach; k++) {
		const uint8_t *left = row + mirrored(-k, width) * channels, *right = row + mirrored(width - 1 + k, width) * channels;
		for (int c = 0; c < channels; c++) {
			in[c - k * channels] = left[c];
			in[c + (width - 1 + k) * channels] = right[c];
		}
	}
}

void hr_blur_picture(const hr_kernels *set, const hr_blur_weights *w, uint8_t *pixels, int channels, int width, int height,
                     ptrdiff_t stride, int16_t *scratch) {
	const hr_blur_kernels *k = kernels_for(set);
	int n = width * channels, reach = w->reach, rows = held(height, reach), next = 0;
	size_t row = padded(n);
	int16_t *ring = scratch, *wide = scratch + rows * row;
	hr_blur_rows in;
	for (int y = 0; y < height; y++) {
		for (; next < height && next <= y + reach; next++) {
			widen(wide, pixels + next * stride, width, channels, reach);
			for (int i = 0; i <= reach; i++) {
				in.lo[i] = wide + (reach - i) * channels;
				in.hi[i] = wide + (reach + i) * channels;
			}
			in.lo[reach + 1] = in.hi[reach + 1] = in.lo[0];
			k->across(w, &in, ring + next % rows * row, n);
		}
		for (int i = 0; i <= reach; i++) {
			in.lo[i] = ring + mirrored(y - i, height) % rows * row;
			in.hi[i] = ring + mirrored(y + i, height) % rows * row;
		}
		in.lo[reach + 1] = in.hi[reach + 1] = in.lo[0];
		k->down(w, &in, pixels + y * stride, n);
	}
}

// Enough sums for a row's part to stay in the nearest cache.
enum { part = 256 };

static void sum(int32_t *sums, const hr_blur_weights *w, const hr_blur_rows *rows, int at, int n, int shift) {
	for (int i = 0; i < n; i++)
		sums[i] = (1 << (shift - 1)) + w->at[0] * rows->lo[0][at + i];
	for (int k = 1; k <= w->reach; k++) {
		const int16_t *lo = rows->lo[k] + at, *hi = rows->hi[k] + at;
		int16_t weight = w->at[k];
		for (int i = 0; i < n; i++)
			sums[i] += weight * (int16_t)(lo[i] + hi[i]);
	}
	for (int i = 0; i < n; i++)
		sums[i] >>= shift;
}

static void across(const hr_blur_weights *w, const hr_blur_rows *rows, int16_t *to, int n) {
	int32_t sums[part];
	for (int at = 0; at < n; at += part) {
		int now = n - at < part ? n - at : part;
		sum(sums, w, rows, at, now, HR_BLUR_BITS - HR_BLUR_BETWEEN);
		for (int i = 0; i < now; i++)
			to[at + i] = (int16_t)sums[i];
	}
}

static void down(const hr_blur_weights *w, const hr_blur_rows *rows, uint8_t *to, int n) {
	int32_t sums[part];
	for (int at = 0; at < n; at += part) {
		int now = n - at < part ? n - at : part;
		sum(sums, w, rows, at, now, HR_BLUR_BITS + HR_BLUR_BETWEEN);
		for (int i = 0; i < now; i++)
			to[at + i] = (uint8_t)sums[i];
	}
}

const hr_blur_kernels hr_blur_plain = {across, down};
