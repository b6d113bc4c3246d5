// Package tiff decodes TIFF with libtiff: the one that is linked in, as in wheels, or the
// machine's, which is opened when the first image comes.
//
// Importing it registers it; without cgo the package is empty, and package stills
// decodes what it can. Building needs neither headers nor a library, and programs that
// meet no TIFF load none:
//
//	import _ "github.com/headrace/headrace/media/tiff"
//
// The machine's is libtiff.so.6: version 4.5 or later. HEADRACE_TIFF in the environment
// names another file. If none can be opened, each image's error says what was tried and
// which package to install. With the build tag headrace_static_tiff the library and its
// codecs are linked in.
//
// # What is decoded
//
// The first image of a file, whatever libtiff decompresses, in the pixels that Pillow
// reads, with Pillow's results: gray of 1, 2, 4, 8, 12, 16 and 32 bits, floating point,
// palettes, RGB, CMYK, YCbCr, with alpha, in strips or tiles, planes together or apart,
// BigTIFF. Gray of 12 bits fills 16. Gray of 32 bits, or with a sign, is cut off below 0
// and above 255, as Pillow's convert does. Colour profiles are ignored.
//
// # Memory
//
// Strips are read row by row, and planes side by side. A whole tile is in memory, and a
// whole strip of YCbCr that is not JPEG's. Before anything is allocated, sizes are
// compared with the header that was checked; libtiff itself allocates no piece that is
// out of proportion to the file and its pixels.
package tiff
