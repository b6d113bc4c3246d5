// Package avif decodes AVIF with libavif, which is opened when the first image comes.
//
// Importing it registers it; without cgo the package is empty, and nothing decodes
// AVIF. Neither headers nor a library are needed to build, and programs that meet no
// AVIF load none:
//
//	import _ "github.com/headrace/headrace/media/avif"
//
// The library is libavif.so.16 (libavif 1.0 and later) or libavif.so.15 (0.11),
// whichever is there; HEADRACE_AVIF in the environment names another file of one of
// these versions. Their structures differ, and layout.h has what is used of both. If
// none can be opened, each image's error says what was tried and which package to
// install.
//
// One call decodes an image into its place, in one thread: images side by side keep
// the cores busy. The primary image, or the first of a sequence, is what is decoded.
// Images of 10 and 12 bits become 8 by libavif's rounding, or fill the 16 bits that
// were asked for. Colour profiles are ignored.
package avif
