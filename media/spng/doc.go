// Package spng decodes PNG with libspng.
//
// Importing it registers it. Built without cgo the package is empty, and package
// media/stills decodes in its stead, to the same pixels:
//
//	import _ "github.com/headrace/headrace/media/spng"
//
// One call decodes an image into its place; what libspng has no form for (grey from
// colours, 16 bits from 8) goes through memory that is used again. Of an animation the
// default image is decoded. Colour profiles and gamma are ignored. Checksums of all
// that pixels depend on are verified. Texts, profiles, and whatever else pixels do not
// depend on, are passed over, so that they cost nothing.
package spng
