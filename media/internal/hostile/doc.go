// Package hostile is what every decoder has to stand: files that are cut, rotten,
// contradictory, or that promise far more than they hold.
//
// Whatever the file, a decoder gives an error of one of media's kinds, or an image of
// the announced size: the same one each time, written nowhere but where it belongs, in
// time and memory that the header gave reason to expect. Files are made here, by Pillow
// and by the encoders of this module, and damaged in every way that comes to mind;
// fuzzing finds the others.
package hostile
