#include "decode.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "layout.h"

struct hr_avif {
	int layout; // 15 or 16
	const char *(*version)(void);
	void (*codecs)(char *);
	hr_decoder *(*create)(void);
	void (*destroy)(hr_decoder *);
	int (*set_memory)(hr_decoder *, const uint8_t *, size_t);
	int (*parse)(hr_decoder *);
	int (*next)(hr_decoder *);
	void (*rgb_defaults)(hr_rgb *, const hr_image *);
	int (*to_rgb)(const hr_image *, hr_rgb *);
	const char *(*result)(int);
};

static int load(hr_avif *lib, void *handle, const char **missing);
static int into(const hr_avif *lib, hr_decoder *d, const hr_avif_job *job, const uint8_t *src, size_t size, uint8_t *dst, ptrdiff_t stride);

hr_avif *hr_avif_open(const char *name, char **why) {
	char text[600];
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		*why = strdup(dlerror());
		return NULL;
	}
	hr_avif *lib = calloc(1, sizeof *lib);
	const char *missing = "memory";
	if (lib != NULL && load(lib, handle, &missing)) {
		int major = 0, minor = 0;
		sscanf(lib->version(), "%d.%d", &major, &minor);
		if (major == 0 && minor == 11) lib->layout = 15;
		if (major == 1) lib->layout = 16;
		if (lib->layout != 0) return lib;
		snprintf(text, sizeof text, "%s is libavif %.100s: only 0.11 and 1.x are known", name, lib->version());
	} else {
		snprintf(text, sizeof text, "%s has no %s", name, missing);
	}
	*why = strdup(text);
	free(lib);
	dlclose(handle);
	return NULL;
}

static int load(hr_avif *lib, void *handle, const char **missing) {
	const struct {
		const char *name;
		void *to;
	} functions[] = {
		{"avifVersion", &lib->version},
		{"avifCodecVersions", &lib->codecs},
		{"avifDecoderCreate", &lib->create},
		{"avifDecoderDestroy", &lib->destroy},
		{"avifDecoderSetIOMemory", &lib->set_memory},
		{"avifDecoderParse", &lib->parse},
		{"avifDecoderNextImage", &lib->next},
		{"avifRGBImageSetDefaults", &lib->rgb_defaults},
		{"avifImageYUVToRGB", &lib->to_rgb},
		{"avifResultToString", &lib->result},
	};
	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		void *f = dlsym(handle, functions[i].name);
		*missing = functions[i].name;
		if (f == NULL) return 0;
		memcpy(functions[i].to, &f, sizeof f);
	}
	return 1;
}

const char *hr_avif_version(const hr_avif *lib) { return lib->version(); }

void hr_avif_codecs(const hr_avif *lib, char *text) { lib->codecs(text); }

int hr_avif_decode(const hr_avif *lib, const hr_avif_job *job, const uint8_t *src, size_t size, uint8_t *dst, ptrdiff_t stride, char *message) {
	hr_decoder *d = lib->create();
	if (d == NULL) return HR_AVIF_MEMORY;
	int result = into(lib, d, job, src, size, dst, stride);
	if (result != 0 && result < HR_AVIF_OTHER_SIZE) {
		size_t n = strnlen(d->error, sizeof d->error);
		snprintf(message, 256, "%.100s%s%.*s", lib->result(result), n > 0 ? ": " : "", (int)(n < 140 ? n : 140), d->error);
	}
	lib->destroy(d);
	return result;
}

// into needs no limit on sides beside that on pixels. As Pillow does, it is not strict
// about what many encoders leave out.
static int into(const hr_avif *lib, hr_decoder *d, const hr_avif_job *job, const uint8_t *src, size_t size, uint8_t *dst, ptrdiff_t stride) {
	d->max_threads = 1;
	d->ignore_exif = d->ignore_xmp = 1;
	d->size_limit = job->max_pixels;
	d->dimension_limit = 0;
	d->strict = 0;
	int result = lib->set_memory(d, src, size);
	if (result == 0) result = lib->parse(d);
	if (result != 0) return result;
	if (d->image->width != (uint32_t)job->width || d->image->height != (uint32_t)job->height) return HR_AVIF_OTHER_SIZE;
	result = lib->next(d);
	if (result != 0) return result;
	if (d->image->width != (uint32_t)job->width || d->image->height != (uint32_t)job->height) return HR_AVIF_OTHER_SIZE;
	if (d->image->alpha_plane != NULL && job->channels == 3) return HR_AVIF_HAS_ALPHA;

	hr_rgb rgb;
	memset(&rgb, 0, sizeof rgb);
	lib->rgb_defaults(&rgb, d->image);
	rgb.v15.depth = (uint32_t)job->depth;
	rgb.v15.format = job->channels == 4; // RGB is 0, RGBA 1
	if (lib->layout == 15) {
		rgb.v15.pixels = dst;
		rgb.v15.row_bytes = (uint32_t)stride;
	} else {
		rgb.v16.max_threads = 1;
		rgb.v16.pixels = dst;
		rgb.v16.row_bytes = (uint32_t)stride;
	}
	return lib->to_rgb(d->image, &rgb);
}
