#ifndef _GNU_SOURCE
#define _GNU_SOURCE // RTLD_DEEPBIND
#endif
#include "libtiff.h"

#include <dlfcn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What is used of libtiff's interface, which has not changed since 4.5, the first
// libtiff.so.6. That is the first, too, in which each image has its own handlers for
// errors and its own limit of memory: with those for the whole process, one image's
// error could be another's.
typedef int (*complain)(void *tif, void *user, const char *module, const char *format, va_list args);
typedef int64_t (*transfer)(void *user, void *data, int64_t size);
typedef uint64_t (*seek)(void *user, uint64_t to, int whence);
typedef int (*finish)(void *user);
typedef uint64_t (*measure)(void *user);
typedef int (*map)(void *user, void **base, uint64_t *size);
typedef void (*unmap)(void *user, void *base, uint64_t size);

#define FUNCTIONS(F) \
	F(const char *, TIFFGetVersion, (void)) \
	F(void *, TIFFOpenOptionsAlloc, (void)) \
	F(void, TIFFOpenOptionsFree, (void *)) \
	F(void, TIFFOpenOptionsSetMaxSingleMemAlloc, (void *, int64_t)) \
	F(void, TIFFOpenOptionsSetErrorHandlerExtR, (void *, complain, void *)) \
	F(void, TIFFOpenOptionsSetWarningHandlerExtR, (void *, complain, void *)) \
	F(void *, TIFFClientOpenExt, (const char *, const char *, void *, transfer, transfer, seek, finish, measure, map, unmap, void *)) \
	F(void, TIFFClose, (void *)) \
	F(int, TIFFGetField, (void *, uint32_t, ...)) \
	F(int, TIFFGetFieldDefaulted, (void *, uint32_t, ...)) \
	F(int, TIFFSetField, (void *, uint32_t, ...)) \
	F(int, TIFFIsTiled, (void *)) \
	F(int64_t, TIFFScanlineSize, (void *)) \
	F(int64_t, TIFFTileRowSize, (void *)) \
	F(int64_t, TIFFTileSize, (void *)) \
	F(uint32_t, TIFFNumberOfStrips, (void *)) \
	F(uint32_t, TIFFNumberOfTiles, (void *)) \
	F(uint64_t, TIFFGetStrileByteCount, (void *, uint32_t)) \
	F(int, TIFFReadScanline, (void *, void *, uint32_t, uint16_t)) \
	F(int64_t, TIFFReadTile, (void *, void *, uint32_t, uint32_t, uint32_t, uint16_t)) \
	F(int, TIFFReadRGBAStripExt, (void *, uint32_t, uint32_t *, int)) \
	F(int, TIFFReadRGBATileExt, (void *, uint32_t, uint32_t, uint32_t *, int))

#ifdef HR_TIFF_STATIC
#define F(result, name, arguments) extern result name arguments;
FUNCTIONS(F)
#undef F
#endif

struct hr_tiff_library {
#define F(result, name, arguments) result(*name) arguments;
	FUNCTIONS(F)
#undef F
};

struct hr_tiff {
	const hr_tiff_library *lib;
	void *tif;
	const uint8_t *src;
	uint64_t size, at;
	char message[HR_TIFF_MESSAGE]; // the first since the last call
};

enum {
	TAG_WIDTH = 256,
	TAG_HEIGHT = 257,
	TAG_BITS = 258,
	TAG_COMPRESSION = 259,
	TAG_PHOTOMETRIC = 262,
	TAG_ORIENTATION = 274,
	TAG_SAMPLES = 277,
	TAG_STRIP_ROWS = 278,
	TAG_PLANAR = 284,
	TAG_COLORS = 320,
	TAG_TILE_WIDTH = 322,
	TAG_TILE_HEIGHT = 323,
	TAG_EXTRAS = 338,
	TAG_FORMAT = 339,
	TAG_JPEG_MODE = 65538,
	JPEG = 7,
	YCBCR = 6,
};

