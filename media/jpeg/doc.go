// Package jpeg decodes baseline and progressive JPEG to the pixels of libjpeg-turbo, with
// an entropy decoder and transforms of its own.
//
// # What it decodes
//
// Sequential Huffman-coded images (SOF0 and SOF1) of 8 bits in one scan or one for each
// component, with one or with Y, Cb and Cr, any sampling factors that libjpeg accepts,
// and restart intervals; and progressive ones (SOF2) whose scans bring all bits of all
// coefficients. For fast mode, which shrinks, blocks come out at a half, a quarter or an
// eighth of their size. All else goes to media/turbo: arithmetic coding, other colours,
// unusual headers.
//
// So does every image that gives any reason to doubt: libjpeg-turbo begins it again, and
// what it says counts. There is thus no error of this package's own, and a damaged file
// has the verdict, the pixels and the message that it would have without it.
//
// # How it works
//
// The header is read in Go (header.go). Then C decodes a row of MCUs at a time: scan.c
// takes the stuffed zeros out, some kilobytes ahead; entropy.h decodes blocks, up to two
// coefficients with one look into a table (huffman.h); kernels_* transform them; rows.c
// interpolates chroma and converts colours. Rows of pixels, or planes, are handed to the
// kernels of media/turbo, which resize them. MCUs that the plan does not need are
// decoded, as what follows depends on them, but not kept. Of a picture with
// several scans all are decoded first (passes.c, progressive.h).
//
// # Why pixels are equal
//
// The inverse transform is defined by libjpeg's accurate integer one: multipliers of 13
// bits, rounded twice. All its sums are exact in 32 bits as long as the coefficients of a
// block are not larger than those of any block of 8-bit samples; then it does not matter
// in which order they are taken, and each implementation gives the same samples. A block
// beyond that bound is a doubt (HJ_NORM in kernels.h). Interpolation and conversion are
// integer arithmetic without choice.
//
// # Choice
//
// Importing this package registers it in place of media/turbo, which it brings along.
// With HEADRACE_JPEG=turbo in the environment it does not register.
//
// # Concurrency
//
// Any number of goroutines may decode at once. A warm decoder allocates nothing.
package jpeg
