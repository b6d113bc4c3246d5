// Package resample is the antialiased resampling that decoders share: tables of integer
// weights, and the plain Go kernels that say what every faster kernel must compute,
// byte for byte.
//
// An output pixel is a weighted sum of the input pixels below its triangle. Weights are
// fixed-point numbers with 22 bits after the point. An image is resampled in one
// direction and then in the other, and is rounded to 8 bits in between. This is what
// Pillow does, and the tables equal Pillow's number for number. The order of the passes
// is that of Pillow 13; earlier ones always began with the horizontal pass, which can
// make a difference of one level.
//
// Tables are computed here and nowhere else, in floating point with one rounding per
// operation: a compiler that fused a multiplication and an addition would make other
// tables on other machines.
package resample
