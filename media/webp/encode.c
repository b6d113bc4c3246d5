#include "encode.h"

#include <webp/encode.h>

// libwebp has ten presets for lossless pictures, and seven methods for lossy ones.
static int configure(WebPConfig *c, const hr_webp_picture *p) {
	if (!WebPConfigInit(c))
		return 0;
	if (p->lossless) {
		c->exact = 1; // colours stay where nothing of them is seen
		return WebPConfigLosslessPreset(c, p->effort);
	}
	c->quality = p->quality;
	c->method = p->effort * 6 / 9;
	return WebPValidateConfig(c);
}

int hr_webp_encode(const hr_webp_picture *p, const uint8_t *pixels, int stride, hr_webp_file *file) {
	WebPConfig config;
	WebPPicture picture;
	WebPMemoryWriter writer;
	if (!configure(&config, p) || !WebPPictureInit(&picture))
		return -1;
	WebPMemoryWriterInit(&writer);
	picture.use_argb = 1;
	picture.width = p->width;
	picture.height = p->height;
	picture.writer = WebPMemoryWrite;
	picture.custom_ptr = &writer;
	int ok = p->alpha ? WebPPictureImportRGBA(&picture, pixels, stride) : WebPPictureImportRGB(&picture, pixels, stride);
	ok = ok && WebPEncode(&config, &picture);
	int code = ok ? 0 : picture.error_code;
	WebPPictureFree(&picture);
	if (!ok) {
		WebPMemoryWriterClear(&writer);
		return code ? code : VP8_ENC_ERROR_OUT_OF_MEMORY;
	}
	file->data = writer.mem;
	file->size = writer.size;
	return 0;
}

void hr_webp_release(uint8_t *data) { WebPFree(data); }
