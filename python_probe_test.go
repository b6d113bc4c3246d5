//go:build cgo && !headrace_debug

package headrace

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"headrace/internal/leak"
	"headrace/recipe"
)

// What steps do not say, the first sample tells: extents that a function leaves as they come may differ between samples, all others are what they were for the first.
func TestWhatTheFirstSampleTells(t *testing.T) {
	leak.Check(t)
	root, paths := pictureFolder(t, 9)
	given := func(l *Loader) string {
		for _, s := range l.Recipe().All() {
			switch args := s.Args.(type) {
			case *recipe.Map:
				return args.Gives.Schema.String()
			case *recipe.FlatMap:
				return args.Gives.Schema.String()
			}
		}
		return ""
	}
	for steps, want := range map[string]string{
		`"decode_image",{"map":{"function":"stages:sizes","fields":["image"]}},{"resize":{"size":[8,9]}},"random_flip",{"batch":{"size":4}}`:                                                "image uint8 [?, ?, 3]",
		`"decode_image",{"flat_map":{"function":"stages:tiles"}},{"batch":{"size":4}}`:                                                                                                      "key text, tile uint8 [2, 3, 3], number int64",
		`{"map":{"function":"stages:later","fields":["key"],"to":["upper"],"where":"thread","workers":3}},{"map":{"function":"stages:kept","gives":{"upper":"text"}}},{"batch":{"size":4}}`: "upper text",
		`"decode_image",{"resize":{"size":[6,5]}},{"map":{"function":"stages:twice","fields":["image"],"to":["a","b"]}},{"batch":{"size":4}}`:                                               "a uint8 [6, 5, 3], b uint8 [6, 5, 3]",
	} {
		l, got := onePass(t, root, steps, Config{}, Options{})
		if s := given(l); s != want {
			t.Errorf("%s gives %s, want %s", steps, s, want)
		}
		if l.Info().State.Recipe != parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},`+steps, root).Fingerprint() {
			t.Errorf("%s has another fingerprint", steps)
		}
		if n := len(paths); !strings.Contains(steps, "flat_map") && len(got) != n {
			t.Errorf("%s: %d samples of %d", steps, len(got), n)
		}
		nothingHeld(t, l)
	}
	for steps, want := range map[string]string{
		`"decode_image",{"map":{"function":"stages:sizes","fields":["image"]}},{"batch":{"size":4}}`:                                                            `cannot stack images of different sizes: the field "image" is uint8 [?, ?, 3]`,
		`{"filter":{"function":"stages:nothing"}},{"map":{"function":"stages:told"}},{"batch":{"size":1}}`:                                                      `step "map" (#3): does not say what it gives, and no sample came there that would tell: say gives`,
		`{"route":{"by":"label","branches":[{"steps":[{"map":{"function":"stages:even","fields":["key"]}}]}]}},{"batch":{"size":1}}`:                            `step "map" (#3): does not say what it gives, and stands in a branch`,
		`{"map":{"function":"stages:tokens","fields":["key"],"to":["tokens"]}},{"filter":{"function":"stages:even","fields":["nothing"]}},{"batch":{"size":1}}`: `filter: even (stages.py:60): KeyError: takes the field 'nothing'; the sample has 'key', 'tokens'`,
	} {
		_, err := Open(t.Context(), parseRecipe(t, `{"files":{"pattern":%q,"root":"/","label":"parent"}},`+steps, root), Config{}, Options{Python: pythonHere(t)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", steps, err)
		}
	}
}

// Threads share the generators that are seeded for each sample: what is refused when a loader is opened is refused later, too.
func TestSeededThreadsStayOne(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 4)
	steps := `{"files":{"pattern":%q,"root":"/","label":"parent"}},{"map":{"function":"stages:kept","gives":{"key":"text"},"where":"thread","workers":%d,"seed":["random"]}},{"batch":{"size":4}}`
	if _, err := Open(t.Context(), parseRecipe(t, steps, root, 2), Config{}, Options{Python: pythonHere(t)}); err == nil || !strings.Contains(err.Error(), "threads share the generators of random") {
		t.Error(err)
	}
	l := openLoader(t, parseRecipe(t, steps, root, 1), Config{}, Options{Python: pythonHere(t)})
	if err := l.SetWorkers("map", 2); !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "threads share the generators of random") {
		t.Error(err)
	}
	if err := l.SetWorkers("map", 1); err != nil {
		t.Error(err)
	}
}

