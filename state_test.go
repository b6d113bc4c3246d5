package headrace

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/pipe"
)

// The pipeline checks its own part of a record, before anything is stopped.
func TestStatesOfAnotherPipelineAreRefused(t *testing.T) {
	l := openLoader(t, augmented(t, phototest.Folder(t, 6), `{"size":4}`), Config{Epochs: new(1)}, Options{})
	for want, change := range map[string]func(*State){
		"turns of a merge more":    func(s *State) { s.Merges = map[string]pipe.Progress{"more": {}} },
		"outputs of a stage tiles": func(s *State) { s.Parts = []pipe.PartState{{Stage: "tiles", Source: "files", Item: []int64{0}}} },
	} {
		from := l.Info().State
		change(&from)
		if err := l.Start(from, nil); !errors.Is(err, ErrState) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	if n := len(drain(t, l)); n != 2 {
		t.Errorf("the run that went on gave %d batches", n)
	}
}
