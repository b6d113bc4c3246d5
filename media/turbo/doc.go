// Package turbo is the media decoder on libjpeg-turbo: it decodes and resamples a
// image into its place in one foreign call.
//
// Importing it registers it. Built without cgo the package is empty, and media's own
// decoder stays in place:
//
//	import _ "github.com/headrace/headrace/media/turbo"
//
// # How it works
//
// Only the rows and columns that the plan needs come out of libjpeg, with the accurate
// inverse transform and interpolated chroma, and equal those of a full decode byte for
// byte. Rows are resampled as they come (stream.h), while they are in the first-level
// cache, and the rows of the result go straight to their place, converted to numbers or
// planes on the way (output.h). Decoding ends after the last row that is needed.
// Changes of colour work on the result of a stage (adjust.h); turns by a quarter take a
// pass over it, the others are free.
//
// In fast mode a stage that shrinks an image to half its size or less takes another way
// (planes.h): the inverse transform gives a half, a quarter or an eighth of the size
// that is still as large as the result; Y, Cb and Cr are resized as they are stored,
// chroma from as few samples as there are; and the pixels of the result alone are
// converted to RGB. Images in printing inks, and others without planes of the usual
// kind, are decoded as in exact mode.
//
// RGB of 8 bits goes these ways. For other forms the image is decoded whole, and the
// plan carried out on its pixels. Runner does that for pixels from anywhere.
//
// The kernels are integer arithmetic, chosen at run time for the CPU: plain C,
// SSE4.1, AVX2, AVX-512; on arm64 plain C, and NEON, which only media/jpeg has kernels
// for. All give the same bytes. HEADRACE_SIMD=plain, sse4.1, avx2, avx512 or neon in the
// environment sets a limit.
//
// # Errors
//
// What libjpeg only warns of, and then fills with grey, is an error here, with
// libjpeg's text. Harmless oddities are none: bytes before the end marker, a wrong
// version number. Data after the last row that is needed are not looked at; and damage
// that leaves the data decodable gives other pixels and no error, as in every decoder:
// JPEG has no checksum.
//
// # Concurrency
//
// Any number of goroutines may decode at once. Each call borrows a decoder with memory
// of its own from a list; there are as many as were ever busy at once, and a warm one
// allocates nothing.
//
// # Seams
//
// decode.c alone knows libjpeg, and there are two seams in it. After decode_rows,
// hr_stream takes rows of RGB pixels. After decode_planes, hr_planes takes rows of
// each component as they leave the inverse transform, of any MCU-aligned part of the
// image, and knows nothing of files: an entropy decoder of another make, followed by
// any inverse transform, ends there. Its way in is hr_open, which says what planes
// there are, and its way out hr_planes_rows, a row of MCUs at a time: coefficients in,
// planes out. The planes of libjpeg are had by standing in for the last function of its
// pipeline; where a libjpeg is not built as expected, that is noticed, and the way by
// rows is taken.
package turbo
