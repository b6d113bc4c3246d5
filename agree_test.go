package headrace_test

import (
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/recipe"
)

// A loader whose ranks agree while they run says whether they have something to agree on,
// and leaves out refusals. Alone it ends with its own last sample.
func TestWhatRanksAgreeOn(t *testing.T) {
	plain := numbered(t, 12, `{"batch":{"size":2}}`)
	apart := numbered(t, 44, `{"batch":{"size":3}},"unbatch",{"batch":{"global_size":8}}`)
	for _, c := range []struct {
		what   string
		recipe recipe.Recipe
		config Config
		agree  bool
	}{
		{"as many samples", plain, Config{WorldSize: 2}, false},
		{"bad samples left out", plain, Config{WorldSize: 2, OnError: Skip}, true},
		{"by one rank", plain, Config{OnError: Skip}, false},
		{"with steps_per_epoch", plain, Config{WorldSize: 2, OnError: Skip, StepsPerEpoch: new(1)}, false},
		{"with uneven", plain, Config{WorldSize: 2, OnError: Skip, Uneven: true}, false},
		{"lanes of different lengths", apart, Config{WorldSize: 4}, true},
	} {
		c.config.Epochs = new(1)
		if _, err := Open(t.Context(), c.recipe, c.config, Options{}); c.agree != (err != nil) {
			t.Errorf("%s: without: %v", c.what, err)
		} else if err != nil && !strings.Contains(err.Error(), "initialise torch.distributed before .loader()") {
			t.Errorf("%s: without: %v", c.what, err)
		}
		c.config.Agree = true
		l := openLoader(t, c.recipe, c.config, Options{})
		if i := l.Info(); i.Agree != c.agree || c.agree && i.Exact {
			t.Errorf("%s: agree is %v, exact %v", c.what, i.Agree, i.Exact)
		}
		batches := int64(0)
		for range inEpoch(t, l) {
			batches++
		}
		if most := l.Info().BatchesPerEpoch; !c.agree && batches != most || batches < most {
			t.Errorf("%s: %d batches, and at most %d of all ranks", c.what, batches, most)
		}
	}
}

func TestARecipeDoesNotSayThatRanksAgree(t *testing.T) {
	_, err := FileConfig(recipe.File{Loader: []byte(`{"agree": true}`)})
	if err == nil || !strings.Contains(err.Error(), "agree has no place in a recipe: it belongs to the processes that share the data") {
		t.Error(err)
	}
}
