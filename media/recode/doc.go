// Package recode moves packets and frames from file to file.
//
// A window of a file becomes packets that are decoded elsewhere (Demux), or is copied
// into another container (Remux); long files are decoded piece by piece (Frames,
// Samples); arrays are encoded (Saver), and filtered (Filter).
//
// Files are read as streams: what is held is a packet, the container's index, and, before
// a window, the packets since the last key frame. Times are counted from the first frame
// that is displayed or, where there is no video, from the first sample.
//
// What is written appears whole or not at all (Output).
package recode
