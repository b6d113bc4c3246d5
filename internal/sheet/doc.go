// Package sheet draws contact sheets: images side by side, each with its label and
// its key.
//
//	p, err := sheet.Picture(batch.Row(i), media.CHW, &undo)              // an image of a batch as a person sees it
//	pixels := sheet.Sheet{Title: …, Tiles: []sheet.Tile{{Image: p, Label: "cat", Key: "cat/7.jpg"}}}.Draw()
//
// Whatever the text says, it stays in its place: a key too long for its tile loses its
// middle, characters that cannot be seen are written as escapes, and what is written
// from right to left is shown so.
//
// # Reading
//
// sheet.go places things; image.go makes images of tensors and fit.go brings them
// to size; text.go draws lines, visible.go says which characters, fonts.go with which
// glyphs.
//
// # Concurrency
//
// Values without state; the fonts of the machine are read once.
//
// # Testing
//
// Tensors of every type and layout are compared with the pixels that they were made
// from; what is outside its tile is looked for in the pixels.
package sheet
