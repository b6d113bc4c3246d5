// Package flac finds frames in FLAC files (RFC 9639) by the samples that they have.
//
// It reads no more of a file for that than some pieces. Frames come one after the other
// by their numbers; others decode them, and compare their check sums.
package flac
