// Package image is the operations on images: their arguments, with what help says of
// them, and what carries them out.
//
// An operation is one file, which adds it to [Ops]. Its arguments implement
// recipe.Transform: they say which operation of package media is meant, where the pixels
// change.
package image

import "github.com/headrace/headrace/recipe"

// Ops are the operations of this package.
var Ops recipe.Room