hr_tiff_library *hr_tiff_load(const char *name, char **why) {
	hr_tiff_library *lib = calloc(1, sizeof *lib);
	if (lib == NULL) {
		*why = strdup("no memory");
		return NULL;
	}
	if (name == NULL) {
#ifdef HR_TIFF_STATIC
#define F(result, name, arguments) lib->name = name;
		FUNCTIONS(F)
#undef F
		return lib;
#else
		free(lib);
		*why = strdup("none is linked in");
		return NULL;
#endif
	}
	int flags = RTLD_NOW | RTLD_LOCAL;
#ifdef HR_TIFF_STATIC
	flags |= RTLD_DEEPBIND; // another libtiff must not call functions of the one in here
#endif
	void *handle = dlopen(name, flags);
	if (handle == NULL) {
		*why = strdup(dlerror());
		free(lib);
		return NULL;
	}
	const struct {
		const char *name;
		void *to;
	} functions[] = {
#define F(result, name, arguments) {#name, &lib->name},
		FUNCTIONS(F)
#undef F
	};
	for (size_t i = 0; i < sizeof functions / sizeof functions[0]; i++) {
		void *f = dlsym(handle, functions[i].name);
		if (f == NULL) {
			char text[400];
			snprintf(text, sizeof text, "%.200s has no %s: it is older than libtiff 4.5", name, functions[i].name);
			*why = strdup(text);
			free(lib);
			dlclose(handle);
			return NULL;
		}
		memcpy(functions[i].to, &f, sizeof f);
	}
	return lib;
}

// The text begins in the second line: "LIBTIFF, Version 4.5.0".
const char *hr_tiff_version(const hr_tiff_library *lib) { return lib->TIFFGetVersion(); }

static int note(void *tif, void *user, const char *module, const char *format, va_list args) {
	(void)tif;
	hr_tiff *t = user;
	if (t->message[0] == 0) {
		int n = snprintf(t->message, sizeof t->message, "%.60s: ", module != NULL ? module : "libtiff");
		vsnprintf(t->message + n, sizeof t->message - (size_t)n, format, args);
	}
	return 1; // nobody else is told
}

// Warnings are about files that are read all the same.
static int ignore(void *tif, void *user, const char *module, const char *format, va_list args) {
	(void)tif, (void)user, (void)module, (void)format, (void)args;
	return 1;
}

static int64_t read_data(void *user, void *data, int64_t size) {
	hr_tiff *t = user;
	uint64_t left = t->at < t->size ? t->size - t->at : 0;
	uint64_t n = size < 0 ? 0 : (uint64_t)size < left ? (uint64_t)size : left;
	memcpy(data, t->src + t->at * (n > 0), n);
	t->at += n;
	return (int64_t)n;
}

static int64_t write_data(void *user, void *data, int64_t size) {
	(void)user, (void)data, (void)size;
	return -1;
}

static uint64_t seek_data(void *user, uint64_t to, int whence) {
	hr_tiff *t = user;
	t->at = whence == SEEK_CUR ? t->at + to : whence == SEEK_END ? t->size + to : to;
	return t->at;
}

static int close_data(void *user) {
	(void)user;
	return 0;
}

static uint64_t data_size(void *user) { return ((hr_tiff *)user)->size; }

// map_data has libtiff read where the data lie. It never writes there.
static int map_data(void *user, void **base, uint64_t *size) {
	hr_tiff *t = user;
	*base = (void *)(uintptr_t)t->src;
	*size = t->size;
	return 1;
}

static void unmap_data(void *user, void *base, uint64_t size) { (void)user, (void)base, (void)size; }

static int told(hr_tiff *t, int ok, char *message) {
	if (!ok) memcpy(message, t->message, HR_TIFF_MESSAGE);
	t->message[0] = 0;
	return !ok;
}

