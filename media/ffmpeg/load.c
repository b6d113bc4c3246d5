#define _GNU_SOURCE // dladdr
#include "load.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

char *hr_av_preload(const char *path) { return dlopen(path, RTLD_LAZY | RTLD_LOCAL) == NULL ? strdup(dlerror()) : NULL; }

const hr_av *hr_av_load(const char *path, char **why) {
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		*why = strdup(dlerror());
		return NULL;
	}
	const hr_av *lib = dlsym(handle, HR_AV_SYMBOL);
	if (lib != NULL && lib->size >= sizeof(hr_av))
		return lib;
	char text[600];
	snprintf(text, sizeof text, "%.500s is of another release of Headrace", path);
	*why = strdup(text);
	dlclose(handle);
	return NULL;
}

const char *hr_av_where(const hr_av *lib) {
	Dl_info info;
	return dladdr((const void *)lib->license, &info) && info.dli_fname != NULL ? info.dli_fname : "";
}

const char *hr_av_version(const hr_av *lib) { return lib->version(); }

const char *hr_av_license(const hr_av *lib) { return lib->license(); }

const char *hr_av_configuration(const hr_av *lib) { return lib->configuration(); }

size_t hr_av_decoders(const hr_av *lib, char *names, size_t room) { return lib->decoders(names, room); }

int hr_av_open(const hr_av *lib, hr_av_decoder **d, const char *codec, const hr_av_stream *s, const uint8_t *config, size_t size, char *error) {
	return lib->open(d, codec, s, config, size, error);
}

int hr_av_feed(const hr_av *lib, hr_av_decoder *d, const uint8_t *data, size_t size, const hr_av_packet *packets, int32_t count, int32_t last, char *error) {
	return lib->feed(d, data, size, packets, count, last, error);
}

int hr_av_next(const hr_av *lib, hr_av_decoder *d, hr_av_frame *frame, int64_t *packet, char *error) {
	return lib->next(d, frame, packet, error);
}

void hr_av_flush(const hr_av *lib, hr_av_decoder *d) { lib->flush(d); }

void hr_av_close(const hr_av *lib, hr_av_decoder *d) { lib->close(d); }

int hr_av_demux(const hr_av *lib, hr_av_file **file, const uint8_t *data, size_t size, char *error) { return lib->demux(file, data, size, error); }

void hr_av_forget(const hr_av *lib, hr_av_file *file) { lib->forget(file); }
