// Package turbo is the media decoder on libjpeg-turbo: it decodes and resamples a picture into its place in one foreign call.
//
// Importing it registers it. Built without cgo the package is empty, and media's own decoder stays in place:
//
//	import _ "headrace/media/turbo"
//
// # How it works
//
// Only the rows and columns that the plan needs come out of libjpeg, with the accurate inverse transform and interpolated chroma, and
// equal those of a full decode byte for byte. Rows are resampled as they come (stream.h), while they are in the first-level
// cache, and the rows of the result go straight to their place. Decoding ends after the last row that is needed.
//
// The kernels are integer arithmetic, chosen at run time for the processor: plain C, SSE4.1, AVX2, AVX-512. All give the same bytes.
// HEADRACE_SIMD=plain, sse4.1, avx2 or avx512 in the environment sets a limit.
//
// # Errors
//
// What libjpeg only warns of, and then fills with grey, is an error here, with libjpeg's text. Harmless oddities are none: bytes
// before the end marker, a wrong version number. Data behind the last row that is needed are not looked at; and damage that leaves
// the data decodable gives other pixels and no error, as in every decoder: JPEG has no checksum.
//
// # Concurrency
//
// Any number of goroutines may decode at once. Each call borrows a decoder with memory of its own from a list; there are as many as were
// ever busy at once, and a warm one allocates nothing.
//
// # Seams
//
// decode.c alone knows libjpeg. Another entropy decoder, or a scaled inverse transform, takes the place of begin_part and
// jpeg_read_scanlines in decode_rows: what follows them takes rows of RGB pixels and does not ask where they come from.
package turbo
