#ifndef HEADRACE_LIBFLAC_DECODE_H
#define HEADRACE_LIBFLAC_DECODE_H

#include <stddef.h>
#include <stdint.h>

typedef struct hr_flac hr_flac;

// hr_flac_open makes a decoder for the frames of a stream that its block STREAMINFO
// describes, which has 34 bytes. NULL: there is no memory.
hr_flac *hr_flac_open(const uint8_t *info);

// hr_flac_decode writes the samples of a frame, between -1 and 1 and those of all channels
// at one time side by side. There must be as many of each channel. It returns NULL, or
// what is wrong; hr_flac_memory: there is none.
extern const char *const hr_flac_memory;
const char *hr_flac_decode(hr_flac *d, const uint8_t *frame, size_t size, float *to, size_t samples);

void hr_flac_close(hr_flac *d);

// hr_flac_version is the version of the library, like "1.4.2".
const char *hr_flac_version(void);

#endif
