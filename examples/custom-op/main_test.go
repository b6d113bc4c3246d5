package main

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/media"
	"github.com/headrace/headrace/tensor"
)

func TestCustomOp(t *testing.T) {
	var out strings.Builder
	if err := run(t.Context(), phototest.Folder(t, 20), &out); err != nil {
		t.Fatal(err)
	}
	images := 0
	for line := range strings.Lines(out.String()) {
		var rows int
		var darkest, lightest float64
		if n, _ := fmt.Sscanf(line, "%d images, the darkest %f, the lightest %f", &rows, &darkest, &lightest); n != 3 {
			continue
		}
		images += rows
		if (darkest < 0.5) != (lightest < 0.5) {
			t.Errorf("dark and light in one batch: %s", line)
		}
	}
	if images != 20 || !strings.Contains(out.String(), "\ngrain ") {
		t.Errorf("%d images in\n%s", images, out.String())
	}
}

// An operation is tested without a loader.
func TestGrain(t *testing.T) {
	image := headrace.Canvas{}.Pixels(media.Form{Height: 20, Width: 30, DType: tensor.Uint8})
	for i := range image.Data {
		image.Data[i] = 100
	}
	out, err := (&grain{Amount: 10}).Do(context.Background(), before{Image: image})
	if err != nil || out.Lightness < 0.37 || out.Lightness > 0.42 {
		t.Errorf("%v, %v", out.Lightness, err)
	}
	changed := 0
	for y := range 20 {
		for _, v := range out.Image.Row(y) {
			if v < 90 || v > 110 {
				t.Fatalf("100 became %d", v)
			}
			if v != 100 {
				changed++
			}
		}
	}
	if changed < 1600 {
		t.Errorf("%d of 1800 values have changed", changed)
	}
}

func TestGrainHasLimits(t *testing.T) {
	_, err := headrace.Args(&grain{Amount: 256}).Check(nil)
	if err == nil || !strings.Contains(err.Error(), "is 256: must be from 0 to 255") {
		t.Errorf("%v", err)
	}
}
