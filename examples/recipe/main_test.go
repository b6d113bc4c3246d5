package main

import (
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/phototest"
)

func TestRecipe(t *testing.T) {
	root := phototest.Folder(t, 40)
	phototest.Spoil(t, root, "007.jpg")
	var out strings.Builder
	if err := run(t.Context(), "train.yaml", []string{"root=" + root, "size=24"}, &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"epoch 0: uint8 [32, 24, 24, 3], first " + root,
		"epoch 0: 39 samples in 2 batches, 1 lost\n",
		"epoch 1: uint8 [32, 24, 24, 3], first " + root,
		"epoch 1: 39 samples in 2 batches, 1 lost\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("%q is missing in\n%s", want, out.String())
		}
	}
	err := run(t.Context(), "train.yaml", []string{"size=big"}, &out)
	if err == nil || !strings.Contains(err.Error(), `train.yaml:11:`) || !strings.Contains(err.Error(), "random_resized_crop") {
		t.Errorf("%v", err)
	}
}
