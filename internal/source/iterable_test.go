package source_test

import (
	"fmt"
	"testing"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/internal/source"
	"github.com/headrace/headrace/state"
)

// States are bounded, however far the run is ahead of who asks.
func TestStatesOfIterablesAreBounded(t *testing.T) {
	s := &source.Iterable{Source: &source.Listing{Source: record.Source{Name: "source"}}}
	s.Begin(3, nil)
	for pos := int64(1); pos <= 10000; pos++ {
		s.Note(3, pos, fmt.Sprint(pos))
	}
	if len(s.States) > source.MostStates {
		t.Errorf("%d states are kept", len(s.States))
	}
	last := state.Object{}
	for pos := int64(0); pos <= 10000; pos += 37 {
		at := s.StateAt(3, pos)
		if at.Position > pos || at.Position < last.Position || at.Position > 0 && at.State != fmt.Sprint(at.Position) {
			t.Fatalf("at %d: %+v", pos, at)
		}
		last = *at
	}
	s.Note(4, 1, "next")
	if at := s.StateAt(4, 0); at.State != "" {
		t.Errorf("at the beginning of an epoch: %+v", at)
	}
	if at := s.StateAt(4, 1); at.State != "next" {
		t.Errorf("%+v", at)
	}
}
