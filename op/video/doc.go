// Package video is the operations on videos: they find and decode frames, and take a
// video apart into clips.
//
// An operation is one file with its arguments, which adds it to [Ops]; what carries it
// out is beside it. Steps on the frames go on in package image.
package video

import "github.com/headrace/headrace/recipe"

// Ops are the operations of this package.
var Ops recipe.Room
