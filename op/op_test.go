package op

import (
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/headrace/headrace/recipe"
)

// Help has a place for every operation, and each word of its order is one, or a folder.
func TestHelpHasAPlaceForAll(t *testing.T) {
	var words []string
	for _, o := range recipe.Ops() {
		at := place(o)
		if at < 0 {
			t.Errorf("%s has no place: name its folder in order", o.Name)
			continue
		}
		words = append(words, order[at])
	}
	for i, word := range order {
		if slices.Index(order, word) != i {
			t.Errorf("order has %s twice", word)
		}
		if !strings.HasSuffix(word, "/") && !slices.Contains(words, word) {
			t.Errorf("order has %s, and there is no such operation", word)
		}
	}
	for _, room := range []string{"data", "image", "sound", "video"} {
		if !slices.Contains(order, room+"/") {
			t.Errorf("order has no place for others of %s", path.Join("op", room))
		}
	}
}
