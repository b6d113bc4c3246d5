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
int hr_av_open(const hr_av *lib, hr_av_decoder **d, const char *codec, const hr_av_stream *s, const uint8_t *config, size_t size, char *error);
int hr_av_feed(const hr_av *lib, hr_av_decoder *d, const uint8_t *data, size_t size, const hr_av_packet *packets, int32_t count, int32_t last, char *error);
int hr_av_next(const hr_av *lib, hr_av_decoder *d, hr_av_frame *frame, int64_t *packet, char *error);
void hr_av_flush(const hr_av *lib, hr_av_decoder *d);
void hr_av_close(const hr_av *lib, hr_av_decoder *d);
int hr_av_demux(const hr_av *lib, hr_av_file **file, const uint8_t *data, size_t size, char *error);
void hr_av_forget(const hr_av *lib, hr_av_file *file);

#endif
