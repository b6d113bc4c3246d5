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

int hr_av_open(const hr_av *lib, hr_av_decoder **d, const char *const names[3], const hr_av_stream *s, const uint8_t *config, size_t size, char *error) {
	return lib->open_named(d, names[0], names[1], names[2], s, config, size, error);
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

int hr_av_demux_file(const hr_av *lib, hr_av_file **file, int fd, int64_t from, int64_t size, char *error) {
	return lib->demux_file(file, fd, from, size, error);
}

void hr_av_forget(const hr_av *lib, hr_av_file *file) { lib->forget(file); }

int hr_av_reader_open(const hr_av *lib, hr_av_reader **a, const hr_av_file **b, int fd, int64_t from, int64_t size, char *error) {
	return lib->reader_open(a, b, fd, from, size, error);
}

int hr_av_reader_read(const hr_av *lib, hr_av_reader *a, hr_av_coded *b, char *error) {
	return lib->reader_read(a, b, error);
}

void hr_av_reader_only(const hr_av *lib, hr_av_reader *a, const int32_t *tracks, int32_t count) {
	lib->reader_only(a, tracks, count);
}

int hr_av_files(const hr_av *lib, int32_t kind, const char *name, const char *options, char *error) {
	return lib->files(kind, name, options, error);
}

int hr_av_reader_seek(const hr_av *lib, hr_av_reader *a, int32_t track, int64_t time, int64_t *place, char *error) {
	return lib->reader_seek(a, track, time, place, error);
}

void hr_av_reader_close(const hr_av *lib, hr_av_reader *a) {
	lib->reader_close(a);
}

int hr_av_bitstream_open(const hr_av *lib, hr_av_bitstream **a, const hr_av_track **b, const char *filters, const hr_av_track *d, const uint8_t *config, size_t size, char *error) {
	return lib->bitstream_open(a, b, filters, d, config, size, error);
}

int hr_av_bitstream_push(const hr_av *lib, hr_av_bitstream *a, const hr_av_coded *b, const uint8_t *data, const uint8_t *side, char *error) {
	return lib->bitstream_push(a, b, data, side, error);
}

int hr_av_bitstream_pull(const hr_av *lib, hr_av_bitstream *a, hr_av_coded *b, char *error) {
	return lib->bitstream_pull(a, b, error);
}

void hr_av_bitstream_close(const hr_av *lib, hr_av_bitstream *a) {
	lib->bitstream_close(a);
}

int hr_av_graph_open(const hr_av *lib, hr_av_graph **a, const char *graph, const hr_av_port *in, int32_t inputs, const char *pictures, const char *samples, char *error) {
	return lib->graph_open(a, graph, in, inputs, pictures, samples, error);
}

int32_t hr_av_graph_outputs(const hr_av *lib, hr_av_graph *a, int32_t output, hr_av_port *c) {
	return lib->graph_outputs(a, output, c);
}

void hr_av_graph_pieces(const hr_av *lib, hr_av_graph *a, int32_t output, int32_t samples) {
	lib->graph_pieces(a, output, samples);
}

int hr_av_graph_push(const hr_av *lib, hr_av_graph *a, int32_t input, const hr_av_frame *c, const uint8_t *raw, size_t size, int64_t pts, char *error) {
	return lib->graph_push(a, input, c, raw, size, pts, error);
}

int hr_av_graph_pull(const hr_av *lib, hr_av_graph *a, int32_t output, hr_av_frame *c, int64_t *pts, char *error) {
	return lib->graph_pull(a, output, c, pts, error);
}

int64_t hr_av_graph_raw(const hr_av *lib, hr_av_graph *a, uint8_t *to, size_t room) {
	return lib->graph_raw(a, to, room);
}

void hr_av_graph_close(const hr_av *lib, hr_av_graph *a) {
	lib->graph_close(a);
}

int hr_av_encoder_takes(const hr_av *lib, const char *codec, int32_t *audio, char *formats, char *rates, size_t room, char *error) {
	return lib->encoder_takes(codec, audio, formats, rates, room, error);
}

int hr_av_encoder_open(const hr_av *lib, hr_av_encoder **a, const hr_av_track **b, int32_t *samples, const char *codec, const hr_av_encoding *e, const char *options, char *error) {
	return lib->encoder_open(a, b, samples, codec, e, options, error);
}

int hr_av_encoder_push(const hr_av *lib, hr_av_encoder *a, const hr_av_frame *b, int64_t pts, char *error) {
	return lib->encoder_push(a, b, pts, error);
}

int hr_av_encoder_pull(const hr_av *lib, hr_av_encoder *a, hr_av_coded *b, char *error) {
	return lib->encoder_pull(a, b, error);
}

void hr_av_encoder_close(const hr_av *lib, hr_av_encoder *a) {
	lib->encoder_close(a);
}

int hr_av_writer_open(const hr_av *lib, hr_av_writer **a, int fd, const char *format, int32_t *headers_apart, char *error) {
	return lib->writer_open(a, fd, format, headers_apart, error);
}

int hr_av_writer_add(const hr_av *lib, hr_av_writer *a, const hr_av_track *b, const uint8_t *config, size_t size, char *error) {
	return lib->writer_add(a, b, config, size, error);
}

int hr_av_writer_like(const hr_av *lib, hr_av_writer *a, const hr_av_reader *b, const int32_t *tracks, int64_t begin, int64_t end, char *error) {
	return lib->writer_like(a, b, tracks, begin, end, error);
}

int hr_av_writer_begin(const hr_av *lib, hr_av_writer *a, const char *options, char *error) {
	return lib->writer_begin(a, options, error);
}

int hr_av_writer_write(const hr_av *lib, hr_av_writer *a, const hr_av_coded *b, const int32_t unit[2], const uint8_t *data, const uint8_t *side, char *error) {
	return lib->writer_write(a, b, unit, data, side, error);
}

int hr_av_writer_finish(const hr_av *lib, hr_av_writer *a, char *error) {
	return lib->writer_finish(a, error);
}

void hr_av_writer_close(const hr_av *lib, hr_av_writer *a) {
	lib->writer_close(a);
}

const char *hr_av_writer_format(const hr_av *lib, const char *name) {
	return lib->writer_format(name);
}

int64_t hr_av_raw_picture(const hr_av *lib, const char *format, int32_t width, int32_t height, uint32_t *tag, char *error) {
	return lib->raw_picture(format, width, height, tag, error);
}
