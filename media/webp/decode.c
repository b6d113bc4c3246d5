#include "decode.h"

#include <webp/decode.h>

int hr_webp_decode(const uint8_t *src, size_t size, uint8_t *dst, ptrdiff_t stride, int width, int height, int channels) {
	WebPDecoderConfig config;
	if (!WebPInitDecoderConfig(&config)) return VP8_STATUS_INVALID_PARAM;
	VP8StatusCode status = WebPGetFeatures(src, size, &config.input);
	if (status != VP8_STATUS_OK) return status;
	if (config.input.width != width || config.input.height != height) return HR_WEBP_OTHER_SIZE;
	config.output.colorspace = channels == 4 ? MODE_RGBA : MODE_RGB;
	config.output.is_external_memory = 1;
	config.output.u.RGBA.rgba = dst;
	config.output.u.RGBA.stride = (int)stride;
	config.output.u.RGBA.size = (size_t)stride * (size_t)(height - 1) + (size_t)width * (size_t)channels;
	status = WebPDecode(src, size, &config);
	WebPFreeDecBuffer(&config.output);
	return status;
}

int hr_webp_version(void) { return WebPGetDecoderVersion(); }
