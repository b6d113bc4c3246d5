#ifndef HR_SPNG_DECODE_H
#define HR_SPNG_DECODE_H

#include <stddef.h>
#include <stdint.h>

enum { HR_SPNG_RGB8, HR_SPNG_RGBA8, HR_SPNG_RGBA16, HR_SPNG_G8 };
enum { HR_SPNG_OK, HR_SPNG_MEMORY, HR_SPNG_TRUNCATED, HR_SPNG_CORRUPT, HR_SPNG_OTHER_SIZE };

// hr_spng_decode writes a picture of width x height pixels into dst, in one of the
// forms. In case of an error, message is libspng's. It trusts the checksums of chunks.
int hr_spng_decode(const uint8_t *src, size_t size, uint8_t *dst, ptrdiff_t stride, int width, int height, int form, const char **message);

// hr_spng_version is the version of the library, like "0.7.3".
const char *hr_spng_version(void);

#endif
