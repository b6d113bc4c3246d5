// Package decodertest is what every decoder of JPEG has to pass.
//
// Expected pixels are Pillow's and torchvision's, computed from what the decoder itself
// makes of the whole image: decoders differ in colours by a little, but not in what
// they do to them.
package decodertest