// Ranks must yield as many batches each, which nobody can promise of filters and generators.
func TestRanksDoNotFilter(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 8)
	for _, step := range []string{`{"filter":{"function":"stages:even","fields":["key"]}}`, `{"flat_map":{"function":"stages:parts","fields":["key"],"gives":{"key":"text"}}}`} {
		r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},`+step+`,{"map":{"function":"stages:kept","gives":{"key":"text"}}},{"batch":{"size":1}}`, root)
		_, err := Open(t.Context(), r, Config{WorldSize: 2}, Options{Python: pythonHere(t)})
		if !errors.Is(err, ErrConfig) || !strings.Contains(err.Error(), "steps_per_epoch") {
			t.Errorf("%s: %v", step, err)
		}
	}
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},{"filter":{"function":"stages:even","fields":["key"]}},{"map":{"function":"stages:kept","gives":{"key":"text"}}},{"batch":{"size":1}}`, root)
	for rank := range 2 {
		l := openLoader(t, r, Config{WorldSize: 2, Rank: rank, StepsPerEpoch: new(2), Epochs: new(1)}, Options{Python: pythonHere(t)})
		if rank == 0 { // which has the even ones
			if got := runPython(t, l); len(got) != 2 {
				t.Errorf("%v", got)
			}
		} else if _, err := l.Next(t.Context()); !errors.Is(err, ErrShort) {
			t.Errorf("%v", err)
		}
		nothingHeld(t, l)
	}
}

// The numbers tell of processes, and their number can be changed while the loader runs.
func TestNumbersOfFunctions(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 24)
	r := parseRecipe(t, `{"files":{"pattern":%q,"root":"/"}},{"map":{"function":"stages:Counter","workers":2,"gives":{"key":"text","pid":{"dtype":"int64"},"calls":{"dtype":"int64"}}}},{"batch":{"size":4}}`, root)
	l := openLoader(t, r, Config{Epochs: new(3)}, Options{Python: pythonHere(t)})
	pids := map[any]bool{}
	for step := range 18 {
		if step == 9 {
			if err := l.SetWorkers("map", 1); err != nil {
				t.Fatal(err)
			}
		}
		b, err := l.Next(t.Context())
		for err != nil && err.Error() == "EOF" {
			b, err = l.Next(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range samplesOf(b, l) {
			pids[s["pid"]] = true
		}
		b.Release()
	}
	s := l.Stats()
	i := len(s.Stages) - 1
	if s.Stages[i].Name != "map+batch" || s.Stages[i].Workers != 1 || s.Stages[i].In != 72 {
		t.Errorf("%+v", s.Stages[i])
	}
	if len(s.Functions) != 1 || s.Functions[0].Stage != "map" || s.Functions[0].Calls != 72 || s.Functions[0].Packs < 1 || s.Functions[0].Packs > 72 {
		t.Errorf("%+v", s.Functions)
	}
	for _, stage := range l.Info().Stages {
		if stage.Name == "map+batch" && stage.Workers != 1 {
			t.Errorf("%+v", stage)
		}
	}
	if len(pids) < 1 || len(pids) > 3 {
		t.Errorf("%d processes: %v", len(pids), pids)
	}
	nothingHeld(t, l)
	var found []string
	for _, p := range s.Resources.Processes {
		found = append(found, p.Name)
	}
	if n := strings.Count(fmt.Sprint(found), "map"); n != len(s.Functions[0].PIDs) {
		t.Errorf("processes %v, and %v", found, s.Functions[0].PIDs)
	}
	for _, pid := range s.Functions[0].PIDs {
		if _, err := os.Stat(fmt.Sprint("/proc/", pid)); err == nil {
			t.Errorf("process %d is still there", pid)
		}
	}
}

// What looks at the first samples before a run begins loses some of them, too. The file tells of the run's alone.
func TestDeadLettersOfWhatIsFoundOut(t *testing.T) {
	leak.Check(t)
	root, _ := pictureFolder(t, 6)
	file := filepath.Join(t.TempDir(), "lost.jsonl")
	steps := `{"files":{"pattern":%q,"root":"/","label":"parent"}},"decode_image",{"map":{"function":"stages:told"}},{"resize":{"size":[8,8]}},{"batch":{"size":1}}`
	o := Options{Python: pythonHere(t, troubles(t, map[int]string{0: "raise"}))}
	l := openLoader(t, parseRecipe(t, steps, root), Config{Epochs: new(1), OnError: Skip, DeadLetters: recipe.Path(file)}, o)
	if got := lettersIn(t, file); len(got) != 0 {
		t.Errorf("before a sample is read: %+v", got)
	}
	takeAll(t, l)
	if got := lettersIn(t, file); len(got) != 1 {
		t.Errorf("%+v", got)
	}
}
