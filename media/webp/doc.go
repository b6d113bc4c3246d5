// Package webp reads and writes WebP with libwebp.
//
// Importing it registers both. Built without cgo the package is empty, and package
// media/stills decodes in its stead, to the same pixels:
//
//	import _ "github.com/headrace/headrace/media/webp"
//
// An image is decoded in one call; RGB and RGBA of 8 bits go straight to their place.
// Of an animation it is the first frame, on a canvas that is transparent and black
// where the frame is not. Colour profiles are ignored.
package webp