static void read_head(hr_tiff *t, hr_tiff_head *h) {
	const hr_tiff_library *lib = t->lib;
	memset(h, 0, sizeof *h);
	h->photometric = UINT16_MAX;
	lib->TIFFGetField(t->tif, TAG_WIDTH, &h->width);
	lib->TIFFGetField(t->tif, TAG_HEIGHT, &h->height);
	lib->TIFFGetField(t->tif, TAG_PHOTOMETRIC, &h->photometric);
	lib->TIFFGetFieldDefaulted(t->tif, TAG_COMPRESSION, &h->compression);
	lib->TIFFGetFieldDefaulted(t->tif, TAG_PLANAR, &h->planar);
	lib->TIFFGetFieldDefaulted(t->tif, TAG_BITS, &h->bits);
	lib->TIFFGetFieldDefaulted(t->tif, TAG_SAMPLES, &h->samples);
	lib->TIFFGetFieldDefaulted(t->tif, TAG_FORMAT, &h->format);
	uint16_t *extras = NULL;
	if (lib->TIFFGetFieldDefaulted(t->tif, TAG_EXTRAS, &h->extras, &extras) && h->extras > 0 && extras != NULL) h->first_extra = extras[0];

	// JPEG's colours are made RGB by libjpeg; and rows stay where they are: what turns
	// an image is a matter of the plan.
	if (h->compression == JPEG && h->photometric == YCBCR && h->planar == 1) lib->TIFFSetField(t->tif, TAG_JPEG_MODE, 1);
	lib->TIFFSetField(t->tif, TAG_ORIENTATION, 1);

	uint32_t blocks;
	if (lib->TIFFIsTiled(t->tif)) {
		lib->TIFFGetField(t->tif, TAG_TILE_WIDTH, &h->tile_width);
		lib->TIFFGetField(t->tif, TAG_TILE_HEIGHT, &h->tile_height);
		h->line_bytes = lib->TIFFTileRowSize(t->tif);
		h->block_bytes = lib->TIFFTileSize(t->tif);
		blocks = lib->TIFFNumberOfTiles(t->tif);
	} else {
		lib->TIFFGetFieldDefaulted(t->tif, TAG_STRIP_ROWS, &h->strip_rows);
		if (h->strip_rows > h->height) h->strip_rows = h->height;
		h->line_bytes = lib->TIFFScanlineSize(t->tif);
		blocks = lib->TIFFNumberOfStrips(t->tif);
	}
	for (uint32_t i = 0; i < blocks; i++) {
		uint64_t n = lib->TIFFGetStrileByteCount(t->tif, i);
		h->coded_bytes += n < UINT32_MAX ? n : UINT32_MAX;
	}
}

hr_tiff *hr_tiff_open(const hr_tiff_library *lib, const uint8_t *src, size_t size, int64_t max_alloc, hr_tiff_head *head, char *message) {
	hr_tiff *t = calloc(1, sizeof *t);
	void *options = lib->TIFFOpenOptionsAlloc();
	if (t == NULL || options == NULL) {
		snprintf(message, HR_TIFF_MESSAGE, "no memory");
		free(t);
		if (options != NULL) lib->TIFFOpenOptionsFree(options);
		return NULL;
	}
	t->lib = lib;
	t->src = src;
	t->size = size;
	lib->TIFFOpenOptionsSetMaxSingleMemAlloc(options, max_alloc);
	lib->TIFFOpenOptionsSetErrorHandlerExtR(options, note, t);
	lib->TIFFOpenOptionsSetWarningHandlerExtR(options, ignore, t);
	t->tif = lib->TIFFClientOpenExt("image", "r", t, read_data, write_data, seek_data, close_data, data_size, map_data, unmap_data, options);
	lib->TIFFOpenOptionsFree(options);
	if (told(t, t->tif != NULL, message)) {
		free(t);
		return NULL;
	}
	read_head(t, head);
	t->message[0] = 0;
	return t;
}

void hr_tiff_close(hr_tiff *t) {
	t->lib->TIFFClose(t->tif);
	free(t);
}

int hr_tiff_rows(hr_tiff *t, uint8_t *dst, ptrdiff_t stride, uint32_t row, uint32_t count, uint16_t plane, char *message) {
	for (uint32_t i = 0; i < count; i++) {
		if (told(t, t->lib->TIFFReadScanline(t->tif, dst + (ptrdiff_t)i * stride, row + i, plane) == 1, message)) return 1;
	}
	return 0;
}

int hr_tiff_tile(hr_tiff *t, uint8_t *dst, uint32_t x, uint32_t y, uint16_t plane, char *message) {
	return told(t, t->lib->TIFFReadTile(t->tif, dst, x, y, 0, plane) >= 0, message);
}

int hr_tiff_rgba(hr_tiff *t, uint8_t *dst, uint32_t x, uint32_t y, char *message) {
	void *to = dst;
	int ok = t->lib->TIFFIsTiled(t->tif) ? t->lib->TIFFReadRGBATileExt(t->tif, x, y, to, 1) : t->lib->TIFFReadRGBAStripExt(t->tif, y, to, 1);
	return told(t, ok, message);
}

int hr_tiff_colors(hr_tiff *t, int count, uint8_t *rgb) {
	uint16_t *c[3] = {0};
	if (!t->lib->TIFFGetField(t->tif, TAG_COLORS, &c[0], &c[1], &c[2]) || c[0] == NULL || c[1] == NULL || c[2] == NULL) return 1;
	for (int i = 0; i < count; i++) {
		for (int k = 0; k < 3; k++) rgb[3 * i + k] = (uint8_t)(c[k][i] >> 8);
	}
	return 0;
}
