package core_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/record"
	"github.com/headrace/headrace/op/core"
)

// A sample is made as it was before each further try, and only then.
func TestTriesBeginWithTheSampleAsItWas(t *testing.T) {
	for fails, works := range map[int]bool{0: true, 1: true, 2: true, 3: false} {
		tries, undone := 0, 0
		do := func(_ context.Context, it *record.Record) error {
			if it.Key += "+"; it.Key != "a+" {
				t.Errorf("a try begins with what one before it has left: %s", it.Key)
			}
			if tries++; tries <= fails {
				return errors.New("not now")
			}
			return nil
		}
		undo := func(it *record.Record) { it.Key, undone = "a", undone+1 }
		var w core.Env
		out, err := w.Guard(do, core.Handling{Retries: 2, Wait: time.Microsecond}, nil, undo)(t.Context(), &record.Record{Key: "a"})
		if (err == nil) != works || undone != fails || tries != min(fails+1, 3) || works && out.Key != "a+" {
			t.Errorf("%d failures: %d tries, undone %d times, %v", fails, tries, undone, err)
		}
	}
}
