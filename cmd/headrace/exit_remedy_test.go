package main

import (
	"errors"
	"strings"
	"testing"
)

// TestBadSamplesOfShardsSayHowTheyAreLeftOut: their error ends in the shard, not in the
// step.
func TestBadSamplesOfShardsSayHowTheyAreLeftOut(t *testing.T) {
	for text, said := range map[string]bool{
		"a.jpg: truncated image\n  in decode_image, epoch 0, position 1":                                          true,
		"a.csv[1]: field \"t\": no value (null)\n  in read samples, epoch 0, position 1\nin data/a.csv, sample 1": true,
		"in data/a.csv, sample 1":                   false,
		"Traceback\n  in f\nin a moment, it failed": false,
	} {
		if got := strings.HasSuffix(remedied(errors.New(text)), "\n  --on-error skip leaves such samples out"); got != said {
			t.Errorf("%q: the remedy is there: %v", text, got)
		}
	}
}
