package main

import "context"

// byLightness has dark images and light ones come in batches of their own; its fields
// are the arguments.
type byLightness struct {
	Rows int `json:"rows" doc:"samples of a batch" min:"1"`
}

type seen struct {
	Lightness float32 `field:"lightness"`
}

func (b *byLightness) Size() (rows, classes int) { return b.Rows, 2 }

func (b *byLightness) Class(_ context.Context, in seen) (int, error) {
	if in.Lightness < 0.5 {
		return 0, nil
	}
	return 1, nil
}
