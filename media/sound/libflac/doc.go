// Package libflac decodes the frames of FLAC files with libFLAC.
//
// Importing it registers it. Built without cgo the package is empty, and FFmpeg decodes
// FLAC, to the same samples:
//
//	import _ "github.com/headrace/headrace/media/sound/libflac"
//
// A frame is decoded into its place, with one thread. Its check sums are compared.
package libflac
