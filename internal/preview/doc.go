// Package preview runs a recipe for its first samples, and draws them on a contact sheet.
//
//	p, err := preview.Draw(ctx, preview.Request{Recipe: r, Samples: 16})
//
// The samples are those of a run: in the order of the epoch, with what random
// operations draw for them. One that fails has its place among the others.
//
// # Concurrency
//
// Every call has a loader of its own, which ends with it.
//
// # Testing
//
// The tests of the command headrace preview compare every tile with the pixels that a
// run has, and with Pillow's.
package preview
