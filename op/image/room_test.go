package image_test

import (
	"strings"
	"testing"

	opimage "github.com/headrace/headrace/op/image"
	"github.com/headrace/headrace/recipe"
	"github.com/headrace/headrace/sample"
)

// Every step on an image says so in its traits, and asks for one.
func TestStepsNeedAnImage(t *testing.T) {
	in := sample.Schema{{Name: "key", Type: sample.TextType}}
	for _, op := range opimage.Ops {
		args, ok := op.New().(recipe.Transform)
		if !ok {
			continue
		}
		if content := recipe.TraitsOf(args).Content; content != "image" {
			t.Errorf("%s works on %q", op.Name, content)
		}
		if _, err := args.Check(in); err == nil || !strings.Contains(err.Error(), "has no image to work on") {
			t.Errorf("%s of samples without an image: %v", op.Name, err)
		}
	}
}
