#ifndef HR_AVIF_DECODE_H
#define HR_AVIF_DECODE_H

#include <stddef.h>
#include <stdint.h>

// hr_avif is an opened library.
typedef struct hr_avif hr_avif;

// hr_avif_open opens a library, by name or path. If that fails it returns NULL, and the
// reason, which is to be freed.
hr_avif *hr_avif_open(const char *name, char **why);
const char *hr_avif_version(const hr_avif *lib);

// hr_avif_codecs writes which codecs the library was built with into text, which has
// room for 256 bytes.
void hr_avif_codecs(const hr_avif *lib, char *text);

typedef struct {
	int32_t width, height;
	int32_t channels; // 3 or 4
	int32_t depth;    // 8 or 16
	uint32_t max_pixels;
} hr_avif_job;

// What hr_avif_decode returns beside libavif's results, which are smaller; and that of
// them which is no fault of the file.
enum { HR_AVIF_MEMORY = 26, HR_AVIF_OTHER_SIZE = 1000, HR_AVIF_HAS_ALPHA };

// hr_avif_decode writes a picture into dst. It returns libavif's result, 0 if all is
// well; HR_AVIF_OTHER_SIZE if the picture has another size; HR_AVIF_HAS_ALPHA if 3
// channels are asked of a picture with alpha, with which libavif would multiply
// colours. message has room for 256 bytes.
int hr_avif_decode(const hr_avif *lib, const hr_avif_job *job, const uint8_t *src, size_t size, uint8_t *dst, ptrdiff_t stride, char *message);

#endif
