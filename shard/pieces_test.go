package shard_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/shard"
)

// What memory has no room for is kept in files until the index is written, which is the
// same then.
func TestPieces(t *testing.T) {
	root := set(t, 30, 20, 10)
	one := open(t, root, "train-*.tar", shard.Options{})
	want, err := os.ReadFile(one.Kept())
	if err != nil {
		t.Fatal(err)
	}
	shard.HoldNothing(t)
	again := open(t, root, "train-*.tar", shard.Options{Force: true})
	got, err := os.ReadFile(again.Kept())
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("another index: %v", err)
	}

	// Somebody who was cut off goes on with what was done.
	ctx, cancel := context.WithCancel(t.Context())
	o := shard.Options{Root: root, Force: true, Jobs: 1, Scanned: func(done, _ int) { cancel() }}
	if _, err := shard.Open(ctx, []string{"train-*.tar"}, o); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if left, err := filepath.Glob(again.Kept() + ".pieces/*"); err != nil || len(left) == 0 {
		t.Errorf("%v %v", left, err)
	}
	again = open(t, root, "train-*.tar", shard.Options{Force: true})
	if got, err := os.ReadFile(again.Kept()); err != nil || !bytes.Equal(got, want) {
		t.Errorf("another index: %v", err)
	}
	if left, err := filepath.Glob(again.Kept() + "*"); err != nil || len(left) != 2 { // it, and its lock
		t.Errorf("%v %v", left, err)
	}
}
