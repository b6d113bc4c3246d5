package words

import (
	"math"
	"strings"
	"testing"
)

func TestDistance(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want int
	}{
		{"", "", 0}, {"", "abc", 3}, {"size", "size", 0}, {"siez", "size", 1}, {"sizes", "size", 1},
		{"resise", "resize", 1}, {"kitten", "sitting", 3}, {"ab", "ba", 1}, {"abcd", "badc", 2},
	} {
		if got := distance(c.a, c.b); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.a, c.b, got, c.want)
		}
		if got := distance(c.b, c.a); got != c.want {
			t.Errorf("from %q to %q: %d, want %d", c.b, c.a, got, c.want)
		}
	}
}

// A name that has nothing to do with any known one has no nearest: a wrong guess
// misleads.
func TestNearest(t *testing.T) {
	known := []string{"size", "max_size", "p"}
	for name, want := range map[string]string{"siz": "size", "Size": "size", "maxsize": "max_size", "colour": "", "q": "p", "prob": "", "": "p"} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestNearestIsAlikeInMoreThanItsFirstWords(t *testing.T) {
	known := []string{"random_flip", "random_crop", "random_resized_crop", "decode_image", "random_"}
	for name, want := range map[string]string{"random_split": "", "random_scale": "", "random_flp": "random_flip", "random_resizedcrop": "random_resized_crop", "decode_imge": "decode_image", "radnom_crop": "random_crop", "random": "random_"} {
		if got := Nearest(name, known); got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestPlural(t *testing.T) {
	for _, c := range []struct {
		n           int64
		thing, want string
	}{{0, "sample", "0 samples"}, {1, "batch", "1 batch"}, {2000, "batch", "2,000 batches"}, {1, "sample", "1 sample"}} {
		if got := Plural(c.n, c.thing); got != c.want {
			t.Errorf("%s", got)
		}
	}
	for n, want := range map[int64]string{0: "0", 7: "7", 999: "999", 1000: "1,000", 1234567: "1,234,567", -1234: "-1,234", math.MinInt64: "-9,223,372,036,854,775,808"} {
		if got := Thousands(n); got != want {
			t.Errorf("%d: %s", n, got)
		}
	}
}

func TestLists(t *testing.T) {
	for want, names := range map[string][]string{"none": nil, "a": {"a"}, "a, b, c": {"a", "b", "c"}} {
		if got := List(names); got != want {
			t.Errorf("%q: %s", names, got)
		}
	}
	for want, names := range map[string][]string{"": nil, `"a"`: {"a"}, `"a" or "b"`: {"a", "b"}, `"a", "b" or "c"`: {"a", "b", "c"}} {
		if got := Either(names); got != want {
			t.Errorf("%q: %s", names, got)
		}
	}
}

func TestColumns(t *testing.T) {
	rows := [][]string{{"stage", "in", "busy"}, {"decode+resize", "1,000", "é"}, {"", "-"}}
	for width, want := range map[int]string{
		0:  "stage             in  busy\ndecode+resize  1,000     é\n                   -\n",
		22: "stage         in  busy\ndecode+resize|           1,000     é\n               -\n",
		5:  "stage|      in  busy\ndecod|e|+resi|ze|   1,000     é\n       -\n",
	} {
		got := ""
		for _, lines := range Columns(rows, width) {
			got += strings.Join(lines, "|") + "\n"
		}
		if got != want {
			t.Errorf("width %d:\n%swant\n%s", width, got, want)
		}
	}
	if got := Fold([][]string{{"workers", "1", "2", "16"}, {"rate", "100", "1,000", "9"}}, 19); len(got) != 2 || len(got[0][0]) != 3 || got[1][1][1] != "9" {
		t.Errorf("folded to %q", got)
	}
	if got := Columns(nil, 10); len(got) != 0 {
		t.Errorf("no rows make %q", got)
	}
}
