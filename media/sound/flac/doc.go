// Package flac finds frames in FLAC files (RFC 9639) by the samples that they have.
//
// It reads no more of a file for that than some pieces. Frames are held against their
// check sums; others decode them.
package flac
