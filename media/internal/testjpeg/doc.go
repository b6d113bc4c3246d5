// Package testjpeg writes JPEG files of every layout that a decoder has to understand,
// for tests.
//
// It can do what encoders in general use cannot: any sampling factors of any component,
// a scan for each component, restart intervals of any length, progressive scans,
// segments before the frame. It is not fast, and its files are not small.
package testjpeg
