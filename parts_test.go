package headrace_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	. "github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/leak"
	"github.com/headrace/headrace/internal/phototest"
)

// The batches of all parts, one part after the other, are those of a whole run, in every
// epoch; also where a part is gone on with.
func TestPartsTogetherAreTheWholeRun(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	r := augmented(t, root, `{"size":4}`)
	whole := openLoader(t, r, Config{Epochs: new(2)}, Options{})
	want := [][][]row{drain(t, whole), drain(t, whole)}
	for _, parts := range []int{1, 2, 3, 16} {
		joined := make([][][]row, 2)
		for part := range parts {
			l := openLoader(t, r, Config{Epochs: new(2), Part: part, Parts: parts}, Options{})
			for epoch := range joined {
				joined[epoch] = append(joined[epoch], drain(t, l)...)
			}
		}
		for epoch := range joined {
			compare(t, fmt.Sprintf("%d parts, epoch %d", parts, epoch), joined[epoch], want[epoch])
		}
	}
	cutAnywhere(t, r, Config{Part: 1, Parts: 3})
}

// What a part loses is of that part, and of no other.
func TestPartsLoseWhatTheWholeLoses(t *testing.T) {
	leak.Check(t)
	root := phototest.Folder(t, 37)
	for _, name := range []string{"003.jpg", "017.jpg", "018.jpg", "036.jpg"} {
		phototest.Spoil(t, root, name)
	}
	var all, lost []string
	into := func(names *[]string) Options {
		return Options{Lost: func(l Lost) { *names = append(*names, l.Key) }}
	}
	r := augmented(t, root, `{"size":4}`)
	want := slices.Concat(drain(t, openLoader(t, r, Config{Epochs: new(1), OnError: Skip}, into(&all)))...)
	var got []row
	for part := range 5 {
		c := Config{Epochs: new(1), OnError: Skip, Part: part, Parts: 5}
		got = append(got, slices.Concat(drain(t, openLoader(t, r, c, into(&lost)))...)...)
	}
	compare(t, "5 parts", [][]row{got}, [][]row{want})
	slices.Sort(all)
	if slices.Sort(lost); !slices.Equal(lost, all) || len(all) != 4 {
		t.Errorf("lost %v, the whole %v", lost, all)
	}
}

func TestPartsThatNobodyKnows(t *testing.T) {
	root := phototest.Folder(t, 12)
	files := fmt.Sprintf(`{"files":{"root":%q,"pattern":"**/*.jpg"}}`, root)
	decode := `,{"decode_image":{}},{"resize":{"size":[8,8]}},`
	for want, c := range map[string]struct {
		steps  string
		config Config
	}{
		"merges 2 sources by turns": {fmt.Sprintf(`{"merge":{"of":[[%s],[%s]]}}`, files,
			strings.Replace(files, `{"files"`, `{"name":"other","files"`, 1)) + decode + `{"batch":{"size":2}}`, Config{}},
		"has lanes":                        {files + `,{"lanes":{"count":2}}` + decode + `{"batch":{"global_size":4}}`, Config{}},
		"drop_last would drop":             {files + decode + `{"batch":{"size":2,"drop_last":true}}`, Config{}},
		"parts is 3 and world_size 2":      {files + decode + `{"batch":{"size":2}}`, Config{WorldSize: 2}},
		"steps_per_epoch is 2 and parts 3": {files + decode + `{"batch":{"size":2}}`, Config{StepsPerEpoch: new(2)}},
	} {
		c.config.Part, c.config.Parts = 1, 3
		l, err := Open(t.Context(), parseRecipe(t, c.steps), c.config, Options{})
		if err == nil {
			l.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	for want, c := range map[string]Config{
		"part is 3: must be from 0 to 2, because parts is 3": {Part: 3, Parts: 3},
		"part is 1: must be from 0 to 0, because parts is 0": {Part: 1},
		"parts is -1: must be from 1":                        {Parts: -1},
	} {
		if err := c.Check(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}

func TestStatesOfAnotherPart(t *testing.T) {
	leak.Check(t)
	r := augmented(t, phototest.Folder(t, 12), `{"size":4}`)
	state := openLoader(t, r, Config{Part: 1, Parts: 3}, Options{}).Info().State
	if state.Part != "1/3" {
		t.Errorf("%+v", state)
	}
	for want, c := range map[string]Config{"": {Part: 1, Parts: 3}, "of part 1/3, this is one of part 2/3": {Part: 2, Parts: 3},
		"of part 1/3, this is one of all parts": {}} {
		err := openLoader(t, r, c, Options{}).Check(state)
		if (err == nil) != (want == "") || err != nil && (!errors.Is(err, ErrState) || !strings.Contains(err.Error(), want)) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
}
