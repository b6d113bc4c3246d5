// Calls into a library of hrav.h: Go calls no pointers to functions.
#ifndef HEADRACE_FFMPEG_LOAD_H
#define HEADRACE_FFMPEG_LOAD_H

#include "hrav.h"

// Opens a library. NULL: why has the reason, which the caller frees.
const hr_av *hr_av_load(const char *path, char **why);

// Loads one of FFmpeg's libraries, so that those which need it by its name get this one. NULL, or the reason, which the caller frees.
char *hr_av_preload(const char *path);

const char *hr_av_where(const hr_av *lib); // the path of libavcodec

const char *hr_av_version(const hr_av *lib);
const char *hr_av_license(const hr_av *lib);
const char *hr_av_configuration(const hr_av *lib);
size_t hr_av_decoders(const hr_av *lib, char *names, size_t room);
int hr_av_open(const hr_av *lib, hr_av_decoder **d, const char *const names[3], const hr_av_stream *s, const uint8_t *config, size_t size, char *error);
int hr_av_feed(const hr_av *lib, hr_av_decoder *d, const uint8_t *data, size_t size, const hr_av_packet *packets, int32_t count, int32_t last, char *error);
int hr_av_next(const hr_av *lib, hr_av_decoder *d, hr_av_frame *frame, int64_t *packet, char *error);
void hr_av_flush(const hr_av *lib, hr_av_decoder *d);
void hr_av_close(const hr_av *lib, hr_av_decoder *d);
int hr_av_demux(const hr_av *lib, hr_av_file **file, const uint8_t *data, size_t size, char *error);
int hr_av_demux_file(const hr_av *lib, hr_av_file **file, int fd, int64_t from, int64_t size, char *error);
void hr_av_forget(const hr_av *lib, hr_av_file *file);

int hr_av_reader_open(const hr_av *lib, hr_av_reader **a, const hr_av_file **b, int fd, int64_t from, int64_t size, char *error);
int hr_av_reader_read(const hr_av *lib, hr_av_reader *a, hr_av_coded *b, char *error);
void hr_av_reader_only(const hr_av *lib, hr_av_reader *a, const int32_t *tracks, int32_t count);
int hr_av_files(const hr_av *lib, int32_t kind, const char *name, const char *options, char *error);
int hr_av_reader_seek(const hr_av *lib, hr_av_reader *a, int32_t track, int64_t time, int64_t *place, char *error);
void hr_av_reader_close(const hr_av *lib, hr_av_reader *a);
int hr_av_bitstream_open(const hr_av *lib, hr_av_bitstream **a, const hr_av_track **b, const char *filters, const hr_av_track *d, const uint8_t *config, size_t size, char *error);
int hr_av_bitstream_push(const hr_av *lib, hr_av_bitstream *a, const hr_av_coded *b, const uint8_t *data, const uint8_t *side, char *error);
int hr_av_bitstream_pull(const hr_av *lib, hr_av_bitstream *a, hr_av_coded *b, char *error);
void hr_av_bitstream_close(const hr_av *lib, hr_av_bitstream *a);
int hr_av_graph_open(const hr_av *lib, hr_av_graph **a, const char *graph, const hr_av_port *in, int32_t inputs, const char *pictures, const char *samples, char *error);
int32_t hr_av_graph_outputs(const hr_av *lib, hr_av_graph *a, int32_t output, hr_av_port *c);
void hr_av_graph_pieces(const hr_av *lib, hr_av_graph *a, int32_t output, int32_t samples);
int hr_av_graph_push(const hr_av *lib, hr_av_graph *a, int32_t input, const hr_av_frame *c, const uint8_t *raw, size_t size, int64_t pts, char *error);
int hr_av_graph_pull(const hr_av *lib, hr_av_graph *a, int32_t output, hr_av_frame *c, int64_t *pts, char *error);
int64_t hr_av_graph_raw(const hr_av *lib, hr_av_graph *a, uint8_t *to, size_t room);
void hr_av_graph_close(const hr_av *lib, hr_av_graph *a);
int hr_av_encoder_takes(const hr_av *lib, const char *codec, int32_t *audio, char *formats, char *rates, size_t room, char *error);
int hr_av_encoder_open(const hr_av *lib, hr_av_encoder **a, const hr_av_track **b, int32_t *samples, const char *codec, const hr_av_encoding *e, const char *options, char *error);
int hr_av_encoder_push(const hr_av *lib, hr_av_encoder *a, const hr_av_frame *b, int64_t pts, char *error);
int hr_av_encoder_pull(const hr_av *lib, hr_av_encoder *a, hr_av_coded *b, char *error);
void hr_av_encoder_close(const hr_av *lib, hr_av_encoder *a);
int hr_av_writer_open(const hr_av *lib, hr_av_writer **a, int fd, const char *format, int32_t *headers_apart, char *error);
int hr_av_writer_add(const hr_av *lib, hr_av_writer *a, const hr_av_track *b, const uint8_t *config, size_t size, char *error);
int hr_av_writer_like(const hr_av *lib, hr_av_writer *a, const hr_av_reader *b, const int32_t *tracks, int64_t begin, int64_t end, char *error);
int hr_av_writer_begin(const hr_av *lib, hr_av_writer *a, const char *options, char *error);
int hr_av_writer_write(const hr_av *lib, hr_av_writer *a, const hr_av_coded *b, const int32_t unit[2], const uint8_t *data, const uint8_t *side, char *error);
int hr_av_writer_finish(const hr_av *lib, hr_av_writer *a, char *error);
void hr_av_writer_close(const hr_av *lib, hr_av_writer *a);
const char *hr_av_writer_format(const hr_av *lib, const char *name);
int64_t hr_av_raw_picture(const hr_av *lib, const char *format, int32_t width, int32_t height, uint32_t *tag, char *error);

#endif
