package resume_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/phototest"
	"github.com/headrace/headrace/pipe"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/loadertest"
)

// The pipeline checks its own part of a record, before anything is stopped.
func TestStatesOfAnotherPipelineAreRefused(t *testing.T) {
	l := loadertest.Open(t, loadertest.Augmented(t, phototest.Folder(t, 6), `{"size":4}`),
		headrace.Config{Epochs: new(1)}, headrace.Options{})
	for want, change := range map[string]func(*headrace.State){
		"turns of a merge more": func(s *headrace.State) { s.Merges = map[string]pipe.Progress{"more": {}} },
		"outputs of a stage tiles": func(s *headrace.State) {
			s.Parts = []pipe.PartState{{Stage: "tiles", Source: "files", Item: []int64{0}}}
		},
	} {
		from := l.Info().State
		change(&from)
		if err := l.Start(from, nil); !errors.Is(err, headrace.ErrState) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, expected %q", err, want)
		}
	}
	if n := len(loadertest.Drain(t, l)); n != 2 {
		t.Errorf("the run that went on gave %d batches", n)
	}
}
