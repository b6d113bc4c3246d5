// Package slices reads the headers of compressed pictures, as far as they say what other
// pictures need them for.
//
// [Droppable] tells which packets can be left out when their frames are not wanted.
// Between a third and three quarters of the packets of usual files can, which is most of
// what reading some frames of a video saves.
//
// Packets are not trusted. What cannot be read is never droppable: the decoder will judge
// it.
package slices
