// Package mpa finds the frames of MP3, MP2, MP1 and ADTS files.
//
// These files have no index: each frame says how long it is, and the next one follows.
// [Open] walks along them without decoding, so it knows where each frame is, how many
// samples the file has, and how many of them an encoder has put before and after the
// recording (the tag of Xing, Info and LAME).
//
// Files are not trusted. Whatever is not a frame, a tag or the end of the file is an
// error that names the byte.
package mpa
