// What the files of the shim share.
#ifndef HEADRACE_SHIM_H
#define HEADRACE_SHIM_H

#include "../hrav.h"

#include <libavcodec/avcodec.h>
#include <libavutil/version.h>

// FFmpeg 5.1 has channel layouts of the new kind; 5.0 has not.
#define HAS_LAYOUTS (LIBAVUTIL_VERSION_INT >= AV_VERSION_INT(57, 24, 100))

// What FFmpeg said last in this thread, which tells more than the number of an error.
extern _Thread_local char hr_said[HR_AV_TEXT / 2];

// These return what a call is to return, with a text.
int hr_failed(int error, char *text);
int hr_told(int result, char *text, const char *what, const char *name);

int hr_demux(hr_av_file **, const uint8_t *data, size_t size, char *error);
void hr_forget(hr_av_file *);

#endif
