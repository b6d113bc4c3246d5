package resume

import "testing"

func TestDiffersNamesTheStep(t *testing.T) {
	const files, shuffle, big, small, flip, batch = "files(pattern=\"data\") 01", "shuffle 02",
		"resize(size=256) 03", "resize(size=224) 04", "random_flip 05", "batch(size=4) 06"
	for _, c := range []struct {
		was, is []string
		want    string
	}{
		{nil, []string{files}, "it was saved by another recipe: by another pipeline, or with other seeds"},
		{[]string{files, batch}, []string{files, batch}, "it was saved with another seed: the steps are the same"},
		{[]string{files, big, batch}, []string{files, small, batch}, "it was saved by another pipeline: " +
			"step 2 was resize(size=256), here it is resize(size=224)"},
		{[]string{"files(paths=[…]) 01", batch}, []string{"files(paths=[…]) 02", batch},
			"it was saved by another pipeline: step 1, files(paths=[…]), had other arguments"},
		{[]string{files, batch}, []string{files, shuffle, batch}, "it was saved by another pipeline: it lacks shuffle, here step 2"},
		{[]string{files, batch}, []string{files, shuffle, big, batch}, "it was saved by another pipeline: " +
			"it lacks shuffle → resize(size=256), here steps 2 to 3"},
		{[]string{files, shuffle, batch}, []string{files, batch}, "it was saved by another pipeline: it also has shuffle, there step 2"},
		{[]string{files, big, flip, batch}, []string{files, flip, big, batch}, "it was saved by another pipeline: " +
			"the order of steps 2 to 3 was resize(size=256) → random_flip, here it is random_flip → resize(size=256)"},
		{[]string{files, big, flip, batch}, []string{files, small, batch}, "it was saved by another pipeline: " +
			"step 2 was resize(size=256), here it is resize(size=224), and steps after it differ, too"},
		{[]string{big, big, big, big, big, big, batch}, []string{batch}, "it was saved by another pipeline: it also " +
			"has resize(size=256) → resize(size=256) → resize(size=256) → resize(size=256) → … 2 more, there steps 1 to 6"},
		// A state is a file that anybody may have written.
		{[]string{"\x1b[31m"}, []string{batch}, "it was saved by another pipeline: step 1 was ?[31m, here it is batch(size=4)"},
		{[]string{""}, []string{batch}, "it was saved by another pipeline: step 1 was , here it is batch(size=4)"},
	} {
		if got := differs(c.was, c.is); got != c.want {
			t.Errorf("got  %s\nwant %s", got, c.want)
		}
	}
}
