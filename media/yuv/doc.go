// Package yuv makes RGB, RGBA or gray pixels of the planes that video decoders give: luma
// and chroma of 8 to 16 bits, chroma at a half or a quarter of the size or at all of it,
// gray, and RGB of other orders and depths.
//
// This package is the definition, in integers alone;
// github.com/headrace/headrace/media/yuv/fast computes the same bytes in C. Chroma is
// interpolated linearly at the place of each pixel, by where the stream says that its
// samples are, and matrix and range are applied to the sums before anything is rounded.
// The result is within one level of the same formula in real numbers.
//
// Interlaced images are converted as progressive ones are: their chroma is interpolated
// between rows of both fields.
package yuv
