#ifndef HR_TIFF_LIBTIFF_H
#define HR_TIFF_LIBTIFF_H

#include <stddef.h>
#include <stdint.h>

// hr_tiff_library is an opened library.
typedef struct hr_tiff_library hr_tiff_library;

// hr_tiff_load opens a library, by name or path, or takes the one that is linked in if
// name is NULL. If that fails it returns NULL, and the reason, which is to be freed.
hr_tiff_library *hr_tiff_load(const char *name, char **why);
const char *hr_tiff_version(const hr_tiff_library *lib);

// hr_tiff_head is what libtiff reads from the first directory of a file.
typedef struct {
	uint32_t width, height;
	uint32_t strip_rows;              // of a strip; 0 if there are tiles
	uint32_t tile_width, tile_height; // 0 if there are strips
	uint16_t photometric, compression, planar, bits, samples, format;
	uint16_t extras, first_extra; // samples beside colours, and what the first is
	int64_t line_bytes;           // of a row of a strip or a tile, of one plane if planes are apart
	int64_t block_bytes;          // of a tile
	uint64_t coded_bytes;         // of all strips or tiles as they are in the file
} hr_tiff_head;

enum { HR_TIFF_MESSAGE = 256 };

// hr_tiff is an open image. It reads src until it is closed.
typedef struct hr_tiff hr_tiff;

// hr_tiff_open reads the first directory. No allocation of libtiff's is larger than
// max_alloc. If that fails it returns NULL, and a message.
hr_tiff *hr_tiff_open(const hr_tiff_library *lib, const uint8_t *src, size_t size, int64_t max_alloc, hr_tiff_head *head, char *message);
void hr_tiff_close(hr_tiff *t);

// The following return 0, or 1 and a message.

// hr_tiff_rows reads rows of strips, stride bytes apart. Rows that do not follow those
// read before cost the whole strip.
int hr_tiff_rows(hr_tiff *t, uint8_t *dst, ptrdiff_t stride, uint32_t row, uint32_t count, uint16_t plane, char *message);

// hr_tiff_tile reads the tile that has a pixel.
int hr_tiff_tile(hr_tiff *t, uint8_t *dst, uint32_t x, uint32_t y, uint16_t plane, char *message);

// hr_tiff_rgba reads the strip or tile that begins at a pixel, its last row first, as
// libtiff converts it: R, G, B and A, of 8 bits each.
int hr_tiff_rgba(hr_tiff *t, uint8_t *dst, uint32_t x, uint32_t y, char *message);

// hr_tiff_colors reads a palette, of at most 256 colours of 3 bytes.
int hr_tiff_colors(hr_tiff *t, int count, uint8_t *rgb);

#endif
