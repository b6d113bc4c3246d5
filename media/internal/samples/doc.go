// Package samples turns rows of decoded samples into the channels and the depth that
// were asked for.
//
// Colours are converted as Pillow converts them, at the smaller of both depths: of 16
// bits the upper 8 are kept, 8 bits v become 257·v, lightness is ITU-R BT.601 luma in
// fixed point, and an alpha channel that is not asked for is dropped.
package samples
