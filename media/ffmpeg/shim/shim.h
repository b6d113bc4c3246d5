// What the files of the shim share.
#ifndef HEADRACE_SHIM_H
#define HEADRACE_SHIM_H

#include "../hrav.h"

#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/version.h>

// FFmpeg 5.1 has channel layouts of the new kind; 5.0 has not.
#define HAS_LAYOUTS (LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100))

// What FFmpeg said last in this thread, which tells more than the number of an error.
extern _Thread_local char hr_said[HR_AV_TEXT / 2];

// These return what a call is to return, with a text.
int hr_failed(int error, char *text);
int hr_told(int result, char *text, const char *what, const char *name);

// demux.c
int hr_demux(hr_av_file **, const uint8_t *data, size_t size, char *error);
int hr_demux_file(hr_av_file **, int fd, int64_t from, int64_t size, char *error);
void hr_forget(hr_av_file *);
AVFormatContext *hr_container(AVIOContext *);
int hr_tell_track(const AVFormatContext *, const AVStream *, hr_av_track *);
int hr_is_bare(const AVFormatContext *);
int64_t hr_time(int64_t);
int hr_cut(void);

// frames.c
void hr_tell_frame(const AVFrame *, int audio, hr_av_frame *);
int64_t hr_raw_frame(const AVFrame *, int audio, uint8_t *to, size_t room);
int hr_bound_threads(const AVDictionary *options, const char *who, char *error); // refuses more than there is memory for
int64_t hr_raw_picture(const char *format, int32_t width, int32_t height, uint32_t *tag, char *error);
int hr_make_frame(AVFrame **, const hr_av_frame *, const uint8_t *raw, size_t size, int64_t pts);
int hr_layout(AVChannelLayout *, int channels, uint64_t mask);

// packets.c
// A packet as hrav.h has it: what is borrowed of FFmpeg's is kept in side until the next call.
typedef struct {
	uint8_t *bytes;
	size_t room;
} hr_side;
void hr_tell_flags(const AVPacket *, int32_t *flags, uint32_t *skip, uint32_t *cut);
int hr_tell_packet(const AVPacket *, hr_side *, hr_av_coded *);
int hr_make_packet(AVPacket *, const hr_av_coded *, const uint8_t *data, const uint8_t *side);
int hr_tell_parameters(const AVCodecParameters *, AVRational unit, hr_av_track *);
int hr_make_parameters(AVCodecParameters *, const hr_av_track *, const uint8_t *config, size_t size);

// pictures.c
void hr_tell_picture(enum AVCodecID, const AVPacket *, int32_t *flags);
int hr_tells_pictures(enum AVCodecID);
int hr_is_packed(const AVFormatContext *, const AVStream *); // its packets may be
int hr_unpack(AVPacket *waits, AVPacket *); // of one packet comes one, or the one that waits; there is one of these for each stream

// reader.c
int hr_reader_open(hr_av_reader **, const hr_av_file **, int fd, int64_t from, int64_t size, char *error);
int hr_reader_read(hr_av_reader *, hr_av_coded *, char *error);
void hr_reader_only(hr_av_reader *, const int32_t *tracks, int32_t count);
const AVInputFormat *hr_short_transport(AVIOContext *);
int hr_reader_seek(hr_av_reader *, int32_t track, int64_t time, int64_t *place, char *error);
void hr_reader_close(hr_av_reader *);
const AVFormatContext *hr_reader_container(const hr_av_reader *);

// bitstream.c
int hr_bitstream_open(hr_av_bitstream **, const hr_av_track **, const char *filters, const hr_av_track *, const uint8_t *config, size_t size, char *error);
int hr_bitstream_push(hr_av_bitstream *, const hr_av_coded *, const uint8_t *data, const uint8_t *side, char *error);
int hr_bitstream_pull(hr_av_bitstream *, hr_av_coded *, char *error);
void hr_bitstream_close(hr_av_bitstream *);

// graph.c
int hr_graph_open(hr_av_graph **, const char *graph, const hr_av_port *in, int32_t inputs, const char *pictures, const char *samples, char *error);
int32_t hr_graph_outputs(hr_av_graph *, int32_t output, hr_av_port *);
void hr_graph_pieces(hr_av_graph *, int32_t output, int32_t samples);
int hr_graph_push(hr_av_graph *, int32_t input, const hr_av_frame *, const uint8_t *raw, size_t size, int64_t pts, char *error);
int hr_graph_pull(hr_av_graph *, int32_t output, hr_av_frame *, int64_t *pts, char *error);
int64_t hr_graph_raw(hr_av_graph *, uint8_t *to, size_t room);
void hr_graph_close(hr_av_graph *);

int hr_graph_files(const char *graph, char *error);

// memory.c
int64_t hr_allow(int64_t need); // bytes of the largest allocation; returns what hr_disallow takes
void hr_disallow(int64_t allowed);

// files.c
int hr_may_open(const AVClass *, const char *key, const char *value);
int hr_opens_files(const AVClass *, const char *options, int filter, char *named, size_t room);
int hr_files(int32_t kind, const char *name, const char *options, char *error);

// encoder.c
const AVCodec *hr_encoder_named(const char *name);
int hr_encoder_takes(const char *codec, int32_t *audio, char *formats, char *rates, size_t room, char *error);
int hr_encoder_open(hr_av_encoder **, const hr_av_track **, int32_t *samples, const char *codec, const hr_av_encoding *, const char *options, char *error);
int hr_encoder_push(hr_av_encoder *, const hr_av_frame *, int64_t pts, char *error);
int hr_encoder_pull(hr_av_encoder *, hr_av_coded *, char *error);
void hr_encoder_close(hr_av_encoder *);

// writer.c
int hr_writer_open(hr_av_writer **, int fd, const char *format, int32_t *headers_apart, char *error);
int hr_writer_add(hr_av_writer *, const hr_av_track *, const uint8_t *config, size_t size, char *error);
int hr_writer_begin(hr_av_writer *, const char *options, char *error);
int hr_writer_write(hr_av_writer *, const hr_av_coded *, const int32_t unit[2], const uint8_t *data, const uint8_t *side, char *error);
int hr_writer_finish(hr_av_writer *, char *error);
void hr_writer_close(hr_av_writer *);
const char *hr_writer_format(const char *name);
AVFormatContext *hr_writer_container(hr_av_writer *);

// tags.c
int hr_writer_like(hr_av_writer *, const hr_av_reader *, const int32_t *tracks, int64_t begin, int64_t end, char *error);

#endif
