// Package stills decodes PNG, GIF, BMP, TIFF and WebP without C.
//
// Importing it offers its decoders to package media; those of packages that call C take
// precedence where they are linked:
//
//	import _ "github.com/headrace/headrace/media/stills"
//
// # What is decoded
//
//   - PNG: everything, by image/png.
//   - GIF: the first frame on its canvas. What the frame leaves free is transparent
//     where the frame has a transparent colour, else of the first colour.
//   - BMP: 1, 4, 8, 16, 24 and 32 bits, run-length encoded or not.
//   - TIFF, by golang.org/x/image: the first image of a file; grey, palettes, RGB and
//     RGBA of 1, 8 and 16 bits, in strips or tiles; uncompressed, LZW, Deflate,
//     PackBits or CCITT. An error names what else a file has.
//   - WebP, by golang.org/x/image: lossy and lossless, with alpha; of an animation the
//     first frame on its canvas. Colours are interpolated as libwebp does it, so that
//     both give the same pixels.
//
// Pixels equal Pillow's. Colour profiles (ICC) and gamma are ignored: numbers are
// passed on as they are stored.
//
// # Errors
//
// All are of package media's kinds. A header is read again before anything is
// allocated, so that memory is bound by the size that [media.Info] says. A panic within
// a library is that image's error.
package stills
